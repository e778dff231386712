"""Univariate slice sampling (Neal, 2003), compiled, of the two kinds of targets there are.

Hyper-parameters are either the concentration of symmetric Dirichlet distributions, given how often
what was chosen, or a coordinate φ of the prior of a column's leaves, given their statistics. A
`Target` holds what either of them needs; one sampler serves both.
"""
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from typing import NamedTuple

import numba as nb
import numpy as np

from bayesspn.leaves.conjugate import (
    MOST_HYPER,
    ONE_HOT,
    fill_hyper,
    log_marginal,
    log_normaliser,
    log_one_hot_marginal,
)
from bayesspn.numerics.special_functions import log_rising_scalar
from bayesspn.numerics.streams import exponential, uniform

_MOST_STEPS = 8

#: A target that is a concentration; others are the kinds of families.
CONCENTRATION = -1


class Target(NamedTuple):
    """An unnormalised log density of one number x, with a normal prior.

    Attributes
    ----------
    kind : int
        CONCENTRATION, of which x is the logarithm, or a family, of whose φ it is a coordinate.
    center, spread : float
        Of the prior.
    counts, times : ndarray of shape (k,)
        Of a concentration: distinct counts, and how often each occurs.
    totals, total_times : ndarray of shape (m,)
        The same of what counts add up to.
    size : float
        Number of things that counts are of.
    phi, constants : ndarray of shape (f,), (c,)
        Of a column's leaf prior; the coordinate of ``phi`` is overwritten.
    coordinate : int
    statistics : ndarray of shape (leaves, slots)
    power : float
        To which the densities of cells are raised.
    """

    kind: int
    center: float
    spread: float
    counts: np.ndarray
    times: np.ndarray
    totals: np.ndarray
    total_times: np.ndarray
    size: float
    phi: np.ndarray
    constants: np.ndarray
    coordinate: int
    statistics: np.ndarray
    power: float


@nb.njit(cache=True, nogil=True, error_model="numpy")
def log_target(target, x):
    """Log density at x, up to a constant."""
    value = -0.5 * ((x - target.center) / target.spread) ** 2
    if target.kind == CONCENTRATION:
        concentration = np.exp(x)
        for k in range(target.counts.shape[0]):
            value += target.times[k] * log_rising_scalar(concentration, target.counts[k])
        for k in range(target.totals.shape[0]):
            whole = log_rising_scalar(target.size * concentration, target.totals[k])
            value -= target.total_times[k] * whole
        return value
    target.phi[target.coordinate] = x
    leaves, slots = target.statistics.shape
    if target.kind == ONE_HOT:
        prior, counts = np.empty(slots), np.empty(slots)
        fill_hyper(ONE_HOT, target.phi, target.constants, prior)
        strength = prior.sum()
        for leaf in range(leaves):
            for k in range(slots):
                counts[k] = target.power * target.statistics[leaf, k]
            value += log_one_hot_marginal(prior, strength, counts)
        return value
    prior, work, totals = np.empty(MOST_HYPER), np.empty(MOST_HYPER), np.empty(slots)
    fill_hyper(target.kind, target.phi, target.constants, prior)
    log_prior = log_normaliser(target.kind, prior)
    for leaf in range(leaves):
        n = target.power * target.statistics[leaf, 0]
        if n > 0.0:
            for k in range(1, slots):
                totals[k - 1] = target.power * target.statistics[leaf, k]
            value += log_marginal(target.kind, prior, log_prior, n, totals, work)
    return value


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
    nothing = np.empty(0)
    target = Target(
        CONCENTRATION, np.log(median), spread, distinct, times, totals, total_times, float(size),
        nothing, nothing, 0, np.empty((0, 0)), 1.0,
    )  # fmt: skip
    return np.exp(draw_slice(stream, target, np.log(value), width))
