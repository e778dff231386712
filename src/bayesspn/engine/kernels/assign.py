"""The row pass proper: evaluate rows bottom-up, then draw each copy's induced tree top-down."""

from __future__ import annotations

from typing import NamedTuple

import numba as nb
import numpy as np

from bayesspn.engine.kernels import exact, upward
from bayesspn.engine.kernels.patterns import (
    child_pattern,
    join_patterns,
    load_patterns,
    store_patterns,
    tabulate_leaf_region,
)
from bayesspn.engine.kernels.vectors import LANES
from bayesspn.randomness import fill_uniforms

_LN2 = 0.6931471805599453


class Geometry(NamedTuple):
    """A region graph as numbers; see `RegionGraph`. Bases are offsets into flat arrays."""

    regions: np.ndarray
    nodes: np.ndarray
    branching: np.ndarray
    products: np.ndarray
    value_base: np.ndarray  # first node of each level
    region_base: np.ndarray  # first region of each level
    partition_base: np.ndarray  # first partition of each level
    partial_base: np.ndarray  # first partition sum of each level
    weight_base: np.ndarray  # first weight of each level
    children: int
    shared: bool


class LeafTables(NamedTuple):
    """Binary log densities of leaves, arranged for one block; see `bayesspn.engine.tables`."""

    constant: np.ndarray  # (regions, leaves)
    deviations: np.ndarray  # (features, paths, leaves)
    feature_column: np.ndarray  # (features,)
    leaf_regions: np.ndarray  # (columns, paths)
    dense: np.ndarray  # (dense columns, rows, paths, leaves)
    dense_columns: np.ndarray  # (dense columns,)


class Workspace(NamedTuple):
    """Arrays of one thread; the last axis is the lanes'."""

    values: np.ndarray  # (nodes, lanes), levels one after the other, leaves last
    scales: np.ndarray  # (regions, lanes)
    lacks: np.ndarray  # (regions, lanes)
    partials: np.ndarray  # (partition sums, lanes), levels with several partitions per region
    partial_scales: np.ndarray  # (partitions, lanes)
    product: np.ndarray  # (most products of a partition, lanes)
    turned: np.ndarray  # (leaves, lanes)
    acc: np.ndarray  # (leaf regions, lanes, leaves), of the leaf tables' type
    leaf_log: np.ndarray  # (leaf regions, leaves), natural logs of one row
    local: np.ndarray  # (most children of a sum,)
    row_values: np.ndarray  # (nodes,)
    uniforms: np.ndarray  # (visited sums,)
    positions: np.ndarray  # (visited nodes, 3): region, node, pattern or −1
    patterns: np.ndarray  # (regions, lanes) patterns of small regions


@nb.njit(cache=True)
def make_workspace(geometry, tables):
    """Allocate the arrays of one thread."""
    levels = geometry.branching.shape[0]
    n_values = geometry.value_base[levels] + geometry.regions[levels] * geometry.nodes[levels]
    n_regions = geometry.region_base[levels] + geometry.regions[levels]
    dtype = tables.constant.dtype
    regions, leaves = tables.constant.shape
    most_products = max(geometry.products.max(), geometry.branching.max())
    visited_sums = 0
    width = 1
    for _ in range(levels):
        visited_sums += width
        width *= geometry.children
    return Workspace(
        np.zeros((n_values, LANES), dtype=np.float32),
        np.zeros((n_regions, LANES), dtype=np.int32),
        np.zeros((n_regions, LANES), dtype=np.float32),
        np.zeros((geometry.partial_base[levels], LANES), dtype=np.float32),
        np.zeros((geometry.partition_base[levels], LANES), dtype=np.int32),
        np.zeros((most_products, LANES), dtype=np.float32),
        np.zeros((leaves, LANES), dtype=np.float32),
        np.zeros((regions, LANES, leaves), dtype=dtype),
        np.zeros((regions, leaves), dtype=np.float64),
        np.zeros(most_products, dtype=np.float64),
        np.zeros(n_values, dtype=np.float64),
        np.zeros(visited_sums, dtype=np.float64),
        np.zeros((visited_sums + width, 3), dtype=np.int64),
        np.zeros((n_regions, LANES), dtype=np.int32),
    )


