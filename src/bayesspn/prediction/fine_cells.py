"""Cells of a column fine enough to read quantiles of many rows off them.

They come in blocks of equal number, so that a quantile is looked up twice: its block among the few
blocks, then its cell among the few cells of the block.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bayesspn.arrays import Array, IntArray
from bayesspn.prediction.cells import cut_cells
from bayesspn.prediction.conditionals import ConditionalCircuits
from bayesspn.prediction.stacked import StackedCircuits

#: Cells of about equal probability, those beyond on each side, and cells of a block.
_CELLS = 1000
_OUTER = 40
_BLOCK = 16

#: Cells with a larger share than this are split into so many, so often at most.
_MOST_SHARE = 0.003
_SPLIT = 16
_MOST_SPLITS = 4


@dataclass(frozen=True, eq=False)
class FineCells:
    """Cells of one column.

    Attributes
    ----------
    low, high : ndarray of shape (cells,)
        Ends of the cells, ascending and without gaps; the outermost may be infinite.
    discrete : bool
        Whether values are whole numbers.
    """

    low: Array
    high: Array
    discrete: bool

    def arrange(self, masses: Array) -> Array:
        """Tables (cells, draws, paths, leaves) by block; (draws, blocks, cells, paths × leaves)."""
        cells, draws = masses.shape[:2]
        blocks = -(-cells // _BLOCK)
        table = np.zeros((draws, blocks * _BLOCK, masses[0, 0].size))
        table[:, :cells] = np.moveaxis(masses.reshape(cells, draws, -1), 0, 1)
        return table.reshape(draws, blocks, _BLOCK, -1)


def fine_cells(circuits: StackedCircuits, column: int) -> FineCells:
    """Cells none of which holds much, unless a single recorded value does."""
    described = circuits.leaves.columns[column]

    def cut() -> Array:
        weights = ConditionalCircuits(circuits, {}).leaf_weights(column)
        low, high = cut_cells(circuits, column, weights, _CELLS)
        if described.discrete:
            return np.stack([low, high])
        ends = _split(circuits, column, weights, low[1:])
        return np.stack([[-np.inf, *ends], [*ends, np.inf]])

    low, high = circuits.remember((column, "fine cells"), cut)
    return FineCells(low, high, described.discrete)


def _split(circuits: StackedCircuits, column: int, weights: Array, cuts: Array) -> Array:
    """Ends of cells within the plausible range; ascending."""
    described = circuits.leaves.columns[column]
    bottom, top = described.plausible
    steps = np.linspace(1.0, 0.0, _OUTER) ** 3
    first, last = (cuts[0], cuts[-1]) if len(cuts) else described.observed
    outer = [first + (bottom - first) * steps, last + (top - last) * steps]
    ends = np.unique(np.concatenate([[bottom, top], *outer, cuts]))
    ends = ends[(ends >= bottom) & (ends <= top)]
    finest = max(described.resolution, 1e-12 * (top - bottom))
    new = np.stack([ends[:-1], ends[1:]], axis=1)
    for _ in range(_MOST_SPLITS):
        masses = circuits.masses(column, *np.ascontiguousarray(new.T))
        share = np.einsum("cdpi,dpi->c", masses, weights, optimize=True) / circuits.n_draws
        heavy = new[(share > _MOST_SHARE) & (new[:, 1] - new[:, 0] > finest)]
        if not len(heavy):
            break
        inner = heavy[:, :1] + (heavy[:, 1:] - heavy[:, :1]) * np.linspace(0, 1, _SPLIT + 1)
        ends = np.concatenate([ends, inner.ravel()])
        new = np.stack([inner[:, :-1].ravel(), inner[:, 1:].ravel()], axis=1)
    return np.unique(ends)


def read_quantiles(
    cells: FineCells, coarse: Array, within: Callable[[IntArray], Array], levels: Array
) -> Array:
    """Quantiles of distributions over fine cells, by straight lines within a cell.

    Parameters
    ----------
    cells : FineCells
    coarse : ndarray of shape (rows, blocks)
        Masses of blocks, up to a factor per row; rows of zeros have no quantiles.
    within : callable
        Gives the masses (rows, cells of a block), with the same factor, in one block per row.
    levels : ndarray of shape (levels,)

    Returns
    -------
    ndarray of shape (rows, levels)
        NaN for rows without mass; the nearest finite end for quantiles in an endless cell.

    Examples
    --------
    >>> cells = FineCells(np.arange(16.0), np.arange(1.0, 17.0), discrete=False)
    >>> masses = np.zeros((1, 16))
    >>> masses[0, [2, 3]] = 0.25, 0.75
    >>> read_quantiles(cells, masses.sum(axis=1)[:, None], lambda block: masses, np.array([0.5]))
    array([[3.33333333]])
    """
    rows = np.arange(len(coarse))
    upper = np.cumsum(coarse, axis=1)
    total = upper[:, -1]
    found = np.full((len(coarse), len(levels)), np.nan)
    for k, level in enumerate(levels):
        # rounding must not push a level that is just reached into the next cell
        wanted = level * total * (1 - 1e-12)
        block = np.minimum((upper < wanted[:, None]).sum(axis=1), coarse.shape[1] - 1)
        below = np.where(block > 0, upper[rows, block - 1], 0.0)
        inner = below[:, None] + np.cumsum(within(block), axis=1)
        place = (inner < wanted[:, None]).sum(axis=1)
        # sums of few and of many numbers differ in their last digits
        place = np.minimum(place, _BLOCK - 1)
        cell = np.minimum(block * _BLOCK + place, len(cells.low) - 1)
        before = np.where(place > 0, inner[rows, place - 1], below)
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.clip((wanted - before) / (inner[rows, place] - before), 0.0, 1.0)
        found[:, k] = np.where(total > 0, _value(cells, cell, share), np.nan)
    return found


def _value(cells: FineCells, cell: Array, share: Array) -> Array:
    """The value at a share of a cell."""
    start, end = cells.low[cell], cells.high[cell]
    start, end = np.where(np.isinf(start), end, start), np.where(np.isinf(end), start, end)
    if cells.discrete:
        return np.minimum(start + np.floor(share * (end - start + 1)), end)
    return start + share * (end - start)
