"""Log densities of codes, relative to the code of every column that rows leave out."""
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numba as nb
import numpy as np


@nb.njit(cache=True, nogil=True, error_model="numpy")
def relate_to_references(logs, base, columns, reference, leaf_regions, constant, deviations):
    """Part the log densities of codes into those of reference codes and what others add.

    Parameters
    ----------
    logs : float64 array of shape (features, paths, leaves)
        Of every code of the tabulated columns.
    base : int64 array of shape (columns of the table + 1,)
        First feature of each column.
    columns : int64 array of shape (tabulated columns,)
    reference : int64 array of shape (columns of the table,)
    leaf_regions : int32 array of shape (columns of the table, paths)
    constant : array of shape (leaf regions, width)
        Receives the log value of every leaf for a row of reference codes.
    deviations : array of shape (features, paths, width)
        Receives what another code adds; zeros beyond the leaves.
    """
    _, paths, leaves = logs.shape
    totals = np.zeros((constant.shape[0], leaves))
    for d in columns:
        first = base[d] + reference[d]
        for q in range(paths):
            region = leaf_regions[d, q]
            for i in range(leaves):
                totals[region, i] += logs[first, q, i]
        for feature in range(base[d], base[d + 1]):
            for q in range(paths):
                for i in range(leaves):
                    deviations[feature, q, i] = logs[feature, q, i] - logs[first, q, i]
                for i in range(leaves, deviations.shape[2]):
                    deviations[feature, q, i] = 0.0
    for region in range(constant.shape[0]):
        for i in range(leaves):
            constant[region, i] = totals[region, i]
