"""Bottom-up evaluation of a group of rows, rows in the vector lanes.

Values are float32 numbers times a power of two kept per region and row, so no logarithm is taken
before the root. Leaf values below 2^-60 of their region's largest are set to zero. How much a
region's values may lack for it is bounded on the way up; a row whose bound at the root is not far
below its value is evaluated again by `exact`.
"""
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numba as nb
import numpy as np

#: Rows that are evaluated side by side.
LANES = 32

#: Leaf values this many powers of two below the largest of their region are dropped.
DROPPED = 60

#: Largest bound on what a root's value may lack, relative to the value.
TOLERANCE = 1e-5

LOG2E = 1.4426950408889634

# Near-minimax polynomial of 2^f on [0, 1], relative error 2e-9.
_C0, _C1, _C2, _C3 = 1.0000000018154926, 0.6931469870575413, 0.24022979581361284, 0.055483524726355
_C4, _C5, _C6 = 0.009678472550149418, 0.0012443081545426176, 0.0002169060904808164

_FAST = {"contract", "reassoc", "nsz", "arcp"}


@nb.njit(cache=True, fastmath=_FAST)
def sum_leaves(
    acc, first, count, constant, deviations, feature_column, leaf_regions, row_start, row_features,
    dense, dense_columns,
):  # fmt: skip
    """Log values of all leaves for rows first … first + count − 1 into acc (lanes, regions, leaves)."""
    paths = leaf_regions.shape[1]
    leaves = constant.shape[1]
    for lane in range(count):
        row = first + lane
        acc[lane] = constant
        for cell in range(row_start[row], row_start[row + 1]):
            feature = row_features[cell]
            column = feature_column[feature]
            for q in range(paths):
                region = leaf_regions[column, q]
                for i in range(leaves):
                    acc[lane, region, i] += deviations[feature, q, i]
        for k in range(dense_columns.shape[0]):
            for q in range(paths):
                region = leaf_regions[dense_columns[k], q]
                for i in range(leaves):
                    acc[lane, region, i] += dense[k, row, q, i]


@nb.njit(cache=True, fastmath=_FAST)
def exponentiate_leaves(values, scales, lacks, acc, count, powers):
    """Leaf values 2^(t − k) with the scale k of each region and row; t = acc in powers of two.

    ``lacks`` (regions, lanes) receives the bound on values that were dropped.
    """
    regions = acc.shape[1]
    leaves = acc.shape[2]
    for region in range(regions):
        for lane in range(count):
            largest = acc[lane, region, 0]
            for i in range(1, leaves):
                largest = max(largest, acc[lane, region, i])
            scale = np.ceil(largest * LOG2E) if largest > -1e30 else 0.0
            scales[region, lane] = np.int32(scale)
            smallest = np.float32(0.0)
            for i in range(leaves):
                x = np.float32(acc[lane, region, i] * LOG2E - scale)
                smallest = min(smallest, x)
                x = max(x, np.float32(-DROPPED - 1))
                whole = np.floor(x)
                f = x - whole
                value = np.float32(_C5) + f * np.float32(_C6)
                value = np.float32(_C4) + f * value
                value = np.float32(_C3) + f * value
                value = np.float32(_C2) + f * value
                value = np.float32(_C1) + f * value
                value = np.float32(_C0) + f * value
                values[region * leaves + i, lane] = value * powers[-np.int32(whole)]
            lacks[region, lane] = powers[DROPPED] if smallest < -DROPPED else np.float32(0.0)


@nb.njit(cache=True, fastmath=_FAST)
def multiply_children(product, values, child, nodes, children, shared):
    """Products of one partition whose first child's nodes start at row ``child`` of values."""
    if children == 1:
        for e in range(nodes):
            for lane in range(LANES):
                product[e, lane] = values[child + e, lane]
        return nodes
    if shared:
        for e in range(nodes):
            for lane in range(LANES):
                product[e, lane] = values[child + e, lane] * values[child + nodes + e, lane]
            for c in range(2, children):
                for lane in range(LANES):
                    product[e, lane] *= values[child + c * nodes + e, lane]
        return nodes
    # Cross products in lexicographic order: the last children first, then one more in front.
    size = nodes
    last = child + (children - 1) * nodes
    for e in range(nodes):
        for lane in range(LANES):
            product[e, lane] = values[last + e, lane]
    for c in range(children - 2, -1, -1):
        start = child + c * nodes
        for i in range(nodes - 1, -1, -1):
            for e in range(size):
                for lane in range(LANES):
                    product[i * size + e, lane] = values[start + i, lane] * product[e, lane]
        size *= nodes
    return size


