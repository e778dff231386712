"""Scores of graphs on disk, as lines of JSON: a choice that was stopped goes on where it was."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from bayesspn.files.arrays import ModelFileError
from bayesspn.files.checkpoints import checked_path, name_differences
from bayesspn.files.posteriors import model_to_json
from bayesspn.model.generative import Model
from bayesspn.numerics.random_numbers import draw_seed
from bayesspn.rows.encoded import EncodedRows
from bayesspn.rows.fingerprints import combine_hashes, hash_columns
from bayesspn.selection.evidence import Measurement

_FORMAT = "bayesspn scores of graphs"
_VERSION = 1

_FACTS = ("rows", "columns", "cells", "details")


class Stage(NamedTuple):
    """What a score was estimated of, and how thoroughly."""

    graph: str
    runs: int
    sweeps: int


class ScoreFile:
    """Scores that need not be estimated again, and the seed that they come from.

    The file begins with a line about the table, and has a line for every finished stage of a graph.
    It says nothing of the other graphs of a grid, so grids may grow.

    Parameters
    ----------
    path : str, path or None
        None keeps the scores in memory only.
    model : Model
        Describes the columns.
    rows : EncodedRows
    random_state : int, RandomState or None
        What the seed is drawn from; None accepts the seed of the file.

    Attributes
    ----------
    seed : int
    random_state : int
        The one that the seed was drawn from, now or when the file was begun; the seed, if it was
        no number.
    known : dict of Stage to Measurement

    Raises
    ------
    ModelFileError
        If the file has something else in it, is damaged, or was written by a newer version.
    ValueError
        If it is of another table or seed, naming what differs.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None,
        model: Model,
        rows: EncodedRows,
        random_state: Any,
    ) -> None:
        self.seed = draw_seed(random_state)
        given = int(random_state) if isinstance(random_state, int | np.integer) else None
        self.random_state = self.seed if given is None else given
        self.known: dict[Stage, Measurement] = {}
        self._path = None if path is None else checked_path(path)
        if self._path is None:
            return
        described = {
            "rows": rows.n_rows,
            "columns": [column.name for column in model.leaves.columns],
            "cells": combine_hashes(hash_columns(rows)),
            "details": model_to_json(model)["columns"],
        }
        header = {"format": _FORMAT, "version": _VERSION, "seed": self.seed, "random_state": given}
        # as it will be read: JSON has no tuples
        header = json.loads(json.dumps(header | described))
        if os.path.exists(self._path) and os.path.getsize(self._path):
            self._resume(header, any_seed=random_state is None)
        else:
            self._append(header)

    def add(self, stage: Stage, measured: Measurement) -> None:
        """Keep a score."""
        self.known[stage] = measured
        if self._path is not None:
            self._append(
                stage._asdict() | {"seed": stage_seed(self.seed, stage)} | measured._asdict()
            )

    def _resume(self, header: dict[str, Any], *, any_seed: bool) -> None:
        assert self._path is not None
        lines = self._read()
        first = next(lines, None)
        if first is None:  # killed while the first line was written
            self._append(header)
            return
        if first.get("format") != _FORMAT:
            raise ModelFileError(f"{self._path} does not hold scores of graphs; name another file")
        if first.get("version") != _VERSION:
            raise ModelFileError(
                f"{self._path} is of version {first.get('version')!r} of its format, this is "
                f"version {_VERSION}: a newer bayesspn wrote it"
            )
        try:
            seed = _checked_whole(first["seed"])
            given = first["random_state"]
            random_state = seed if given is None else _checked_whole(given)
            now = _facts(header, seed if any_seed else self.seed)
            then = _facts(first, seed)
            different = name_differences(now, then)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise self._damaged(1, error) from None
        if different:
            raise ValueError(
                f"{self._path} has the scores of another table or seed: {'; '.join(different)}; "
                "use the same ones, name another file, or delete it to start afresh"
            )
        self.seed, self.random_state = seed, random_state
        for number, line in enumerate(lines, start=2):
            try:
                stage, measured = _read_score(line, self.seed)
            except (KeyError, TypeError, ValueError, OverflowError) as error:
                raise self._damaged(number, error) from None
            self.known.setdefault(stage, measured)

    def _read(self) -> Iterator[dict[str, Any]]:
        """Objects of the file's lines; a last line that was not finished is cut off."""
        assert self._path is not None
        with open(self._path, "rb+") as file:
            end = 0
            for number, line in enumerate(iter(file.readline, b""), start=1):
                if not line.endswith(b"\n"):
                    file.truncate(end)
                    return
                end += len(line)
                try:
                    content = json.loads(line, parse_constant=_refuse)
                    if not isinstance(content, dict):
                        raise TypeError("no JSON object")
                except (ValueError, TypeError, RecursionError) as error:
                    raise self._damaged(number, error) from None
                yield content

    def _append(self, content: dict[str, Any]) -> None:
        assert self._path is not None
        line = json.dumps(content, allow_nan=False) + "\n"
        try:
            with open(self._path, "ab") as file:
                file.write(line.encode())
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise type(error)(
                f"the checkpoint {self._path} cannot be written ({error.strerror}); name a file in "
                "a folder that exists and can be written"
            ) from None

    def _damaged(self, line: int, error: Exception) -> ModelFileError:
        return ModelFileError(
            f"{self._path} is damaged in line {line} ({type(error).__name__}: {error}); delete "
            "that line or the file"
        )


def stage_seed(seed: int, stage: Stage) -> int:
    """A seed for one stage of one graph, whatever the other graphs are."""
    digest = hashlib.sha256(f"{seed} {stage.sweeps} {stage.graph}".encode()).digest()
    return int.from_bytes(digest[:4], "little") >> 1


def _facts(header: dict[str, Any], seed: int) -> dict[str, Any]:
    given = header["random_state"]
    shown = f"of seed {seed}" if given is None else given
    return {name: header[name] for name in _FACTS} | {"random_state": (seed, shown)}


def _read_score(line: dict[str, Any], seed: int) -> tuple[Stage, Measurement]:
    if not isinstance(line["graph"], str):
        raise TypeError("graph is no text")
    stage = Stage(line["graph"], _checked_whole(line["runs"]), _checked_whole(line["sweeps"]))
    if line["seed"] != stage_seed(seed, stage):
        raise ValueError("the seed is not that of the graph and its sweeps")
    numbers = [line[name] for name in Measurement._fields]
    for name, number in zip(Measurement._fields, numbers, strict=True):
        if isinstance(number, bool) or not isinstance(number, int | float):
            raise TypeError(f"{name} is no number")
        if not math.isfinite(number) or (name != "value" and number < 0):
            raise ValueError(f"{name} is {number!r}")
    return stage, Measurement(*map(float, numbers))


def _checked_whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise TypeError(f"{value!r} is no whole number")
    return value


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")
