"""Geometric likelihood with a beta prior: counts with more spread than a Poisson's."""

from __future__ import annotations

import numpy as np

from bayesspn.arrays import Array, join_last
from bayesspn.leaves import conjugate
from bayesspn.leaves.counts import Counts
from bayesspn.leaves.intervals.count_sums import (
    BETA_GEOMETRIC,
    GEOMETRIC,
    count_moments,
    log_count_mass,
)
from bayesspn.leaves.intervals.exponential import draw_survival_between, log_survival_mass
from bayesspn.numerics.gamma_variates import draw_log_gamma
from bayesspn.numerics.special_functions import log_gamma, log_rising

#: A failure probability within rounding of 1 is taken for this, or counts would overflow.
_LARGEST_LOG_FAILURE = -1e-15


class Geometric(Counts):
    """Counts 0, 1, 2 … with p(x) = p (1 − p)^x and p ~ Beta(a, b).

    The negative binomial with one success: its variance is mean + mean², and it stays conjugate.
    ``hyper`` is (a, b); φ is (log (a + b), log odds of the prior mean of p less those of a column
    with this mean); η = log (1 − p), T = x, A = −log p; ``constants`` is (the column's mean,).
    """

    name = "geometric"
    kind = conjugate.GEOMETRIC

    def log_base(self, values: Array, constants: Array) -> Array:
        return np.zeros(len(values))

    def prior_center(self, gamma: float, constants: Array) -> Array:
        # a of 4γ whatever the mean: with less of it, leaves without rows reach beyond all bounds
        return np.array([np.log(4.0 * gamma) + np.log1p(constants[0]), 0.0])

    def hyper(self, phi: Array, constants: Array) -> Array:
        strength = np.exp(phi[..., 0])
        odds = np.exp(phi[..., 1]) / constants[..., 0]
        return join_last(strength * odds / (1 + odds), strength / (1 + odds))

    def posterior(self, hyper: Array, n: Array, totals: Array) -> Array:
        return hyper + join_last(n, totals[..., 0])

    def log_normaliser(self, hyper: Array) -> Array:
        a, b = hyper[..., 0], hyper[..., 1]
        # the log beta function, without cancellation for huge counts
        small = np.minimum(a, b)
        return log_gamma(small) - log_rising(np.maximum(a, b), small)

    def draw_parameters(self, rng: np.random.Generator, hyper: Array) -> tuple[Array, Array]:
        log_success = draw_log_gamma(rng, hyper[..., 0])
        log_failure = draw_log_gamma(rng, hyper[..., 1])
        log_total = np.logaddexp(log_success, log_failure)
        return (log_failure - log_total)[..., None], log_total - log_success

    def draw_values(self, rng: np.random.Generator, eta: Array, constants: Array) -> Array:
        log_failure = np.minimum(eta[..., 0], _LARGEST_LOG_FAILURE)  # inversion
        return np.floor(-rng.standard_exponential(eta.shape[:-1]) / log_failure)

    def draw_between(
        self, rng: np.random.Generator, eta: Array, low: Array, high: Array, constants: Array
    ) -> Array:
        decay = -np.minimum(eta[..., 0], _LARGEST_LOG_FAILURE)
        first, last = np.ceil(np.maximum(low, 0.0)), np.floor(high)
        drawn = draw_survival_between(rng, decay * first, decay * (last + 1.0))
        return np.clip(np.floor(drawn / decay), first, last)

    def log_mass(
        self, eta: Array, low: Array | float, high: Array | float, constants: Array
    ) -> Array:
        decay = -np.minimum(eta[..., 0], _LARGEST_LOG_FAILURE)
        first, behind = np.ceil(np.maximum(low, 0.0)), np.floor(np.maximum(high, -1.0)) + 1.0
        return log_survival_mass(decay * first, decay * behind)

    def log_mass_predictive(
        self, hyper: Array, low: Array | float, high: Array | float, constants: Array
    ) -> Array:
        return log_count_mass(BETA_GEOMETRIC, hyper, low, high)

    def moments(
        self, eta: Array, low: Array | float, high: Array | float, constants: Array
    ) -> Array:
        return count_moments(GEOMETRIC, np.minimum(eta, _LARGEST_LOG_FAILURE), low, high)

    def moments_predictive(
        self, hyper: Array, low: Array | float, high: Array | float, constants: Array
    ) -> Array:
        return count_moments(BETA_GEOMETRIC, hyper, low, high)
