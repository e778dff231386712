"""Sums of k^j p(k) over ranges of counts, however long the range.

The sum starts at the most probable count of the range and goes outwards, term by term. Where p
changes slowly from count to count, the Euler–Maclaurin formula replaces the sum by an integral. All
terms are positive, so that there is no cancellation and no pole, and the tails keep their digits.
"""

from __future__ import annotations

import math

import numba as nb
import numpy as np

from bayesspn.arrays import Array
from bayesspn.leaves.intervals.broadcast import flatten
from bayesspn.numerics.special_functions import log_gamma_scalar, log_rising_scalar, stirling_series

POISSON, GEOMETRIC, NEGATIVE_BINOMIAL, BETA_GEOMETRIC = 0, 1, 2, 3

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)

#: Slow change: p(k + 1) / p(k) within this of one.
_SLOW = 0.1

#: Shortest range worth an integral, and the smallest count at which k² changes slowly too.
_LONG, _FIRST = 300.0, 40.0

#: What is smaller than the largest term by this much in logs is left out.
_NEGLIGIBLE = 33.0

#: Counts end here, where their squares are still finite.
_LAST = 1e150

_HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)


@nb.njit(cache=True, error_model="numpy")
def _ratio(kind, p, k):  # type: ignore[no-untyped-def]
    """p(k + 1) / p(k), monotone in k for every family."""
    if kind == POISSON:
        return p[2] / (k + 1.0)
    if kind == GEOMETRIC:
        return p[2]
    if kind == NEGATIVE_BINOMIAL:
        return (p[0] + k) / ((k + 1.0) * (1.0 + p[1]))
    return (p[1] + k) / (p[0] + p[1] + k + 1.0)


@nb.njit(cache=True, error_model="numpy")
def _deviance(x, mean):  # type: ignore[no-untyped-def]
    """Half the Poisson deviance, x log(x / mean) + mean − x, also of huge counts."""
    step = (x - mean) / mean
    if abs(step) < 0.5:
        return mean * ((1.0 + step) * math.log1p(step) - step)
    return x * math.log(x / mean) + mean - x


@nb.njit(cache=True, error_model="numpy")
def _log_poisson(log_rate, rate, k):  # type: ignore[no-untyped-def]
    if k < 8.0:
        return (k * log_rate if k > 0.0 else 0.0) - rate - log_gamma_scalar(k + 1.0)
    head = _HALF_LOG_TWO_PI + 0.5 * math.log(k) + stirling_series(k)
    if rate < 1e-3 * k:
        return k * (log_rate - math.log(k)) - rate + k - head
    return -head - _deviance(k, rate)


@nb.njit(cache=True, error_model="numpy")
def _log_negative_binomial(a, b, k):  # type: ignore[no-untyped-def]
    if a < 8.0:
        rising = log_rising_scalar(k + 1.0, a) - math.log(k + a) - log_gamma_scalar(a)
        return rising - a * math.log1p(1.0 / b) - k * math.log1p(b)
    if k < 8.0:
        rising = log_rising_scalar(a, k) - log_gamma_scalar(k + 1.0)
        return rising - a * math.log1p(1.0 / b) - k * math.log1p(b)
    # Loader's saddle-point form: a times out of n, which keeps the digits of huge counts
    n = a + k
    series = stirling_series(n) - stirling_series(a) - stirling_series(k)
    series -= _deviance(a, n * (b / (1.0 + b))) + _deviance(k, n / (1.0 + b))
    return series + 0.5 * math.log(a / (n * k)) - _HALF_LOG_TWO_PI


@nb.njit(cache=True, error_model="numpy")
def _log_beta_survival(a, b, k):  # type: ignore[no-untyped-def]
    """Log of B(a, b + k) / B(a, b)."""
    if k < a:
        return log_rising_scalar(b, k) - log_rising_scalar(a + b, k)
    return log_rising_scalar(b, a) - log_rising_scalar(b + k, a)


@nb.njit(cache=True, error_model="numpy")
def _log_probability(kind, p, k):  # type: ignore[no-untyped-def]
    if kind == POISSON:
        return _log_poisson(p[0], p[2], k)
    if kind == GEOMETRIC:
        return math.log(-math.expm1(p[0])) + k * p[0]
    if kind == NEGATIVE_BINOMIAL:
        return _log_negative_binomial(p[0], p[1], k)
    a, b = p[0], p[1]
    return _log_beta_survival(a, b, k) + math.log(a) - math.log(a + b + k)


