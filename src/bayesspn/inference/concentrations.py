"""The moves α | z, β | y and the concentration of ω | s, with w, v and ω integrated out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayesspn.arrays import Array
from bayesspn.engine.row_sums import Statistics
from bayesspn.inference.scopes import log_dirichlet_multinomial
from bayesspn.inference.slice_sampling import draw_slices
from bayesspn.inference.state import family_counts, mixing_concentration
from bayesspn.leaves.columns import Leaves
from bayesspn.model.generative import Learned, Model
from bayesspn.numerics.special_functions import log_rising
from bayesspn.scopes import Scope


class _Histogram:
    """Evidence of symmetric Dirichlet-multinomials, each distinct count evaluated once."""

    def __init__(self, counts: NDArray[np.int64]) -> None:
        self.size = counts.shape[-1]
        self.cells, self.cell_times = np.unique(counts[counts > 0], return_counts=True)
        totals = counts.sum(axis=-1)
        self.totals, self.total_times = np.unique(totals[totals > 0], return_counts=True)

    def log_evidence(self, concentration: float) -> float:
        cells = self.cell_times @ log_rising(concentration, self.cells.astype(np.float64))
        totals = log_rising(self.size * concentration, self.totals.astype(np.float64))
        return float(cells - self.total_times @ totals)


def draw_alpha(
    rng: np.random.Generator,
    model: Model,
    alpha: Array,
    edge_counts: tuple[NDArray[np.int64], ...],
) -> Array:
    """Draw α of every level given the edge counts; shape (levels,)."""
    if not isinstance(model.alpha, Learned):
        return alpha
    histograms = [_Histogram(counts.reshape(*counts.shape[:2], -1)) for counts in edge_counts]
    return _draw(rng, model.alpha, alpha, histograms)


def log_edge_marginal(alpha: Array, edge_counts: tuple[NDArray[np.int64], ...]) -> float:
    """Log probability of chosen edges given α of every level, with w integrated out."""
    return sum(
        _Histogram(counts.reshape(*counts.shape[:2], -1)).log_evidence(float(concentration))
        for concentration, counts in zip(alpha, edge_counts, strict=True)
    )


def draw_beta(rng: np.random.Generator, model: Model, beta: Array, scope: Scope) -> Array:
    """Draw β given the scope; shape (1,)."""
    if not isinstance(model.beta, Learned):
        return beta
    counts = np.concatenate(scope.partition_counts())
    return _draw(rng, model.beta, beta, [_Histogram(counts)])


def draw_mixing(
    rng: np.random.Generator,
    model: Model,
    mixing: Array,
    statistics: Statistics,
) -> Array:
    """Draw the concentration of ω of every mixed column; shape (mixed columns,)."""
    prior, leaves = model.mixing, model.leaves
    if not isinstance(prior, Learned) or not mixing.size:
        return mixing
    counts = family_counts(leaves, statistics).reshape(len(mixing), leaves.max_families, -1)

    def log_density(log_value: Array) -> Array:
        return prior.log_density(log_value) + _log_mixing_marginal(leaves, log_value, counts)

    spread = np.full(mixing.shape, prior.spread)
    return np.exp(draw_slices(rng, np.log(mixing), log_density, spread))


def _log_mixing_marginal(leaves: Leaves, log_mixing: Array, counts: Array) -> Array:
    concentration = mixing_concentration(leaves, np.exp(log_mixing))
    return log_dirichlet_multinomial(concentration, counts).sum(axis=1)


def _draw(
    rng: np.random.Generator, prior: Learned, value: Array, histograms: list[_Histogram]
) -> Array:
    def log_density(log_value: Array) -> Array:
        evidence = [
            histogram.log_evidence(concentration)
            for histogram, concentration in zip(histograms, np.exp(log_value), strict=True)
        ]
        return prior.log_density(log_value) + np.array(evidence)

    width = np.full(value.shape, 0.5 * prior.spread)
    return np.exp(draw_slices(rng, np.log(value), log_density, width))
