"""Binomial likelihood with a beta prior: ordered categories, of which neighbours are alike."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayesspn.arrays import Array, join_last
from bayesspn.leaves import conjugate
from bayesspn.leaves.categorical import CATEGORICAL
from bayesspn.leaves.family import Family
from bayesspn.numerics.gamma_variates import draw_log_dirichlet
from bayesspn.numerics.special_functions import log_gamma, log_rising


class Binomial(Family):
    """Codes 0 … N of N + 1 ordered categories: how many of N steps up are taken.

    Every step is taken with probability p ~ Beta(a, b), so that a leaf has one peak and the
    categories beside it are likely as well, where the categorical family knows of no neighbours.
    ``hyper`` is (a, b); φ is (log (a + b), log odds of the prior mean of p less those of the
    column); η = (log p, log (1 − p)), T = (x, N − x), A = 0; ``constants`` is (N, odds of the
    column's mean).
    """

    name = "binomial"
    kind = conjugate.BINOMIAL
    measure = "discrete"
    coded = True

    def invalid(self, values: Array, n_categories: int) -> NDArray[np.bool_]:
        return CATEGORICAL.invalid(values, n_categories)

    def constants(
        self, values: Array, counts: Array, resolution: float, n_categories: int
    ) -> Array:
        steps = n_categories - 1.0
        up = float(values @ counts) + 0.5  # half a step each way keeps the odds positive
        down = float((steps - values) @ counts) + 0.5
        return np.array([steps, up / down])

    def statistics(self, values: Array, constants: Array) -> Array:
        return np.stack([values, constants[0] - values], axis=-1)

    def log_base(self, values: Array, constants: Array) -> Array:
        rest = constants[0] - values
        return log_gamma(constants[0] + 1.0) - log_gamma(values + 1.0) - log_gamma(rest + 1.0)

    def prior_center(self, gamma: float, constants: Array) -> Array:
        return np.array([np.log(4.0 * gamma), 0.0])

    def prior_spread(self, constants: Array) -> Array:
        return np.array([1.0, 1.0])

    def hyper(self, phi: Array, constants: Array) -> Array:
        strength = np.exp(phi[..., 0])
        odds = np.exp(phi[..., 1]) * constants[..., 1]
        return join_last(strength * odds / (1 + odds), strength / (1 + odds))

    def posterior(self, hyper: Array, n: Array, totals: Array) -> Array:
        return hyper + totals

    def log_normaliser(self, hyper: Array) -> Array:
        return log_gamma(hyper).sum(axis=-1) - log_gamma(hyper.sum(axis=-1))

    def log_marginal(self, hyper: Array, n: Array, totals: Array) -> Array:
        every = log_rising(hyper.sum(axis=-1), totals.sum(axis=-1))
        return log_rising(hyper, totals).sum(axis=-1) - every

    def log_predictive(self, hyper: Array, statistics: Array, log_base: Array) -> Array:
        every = self.log_marginal(hyper[..., None, :], np.ones(len(statistics)), statistics)
        return every + log_base

    def draw_parameters(self, rng: np.random.Generator, hyper: Array) -> tuple[Array, Array]:
        return draw_log_dirichlet(rng, hyper), np.zeros(hyper.shape[:-1])

    def draw_values(self, rng: np.random.Generator, eta: Array, constants: Array) -> Array:
        return CATEGORICAL.draw_values(rng, self._log_shares(eta, constants), constants)

    def log_shares(self, hyper: Array, constants: Array) -> Array:
        """Log probabilities of all codes, parameters integrated out; shape (..., N + 1)."""
        codes = np.arange(constants[0] + 1.0)
        statistics, log_base = self.statistics(codes, constants), self.log_base(codes, constants)
        return self.log_predictive(hyper, statistics, log_base)

    def _log_shares(self, eta: Array, constants: Array) -> Array:
        codes = np.arange(constants[0] + 1.0)
        return eta @ self.statistics(codes, constants).T + self.log_base(codes, constants)

    def log_mass(
        self, eta: Array, low: Array | float, high: Array | float, constants: Array
    ) -> Array:
        return CATEGORICAL.log_mass(self._log_shares(eta, constants), low, high, constants)

    def log_mass_predictive(
        self, hyper: Array, low: Array | float, high: Array | float, constants: Array
    ) -> Array:
        return CATEGORICAL.log_mass(self.log_shares(hyper, constants), low, high, constants)

    def moments(
        self, eta: Array, low: Array | float, high: Array | float, constants: Array
    ) -> Array:
        return CATEGORICAL.moments(self._log_shares(eta, constants), low, high, constants)

    def moments_predictive(
        self, hyper: Array, low: Array | float, high: Array | float, constants: Array
    ) -> Array:
        return CATEGORICAL.moments(self.log_shares(hyper, constants), low, high, constants)
