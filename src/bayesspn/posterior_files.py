"""Posteriors as files: safetensors for the arrays, JSON for the rest, never pickle.

A file holds the model (graph, columns, priors), the draws of every chain, and whatever its owner
adds as JSON. Reading runs no code from the file: everything is checked for type, shape and range
before it is used, and the message of a `ModelFileError` says what is wrong and what to do.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as to_safetensors

from bayesspn.graphs import RegionGraph
from bayesspn.leaves.columns import Column, Leaves, describe_column
from bayesspn.model import Concentration, Hyper, Learned, Model
from bayesspn.posterior import Posterior
from bayesspn.sampling.state import State
from bayesspn.scopes import Scope
from bayesspn.tables.atomic import replaced_file

_FORMAT = "bayesspn-model"
_VERSION = 1
_GRAPH = ("depth", "partitions", "children", "sums", "leaves", "products")
_PRIORS = ("alpha", "beta", "mixing")


class ModelFileError(ValueError):
    """A file that is not a model of this version, or a broken one."""


def save_posterior(path: str | os.PathLike[str], posterior: Posterior, more: Any) -> None:
    """Write a posterior to one file, whole or not at all.

    Parameters
    ----------
    path : str or path
    posterior : Posterior
    more : JSON
        Kept with it and given back by `load_posterior`.
    """
    model = posterior.model
    description = {
        "format": _FORMAT,
        "version": _VERSION,
        "graph": {name: getattr(model.graph, name) for name in _GRAPH},
        "priors": {name: _prior_to_json(getattr(model, name)) for name in _PRIORS},
        "learn_leaf_priors": model.learn_leaf_priors,
        "columns": [_column_to_json(column) for column in model.leaves.columns],
        "chains": [len(chain) for chain in posterior.draws],
        "more": more,
    }
    states = [state for chain in posterior.draws for state in chain]
    # safetensors writes memory as it lies
    arrays = {name: np.ascontiguousarray(np.stack(parts)) for name, parts in _parts(states).items()}
    text = json.dumps(description, allow_nan=False)
    content = to_safetensors(arrays, {"bayesspn": text, "sha256": checksum(text, arrays)})
    with replaced_file(path) as file:
        file.write(content)


def checksum(text: str, arrays: dict[str, NDArray[Any]]) -> str:
    """Checksum of a file's description and arrays."""
    digest = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        digest.update(f"{name} {arrays[name].dtype.str} {arrays[name].shape}".encode())
        digest.update(np.ascontiguousarray(arrays[name]).tobytes())
    return digest.hexdigest()


def load_posterior(path: str | os.PathLike[str]) -> tuple[Posterior, Any]:
    """Read a posterior and what was kept with it.

    Raises
    ------
    ModelFileError
        If the file is not a model, is damaged, or was written by a newer version.
    FileNotFoundError
        If there is no such file.
    """
    name = os.fspath(path)
    try:
        with safe_open(name, framework="numpy") as file:
            metadata = file.metadata() or {}
            arrays = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    except (SafetensorError, ValueError) as error:
        raise ModelFileError(
            f"{name} is damaged or not a model of bayesspn ({error}); fit and save it again"
        ) from None
    if "bayesspn" not in metadata:
        raise ModelFileError(f"{name} holds tensors, but no model of bayesspn")
    try:
        description = json.loads(metadata["bayesspn"])
        version = description["version"]
        if description["format"] != _FORMAT:
            raise ModelFileError(f"{name} is of the format {description['format']!r}, not a model")
        if not isinstance(version, int) or version > _VERSION:
            raise ModelFileError(
                f"{name} was written by a newer bayesspn (file version {version}, this one reads "
                f"up to {_VERSION}); update bayesspn"
            )
        if metadata["sha256"] != checksum(metadata["bayesspn"], arrays):
            raise ModelFileError(f"{name} is damaged: its checksum is wrong; copy or save it again")
        return _rebuild(description, arrays), description["more"]
    except ModelFileError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise ModelFileError(
            f"{name} is damaged ({type(error).__name__}: {error}); fit and save it again"
        ) from error


def _rebuild(description: Any, arrays: dict[str, NDArray[Any]]) -> Posterior:
    graph = RegionGraph(**{name: description["graph"][name] for name in _GRAPH})
    leaves = Leaves(tuple(_column_from_json(entry) for entry in description["columns"]))
    priors = {name: _prior_from_json(description["priors"][name]) for name in _PRIORS}
    learned = description["learn_leaf_priors"]
    if not isinstance(learned, bool):
        raise TypeError("learn_leaf_priors must be true or false")
    model = Model(graph, leaves, **priors, learn_leaf_priors=learned)
    lengths = description["chains"]
    if not lengths or not all(isinstance(length, int) and length > 0 for length in lengths):
        raise ValueError("chains must list how many draws each has")
    for name, (shape, kinds) in _expected(model).items():
        array = arrays[name]
        if array.shape != (sum(lengths), *shape) or array.dtype.kind not in kinds:
            raise ValueError(f"{name} is {array.dtype} of shape {array.shape}")
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise ValueError(f"{name} is not finite")
    states = [_state(model, arrays, index) for index in range(sum(lengths))]
    ends = np.cumsum(lengths)
    chains = [tuple(states[end - length : end]) for end, length in zip(ends, lengths, strict=True)]
    return Posterior(model, tuple(chains))