@nb.njit(cache=True, fastmath=_FAST)
def add_weighted(out, out_row, weights, start, product, n_products, sums):
    """Row s of out: Σ_e weights[start + e * sums + s] product[e]."""
    for s in range(sums):
        for lane in range(LANES):
            out[out_row + s, lane] = np.float32(0.0)
    e = 0
    while e + 4 <= n_products:
        at = start + e * sums
        for s in range(sums):
            w0 = weights[at + s]
            w1 = weights[at + sums + s]
            w2 = weights[at + 2 * sums + s]
            w3 = weights[at + 3 * sums + s]
            for lane in range(LANES):
                out[out_row + s, lane] += (
                    w0 * product[e, lane]
                    + w1 * product[e + 1, lane]
                    + w2 * product[e + 2, lane]
                    + w3 * product[e + 3, lane]
                )
        e += 4
    while e < n_products:
        for s in range(sums):
            w0 = weights[start + e * sums + s]
            for lane in range(LANES):
                out[out_row + s, lane] += w0 * product[e, lane]
        e += 1


@nb.njit(cache=True, fastmath=_FAST)
def combine_partitions(
    values, value_row, scales, lacks, region, partials, partial_row, partial_scales,
    first_partition, branching, sums, work, work_bits, child_region, children,
):  # fmt: skip
    """Add a region's partitions on a common scale and normalise by a power of two.

    Values stay below 2 and bounds below 4, so a product lacks at most 4^(children − 1) times the
    sum of its factors' bounds, and a weighted sum no more than its worst product.
    """
    growth = np.float32(4.0 ** (children - 1))
    for j in range(branching):
        for lane in range(LANES):
            total = np.int32(0)
            for c in range(children):
                total += scales[child_region + j * children + c, lane]
            partial_scales[first_partition + j, lane] = total
    for lane in range(LANES):
        scales[region, lane] = partial_scales[first_partition, lane]
        lacks[region, lane] = np.float32(0.0)
    for j in range(1, branching):
        for lane in range(LANES):
            scales[region, lane] = max(scales[region, lane], partial_scales[first_partition + j, lane])
    for s in range(sums):
        for lane in range(LANES):
            values[value_row + s, lane] = np.float32(0.0)
    for j in range(branching):
        for lane in range(LANES):
            shift = partial_scales[first_partition + j, lane] - scales[region, lane]
            work_bits[lane] = (np.int32(127) + shift) << np.int32(23) if shift > -126 else np.int32(0)
        for lane in range(LANES):
            lack = np.float32(0.0)
            for c in range(children):
                lack += lacks[child_region + j * children + c, lane]
            lacks[region, lane] = max(lacks[region, lane], growth * lack * work[lane])
        for s in range(sums):
            for lane in range(LANES):
                values[value_row + s, lane] += (
                    partials[partial_row + j * sums + s, lane] * work[lane]
                )
    for lane in range(LANES):
        # a region without any value at all still needs a positive number here
        work[lane] = max(lacks[region, lane], np.float32(1e-37))
    for s in range(sums):
        for lane in range(LANES):
            work[lane] = max(work[lane], values[value_row + s, lane])
    for lane in range(LANES):
        power = (work_bits[lane] >> np.int32(23)) - np.int32(127)
        scales[region, lane] += power
        work_bits[lane] = (np.int32(127) - power) << np.int32(23)
    for lane in range(LANES):
        lacks[region, lane] *= work[lane]
    for s in range(sums):
        for lane in range(LANES):
            values[value_row + s, lane] *= work[lane]
