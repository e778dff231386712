"""Categorical likelihood with a Dirichlet prior."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from bayesspn.arrays import Array
from bayesspn.leaves import conjugate
from bayesspn.leaves.family import Family, Measure
from bayesspn.numerics.gamma_variates import draw_log_dirichlet
from bayesspn.numerics.special_functions import log_gamma, log_rising


class Categorical(Family):
    """Values 0 … K−1; η = log probabilities, T = indicator vector, prior Dirichlet(a_1 … a_K).

    φ holds the logarithms of the a_k. ``constants`` is (K,).
    """

    name = "categorical"
    kind = conjugate.ONE_HOT
    measure: ClassVar[Measure] = "discrete"
    one_hot = True
    coded: ClassVar[bool] = True

    def invalid(self, values: Array, n_categories: int) -> NDArray[np.bool_]:
        return (values < 0) | (values >= n_categories) | (values != np.floor(values))

    def constants(
        self, values: Array, counts: Array, resolution: float, n_categories: int
    ) -> Array:
        return np.array([float(n_categories)])

    def statistics(self, values: Array, constants: Array) -> Array:
        return (values[:, None] == np.arange(int(constants[0]))).astype(np.float64)

    def log_base(self, values: Array, constants: Array) -> Array:
        return np.zeros(len(values))

    def prior_center(self, gamma: float, constants: Array) -> Array:
        return np.full(int(constants[0]), np.log(gamma))

    def prior_spread(self, constants: Array) -> Array:
        return np.ones(int(constants[0]))

    def hyper(self, phi: Array, constants: Array) -> Array:
        return np.exp(phi)

    def posterior(self, hyper: Array, n: Array, totals: Array) -> Array:
        return hyper + totals

    def log_normaliser(self, hyper: Array) -> Array:
        return log_gamma(hyper).sum(axis=-1) - log_gamma(hyper.sum(axis=-1))

    def log_marginal(self, hyper: Array, n: Array, totals: Array) -> Array:
        return log_rising(hyper, totals).sum(axis=-1) - log_rising(hyper.sum(axis=-1), n)

    def log_predictive(self, hyper: Array, statistics: Array, log_base: Array) -> Array:
        return log_mean(hyper)[..., statistics.argmax(axis=1)] + log_base

    def draw_parameters(self, rng: np.random.Generator, hyper: Array) -> tuple[Array, Array]:
        return draw_log_dirichlet(rng, hyper), np.zeros(hyper.shape[:-1])

    def draw_values(self, rng: np.random.Generator, eta: Array, constants: Array) -> Array:
        upper = np.cumsum(np.exp(eta), axis=-1)
        u = rng.random(eta.shape[:-1]) * upper[..., -1]
        return (u[..., None] >= upper[..., :-1]).sum(axis=-1).astype(np.float64)

    def log_mass(
        self, eta: Array, low: Array | float, high: Array | float, constants: Array
    ) -> Array:
        inside = np.where(_codes_within(low, high, eta.shape[-1]), eta, -np.inf)
        largest = inside.max(axis=-1)
        top = np.where(np.isneginf(largest), 0.0, largest)
        with np.errstate(divide="ignore"):
            return np.minimum(top + np.log(np.exp(inside - top[..., None]).sum(axis=-1)), 0.0)

    def log_mass_predictive(
        self, hyper: Array, low: Array | float, high: Array | float, constants: Array
    ) -> Array:
        return self.log_mass(log_mean(hyper), low, high, constants)

    def moments(
        self, eta: Array, low: Array | float, high: Array | float, constants: Array
    ) -> Array:
        inside = np.where(_codes_within(low, high, eta.shape[-1]), np.exp(eta), 0.0)
        return np.stack([inside @ np.arange(eta.shape[-1]) ** float(k) for k in range(3)])

    def moments_predictive(
        self, hyper: Array, low: Array | float, high: Array | float, constants: Array
    ) -> Array:
        return self.moments(log_mean(hyper), low, high, constants)


#: The family itself, for those that are a categorical one of some kind.
CATEGORICAL = Categorical()


def log_mean(hyper: Array) -> Array:
    """Log of the mean probabilities of Dirichlet distributions; shape (..., K)."""
    return np.log(hyper) - np.log(hyper.sum(axis=-1, keepdims=True))


def _codes_within(low: Array | float, high: Array | float, n: int) -> NDArray[np.bool_]:
    """Which of the codes 0 … n − 1 lie in each interval; shape (..., n)."""
    codes = np.arange(n)
    return (codes >= np.asarray(low)[..., None]) & (codes <= np.asarray(high)[..., None])
