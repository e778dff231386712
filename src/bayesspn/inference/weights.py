"""The move w | z: sum weights from their Dirichlet posteriors."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayesspn.arrays import Array
from bayesspn.numerics.gamma_variates import draw_log_dirichlet


def draw_weights(
    rng: np.random.Generator, alpha: Array, edge_counts: tuple[NDArray[np.int64], ...]
) -> tuple[Array, ...]:
    """Draw log weights; one array (regions, sums, partitions, products) per level.

    Parameters
    ----------
    rng : numpy.random.Generator
    alpha : ndarray of shape (levels,)
    edge_counts : tuple of ndarray of shape (regions, sums, partitions, products)
    """
    return tuple(
        draw_log_dirichlet(rng, concentration + counts.reshape(*counts.shape[:2], -1)).reshape(
            counts.shape
        )
        for concentration, counts in zip(alpha, edge_counts, strict=True)
    )


def mean_log_weights(alpha: Array, edge_counts: tuple[NDArray[np.int64], ...]) -> tuple[Array, ...]:
    """Log of the posterior mean weights, which a draw predicts with."""
    means = []
    for concentration, counts in zip(alpha, edge_counts, strict=True):
        posterior = concentration + counts
        means.append(np.log(posterior) - np.log(posterior.sum(axis=(2, 3), keepdims=True)))
    return tuple(means)
