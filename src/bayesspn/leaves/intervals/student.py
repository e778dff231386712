"""Intervals under a Student t in closed form, where that keeps the digits."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayesspn.arrays import Array, split_last
from bayesspn.numerics.special_functions import log_gammainc


def _half_student_mass(a: Array, b: Array, square: Array, inside: NDArray[np.bool_]) -> Array:
    """Half the Student mass within a distance of the mean, or else beyond it.

    ``square`` is half the squared distance in units in which the predictive is (b + square)^−(a+½).
    """
    small = square < b
    share = np.where(small, square / (b + square), b / (b + square))
    first, second = np.where(small, 0.5, a), np.where(small, a, 0.5)
    mass = np.empty(share.shape)
    special.betainc(first, second, share, out=mass, where=small == inside)
    special.betaincc(first, second, share, out=mass, where=small != inside)
    return 0.5 * mass


def log_student_mass(hyper: Array, low: Array, high: Array) -> Array:
    """Log mass of low <= u <= high under a Student t without limit; NaN if digits would be lost.

    hyper (..., 5), low and high (...) in the family's own units.
    """
    m, kappa, a, b, limit = split_last(hyper)
    a, b, below, above, limit = np.broadcast_arrays(a, b, low - m, high - m, limit)
    half = kappa / (2.0 * (kappa + 1.0))
    straddles = (below <= 0) & (above >= 0)
    left, right = (_half_student_mass(a, b, half * end**2, straddles) for end in (below, above))
    mass = np.where(straddles, left + right, np.abs(left - right))
    exact = (mass > 1e-3 * np.maximum(left, right)) & (mass > 1e-280)
    exact &= log_gammainc(a, b * limit) > -1e-12
    return np.where(above > below, np.where(exact, np.log(mass), np.nan), -np.inf)
