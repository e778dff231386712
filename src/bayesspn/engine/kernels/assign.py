"""The row pass proper: evaluate rows bottom-up, then draw each copy's induced tree top-down."""

from __future__ import annotations

import numba as nb

from bayesspn.engine.kernels import upward
from bayesspn.engine.kernels.downward import draw_trees
from bayesspn.engine.kernels.layout import make_workspace
from bayesspn.engine.kernels.leaf_values import evaluate_leaves
from bayesspn.engine.kernels.vectors import flush_denormals, restore_denormals


@nb.njit(cache=True, nogil=True, error_model="numpy")
def assign_rows(
    task, tasks, geometry, tables, entries, plan, feature_rank, first_entry, row_start,
    row_features, copy_start, copy_ids, weights, key, sweep, draw, edges, leaf_nodes, counts,
    log_likelihood,
):  # fmt: skip
    """Evaluate rows of a block and, if ``draw``, draw an induced tree for every copy.

    Parameters
    ----------
    task, tasks : int
        Of so many tasks, which run side by side and share the rows, this one.
    first_entry : int64 array of shape (tasks,)
        First entry of every task's work space.
    edges : int32 array of shape (copies, visited sums)
        Receives the chosen edges, unless it has no rows.
    leaf_nodes : int32 array of shape (copies, visited leaves)
        Receives the visited leaves, as region · leaves + leaf.
    counts : int64 array of shape (tasks, weights)
        Every task's edge counts in the order of ``weights.down``, added to.
    log_likelihood : float64 array of shape (rows,)
        Receives the log density of every distinct row.
    """
    before = flush_denormals()
    rows = log_likelihood.shape[0]
    work = make_workspace(geometry, tables, plan, first_entry[task])
    # in turn, as the first rows of a table tend to have most copies
    for first in range(task * plan.rows, rows, tasks * plan.rows):
        count = min(plan.rows, rows - first)
        evaluate_leaves(
            first, count, work, entries, geometry, tables, plan, feature_rank, row_start,
            row_features,
        )  # fmt: skip
        upward.evaluate_regions(entries, work, geometry, weights, plan, count)
        draw_trees(
            first, count, draw, log_likelihood, edges, leaf_nodes, counts[task], work, entries,
            geometry, tables, plan, weights, row_start, row_features, copy_start, copy_ids, key,
            sweep,
        )  # fmt: skip
    restore_denormals(before)
