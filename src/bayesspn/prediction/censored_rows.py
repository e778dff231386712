"""Rows some of whose cells are known to lie between bounds: censored, or recorded as intervals.

To the sampler they are `bayesspn.engine.shards.Shards` like any others. A row pass first draws the
censored cells given the network, with the assignments z summed out, and then the assignments given
the cells: both are Gibbs steps, and nothing needs to be remembered between sweeps.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256

import numpy as np

from bayesspn.arrays import Array, IntArray
from bayesspn.engine import compiled
from bayesspn.engine.row_sums import Address, RowSums, add_row_sums
from bayesspn.engine.shards import LocalShards, choose_rows
from bayesspn.leaves.columns import Column, Leaves
from bayesspn.leaves.densities import DrawnLeaves, draw_cells_between, log_mass
from bayesspn.model.circuit import Circuit
from bayesspn.prediction.passes import evaluate
from bayesspn.prediction.stacked import StackedCircuits, stack_circuits
from bayesspn.rows.codebook import (
    Codebook,
    build_codebook,
    count_totals,
    digest_rows,
    supported,
)
from bayesspn.rows.encoded import check_support, encode_shard
from bayesspn.rows.fingerprints import HashArray

#: Censored cells are drawn within what is known of the column and so many times its range on either
#: side: sums of statistics are whole numbers, whose scale must hold the largest.
_MOST_RANGES = 1e3

#: Squares of what lies beyond overflow.
_LARGEST = 1e150

#: Rows whose cells are drawn at once, which bounds the working memory.
_CHUNK_ROWS = 4_096

#: Sets the random numbers of censored cells apart from those of trees.
_STREAM = 11


@dataclass(frozen=True, eq=False)
class CensoredRows:
    """Rows with censored cells.

    Use `censor_rows`, which checks and encodes them.

    Parameters
    ----------
    codebook : Codebook
        Censored columns are dense in it.
    known : LocalShards
        Rows without censored cells.
    row_ids : ndarray of shape (censored rows,)
        Numbers of the others in the table, ascending.
    cells : ndarray of shape (censored rows, columns)
        Their values, NaN where missing or censored.
    low, high : ndarray of shape (censored rows, columns)
        Bounds of censored cells, NaN elsewhere.
    """

    codebook: Codebook
    known: LocalShards
    row_ids: IntArray
    cells: Array
    low: Array
    high: Array

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.known.n_rows + len(self.row_ids)

    def row_pass(self, circuit: Circuit, address: Address) -> RowSums:
        """Draw censored cells, then z and s for every row, and add up what they say."""
        seed = np.random.SeedSequence([*map(int, address.words), address.sweep, _STREAM])
        cells = self._draw_cells(np.random.default_rng(seed), circuit)
        rows = encode_shard(self.codebook, cells, self.row_ids)
        drawn = compiled.row_pass(circuit, rows, address)
        return add_row_sums([self.known.row_pass(circuit, address), drawn])

    def log_likelihood(self, circuit: Circuit) -> float:
        """Sum of the log densities of all rows; censored cells count with their probability."""
        circuits = stack_circuits([circuit])
        scores = [float(part._log_densities(circuits).sum()) for part in self._chunks]
        return self.known.log_likelihood(circuit) + sum(scores)

    def values(self, row_ids: IntArray) -> Array:
        """Values of some rows, NaN where missing or censored; shape (row_ids, columns)."""
        values = np.empty((len(row_ids), self.cells.shape[1]))
        place = np.minimum(np.searchsorted(self.row_ids, row_ids), len(self.row_ids) - 1)
        censored = self.row_ids[place] == row_ids
        values[censored] = self.cells[place[censored]]
        if not censored.all():
            values[~censored] = self.known.values(row_ids[~censored])
        return values

    def draw_ids(self, rng: np.random.Generator, most: int) -> IntArray:
        """Numbers of different rows without censored cells; shape (rows,)."""
        return self.known.draw_ids(rng, most) if self.known.n_rows else self.row_ids[:0]

    def cell_hashes(self) -> HashArray:
        """Hash of the cells of every column, bounds included; shape (columns,)."""
        parts = np.stack([self.cells, self.low, self.high])
        own = [
            sha256(self.row_ids.tobytes() + column.tobytes()).digest()[:8]
            for column in np.moveaxis(parts, 2, 0)
        ]
        return self.known.cell_hashes() + np.frombuffer(b"".join(own), dtype=np.uint64)

    def sampled(self, rows: int) -> CensoredRows:
        """About so many of the rows; they keep their numbers."""
        share = rows / self.n_rows
        kept = choose_rows(self.row_ids, share)
        numbers = 1 + max(int(self.row_ids.max(initial=0)), self._last_known)
        known = self.known.rows.take(choose_rows(np.arange(numbers), share))
        parts = {name: getattr(self, name)[kept] for name in ("row_ids", "cells", "low", "high")}
        return replace(self, known=LocalShards(known), **parts)

    @property
    def _last_known(self) -> int:
        ids = self.known.rows.sorted_ids[0] if self.known.n_rows else np.zeros(1, dtype=np.int64)
        return int(ids[-1])

    @cached_property
    def _chunks(self) -> list[CensoredRows]:
        """The same, with few enough of the rows with censored cells to look at together."""
        names = ("row_ids", "cells", "low", "high")
        chunks = []
        for start in range(0, max(len(self.row_ids), 1), _CHUNK_ROWS):
            part = slice(start, start + _CHUNK_ROWS)
            chunks.append(replace(self, **{name: getattr(self, name)[part] for name in names}))
        return chunks

    @cached_property
    def censored_columns(self) -> list[int]:
        """Columns with censored cells."""
        return [int(c) for c in np.flatnonzero(~np.isnan(self.low).all(axis=0))]

    def _log_masses(self, circuits: StackedCircuits, column: int) -> Array:
        """Log probability of every row's interval, 0 if it has none; (rows, 1, paths, leaves)."""
        low, high = self.low[:, column], self.high[:, column]
        shape = (len(low), 1, circuits.graph.n_paths, circuits.graph.leaves)
        logs = np.zeros(shape)
        rows = np.flatnonzero(~np.isnan(low))
        ends, place = np.unique(
            np.column_stack([low[rows], high[rows]]), axis=0, return_inverse=True
        )
        half = circuits.leaves.columns[column].resolution / 2
        masses = log_mass(
            circuits.densities,
            column,
            ends[:, 0, None, None] - half,
            ends[:, 1, None, None] + half,
        )[:, None]
        logs[rows] = masses[place.ravel()]
        return logs

    def _log_densities(self, circuits: StackedCircuits) -> Array:
        """Log densities, in which censored cells count with their probability; (rows,)."""
        factors = {column: self._log_masses(circuits, column) for column in self.censored_columns}
        return evaluate(circuits, self.cells, factors).log_probability[0]

    def _draw_cells(self, rng: np.random.Generator, circuit: Circuit) -> Array:
        """Rows with censored cells drawn given everything else; shape (censored rows, columns)."""
        circuits = stack_circuits([circuit])
        return np.concatenate([part._draw_chunk(rng, circuits) for part in self._chunks])

    def _draw_chunk(self, rng: np.random.Generator, circuits: StackedCircuits) -> Array:
        """The same for rows that are few enough, one column after the other."""
        cells = self.cells.copy()
        factors = {column: self._log_masses(circuits, column) for column in self.censored_columns}
        for column in self.censored_columns:
            rows = np.flatnonzero(~np.isnan(self.low[:, column]))
            given = {other: logs[rows] for other, logs in factors.items()}
            visits = evaluate(circuits, cells[rows], given).visits()[0]
            weights = np.moveaxis(visits[circuits.leaf_regions[0, column]], 1, 0)
            pairs = _choose_leaves(rng, weights)
            ends = self.low[rows, column], self.high[rows, column]
            cells[rows, column] = _draw_between(rng, circuits, column, pairs, *ends)
            del factors[column]  # it is a value now
        return cells


