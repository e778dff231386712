"""Checkpoints: the chains of a fit on disk, so that a fit that was stopped goes on where it was."""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
import warnings
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from bayesspn.engine.shards import Shards, as_shards
from bayesspn.files.arrays import damage_named
from bayesspn.files.atomic import remove_abandoned
from bayesspn.files.chains import CHAINS, load_chains, save_chains
from bayesspn.files.posteriors import model_to_json
from bayesspn.graphs import RegionGraph
from bayesspn.inference.chains import Chain
from bayesspn.inference.lengths import Lengths
from bayesspn.inference.warm_up import WarmUp
from bayesspn.model.generative import Model
from bayesspn.rows.encoded import EncodedRows
from bayesspn.rows.fingerprints import combine_hashes

#: Seconds between two checkpoints.
_INTERVAL = 30.0

#: Share of the time that writing may take; slow disks get fewer checkpoints.
_LARGEST_SHARE = 0.05

#: What is read off a column's cells.
_DERIVED = ("n_categories", "resolution", "grid", "constants")


def saved_start(path: str | os.PathLike[str] | None) -> tuple[RegionGraph, WarmUp] | None:
    """Graph and warm-up of the fit that a checkpoint is of, None if there is no file yet.

    A fit that goes on need not compare graphs again. Whether the file can be written is found out
    here, before any work begins.
    """
    if path is None:
        return None
    name = checked_path(path)
    _check_writable(name)
    if not os.path.exists(name):
        return None
    chains, more = load_chains(name)
    with damage_named(name, CHAINS):
        return chains[0].model.graph, WarmUp(**more["warm_up"])


