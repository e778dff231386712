"""The row pass proper: evaluate rows bottom-up, then draw each copy's induced tree top-down."""

from __future__ import annotations

import numba as nb

from bayesspn.engine.kernels import upward
from bayesspn.engine.kernels.downward import draw_trees
from bayesspn.engine.kernels.layout import make_leaf_space, make_workspace
from bayesspn.engine.kernels.leaf_values import evaluate_leaves
from bayesspn.engine.kernels.scores import score_evaluated
from bayesspn.engine.kernels.vectors import flush_denormals, restore_denormals


@nb.njit(cache=True, nogil=True, error_model="numpy")
def assign_rows(
    task, tasks, geometry, tables, entries, plan, feature_rank, first_entry, row_start,
    row_features, weights, log_likelihood, copy_start, copy_ids, key, sweep, edges, leaf_nodes,
    counts,
):  # fmt: skip
    """Evaluate rows of a block and draw an induced tree for every copy.

    Parameters
    ----------
    task, tasks : int
        Of so many tasks, which run side by side and share the rows, this one.
    first_entry : int64 array of shape (tasks,)
        First entry of every task's work space.
    log_likelihood : float64 array of shape (rows,)
        Receives the log density of every distinct row.
    edges : int32 array of shape (copies, visited sums)
        Receives the chosen edges, unless it has no rows.
    leaf_nodes : int32 array of shape (copies, visited leaves)
        Receives the visited leaves, as region · leaves + leaf.
    counts : int64 array of shape (tasks, weights)
        Every task's edge counts in the order of ``weights.down``, added to.
    """
    before = flush_denormals()
    rows = log_likelihood.shape[0]
    work, space = make_workspace(geometry, plan, first_entry[task]), make_leaf_space(tables, plan)
    # in turn, as the first rows of a table tend to have most copies
    for first in range(task * plan.rows, rows, tasks * plan.rows):
        count = min(plan.rows, rows - first)
        evaluate_leaves(
            first, count, work, space, entries, geometry, tables, plan, feature_rank, row_start,
            row_features,
        )  # fmt: skip
        upward.evaluate_regions(entries, work, geometry, weights, plan, count)
        score_evaluated(
            first, count, log_likelihood, work, space, entries, geometry, tables, plan, weights,
            row_start, row_features,
        )  # fmt: skip
        draw_trees(
            first, count, edges, leaf_nodes, counts[task], work, entries, geometry, plan, weights,
            copy_start, copy_ids, key, sweep,
        )  # fmt: skip
    restore_denormals(before)


@nb.njit(cache=True, nogil=True, error_model="numpy")
def score_rows(
    task, tasks, geometry, tables, entries, plan, feature_rank, first_entry, row_start,
    row_features, weights, log_likelihood,
):  # fmt: skip
    """Evaluate rows of a block, as `assign_rows` does, and draw nothing."""
    # the steps are written out twice: a function of them would have to be compiled by itself, too
    before = flush_denormals()
    rows = log_likelihood.shape[0]
    work, space = make_workspace(geometry, plan, first_entry[task]), make_leaf_space(tables, plan)
    for first in range(task * plan.rows, rows, tasks * plan.rows):
        count = min(plan.rows, rows - first)
        evaluate_leaves(
            first, count, work, space, entries, geometry, tables, plan, feature_rank, row_start,
            row_features,
        )  # fmt: skip
        upward.evaluate_regions(entries, work, geometry, weights, plan, count)
        score_evaluated(
            first, count, log_likelihood, work, space, entries, geometry, tables, plan, weights,
            row_start, row_features,
        )  # fmt: skip
    restore_denormals(before)
