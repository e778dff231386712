"""Where the rows of a fit are kept: what the estimators know of engines, shards and files.

A table is given as an array (`ArrayTable`) or as the names of Parquet files (`FileTable`). Either
says how many rows it has and what describes its columns; ``encode`` then gives rows that chains run
on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np

from bayesspn.arrays import Array
from bayesspn.cluster.ray_workers import RayWorkers
from bayesspn.cluster.shards import WorkerShards, encode_shards
from bayesspn.cluster.worker import merge_extremes
from bayesspn.cluster.workers import LocalWorkers, Workers
from bayesspn.engine.shards import LocalShards, Shards
from bayesspn.leaves.columns import Leaves
from bayesspn.rows.encoded import EncodedRows, check_support, check_values, encode_rows
from bayesspn.tables.infer import infer_column
from bayesspn.tables.partitions import divide_rows, find_partitions
from bayesspn.tables.schema import Schema
from bayesspn.tables.sources import ArraySource, ParquetSource
from bayesspn.tables.surveys import merge_surveys

ENGINES = ("local", "ray")

#: Rows by which the columns of files are described.
SAMPLE_ROWS = 100_000


class Engine(NamedTuple):
    """Who does the row passes.

    Attributes
    ----------
    name : {"local", "ray"}
    address : str or None
        Of a Ray cluster; None is this machine.
    shards : int or None
        Parts of the table; None is 1, or the number of CPUs of the Ray cluster.
    """

    name: str = "local"
    address: str | None = None
    shards: int | None = None

    def check(self) -> None:
        """Check what a user gave."""
        if self.name not in ENGINES:
            raise ValueError(f"engine must be 'local' or 'ray', got {self.name!r}")
        if self.address is not None and not isinstance(self.address, str):
            raise TypeError(f"address must be text or None, got {type(self.address).__name__}")
        if self.address is not None and self.name != "ray":
            raise ValueError(f"address is {self.address!r}, which needs engine='ray'")
        whole = isinstance(self.shards, int | np.integer) and not isinstance(self.shards, bool)
        if self.shards is not None and not (whole and self.shards >= 1):
            raise ValueError(
                f"shards must be None or a whole number from 1 on, got {self.shards!r}"
            )

    def start_workers(self, n_rows: int) -> Workers:
        """Workers for a table of so many rows."""
        if self.name == "ray":
            return RayWorkers(self.shards, n_rows, self.address)
        return LocalWorkers(1)  # its rows are divided when they are encoded

    def divide(self, rows: EncodedRows) -> EncodedRows | Shards:
        """Rows of this process, in as many shards as wanted."""
        if self.shards is None or self.shards == 1:
            return rows
        check_support(rows)
        return LocalShards(rows, int(self.shards))


class ArrayTable:
    """An encoded table in memory to learn from.

    Parameters
    ----------
    values : ndarray of shape (rows, columns)
        NaN where missing.
    engine : Engine
    """

    def __init__(self, values: Array, engine: Engine) -> None:
        self.shape: tuple[int, ...] = values.shape
        self.described_by = values
        self._engine = engine
        self._workers: Workers | None = None

    def encode(self, leaves: Leaves) -> EncodedRows | Shards:
        """Encode the rows where they are to be kept."""
        if self._engine.name == "local":
            return self._engine.divide(encode_rows(leaves, self.described_by))
        values = check_values(leaves, self.described_by)
        self._workers = self._engine.start_workers(len(values))
        spans = divide_rows(len(values), len(self._workers))
        sources = [ArraySource(begin, values[begin:end]) for begin, end in spans]
        self._workers.call("read", [(source,) for source in sources], keep=True)
        return WorkerShards(self._workers, leaves, [end for _, end in spans])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._workers is not None:
            self._workers.close()


class FileTable:
    """Parquet files to learn from, read by whoever keeps the rows.

    Parameters
    ----------
    X : str, path or sequence of these
        See `find_partitions`.
    schema : Schema or None
        None infers it from surveys of all rows.
    engine : Engine

    Attributes
    ----------
    schema : Schema
    shape : tuple of int
        Rows and columns.
    described_by : ndarray of shape (sample, columns)
        All rows, if there are few; else a sample, and the extremes of every column.
    """

    def __init__(self, X: Any, schema: Schema | None, engine: Engine) -> None:
        partitions = find_partitions(X)
        self._engine = engine
        self._workers = engine.start_workers(partitions.n_rows)
        try:
            spans = divide_rows(partitions.n_rows, len(self._workers))
            self._ends = [end for _, end in spans]
            sources = [ParquetSource(partitions.stretches(*span)) for span in spans]
            self.schema = self._survey(sources) if schema is None else schema
            sources = [replace(source, schema=self.schema) for source in sources]
            self.shape = (partitions.n_rows, len(self.schema))
            self.described_by = self._describe(sources)
        except BaseException:
            self._workers.close()
            raise

    def _survey(self, sources: Sequence[ParquetSource]) -> Schema:
        surveys = self._workers.call("survey", [(source,) for source in sources])
        names = [column.name for column in surveys[0]]
        parts = [{column.name: column for column in part} for part in surveys]
        merged = (merge_surveys([part[name] for part in parts]) for name in names)
        return Schema(tuple(map(infer_column, merged)))

    def _describe(self, sources: Sequence[ParquetSource]) -> Array:
        extremes = self._workers.call("read", [(source,) for source in sources], keep=True)
        n_rows = self.shape[0]
        size = min(n_rows, SAMPLE_ROWS)
        # evenly spread, and the same for any number of workers
        row_ids = np.arange(size) * n_rows // size
        holder = np.searchsorted(self._ends, row_ids, side="right")
        wanted = [(row_ids[holder == shard],) for shard in range(len(sources))]
        sample = self._workers.call("sample", wanted)
        if size < n_rows:
            sample.append(np.stack(merge_extremes(extremes)))
        return np.concatenate(sample)

    def encode(self, leaves: Leaves) -> EncodedRows | Shards:
        """Encode the rows where they are kept."""
        if isinstance(self._workers, LocalWorkers):
            encode_shards(self._workers, leaves)
            return self._engine.divide(self._workers.workers[0].rows)
        return WorkerShards(self._workers, leaves, self._ends)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._workers.close()
