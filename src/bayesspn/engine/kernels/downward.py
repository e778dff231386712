"""Top-down draw of induced trees, given the entries of all regions.

One uniform draws an edge of a sum by inversion, in the order (partition, node of child 1, …, node
of child C): first the partition from the kept partition sums, then the nodes of all children but
the last from their joint marginal, then the last child's node. What copies of a row have in common
is computed once.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from bayesspn.engine.kernels import exact
from bayesspn.engine.kernels import vectors as vec
from bayesspn.engine.kernels.vectors import LANES
from bayesspn.numerics.random_numbers import fill_uniforms


@nb.njit(cache=True, forceinline=True, error_model="numpy")
def _invert(cumulative, first, count, u):
    """Outcome that u picks from cumulative numbers, and what is left of u within it."""
    target = u * cumulative[first + count - 1]
    chosen = 0
    for k in range(count - 1):
        chosen += cumulative[first + k] <= target
    before = cumulative[first + chosen - 1] if chosen > 0 else 0.0
    inside = cumulative[first + chosen] - before
    while inside <= 0.0 and chosen > 0:
        # rounding led behind the last possible outcome
        chosen -= 1
        before = cumulative[first + chosen - 1] if chosen > 0 else 0.0
        inside = cumulative[first + chosen] - before
        target = cumulative[first + chosen]
    if inside <= 0.0:  # nothing is possible any more: everything underflowed
        return chosen, 0.5
    return chosen, min(max((target - before) / inside, 0.0), 1.0)


@nb.njit(cache=True, forceinline=True, error_model="numpy")
def _last_factor(values, weights, start, children, first_shared, width, strip, entries):
    """Weights times the values of the last child, or of all children if products are shared."""
    terms = vec.load(weights, start + strip)
    for c in range(first_shared, children):
        value = vec.load(values, vec.get(entries, c) * width + strip)
        terms = vec.multiply(terms, value)
    return terms


@nb.njit(cache=True, forceinline=True, error_model="numpy")
def _draw_last(values, weights, start, children, first_shared, width, entries, u):
    """Draw the last child's node, or the shared node, in proportion to ``_last_factor``."""
    strip = 0
    if width > LANES:
        total = np.float32(0.0)
        for at in range(0, width, LANES):
            total += vec.add_lanes(
                _last_factor(values, weights, start, children, first_shared, width, at, entries)
            )
        target = u * total
        for at in range(0, width, LANES):
            part = vec.add_lanes(
                _last_factor(values, weights, start, children, first_shared, width, at, entries)
            )
            if part > 0.0:
                strip = at
                u = min(target / part, 1.0)
                if target < part:
                    break
                target -= part
    terms = _last_factor(values, weights, start, children, first_shared, width, strip, entries)
    cumulative = vec.cumulate(terms)
    limit = np.float32(u) * vec.last_lane(cumulative)
    # rounding may lead behind the last possible node
    return strip + max(min(vec.count_at_most(cumulative, limit), vec.last_positive(terms)), 0)


@nb.njit(cache=True, forceinline=True, error_model="numpy")
def _fill_outer(outer, at, factor, values, weights, start, nodes, children, width, entries):
    """Cumulative weights of tuples of nodes of all children but the last."""
    factor[0] = 1.0
    size = 1
    for c in range(children - 1):
        child = vec.get(entries, c) * width
        for k in range(size - 1, -1, -1):
            before = factor[k]
            for i in range(nodes):
                factor[k * nodes + i] = before * values[child + i]
        size *= nodes
    last = vec.get(entries, children - 1) * width
    total = 0.0
    for k in range(size):
        terms = vec.splat(np.float32(0.0))
        for strip in range(0, nodes, LANES):
            w = vec.load(weights, start + k * nodes + strip)
            terms = vec.multiply_add(w, vec.load(values, last + strip), terms)
        total += factor[k] * vec.add_lanes(terms)
        outer[at + k] = total


@nb.njit(cache=True, forceinline=True, error_model="numpy")
def _fill_partitions(cumulative, at, partials, scales, first, rows, s, branching, width):
    """Cumulative weights of a sum's partitions, from the kept partition sums."""
    top = scales[first]
    for j in range(1, branching):
        top = max(top, scales[first + j * rows])
    total = 0.0
    for j in range(branching):
        kept = first + j * rows
        total += partials[kept * width + s] * vec.power_of_two(np.int32(scales[kept] - top))
        cumulative[at + j] = total


@nb.njit(cache=True, forceinline=True, error_model="numpy")
def _find_children(children_of, below, entry, tabulated, entry_of, slot, live, child, children):
    """Entries of a partition's children, the first of which is region number ``child``."""
    for c in range(children):
        if entry < tabulated:
            children_of[c] = below[entry * children + c]
        else:
            children_of[c] = entry_of[live[child + c], slot]


