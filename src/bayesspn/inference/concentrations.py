"""The moves α | z, β | y and the concentration of ω | s, with w, v and ω integrated out."""
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numba as nb
import numpy as np

from bayesspn.arrays import Array, IntArray
from bayesspn.engine.row_sums import Statistics
from bayesspn.inference.slice_sampling import count_distinct, draw_concentration_slice
from bayesspn.inference.state import family_counts
from bayesspn.model.generative import Learned, Model
from bayesspn.numerics.special_functions import log_rising
from bayesspn.numerics.streams import Randomness, as_stream
from bayesspn.scopes import Scope


def draw_alpha(
    random: Randomness, model: Model, alpha: Array, edge_counts: tuple[IntArray, ...]
) -> Array:
    """Draw α of every level given the edge counts; shape (levels,)."""
    prior = model.alpha
    if not isinstance(prior, Learned):
        return alpha
    stream = as_stream(random)
    return np.array(
        [
            _draw(stream, prior, value, counts.reshape(counts.shape[0] * counts.shape[1], -1))
            for value, counts in zip(alpha, edge_counts, strict=True)
        ]
    )


def log_edge_marginal(alpha: Array, edge_counts: tuple[IntArray, ...]) -> float:
    """Log probability of chosen edges given α of every level, with w integrated out."""
    total = 0.0
    for concentration, counts in zip(alpha, edge_counts, strict=True):
        flat = counts.reshape(counts.shape[0] * counts.shape[1], -1)
        cells, times = count_distinct(flat.ravel())
        sums, sum_times = count_distinct(flat.sum(axis=1))
        total += float(times @ log_rising(concentration, cells))
        total -= float(sum_times @ log_rising(flat.shape[1] * concentration, sums))
    return total


def draw_beta(random: Randomness, model: Model, beta: Array, scope: Scope) -> Array:
    """Draw β given the scope; shape (1,)."""
    prior = model.beta
    if not isinstance(prior, Learned):
        return beta
    return np.array([_draw(as_stream(random), prior, beta[0], scope.partition_counts)])


def _draw(stream, prior: Learned, value: float, counts: IntArray) -> float:
    width = 0.5 * prior.spread
    # of the same type as counts of families, so that the sampler is compiled once
    return draw_concentration_slice(
        stream, value, prior.median, prior.spread, width, counts.astype(np.float64)
    )


def draw_mixing(random: Randomness, model: Model, mixing: Array, statistics: Statistics) -> Array:
    """Draw the concentration of ω of every mixed column; shape (mixed columns,)."""
    prior, leaves = model.mixing, model.leaves
    if not isinstance(prior, Learned) or not mixing.size:
        return mixing
    counts = family_counts(leaves, statistics).reshape(len(mixing), leaves.max_families, -1)
    drawn = np.empty(mixing.shape)
    _draw_all_mixing(
        as_stream(random),
        mixing,
        prior.median,
        prior.spread,
        np.ascontiguousarray(counts.transpose(0, 2, 1)),
        leaves.mixed_families,
        drawn,
    )
    return drawn


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _draw_all_mixing(stream, mixing, median, spread, counts, present, drawn):
    """Update every mixed column, given counts (columns, leaves, families)."""
    for column in range(mixing.shape[0]):
        families = present[column].sum()
        own = counts[column, :, :families].copy()
        drawn[column] = draw_concentration_slice(
            stream, mixing[column], median, spread, spread, own
        )
