"""Bottom-up evaluation of regions, the nodes of a region in the vector lanes.

Values are float32 numbers times a power of two kept per entry, so no logarithm is taken before the
root. How much an entry's values may lack for dropped leaf values is bounded on the way up; a row
whose bound at the root is not far below its value is evaluated again by `exact`.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from bayesspn.engine.kernels import vectors as vec
from bayesspn.engine.kernels.layout import ROWS
from bayesspn.engine.kernels.vectors import LANES

#: Largest bound on what a root's value may lack, relative to the value.
TOLERANCE = 1e-5

#: Weights below this are left out, and denormal numbers are zeros. Both together are worth less
#: than the bound, however many edges there are, where the largest values of children are 1 or more.
LEAST_WEIGHT = 2.0**-100
FLUSHED = 2.0**-80


# The arrays of a named tuple are counted references, and taking one out costs an atomic addition:
# `evaluate` does it once for a region and many rows, and what it calls takes plain arrays.


@nb.njit(cache=True, forceinline=True, error_model="numpy")
def _multiply_children(product, step, slot, values, entries, first, children, nodes, width, shared):
    """Products of one partition for one row, in lexicographic order, followed by zeros.

    ``entries`` holds the children's entries from ``first`` on; the result is row ``slot`` of
    ``product``, whose rows are ``step`` long.
    """
    at = slot * step
    last = vec.get(entries, first + children - 1) * width
    if shared or children == 1:
        for strip in range(0, width, LANES):
            value = vec.load(values, last + strip)
            for c in range(children - 1):
                other = vec.load(values, vec.get(entries, first + c) * width + strip)
                value = vec.multiply(value, other)
            vec.store(product, at + strip, value)
        return
    # The last two children first, then one more in front, each time into another row.
    size = nodes
    source = 0
    for c in range(children - 2, -1, -1):
        target = at if c == 0 else (ROWS + c % 2) * step
        child = vec.get(entries, first + c) * width
        vec.store(product, target + nodes * size, vec.splat(np.float32(0.0)))
        for i in range(nodes):
            # the last vector's overhang is zero, and overwritten by the next node's products
            factor = vec.splat_at(values, child + i)
            for strip in range(0, size, LANES):
                if c == children - 2:
                    other = vec.load(values, last + strip)
                else:
                    other = vec.load(product, source + strip)
                vec.store(product, target + i * size + strip, vec.multiply(factor, other))
        source = target
        size *= nodes


@nb.njit(cache=True, forceinline=True, error_model="numpy")
def _store_rows(total, strip, width, sums):
    """Write one vector of each of the ROWS rows."""
    vec.store(total, strip, sums[0])
    vec.store(total, width + strip, sums[1])
    vec.store(total, 2 * width + strip, sums[2])
    vec.store(total, 3 * width + strip, sums[3])
    vec.store(total, 4 * width + strip, sums[4])
    vec.store(total, 5 * width + strip, sums[5])
    vec.store(total, 6 * width + strip, sums[6])
    vec.store(total, 7 * width + strip, sums[7])


@nb.njit(cache=True, forceinline=True, error_model="numpy")
def _add_weighted(total, product, step, weights, start, n_products, width):
    """Rows of ``total``: Σ_e weights[start + e · width + s] product[e], for all rows at once."""
    zero = vec.splat(np.float32(0.0))
    for strip in range(0, width, LANES):
        sum_0, sum_1, sum_2, sum_3 = zero, zero, zero, zero
        sum_4, sum_5, sum_6, sum_7 = zero, zero, zero, zero
        for e in range(n_products):
            w = vec.load(weights, start + e * width + strip)
            sum_0 = vec.multiply_add(vec.splat_at(product, e), w, sum_0)
            sum_1 = vec.multiply_add(vec.splat_at(product, step + e), w, sum_1)
            sum_2 = vec.multiply_add(vec.splat_at(product, 2 * step + e), w, sum_2)
            sum_3 = vec.multiply_add(vec.splat_at(product, 3 * step + e), w, sum_3)
            sum_4 = vec.multiply_add(vec.splat_at(product, 4 * step + e), w, sum_4)
            sum_5 = vec.multiply_add(vec.splat_at(product, 5 * step + e), w, sum_5)
            sum_6 = vec.multiply_add(vec.splat_at(product, 6 * step + e), w, sum_6)
            sum_7 = vec.multiply_add(vec.splat_at(product, 7 * step + e), w, sum_7)
        sums = (sum_0, sum_1, sum_2, sum_3, sum_4, sum_5, sum_6, sum_7)
        _store_rows(total, strip, width, sums)


@nb.njit(cache=True, forceinline=True, error_model="numpy")
def _copy_pair(product, step, slot, values, entries, first, width):
    """The values of two children of one row, side by side in row ``slot`` of ``product``."""
    for c in range(2):
        child = vec.get(entries, first + c) * width
        for strip in range(0, width, LANES):
            vec.store(product, slot * step + c * width + strip, vec.load(values, child + strip))


@nb.njit(cache=True, forceinline=True, error_model="numpy")
def _add_weighted_pairs(total, product, step, weights, start, nodes, width):
    """Rows of ``total``: Σ_i left[i] Σ_k weights[start + (i · nodes + k) · width + s] right[k].

    Half the loads of `_add_weighted`, which needs all products of pairs in memory.
    """
    zero = vec.splat(np.float32(0.0))
    for strip in range(0, width, LANES):
        sum_0, sum_1, sum_2, sum_3 = zero, zero, zero, zero
        sum_4, sum_5, sum_6, sum_7 = zero, zero, zero, zero
        for i in range(nodes):
            part_0, part_1, part_2, part_3 = zero, zero, zero, zero
            part_4, part_5, part_6, part_7 = zero, zero, zero, zero
            for k in range(nodes):
                w = vec.load(weights, start + (i * nodes + k) * width + strip)
                right = width + k
                part_0 = vec.multiply_add(vec.splat_at(product, right), w, part_0)
                part_1 = vec.multiply_add(vec.splat_at(product, step + right), w, part_1)
                part_2 = vec.multiply_add(vec.splat_at(product, 2 * step + right), w, part_2)
                part_3 = vec.multiply_add(vec.splat_at(product, 3 * step + right), w, part_3)
                part_4 = vec.multiply_add(vec.splat_at(product, 4 * step + right), w, part_4)
                part_5 = vec.multiply_add(vec.splat_at(product, 5 * step + right), w, part_5)
                part_6 = vec.multiply_add(vec.splat_at(product, 6 * step + right), w, part_6)
                part_7 = vec.multiply_add(vec.splat_at(product, 7 * step + right), w, part_7)
            sum_0 = vec.multiply_add(vec.splat_at(product, i), part_0, sum_0)
            sum_1 = vec.multiply_add(vec.splat_at(product, step + i), part_1, sum_1)
            sum_2 = vec.multiply_add(vec.splat_at(product, 2 * step + i), part_2, sum_2)
            sum_3 = vec.multiply_add(vec.splat_at(product, 3 * step + i), part_3, sum_3)
            sum_4 = vec.multiply_add(vec.splat_at(product, 4 * step + i), part_4, sum_4)
            sum_5 = vec.multiply_add(vec.splat_at(product, 5 * step + i), part_5, sum_5)
            sum_6 = vec.multiply_add(vec.splat_at(product, 6 * step + i), part_6, sum_6)
            sum_7 = vec.multiply_add(vec.splat_at(product, 7 * step + i), part_7, sum_7)
        sums = (sum_0, sum_1, sum_2, sum_3, sum_4, sum_5, sum_6, sum_7)
        _store_rows(total, strip, width, sums)


@nb.njit(cache=True, forceinline=True, error_model="numpy")
def _add_single(total, product, step, weights, start, n_products, width):
    """The same for a single sum: products, not sums, are in the lanes of its weights."""
    zero = vec.splat(np.float32(0.0))
    for slot in range(ROWS):
        terms = zero
        for e in range(0, n_products, LANES):
            w = vec.load(weights, start + e)
            terms = vec.multiply_add(w, vec.load(product, slot * step + e), terms)
        for strip in range(0, width, LANES):
            vec.store(total, slot * width + strip, zero)
        total[slot * width] = vec.add_lanes(terms)


@nb.njit(cache=True, forceinline=True, error_model="numpy")
def _add_pairs(total, slot, values, left, right, nodes, weights, start, width):
    """A single sum over pairs of nodes of two children, for one row."""
    value = np.float32(0.0)
    for strip in range(0, nodes, LANES):
        terms = vec.splat(np.float32(0.0))
        for i in range(nodes):
            w = vec.load(weights, start + i * nodes + strip)
            terms = vec.multiply_add(vec.splat_at(values, left + i), w, terms)
        value += vec.add_lanes(vec.multiply(terms, vec.load(values, right + strip)))
    for strip in range(0, width, LANES):
        vec.store(total, slot * width + strip, vec.splat(np.float32(0.0)))
    total[slot * width] = value


@nb.njit(cache=True, forceinline=True, error_model="numpy")
def _normalise(values, marks, entry, total, at, width, scale, lack):
    """Store a vector of values on a scale on which the largest is in [1, 2)."""
    # a region without any value at all still needs a positive number here
    largest = max(lack, np.float32(1e-37))
    for strip in range(0, width, LANES):
        largest = max(largest, vec.largest_lane(vec.load(total, at + strip)))
    exponent = vec.exponent_of(largest)
    factor = vec.power_of_two(-exponent)
    marks[2 * entry] = scale + np.float32(exponent)
    marks[2 * entry + 1] = lack * factor
    factors = vec.splat(factor)
    for strip in range(0, width, LANES):
        value = vec.multiply(factors, vec.load(total, at + strip))
        vec.store(values, entry * width + strip, value)


@nb.njit(cache=True, forceinline=True, error_model="numpy")
def _add_partitions(
    values, marks, entry, partials, partial_scales, partial_lacks, at, step, total,
    branching, width,
):  # fmt: skip
    """Add a row's partition sums, ``step`` apart from ``at`` on, on the largest of their scales."""
    top = partial_scales[at]
    for j in range(1, branching):
        top = max(top, partial_scales[at + j * step])
    lack = np.float32(0.0)
    for strip in range(0, width, LANES):
        added = vec.splat(np.float32(0.0))
        for j in range(branching):
            factor = vec.power_of_two(np.int32(partial_scales[at + j * step] - top))
            part = vec.load(partials, (at + j * step) * width + strip)
            added = vec.multiply_add(part, vec.splat(factor), added)
            lack = max(lack, factor * partial_lacks[at + j * step])
        vec.store(total, strip, added)
    _normalise(values, marks, entry, total, 0, width, top, lack)


