"""The move w | z: sum weights from their Dirichlet posteriors."""
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numba as nb
import numpy as np

from bayesspn.arrays import Array, IntArray
from bayesspn.numerics.streams import Randomness, as_stream, fill_log_dirichlet, fork
from bayesspn.numerics.threads import run_tasks

#: Fewer weights than this are not worth a thread.
_WEIGHTS_PER_TASK = 8192


def draw_weights(
    random: Randomness, alpha: Array, edge_counts: tuple[IntArray, ...]
) -> tuple[Array, ...]:
    """Draw log weights; one array (regions, sums, partitions, products) per level.

    Parameters
    ----------
    random : stream or numpy.random.Generator
    alpha : ndarray of shape (levels,)
    edge_counts : tuple of ndarray of shape (regions, sums, partitions, products)
    """
    stream = as_stream(random)
    drawn = []
    for level, (concentration, counts) in enumerate(zip(alpha, edge_counts, strict=True)):
        log_weights = np.empty(counts.shape)
        flat = counts.reshape(counts.shape[0] * counts.shape[1], -1)
        most = counts.size // _WEIGHTS_PER_TASK
        out = log_weights.reshape(flat.shape)
        run_tasks(_draw_level, most, stream, level, float(concentration), flat, out)
        drawn.append(log_weights)
    return tuple(drawn)


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _draw_level(task, tasks, stream, level, alpha, counts, out):
    """Draw the weights of every sum, a row of ``counts`` (sums, edges)."""
    sums, edges = counts.shape
    own = np.empty(4, dtype=np.uint64)
    posterior = np.empty(edges)
    for s in range(task, sums, tasks):
        fork(stream, (level << 40) + s, own)
        for e in range(edges):
            posterior[e] = alpha + counts[s, e]
        fill_log_dirichlet(own, posterior, out[s])


def mean_log_weights(alpha: Array, edge_counts: tuple[IntArray, ...]) -> tuple[Array, ...]:
    """Log of the posterior mean weights, which a draw predicts with."""
    means = []
    for concentration, counts in zip(alpha, edge_counts, strict=True):
        posterior = concentration + counts
        means.append(np.log(posterior) - np.log(posterior.sum(axis=(2, 3), keepdims=True)))
    return tuple(means)
