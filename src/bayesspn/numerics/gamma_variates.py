"""Gamma variates that neither underflow nor exceed an upper limit."""

from __future__ import annotations

import numpy as np

from bayesspn.arrays import Array


def draw_log_gamma(rng: np.random.Generator, shape: Array) -> Array:
    """Log of Gamma(shape, 1) variates, finite however small ``shape`` is.

    Uses Gamma(a) = Gamma(a+1) U^(1/a), whose logarithm does not underflow.
    """
    boosted = rng.standard_gamma(shape + 1.0)
    return np.log(boosted) - rng.standard_exponential(np.shape(shape)) / shape


def draw_log_dirichlet(rng: np.random.Generator, concentration: Array) -> Array:
    """Log of Dirichlet variates along the last axis."""
    log_gamma = draw_log_gamma(rng, concentration)
    log_gamma -= log_gamma.max(axis=-1, keepdims=True)
    return log_gamma - np.log(np.exp(log_gamma).sum(axis=-1, keepdims=True))


def draw_limited_gamma(rng: np.random.Generator, shape: Array, rate: Array, limit: Array) -> Array:
    """Gamma(shape, rate) variates conditioned on being at most ``limit`` (which may be inf)."""
    shape, rate, limit = np.broadcast_arrays(shape, rate, limit)
    draws = rng.standard_gamma(shape) / rate
    out = np.flatnonzero((draws > limit).ravel())
    draws = np.asarray(draws)
    while out.size:
        a = shape.ravel()[out]
        cap = limit.ravel()[out]
        x = rate.ravel()[out] * cap
        # Where the limit cuts deep, draw w = −log(g / limit), whose density
        # exp(−a w − x e^−w) lies under an exponential of rate a − x.
        deep = x < np.maximum(a - np.sqrt(a), 0.5 * a)
        w = rng.standard_exponential(out.size) / np.where(deep, a - x, 1.0)
        accept_deep = rng.random(out.size) < np.exp(-x * (np.expm1(-w) + w))
        plain = rng.standard_gamma(a) / rate.ravel()[out]
        accepted = np.where(deep, accept_deep, plain <= cap)
        chosen = np.where(deep, cap * np.exp(-w), plain)
        draws.reshape(-1)[out[accepted]] = chosen[accepted]
        out = out[~accepted]
    return draws