@nb.njit(cache=True)
def _evaluate_region(work, geometry, weights, level, region):
    """Evaluate the sums of a region whose children are done."""
    branching = geometry.branching[level]
    products = geometry.products[level]
    sums = geometry.nodes[level]
    nodes = geometry.nodes[level + 1]
    children = geometry.children
    at = geometry.value_base[level] + region * sums
    partial = geometry.partial_base[level] + region * branching * sums
    for j in range(branching):
        partition = region * branching + j
        below = geometry.value_base[level + 1] + partition * children * nodes
        upward.multiply_children(work.product, work.values, below, nodes, children, geometry.shared)
        start = geometry.weight_base[level] + partition * products * sums
        if branching > 1:
            out, first = work.partials, partial + j * sums
        else:
            out, first = work.values, at
        upward.add_weighted(out, first, weights, start, work.product, products, sums)
    partition = geometry.partition_base[level] + region * branching
    here = geometry.region_base[level] + region
    child = geometry.region_base[level + 1] + region * branching * children
    upward.scale_partitions(
        work.partial_scales, partition, work.scales, work.lacks, here, child, branching, children
    )
    if branching > 1:
        upward.add_partitions(
            work.values, at, work.partials, partial, work.partial_scales, partition, work.scales,
            here, branching, sums,
        )  # fmt: skip
    upward.normalise(work.values, at, work.scales, work.lacks, here, sums)


@nb.njit(cache=True)
def _load_small_children(work, geometry, patterns, level, region):
    """Look up the values of a region's small children."""
    siblings = geometry.branching[level] * geometry.children
    nodes = geometry.nodes[level + 1]
    for child in range(region * siblings, (region + 1) * siblings):
        here = geometry.region_base[level + 1] + child
        if patterns.size[here] > 0:
            at = geometry.value_base[level + 1] + child * nodes
            load_patterns(work, patterns, here, nodes, at)


@nb.njit(cache=True)
def _evaluate_group(work, geometry, patterns, weights):
    """Evaluate all regions, each as soon as its children are done and still in the cache."""
    levels = geometry.branching.shape[0]
    leaves = geometry.nodes[levels]
    children = geometry.children
    for leaf_region in range(geometry.regions[levels]):
        at = geometry.value_base[levels] + leaf_region * leaves
        here = geometry.region_base[levels] + leaf_region
        if patterns.size[here] == 0:
            upward.exponentiate_leaves(
                work.values, at, work.scales, work.lacks, here, work.acc[leaf_region], work.turned
            )
        region = leaf_region
        for level in range(levels - 1, -1, -1):
            siblings = geometry.branching[level] * children
            if (region + 1) % siblings != 0:
                break
            region //= siblings
            here = geometry.region_base[level] + region
            if patterns.size[here] > 0:
                child = geometry.region_base[level + 1] + region * children
                join_patterns(work, patterns, here, child, children)
            else:
                _load_small_children(work, geometry, patterns, level, region)
                _evaluate_region(work, geometry, weights, level, region)
    if patterns.size[0] > 0:
        load_patterns(work, patterns, 0, 1, 0)


@nb.njit(cache=True)
def tabulate_patterns(geometry, tables, patterns, weights):
    """Fill the tables of all small regions, bottom-up, with patterns in the lanes."""
    work = make_workspace(geometry, tables)
    levels = geometry.branching.shape[0]
    children = geometry.children
    columns, paths = tables.leaf_regions.shape
    regions = geometry.regions[levels]
    starts = np.zeros(regions + 1, dtype=np.int64)
    for d in range(columns):
        for q in range(paths):
            starts[tables.leaf_regions[d, q] + 1] += 1
    starts = np.cumsum(starts)
    members = np.empty(starts[regions], dtype=np.int64)
    member_paths = np.empty(starts[regions], dtype=np.int64)
    filled = starts.copy()
    for d in range(columns):
        for q in range(paths):
            region = tables.leaf_regions[d, q]
            members[filled[region]] = d
            member_paths[filled[region]] = q
            filled[region] += 1
    for region in range(regions):
        here = geometry.region_base[levels] + region
        if patterns.size[here] > 0:
            own = slice(starts[region], starts[region + 1])
            at = geometry.value_base[levels] + region * geometry.nodes[levels]
            tabulate_leaf_region(
                work, patterns, tables, region, here, at, members[own], member_paths[own]
            )
    for level in range(levels - 1, -1, -1):
        for region in range(geometry.regions[level]):
            here = geometry.region_base[level] + region
            size = patterns.size[here]
            child = geometry.region_base[level + 1] + region * children
            for first in range(0, size, LANES):
                for lane in range(LANES):
                    pattern = min(first + lane, size - 1)
                    for c in range(children):
                        work.patterns[child + c, lane] = child_pattern(
                            patterns, child, children, c, pattern
                        )
                _load_small_children(work, geometry, patterns, level, region)
                _evaluate_region(work, geometry, weights, level, region)
                nodes = geometry.nodes[level]
                at = geometry.value_base[level] + region * nodes
                store_patterns(work, patterns, here, nodes, at, first, min(LANES, size - first))


