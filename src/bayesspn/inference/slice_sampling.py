"""Univariate slice sampling (Neal, 2003) of many independent coordinates side by side."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bayesspn.arrays import Array

_MOST_STEPS = 8


def draw_slices(
    rng: np.random.Generator, x: Array, log_density: Callable[[Array], Array], width: Array
) -> Array:
    """One slice-sampling update of every coordinate, by stepping out and shrinking.

    Parameters
    ----------
    rng : numpy.random.Generator
    x : ndarray of shape (n,)
        Current values, each with a density of its own.
    log_density : callable
        Maps values (n,) to log densities (n,), up to constants.
    width : ndarray of shape (n,)
        First guess of the slices' widths.
    """
    level = log_density(x) - rng.standard_exponential(x.shape)
    low = x - width * rng.random(x.shape)
    high = low + width
    steps_low = np.floor(_MOST_STEPS * rng.random(x.shape))
    steps_high = _MOST_STEPS - 1 - steps_low
    low = _step_out(low, -width, steps_low, level, log_density)
    high = _step_out(high, width, steps_high, level, log_density)
    result = x.copy()
    open_ = np.ones(x.shape, dtype=bool)
    while open_.any():
        proposal = np.where(open_, low + rng.random(x.shape) * (high - low), result)
        inside = log_density(proposal) > level
        accepted = open_ & inside
        result[accepted] = proposal[accepted]
        rejected = open_ & ~inside
        low = np.where(rejected & (proposal < x), proposal, low)
        high = np.where(rejected & (proposal >= x), proposal, high)
        # a slice shrunk to rounding keeps its value
        open_ = rejected & (high - low > 1e-12 * (1 + np.abs(x)))
    return result


def _step_out(
    edge: Array, step: Array, steps: Array, level: Array, log_density: Callable[[Array], Array]
) -> Array:
    """Move edges outwards while they are inside the slice and have steps left."""
    while True:
        moving = (steps > 0) & (log_density(edge) > level)
        if not moving.any():
            return edge
        edge = np.where(moving, edge + step, edge)
        steps = np.where(moving, steps - 1, 0)
