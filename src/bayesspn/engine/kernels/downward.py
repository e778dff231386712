"""Top-down draw of induced trees, given the values of all regions."""

from __future__ import annotations

import math

import numba as nb

from bayesspn.engine.kernels import exact
from bayesspn.engine.kernels.patterns import child_pattern
from bayesspn.randomness import fill_uniforms

_FAST = {"contract", "reassoc", "nsz", "arcp"}

#: Products whose probabilities are added up before looking at one.
_STRIDE = 16


@nb.njit(cache=True, inline="always", fastmath=_FAST)
def _draw_edge(work, geometry, weights, level, region, s, lane, u):
    """Draw an edge of a sum for one lane: the partition from the kept sums, then the product."""
    partials, partial_scales = work.partials, work.partial_scales
    local = work.local
    branching = geometry.branching[level]
    products = geometry.products[level]
    sums = geometry.nodes[level]
    partial_row = geometry.partial_base[level] + region * branching * sums + s
    partition_row = geometry.partition_base[level] + region * branching
    j = 0
    if branching > 1:
        top = partial_scales[partition_row, lane]
        for k in range(1, branching):
            top = max(top, partial_scales[partition_row + k, lane])
        total = 0.0
        for k in range(branching):
            shift = partial_scales[partition_row + k, lane] - top
            local[k] = math.ldexp(partials[partial_row + k * sums, lane], shift)
            total += local[k]
        u *= total
        last = 0
        j = -1
        for k in range(branching):
            if local[k] > 0.0:
                last = k
                if u < local[k]:
                    j = k
                    break
                u -= local[k]
        if j < 0:
            j = last
            u = local[j]
        u = min(u / local[j], 1.0)
    _multiply_children(work, geometry, level, region * branching + j, lane)
    start = geometry.weight_base[level] + ((region * sums + s) * branching + j) * products
    return j * products + _choose(local, weights, start, products, u)


@nb.njit(cache=True, inline="always")
def _draw_shared_edge(work, geometry, weights, level, region, s, lane, u, row):
    """Draw an edge of a sum for a row with copies: cumulative probabilities are kept per row."""
    branching = geometry.branching[level]
    products = geometry.products[level]
    sums = geometry.nodes[level]
    span = branching * products
    first = geometry.weight_base[level] + (region * sums + s) * span
    node = geometry.value_base[level] + region * sums + s
    cumulative = work.cumulative
    if work.cumulated[node] != row:
        work.cumulated[node] = row
        partition_row = geometry.partition_base[level] + region * branching
        top = work.partial_scales[partition_row, lane]
        for j in range(1, branching):
            top = max(top, work.partial_scales[partition_row + j, lane])
        total = 0.0
        for j in range(branching):
            factor = math.ldexp(1.0, work.partial_scales[partition_row + j, lane] - top)
            _multiply_children(work, geometry, level, region * branching + j, lane)
            start = first + j * products
            for e in range(products):
                total += factor * weights[start + e] * work.local[e]
                cumulative[start + e] = total
    target = u * cumulative[first + span - 1]
    low = 0
    high = span - 1
    while low < high:
        middle = (low + high) // 2
        if cumulative[first + middle] > target:
            high = middle
        else:
            low = middle + 1
    return low


@nb.njit(cache=True, inline="always", fastmath=_FAST)
def _multiply_children(work, geometry, level, partition, lane):
    """Values of a partition's products for one lane into ``local``, in lexicographic order."""
    values, local = work.values, work.local
    nodes = geometry.nodes[level + 1]
    children = geometry.children
    child = geometry.value_base[level + 1] + partition * children * nodes
    if geometry.shared or children == 1:
        for e in range(nodes):
            local[e] = values[child + e, lane]
            for c in range(1, children):
                local[e] *= values[child + c * nodes + e, lane]
        return
    size = nodes
    for e in range(nodes):
        local[e] = values[child + (children - 1) * nodes + e, lane]
    for c in range(children - 2, -1, -1):
        for i in range(nodes - 1, -1, -1):
            factor = values[child + c * nodes + i, lane]
            for e in range(size):
                local[i * size + e] = factor * local[e]
        size *= nodes


@nb.njit(cache=True, inline="always")
def _draw_tabulated_edge(work, geometry, patterns, weights, level, region, s, pattern, u):
    """Draw an edge of a sum in a small region, which has a single partition."""
    products = geometry.products[level]
    nodes = geometry.nodes[level + 1]
    children = geometry.children
    child = geometry.region_base[level + 1] + region * children
    start = geometry.weight_base[level] + (region * geometry.nodes[level] + s) * products
    local = work.local
    if geometry.shared or children == 1:
        local[:nodes] = 1.0
        for c in range(children):
            entry = child_pattern(patterns, child, children, c, pattern)
            at = patterns.value_at[child + c] + entry * nodes
            for e in range(nodes):
                local[e] *= patterns.values[at + e]
    else:
        size = 1
        local[0] = 1.0
        for c in range(children - 1, -1, -1):
            entry = child_pattern(patterns, child, children, c, pattern)
            at = patterns.value_at[child + c] + entry * nodes
            for i in range(nodes - 1, -1, -1):
                factor = patterns.values[at + i]
                for e in range(size):
                    local[i * size + e] = factor * local[e]
            size *= nodes
    return _choose(local, weights, start, products, u)


