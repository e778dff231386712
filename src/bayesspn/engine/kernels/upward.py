"""Bottom-up evaluation of a group of rows, rows in the vector lanes.

Values are float32 numbers times a power of two kept per region and row, so no logarithm is taken
before the root. Leaf values below 2^-60 of their region's largest are set to zero. How much a
region's values may lack for it is bounded on the way up; a row whose bound at the root is not far
below its value is evaluated again by `exact`.

Arrays with a lanes axis are addressed by the number of their first element, in units of vectors.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from bayesspn.engine.kernels import vectors as vec
from bayesspn.engine.kernels.vectors import LANES, LEAF_STEP

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
    acc, found, small, stride, feature_rank, first, count, constant, deviations, feature_column,
    leaf_regions, row_start, row_features, dense, dense_columns,
):  # fmt: skip
    """Binary logs of leaves for ``count`` rows, or the rows' patterns where regions are small.

    Parameters
    ----------
    acc : array of shape (leaf regions, lanes, padded leaves)
        Receives the logs, except for small regions.
    found : int32 array of shape (leaf regions, lanes)
        Receives the patterns of small regions.
    small : int64 array of shape (leaf regions,)
        Number of patterns, 0 for regions that are not small.
    """
    paths = leaf_regions.shape[1]
    regions, padded = constant.shape
    for region in range(regions):
        if small[region] > 0:
            for lane in range(LANES):
                found[region, lane] = 0
        else:
            for lane in range(count):
                for i in range(padded):
                    acc[region, lane, i] = constant[region, i]
    for lane in range(count):
        row = first + lane
        for cell in range(row_start[row], row_start[row + 1]):
            feature = row_features[cell]
            column = feature_column[feature]
            rank = feature_rank[feature]
            for q in range(paths):
                region = leaf_regions[column, q]
                if stride[column, q] > 0:
                    found[region, lane] += rank * stride[column, q]
                else:
                    at = (region * LANES + lane) * padded
                    start = (feature * paths + q) * padded
                    for step in range(0, padded, LEAF_STEP):
                        vec.add_leaves(acc, at + step, deviations, start + step)
        for k in range(dense_columns.shape[0]):
            for q in range(paths):
                at = (leaf_regions[dense_columns[k], q] * LANES + lane) * padded
                start = ((k * dense.shape[1] + row) * paths + q) * padded
                for step in range(0, padded, LEAF_STEP):
                    vec.add_leaves(acc, at + step, dense, start + step)


@nb.njit(cache=True)
def exponentiate_leaves(values, at, scales, lacks, region, logs, leaves, turned):
    """Leaf values 2^(t − k) of one region, with a scale k per lane and t = logs.

    Parameters
    ----------
    values : float32 array
        Receives the region's leaves from vector ``at`` on.
    scales, lacks : int32, float32 arrays
        Receive k and the bound on values that were dropped, at vector ``region``.
    logs : array of shape (lanes, padded leaves)
    turned : float32 array of shape (leaves, lanes)
        Work space.
    """
    for lane in range(LANES):
        largest = logs[lane, 0]
        for i in range(1, leaves):
            largest = max(largest, logs[lane, i])
        # a row without any support has no scale
        largest = np.ceil(largest) if largest > -2e9 else logs.dtype.type(0)
        scales[region, lane] = np.int32(largest)
        for i in range(leaves):
            turned[i, lane] = np.float32(logs[lane, i] - largest)
    lowest = vec.splat(np.float32(-DROPPED - 1))
    kept = vec.splat_integer(np.int32(-DROPPED))
    mantissa = vec.splat_integer(np.int32(23))
    nothing = vec.splat(np.float32(-(2.0**-DROPPED)))
    lack = vec.splat(np.float32(2.0**-DROPPED))
    bound = vec.splat(np.float32(0.0))
    for i in range(leaves):
        x = vec.maximum(vec.load(turned, i * LANES), lowest)
        floor = vec.floor(x)
        f = vec.subtract(x, floor)
        value = vec.multiply_add(f, vec.splat(np.float32(_C6)), vec.splat(np.float32(_C5)))
        value = vec.multiply_add(f, value, vec.splat(np.float32(_C4)))
        value = vec.multiply_add(f, value, vec.splat(np.float32(_C3)))
        value = vec.multiply_add(f, value, vec.splat(np.float32(_C2)))
        value = vec.multiply_add(f, value, vec.splat(np.float32(_C1)))
        value = vec.multiply_add(f, value, vec.splat(np.float32(_C0)))
        whole = vec.to_integers(floor)
        scaled = vec.add_integers(vec.bits_of(value), vec.shift_left(whole, mantissa))
        vec.store(values, (at + i) * LANES, vec.where_at_least(whole, kept, vec.floats_of(scaled)))
        # 2^-DROPPED where the value was dropped, 0 where it was kept
        dropped = vec.add(vec.where_at_least(whole, kept, nothing), lack)
        bound = vec.maximum(bound, dropped)
    vec.store(lacks, region * LANES, bound)


@nb.njit(cache=True)
def multiply_children(product, values, at, nodes, children, shared):
    """Products of one partition, whose first child's nodes start at vector ``at``."""
    if children == 1:
        for e in range(nodes):
            vec.store(product, e * LANES, vec.load(values, (at + e) * LANES))
        return
    if shared:
        for e in range(nodes):
            value = vec.load(values, (at + e) * LANES)
            for c in range(1, children):
                value = vec.multiply(value, vec.load(values, (at + c * nodes + e) * LANES))
            vec.store(product, e * LANES, value)
        return
    # Cross products in lexicographic order: the last child first, then one more in front.
    last = at + (children - 1) * nodes
    for e in range(nodes):
        vec.store(product, e * LANES, vec.load(values, (last + e) * LANES))
    size = nodes
    for c in range(children - 2, -1, -1):
        for i in range(nodes - 1, -1, -1):
            factor = vec.load(values, (at + c * nodes + i) * LANES)
            for e in range(size):
                value = vec.multiply(factor, vec.load(product, e * LANES))
                vec.store(product, (i * size + e) * LANES, value)
        size *= nodes


