"""The row pass proper: evaluate rows bottom-up, then draw each copy's induced tree top-down."""

from __future__ import annotations

from typing import NamedTuple

import numba as nb
import numpy as np

from bayesspn.engine.kernels import exact, upward
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
    positions: np.ndarray  # (visited nodes, 2)


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
        np.zeros((visited_sums + width, 2), dtype=np.int64),
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
def _evaluate_group(work, geometry, weights):
    """Evaluate all regions, each as soon as its children are done and still in the cache."""
    levels = geometry.branching.shape[0]
    leaves = geometry.nodes[levels]
    for leaf_region in range(geometry.regions[levels]):
        at = geometry.value_base[levels] + leaf_region * leaves
        here = geometry.region_base[levels] + leaf_region
        upward.exponentiate_leaves(
            work.values, at, work.scales, work.lacks, here, work.acc[leaf_region], work.turned
        )
        region = leaf_region
        for level in range(levels - 1, -1, -1):
            siblings = geometry.branching[level] * geometry.children
            if (region + 1) % siblings != 0:
                break
            region //= siblings
            _evaluate_region(work, geometry, weights, level, region)


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
    # local[:products] = weight × product, in lexicographic order
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
    return j * products + last


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
    edges, leaf_nodes, counts, work, doubtful, geometry, weights_down, log_weights, lane
):
    """Draw one induced tree, level by level: the edge of every visited sum, then the leaves."""
    positions = work.positions
    positions[0, 0] = 0
    positions[0, 1] = 0
    here = 0
    width = 1
    for level in range(geometry.branching.shape[0]):
        for position in range(width):
            v = here + position
            region, s = positions[v, 0], positions[v, 1]
            if doubtful:
                edge = exact.draw_edge(
                    work.row_values, log_weights, geometry, level, region, s, work.uniforms[v]
                )
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
        here += width
        width *= geometry.children
    leaves = geometry.nodes[geometry.branching.shape[0]]
    for leaf in range(width):
        leaf_nodes[leaf] = positions[here + leaf, 0] * leaves + positions[here + leaf, 1]


@nb.njit(cache=True)
def _assign_group(
    first, count, work, geometry, tables, row_start, row_features, copy_start, copy_ids, weights_up,
    weights_down, log_weights, key, sweep, draw, edges, leaf_nodes, counts, log_likelihood,
):  # fmt: skip
    upward.sum_leaves(
        work.acc, first, count, tables.constant, tables.deviations, tables.feature_column,
        tables.leaf_regions, row_start, row_features, tables.dense, tables.dense_columns,
    )  # fmt: skip
    _evaluate_group(work, geometry, weights_up)
    sums_visited = edges.shape[1]
    for lane in range(count):
        row = first + lane
        doubtful = not work.lacks[0, lane] < upward.TOLERANCE * work.values[0, lane]
        if doubtful:
            for region in range(work.acc.shape[0]):
                for i in range(work.acc.shape[2]):
                    work.leaf_log[region, i] = _LN2 * work.acc[region, lane, i]
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
                    edges[copy], leaf_nodes[copy], counts, work, doubtful, geometry, weights_down,
                    log_weights, lane,
                )  # fmt: skip


@nb.njit(cache=True, parallel=True)
def assign_rows(
    geometry, tables, row_start, row_features, copy_start, copy_ids, weights_up, weights_down,
    log_weights, key, sweep, draw, edges, leaf_nodes, counts, log_likelihood,
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
                first, min(LANES, rows - first), work, geometry, tables, row_start, row_features,
                copy_start, copy_ids, weights_up, weights_down, log_weights, key, sweep, draw,
                edges, leaf_nodes, counts[task], log_likelihood,
            )  # fmt: skip
