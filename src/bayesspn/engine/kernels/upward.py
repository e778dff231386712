"""Bottom-up evaluation of a group of rows, rows in the vector lanes.

Values are float32 numbers times a power of two kept per region and row, so no logarithm is taken
before the root. Leaf values below 2^-60 of their region's largest are set to zero. How much a
region's values may lack for it is bounded on the way up; a row whose bound at the root is not far
below its value is evaluated again by `exact`.

The functions take slices that start where they work: the compiler vectorises plain loops over
lanes well, but not through offsets that it cannot bound.
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

# Near-minimax polynomial of 2^f on [0, 1], relative error 2e-9.
_C0, _C1, _C2, _C3 = 1.0000000018154926, 0.6931469870575413, 0.24022979581361284, 0.055483524726355
_C4, _C5, _C6 = 0.009678472550149418, 0.0012443081545426176, 0.0002169060904808164

_FAST = {"contract", "reassoc", "nsz", "arcp"}


@nb.njit(cache=True, fastmath=_FAST)
def sum_leaves(
    acc, first, count, constant, deviations, feature_column, leaf_regions, row_start, row_features,
    dense, dense_columns,
):  # fmt: skip
    """Binary logs of all leaves for rows first … first + count − 1 into acc (regions, lanes, leaves)."""
    paths = leaf_regions.shape[1]
    regions, leaves = constant.shape
    for region in range(regions):
        for lane in range(count):
            for i in range(leaves):
                acc[region, lane, i] = constant[region, i]
    for lane in range(count):
        row = first + lane
        for cell in range(row_start[row], row_start[row + 1]):
            feature = row_features[cell]
            column = feature_column[feature]
            for q in range(paths):
                region = leaf_regions[column, q]
                for i in range(leaves):
                    acc[region, lane, i] += deviations[feature, q, i]
        for k in range(dense_columns.shape[0]):
            for q in range(paths):
                region = leaf_regions[dense_columns[k], q]
                for i in range(leaves):
                    acc[region, lane, i] += dense[k, row, q, i]


@nb.njit(cache=True, fastmath=_FAST)
def exponentiate_leaves(values, bits, scales, lacks, logs, turned, largest, whole):
    """Leaf values 2^(t − k) of one region, with a scale k per lane and t = logs.

    Parameters
    ----------
    values, bits : float32 array of shape (leaves, lanes) and the same memory as int32
    scales, lacks : int32, float32 arrays of shape (lanes,)
        Receive k and the bound on values that were dropped.
    logs : array of shape (lanes, leaves)
    turned, largest, whole : arrays of shape (leaves, lanes), (lanes,), (lanes,)
        Work space, of the type of logs twice, and int32.
    """
    leaves = logs.shape[1]
    for lane in range(LANES):
        for i in range(leaves):
            turned[i, lane] = logs[lane, i]
    for lane in range(LANES):
        largest[lane] = turned[0, lane]
    for i in range(1, leaves):
        for lane in range(LANES):
            largest[lane] = max(largest[lane], turned[i, lane])
    for lane in range(LANES):
        # a row without any support has no scale
        largest[lane] = np.ceil(largest[lane]) if largest[lane] > -2e9 else largest.dtype.type(0)
        scales[lane] = np.int32(largest[lane])
        lacks[lane] = np.float32(0.0)
    for i in range(leaves):
        for lane in range(LANES):
            x = np.float32(turned[i, lane] - largest[lane])
            x = max(x, np.float32(-DROPPED - 1))
            floor = np.floor(x)
            f = x - floor
            value = np.float32(_C5) + f * np.float32(_C6)
            value = np.float32(_C4) + f * value
            value = np.float32(_C3) + f * value
            value = np.float32(_C2) + f * value
            value = np.float32(_C1) + f * value
            values[i, lane] = np.float32(_C0) + f * value
            whole[lane] = np.int32(floor)
        for lane in range(LANES):
            scaled = bits[i, lane] + (whole[lane] << np.int32(23))
            bits[i, lane] = scaled if whole[lane] >= -DROPPED else np.int32(0)
            lack = np.float32(0.0) if whole[lane] >= -DROPPED else np.float32(2.0**-DROPPED)
            lacks[lane] = max(lacks[lane], lack)


@nb.njit(cache=True, fastmath=_FAST)
def multiply_children(product, values, nodes, children, shared):
    """Products of one partition; ``values`` starts with its first child's nodes."""
    if children == 1:
        for e in range(nodes):
            for lane in range(LANES):
                product[e, lane] = values[e, lane]
        return
    if shared:
        for e in range(nodes):
            for lane in range(LANES):
                product[e, lane] = values[e, lane] * values[nodes + e, lane]
            for c in range(2, children):
                for lane in range(LANES):
                    product[e, lane] *= values[c * nodes + e, lane]
        return
    # Cross products in lexicographic order: the last child first, then one more in front.
    last = values[(children - 1) * nodes :]
    size = nodes
    for e in range(nodes):
        for lane in range(LANES):
            product[e, lane] = last[e, lane]
    for c in range(children - 2, -1, -1):
        for i in range(nodes - 1, -1, -1):
            factor = values[c * nodes + i]
            ahead = product[i * size : (i + 1) * size]
            for e in range(size):
                for lane in range(LANES):
                    ahead[e, lane] = factor[lane] * product[e, lane]
        size *= nodes