def _choose_leaves(rng: np.random.Generator, weights: Array) -> tuple[IntArray, IntArray]:
    """Path and leaf of every row, by their weights (rows, paths, leaves)."""
    upper = np.cumsum(weights.reshape(len(weights), -1), axis=1)
    # rows that no leaf can explain, by rounding, take any
    upper = np.where(upper[:, -1:] > 0, upper, np.arange(1.0, upper.shape[1] + 1))
    u = rng.random(len(upper)) * upper[:, -1]
    chosen = (u[:, None] >= upper[:, :-1]).sum(axis=1)
    path, leaf = np.divmod(chosen, weights.shape[2])
    return path, leaf


def _draw_between(
    rng: np.random.Generator,
    circuits: StackedCircuits,
    column: int,
    pairs: tuple[IntArray, IntArray],
    low: Array,
    high: Array,
) -> Array:
    """A value between bounds of each (path, leaf) pair's leaf; (rows,)."""
    described, densities = circuits.leaves.columns[column], circuits.densities
    assert isinstance(densities, DrawnLeaves)
    half = described.resolution / 2  # recorded values stand for what is rounded to them
    values = draw_cells_between(rng, densities, column, pairs, low - half, high + half)
    values = np.clip(values, low, high)
    if described.discrete:
        return values
    rounded = np.clip(described.grid.nearest(values), low, high)
    # rounding must not make 0 of what is positive by its family
    return np.where(supported(described, rounded), rounded, values)


def censor_rows(leaves: Leaves, values: Array, low: Array, high: Array) -> CensoredRows:
    """Encode rows with censored cells.

    Parameters
    ----------
    leaves : Leaves
        Of the model.
    values : ndarray of shape (rows, columns)
        NaN where missing or censored.
    low, high : ndarray of shape (rows, columns)
        Bounds of censored cells, which may be infinite; NaN elsewhere.
    """
    inside = ~np.isnan(low)
    ends = np.array([_widest(column) for column in leaves.columns])
    # bounds beyond all that is thought possible are as far as that goes
    low, high = (
        np.where(inside, np.clip(bound, ends[:, 0], ends[:, 1]), np.nan) for bound in (low, high)
    )
    extremes = np.concatenate([np.where(inside, bound, values) for bound in (low, high)])
    digest = digest_rows(leaves, extremes)
    # drawn values can be any, so that these columns have no codes
    drawn = np.asarray(inside.any(axis=0))
    seen = (None if d else values for values, d in zip(digest.values, drawn, strict=True))
    digest = digest._replace(values=tuple(seen))
    codebook = build_codebook(leaves, digest, count_totals(leaves, extremes, digest.peaks))
    ids, censored = np.arange(len(values)), inside.any(axis=1)
    known = encode_shard(codebook, values[~censored], ids[~censored])
    check_support(encode_shard(codebook, values, ids))
    own = values[censored], low[censored], high[censored]
    return CensoredRows(codebook, LocalShards(known), ids[censored], *own)


def _widest(column: Column) -> tuple[float, float]:
    """Range in which censored cells are looked for."""
    low, high = column.observed
    width = _MOST_RANGES * ((high - low) or abs(high) or 1.0)
    least, _ = column.plausible
    grid = column.grid
    # what is positive stays positive
    bottom = least if least == 0 else low - width
    return max(bottom, grid.low, -_LARGEST), min(high + width, grid.high, _LARGEST)