def _parts(states: Sequence[State]) -> dict[str, list[NDArray[Any]]]:
    """Arrays of all states, by their name in the file."""
    parts: dict[str, list[NDArray[Any]]] = {}
    for state in states:
        hyper = state.hyper
        named: dict[str, NDArray[Any]] = {name: getattr(hyper, name) for name in _PRIORS}
        several: dict[str, tuple[NDArray[Any], ...]] = {
            "y": state.scope.y,
            "edge_counts": state.edge_counts,
            "statistics": state.statistics,
            "phi": hyper.phi,
        }
        for prefix, numbered in several.items():
            named |= {f"{prefix}.{number}": array for number, array in enumerate(numbered)}
        for name, array in named.items():
            parts.setdefault(name, []).append(array)
    return parts


def _expected(model: Model) -> dict[str, tuple[tuple[int, ...], str]]:
    """Shape and kind of every array of one draw."""
    graph, leaves = model.graph, model.leaves
    expected: dict[str, tuple[tuple[int, ...], str]] = {
        "alpha": ((graph.levels,), "f"),
        "beta": ((1,), "f"),
        "mixing": ((len(leaves.mixed),), "f"),
    }
    for level, shape in enumerate(graph.weight_shapes):
        partitions = graph.regions[level] * graph.branching[level]
        expected[f"y.{level}"] = ((partitions, model.n_columns), "i")
        expected[f"edge_counts.{level}"] = (tuple(shape), "i")
    for g, group in enumerate(leaves.groups):
        shape = (len(group), graph.n_paths, graph.leaves, group.n_slots)
        expected[f"statistics.{g}"] = (shape, "i" if group.family.one_hot else "f")
        expected[f"phi.{g}"] = (group.center.shape, "f")
    return expected


def _state(model: Model, arrays: dict[str, NDArray[Any]], index: int) -> State:
    def several(prefix: str, count: int) -> tuple[NDArray[Any], ...]:
        return tuple(arrays[f"{prefix}.{number}"][index].copy() for number in range(count))

    levels, groups = model.graph.levels, len(model.leaves.groups)
    edge_counts = several("edge_counts", levels)
    if any((counts < 0).any() for counts in edge_counts):
        raise ValueError("edge_counts has negative counts")
    alpha, beta, mixing = (arrays[name][index].copy() for name in _PRIORS)
    hyper = Hyper(alpha, beta, mixing, several("phi", groups))
    if any((values <= 0).any() for values in hyper[:3]):
        raise ValueError("alpha, beta and mixing must be positive")
    scope = Scope(model.graph, several("y", levels))
    return State(scope, hyper, edge_counts, several("statistics", groups))


def _prior_to_json(prior: Concentration) -> Any:
    if isinstance(prior, Learned):
        return {"median": prior.median, "spread": prior.spread}
    return float(prior)


def _prior_from_json(entry: Any) -> Concentration:
    if isinstance(entry, dict):
        return Learned(float(entry["median"]), float(entry["spread"]))
    return float(entry)


def _column_to_json(column: Column) -> dict[str, Any]:
    return {
        "name": column.name,
        "families": list(column.families),
        "n_categories": column.n_categories,
        "resolution": column.resolution,
        "gamma": column.gamma,
        "observed": list(column.observed),
        # JSON has no infinity: None stands for a limit that is not there
        "constants": [
            [value if np.isfinite(value) else None for value in constants.tolist()]
            for constants in column.constants
        ],
    }


def _column_from_json(entry: Any) -> Column:
    """Rebuild a column; a dummy description checks names of families and the like."""
    families = tuple(str(family) for family in entry["families"])
    categories, resolution = int(entry["n_categories"]), float(entry["resolution"])
    like = describe_column(
        str(entry["name"]),
        np.ones(1),
        families,
        n_categories=categories or None,
        resolution=resolution,
        gamma=float(entry["gamma"]),
    )
    constants = tuple(
        np.array([np.inf if value is None else value for value in values], dtype=np.float64)
        for values in entry["constants"]
    )
    for given, expected in zip(constants, like.constants, strict=True):
        # only the last constant, a limit, may be infinite
        if given.shape != expected.shape or not np.isfinite(given[:-1]).all():
            raise ValueError(f"column {like.name!r}: wrong constants")
    low, high = (float(value) for value in entry["observed"])
    if not -np.inf < low <= high < np.inf:
        raise ValueError(f"column {like.name!r}: wrong range {low} to {high}")
    return Column(like.name, families, categories, resolution, constants, (low, high), like.gamma)