@nb.njit(cache=True, fastmath={"contract", "reassoc", "nsz", "arcp"})
def _draw_edge(work, geometry, weights, level, region, s, lane, u):
    """Draw an edge of a sum for one lane: the partition from the kept sums, then the product."""
    values, partials, partial_scales = work.values, work.partials, work.partial_scales
    local = work.local
    branching = geometry.branching[level]
    products = geometry.products[level]
    sums = geometry.nodes[level]
    nodes = geometry.nodes[level + 1]
    children = geometry.children
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
            local[k] = partials[partial_row + k * sums, lane] * 2.0**shift
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
    child = geometry.value_base[level + 1] + (region * branching + j) * children * nodes
    start = geometry.weight_base[level] + ((region * sums + s) * branching + j) * products
    # local[:products] = values of the products, in lexicographic order
    if children == 1:
        for e in range(nodes):
            local[e] = values[child + e, lane]
    elif geometry.shared:
        for e in range(nodes):
            local[e] = values[child + e, lane]
            for c in range(1, children):
                local[e] *= values[child + c * nodes + e, lane]
    else:
        size = nodes
        for e in range(nodes):
            local[e] = values[child + (children - 1) * nodes + e, lane]
        for c in range(children - 2, -1, -1):
            for i in range(nodes - 1, -1, -1):
                factor = values[child + c * nodes + i, lane]
                for e in range(size):
                    local[i * size + e] = factor * local[e]
            size *= nodes
    return j * products + _choose(local, weights, start, products, u)


@nb.njit(cache=True)
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


@nb.njit(cache=True, fastmath={"contract", "reassoc", "nsz", "arcp"})
def _choose(local, weights, start, products, u):
    """Draw a product with probability ∝ weight × value, given the values in ``local``."""
    total = 0.0
    for e in range(products):
        local[e] *= weights[start + e]
        total += local[e]
    u *= total
    last = 0
    for e in range(products):
        if local[e] > 0.0:
            last = e
            if u < local[e]:
                break
            u -= local[e]
    return last


@nb.njit(cache=True)
def step_down(geometry, level, region, edge, positions, at):
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


@nb.njit(cache=True)
def _draw_tree(
    edges, leaf_nodes, counts, work, doubtful, geometry, patterns, weights_down, log_weights, lane
):
    """Draw one induced tree, level by level: the edge of every visited sum, then the leaves."""
    positions = work.positions
    positions[0, 0] = 0
    positions[0, 1] = 0
    positions[0, 2] = work.patterns[0, lane] if patterns.size[0] > 0 else -1
    here = 0
    width = 1
    for level in range(geometry.branching.shape[0]):
        for position in range(width):
            v = here + position
            region, s, pattern = positions[v, 0], positions[v, 1], positions[v, 2]
            if doubtful:
                edge = exact.draw_edge(
                    work.row_values, log_weights, geometry, level, region, s, work.uniforms[v]
                )
            elif pattern >= 0:
                edge = _draw_tabulated_edge(
                    work, geometry, patterns, weights_down, level, region, s, pattern,
                    work.uniforms[v],
                )  # fmt: skip
            else:
                edge = _draw_edge(
                    work, geometry, weights_down, level, region, s, lane, work.uniforms[v]
                )
            edges[v] = edge
            span = geometry.branching[level] * geometry.products[level]
            first = geometry.weight_base[level] + (region * geometry.nodes[level] + s) * span
            counts[first + edge] += 1
            behind = here + width + position * geometry.children
            step_down(geometry, level, region, edge, positions, behind)
            for c in range(geometry.children):
                child = geometry.region_base[level + 1] + positions[behind + c, 0]
                if patterns.size[child] == 0:
                    positions[behind + c, 2] = -1
                elif pattern >= 0:
                    positions[behind + c, 2] = child_pattern(
                        patterns, child - c, geometry.children, c, pattern
                    )
                else:
                    positions[behind + c, 2] = work.patterns[child, lane]
        here += width
        width *= geometry.children
    leaves = geometry.nodes[geometry.branching.shape[0]]
    for leaf in range(width):
        leaf_nodes[leaf] = positions[here + leaf, 0] * leaves + positions[here + leaf, 1]


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
    _evaluate_group(work, geometry, patterns, weights_up)
    sums_visited = edges.shape[1]
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
            for copy in range(copy_start[row], copy_start[row + 1]):
                fill_uniforms(work.uniforms, copy_ids[copy], sweep, key[0], key[1], 0, sums_visited)
                _draw_tree(
                    edges[copy], leaf_nodes[copy], counts, work, doubtful, geometry, patterns,
                    weights_down, log_weights, lane,
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
        work = make_workspace(geometry, tables)
        for group in range(task * groups // tasks, (task + 1) * groups // tasks):
            first = group * LANES
            _assign_group(
                first, min(LANES, rows - first), work, geometry, tables, patterns, row_start,
                row_features, copy_start, copy_ids, weights_up, weights_down, log_weights, key,
                sweep, draw, edges, leaf_nodes, counts[task], log_likelihood,
            )  # fmt: skip
