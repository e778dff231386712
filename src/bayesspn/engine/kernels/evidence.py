"""Marginal likelihoods of categorical columns in all leaf regions, straight from the counts."""

from __future__ import annotations

import math

import numba as nb
import numpy as np

from bayesspn.special import log_gamma_scalar


@nb.njit(cache=True)
def _log_rising(x, log_gamma_x, n):
    """Log of x (x+1) … (x+n−1), for a whole number n, given log Γ(x)."""
    if n == 0:
        return 0.0
    if n <= 8:
        product = x
        for step in range(1, n):
            product *= x + step
        return math.log(product)
    return log_gamma_scalar(x + n) - log_gamma_x


@nb.njit(cache=True, parallel=True)
def categorical_evidence(evidence, hyper, totals):
    """Dirichlet-multinomial evidence of every member and leaf region, summed over leaves.

    Parameters
    ----------
    evidence : float64 array of shape (members, regions)
        Receives the result.
    hyper : float64 array of shape (members, categories)
    totals : int32 array of shape (members, categories, regions, leaves)
    """
    members, categories, regions, leaves = totals.shape
    for member in nb.prange(members):
        log_gammas = np.empty(categories)
        strength = 0.0
        for k in range(categories):
            log_gammas[k] = log_gamma_scalar(hyper[member, k])
            strength += hyper[member, k]
        log_gamma_strength = log_gamma_scalar(strength)
        for region in range(regions):
            value = 0.0
            for leaf in range(leaves):
                n = 0
                for k in range(categories):
                    count = totals[member, k, region, leaf]
                    n += count
                    value += _log_rising(hyper[member, k], log_gammas[k], count)
                value -= _log_rising(strength, log_gamma_strength, n)
            evidence[member, region] = value
