"""Columns with censored cells: how far they reach, which cells that are there cannot tell alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from bayesspn.arrays import Array
from bayesspn.leaves.columns import Leaves
from bayesspn.leaves.grids import Grid
from bayesspn.prediction.conditionals import ConditionalCircuits
from bayesspn.prediction.posterior import Posterior

#: Columns reach to this quantile at least, and expectations and samples as far again. Beyond the
#: last event tails are the families' own: reaching to 0.99, the mean of exponential times (5,
#: seen up to 8) was 7.5 to 9.8 by the tails of log-normal leaves; reaching to 0.9 it was 5.0.
_LEVEL = 0.9

#: Squares of what lies beyond overflow.
_LARGEST = 1e150


def reach_bounds(leaves: Leaves, low: Array, high: Array) -> Leaves:
    """The same leaves, whose columns reach as far as bounds of censored cells say that they do.

    Columns are described by the cells that are there. A cell that lies beyond all of these by its
    bounds is known, too: it is part of the range of the column, and if it is outside of the values
    that were thought possible, these go on.

    Parameters
    ----------
    leaves : Leaves
    low, high : ndarray of shape (rows, columns)
        Bounds of censored cells, NaN elsewhere; infinite at open ends.
    """
    columns = []
    for column, starts, ends in zip(leaves.columns, low.T, high.T, strict=True):
        # the near ends of cells above, and below, what was seen
        bottom = float(np.nanmin(ends, initial=column.observed[0]))
        top = float(np.nanmax(starts, initial=column.observed[1]))
        grid = _opened_grid(column.grid, bottom, top)
        columns.append(replace(column, observed=(bottom, top), grid=grid))
    return Leaves(tuple(columns))


def _opened_grid(grid: Grid, bottom: float, top: float) -> Grid:
    """The grid, whose ends go on where cells are known to lie beyond them."""
    if bottom >= grid.low and top <= grid.high:
        return grid
    low, high = grid.low, grid.high
    if bottom < low:
        low = 0.0 if bottom >= 0 else -np.inf
    if top > high:
        high = np.inf
    # values of a list are not all that there are, then, but recur
    atoms = (grid.values or grid.atoms) if grid.step else ()
    return replace(grid, values=(), atoms=atoms, low=low, high=high)


def reach_quantiles(posterior: Posterior, columns: Sequence[int]) -> Posterior:
    """The same posterior, whose censored columns reach as far as most of their values do.

    Expectations and samples are limited by the range of what was seen. Of values that lie beyond
    the end of a study nothing was seen, but the posterior says how far they go.

    Parameters
    ----------
    posterior : Posterior
    columns : sequence of int
        Those with censored cells.
    """
    described = list(posterior.model.leaves.columns)
    networks = ConditionalCircuits(posterior.predictive, {})
    rest = max(1.0 - _LEVEL, 1.0 / (posterior.n_rows + 1))
    for number in columns:
        column = described[number]
        ends = [networks.quantile(number, level) for level in (rest, 1.0 - rest)]
        low, high = np.clip(np.clip(ends, column.grid.low, column.grid.high), -_LARGEST, _LARGEST)
        seen = min(low, column.observed[0]), max(high, column.observed[1])
        described[number] = replace(column, observed=(float(seen[0]), float(seen[1])))
    return replace(posterior, model=replace(posterior.model, leaves=Leaves(tuple(described))))