class Checkpoint:
    """The file in which the chains of one fit are kept while they run.

    Parameters
    ----------
    path : str, path or None
        None keeps nothing.
    rows : EncodedRows or Shards
        The rows that the chains learn from.
    given : dict
        Parameters of the fit that say how long chains are: ``chains``, ``burn_in``, ``thin``, each
        a number or "auto"; draws may differ.
    warm : WarmUp
        How chains begin.
    random_state : int, RandomState or None
        What the seed was drawn from; None accepts the seed of the file.

    Attributes
    ----------
    plan : Lengths or None
        How far chains are to go, once that is known.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None,
        rows: EncodedRows | Shards,
        *,
        given: dict[str, Any],
        warm: WarmUp,
        random_state: Any,
    ) -> None:
        self.plan: Lengths | None = None
        self._path = None if path is None else checked_path(path)
        self._any_seed = random_state is None
        self._more: dict[str, Any] = {}
        if self._path is not None:
            self._more = {
                "rows": rows.n_rows,
                "cells": combine_hashes(as_shards(rows).cell_hashes()),
                **{name: _plain(given[name]) for name in ("chains", "burn_in", "thin")},
                "warm_up": asdict(warm),
                "random_state": int(random_state)
                if isinstance(random_state, int | np.integer)
                else None,
            }
        self._written: list[int] = []
        self._begun, self._cost = time.monotonic(), 0.0
        self._warned = False

    @property
    def active(self) -> bool:
        """Whether anything is kept."""
        return self._path is not None

    def resume(
        self, model: Model, seed: int
    ) -> tuple[list[Chain] | None, Lengths | None, int | None]:
        """The chains in the file, how far they are to go, and the burn-in if it has ended.

        All are None if there is no file yet.

        Raises
        ------
        ModelFileError
            If the file is not a checkpoint, is damaged, or was written by a newer version.
        ValueError
            If it belongs to another table or other parameters, naming them.
        """
        if self._path is None or not os.path.exists(self._path):
            return None, None, None
        saved, more = load_chains(self._path)
        with damage_named(self._path, CHAINS):
            plan, burn_in = Lengths(**more["plan"]), more["burnt_in"]
            _check_progress(saved, plan, burn_in)
            then = _facts(saved[0].model, more, saved[0].key.seed)
        now = _facts(model, self._more, saved[0].key.seed if self._any_seed else seed)
        different = name_differences(now, then)
        if different:
            raise ValueError(
                f"{self._path} is the checkpoint of another fit: {'; '.join(different)}; use the "
                "same table and parameters, name another file, or delete it to start afresh"
            )
        self._more = more  # the file keeps the random_state that its seed was drawn from
        self._written = [chain.sweep for chain in saved]
        self.plan = plan
        return [replace(chain, model=model) for chain in saved], plan, burn_in

    def due(self, *, milestone: bool = False) -> bool:
        """Whether it is time to write: at intervals, and at milestones unless writing is slow."""
        if self._path is None:
            return False
        waited = time.monotonic() - self._begun
        return waited >= self._cost / _LARGEST_SHARE and (milestone or waited >= _INTERVAL)

    def write(self, chains: Sequence[Chain], burn_in: int | None) -> None:
        """Write the chains unless the file has them already; a failure is only warned of, once."""
        sweeps = [chain.sweep for chain in chains]
        if self._path is None or sweeps == self._written:
            return
        begin = time.monotonic()
        assert self.plan is not None
        more = self._more | {"plan": asdict(self.plan), "burnt_in": burn_in}
        try:
            save_chains(self._path, chains, more)
            self._written = sweeps
        except (OSError, MemoryError) as error:
            self._warn(error)
        self._begun = time.monotonic()
        self._cost = self._begun - begin

    def _warn(self, error: Exception) -> None:
        if not self._warned:
            self._warned = True
            warnings.warn(
                f"the checkpoint {self._path} could not be written ({error}); sampling goes on, "
                "and what the file held before is still there",
                RuntimeWarning,
                stacklevel=2,
            )

    def next_round(self, sweeps: int, seconds: float) -> int:
        """Sweeps of the next round, given those of the last and how long it took."""
        if seconds > _INTERVAL:
            return max(1, sweeps // 2)
        return 2 * sweeps if seconds < _INTERVAL / 4 else sweeps


def _check_writable(path: str) -> None:
    remove_abandoned(path)
    folder = Path(os.path.realpath(path)).parent
    try:
        with contextlib.suppress(FileNotFoundError):
            os.stat(path)  # complains about names that are too long
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise type(error)(
            f"the checkpoint {path} cannot be written ({error.strerror}); name a file in a folder "
            "that exists and can be written"
        ) from None


def checked_path(path: Any) -> str:
    """Full name of a file for checkpoints."""
    if not isinstance(path, str | os.PathLike) or not isinstance(os.fspath(path), str):
        raise TypeError(f"checkpoint must be a path or None, got {type(path).__name__}")
    name = os.path.abspath(path)
    if os.path.isdir(name):
        raise IsADirectoryError(f"the checkpoint {name} is a folder; name a file in it")
    return name


def _plain(length: Any) -> int | str:
    return length if isinstance(length, str) else int(length)


def _check_progress(chains: Sequence[Chain], plan: Lengths, burn_in: int | None) -> None:
    """Check that the chains have the draws that belong to their sweeps."""
    if len(chains) != plan.chains:
        raise ValueError(f"there are {len(chains)} chains of {plan.chains}")
    seed = chains[0].key.seed
    for number, chain in enumerate(chains):
        draws = 0 if burn_in is None else max(0, chain.sweep - burn_in) // plan.thin
        if (chain.key.seed, chain.key.chain, len(chain.draws)) != (seed, number, draws):
            raise ValueError(f"chain {number} does not have the draws of {chain.sweep} sweeps")


def _facts(model: Model, more: Any, seed: int) -> dict[str, Any]:
    """What the draws depend on, by name."""
    described = model_to_json(model)
    given = more["random_state"]
    facts: dict[str, Any] = {
        "rows": more["rows"],
        "columns": [column["name"] for column in described["columns"]],
        "cells": more["cells"],
        "chains": more["chains"],
        "burn_in": more["burn_in"],
        "thin": more["thin"],
        "random_state": (seed, f"of seed {seed}" if given is None else given),
    }
    facts |= {
        name: list(value) if isinstance(value, Sequence) and name == "partitions" else value
        for name, value in described["graph"].items()
    }
    facts |= described["priors"]
    facts["gamma"] = "learned" if described["learn_leaf_priors"] else "fixed"
    facts["details"] = described["columns"]
    return facts


def name_differences(now: dict[str, Any], then: dict[str, Any]) -> list[str]:
    """In words, what differs; nothing that merely follows from another table."""
    for name in ("rows", "columns"):
        if now[name] != then[name]:
            if name == "rows":
                return [f"the table has {now[name]} rows, the file's had {then[name]}"]
            return [f"the table's columns are {now[name]}, the file's were {then[name]}"]
    different = []
    for name in now:
        if name == "random_state":
            (seed, shown), (seed_then, shown_then) = now[name], then[name]
            if seed != seed_then:
                different.append(f"random_state is {shown}, in the file {shown_then}")
        elif name not in ("cells", "details") and now[name] != then[name]:
            different.append(f"{name} is {_shown(now[name])}, in the file {_shown(then[name])}")
    same_cells = now["cells"] == then["cells"]
    for column, column_then in zip(now["details"], then["details"], strict=True):
        for name in column:
            before = column_then.get(name, column[name])  # older files lack some
            if column[name] != before and (same_cells or name not in _DERIVED):
                different.append(
                    f"{name} of column {column['name']!r} is {column[name]}, in the file {before}"
                )
    if not same_cells:
        different.insert(0, "the table has other cells")
    return different


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return f"learned (median {value['median']:g}, spread {value['spread']:g})"
    return repr(value) if isinstance(value, str) else str(value)
