"""Log densities of dense columns under exponential families, and the draw of their families.

A model's binary log density of a value is log₂ h + c + Σ_t T_t η_t, with T and h of the value, and
c (log mixing weight less log partition) and η of the leaf.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from bayesspn.engine.kernels import vectors as vec
from bayesspn.engine.kernels.leaf_values import exp2
from bayesspn.engine.kernels.vectors import LANES

_TWO_LOG2E = 2.885390081777927


@nb.njit(cache=True, forceinline=True)
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


@nb.njit(cache=True, nogil=True)
def fill_dense(task, tasks, out, log_base, statistics, constant, eta):
    """Binary log densities of one column's values under all leaves, mixed over its families.

    Parameters
    ----------
    task, tasks : int
        Of so many tasks, which run side by side and share the rows, this one.
    out : array of shape (rows, paths, width)
        Receives the result; 0 for missing values, −inf off the support.
    log_base : float64 array of shape (families, rows)
        log₂ h; −inf off a model's support, NaN for missing values.
    statistics : float64 array of shape (families, rows, t)
    constant, eta : float64 arrays of shape (families, paths, width), (families, t, paths, width)
    """
    families, rows, n_statistics = statistics.shape
    paths, width = constant.shape[1:]
    total = np.empty(width)
    other = np.empty(width)
    gap = np.zeros(width, dtype=np.float32)
    for row in range(task * rows // tasks, (task + 1) * rows // tasks):
        if np.isnan(log_base[0, row]):
            out[row] = 0.0
            continue
        for q in range(paths):
            first = True
            for m in range(families):
                if log_base[m, row] == -np.inf:
                    continue
                part = total if first else other
                for i in range(width):
                    part[i] = constant[m, q, i] + log_base[m, row]
                for t in range(n_statistics):
                    x = statistics[m, row, t]
                    for i in range(width):
                        part[i] += x * eta[m, t, q, i]
                if not first:
                    _add_exponentials(total, other, gap, width)
                first = False
            for i in range(width):
                out[row, q, i] = -np.inf if first else total[i]


@nb.njit(cache=True, forceinline=True)
def _add_exponentials(total, other, gap, width):
    """Replace ``total`` by log₂(2^total + 2^other)."""
    for i in range(width):
        gap[i] = -abs(total[i] - other[i])
    for i in range(width):
        total[i] = max(total[i], other[i])
    for strip in range(0, width, LANES):
        vec.store(gap, strip, _log2_one_plus(exp2(vec.load(gap, strip))))
    for i in range(width):
        total[i] += gap[i]
