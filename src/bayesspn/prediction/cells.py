"""Cells of a column: every category, or intervals of about equal probability.

The probabilities of cells under all leaves are tabulated once; the conditional distribution of a
column is then a weighted sum of them, whatever is given.
"""

from __future__ import annotations

import numpy as np

from bayesspn.arrays import Array
from bayesspn.leaves.columns import Column
from bayesspn.prediction.stacked import StackedCircuits

#: Cells of a grid: intervals of a continuous column, whole numbers that have one of their own.
CELLS = 100

_DRAWN_VALUES = 8192


def cut_cells(
    circuits: StackedCircuits, column: int, leaf_weights: Array, cells: int
) -> tuple[Array, Array]:
    """Divide a column into cells.

    Parameters
    ----------
    circuits : StackedCircuits
    column : int
    leaf_weights : ndarray of shape (draws, paths, leaves)
        Weights of the column's leaves in its marginal distribution under every draw.
    cells : int
        About how many, unless the column has categories: they are the cells then.

    Returns
    -------
    low, high : ndarray of shape (cells,)
        Ends of the cells, ascending; equal for single values. The outermost may be infinite.
    """
    described = circuits.leaves.columns[column]
    if described.n_categories:
        codes = np.arange(float(described.n_categories))
        return codes, codes
    values = _draw_marginal(circuits, column, leaf_weights)
    if described.discrete:
        starts = np.unique(np.quantile(values, np.linspace(0, 1, cells), method="nearest"))
        few = np.arange(min(cells, values.max() + 1))
        starts = np.unique(np.concatenate([[0.0], few, starts]))
        return starts, np.append(starts[1:] - 1, np.inf)
    # recorded values are to lie inside cells, not on their ends, all of one in the same
    grid = described.grid
    cuts = np.unique(grid.cut_near(np.quantile(values, np.linspace(0, 1, cells + 1)[1:-1])))
    cuts = cuts[(cuts > grid.low) & (cuts < grid.high)]
    return np.concatenate([[-np.inf], cuts]), np.concatenate([cuts, [np.inf]])


def even_cells(column: Column, middle: tuple[float, float], cells: int) -> tuple[Array, Array]:
    """Divide the range of a column's values into cells of equal width, as plots need them.

    Parameters
    ----------
    column : Column
        Without categories.
    middle : tuple of two floats
        Range that nearly all values lie in. Values seen farther outside than it is wide are left
        to the outermost cells: a single outlier must not push the rest together.
    cells : int
        At most how many, apart from the outermost two.

    Returns
    -------
    low, high : ndarray of shape (cells,)
        Ends of the cells, ascending. The first and the last are infinite and lie beyond the values
        seen; the first cell of a discrete column begins with zero. Its whole numbers belong to the
        cell that begins or ends with them.

    Examples
    --------
    >>> from bayesspn.leaves.columns import describe_column
    >>> age = describe_column("age", np.arange(20.0, 30.0), "gaussian", resolution=1.0)
    >>> low, high = even_cells(age, (20.0, 29.0), 5)
    >>> high.tolist()
    [19.5, 21.5, 23.5, 25.5, 27.5, 29.5, inf]
    """
    width = middle[1] - middle[0]
    start = max(column.observed[0], middle[0] - width)
    end = max(min(column.observed[1], middle[1] + width), start)
    if column.discrete:
        start, end = np.floor(start), np.ceil(end)
        step = max(1.0, np.ceil((end - start + 1) / cells))
        starts = start + step * np.arange(np.ceil((end - start + 1) / step) + 1)
        starts = np.unique(np.append(starts, 0.0))
        return starts, np.append(starts[1:] - 1, np.inf)
    step = (end - start) / cells
    unit = column.resolution
    if unit and abs(start) / unit < 2.0**50:
        # recorded values are to lie inside cells, not on their ends
        first = float(column.grid.nearest(np.array([start]))[0])
        start = (first if first <= start else first - unit) - 0.5 * unit
        step = unit * max(1.0, np.ceil(step / unit - 1e-6))
    if not step > np.spacing(max(abs(start), abs(end))):
        step = max(abs(start), 1.0)
    cuts = start + step * np.arange(max(1, int(np.ceil((end - start) / step - 1e-6))) + 1)
    if cuts[-1] < end:
        cuts = np.append(cuts, cuts[-1] + step)
    return np.concatenate([[-np.inf], cuts]), np.concatenate([cuts, [np.inf]])


def _draw_marginal(circuits: StackedCircuits, column: int, leaf_weights: Array) -> Array:
    """Values from a column's marginal distribution; always the same ones."""
    rng = np.random.default_rng(0)
    upper = np.cumsum(leaf_weights.ravel())
    chosen = np.searchsorted(upper, rng.random(_DRAWN_VALUES) * upper[-1], side="right")
    path, leaf = np.divmod(np.minimum(chosen, len(upper) - 1), leaf_weights.shape[-1])
    return circuits.draw_values(rng, column, path, leaf)
