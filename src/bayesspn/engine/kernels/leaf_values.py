"""Values of leaf regions: sums of log densities, then powers of two on a scale per region.

Leaf values below 2^-60 of their region's largest are set to zero, so that products never become
subnormal; the entry's bound says so (see `upward`).
"""

from __future__ import annotations

import numba as nb
import numpy as np

from bayesspn.engine.kernels import vectors as vec
from bayesspn.engine.kernels.powers import DROPPED, exp2
from bayesspn.engine.kernels.valued import fill_column
from bayesspn.engine.kernels.vectors import LANES

_LN2 = 0.6931471805599453


@nb.njit(cache=True, nogil=True, error_model="numpy")
def evaluate_leaves(
    first, count, work, space, entries, geometry, tables, plan, feature_rank, row_start,
    row_features,
):  # fmt: skip
    """Find the patterns of small regions and evaluate the other leaf regions, for ``count`` rows.

    Terms are added in the order of the columns, dense ones last, as `patterns` does: a table and a
    direct sum are equal bit by bit.
    """
    width = geometry.width
    values, marks = entries.values, entries.marks
    entry_of, leaf_sums, is_leaf = work.entry_of, space.sums, work.is_leaf
    constant, deviations = tables.constant, tables.deviations
    feature_column, leaf_regions = tables.feature_column, tables.leaf_regions
    dense, dense_columns = space.dense, tables.dense.columns
    leaves, cap = tables.dense.places.shape[1] // leaf_regions.shape[1], entry_of.shape[1]
    place, stride, small, leaf_live = plan.place, plan.stride, plan.small, plan.leaf_live
    leaf_region = plan.leaf_region
    evaluated = plan.region.shape[0]
    paths = leaf_regions.shape[1]
    fill_dense(first, count, space, tables.dense, cap)
    for k in range(small.shape[0]):
        for slot in range(count):
            entry_of[evaluated + k, slot] = small[k]
    for slot in range(count):
        row = first + slot
        for k in range(leaf_region.shape[0]):
            at = leaf_region[k] * width
            for strip in range(0, width, LANES):
                vec.copy_leaves(leaf_sums, at + strip, constant, at + strip)
        for cell in range(row_start[row], row_start[row + 1]):
            feature = np.int64(row_features[cell])
            column = np.int64(feature_column[feature])
            rank = feature_rank[feature]
            for q in range(paths):
                at = np.int64(vec.get(place, column * paths + q))
                if at < 0:
                    entry_of[~at, slot] += rank * vec.get(stride, column * paths + q)
                elif width == LANES:
                    vec.add_leaves(leaf_sums, at, deviations, (feature * paths + q) * LANES)
                else:
                    start = (feature * paths + q) * width
                    for strip in range(0, width, LANES):
                        vec.add_leaves(leaf_sums, at + strip, deviations, start + strip)
        for k in range(dense_columns.shape[0]):
            for q in range(paths):
                at = leaf_regions[dense_columns[k], q] * width
                start = ((k * cap + slot) * paths + q) * leaves
                # a vector may reach into the next path: only padding is added to
                for strip in range(0, width, LANES):
                    vec.add_leaves(leaf_sums, at + strip, dense, start + strip)
        for k in range(leaf_region.shape[0]):
            entry = entry_of[leaf_live[k], slot]
            exponentiate(
                values, marks, np.int64(entry), leaf_sums, leaf_region[k] * width, width, is_leaf
            )


@nb.njit(cache=True, forceinline=True, error_model="numpy")
def exponentiate(values, marks, entry, logs, first, width, is_leaf):
    """Write the entry 2^(t − k), with a whole scale k.

    The binary logarithms t are elements ``first`` … of ``logs``, very negative numbers in the
    padding; ``is_leaf`` (width,) is 1 for leaves and 0 for padding.
    """
    largest = vec.largest_of(logs, first)
    for strip in range(LANES, width, LANES):
        largest = max(largest, vec.largest_of(logs, first + strip))
    # a row without any support has no scale
    largest = np.ceil(largest) if largest > -2e9 else largest * 0
    at = entry * width
    kept = vec.splat(np.float32(2.0**-DROPPED))
    bound = np.float32(0.0)
    for strip in range(0, width, LANES):
        value = exp2(vec.load_less(logs, first + strip, largest))
        vec.store(values, at + strip, value)
        # a leaf that is 0 now had something to lose
        leaf = vec.load(is_leaf, strip)
        lost = vec.subtract(leaf, vec.where_reaches(value, kept, leaf))
        bound = max(bound, vec.largest_lane(lost))
    marks[2 * entry] = largest
    marks[2 * entry + 1] = bound * np.float32(2.0**-DROPPED)


@nb.njit(cache=True, nogil=True, error_model="numpy")
def fill_dense(first, count, space, dense, cap):
    """Log densities of dense columns for rows from ``first`` on, into the work space."""
    features, forms, parameters = dense.features, dense.forms, dense.parameters
    size = dense.places.shape[1]
    for k in range(dense.columns.shape[0]):
        fill_column(
            dense.first_value[k] + first, count, dense.first_member[k], dense.first_member[k + 1],
            features, dense.spans, forms, parameters, dense.single, dense.power, dense.places[k],
            space.scratch, space.dense, k * cap * size,
        )  # fmt: skip


@nb.njit(cache=True, nogil=True, error_model="numpy")
def sum_leaves_of_row(leaf_log, row, slot, cap, space, tables, row_start, row_features):
    """Natural logs of all leaves for one row, which is in one of ``cap`` slots.

    ``leaf_log`` (leaf regions, width) receives them.
    """
    regions, width = leaf_log.shape
    for region in range(regions):
        for i in range(width):
            leaf_log[region, i] = tables.constant[region, i]
    paths = tables.leaf_regions.shape[1]
    for cell in range(row_start[row], row_start[row + 1]):
        feature = row_features[cell]
        for q in range(paths):
            region = tables.leaf_regions[tables.feature_column[feature], q]
            for i in range(width):
                leaf_log[region, i] += tables.deviations[feature, q, i]
    columns = tables.dense.columns
    leaves = tables.dense.places.shape[1] // paths
    for k in range(columns.shape[0]):
        for q in range(paths):
            region = tables.leaf_regions[columns[k], q]
            start = ((k * cap + slot) * paths + q) * leaves
            for i in range(leaves):
                leaf_log[region, i] += space.dense[start + i]
    for region in range(regions):
        for i in range(width):
            leaf_log[region, i] *= _LN2
