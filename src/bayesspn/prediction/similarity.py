"""How alike rows are: the probability that the network explains them by the same leaves.

Every column of a row comes from one leaf, which the row's induced tree visits. Two rows are alike
in a column as far as they visit the same one, on average over the posterior.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bayesspn.arrays import Array
from bayesspn.numerics.threads import map_in_threads
from bayesspn.prediction.passes import evaluate
from bayesspn.prediction.stacked import StackedCircuits


def shared_leaves(circuits: StackedCircuits, X: Array, Y: Array, columns: Sequence[int]) -> Array:
    """Probability that two rows share the leaf of a column, averaged over columns and draws.

    Parameters
    ----------
    circuits : StackedCircuits
    X, Y : ndarray of shape (rows, columns)
        NaN cells are summed out.
    columns : sequence of int
        Columns that count.

    Returns
    -------
    ndarray of shape (rows of X, rows of Y)
        NaN where a row is impossible under every draw.
    """

    def compare(draw: int) -> tuple[Array, Array]:
        circuit = circuits.draw(draw)
        left, right = evaluate(circuit, X), evaluate(circuit, Y)
        visits = left.visits()[0], right.visits()[0]
        total = np.zeros((len(X), len(Y)))
        for column in columns:
            regions = circuit.leaf_regions[0, column]
            a, b = (np.moveaxis(part[regions], 1, 0).reshape(part.shape[1], -1) for part in visits)
            total += a @ b.T
        fits = [~np.isneginf(side.log_probability[0]) for side in (left, right)]
        return total / len(columns), fits[0][:, None] & fits[1]

    total, possible = np.zeros((len(X), len(Y))), np.zeros((len(X), len(Y)))
    for part, fits in map_in_threads(compare, list(range(circuits.n_draws))):
        total += part
        possible += fits
    return np.divide(total, possible, out=np.full_like(total, np.nan), where=possible > 0)
