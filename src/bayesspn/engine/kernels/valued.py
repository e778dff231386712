"""Columns whose leaves are not plain categories: log densities of values.

A leaf of such a column is a mixture over likelihood families. Every (column, family) pair is a
*member*, of one of the forms below, with an array of parameters (parameters, paths × leaves): the
first is a constant that is added, log mixing weight included. All logarithms are binary.

========= =========================================== ===============================
form      log density of a value                      parameters after the first
========= =========================================== ===============================
NATURAL   h + Σ_t T_t η_t                             η_1, η_2, …
LINEAR    the same, of terms that do not cancel       η_1, η_2, …
QUADRATIC h − c (T_1 − m)²                            m, c
STUDENT   h − e log₂(b + c (T_1 − m)²) + limit        m, c, b, e, limit
LOMAX     h − e log₂(b + T_1) + limit                 b, e, limit
NEGATIVE  negative binomial mass of a count T_1       a, log₂(1 + 1/b), log₂(1 + b)
BETA      geometric mass of T_1 with a beta prior     a, b
BINOMIAL  h + binomial mass of T_1 and T_2, likewise  a, b
========= =========================================== ===============================

h is the log base measure of the value, and T are its statistics.
"""
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import math
from typing import NamedTuple

import numba as nb
import numpy as np

from bayesspn.engine.kernels import vectors as vec
from bayesspn.engine.kernels.powers import exp2
from bayesspn.engine.kernels.vectors import LANES
from bayesspn.numerics.special_functions import (
    log_gamma_scalar,
    log_gammainc_scalar,
    log_rising_scalar,
)

NATURAL, LINEAR, QUADRATIC, STUDENT, LOMAX, NEGATIVE, BETA, BINOMIAL = 0, 1, 2, 3, 4, 5, 6, 7

_LOG2E = 1.4426950408889634
_TWO_LOG2E = 2.885390081777927

#: Bits of a double: where its exponent begins, and what √2 has for a mantissa.
_EXPONENT = np.int64(52)
_ONE = np.int64(0x3FF0000000000000)
_ROOT = np.int64(0x3FE6A09E667F3BCD)  # √½
_MANTISSA = np.int64(0x000FFFFFFFFFFFFF)


@nb.njit(cache=True, forceinline=True, error_model="numpy")
def _log2_one_plus(x):
    """log₂(1 + x) for x in [0, 1], to single precision: a series in x / (2 + x)."""
    t = vec.divide(x, vec.add(x, vec.splat(np.float32(2.0))))
    square = vec.multiply(t, t)
    series = vec.splat(np.float32(_TWO_LOG2E / 13.0))
    series = vec.multiply_add(series, square, vec.splat(np.float32(_TWO_LOG2E / 11.0)))
    series = vec.multiply_add(series, square, vec.splat(np.float32(_TWO_LOG2E / 9.0)))
    series = vec.multiply_add(series, square, vec.splat(np.float32(_TWO_LOG2E / 7.0)))
    series = vec.multiply_add(series, square, vec.splat(np.float32(_TWO_LOG2E / 5.0)))
    series = vec.multiply_add(series, square, vec.splat(np.float32(_TWO_LOG2E / 3.0)))
    series = vec.multiply_add(series, square, vec.splat(np.float32(_TWO_LOG2E)))
    return vec.multiply(series, t)


