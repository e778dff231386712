"""How unusual every cell of a table is, given the other cells of its row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from bayesspn.arrays import Array, IntArray
from bayesspn.leaves.columns import Column
from bayesspn.prediction.conditionals import ConditionalCircuits
from bayesspn.prediction.own_cells import LeafValues, OwnAverages, average_own
from bayesspn.prediction.posterior import Posterior
from bayesspn.prediction.row_averages import average_missing, weights_of_draws
from bayesspn.prediction.stacked import StackedCircuits
from bayesspn.questions.views import View

#: Cells that tell how likely values are.
_SURPRISE_CELLS = 40

#: Numbers of leaves that are tabulated together, which bounds memory, and fewest rows of a part:
#: every one of them may lie beyond all that was learned, and need values of its own.
_MOST_LEAF_VALUES = 20_000_000
_FEWEST_ROWS = 64


def cell_surprises(view: View, values: Array) -> Array:
    """−log probability of a value at most as likely, for every cell; (rows, columns)."""
    surprises = np.full(values.shape, np.nan)
    posterior = view.posterior.thinned
    graph = posterior.predictive.graph
    leaves = posterior.n_draws * graph.n_paths * graph.leaves
    most = max(1, _MOST_LEAF_VALUES // (_SURPRISE_CELLS * leaves))
    for first in range(0, len(view.columns), most):
        columns = view.columns[first : first + most]
        part = max(_FEWEST_ROWS, _MOST_LEAF_VALUES // (len(columns) * leaves))
        for start in range(0, len(values), part):
            rows = slice(start, start + part)
            for column, found in _judge(posterior, values[rows], columns):
                surprises[rows, column] = found
    return surprises


def _judge(posterior: Posterior, X: Array, columns: Sequence[int]) -> Iterator[tuple[int, Array]]:
    """Surprises of some columns' cells, NaN where they are missing; (rows,) each."""
    circuits = posterior.predictive
    cells = {
        column: ConditionalCircuits(circuits, {}).cells(column, _SURPRISE_CELLS)
        for column in columns
    }
    asked = {
        column: _ask_leaves(circuits, X[:, column], column, *cells[column]) for column in columns
    }
    for column, averages in average_own(circuits, X, asked).items():
        low, high = cells[column]
        surprises = np.full(len(X), np.nan)
        there = ~np.isnan(X[:, column])
        lost = np.flatnonzero(there & ~averages.found)
        if lost.size:
            averages.common[lost], averages.own[lost] = _leave_out(
                posterior, X[lost], column, asked[column], lost
            )
        rows = np.flatnonzero(there)
        some = OwnAverages(averages.common[rows], averages.own[rows], averages.found[rows])
        surprises[rows] = _surprise(
            circuits.leaves.columns[column],
            X[rows, column],
            low,
            high,
            some,
            asked[column].which[rows],
        )
        yield column, surprises


def _ask_leaves(
    circuits: StackedCircuits, values: Array, column: int, low: Array, high: Array
) -> LeafValues:
    """Probabilities of a column's cells, and of what lies beyond values in the outermost two."""
    common = circuits.masses(column, low, high)
    which = np.full(len(values), -1)
    own = [np.empty((0, *common.shape[1:]))]
    if not circuits.leaves.columns[column].n_categories:
        # a recorded value stands for all that are rounded to it: there may be nothing beyond it
        grid = circuits.leaves.columns[column].grid
        half, values = grid.step / 2, np.clip(values, grid.low, grid.high)
        for rows, upper in (
            (np.flatnonzero(values < high[0]), False),
            (np.flatnonzero(values > low[-1]), True),
        ):
            # values at an end of the range recur: most of a column may be zeros
            distinct, place = np.unique(values[rows], return_inverse=True)
            which[rows] = place + sum(map(len, own))
            endless = np.full(len(distinct), np.inf)
            ends = (distinct - half, endless) if upper else (-endless, distinct + half)
            own.append(circuits.masses(column, *ends))
    return LeafValues(common, np.concatenate(own), which)


def _leave_out(
    posterior: Posterior, X: Array, column: int, asked: LeafValues, rows: IntArray
) -> tuple[Array, Array]:
    """Averages for a column's cells by rows without them; (rows, cells) and (rows,)."""
    others = X.copy()
    others[:, column] = np.nan
    weights = weights_of_draws(posterior.score_draws(others))
    tables = {column: np.concatenate([asked.common, asked.own])}
    averages = average_missing(posterior.predictive, others, weights, tables)[column]
    which = asked.which[rows]
    own = (
        averages[np.arange(len(X)), len(asked.common) + np.maximum(which, 0)]
        if len(asked.own)
        else np.zeros(len(X))
    )
    return averages[:, : len(asked.common)], np.where(which >= 0, own, 0.0)


def _surprise(
    described: Column,
    values: Array,
    low: Array,
    high: Array,
    averages: OwnAverages,
    which: IntArray,
) -> Array:
    """−log probability of values at most as likely as some of a column; (values,)."""
    masses = averages.common
    own = np.clip(np.searchsorted(low, values, side="right") - 1, 0, len(low) - 1)
    density = masses / _cell_widths(described, low, high)
    # cells of equal density count in full; rounding must not tear them apart
    likely = density > density[np.arange(len(values)), own][:, None] * (1 + 1e-9)
    share = np.where(likely, 0.0, masses).sum(axis=1)
    share = np.where(which >= 0, np.minimum(share, averages.own), share)
    with np.errstate(divide="ignore"):
        return np.maximum(-np.log(np.minimum(share, 1.0)), 0.0)


def _cell_widths(column: Column, low: Array, high: Array) -> Array:
    """Widths of cells, the outermost as far as values were seen: most values may be there."""
    if column.discrete:
        return 1.0 + (high - low)
    half = column.resolution / 2
    start = min(column.observed[0] - half, high[0] - column.resolution)
    end = max(column.observed[1] + half, low[-1] + column.resolution)
    widths = np.minimum(high, end) - np.maximum(low, start)
    return np.maximum(widths, np.finfo(float).tiny)