@nb.njit(cache=True, error_model="numpy")
def _mode(kind, p):  # type: ignore[no-untyped-def]
    if kind == POISSON:
        return np.floor(p[2])
    if kind == NEGATIVE_BINOMIAL and p[0] > 1.0:
        return np.floor((p[0] - 1.0) / p[1])
    return 0.0


@nb.njit(cache=True, error_model="numpy")
def _slow(kind, p, k):  # type: ignore[no-untyped-def]
    return abs(_ratio(kind, p, k) - 1.0) <= _SLOW


@nb.njit(cache=True, error_model="numpy")
def _last_slow(kind, p, k, end):  # type: ignore[no-untyped-def]
    """The farthest count towards ``end`` up to which p changes slowly."""
    if _slow(kind, p, end):
        return end
    while abs(end - k) > 1.0:
        middle = np.floor(0.5 * (k + end))
        if middle in (k, end):
            break
        if _slow(kind, p, middle):
            k = middle
        else:
            end = middle
    return k


@nb.njit(cache=True, error_model="numpy")
def _add_edge(kind, p, log_top, start, sign, total):  # type: ignore[no-untyped-def]
    """The Euler–Maclaurin correction at an end half-way between start + 1 and start + 2."""
    for i in range(4):
        k = start + i
        first = (0.0, -1.0, 1.0, 0.0)[i]
        third = (-1.0, 3.0, -3.0, 1.0)[i]
        term = math.exp(_log_probability(kind, p, k) - log_top)
        term *= sign * (-first / 24.0 + 17.0 * third / 5760.0)
        for j in range(len(total)):
            total[j] += term
            term *= k


@nb.njit(cache=True, error_model="numpy")
def _cut(kind, p, shift, start, end, degree):  # type: ignore[no-untyped-def]
    """How far from start towards end, in log (k + shift), k^degree p(k) is worth integrating."""
    k = math.exp(start) - shift
    floor = _log_probability(kind, p, k) + degree * math.log(k) - _NEGLIGIBLE
    step, growth = math.copysign(1e-6, end - start), 4.0
    while abs(step) < abs(end - start):
        k = math.exp(start + step) - shift
        if _log_probability(kind, p, k) + degree * math.log(k) < floor:
            if growth < 2.0:
                return start + step
            step, growth = step / growth, math.sqrt(2.0)  # once more, in shorter steps
        step *= growth
    return end


@nb.njit(cache=True, error_model="numpy")
def _add_integral(kind, p, log_top, low, high, near, total):  # type: ignore[no-untyped-def]
    """Add the sum from low to high, where p changes slowly and falls away from the end ``near``."""
    shift = p[1] if kind == BETA_GEOMETRIC else 0.0
    left, right = math.log(low - 0.5 + shift), math.log(high + 0.5 + shift)
    start, end = (left, right) if near == low else (right, left)
    end = _cut(kind, p, shift, start, end, float(len(total)))
    panels = max(6, int(1.5 * abs(end - start)))
    half = 0.5 * (end - start) / panels
    for panel in range(panels):
        for i in range(len(_NODES)):
            place = start + half * (2 * panel + 1 + _NODES[i])
            grown = math.exp(place)
            k = grown - shift
            term = math.exp(_log_probability(kind, p, k) - log_top)
            term *= abs(half) * _WEIGHTS[i] * grown
            for j in range(len(total)):
                total[j] += term
                term *= k
    _add_edge(kind, p, log_top, high - 1.0, 1.0, total)
    _add_edge(kind, p, log_top, low - 2.0, -1.0, total)


@nb.njit(cache=True, error_model="numpy")
def _add_term(term, k, total):  # type: ignore[no-untyped-def]
    """Add k^j times a term; whether that still makes a difference."""
    counts = False
    for j in range(len(total)):
        total[j] += term
        counts |= term > 1e-17 * total[j]
        term *= k
    return counts


@nb.njit(cache=True, error_model="numpy")
def _add_upwards(kind, p, log_top, low, high, total):  # type: ignore[no-untyped-def]
    k = low
    term = math.exp(_log_probability(kind, p, k) - log_top)
    while k <= high:
        ahead = k + _LONG
        if k >= _FIRST and ahead <= high and _slow(kind, p, k) and _slow(kind, p, ahead):
            last = _last_slow(kind, p, k, high)
            _add_integral(kind, p, log_top, k, last, k, total)
            k = last + 1.0
            if k == last:  # counts so large that their neighbours are not floats
                return
            term = math.exp(_log_probability(kind, p, k) - log_top)
            continue
        if not _add_term(term, k, total) and k > 0.0:
            return
        term *= _ratio(kind, p, k)
        k += 1.0