@nb.njit(cache=True, fastmath=_FAST)
def _choose(local, weights, start, products, u):
    """Draw a product with probability ∝ weight × value, given the values in ``local``."""
    total = 0.0
    for e in range(products):
        local[e] *= weights[start + e]
        total += local[e]
    u *= total
    last = 0
    first = 0
    while first < products:
        stop = min(first + _STRIDE, products)
        part = 0.0
        for e in range(first, stop):
            part += local[e]
        # whole strides are skipped by their sum, which the compiler vectorises
        if u >= part and stop < products:
            u -= part
            if part > 0.0:
                last = _last_positive(local, first, stop)
        else:
            for e in range(first, stop):
                if local[e] > 0.0:
                    last = e
                    if u < local[e]:
                        return last
                    u -= local[e]
        first = stop
    return last


@nb.njit(cache=True)
def _last_positive(local, first, stop):
    last = first
    for e in range(first, stop):
        if local[e] > 0.0:
            last = e
    return last


@nb.njit(cache=True, inline="always")
def _step_down(geometry, level, region, edge, positions, at):
    """Place the children of a drawn edge behind position ``at`` of the next level."""
    products = geometry.products[level]
    nodes = geometry.nodes[level + 1]
    children = geometry.children
    j = edge // products
    e = edge - j * products
    for c in range(children - 1, -1, -1):
        positions[at + c, 0] = (region * geometry.branching[level] + j) * children + c
        if geometry.shared:
            positions[at + c, 1] = e
        else:
            positions[at + c, 1] = e % nodes
            e //= nodes


@nb.njit(cache=True, fastmath=_FAST)
def draw_trees(
    edges, leaf_nodes, counts, work, doubtful, geometry, patterns, weights_down, log_weights, lane,
    row, copy_start, copy_ids, key, sweep,
):  # fmt: skip
    """Draw the induced tree of every copy of a row: the edges of visited sums, then the leaves."""
    positions, uniforms = work.positions, work.uniforms
    levels = geometry.branching.shape[0]
    # several copies share the cumulative probabilities of the sums that they visit
    several = copy_start[row + 1] - copy_start[row] > 1
    for copy in range(copy_start[row], copy_start[row + 1]):
        fill_uniforms(uniforms, copy_ids[copy], sweep, key[0], key[1], 0, edges.shape[1])
        positions[0, 0] = 0
        positions[0, 1] = 0
        positions[0, 2] = work.patterns[0, lane] if patterns.size[0] > 0 else -1
        here = 0
        width = 1
        for level in range(levels):
            span = geometry.branching[level] * geometry.products[level]
            for position in range(width):
                v = here + position
                region, s, pattern = positions[v, 0], positions[v, 1], positions[v, 2]
                if doubtful:
                    edge = exact.draw_edge(
                        work.row_values, log_weights, geometry, level, region, s, uniforms[v]
                    )
                elif pattern >= 0:
                    edge = _draw_tabulated_edge(
                        work, geometry, patterns, weights_down, level, region, s, pattern,
                        uniforms[v],
                    )  # fmt: skip
                elif several:
                    edge = _draw_shared_edge(
                        work, geometry, weights_down, level, region, s, lane, uniforms[v], row
                    )
                else:
                    edge = _draw_edge(
                        work, geometry, weights_down, level, region, s, lane, uniforms[v]
                    )
                edges[copy, v] = edge
                first = geometry.weight_base[level] + (region * geometry.nodes[level] + s) * span
                counts[first + edge] += 1
                behind = here + width + position * geometry.children
                _step_down(geometry, level, region, edge, positions, behind)
                if level + 1 < levels:
                    _follow_patterns(work, geometry, patterns, level, pattern, behind, lane)
            here += width
            width *= geometry.children
        leaves = geometry.nodes[levels]
        for leaf in range(width):
            node = positions[here + leaf, 0] * leaves + positions[here + leaf, 1]
            leaf_nodes[copy, leaf] = node


@nb.njit(cache=True, inline="always")
def _follow_patterns(work, geometry, patterns, level, pattern, behind, lane):
    """Note the patterns of the regions that a drawn edge leads to, −1 if they are not small."""
    for c in range(geometry.children):
        child = geometry.region_base[level + 1] + work.positions[behind + c, 0]
        if patterns.size[child] == 0:
            work.positions[behind + c, 2] = -1
        elif pattern >= 0:
            work.positions[behind + c, 2] = child_pattern(
                patterns, child - c, geometry.children, c, pattern
            )
        else:
            work.positions[behind + c, 2] = work.patterns[child, lane]
