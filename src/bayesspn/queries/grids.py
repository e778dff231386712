"""Cells of a column: every category, or intervals of about equal probability.

The probabilities of cells under all leaves are tabulated once; the conditional distribution of a
column is then a weighted sum of them, whatever the evidence.
"""

from __future__ import annotations

import numpy as np

from bayesspn.leaves.family import Array
from bayesspn.queries.networks import Networks

#: Cells of a grid: intervals of a continuous column, whole numbers that have one of their own.
CELLS = 100

_DRAWN_VALUES = 8192


def cut_cells(
    networks: Networks, column: int, leaf_weights: Array, cells: int
) -> tuple[Array, Array]:
    """Divide a column into cells.

    Parameters
    ----------
    networks : Networks
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
    described = networks.leaves.columns[column]
    if described.n_categories:
        codes = np.arange(float(described.n_categories))
        return codes, codes
    values = _draw_marginal(networks, column, leaf_weights)
    if described.discrete:
        starts = np.unique(np.quantile(values, np.linspace(0, 1, cells), method="nearest"))
        few = np.arange(min(cells, values.max() + 1))
        starts = np.unique(np.concatenate([[0.0], few, starts]))
        return starts, np.append(starts[1:] - 1, np.inf)
    cuts = np.quantile(values, np.linspace(0, 1, cells + 1)[1:-1])
    if described.resolution:
        # recorded values are to lie inside cells, not on their ends
        with np.errstate(over="ignore"):
            steps = np.floor(cuts / described.resolution)
        # so far out that steps are no longer told apart, anything is recorded
        fine = np.abs(steps) < 2.0**52
        cuts[fine] = described.resolution * (steps[fine] + 0.5)
    cuts = np.unique(cuts)
    return np.concatenate([[-np.inf], cuts]), np.concatenate([cuts, [np.inf]])


def _draw_marginal(networks: Networks, column: int, leaf_weights: Array) -> Array:
    """Values from a column's marginal distribution; always the same ones."""
    rng = np.random.default_rng(0)
    upper = np.cumsum(leaf_weights.ravel())
    chosen = np.searchsorted(upper, rng.random(_DRAWN_VALUES) * upper[-1], side="right")
    path, leaf = np.divmod(np.minimum(chosen, len(upper) - 1), leaf_weights.shape[-1])
    return networks.draw_values(rng, column, path, leaf)