@nb.njit(cache=True, error_model="numpy")
def _add_downwards(kind, p, log_top, low, high, total):  # type: ignore[no-untyped-def]
    k = high
    term = math.exp(_log_probability(kind, p, k) - log_top) if k >= low else 0.0
    floor = max(low, _FIRST)
    while k >= low:
        ahead = k - _LONG
        if ahead >= floor and _slow(kind, p, k) and _slow(kind, p, ahead):
            last = _last_slow(kind, p, k, floor)
            _add_integral(kind, p, log_top, last, k, k, total)
            k = last - 1.0
            if k == last or k < low:
                return
            term = math.exp(_log_probability(kind, p, k) - log_top)
            continue
        if not _add_term(term, k, total):
            return
        k -= 1.0
        term /= _ratio(kind, p, k)


@nb.njit(cache=True, error_model="numpy")
def _describe(parameters):  # type: ignore[no-untyped-def]
    """The parameters, and the exponential of the first, which Poisson ratios need."""
    return parameters[0], parameters[-1], math.exp(parameters[0])


@nb.njit(cache=True, error_model="numpy")
def _sum(kind, p, low, high, total):  # type: ignore[no-untyped-def]
    """Σ k^j p(k) over low <= k <= high, over a common factor whose log is returned."""
    low = np.ceil(max(low, 0.0)) if low < _LAST else np.inf
    high = np.floor(high) if high < _LAST else _LAST
    if not low <= high:
        return -np.inf
    top = min(max(_mode(kind, p), low), high)
    log_top = _log_probability(kind, p, top)
    if log_top == -np.inf:
        return -np.inf
    _add_upwards(kind, p, log_top, top, high, total)
    _add_downwards(kind, p, log_top, low, top - 1.0, total)
    return log_top


@nb.njit(cache=True, error_model="numpy")
def _log_mass(kind, parameters, low, high):  # type: ignore[no-untyped-def]
    p = _describe(parameters)
    if kind == BETA_GEOMETRIC and high == np.inf:  # its tail may reach beyond all floats
        if 0.0 < low < np.inf:
            return _log_beta_survival(p[0], p[1], np.ceil(low))
        return -np.inf if low == np.inf else 0.0
    total = np.zeros(1)
    log_top = _sum(kind, p, low, high, total)
    return min(log_top + math.log(total[0]), 0.0) if total[0] > 0.0 else -np.inf


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _fill_log_mass(kind, parameters, low, high, result):  # type: ignore[no-untyped-def]
    for i in range(len(result)):
        result[i] = _log_mass(kind, parameters[i], low[i], high[i])


@nb.njit(cache=True, error_model="numpy")
def _moments(kind, parameters, low, high, result):  # type: ignore[no-untyped-def]
    p = _describe(parameters)
    result[:] = 0.0
    log_top = _sum(kind, p, low, high, result)
    if log_top == -np.inf:
        return
    front = math.exp(log_top)
    for j in range(3):
        result[j] = front * result[j] if front > 0.0 else 0.0
    if kind == BETA_GEOMETRIC and high == np.inf:
        beyond = _log_beta_survival(p[0], p[1], _LAST)
        for j in range(3):
            tail = p[0] * math.exp(beyond + j * math.log(_LAST)) / (p[0] - j)
            result[j] += tail if p[0] > j else np.inf


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _fill_moments(kind, parameters, low, high, result):  # type: ignore[no-untyped-def]
    for i in range(len(result)):
        _moments(kind, parameters[i], low[i], high[i], result[i])


def log_count_mass(kind: int, parameters: Array, low: Array | float, high: Array | float) -> Array:
    """Log probability of low <= k <= high.

    Parameters
    ----------
    kind : int
        ``POISSON`` (log rate), ``GEOMETRIC`` (log of 1 − p), ``NEGATIVE_BINOMIAL`` (a, b) or
        ``BETA_GEOMETRIC`` (a, b).
    parameters : ndarray of shape (..., h)
    low, high : ndarray of shape (...)
    """
    shape, *flat = flatten(parameters, low, high)
    result = np.empty(len(flat[0]))
    _fill_log_mass(kind, *flat, result)  # type: ignore[call-arg]
    return result.reshape(shape)


def count_moments(kind: int, parameters: Array, low: Array | float, high: Array | float) -> Array:
    """E[k^j; low <= k <= high] for j = 0, 1, 2; shape (3, ...), inf where a sum diverges."""
    shape, *flat = flatten(parameters, low, high)
    result = np.empty((len(flat[0]), 3))
    _fill_moments(kind, *flat, result)  # type: ignore[call-arg]
    return np.moveaxis(result.reshape(*shape, 3), -1, 0)
