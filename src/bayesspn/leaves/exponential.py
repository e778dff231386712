"""Exponential likelihood with a gamma prior and a floor on the scale."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayesspn.arrays import Array, join_last, split_last
from bayesspn.leaves import conjugate
from bayesspn.leaves.family import Family
from bayesspn.leaves.intervals.exponential import (
    draw_survival_between,
    exponential_moments,
    log_survival_mass,
)
from bayesspn.leaves.intervals.quadrature import (
    EXPONENTIAL,
    log_predictive_mass,
    predictive_moments,
)
from bayesspn.numerics.gamma_variates import draw_limited_gamma
from bayesspn.numerics.special_functions import log_gamma, log_gammainc

#: Largest value drawn.
_LARGEST = 1e300

#: Rates below are 0 to all digits, and of an interval without an end nothing would be known.
_SMALLEST_RATE = float(np.finfo(float).tiny)


class Exponential(Family):
    """Values x ≥ 0, u = x / scale, with rate λ ~ Gamma(a, rate b) limited to λ ≤ limit.

    The limit keeps 1/λ, the standard deviation, at 2δ or more. Zero stands for [0, δ/2] only, and
    the density there, λ, would otherwise promise more than that interval holds: with 1/λ = δ as
    much as atoms do, of which 61 % then lies elsewhere.
    ``hyper`` is (a, b, limit); φ is (log a, log of b/a, the prior's harmonic scale in units of the
    column's mean); η = −λ, T = u, A = −log λ; ``constants`` is (scale, limit).
    """

    name = "exponential"
    kind = conjugate.EXPONENTIAL
    measure = "continuous"

    def invalid(self, values: Array, n_categories: int) -> NDArray[np.bool_]:
        return ~(np.isfinite(values) & (values >= 0))

    def constants(
        self, values: Array, counts: Array, resolution: float, n_categories: int
    ) -> Array:
        scale = float(values @ (counts / counts.sum())) or 1.0
        limit = 0.5 * scale / resolution if resolution > 0 else np.inf
        return np.array([scale, limit])

    def rescale(self, constants: Array, like: Array) -> Array:
        return np.array([like[0], constants[1] * like[0] / constants[0]])

    def statistics(self, values: Array, constants: Array) -> Array:
        with np.errstate(over="ignore"):
            return np.minimum(values[:, None] / constants[0], 1e150)  # as for Gaussian leaves

    def log_base(self, values: Array, constants: Array) -> Array:
        return np.full(len(values), -np.log(constants[0]))

    def prior_center(self, gamma: float, constants: Array) -> Array:
        return np.array([np.log(2.0 * gamma), 0.0])

    def prior_spread(self, constants: Array) -> Array:
        return np.array([1.0, 1.0])

    def hyper(self, phi: Array, constants: Array) -> Array:
        a = np.exp(phi[..., 0])
        limit = np.broadcast_to(constants[..., 1], a.shape)
        return join_last(a, a * np.exp(phi[..., 1]), limit)

    def posterior(self, hyper: Array, n: Array, totals: Array) -> Array:
        a, b, limit = split_last(hyper)
        return join_last(a + n, b + totals[..., 0], limit)

    def log_normaliser(self, hyper: Array) -> Array:
        a, b, limit = split_last(hyper)
        return log_gamma(a) - a * np.log(b) + log_gammainc(a, b * limit)

    def draw_parameters(self, rng: np.random.Generator, hyper: Array) -> tuple[Array, Array]:
        a, b, limit = split_last(hyper)
        # the smallest positive rate still has a finite logarithm
        rate = np.maximum(draw_limited_gamma(rng, a, b, limit), np.finfo(float).tiny)
        return -rate[..., None], -np.log(rate)

    def draw_values(self, rng: np.random.Generator, eta: Array, constants: Array) -> Array:
        with np.errstate(over="ignore"):
            values = constants[..., 0] * rng.standard_exponential(eta.shape[:-1]) / -eta[..., 0]
        # rates may be as small as floats get: stay within what they can hold
        return np.minimum(values, _LARGEST)

    def draw_between(
        self, rng: np.random.Generator, eta: Array, low: Array, high: Array, constants: Array
    ) -> Array:
        rate = -eta[..., 0] / constants[0]
        with np.errstate(over="ignore"):
            lives = rate * np.maximum(low, 0.0), rate * np.maximum(high, 0.0)
            return np.minimum(draw_survival_between(rng, *lives) / rate, _LARGEST)

    def log_mass(
        self, eta: Array, low: Array | float, high: Array | float, constants: Array
    ) -> Array:
        rate = np.maximum(-eta[..., 0] / constants[0], _SMALLEST_RATE)
        with np.errstate(over="ignore"):
            return log_survival_mass(rate * np.maximum(low, 0.0), rate * np.maximum(high, 0.0))

    def log_mass_predictive(
        self, hyper: Array, low: Array | float, high: Array | float, constants: Array
    ) -> Array:
        return log_predictive_mass(EXPONENTIAL, hyper, low, high, constants)

    def moments(
        self, eta: Array, low: Array | float, high: Array | float, constants: Array
    ) -> Array:
        with np.errstate(over="ignore"):
            mean = -constants[0] / eta[..., 0]
        return exponential_moments(np.maximum(low, 0.0), np.maximum(high, 0.0), mean)

    def moments_predictive(
        self, hyper: Array, low: Array | float, high: Array | float, constants: Array
    ) -> Array:
        return predictive_moments(EXPONENTIAL, hyper, low, high, constants)