@nb.njit(cache=True, forceinline=True, error_model="numpy")
def _visit_children(visited, behind, child, children_of, children, outer, last, nodes, shared):
    """Note the regions, nodes and entries that a drawn edge leads to, from ``behind`` on.

    ``last`` is the last child's node, or the shared one, and ``outer`` the others' as one number.
    """
    for c in range(children - 1, -1, -1):
        visited[behind + c, 0] = child + c
        visited[behind + c, 1] = last
        visited[behind + c, 2] = children_of[c]
        if not shared and c > 1:
            last = outer % nodes
            outer //= nodes
        elif not shared:
            last = outer


@nb.njit(cache=True, nogil=True, error_model="numpy")
def draw_trees(
    first, count, edges, leaf_nodes, counts, work, entries, geometry, plan, weights, copy_start,
    copy_ids, key, sweep,
):  # fmt: skip
    """Draw the trees of copies of rows first … first + count − 1, which are scored.

    A tree is the edges of the visited sums, then the leaves. ``edges`` (copies, visited sums) may
    be empty if only counts and leaves are wanted.
    """
    visited, uniforms, chosen = work.visited, work.uniforms, work.chosen
    children_of, entry_of, live = work.children_of, work.entry_of, plan.live
    partition, partition_row = work.partition, work.partition_row
    outer, outer_row, factor = work.outer, work.outer_row, work.factor
    partials, partial_scales = work.partials, work.partial_scales
    rows = work.targets.shape[0]
    values, below = entries.values, entries.below
    down = weights.down
    levels = geometry.branching.shape[0]
    children, width, shared = geometry.children, geometry.width, geometry.shared
    leaves = geometry.nodes[levels]
    tabulated = below.shape[0] // children
    last_only = children - 1 if not shared else 0
    sums_visited = chosen.shape[0]
    keep_edges = edges.shape[0] > 0
    for slot in range(count):
        row = first + slot
        root = entry_of[live[0], slot]
        doubtful, row_values = work.doubtful[slot], work.row_values[slot]
        for copy in range(copy_start[row], copy_start[row + 1]):
            fill_uniforms(uniforms, copy_ids[copy], sweep, key[0], key[1], 0, sums_visited)
            visited[0, 0] = 0
            visited[0, 1] = 0
            visited[0, 2] = root
            here, across = 0, 1
            for level in range(levels):
                branching, products = geometry.branching[level], geometry.products[level]
                sums, nodes = geometry.nodes[level], geometry.nodes[level + 1]
                region_base = geometry.region_base[level + 1]
                pair_base, outer_base = geometry.pair_base[level], geometry.outer_base[level]
                factors = geometry.outer[level]
                for position in range(across):
                    v = here + position
                    region, s, entry = visited[v, 0], visited[v, 1], visited[v, 2]
                    node = region * sums + s
                    pair = node * branching
                    start = geometry.weight_base[level] + pair * products
                    u = uniforms[v]
                    j, k, last = 0, 0, 0
                    if doubtful:
                        edge = exact.draw_edge(
                            row_values, weights.log, geometry, level, region, s, u
                        )
                        j = edge // products
                        k = (edge - j * products) // nodes if factors > 1 else 0
                        last = edge - j * products - k * nodes
                    else:
                        if branching > 1:
                            number = geometry.value_base[level] + node
                            if partition_row[number] != row:
                                partition_row[number] = row
                                kept = geometry.partition_base[level] + region * branching
                                _fill_partitions(
                                    partition, pair_base + pair, partials, partial_scales,
                                    kept * rows + slot, rows, s, branching, width,
                                )  # fmt: skip
                            j, u = _invert(partition, pair_base + pair, branching, u)
                        _find_children(
                            children_of, below, entry, tabulated, entry_of, slot, live,
                            region_base + (region * branching + j) * children, children,
                        )  # fmt: skip
                        begin = start + j * products
                        if factors > 1:
                            at = outer_base + (pair + j) * factors
                            if outer_row[pair_base + pair + j] != row:
                                outer_row[pair_base + pair + j] = row
                                _fill_outer(
                                    outer, at, factor, values, down, begin, nodes, children, width,
                                    children_of,
                                )  # fmt: skip
                            k, u = _invert(outer, at, factors, u)
                            begin += k * nodes
                        last = _draw_last(
                            values, down, begin, children, last_only, width, children_of, u
                        )
                        edge = j * products + k * nodes + last
                    chosen[v] = start + edge
                    if keep_edges:
                        edges[copy, v] = edge
                    behind = here + across + position * children
                    _visit_children(
                        visited, behind, (region * branching + j) * children, children_of, children,
                        k, last, nodes, shared,
                    )  # fmt: skip
                here += across
                across *= children
            # all at once: the increments wait for memory together, not one after the other
            for v in range(sums_visited):
                counts[chosen[v]] += 1
            for leaf in range(across):
                leaf_nodes[copy, leaf] = visited[here + leaf, 0] * leaves + visited[here + leaf, 1]
