"""Intervals under an exponential distribution, which the geometric family shares."""

from __future__ import annotations

import numpy as np
from scipy import special

from bayesspn.arrays import Array


def log_survival_mass(left: Array, right: Array) -> Array:
    """Log of exp(−left) − exp(−right) for 0 <= left; −inf unless left < right; shape (...)."""
    with np.errstate(all="ignore"):
        mass = -left + np.log(-np.expm1(left - right))
    return np.where(left < right, mass, -np.inf)


def draw_survival_between(rng: np.random.Generator, left: Array, right: Array) -> Array:
    """Standard exponential values from left to right, by inversion from the left; shape (...)."""
    with np.errstate(all="ignore"):
        drawn = left - np.log1p(rng.random(np.shape(left)) * np.expm1(left - right))
    return np.where(left < right, np.minimum(drawn, right), left)


def exponential_moments(low: Array, high: Array, mean: Array) -> Array:
    """E[x^k; low <= x <= high] of an exponential distribution, k = 0, 1, 2; shape (3, ...).

    low and high are not negative; they broadcast with ``mean``.
    """
    with np.errstate(all="ignore"):
        width = np.where(high > low, high - low, 0.0)
        lives = width / mean
        start = np.where(np.isinf(low), 0.0, low)
        front = np.exp(-low / mean)
        # moments of x − low; for short intervals 1 / mean² may underflow and mean² overflow
        first = np.where(
            lives < 1e-5,
            width * (lives / 2) * (1 - 2 * lives / 3),
            mean * special.gammainc(2.0, lives),
        )
        second = np.where(
            lives < 1e-5,
            width * (width * lives / 3) * (1 - 3 * lives / 4),
            mean * (2 * mean * special.gammainc(3.0, lives)),
        )
        mass = -np.expm1(-lives)
        moments = [mass, start * mass + first, start * (start * mass + 2 * first) + second]
        return np.stack([np.where(front > 0, front * part, 0.0) for part in moments])
