"""Poisson likelihood with a gamma prior."""

from __future__ import annotations

import numpy as np

from bayesspn.arrays import Array, join_last
from bayesspn.leaves import conjugate
from bayesspn.leaves.counts import Counts
from bayesspn.leaves.intervals.count_sums import (
    NEGATIVE_BINOMIAL,
    POISSON,
    count_moments,
    log_count_mass,
)
from bayesspn.numerics.gamma_variates import draw_log_gamma
from bayesspn.numerics.special_functions import log_gamma, log_rising

#: Counts beyond 2^53 are not whole numbers in a float.
_LARGEST_LOG_RATE = 36.0


class Poisson(Counts):
    """Counts 0, 1, 2 … with rate λ ~ Gamma(a, rate b).

    ``hyper`` is (a, b); φ is (log a, log of the prior mean a/b over the column's mean); η = log λ,
    T = x, A = λ; ``constants`` is (the column's mean,).
    """

    name = "poisson"
    kind = conjugate.POISSON

    def log_base(self, values: Array, constants: Array) -> Array:
        return -log_gamma(values + 1.0)

    def prior_center(self, gamma: float, constants: Array) -> Array:
        return np.array([np.log(2.0 * gamma), 0.0])

    def hyper(self, phi: Array, constants: Array) -> Array:
        a = np.exp(phi[..., 0])
        return join_last(a, a / (constants[..., 0] * np.exp(phi[..., 1])))

    def posterior(self, hyper: Array, n: Array, totals: Array) -> Array:
        return hyper + join_last(totals[..., 0], n)

    def log_normaliser(self, hyper: Array) -> Array:
        return log_gamma(hyper[..., 0]) - hyper[..., 0] * np.log(hyper[..., 1])

    def log_marginal(self, hyper: Array, n: Array, totals: Array) -> Array:
        a, b, total = hyper[..., 0], hyper[..., 1], totals[..., 0]
        return log_rising(a, total) - a * np.log1p(n / b) - total * np.log(b + n)

    def log_predictive(self, hyper: Array, statistics: Array, log_base: Array) -> Array:
        # Γ(a + x) / x! as one quotient: their logarithms alone lose the digits of huge counts
        a, b, x = hyper[..., :1], hyper[..., 1:], statistics[:, 0]
        mass = log_rising(x + 1, a) - np.log(x + a) - log_gamma(a) - a * np.log1p(1 / b)
        return np.where(np.isneginf(log_base), -np.inf, mass - x * np.log1p(b))

    def draw_parameters(self, rng: np.random.Generator, hyper: Array) -> tuple[Array, Array]:
        log_rate = draw_log_gamma(rng, hyper[..., 0]) - np.log(hyper[..., 1])
        return log_rate[..., None], np.exp(log_rate)

    def draw_values(self, rng: np.random.Generator, eta: Array, constants: Array) -> Array:
        rate = np.exp(np.minimum(eta[..., 0], _LARGEST_LOG_RATE))
        return rng.poisson(rate).astype(np.float64)

    def log_mass(
        self, eta: Array, low: Array | float, high: Array | float, constants: Array
    ) -> Array:
        return log_count_mass(POISSON, eta, low, high)

    def log_mass_predictive(
        self, hyper: Array, low: Array | float, high: Array | float, constants: Array
    ) -> Array:
        return log_count_mass(NEGATIVE_BINOMIAL, hyper, low, high)

    def moments(
        self, eta: Array, low: Array | float, high: Array | float, constants: Array
    ) -> Array:
        return count_moments(POISSON, eta, low, high)

    def moments_predictive(
        self, hyper: Array, low: Array | float, high: Array | float, constants: Array
    ) -> Array:
        return count_moments(NEGATIVE_BINOMIAL, hyper, low, high)