@nb.njit(cache=True, nogil=True, error_model="numpy")
def evaluate(
    values, marks, targets, children_of, partials, partial_scales, partial_lacks, partition,
    product, step, total, up, down, up_start, down_start, branching, products, sums, nodes,
    children, width, shared, count,
):  # fmt: skip
    """Evaluate a region for ``count`` rows or patterns.

    ``targets`` (rows,) are the entries to write, ``children_of`` (rows, partitions, children) those
    of the children. Sums of single partitions are kept from number ``partition`` on, for regions
    with several. The region's weights start at ``up_start`` and ``down_start``.
    """
    rows = targets.shape[0]
    growth = np.float32(4.0 ** (children - 1))
    pairs = children == 2 and not shared
    for first in range(0, count, ROWS):
        for j in range(branching):
            for slot in range(ROWS):
                at = ((first + slot) * branching + j) * children
                if pairs and sums > 1:
                    _copy_pair(product, step, slot, values, children_of, at, width)
                elif pairs:
                    left, right = vec.get(children_of, at), vec.get(children_of, at + 1)
                    _add_pairs(
                        total, slot, values, left * width, right * width, nodes, down,
                        down_start + j * products, width,
                    )  # fmt: skip
                else:
                    _multiply_children(
                        product, step, slot, values, children_of, at, children, nodes, width, shared
                    )
            start = up_start + j * products * width
            if pairs and sums > 1:
                _add_weighted_pairs(total, product, step, up, start, nodes, width)
            elif sums > 1:
                _add_weighted(total, product, step, up, start, products, width)
            elif not pairs:
                _add_single(total, product, step, down, down_start + j * products, products, width)
            # Values stay below 2 and bounds below 4, so a product lacks at most 4^(children − 1)
            # times the sum of its factors' bounds, and a weighted sum no more than its worst
            # product.
            for slot in range(ROWS):
                scale, lack = np.float32(0.0), np.float32(0.0)
                at = ((first + slot) * branching + j) * children
                for c in range(children):
                    child = vec.get(children_of, at + c)
                    scale += vec.get(marks, 2 * child)
                    lack += vec.get(marks, 2 * child + 1)
                lack = lack * growth + np.float32(FLUSHED)
                if branching == 1:
                    entry = vec.get(targets, first + slot)
                    _normalise(values, marks, entry, total, slot * width, width, scale, lack)
                else:
                    kept = (partition + j) * rows + first + slot
                    partial_scales[kept] = scale
                    partial_lacks[kept] = lack
                    for strip in range(0, width, LANES):
                        part = vec.load(total, slot * width + strip)
                        vec.store(partials, kept * width + strip, part)
        if branching > 1:
            for slot in range(ROWS):
                _add_partitions(
                    values, marks, vec.get(targets, first + slot), partials, partial_scales,
                    partial_lacks, partition * rows + first + slot, rows, total, branching, width,
                )  # fmt: skip