@nb.njit(cache=True)
def add_weighted(out, at, weights, start, product, n_products, sums):
    """Vector at + s of out: Σ_e weights[start + e · sums + s] product[e]; four sums at a time."""
    zero = vec.splat(np.float32(0.0))
    fours = sums // 4
    for four in range(fours):
        s = 4 * four
        sum_0, sum_1, sum_2, sum_3 = zero, zero, zero, zero
        for e in range(n_products):
            factor = vec.load(product, e * LANES)
            w = start + e * sums + s
            sum_0 = vec.multiply_add(vec.splat(weights[w]), factor, sum_0)
            sum_1 = vec.multiply_add(vec.splat(weights[w + 1]), factor, sum_1)
            sum_2 = vec.multiply_add(vec.splat(weights[w + 2]), factor, sum_2)
            sum_3 = vec.multiply_add(vec.splat(weights[w + 3]), factor, sum_3)
        vec.store(out, (at + s) * LANES, sum_0)
        vec.store(out, (at + s + 1) * LANES, sum_1)
        vec.store(out, (at + s + 2) * LANES, sum_2)
        vec.store(out, (at + s + 3) * LANES, sum_3)
    for s in range(4 * fours, sums):
        # two running sums hide the latency of the additions
        even, odd = zero, zero
        for pair in range(n_products // 2):
            w = start + 2 * pair * sums + s
            factor = vec.load(product, 2 * pair * LANES)
            even = vec.multiply_add(vec.splat(weights[w]), factor, even)
            factor = vec.load(product, (2 * pair + 1) * LANES)
            odd = vec.multiply_add(vec.splat(weights[w + sums]), factor, odd)
        if n_products % 2 == 1:
            factor = vec.load(product, (n_products - 1) * LANES)
            weight = vec.splat(weights[start + (n_products - 1) * sums + s])
            even = vec.multiply_add(weight, factor, even)
        vec.store(out, (at + s) * LANES, vec.add(even, odd))


@nb.njit(cache=True, inline="always")
def power_of_two(exponent):
    """2^exponent as floats for a vector of integers up to 127, 0 below −126."""
    bits = vec.shift_left(
        vec.add_integers(exponent, vec.splat_integer(np.int32(127))),
        vec.splat_integer(np.int32(23)),
    )
    return vec.floats_of(vec.where_at_least(exponent, vec.splat_integer(np.int32(-126)), bits))


@nb.njit(cache=True)
def scale_partitions(partial_scales, partition, scales, lacks, region, child, branching, children):
    """Scales of a region's partitions and of the region, and what the region's values may lack.

    Values stay below 2 and bounds below 4, so a product lacks at most 4^(children − 1) times the
    sum of its factors' bounds, and a weighted sum no more than its worst product.
    """
    top = vec.splat_integer(np.int32(-(2**31)))
    for j in range(branching):
        total = vec.load(scales, (child + j * children) * LANES)
        for c in range(1, children):
            total = vec.add_integers(total, vec.load(scales, (child + j * children + c) * LANES))
        vec.store(partial_scales, (partition + j) * LANES, total)
        top = vec.maximum_integers(top, total)
    vec.store(scales, region * LANES, top)
    growth = vec.splat(np.float32(4.0 ** (children - 1)))
    bound = vec.splat(np.float32(0.0))
    for j in range(branching):
        lack = vec.load(lacks, (child + j * children) * LANES)
        for c in range(1, children):
            lack = vec.add(lack, vec.load(lacks, (child + j * children + c) * LANES))
        shift = vec.subtract_integers(vec.load(partial_scales, (partition + j) * LANES), top)
        lack = vec.multiply(vec.multiply(lack, growth), power_of_two(shift))
        bound = vec.maximum(bound, lack)
    vec.store(lacks, region * LANES, bound)


@nb.njit(cache=True)
def add_partitions(
    values, at, partials, partial, partial_scales, partition, scales, region, branching, sums
):
    """Add partition sums on the region's scale."""
    top = vec.load(scales, region * LANES)
    for s in range(sums):
        total = vec.splat(np.float32(0.0))
        for j in range(branching):
            shift = vec.subtract_integers(vec.load(partial_scales, (partition + j) * LANES), top)
            part = vec.load(partials, (partial + j * sums + s) * LANES)
            total = vec.multiply_add(part, power_of_two(shift), total)
        vec.store(values, (at + s) * LANES, total)


@nb.njit(cache=True)
def normalise(values, at, scales, lacks, region, sums):
    """Divide a region's values and bound by a power of two, so that the largest is in [1, 2)."""
    lack = vec.load(lacks, region * LANES)
    # a region without any value at all still needs a positive number here
    largest = vec.maximum(lack, vec.splat(np.float32(1e-37)))
    for s in range(sums):
        largest = vec.maximum(largest, vec.load(values, (at + s) * LANES))
    exponent = vec.subtract_integers(
        vec.shift_right(vec.bits_of(largest), vec.splat_integer(np.int32(23))),
        vec.splat_integer(np.int32(127)),
    )
    scale = vec.add_integers(vec.load(scales, region * LANES), exponent)
    vec.store(scales, region * LANES, scale)
    factor = power_of_two(vec.subtract_integers(vec.splat_integer(np.int32(0)), exponent))
    vec.store(lacks, region * LANES, vec.multiply(lack, factor))
    for s in range(sums):
        value = vec.load(values, (at + s) * LANES)
        vec.store(values, (at + s) * LANES, vec.multiply(value, factor))
