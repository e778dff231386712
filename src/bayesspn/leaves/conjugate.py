"""Conjugate families as compiled scalar functions: what moves do for every leaf in every sweep.

The same mathematics as the families' own methods, one leaf at a time: hyper-parameters of the prior
at φ, of the posterior given statistics, log normaliser, and a draw of the parameters. Families are
told apart by their ``kind``; one-hot families have loops of their own, over categories.
"""
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import math

import numba as nb
import numpy as np

from bayesspn.numerics.special_functions import (
    log_gamma_scalar,
    log_gammainc_scalar,
    log_rising_scalar,
)
from bayesspn.numerics.streams import fill_log_dirichlet, limited_gamma, log_gamma_variate, normal

ONE_HOT, GAUSSIAN, EXPONENTIAL, POISSON, GEOMETRIC, BINOMIAL = 0, 1, 2, 3, 4, 5

#: Most hyper-parameters of a family that is not one-hot.
MOST_HYPER = 5


@nb.njit(cache=True, error_model="numpy")
def fill_hyper(kind, phi, constants, out):
    """Hyper-parameters of the prior at φ (f,); ``out`` (h,)."""
    if kind == GAUSSIAN:
        out[0] = phi[0]
        out[1] = math.exp(phi[1])
        out[2] = math.exp(phi[2])
        out[3] = math.exp(phi[3])
        out[4] = constants[2]
    elif kind == EXPONENTIAL:
        out[0] = math.exp(phi[0])
        out[1] = out[0] * math.exp(phi[1])
        out[2] = constants[1]
    elif kind == POISSON:
        out[0] = math.exp(phi[0])
        out[1] = out[0] / (constants[0] * math.exp(phi[1]))
    elif kind == GEOMETRIC:
        odds = math.exp(phi[1]) / constants[0]
        strength = math.exp(phi[0])
        out[0] = strength * odds / (1.0 + odds)
        out[1] = strength / (1.0 + odds)
    elif kind == BINOMIAL:
        odds = math.exp(phi[1]) * constants[1]
        strength = math.exp(phi[0])
        out[0] = strength * odds / (1.0 + odds)
        out[1] = strength / (1.0 + odds)
    else:
        for k in range(phi.shape[0]):
            out[k] = math.exp(phi[k])


@nb.njit(cache=True, error_model="numpy")
def fill_posterior(kind, hyper, n, totals, out):
    """Hyper-parameters after n values with statistics ``totals`` (t,); ``out`` (h,)."""
    if kind == GAUSSIAN:
        m, kappa = hyper[0], hyper[1]
        out[1] = kappa + n
        mean = totals[0] / n if n > 0.0 else 0.0
        scatter = max(totals[1] - totals[0] * mean, 0.0)
        out[3] = hyper[3] + 0.5 * (scatter + kappa * n / out[1] * (mean - m) ** 2)
        out[0] = (kappa * m + totals[0]) / out[1]
        out[2] = hyper[2] + 0.5 * n
        out[4] = hyper[4]
    elif kind == EXPONENTIAL:
        out[0] = hyper[0] + n
        out[1] = hyper[1] + totals[0]
        out[2] = hyper[2]
    elif kind == POISSON:
        out[0] = hyper[0] + totals[0]
        out[1] = hyper[1] + n
    elif kind == BINOMIAL:
        out[0] = hyper[0] + totals[0]
        out[1] = hyper[1] + totals[1]
    else:
        out[0] = hyper[0] + n
        out[1] = hyper[1] + totals[0]


@nb.njit(cache=True, error_model="numpy")
def log_normaliser(kind, hyper):
    """Log Z of the conjugate prior, up to a constant of the family."""
    if kind == GAUSSIAN:
        kappa, a, b, limit = hyper[1], hyper[2], hyper[3], hyper[4]
        value = log_gamma_scalar(a) - a * math.log(b) - 0.5 * math.log(kappa)
        return value + log_gammainc_scalar(a, b * limit) if limit < np.inf else value
    if kind == EXPONENTIAL:
        a, b, limit = hyper[0], hyper[1], hyper[2]
        value = log_gamma_scalar(a) - a * math.log(b)
        return value + log_gammainc_scalar(a, b * limit) if limit < np.inf else value
    if kind == POISSON:
        return log_gamma_scalar(hyper[0]) - hyper[0] * math.log(hyper[1])
    small, large = min(hyper[0], hyper[1]), max(hyper[0], hyper[1])
    return log_gamma_scalar(small) - log_rising_scalar(large, small)


@nb.njit(cache=True, error_model="numpy")
def log_marginal(kind, hyper, log_prior, n, totals, work):
    """Log marginal likelihood of n values without the base measure.

    ``log_prior`` is the prior's log normaliser, ``work`` an array of shape (h,).
    """
    if n == 0.0:
        return 0.0
    if kind == POISSON:
        a, b, total = hyper[0], hyper[1], totals[0]
        return log_rising_scalar(a, total) - a * math.log1p(n / b) - total * math.log(b + n)
    if kind == BINOMIAL:
        a, b, up, down = hyper[0], hyper[1], totals[0], totals[1]
        rising = log_rising_scalar(a, up) + log_rising_scalar(b, down)
        return rising - log_rising_scalar(a + b, up + down)
    fill_posterior(kind, hyper, n, totals, work)
    return log_normaliser(kind, work) - log_prior


@nb.njit(cache=True, error_model="numpy")
def log_one_hot_marginal(hyper, total, counts):
    """The same for counts of categories (k,); ``total`` is the sum of ``hyper``."""
    n, value = 0.0, 0.0
    for k in range(counts.shape[0]):
        if counts[k] > 0:
            value += log_rising_scalar(hyper[k], np.float64(counts[k]))
            n += counts[k]
    return value - log_rising_scalar(total, n) if n > 0.0 else 0.0


@nb.njit(cache=True, error_model="numpy")
def draw_natural(kind, stream, hyper, eta):
    """Draw θ: natural parameters into ``eta`` (t,); returns the log partition function."""
    if kind == GAUSSIAN:
        # the smallest positive precision still has a finite logarithm
        precision = max(limited_gamma(stream, hyper[2], hyper[3], hyper[4]), 1e-280)
        mean = hyper[0] + normal(stream) / math.sqrt(hyper[1] * precision)
        eta[0] = precision * mean
        eta[1] = -0.5 * precision
        return 0.5 * precision * mean**2 - 0.5 * math.log(precision)
    if kind == EXPONENTIAL:
        rate = max(limited_gamma(stream, hyper[0], hyper[1], hyper[2]), 2.2250738585072014e-308)
        eta[0] = -rate
        return -math.log(rate)
    if kind == POISSON:
        eta[0] = log_gamma_variate(stream, hyper[0]) - math.log(hyper[1])
        return math.exp(eta[0])
    if kind == GEOMETRIC:
        success = log_gamma_variate(stream, hyper[0])
        failure = log_gamma_variate(stream, hyper[1])
        total = max(success, failure)
        total += math.log(math.exp(success - total) + math.exp(failure - total))
        eta[0] = failure - total
        return total - success
    if kind == BINOMIAL:
        fill_log_dirichlet(stream, hyper[:2], eta)
        return 0.0
    fill_log_dirichlet(stream, hyper, eta)
    return 0.0