@nb.njit(cache=True, forceinline=True, error_model="numpy")
def _add_exponentials(total, other, gap, size):
    """Replace ``total`` by log₂(2^total + 2^other); ``gap`` is as long as full vectors are."""
    for i in range(size):
        gap[i] = -abs(total[i] - other[i])
        total[i] = max(total[i], other[i])
    for strip in range(0, size, LANES):
        vec.store(gap, strip, _log2_one_plus(exp2(vec.load(gap, strip))))
    for i in range(size):
        total[i] += gap[i]


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _replace_by_log2(x, size):
    """Binary logarithms of positive normal numbers, to ten digits.

    The series of the inverse hyperbolic tangent, after numbers were brought between √½ and √2.
    """
    bits = x.view(np.int64)  # here, or the compiler would fear that it overlaps with x
    for i in range(size):
        exponent = (bits[i] - _ROOT) >> _EXPONENT
        bits[i] = bits[i] - (exponent << _EXPONENT)
        t = (x[i] - 1.0) / (x[i] + 1.0)
        square = t * t
        series = 1.0 / 13.0
        series = series * square + 1.0 / 11.0
        series = series * square + 1.0 / 9.0
        series = series * square + 1.0 / 7.0
        series = series * square + 1.0 / 5.0
        series = series * square + 1.0 / 3.0
        series = series * square + 1.0
        x[i] = _TWO_LOG2E * t * series + np.float64(exponent)


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _fill_natural(out, parameters, log_base, features, span, size):
    for i in range(size):
        out[i] = parameters[0, i] + log_base
    for t in range(span[0], span[1]):
        for i in range(size):
            out[i] += features[t] * parameters[t, i]


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _fill_quadratic(out, parameters, log_base, x, size):
    for i in range(size):
        distance = x - parameters[1, i]
        out[i] = parameters[0, i] + log_base - parameters[2, i] * distance * distance


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _log_gammainc(a, x):
    """Log P(a, x), to ten digits, in fewer steps than `log_gammainc_scalar` takes."""
    if x >= a + 1.0 or x <= 0.0:
        return log_gammainc_scalar(a, x)
    term = 1.0 / a
    total, k = term, a
    while term > total * 1e-11:
        k += 1.0
        term *= x / k
        total += term
    return min(0.0, a * math.log(x) - x - log_gamma_scalar(a) + math.log(total))


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _add_limits(out, inner, parameters, power, limit, size):
    """What upper limits on precisions add, to leaves that feel them."""
    for i in range(size):
        if parameters[limit, i] < np.inf:
            a, x = parameters[power, i], inner[i] * parameters[limit, i]
            if x < a + 7.0 * math.sqrt(a) + 25.0:  # 1 − P is below 1e-11 from there on
                out[i] += _LOG2E * _log_gammainc(a, x)


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _fill_student(out, parameters, log_base, x, inner, logs, size):
    limited = False
    for i in range(size):
        distance = x - parameters[1, i]
        inner[i] = parameters[3, i] + parameters[2, i] * distance * distance
        logs[i] = inner[i]
        limited |= parameters[5, i] < np.inf
    _replace_by_log2(logs, size)
    for i in range(size):
        out[i] = parameters[0, i] + log_base - parameters[4, i] * logs[i]
    if limited:
        _add_limits(out, inner, parameters, 4, 5, size)


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _fill_lomax(out, parameters, log_base, x, inner, logs, size):
    limited = False
    for i in range(size):
        inner[i] = parameters[1, i] + x
        logs[i] = inner[i]
        limited |= parameters[3, i] < np.inf
    _replace_by_log2(logs, size)
    for i in range(size):
        out[i] = parameters[0, i] + log_base - parameters[2, i] * logs[i]
    if limited:
        _add_limits(out, inner, parameters, 2, 3, size)


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _fill_counts(form, out, parameters, x, size):
    """Masses of a count with a gamma or a beta prior, as quotients that keep their digits."""
    for i in range(size):
        a, b = parameters[1, i], parameters[2, i]
        if form == NEGATIVE:
            mass = log_rising_scalar(x + 1.0, a) - math.log(x + a) - log_gamma_scalar(a)
            out[i] = parameters[0, i] + _LOG2E * mass - a * b - x * parameters[3, i]
        else:
            mass = math.log(a) + log_rising_scalar(b, x) - log_rising_scalar(a + b, x + 1.0)
            out[i] = parameters[0, i] + _LOG2E * mass


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _fill_binomial(out, parameters, log_base, up, down, size):
    for i in range(size):
        a, b = parameters[1, i], parameters[2, i]
        mass = log_rising_scalar(a, up) + log_rising_scalar(b, down)
        mass -= log_rising_scalar(a + b, up + down)
        out[i] = parameters[0, i] + log_base + _LOG2E * mass


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _fill_member(form, out, parameters, features, span, power, inner, logs, size):
    log_base = power * features[0]
    if form in (NATURAL, LINEAR):
        _fill_natural(out, parameters, log_base, features, span, size)
    elif form == QUADRATIC:
        _fill_quadratic(out, parameters, log_base, features[1], size)
    elif form == STUDENT:
        _fill_student(out, parameters, log_base, features[1], inner, logs, size)
    elif form == LOMAX:
        _fill_lomax(out, parameters, log_base, features[1], inner, logs, size)
    elif form == BINOMIAL:
        _fill_binomial(out, parameters, log_base, features[1], features[2], size)
    else:
        _fill_counts(form, out, parameters, features[1], size)


class Scratch(NamedTuple):
    """Work space of `fill_column`."""

    total: np.ndarray  # float64 (paths × leaves,)
    other: np.ndarray
    inner: np.ndarray
    logs: np.ndarray
    gap: np.ndarray  # float32, padded to full vectors
    quick: np.ndarray


