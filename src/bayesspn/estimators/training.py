"""The table of a fit: opened and encoded once, wherever its rows are held.

A table in memory is a `MemoryTable`, and a fit on it does not leave this process. Rows that workers
of a Ray cluster hold, and tables in Parquet files, are `bayesspn.cluster`'s.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np

from bayesspn.arrays import Array, IntArray
from bayesspn.engine.engines import Engine
from bayesspn.engine.shards import LocalShards, Shards
from bayesspn.leaves.columns import Leaves
from bayesspn.numerics.checks import check_weights, levels_to_user
from bayesspn.prediction.censored_columns import reach_bounds
from bayesspn.prediction.censored_rows import censor_rows
from bayesspn.rows.encoded import EncodedRows, check_support, encode_rows
from bayesspn.tables.bounds import Bounds, encode_bounds
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
    recorded : ndarray of shape (recorded rows, columns) or None
        The sample before weights repeated its rows, if they did.
    """

    schema: Schema
    library: str
    shape: tuple[int, ...]
    sample: Array
    recorded: Array | None

    def reach(self, leaves: Leaves) -> Leaves:
        """The leaves, of columns that have seen what is known of cells that the sample lacks."""

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
    recorded : ndarray of shape (recorded rows, columns), default=None
        The rows before weights repeated them.
    """

    def __init__(
        self,
        schema: Schema,
        values: Array,
        library: str,
        shards: int = 1,
        recorded: Array | None = None,
    ) -> None:
        if not len(values):
            raise ValueError("Found array with 0 sample(s): there are no rows to learn from")
        self.schema, self.sample, self.library = schema, values, library
        self.recorded = recorded
        self.shape: tuple[int, ...] = values.shape
        self._shards = shards

    def reach(self, leaves: Leaves) -> Leaves:
        """The leaves as they are: nothing is known of missing cells."""
        return leaves

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

    def reach(self, leaves: Leaves) -> Leaves:
        """Leaves of columns that reach as far as the bounds say; see `reach_bounds`."""
        return reach_bounds(leaves, *self._bounds)

    def encode(self, leaves: Leaves) -> EncodedRows | Shards:
        """The rows that chains run on."""
        return censor_rows(leaves, self.sample, *self._bounds)


#: More rows than this are a mistake: weights of a survey, say, that add up to a population.
_MOST_ROWS = 100_000_000

#: Rows that weights may make of a table without a word, in all and for every row.
_MANY_ROWS, _MANY_COPIES = 200_000, 20


def count_copies(sample_weight: Any, rows: int, seed: int = 0) -> IntArray:
    """How often each row is there, by its weight; (rows,).

    Parameters
    ----------
    sample_weight : array of shape (rows,)
        A whole number is how often a row counts. Others are rounded up or down at random, so that
        they are right on average and their sum is within one of what it should be.
    rows : int
    seed : int, default=0
        The same for all fits, so that a plan or a checkpoint finds the rows that it is of.

    Examples
    --------
    >>> count_copies([2, 0, 1], 3)
    array([2, 0, 1])
    """
    weights = check_weights(sample_weight, rows)
    if weights.sum() > _MOST_ROWS:
        raise ValueError(
            f"sample_weight adds up to {weights.sum():,.0f}: a weight is how many rows a row "
            "counts as; divide weights by their mean to let the table count as many rows as it has"
        )
    if weights.sum() > max(_MANY_ROWS, _MANY_COPIES * rows):
        warnings.warn(
            f"sample_weight makes {weights.sum():,.0f} rows of {rows:,}, and a fit takes as long "
            "as with so many; weights of a survey say how rows compare, not how many there are: "
            "divide them by their mean",
            UserWarning,
            stacklevel=levels_to_user(),
        )
    if (weights == np.floor(weights)).all():
        return weights.astype(np.int64)
    rng = np.random.default_rng(seed)
    # in random order: in the table's, weights of a half would take every second row
    order = rng.permutation(rows)
    # rounding may leave sums of fractions just below a whole number
    ends = np.floor(np.cumsum(weights[order]) + rng.random() + 1e-9)
    copies = np.empty(rows, dtype=np.int64)
    copies[order] = np.diff(ends, prepend=0.0)
    if not copies.any():
        raise ValueError(
            f"sample_weight adds up to {weights.sum():g}, less than a row: a weight is how many "
            "rows a row counts as; divide weights by their mean to let the table count as many "
            "rows as it has"
        )
    return copies


@contextlib.contextmanager
def opened_table(
    X: Any,
    schema: Schema | None,
    engine: Engine,
    sample_weight: Any = None,
    bounds: Bounds | None = None,
) -> Iterator[TrainingTable]:
    """Open a table as users give it: in memory, or the names of Parquet files."""
    if names_files(X):
        if bounds:
            raise ValueError("bounds need a table in memory, not the names of files")
        if sample_weight is not None:
            raise ValueError("sample_weight needs a table in memory, not the names of files")
        from bayesspn.cluster.tables import FileTable

        table: TrainingTable = FileTable(X, schema, engine)
        with contextlib.closing(table):
            yield table
        return
    known, values, library = encode_table(X, schema)
    with placed_table(known, values, library, engine, sample_weight, bounds) as table:
        yield table


@contextlib.contextmanager
def placed_table(
    schema: Schema,
    values: Array,
    library: str,
    engine: Engine,
    sample_weight: Any = None,
    bounds: Bounds | None = None,
) -> Iterator[TrainingTable]:
    """An encoded table, whose rows go to where the engine holds them, as often as they count.

    Parameters
    ----------
    schema : Schema
    values : ndarray of shape (rows, columns)
        NaN where missing.
    library : str
    engine : Engine
    sample_weight : array of shape (rows,), default=None
        See `count_copies`.
    bounds : mapping of column names to pairs (low, high), default=None
        Of missing cells; see `encode_bounds`.
    """
    table: TrainingTable
    if bounds:
        if sample_weight is not None or engine.name != "local":
            raise ValueError("bounds need engine='local' and no sample_weight")
        low, high = encode_bounds(bounds, schema, values)
        if not np.isnan(low).all():
            yield CensoredTable(schema, values, library, low, high)
            return
    recorded = None
    if sample_weight is not None:
        copies = count_copies(sample_weight, len(values))
        recorded, values = values[copies > 0], np.repeat(values, copies, axis=0)
    if engine.name == "ray":
        from bayesspn.cluster.tables import RayTable

        table = RayTable(schema, values, library, engine, recorded)
    else:
        table = MemoryTable(schema, values, library, engine.shards or 1, recorded)
    with contextlib.closing(table):
        yield table