@nb.njit(cache=True, fastmath=_FAST)
def add_weighted(out, weights, product, n_products, sums):
    """Row s of out: Σ_e weights[e * sums + s] product[e]."""
    for s in range(sums):
        for lane in range(LANES):
            out[s, lane] = np.float32(0.0)
    fours = n_products // 4
    for four in range(fours):
        e = 4 * four
        at = e * sums
        for s in range(sums):
            w0 = weights[at + s]
            w1 = weights[at + sums + s]
            w2 = weights[at + 2 * sums + s]
            w3 = weights[at + 3 * sums + s]
            for lane in range(LANES):
                out[s, lane] += (
                    w0 * product[e, lane]
                    + w1 * product[e + 1, lane]
                    + w2 * product[e + 2, lane]
                    + w3 * product[e + 3, lane]
                )
    for e in range(4 * fours, n_products):
        for s in range(sums):
            weight = weights[e * sums + s]
            for lane in range(LANES):
                out[s, lane] += weight * product[e, lane]


@nb.njit(cache=True, fastmath=_FAST)
def scale_partitions(
    partial_scales, scales, lacks, child_scales, child_lacks, branching, children, work, work_bits
):
    """Scales of a region's partitions and of the region, and what the region's values may lack.

    Values stay below 2 and bounds below 4, so a product lacks at most 4^(children − 1) times the
    sum of its factors' bounds, and a weighted sum no more than its worst product.
    """
    growth = np.float32(4.0 ** (children - 1))
    for j in range(branching):
        for lane in range(LANES):
            partial_scales[j, lane] = child_scales[j * children, lane]
        for c in range(1, children):
            for lane in range(LANES):
                partial_scales[j, lane] += child_scales[j * children + c, lane]
    for lane in range(LANES):
        scales[lane] = partial_scales[0, lane]
        lacks[lane] = np.float32(0.0)
    for j in range(1, branching):
        for lane in range(LANES):
            scales[lane] = max(scales[lane], partial_scales[j, lane])
    for j in range(branching):
        shift_factors(work_bits, partial_scales[j], scales)
        for c in range(children):
            for lane in range(LANES):
                lack = np.float32(children) * child_lacks[j * children + c, lane]
                lacks[lane] = max(lacks[lane], growth * lack * work[lane])


@nb.njit(cache=True, fastmath=_FAST)
def shift_factors(bits, partial_scales, scales):
    """Write 2^(partial scale − scale) as float32 bits, 0 where that underflows."""
    for lane in range(LANES):
        shift = partial_scales[lane] - scales[lane]
        bits[lane] = (np.int32(127) + shift) << np.int32(23) if shift > -126 else np.int32(0)


@nb.njit(cache=True, fastmath=_FAST)
def add_partitions(values, partials, partial_scales, scales, branching, sums, work, work_bits):
    """Add partition sums (branching · sums, lanes) on the region's scale."""
    for s in range(sums):
        for lane in range(LANES):
            values[s, lane] = np.float32(0.0)
    for j in range(branching):
        shift_factors(work_bits, partial_scales[j], scales)
        part = partials[j * sums : (j + 1) * sums]
        for s in range(sums):
            for lane in range(LANES):
                values[s, lane] += part[s, lane] * work[lane]


@nb.njit(cache=True, fastmath=_FAST)
def normalise(values, scales, lacks, sums, work, work_bits):
    """Divide a region's values and bound by a power of two, so that the largest is in [1, 2)."""
    for lane in range(LANES):
        # a region without any value at all still needs a positive number here
        work[lane] = max(lacks[lane], np.float32(1e-37))
    for s in range(sums):
        for lane in range(LANES):
            work[lane] = max(work[lane], values[s, lane])
    for lane in range(LANES):
        power = (work_bits[lane] >> np.int32(23)) - np.int32(127)
        scales[lane] += power
        work_bits[lane] = (np.int32(127) - power) << np.int32(23)
    for lane in range(LANES):
        lacks[lane] *= work[lane]
    for s in range(sums):
        for lane in range(LANES):
            values[s, lane] *= work[lane]
