"""Univariate slice sampling (Neal, 2003), compiled, of the two kinds of targets there are.

Hyper-parameters are either concentrations of Dirichlet distributions, given how often what was
chosen, or coordinates φ of the prior of a column's leaves, given their statistics. A `Target` holds
what either of them needs; one sampler serves both.
"""
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import math
from typing import NamedTuple

import numba as nb
import numpy as np

from bayesspn.leaves.conjugate import (
    GAUSSIAN,
    MOST_HYPER,
    fill_hyper,
    log_marginal,
    log_normaliser,
)
from bayesspn.numerics.special_functions import (
    log_gamma_scalar,
    log_gammainc_scalar,
    log_rising_scalar,
)
from bayesspn.numerics.streams import exponential, uniform

_MOST_STEPS = 8

#: A target that is a concentration; others are the kinds of families.
CONCENTRATION = -1


class Target(NamedTuple):
    """An unnormalised log density of one number x, with a normal prior.

    Attributes
    ----------
    kind : int
        CONCENTRATION, or a family, of whose φ x is a coordinate.
    center, spread : float
        Of the prior.
    counts, times, base : ndarray of shape (k,)
        Of a concentration: distinct counts, how often each occurs, and what the concentration of
        each is, in units of exp(x).
    totals, total_times : ndarray of shape (m,)
        What counts add up to, and how often each of these occurs.
    rest, size : float
        The concentrations of everything add up to rest + size · exp(x).
    phi, constants : ndarray of shape (f,), (c,)
        Of a column's leaf prior; the coordinate of ``phi`` is overwritten.
    coordinate : int
    leaves : ndarray of shape (leaves, slots)
        Statistics of leaves: number of values and ΣT, of a Gaussian number, mean and scatter.
    """

    kind: int
    center: float
    spread: float
    counts: np.ndarray
    times: np.ndarray
    base: np.ndarray
    totals: np.ndarray
    total_times: np.ndarray
    rest: float
    size: float
    phi: np.ndarray
    constants: np.ndarray
    coordinate: int
    leaves: np.ndarray


@nb.njit(cache=True, nogil=True, error_model="numpy")
def concentration_target(center, spread, counts, times, base, totals, total_times, rest, size):
    """Target of the logarithm of a concentration, or of a factor of several."""
    nothing = np.empty(0)
    return Target(
        CONCENTRATION, center, spread, counts, times, base, totals, total_times, rest, size,
        nothing, nothing, 0, np.empty((0, 0)),
    )  # fmt: skip


@nb.njit(cache=True, nogil=True, error_model="numpy")
def family_target(kind, center, spread, phi, constants, coordinate, leaves):
    """Target of a coordinate of the leaf prior of a family that is not one-hot."""
    nothing = np.empty(0)
    return Target(
        kind, center, spread, nothing, nothing, nothing, nothing, nothing, 0.0, 0.0,
        phi, constants, coordinate, leaves,
    )  # fmt: skip


@nb.njit(cache=True, nogil=True, error_model="numpy")
def log_target(target, x):
    """Log density at x, up to a constant."""
    value = -0.5 * ((x - target.center) / target.spread) ** 2
    if target.kind == CONCENTRATION:
        unit = np.exp(x)
        for k in range(target.counts.shape[0]):
            rising = log_rising_scalar(unit * target.base[k], target.counts[k])
            value += target.times[k] * rising
        for k in range(target.totals.shape[0]):
            whole = log_rising_scalar(target.rest + target.size * unit, target.totals[k])
            value -= target.total_times[k] * whole
        return value
    target.phi[target.coordinate] = x
    prior = np.empty(MOST_HYPER)
    fill_hyper(target.kind, target.phi, target.constants, prior)
    if target.kind == GAUSSIAN:
        return value + _log_gaussians(prior, target.coordinate, target.leaves)
    work = np.empty(MOST_HYPER)
    log_prior = log_normaliser(target.kind, prior)
    for leaf in range(target.leaves.shape[0]):
        cells = target.leaves[leaf]
        value += log_marginal(target.kind, prior, log_prior, cells[0], cells[1:], work)
    return value


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _log_gaussians(prior, coordinate, leaves):
    """Log marginal likelihood of Gaussian leaves, without what a coordinate of φ leaves alone.

    Leaves (leaves, 3) are numbers of values, means and sums of squared deviations from these.
    """
    m, kappa, a, b, limit = prior[0], prior[1], prior[2], prior[3], prior[4]
    value = 0.0
    for leaf in range(leaves.shape[0]):
        n, mean, scatter = leaves[leaf, 0], leaves[leaf, 1], leaves[leaf, 2]
        shape = a + 0.5 * n
        rate = b + 0.5 * (scatter + kappa * n / (kappa + n) * (mean - m) ** 2)
        value -= shape * math.log(rate)
        if coordinate == 1:
            value -= 0.5 * math.log(kappa + n)
        elif coordinate == 2:
            value += log_gamma_scalar(shape)
        if limit < np.inf:
            value += log_gammainc_scalar(shape, rate * limit)
    each = 0.0
    if coordinate == 1:
        each = 0.5 * math.log(kappa)
    elif coordinate >= 2:
        each = a * math.log(b) - log_gamma_scalar(a)
        if limit < np.inf:
            each -= log_gammainc_scalar(a, b * limit)
    return value + leaves.shape[0] * each


@nb.njit(cache=True, nogil=True, error_model="numpy")
def draw_slice(stream, target, x, width):
    """One update by stepping out and shrinking; ``width`` is a first guess of the slice's."""
    level = log_target(target, x) - exponential(stream)
    low = x - width * uniform(stream)
    high = low + width
    steps = np.int64(_MOST_STEPS * uniform(stream))
    left = _MOST_STEPS - 1 - steps
    while steps > 0 and log_target(target, low) > level:
        low -= width
        steps -= 1
    while left > 0 and log_target(target, high) > level:
        high += width
        left -= 1
    while True:
        proposal = low + uniform(stream) * (high - low)
        if log_target(target, proposal) > level:
            return proposal
        if proposal < x:
            low = proposal
        else:
            high = proposal
        # a slice shrunk to rounding keeps its value
        if high - low <= 1e-12 * (1.0 + abs(x)):
            return x


@nb.njit(cache=True, nogil=True, error_model="numpy")
def count_distinct(values):
    """Distinct positive values of an array, and how often each occurs; two float arrays."""
    positive = np.sort(values[values > 0])
    distinct, times = np.empty(positive.shape[0]), np.empty(positive.shape[0])
    found = 0
    for value in positive:
        if found > 0 and distinct[found - 1] == value:
            times[found - 1] += 1.0
        else:
            distinct[found] = value
            times[found] = 1.0
            found += 1
    return distinct[:found].copy(), times[:found].copy()


@nb.njit(cache=True, nogil=True, error_model="numpy")
def draw_concentration_slice(stream, value, median, spread, width, counts):
    """Update a concentration with a log-normal prior, given counts (sums, things)."""
    size = counts.shape[1]
    distinct, times = count_distinct(counts.ravel())
    totals, total_times = count_distinct(counts.sum(axis=1))
    base = np.ones(distinct.shape[0])
    target = concentration_target(
        np.log(median), spread, distinct, times, base, totals, total_times, 0.0, float(size)
    )
    return np.exp(draw_slice(stream, target, np.log(value), width))
