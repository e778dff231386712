"""Marginal likelihoods of categorical columns in all leaf regions, straight from the counts."""

from __future__ import annotations

import math

import numba as nb
import numpy as np

from bayesspn.numerics.special_functions import log_gamma_scalar

#: Rising factorials of counts below this are looked up.
_TABULATED = 256


@nb.njit(cache=True, forceinline=True, error_model="numpy")
def _log_rising(table, x, n):
    """Log of x (x+1) … (x+n−1), for a whole number n."""
    if n < _TABULATED:
        return table[np.uint32(n)]  # spares a look at the sign
    return table[_TABULATED - 1] + log_gamma_scalar(x + n) - table[_TABULATED]


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _fill_table(table, x):
    """Logs of rising factorials of x, and what larger ones subtract."""
    table[0] = 0.0
    for n in range(1, _TABULATED):
        table[n] = table[n - 1] + math.log(x + (n - 1))
    table[_TABULATED] = log_gamma_scalar(x + (_TABULATED - 1))


@nb.njit(cache=True, nogil=True, error_model="numpy")
def categorical_log_marginals(task, tasks, evidence, hyper, totals):
    """Dirichlet-multinomial evidence of every member and leaf region, summed over leaves.

    Members are shared by ``tasks`` tasks that run side by side; this is number ``task``.

    Parameters
    ----------
    evidence : float64 array of shape (members, regions)
        Receives the result.
    hyper : float64 array of shape (members, categories)
    totals : int32 array of shape (members, categories, regions, leaves)
    """
    members, categories, regions, leaves = totals.shape
    tables = np.empty((categories + 1, _TABULATED + 1))
    visits = np.empty(leaves, dtype=np.int64)
    for member in range(task, members, tasks):
        strength = 0.0
        for k in range(categories):
            _fill_table(tables[k], hyper[member, k])
            strength += hyper[member, k]
        _fill_table(tables[categories], strength)
        for region in range(regions):
            visits[:] = 0
            value = 0.0
            for k in range(categories):
                for leaf in range(leaves):
                    count = totals[member, k, region, leaf]
                    visits[leaf] += count
                    value += _log_rising(tables[k], hyper[member, k], count)
            for leaf in range(leaves):
                value -= _log_rising(tables[categories], strength, visits[leaf])
            evidence[member, region] = value
