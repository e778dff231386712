"""Intervals that are narrow for a Student t: a few Gauss rules are exact, and quick.

Columns are divided into some eighty cells to be shown, and most leaves are wider than these. There
the density is close to a polynomial, and ten nodes give all digits that matter at a fraction of the
cost of two incomplete beta functions.
"""
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import math

import numba as nb
import numpy as np

from bayesspn.arrays import Array
from bayesspn.leaves.intervals.broadcast import flatten
from bayesspn.numerics.special_functions import log_gammainc_scalar, log_rising_scalar

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(10)

#: Half the width of a panel, in units of the density's local width, and the most that its logarithm
#: may change over it: with these the rule is good to 10^-11.
_WIDEST, _STEEPEST = 1.0, 3.0

_MOST_PANELS = 6


@nb.njit(cache=True, error_model="numpy")
def _log_mass(hyper, low, high):
    m, kappa, a, b, limit = hyper[0], hyper[1], hyper[2], hyper[3], hyper[4]
    if not low < high:
        return -np.inf
    if low == -np.inf or high == np.inf:
        return np.nan
    low, high = low - m, high - m
    c, power = 0.5 * kappa / (kappa + 1.0), a + 0.5
    # the widest and the flattest that the density is anywhere in the interval
    near = 0.0 if low <= 0.0 <= high else min(abs(low), abs(high))
    far = max(abs(low), abs(high))
    at = min(max(near, math.sqrt(b / c)), far)  # where its logarithm is steepest
    slope = 2.0 * power * c * at / (b + c * at * at)
    # heavy tails have poles nearby, off the real line
    width = math.sqrt((b + c * near * near) / (max(2.0 * power, 2.0) * c))
    half = 0.5 * (high - low)
    panels = max(half / (_WIDEST * width), half * slope / _STEEPEST)
    if not panels <= _MOST_PANELS:
        return np.nan
    count = max(1, math.ceil(panels))
    half /= count
    # relative to the density at the nearest point, which is the largest
    largest = math.log(b + c * near * near)
    # the factor of a limit grows with the distance from the mean; it may be tiny
    factor = log_gammainc_scalar(power, limit * (b + c * near * near))
    total = 0.0
    for panel in range(count):
        middle = low + (2 * panel + 1) * half
        for i in range(_NODES.shape[0]):
            place = middle + half * _NODES[i]
            grown = b + c * place * place
            value = -power * (math.log(grown) - largest)
            if factor < 0.0:
                value += log_gammainc_scalar(power, limit * grown) - factor
            total += _WEIGHTS[i] * math.exp(value)
    front = log_rising_scalar(a, 0.5) + a * math.log(b) + 0.5 * math.log(c / math.pi)
    front += factor - log_gammainc_scalar(a, b * limit) - power * largest
    return min(front + math.log(total * half), 0.0)


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _fill(hyper, low, high, result):
    for i in range(result.shape[0]):
        result[i] = _log_mass(hyper[i], low[i], high[i])


def log_narrow_mass(hyper: Array, low: Array | float, high: Array | float) -> Array:
    """Log mass of low <= u <= high under a limited Student t; NaN where that is not narrow.

    Parameters
    ----------
    hyper : ndarray of shape (..., 5)
        (m, κ, a, b, limit), as in `bayesspn.leaves.gaussian`.
    low, high : ndarray of shape (...)
        In the family's own units.

    Examples
    --------
    >>> hyper = np.array([0.0, 1e9, 2.5, 2.5, np.inf])  # Student t with 5 degrees of freedom
    >>> float(np.exp(log_narrow_mass(hyper, -0.1, 0.1)).round(6))
    0.07577
    >>> float(log_narrow_mass(hyper, -np.inf, 0.1))
    nan
    """
    shape, *flat = flatten(hyper, low, high)
    result = np.empty(len(flat[0]))
    _fill(*flat, result)  # type: ignore[call-arg]
    return result.reshape(shape)
