"""The row pass proper: evaluate rows bottom-up, then draw each copy's induced tree top-down."""

from __future__ import annotations

import numba as nb
import numpy as np

from bayesspn.engine.kernels import exact, upward
from bayesspn.engine.kernels.downward import draw_trees
from bayesspn.engine.kernels.evaluate import evaluate_group
from bayesspn.engine.kernels.layout import make_workspace
from bayesspn.engine.kernels.vectors import LANES

_LN2 = 0.6931471805599453


@nb.njit(cache=True)
def _sum_leaves_of_row(leaf_log, row, tables, row_start, row_features):
    """Natural logs of all leaves for one row; shape (leaf regions, leaves)."""
    leaf_log[:] = tables.constant
    paths = tables.leaf_regions.shape[1]
    for cell in range(row_start[row], row_start[row + 1]):
        feature = row_features[cell]
        for q in range(paths):
            region = tables.leaf_regions[tables.feature_column[feature], q]
            leaf_log[region] += tables.deviations[feature, q]
    for k in range(tables.dense_columns.shape[0]):
        for q in range(paths):
            leaf_log[tables.leaf_regions[tables.dense_columns[k], q]] += tables.dense[k, row, q]
    leaf_log *= _LN2


@nb.njit(cache=True)
def _assign_group(
    first, count, work, geometry, tables, patterns, row_start, row_features, copy_start, copy_ids,
    weights_up, weights_down, log_weights, key, sweep, draw, edges, leaf_nodes, counts,
    log_likelihood,
):  # fmt: skip
    leaf_region = geometry.region_base[geometry.branching.shape[0]]
    upward.sum_leaves(
        work.acc, work.patterns[leaf_region:], patterns.size[leaf_region:], patterns.stride,
        patterns.feature_rank, first, count, tables.constant, tables.deviations,
        tables.feature_column, tables.leaf_regions, row_start, row_features, tables.dense,
        tables.dense_columns,
    )  # fmt: skip
    evaluate_group(work, geometry, patterns, weights_up)
    for lane in range(count):
        row = first + lane
        doubtful = not work.lacks[0, lane] < upward.TOLERANCE * work.values[0, lane]
        if doubtful:
            _sum_leaves_of_row(work.leaf_log, row, tables, row_start, row_features)
            log_likelihood[row] = exact.evaluate_row(
                work.row_values, work.leaf_log, log_weights, geometry
            )
        else:
            log_value = np.log(np.float64(work.values[0, lane]))
            log_likelihood[row] = log_value + _LN2 * work.scales[0, lane]
        if draw:
            draw_trees(
                edges, leaf_nodes, counts, work, doubtful, geometry, patterns, weights_down,
                log_weights, lane, row, copy_start, copy_ids, key, sweep,
            )  # fmt: skip


@nb.njit(cache=True, parallel=True)
def assign_rows(
    geometry, tables, patterns, row_start, row_features, copy_start, copy_ids, weights_up,
    weights_down, log_weights, key, sweep, draw, edges, leaf_nodes, counts, log_likelihood,
):  # fmt: skip
    """Evaluate the rows of a block and, if ``draw``, draw an induced tree for every copy.

    Parameters
    ----------
    weights_up, weights_down : float32 arrays
        Weights flattened per level as (region, partition, product, sum) and
        (region, sum, partition, product).
    log_weights : float64 array
        Log weights in the order of ``weights_down``.
    edges : int32 array of shape (copies, visited sums)
        Receives the chosen edges.
    leaf_nodes : int32 array of shape (copies, visited leaves)
        Receives the visited leaves, as region · leaves + leaf.
    counts : int64 array of shape (tasks, weights)
        Edge counts in the order of ``weights_down``, added to; one row per parallel task.
    log_likelihood : float64 array of shape (rows,)
        Receives the log density of every distinct row.
    """
    rows = log_likelihood.shape[0]
    groups = (rows + LANES - 1) // LANES
    tasks = min(counts.shape[0], groups)
    for task in nb.prange(tasks):
        work = make_workspace(geometry, tables, copy_ids.shape[0] > rows)
        for group in range(task * groups // tasks, (task + 1) * groups // tasks):
            first = group * LANES
            _assign_group(
                first, min(LANES, rows - first), work, geometry, tables, patterns, row_start,
                row_features, copy_start, copy_ids, weights_up, weights_down, log_weights, key,
                sweep, draw, edges, leaf_nodes, counts[task], log_likelihood,
            )  # fmt: skip
