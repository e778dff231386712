"""Log densities of rows that are evaluated; in doubt, once more and exactly."""
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numba as nb
import numpy as np

from bayesspn.engine.kernels import exact
from bayesspn.engine.kernels.leaf_values import sum_leaves_of_row
from bayesspn.engine.kernels.upward import TOLERANCE

_LN2 = 0.6931471805599453


@nb.njit(cache=True, nogil=True, error_model="numpy")
def score_evaluated(
    first, count, log_likelihood, work, space, entries, geometry, tables, plan, weights, row_start,
    row_features,
):  # fmt: skip
    """Score rows first … first + count − 1, which are evaluated.

    Values that were dropped may matter to a row: it is marked as doubtful, and all of its nodes are
    evaluated in double precision, for the draw of its tree as well.
    """
    values, marks, width = entries.values, entries.marks, geometry.width
    for slot in range(count):
        row = first + slot
        root = work.entry_of[plan.live[0], slot]
        doubtful = not marks[2 * root + 1] < TOLERANCE * values[root * width]
        work.doubtful[slot] = doubtful
        if doubtful:
            sum_leaves_of_row(
                work.leaf_log, row, slot, work.entry_of.shape[1], space, tables, row_start,
                row_features,
            )  # fmt: skip
            log_likelihood[row] = exact.evaluate_row(
                work.row_values[slot], work.leaf_log, weights.log, geometry
            )
        else:
            log_likelihood[row] = np.log(np.float64(values[root * width])) + _LN2 * marks[2 * root]
