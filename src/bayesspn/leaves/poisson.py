"""Poisson likelihood with a gamma prior."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayesspn.leaves.family import Array, Family
from bayesspn.leaves.gamma_draws import draw_log_gamma
from bayesspn.special import log_gamma


class Poisson(Family):
    """Counts 0, 1, 2 … with rate λ ~ Gamma(a, rate b).

    ``hyper`` is (a, b); φ is (log a, log of the prior mean a/b over the column's mean); η = log λ,
    T = x, A = λ; ``constants`` is (the column's mean,).
    """

    name = "poisson"
    measure = "discrete"

    def invalid(self, values: Array, n_categories: int) -> NDArray[np.bool_]:
        return ~(np.isfinite(values) & (values >= 0) & (values == np.floor(values)))

    def constants(
        self, values: Array, counts: Array, resolution: float, n_categories: int
    ) -> Array:
        # half a count more keeps the scale positive for a column of zeros
        return np.array([(float(values @ counts) + 0.5) / float(counts.sum())])

    def statistics(self, values: Array, constants: Array) -> Array:
        return values[:, None]

    def log_base(self, values: Array, constants: Array) -> Array:
        return -log_gamma(values + 1.0)

    def prior_center(self, gamma: float, constants: Array) -> Array:
        return np.array([np.log(2.0 * gamma), 0.0])

    def prior_spread(self, constants: Array) -> Array:
        return np.array([1.0, 1.0])

    def hyper(self, phi: Array, constants: Array) -> Array:
        a = np.exp(phi[..., 0])
        return np.stack([a, a / (constants[..., 0] * np.exp(phi[..., 1]))], axis=-1)

    def posterior(self, hyper: Array, n: Array, totals: Array) -> Array:
        return hyper + np.stack(np.broadcast_arrays(totals[..., 0], n), axis=-1)

    def log_normaliser(self, hyper: Array) -> Array:
        return log_gamma(hyper[..., 0]) - hyper[..., 0] * np.log(hyper[..., 1])

    def draw_parameters(self, rng: np.random.Generator, hyper: Array) -> tuple[Array, Array]:
        log_rate = draw_log_gamma(rng, hyper[..., 0]) - np.log(hyper[..., 1])
        return log_rate[..., None], np.exp(log_rate)

    def draw_values(self, rng: np.random.Generator, eta: Array, constants: Array) -> Array:
        return rng.poisson(np.exp(eta[..., 0])).astype(np.float64)
