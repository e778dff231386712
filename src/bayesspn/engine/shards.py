"""Rows, wherever they are: the narrow interface between the sampler and the table.

Every sweep broadcasts one circuit and gets back sums of integers, which do not depend on how the
rows are divided. `LocalShards` runs in this process; `bayesspn.cluster` has one whose rows are held
by other processes or machines.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from bayesspn.arrays import Array, IntArray
from bayesspn.engine import compiled
from bayesspn.engine.row_sums import Address, RowSums, add_row_sums, from_fixed_point
from bayesspn.model.circuit import Circuit
from bayesspn.rows.codebook import Codebook
from bayesspn.rows.encoded import EncodedRows
from bayesspn.rows.fingerprints import HashArray, hash_columns

RowPass = Callable[[Circuit, EncodedRows, Address], RowSums]


class Shards(Protocol):
    """A table in parts, or some of its rows. Those of a whole table have numbers from 0 on."""

    @property
    def codebook(self) -> Codebook:
        """What the rows share."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""

    def row_pass(self, circuit: Circuit, address: Address) -> RowSums:
        """Draw z and s for every row and add up what they say."""

    def log_likelihood(self, circuit: Circuit) -> float:
        """Sum of the log densities of all rows."""

    def values(self, row_ids: IntArray) -> Array:
        """Values of some rows, NaN where missing; shape (row_ids, columns)."""

    def draw_ids(self, rng: np.random.Generator, most: int) -> IntArray:
        """Numbers of so many different rows, or of all if there are fewer; shape (rows,)."""

    def cell_hashes(self) -> HashArray:
        """Hash of the cells of every column, the same for any split; shape (columns,)."""

    def sampled(self, rows: int) -> Shards:
        """About so many of the rows, the same for any split; they keep their numbers."""


class LocalShards:
    """Rows in this process.

    Parameters
    ----------
    rows : EncodedRows
    shards : int, default=1
        Parts to process one after the other; the sums are the same for any number.
    row_pass : callable, default=the compiled engine
    """

    def __init__(
        self, rows: EncodedRows, shards: int = 1, row_pass: RowPass = compiled.row_pass
    ) -> None:
        self.rows = rows
        self._parts = rows.split(shards) if shards > 1 else (rows,)
        self._row_pass = row_pass
        self._samples: dict[int, LocalShards] = {}

    @property
    def codebook(self) -> Codebook:
        """What the rows share."""
        return self.rows.codebook

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.rows.n_rows

    def row_pass(self, circuit: Circuit, address: Address) -> RowSums:
        """Draw z and s for every row and add up what they say."""
        parts = [self._row_pass(circuit, part, address) for part in self._parts]
        return parts[0] if len(parts) == 1 else add_row_sums(parts)

    def log_likelihood(self, circuit: Circuit) -> float:
        """Sum of the log densities of all rows."""
        parts = [compiled.fixed_log_likelihood(circuit, part) for part in self._parts]
        return from_fixed_point(sum(parts))

    def values(self, row_ids: IntArray) -> Array:
        """Values of some rows, NaN where missing; shape (row_ids, columns)."""
        return self.rows.values(row_ids)

    def draw_ids(self, rng: np.random.Generator, most: int) -> IntArray:
        """Numbers of so many different rows, or of all if there are fewer; shape (rows,)."""
        places = rng.choice(self.n_rows, size=min(most, self.n_rows), replace=False)
        return self.rows.sorted_ids[0][places]

    def cell_hashes(self) -> HashArray:
        """Hash of the cells of every column, the same for any split; shape (columns,)."""
        return hash_columns(self.rows)

    def sampled(self, rows: int) -> LocalShards:
        """About so many of the rows, the same for any split; they keep their numbers."""
        if rows not in self._samples:
            kept = self.rows.take(choose_rows(np.arange(self.n_rows), rows / self.n_rows))
            self._samples[rows] = LocalShards(kept, row_pass=self._row_pass)
        return self._samples[rows]


def choose_rows(row_ids: IntArray, share: float) -> NDArray[np.bool_]:
    """Which rows belong to a sample of a share of all, decided by their numbers alone.

    Examples
    --------
    >>> int(choose_rows(np.arange(10_000), 0.25).sum())
    2525
    >>> ids = np.arange(100)
    >>> bool(choose_rows(ids, 0.5)[choose_rows(ids, 0.25)].all())  # larger ones hold smaller ones
    True
    """
    mixed = row_ids.astype(np.uint64)
    for factor, shift in (
        (0x9E3779B97F4A7C15, 30),
        (0xBF58476D1CE4E5B9, 27),
        (0x94D049BB133111EB, 31),
    ):
        mixed = (mixed + np.uint64(1)) * np.uint64(factor)
        mixed ^= mixed >> np.uint64(shift)
    return np.asarray(mixed.astype(np.float64) * 2.0**-64 < share)


def as_shards(rows: EncodedRows | Shards) -> Shards:
    """Encoded rows as shards of this process."""
    return LocalShards(rows) if isinstance(rows, EncodedRows) else rows