@nb.njit(cache=True, nogil=True, error_model="numpy")
def evaluate_regions(entries, work, geometry, weights, plan, count):
    """Evaluate all regions that are not small for the first ``count`` rows of the work space."""
    values, marks = entries.values, entries.marks
    targets, children_of, entry_of = work.targets, work.children_of, work.entry_of
    partials, partial_scales = work.partials, work.partial_scales
    partial_lacks = work.partial_lacks
    product, step, total = work.product, work.product_step, work.total
    up, down = weights.up, weights.down
    live, plan_region, plan_level = plan.live, plan.region, plan.level
    children, width, shared = geometry.children, geometry.width, geometry.shared
    levels = geometry.branching.shape[0]
    padded = -(-count // ROWS) * ROWS
    for k in range(plan_region.shape[0]):
        level = plan_level[k]
        if level == levels:
            continue
        region = plan_region[k] - geometry.region_base[level]
        branching, products = geometry.branching[level], geometry.products[level]
        sums = geometry.nodes[level]
        span = branching * children
        below = geometry.region_base[level + 1] + region * span
        for row in range(padded):
            targets[row] = entry_of[k, row]
        for c in range(span):
            child = live[below + c]
            for row in range(padded):
                children_of[row * span + c] = entry_of[child, row]
        evaluate(
            values, marks, targets, children_of, partials, partial_scales, partial_lacks,
            geometry.partition_base[level] + region * branching, product, step, total, up, down,
            geometry.padded_base[level] + region * branching * products * width,
            geometry.weight_base[level] + region * sums * branching * products,
            branching, products, sums, geometry.nodes[level + 1], children, width, shared, count,
        )  # fmt: skip
