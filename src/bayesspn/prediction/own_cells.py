"""Averages for cells that are there, as if each alone were missing: a whole row by one evaluation.

The induced tree has one leaf for every column. Given all cells of a row, leaf i is that of column c
with a probability v_i in proportion to what the other cells say of it times f_i(x_c); so given the
other cells alone it is v_i / f_i(x_c), over their sum. That sum is also the density of the other
cells over that of the row. One pass up and down thus serves all columns, where leaving out one
after the other would take a pass for each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayesspn.arrays import Array, IntArray
from bayesspn.numerics.threads import map_in_threads
from bayesspn.prediction.passes import Evaluation, evaluate
from bayesspn.prediction.stacked import StackedCircuits

#: Rows that all networks are evaluated on at once, since each would take longer to begin with.
_FEW_ROWS = 16

#: Numbers held at a time for the nodes of networks.
_MOST_VALUES = 4_000_000

#: Log densities of a value that lie further apart: a leaf which the other cells speak for may have
#: been lost to the smallest number that there is, 1e-308.
_FURTHEST = 550.0


@dataclass(frozen=True, eq=False)
class LeafValues:
    """What is averaged for the cells of a column.

    Attributes
    ----------
    common : ndarray of shape (k, draws, paths, leaves)
        Values of every leaf that are averaged for every row.
    own : ndarray of shape (different, draws, paths, leaves)
        Values of every leaf of which a row has one, or none.
    which : ndarray of shape (rows,)
        Which of them, −1 for none.
    """

    common: Array
    own: Array
    which: IntArray


@dataclass(frozen=True, eq=False)
class OwnAverages:
    """Averages for the cells of a column, each given the other cells of its row.

    Attributes
    ----------
    common : ndarray of shape (rows, k)
    own : ndarray of shape (rows,)
        Zeros for rows without one.
    found : ndarray of shape (rows,)
        Whether the cell is there, and its average could be found in this way: a cell that makes
        its row impossible, or all but impossible under some leaves, says nothing of the others.
    """

    common: Array
    own: Array
    found: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class _Part:
    """Averages of a column under one draw, for rows where the cell is there."""

    column: int
    rows: IntArray
    log_others: Array
    common: Array
    own: Array
    found: NDArray[np.bool_]


def average_own(
    circuits: StackedCircuits, X: Array, asked: Mapping[int, LeafValues]
) -> dict[int, OwnAverages]:
    """Average leaf values over the distribution of every cell given the other cells of its row.

    Parameters
    ----------
    circuits : StackedCircuits
        Draws count by how well they explain the other cells.
    X : ndarray of shape (rows, columns)
        NaN where a cell is missing.
    asked : dict of int to LeafValues
        By column.

    Returns
    -------
    dict of int to OwnAverages
    """
    totals = {
        column: _Total(len(X), len(values.common), ~np.isnan(X[:, column]))
        for column, values in asked.items()
    }

    def average(job: tuple[slice, IntArray]) -> list[_Part]:
        draws, rows = job
        evaluation = evaluate(circuits.some(draws), X[rows])
        visits = evaluation.visits()
        return [
            part
            for column, values in asked.items()
            for part in _average_column(evaluation, visits, X, column, values, draws, rows)
        ]

    for parts in map_in_threads(average, _jobs(circuits, len(X))):
        for part in parts:
            totals[part.column].add(part)
    return {column: total.finish() for column, total in totals.items()}


def _jobs(circuits: StackedCircuits, rows: int) -> Iterator[tuple[slice, IntArray]]:
    """Draws and rows that are evaluated together."""
    every = np.arange(rows)
    if rows <= _FEW_ROWS:
        yield slice(0, circuits.n_draws), every
        return
    graph = circuits.graph
    size = sum(regions * nodes for regions, nodes in zip(graph.regions, graph.nodes, strict=True))
    together = max(64, _MOST_VALUES // size)
    for draw in range(circuits.n_draws):
        for start in range(0, rows, together):
            yield slice(draw, draw + 1), every[start : start + together]


def _average_column(
    evaluation: Evaluation,
    visits: Array,
    X: Array,
    column: int,
    values: LeafValues,
    draws: slice,
    rows: IntArray,
) -> Iterator[_Part]:
    """Averages of a column under some draws, one after the other."""
    circuits = evaluation.circuits
    there = np.flatnonzero(~np.isnan(X[rows, column]))
    if not there.size:
        return
    distinct, place = np.unique(X[rows[there], column], return_inverse=True)
    densities = circuits.log_density(column, distinct)
    for number, draw in enumerate(range(draws.start, draws.stop)):
        log_row = evaluation.log_probability[number, there]
        logs = densities[place, number]  # (cells, paths, leaves)
        lowest, highest = logs.min(axis=(1, 2)), logs.max(axis=(1, 2))
        found = np.isfinite(log_row) & np.isfinite(lowest)
        with np.errstate(invalid="ignore"):
            found &= highest - lowest < _FURTHEST
            shares = np.exp(lowest[:, None, None] - logs)
        shares[~found] = 0.0
        regions = circuits.leaf_regions[number, column]
        shares *= visits[number, regions][:, there].swapaxes(0, 1)
        total = shares.sum(axis=(1, 2))
        found &= total > 0
        total = np.where(found, total, 1.0)
        shares /= total[:, None, None]
        flat = shares.reshape(len(there), -1)
        common = flat @ values.common[:, draw].reshape(len(values.common), -1).T
        own = np.zeros(len(there))
        with_own = np.flatnonzero(values.which[rows[there]] >= 0)
        if with_own.size:
            of_leaves = values.own[values.which[rows[there[with_own]]], draw]
            own[with_own] = (shares[with_own] * of_leaves).sum(axis=(1, 2))
        log_others = np.full(len(there), -np.inf)
        log_others[found] = log_row[found] + np.log(total[found]) - lowest[found]
        yield _Part(column, rows[there], log_others, common, own, found)


class _Total:
    """Sums over draws, weighed by the density of the other cells; see `weights_of_draws`."""

    def __init__(self, rows: int, k: int, found: NDArray[np.bool_]) -> None:
        self._top = np.full(rows, -np.inf)
        self._weight = np.zeros(rows)
        self._common = np.zeros((rows, k))
        self._own = np.zeros(rows)
        self._found = found

    def add(self, part: _Part) -> None:
        rows = part.rows
        top = np.maximum(self._top[rows], part.log_others)
        scale = np.where(np.isfinite(top), top, 0.0)
        before, now = np.exp(self._top[rows] - scale), np.exp(part.log_others - scale)
        self._weight[rows] = before * self._weight[rows] + now
        self._common[rows] = before[:, None] * self._common[rows] + now[:, None] * part.common
        self._own[rows] = before * self._own[rows] + now * part.own
        self._top[rows] = top
        self._found[rows] &= part.found

    def finish(self) -> OwnAverages:
        weight = np.where(self._weight > 0, self._weight, 1.0)
        return OwnAverages(self._common / weight[:, None], self._own / weight, self._found)
