"""Tables whose rows workers hold: sent to a Ray cluster, or read from Parquet files by them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bayesspn.arrays import Array
from bayesspn.cluster.ray_workers import RayWorkers
from bayesspn.cluster.shards import WorkerShards, encode_shards
from bayesspn.cluster.worker import merge_extremes
from bayesspn.cluster.workers import LocalWorkers, Workers
from bayesspn.engine.engines import Engine
from bayesspn.engine.shards import LocalShards, Shards
from bayesspn.leaves.columns import Leaves
from bayesspn.rows.encoded import EncodedRows, check_values
from bayesspn.tables.infer import infer_columns
from bayesspn.tables.partitions import divide_rows, find_partitions
from bayesspn.tables.schema import Schema
from bayesspn.tables.sources import ArraySource, ParquetSource
from bayesspn.tables.surveys import merge_surveys

#: Rows by which the columns of files are described.
SAMPLE_ROWS = 100_000


class RayTable:
    """An encoded table in memory whose rows are sent to workers of a Ray cluster.

    Parameters
    ----------
    schema : Schema
    values : ndarray of shape (rows, columns)
        NaN where missing.
    engine : Engine
    recorded : ndarray of shape (recorded rows, columns), default=None
        The rows before weights repeated them.
    """

    library: str

    def __init__(
        self,
        schema: Schema,
        values: Array,
        library: str,
        engine: Engine,
        recorded: Array | None = None,
    ) -> None:
        self.schema, self.sample, self.library = schema, values, library
        self.recorded = recorded
        self.shape: tuple[int, ...] = values.shape
        self._engine = engine
        self._workers: Workers | None = None

    def reach(self, leaves: Leaves) -> Leaves:
        """The leaves as they are: nothing is known of missing cells."""
        return leaves

    def encode(self, leaves: Leaves) -> Shards:
        """Send the rows to workers, who encode them."""
        values = check_values(leaves, self.sample)
        self._workers = RayWorkers(self._engine.shards, len(values), self._engine.address)
        spans = divide_rows(len(values), len(self._workers))
        sources = [ArraySource(begin, values[begin:end]) for begin, end in spans]
        self._workers.call("read", [(source,) for source in sources], keep=True)
        return WorkerShards(self._workers, leaves, [end for _, end in spans])

    def close(self) -> None:
        """Dismiss the workers."""
        if self._workers is not None:
            self._workers.close()


class FileTable:
    """Parquet files, read by whoever holds the rows.

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
    sample : ndarray of shape (sample, columns)
        All rows, if there are few; else a sample, and the extremes of every column.
    """

    library = "pandas"
    recorded: Array | None = None

    def __init__(self, X: Any, schema: Schema | None, engine: Engine) -> None:
        partitions = find_partitions(X)
        self._engine = engine
        self._workers: Workers
        if engine.name == "ray":
            self._workers = RayWorkers(engine.shards, partitions.n_rows, engine.address)
        else:
            self._workers = LocalWorkers(1)  # its rows are divided when they are encoded
        try:
            spans = divide_rows(partitions.n_rows, len(self._workers))
            self._ends = [end for _, end in spans]
            sources = [ParquetSource(partitions.stretches(*span)) for span in spans]
            self.schema = self._survey(sources) if schema is None else schema
            sources = [replace(source, schema=self.schema) for source in sources]
            self.shape: tuple[int, ...] = (partitions.n_rows, len(self.schema))
            self.sample = self._describe(sources)
        except BaseException:
            self._workers.close()
            raise

    def _survey(self, sources: Sequence[ParquetSource]) -> Schema:
        surveys = self._workers.call("survey", [(source,) for source in sources])
        names = [column.name for column in surveys[0]]
        parts = [{column.name: column for column in part} for part in surveys]
        return infer_columns([merge_surveys([part[name] for part in parts]) for name in names])

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

    def reach(self, leaves: Leaves) -> Leaves:
        """The leaves as they are: nothing is known of missing cells."""
        return leaves

    def encode(self, leaves: Leaves) -> EncodedRows | Shards:
        """Encode the rows where they are held."""
        if isinstance(self._workers, LocalWorkers):
            encode_shards(self._workers, leaves)
            rows = self._workers.workers[0].rows
            return LocalShards(rows, self._engine.shards) if self._engine.shards else rows
        return WorkerShards(self._workers, leaves, self._ends)

    def close(self) -> None:
        """Dismiss the workers."""
        self._workers.close()
