"""Posteriors as files: safetensors for the arrays, JSON for the rest, never pickle.

A file holds the model (graph, columns, priors), the draws of every chain, their trace, and whatever
its owner adds as JSON. Reading runs no code from the file: everything is checked for type, shape
and range before it is used, and the message of a `ModelFileError` says what is wrong and what to
do.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesspn.arrays import Array
from bayesspn.files.arrays import (
    Arrays,
    FileKind,
    ModelFileError,
    checksum,
    damage_named,
    read_arrays,
    write_arrays,
)
from bayesspn.graphs import RegionGraph
from bayesspn.inference.infinite.components import component_sizes
from bayesspn.inference.state import State
from bayesspn.leaves import FAMILIES
from bayesspn.leaves.columns import Column, Leaves, describe_column
from bayesspn.leaves.grids import Grid
from bayesspn.model.generative import Concentration, Hyper, Learned, Model
from bayesspn.prediction.posterior import Posterior
from bayesspn.rows.encoded import check_values
from bayesspn.scopes import Scope

__all__ = ["ModelFileError", "checksum", "load_posterior", "save_posterior"]

_KIND = FileKind("bayesspn-model", 1, "model", "fit and save it again")
_GRAPH = ("depth", "partitions", "children", "sums", "leaves", "products")
_PRIORS = ("alpha", "beta", "mixing")


def save_posterior(
    path: str | os.PathLike[str],
    posterior: Posterior,
    more: Any,
    trace: Array,
    rows: Array | None = None,
) -> None:
    """Write a posterior to one file, whole or not at all.

    Parameters
    ----------
    path : str or path
    posterior : Posterior
    more : JSON
        Kept with it and given back by `load_posterior`.
    trace : ndarray of shape (chains, sweeps)
        Log-likelihoods of the sweeps, kept as well.
    rows : ndarray of shape (rows, columns), default=None
        Encoded rows that were learned from, if they are to be kept.
    """
    description = {
        **model_to_json(posterior.model),
        "chains": [len(chain) for chain in posterior.draws],
        "more": more,
    }
    states = [state for chain in posterior.draws for state in chain]
    arrays = {**states_to_arrays(states), "trace": trace}
    if rows is not None:
        arrays["rows"] = np.ascontiguousarray(rows)
    write_arrays(path, _KIND, description, arrays)


def load_posterior(path: str | os.PathLike[str]) -> tuple[Posterior, Any, Array, Array | None]:
    """Read a posterior, what was kept with it, its trace, (chains, 0) if it has none, and its rows.

    Raises
    ------
    ModelFileError
        If the file is not a model, is damaged, or was written by a newer version.
    FileNotFoundError
        If there is no such file.
    """
    description, arrays = read_arrays(path, _KIND)
    with damage_named(path, _KIND):
        model = model_from_json(description)
        lengths = description["chains"]
        if not lengths or not all(isinstance(length, int) and length > 0 for length in lengths):
            raise ValueError("chains must list how many draws each has")
        states = states_from_arrays(model, arrays, sum(lengths))
        trace = arrays.get("trace", np.empty((len(lengths), 0)))
        if trace.dtype != np.float64 or trace.ndim != 2 or len(trace) != len(lengths):
            raise ValueError(f"trace is {trace.dtype} of shape {trace.shape}")
        ends = np.cumsum(lengths)
        draws = [states[end - length : end] for end, length in zip(ends, lengths, strict=True)]
        rows = arrays.get("rows")
        if rows is not None:
            if rows.dtype != np.float64 or rows.ndim != 2:
                raise ValueError(f"rows are {rows.dtype} of shape {rows.shape}")
            rows = check_values(model.leaves, rows)
        return Posterior(model, tuple(draws)), description["more"], trace, rows


def model_to_json(model: Model) -> dict[str, Any]:
    """Graph, priors and columns of a model."""
    names = [*_PRIORS, *(["concentration"] if model.infinite else [])]
    return {
        "graph": graph_to_json(model.graph),
        "priors": {name: _prior_to_json(getattr(model, name)) for name in names},
        "learn_leaf_priors": model.learn_leaf_priors,
        "columns": [_column_to_json(column) for column in model.leaves.columns],
    }


def model_from_json(description: Any) -> Model:
    """Rebuild a model from what `model_to_json` gave."""
    graph = graph_from_json(description["graph"])
    leaves = Leaves(tuple(_column_from_json(entry) for entry in description["columns"]))
    priors = {name: _prior_from_json(description["priors"][name]) for name in _PRIORS}
    if "concentration" in description["priors"]:
        priors["concentration"] = _prior_from_json(description["priors"]["concentration"])
    learned = description["learn_leaf_priors"]
    if not isinstance(learned, bool):
        raise TypeError("learn_leaf_priors must be true or false")
    return Model(graph, leaves, **priors, learn_leaf_priors=learned)


def graph_to_json(graph: RegionGraph) -> dict[str, Any]:
    """The numbers that describe a graph."""
    return {name: getattr(graph, name) for name in _GRAPH}


def graph_from_json(entry: Any) -> RegionGraph:
    """Rebuild a graph from what `graph_to_json` gave."""
    return RegionGraph(**{name: entry[name] for name in _GRAPH})


def states_to_arrays(states: Sequence[State]) -> Arrays:
    """Stack the arrays of states, by their name in the file.

    Draws of an infinite mixture differ in their numbers of components. Their arrays follow each
    other along the axis of root partitions, which is moved to the front; ``partitions`` says how
    many each draw has.
    """
    arrays = {name: np.stack(parts) for name, parts in _hyper_parts(states).items()}
    by_block = _block_parts(states)
    if not states[0].hyper.concentration.size:
        return arrays | {name: np.stack(parts) for name, (parts, _) in by_block.items()}
    blocks = [state.scope.graph.branching[0] for state in states]
    arrays["partitions"] = np.array(blocks, dtype=np.int64)
    for name, (parts, axis) in by_block.items():
        arrays[name] = np.concatenate(
            [_blocks_first(part, axis, count) for part, count in zip(parts, blocks, strict=True)]
        )
    return arrays


def states_from_arrays(model: Model, arrays: Arrays, count: int) -> tuple[State, ...]:
    """Check the arrays of so many states and take them apart."""
    for name, (shape, kinds) in _expected_hyper(model).items():
        _check_array(name, arrays[name], (count, *shape), kinds)
    expected = _expected_blocks(model)
    if not model.infinite:
        for name, (shape, kinds, _) in expected.items():
            _check_array(name, arrays[name], (count, *shape), kinds)
        parts = {name: tuple(arrays[name]) for name in expected}
        return tuple(_state(model, arrays, parts, index) for index in range(count))
    blocks = arrays["partitions"]
    first = model.graph.branching[0]
    _check_array("partitions", blocks, (count,), "i")
    if (blocks < first).any() or (blocks % first).any():
        raise ValueError(f"partitions must be multiples of {first}")
    total, ends = int(blocks.sum()), np.cumsum(blocks)[:-1]
    parts = {}
    for name, (shape, kinds, axis) in expected.items():
        length = shape[axis] // first
        flat = (total, length, *(size for k, size in enumerate(shape) if k != axis))
        _check_array(name, arrays[name], flat, kinds)
        parts[name] = tuple(_blocks_back(part, axis) for part in np.split(arrays[name], ends))
    return tuple(_state(model, arrays, parts, index) for index in range(count))


def _check_array(name: str, array: NDArray[Any], shape: tuple[int, ...], kinds: str) -> None:
    if array.shape != shape or array.dtype.kind not in kinds:
        raise ValueError(f"{name} is {array.dtype} of shape {array.shape}")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ValueError(f"{name} is not finite")


def _blocks_first(array: NDArray[Any], axis: int, blocks: int) -> NDArray[Any]:
    """Move an axis of blocks to the front, and what is within a block behind it."""
    moved = np.moveaxis(array, axis, 0)
    return moved.reshape(blocks, -1, *moved.shape[1:])


def _blocks_back(array: NDArray[Any], axis: int) -> NDArray[Any]:
    merged = array.reshape(-1, *array.shape[2:])
    return np.ascontiguousarray(np.moveaxis(merged, 0, axis))


def _hyper_parts(states: Sequence[State]) -> dict[str, list[NDArray[Any]]]:
    """Hyper-parameters of all states, by their name in the file."""
    parts: dict[str, list[NDArray[Any]]] = {}
    for state in states:
        named: dict[str, NDArray[Any]] = {name: getattr(state.hyper, name) for name in _PRIORS}
        named |= {f"phi.{g}": values for g, values in enumerate(state.hyper.phi)}
        if state.hyper.concentration.size:
            named["concentration"] = state.hyper.concentration
        for name, array in named.items():
            parts.setdefault(name, []).append(array)
    return parts


def _block_parts(states: Sequence[State]) -> dict[str, tuple[list[NDArray[Any]], int]]:
    """Arrays of all states that have blocks, by their name, and the axis of these."""
    parts: dict[str, tuple[list[NDArray[Any]], int]] = {}
    for state in states:
        several: dict[str, tuple[NDArray[Any], ...]] = {
            "y": state.scope.y,
            "edge_counts": state.edge_counts,
            "statistics": state.statistics,
        }
        for prefix, arrays in several.items():
            for number, array in enumerate(arrays):
                axis = {"y": 0, "edge_counts": 0 if number else 2, "statistics": 1}[prefix]
                parts.setdefault(f"{prefix}.{number}", ([], axis))[0].append(array)
    return parts


def _expected_hyper(model: Model) -> dict[str, tuple[tuple[int, ...], str]]:
    """Shape and kind of the hyper-parameters of one draw."""
    expected: dict[str, tuple[tuple[int, ...], str]] = {
        "alpha": ((model.graph.levels,), "f"),
        "beta": ((1,), "f"),
        "mixing": ((len(model.leaves.mixed),), "f"),
    }
    if model.infinite:
        expected["concentration"] = ((1,), "f")
    for g, group in enumerate(model.leaves.groups):
        expected[f"phi.{g}"] = (group.center.shape, "f")
    return expected


def _expected_blocks(model: Model) -> dict[str, tuple[tuple[int, ...], str, int]]:
    """Shape, kind and axis of blocks of the other arrays of one component."""
    graph, leaves = model.graph, model.leaves
    expected: dict[str, tuple[tuple[int, ...], str, int]] = {}
    for level, shape in enumerate(graph.weight_shapes):
        partitions = graph.regions[level] * graph.branching[level]
        expected[f"y.{level}"] = ((partitions, model.n_columns), "i", 0)
        expected[f"edge_counts.{level}"] = (tuple(shape), "i", 0 if level else 2)
    for g, group in enumerate(leaves.groups):
        shape = (len(group), graph.n_paths, graph.leaves, group.n_slots)
        expected[f"statistics.{g}"] = (shape, "i" if group.family.one_hot else "f", 1)
    return expected


def _state(
    model: Model, arrays: Arrays, parts: dict[str, tuple[NDArray[Any], ...]], index: int
) -> State:
    levels, groups = model.graph.levels, len(model.leaves.groups)

    def several(prefix: str, count: int) -> tuple[NDArray[Any], ...]:
        return tuple(parts[f"{prefix}.{number}"][index].copy() for number in range(count))

    edge_counts = several("edge_counts", levels)
    if any((counts < 0).any() for counts in edge_counts):
        raise ValueError("edge_counts has negative counts")
    names = [*_PRIORS, *(["concentration"] if model.infinite else [])]
    positive = {name: arrays[name][index].copy() for name in names}
    if any((values <= 0).any() for values in positive.values()):
        raise ValueError("concentrations must be positive")
    phi = tuple(arrays[f"phi.{g}"][index].copy() for g in range(groups))
    hyper = Hyper(**{"concentration": np.empty(0), **positive}, phi=phi)
    y = several("y", levels)
    components = len(y[0]) // model.graph.branching[0]
    scope = Scope(model.joined_graph(components), y)
    state = State(scope, hyper, edge_counts, several("statistics", groups))
    if model.infinite and not component_sizes(model, edge_counts).all():
        raise ValueError("a component has no rows")
    return state


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
        "grid": _grid_to_json(column.grid),
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
        grid=_grid_from_json(resolution, entry.get("grid", {})),
        gamma=float(entry["gamma"]),
    )
    constants = tuple(
        np.array([np.inf if value is None else value for value in values], dtype=np.float64)
        for values in entry["constants"]
    )
    for family, given, expected in zip(families, constants, like.constants, strict=True):
        alike = given.size > 1 if family == "atoms" else given.shape == expected.shape
        # only the last constant, a limit, may be infinite
        wrong = not alike or not np.isfinite(given[:-1]).all()
        if FAMILIES[family].coded and not wrong:  # the first follows from the categories
            wrong = given[0] != expected[0] or not 0 < given[-1] < np.inf
        if wrong:
            raise ValueError(f"column {like.name!r}: wrong constants")
    low, high = (float(value) for value in entry["observed"])
    if not -np.inf < low <= high < np.inf:
        raise ValueError(f"column {like.name!r}: wrong range {low} to {high}")
    return Column(like.name, families, categories, like.grid, constants, (low, high), like.gamma)


def _grid_to_json(grid: Grid) -> dict[str, Any]:
    return {
        "origin": grid.origin,
        "values": list(grid.values),
        "atoms": list(grid.atoms),
        # JSON has no infinity: None stands for an end that is open
        "low": grid.low if np.isfinite(grid.low) else None,
        "high": grid.high if np.isfinite(grid.high) else None,
    }


def _grid_from_json(step: float, entry: Any) -> Grid:
    """Rebuild a grid; files of version 0.1 have none: nothing but the step is known then."""
    origin = None if entry.get("origin") is None else float(entry["origin"])
    low = -np.inf if entry.get("low") is None else float(entry["low"])
    high = np.inf if entry.get("high") is None else float(entry["high"])
    values, atoms = (tuple(map(float, entry.get(name, ()))) for name in ("values", "atoms"))
    finite = np.isfinite([*values, *atoms, step, origin or 0.0]).all() and step >= 0 and low <= high
    if not finite or any(list(several) != sorted(set(several)) for several in (values, atoms)):
        raise ValueError("wrong grid of values")
    return Grid(step, origin, values, atoms, low, high)
