"""Chains as files: everything that continuing them needs, in the format of model files.

A file holds the model, and of every chain its key, the sweeps done, the state where it stands, the
draws so far and the trace. A chain that is read back goes on as if it had never been interrupted.

Arrays of states are stacked: the draws of all chains, chain by chain, then the states where the
chains stand. Traces of all chains follow each other.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from bayesspn.files.arrays import Arrays, FileKind, damage_named, read_arrays, write_arrays
from bayesspn.files.posteriors import (
    model_from_json,
    model_to_json,
    states_from_arrays,
    states_to_arrays,
)
from bayesspn.inference.chains import Chain
from bayesspn.inference.sweep import SweepInfo
from bayesspn.model.generative import Model
from bayesspn.numerics.random_numbers import Key

CHAINS = FileKind(
    "bayesspn-chains", 1, "checkpoint", "delete it to start afresh, or name another file"
)
_NUMBERS = ("seed", "chain", "sweeps", "draws")


def save_chains(path: str | os.PathLike[str], chains: Sequence[Chain], more: Any) -> None:
    """Write chains of one model to one file, whole or not at all.

    Parameters
    ----------
    path : str or path
    chains : sequence of Chain
    more : JSON
        Kept with them and given back by `load_chains`.
    """
    described = [
        (chain.key.seed, chain.key.chain, chain.sweep, len(chain.draws)) for chain in chains
    ]
    description = {
        **model_to_json(chains[0].model),
        "chains": [dict(zip(_NUMBERS, numbers, strict=True)) for numbers in described],
        "more": more,
    }
    states = [state for chain in chains for state in chain.draws]
    states += [chain.state for chain in chains]
    infos = [info for chain in chains for info in chain.trace]
    arrays = {
        **states_to_arrays(states),
        "log_likelihood": np.array([info.log_likelihood for info in infos], dtype=np.float64),
        "scope_changes": np.array([info.scope_changes for info in infos], dtype=np.int64),
    }
    write_arrays(path, CHAINS, description, arrays)


def load_chains(path: str | os.PathLike[str]) -> tuple[tuple[Chain, ...], Any]:
    """Read chains and what was kept with them.

    Raises
    ------
    ModelFileError
        If the file holds no chains, is damaged, or was written by a newer version.
    FileNotFoundError
        If there is no such file.
    """
    description, arrays = read_arrays(path, CHAINS)
    with damage_named(path, CHAINS):
        model = model_from_json(description)
        entries = [_check_numbers(entry) for entry in description["chains"]]
        if not entries:
            raise ValueError("there are no chains")
        return tuple(_rebuild(model, entries, arrays)), description["more"]


def _check_numbers(entry: Any) -> dict[str, int]:
    for name in _NUMBERS:
        if not isinstance(entry[name], int) or entry[name] < 0:
            raise ValueError(f"{name} is {entry[name]!r}")
    return entry


def _rebuild(model: Model, entries: list[dict[str, int]], arrays: Arrays) -> Iterator[Chain]:
    draws = list(accumulate((entry["draws"] for entry in entries), initial=0))
    sweeps = list(accumulate((entry["sweeps"] for entry in entries), initial=0))
    states = states_from_arrays(model, arrays, draws[-1] + len(entries))
    for name, kind in (("log_likelihood", "f"), ("scope_changes", "i")):
        array = arrays[name]
        if array.shape != (sweeps[-1],) or array.dtype.kind != kind:
            raise ValueError(f"{name} is {array.dtype} of shape {array.shape}")
    numbers = zip(arrays["log_likelihood"].tolist(), arrays["scope_changes"].tolist(), strict=True)
    trace = [SweepInfo(*pair) for pair in numbers]
    spans = zip(entries, pairwise(draws), pairwise(sweeps), states[draws[-1] :], strict=True)
    for entry, kept, seen, state in spans:
        yield Chain(
            model,
            Key(entry["seed"], entry["chain"]),
            state,
            sweep=entry["sweeps"],
            draws=states[slice(*kept)],
            trace=tuple(trace[slice(*seen)]),
        )
