"""The table of a fit: opened and encoded once, wherever its rows are held.

A table in memory is a `MemoryTable`, and a fit on it does not leave this process. Rows that workers
of a Ray cluster hold, and tables in Parquet files, are `bayesspn.cluster`'s.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np

from bayesspn.arrays import Array
from bayesspn.engine.engines import Engine
from bayesspn.engine.shards import LocalShards, Shards
from bayesspn.leaves.columns import Leaves
from bayesspn.numerics.checks import check_weights
from bayesspn.prediction.censored_rows import censor_rows
from bayesspn.rows.encoded import EncodedRows, check_support, encode_rows
from bayesspn.tables.infer import encode_table
from bayesspn.tables.partitions import names_files
from bayesspn.tables.schema import Schema


class TrainingTable(Protocol):
    """A table to learn from.

    Attributes
    ----------
    schema : Schema
    library : str
        Of the tables that are given back.
    shape : tuple of int
        Rows and columns.
    sample : ndarray of shape (sample, columns)
        Encoded rows that describe the columns: all of them, or as many as say enough.
    """

    schema: Schema
    library: str
    shape: tuple[int, ...]
    sample: Array

    def encode(self, leaves: Leaves) -> EncodedRows | Shards:
        """The rows that chains run on."""

    def close(self) -> None:
        """Let go of what holds the rows."""


class MemoryTable:
    """An encoded table in this process.

    Parameters
    ----------
    schema : Schema
    values : ndarray of shape (rows, columns)
        NaN where missing.
    library : str
    shards : int, default=1
        Parts that row passes go through one after the other.
    """

    def __init__(self, schema: Schema, values: Array, library: str, shards: int = 1) -> None:
        if not len(values):
            raise ValueError("Found array with 0 sample(s): there are no rows to learn from")
        self.schema, self.sample, self.library = schema, values, library
        self.shape: tuple[int, ...] = values.shape
        self._shards = shards

    def encode(self, leaves: Leaves) -> EncodedRows | Shards:
        """The rows that chains run on."""
        rows = encode_rows(leaves, self.sample)
        check_support(rows)
        return LocalShards(rows, self._shards) if self._shards > 1 else rows

    def close(self) -> None:
        """Nothing is to be let go of."""


class CensoredTable(MemoryTable):
    """An encoded table in this process, some of whose cells are known to lie between bounds.

    Parameters
    ----------
    schema : Schema
    values : ndarray of shape (rows, columns)
        NaN where missing or censored.
    library : str
    low, high : ndarray of shape (rows, columns)
        Bounds of censored cells, NaN elsewhere.
    """

    def __init__(
        self, schema: Schema, values: Array, library: str, low: Array, high: Array
    ) -> None:
        super().__init__(schema, values, library)
        self._bounds = low, high

    def encode(self, leaves: Leaves) -> EncodedRows | Shards:
        """The rows that chains run on."""
        return censor_rows(leaves, self.sample, *self._bounds)


#: More rows than this are a mistake: weights of a survey, say, that add up to a population.
_MOST_ROWS = 100_000_000


def repeat_rows(values: Array, sample_weight: Any, seed: int) -> Array:
    """Rows, each as often as its weight says; (rows, columns).

    Parameters
    ----------
    values : ndarray of shape (rows, columns)
    sample_weight : array of shape (rows,) or None
        A whole number is how often a row counts. Others are rounded up or down at random, so that
        they are right on average and their sum is within one of what it should be.
    seed : int

    Examples
    --------
    >>> repeat_rows(np.array([[1.0], [2.0], [3.0]]), [2, 0, 1], seed=0).ravel()
    array([1., 1., 3.])
    """
    if sample_weight is None:
        return values
    weights = check_weights(sample_weight, len(values))
    if weights.sum() > _MOST_ROWS:
        raise ValueError(
            f"sample_weight adds up to {weights.sum():,.0f}: a weight is how many rows a row "
            "counts as; divide weights by their mean to let the table count as many rows as it has"
        )
    # rounding may leave sums of fractions just below a whole number
    ends = np.floor(np.cumsum(weights) + np.random.default_rng(seed).random() + 1e-9)
    whole = weights == np.floor(weights)
    counts = weights if whole.all() else np.diff(ends, prepend=0.0)
    return np.repeat(values, counts.astype(np.int64), axis=0)


@contextlib.contextmanager
def opened_table(
    X: Any, schema: Schema | None, engine: Engine, sample_weight: Any = None, seed: int = 0
) -> Iterator[TrainingTable]:
    """Open a table as users give it: in memory, or the names of Parquet files."""
    if names_files(X):
        if sample_weight is not None:
            raise ValueError("sample_weight needs a table in memory, not the names of files")
        from bayesspn.cluster.tables import FileTable

        table: TrainingTable = FileTable(X, schema, engine)
        with contextlib.closing(table):
            yield table
        return
    known, values, library = encode_table(X, schema)
    values = repeat_rows(values, sample_weight, seed)
    with placed_table(known, values, library, engine) as table:
        yield table


@contextlib.contextmanager
def placed_table(
    schema: Schema, values: Array, library: str, engine: Engine
) -> Iterator[TrainingTable]:
    """An encoded table, whose rows go to where the engine holds them."""
    table: TrainingTable
    if engine.name == "ray":
        from bayesspn.cluster.tables import RayTable

        table = RayTable(schema, values, library, engine)
    else:
        table = MemoryTable(schema, values, library, engine.shards or 1)
    with contextlib.closing(table):
        yield table