@nb.njit(cache=True, nogil=True, error_model="numpy")
def make_scratch(size):
    """Work space for so many leaves of a column."""
    padded = LANES * (-(-size // LANES))
    return Scratch(
        np.empty(size),
        np.empty(size),
        np.empty(size),
        np.empty(size),
        np.zeros(padded, dtype=np.float32),
        np.zeros(padded, dtype=np.float32),
    )


@nb.njit(cache=True, nogil=True, error_model="numpy")
def fill_column(
    first_value, count, first, last, features, spans, forms, parameters, single, power, places,
    scratch, out, at,
):  # fmt: skip
    """Log densities of consecutive values of a column under all of its leaves.

    Parameters
    ----------
    first_value, count : int
        Values.
    first, last : int
        The first of the column's members, and the one after the last.
    features : float64 array of shape (families, values, 1 + statistics)
        Log base measure, −inf off the support, NaN for missing values; then T.
    spans : int32 array of shape (families, values, 4)
        Where those of a value's features begin and end that are not 0; see `Values`.
    forms : int64 array of shape (members,)
    parameters : float64 array of shape (members, parameters, different leaves)
    single : float32 array of shape (members, parameters, different leaves, padded)
        The same of linear and quadratic forms, up to full vectors, for results in single
        precision; else without members.
    power : float
        To which densities are raised; parameters are already.
    places : int32 array of shape (paths × leaves,)
        Which of the different leaves every leaf is.
    scratch : Scratch
    out : array of shape (elements,)
        Receives the result from ``at`` on, paths × leaves elements for every value: 0 for missing
        values, −inf off all supports. In single precision there is room for another vector.
    """
    total, other, inner, logs = scratch.total, scratch.other, scratch.inner, scratch.logs
    gap, quick = scratch.gap, scratch.quick
    size, padded, leaves = parameters.shape[2], gap.shape[0], places.shape[0]
    vectors = single.shape[0] > 0
    for member in range(first, last):
        vectors &= forms[member] == QUADRATIC or forms[member] == LINEAR
    in_place = vectors and leaves == size
    for i in range(leaves):
        in_place &= places[i] == i
    for value in range(first_value, first_value + count):
        if np.isnan(features[0, value, 0]):
            for i in range(leaves):
                out[at + i] = 0.0
        elif in_place:
            # full vectors may reach into the next value's elements, which are written after them
            _fill_vectors(
                out, at, single, forms, features, spans, first, last, value, power, padded
            )
        elif vectors:
            _fill_vectors(
                quick, 0, single, forms, features, spans, first, last, value, power, padded
            )
            for i in range(leaves):
                out[at + i] = quick[places[i]]
        else:
            found = False
            for m in range(last - first):
                if features[m, value, 0] == -np.inf:
                    continue
                part = other if found else total
                _fill_member(
                    forms[first + m], part, parameters[first + m], features[m, value],
                    spans[m, value], power, inner, logs, size,
                )  # fmt: skip
                if found:
                    _add_exponentials(total, other, gap, size)
                found = True
            for i in range(leaves):
                out[at + i] = total[places[i]] if found else -np.inf
        at += leaves


@nb.njit(cache=True, nogil=True, error_model="numpy")
def fill_tabulated(
    first_value, targets, first_member, features, spans, forms, parameters, power, places, out
):
    """Log densities of all values of tabulated columns; ``out`` (features, paths × leaves).

    The values of column k go to ``targets[k]`` and the rows after it.
    """
    leaves = places.shape[1]
    scratch = make_scratch(parameters.shape[2])
    single = np.empty((0, 0, 0), dtype=np.float32)
    flat = out.reshape(out.size)
    for k in range(targets.shape[0]):
        fill_column(
            first_value[k], first_value[k + 1] - first_value[k], first_member[k],
            first_member[k + 1], features, spans, forms, parameters, single, power, places[k],
            scratch, flat, targets[k] * leaves,
        )  # fmt: skip


@nb.njit(cache=True, forceinline=True, error_model="numpy")
def _fill_vectors(out, to, single, forms, features, spans, first, last, value, power, padded):
    """A value's log density under mixtures of linear and quadratic forms, in single precision.

    Full vectors are written to ``out`` from element ``to`` on.
    """
    width = single.shape[1]
    for strip in range(0, padded, LANES):
        total = vec.splat(np.float32(-1e30))
        for m in range(last - first):
            if features[m, value, 0] == -np.inf:
                continue
            at = (first + m) * width * padded + strip
            part = vec.add(
                vec.splat(np.float32(power * features[m, value, 0])), vec.load(single, at)
            )
            if forms[first + m] == QUADRATIC:
                x = vec.splat(np.float32(features[m, value, 1]))
                distance = vec.subtract(x, vec.load(single, at + padded))
                square = vec.multiply(distance, distance)
                part = vec.multiply_add(square, vec.load(single, at + 2 * padded), part)
            else:
                for t in range(spans[m, value, 0], spans[m, value, 1]):
                    x = vec.splat(np.float32(features[m, value, t]))
                    part = vec.multiply_add(x, vec.load(single, at + t * padded), part)
            if m == 0:
                total = part
            else:
                larger = vec.maximum(total, part)
                both = vec.add(total, part)
                # −|a − b| is a + b − 2 max(a, b), whose rounding does not matter here
                gap = vec.subtract(vec.subtract(both, larger), larger)
                total = vec.add(larger, _log2_one_plus(exp2(gap)))
        vec.store(out, to + strip, total)
