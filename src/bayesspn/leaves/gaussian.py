"""Gaussian likelihood with a normal-inverse-gamma prior and a floor on the variance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayesspn.arrays import Array, join_last, split_last
from bayesspn.leaves import conjugate
from bayesspn.leaves.family import Family
from bayesspn.leaves.intervals.normal import (
    draw_normal_between,
    log_normal_mass,
    normal_moments,
)
from bayesspn.leaves.intervals.quadrature import GAUSSIAN, log_predictive_mass, predictive_moments
from bayesspn.numerics.gamma_variates import draw_limited_gamma
from bayesspn.numerics.special_functions import log_gamma, log_gammainc

_HALF_LOG_TWO_PI = 0.5 * np.log(2.0 * np.pi)


class Gaussian(Family):
    """Real values u = (x − location) / scale with precision τ and mean μ.

    Prior: τ ~ Gamma(a, rate b) limited to τ ≤ limit, and μ | τ ~ Normal(m, 1 / (κ τ)). Values are
    recorded to a resolution δ, and a leaf narrower than that would only exploit repeated values, so
    the limit keeps the standard deviation at δ/2 or more: then densities at all recorded values,
    times δ, add to 1 within 1.5 %, and no leaf gains by a density that is no probability. The limit
    leaves the prior conjugate: it multiplies the normaliser by an incomplete gamma function.

    ``hyper`` is (m, κ, a, b, limit), φ is (m, log κ, log a, log b), η = (τμ, −τ/2), T = (u, u²),
    and ``constants`` is (location, scale, limit).
    """

    name = "gaussian"
    kind = conjugate.GAUSSIAN
    measure = "continuous"
    _tails = GAUSSIAN

    def invalid(self, values: Array, n_categories: int) -> NDArray[np.bool_]:
        return ~np.isfinite(values)

    def _forward(self, values: Array) -> Array:
        return values

    def _backward(self, values: Array) -> Array:
        return values

    def _log_jacobian(self, values: Array) -> Array:
        return np.zeros(len(values))

    def _resolution(self, values: Array, resolution: float) -> float:
        return resolution

    def constants(
        self, values: Array, counts: Array, resolution: float, n_categories: int
    ) -> Array:
        values, weight = self._forward(values), counts / counts.sum()
        location = float(weight @ values)
        unit = float(np.abs(values - location).max()) or abs(location) or 1.0
        # dividing by the largest deviation first keeps the squares of huge values finite
        scale = unit * float(np.sqrt(weight @ ((values - location) / unit) ** 2)) or unit
        floor = (self._resolution(values, resolution) / scale) ** 2 / 4.0
        return np.array([location, scale, 1.0 / floor if floor > 0 else np.inf])

    def rescale(self, constants: Array, like: Array) -> Array:
        location, scale, _ = like
        return np.array([location, scale, constants[2] * (scale / constants[1]) ** 2])

    def statistics(self, values: Array, constants: Array) -> Array:
        standard = self._standardise(self._forward(values), constants)
        standard = np.clip(standard, -1e150, 1e150)  # whose squares are finite
        return np.stack([standard, standard**2], axis=-1)

    def log_base(self, values: Array, constants: Array) -> Array:
        return self._log_jacobian(values) - _HALF_LOG_TWO_PI - np.log(constants[1])

    def prior_center(self, gamma: float, constants: Array) -> Array:
        return np.array([0.0, np.log(0.2 * gamma), np.log(2.0 * gamma), np.log(0.1 * gamma)])

    def prior_spread(self, constants: Array) -> Array:
        return np.array([0.7, 1.0, 0.5, 1.5])

    def hyper(self, phi: Array, constants: Array) -> Array:
        limit = np.broadcast_to(constants[..., 2], phi.shape[:-1])
        return np.concatenate([phi[..., :1], np.exp(phi[..., 1:]), limit[..., None]], axis=-1)

    def posterior(self, hyper: Array, n: Array, totals: Array) -> Array:
        m, kappa, a, b, limit = split_last(hyper)
        total, square = totals[..., 0], totals[..., 1]
        kappa_n = kappa + n
        mean = total / np.where(n > 0, n, 1.0)  # counts are fractions when densities are tempered
        scatter = np.maximum(square - total * mean, 0.0)
        b_n = b + 0.5 * (scatter + kappa * n / kappa_n * (mean - m) ** 2)
        m_n = (kappa * m + total) / kappa_n
        return join_last(m_n, kappa_n, a + 0.5 * n, b_n, limit)

    def log_normaliser(self, hyper: Array) -> Array:
        _, kappa, a, b, limit = split_last(hyper)
        unlimited = log_gamma(a) - a * np.log(b) - 0.5 * np.log(kappa)
        with np.errstate(over="ignore"):
            return unlimited + log_gammainc(a, b * limit)

    def log_predictive(self, hyper: Array, statistics: Array, log_base: Array) -> Array:
        m, kappa, a, b, limit = (part[..., None] for part in split_last(hyper))
        after = a + 0.5
        # what depends on the values, in place: they are many
        result = statistics[:, 0] - m
        np.square(result, out=result)
        result *= 0.5 * kappa / (kappa + 1.0)
        result += b
        limited = (b * limit < _surely_unlimited(after))[..., 0]
        if limited.any():
            share = log_gammainc(after[limited], result[limited] * limit[limited])
        np.log(result, out=result)
        result *= -after
        if limited.any():
            result[limited] += share
        constant = log_gamma(after) - 0.5 * np.log(kappa + 1.0)
        result += constant - self.log_normaliser(hyper)[..., None]
        result += log_base
        return result

    def draw_parameters(self, rng: np.random.Generator, hyper: Array) -> tuple[Array, Array]:
        m, kappa, a, b, limit = split_last(hyper)
        # the smallest positive precision still has a finite logarithm
        precision = np.maximum(draw_limited_gamma(rng, a, b, limit), 1e-280)
        mean = m + rng.standard_normal(precision.shape) / np.sqrt(kappa * precision)
        eta = np.stack([precision * mean, -0.5 * precision], axis=-1)
        return eta, 0.5 * precision * mean**2 - 0.5 * np.log(precision)

    def draw_values(self, rng: np.random.Generator, eta: Array, constants: Array) -> Array:
        precision = -2.0 * eta[..., 1]
        standard = eta[..., 0] / precision
        standard = standard + rng.standard_normal(precision.shape) / np.sqrt(precision)
        return self._backward(constants[..., 0] + constants[..., 1] * standard)

    def draw_between(
        self, rng: np.random.Generator, eta: Array, low: Array, high: Array, constants: Array
    ) -> Array:
        mean, deviation = mean_deviation(eta)
        with np.errstate(over="ignore"):
            left = (self._standard_end(low, constants) - mean) / deviation
            right = (self._standard_end(high, constants) - mean) / deviation
        standard = draw_normal_between(rng, left, right)
        return self._backward(constants[0] + constants[1] * (mean + deviation * standard))

    def _standard_end(self, end: Array | float, constants: Array) -> Array:
        return self._standardise(np.asarray(end, dtype=np.float64), constants)

    def _standardise(self, values: Array, constants: Array) -> Array:
        with np.errstate(over="ignore"):
            return (values - constants[0]) / constants[1]

    def log_mass(
        self, eta: Array, low: Array | float, high: Array | float, constants: Array
    ) -> Array:
        mean, deviation = mean_deviation(eta)
        with np.errstate(over="ignore"):
            left = (self._standard_end(low, constants) - mean) / deviation
            right = (self._standard_end(high, constants) - mean) / deviation
        return log_normal_mass(left, right)

    def log_mass_predictive(
        self, hyper: Array, low: Array | float, high: Array | float, constants: Array
    ) -> Array:
        return log_predictive_mass(self._tails, hyper, low, high, constants)

    def moments(
        self, eta: Array, low: Array | float, high: Array | float, constants: Array
    ) -> Array:
        mean, deviation = mean_deviation(eta)
        low, high = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
        return normal_moments(
            low, high, constants[0] + constants[1] * mean, constants[1] * deviation
        )

    def moments_predictive(
        self, hyper: Array, low: Array | float, high: Array | float, constants: Array
    ) -> Array:
        return predictive_moments(self._tails, hyper, low, high, constants)


def _surely_unlimited(a: Array) -> Array:
    """Where log P(a, x) is zero to all digits from here on."""
    return a + 12.0 * np.sqrt(a) + 60.0


def mean_deviation(eta: Array) -> tuple[Array, Array]:
    """Mean and standard deviation of natural parameters, in the column's scale; shape (...)."""
    precision = -2.0 * eta[..., 1]
    return eta[..., 0] / precision, 1.0 / np.sqrt(precision)
