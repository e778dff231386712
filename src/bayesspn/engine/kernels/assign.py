"""The row pass proper: evaluate rows bottom-up, then draw each copy's induced tree top-down."""
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from typing import NamedTuple

import numba as nb
import numpy as np

from bayesspn.engine.kernels import exact, upward
from bayesspn.engine.kernels.upward import LANES
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
    """Log densities of leaves, arranged for one block; see `bayesspn.engine.tables`."""

    constant: np.ndarray  # (regions, leaves)
    deviations: np.ndarray  # (features, paths, leaves)
    feature_column: np.ndarray  # (features,)
    leaf_regions: np.ndarray  # (columns, paths)
    dense: np.ndarray  # (dense columns, rows, paths, leaves)
    dense_columns: np.ndarray  # (dense columns,)


@nb.njit(cache=True)
def _evaluate_group(work, geometry, weights):
    values, scales, lacks, partials, partial_scales, product, lane_work, lane_bits = work
    levels = geometry.branching.shape[0]
    children = geometry.children
    for level in range(levels - 1, -1, -1):
        branching = geometry.branching[level]
        products = geometry.products[level]
        sums = geometry.nodes[level]
        nodes = geometry.nodes[level + 1]
        for region in range(geometry.regions[level]):
            partial_row = geometry.partial_base[level] + region * branching * sums
            for j in range(branching):
                partition = region * branching + j
                child = geometry.value_base[level + 1] + partition * children * nodes
                upward.multiply_children(product, values, child, nodes, children, geometry.shared)
                start = geometry.weight_base[level] + partition * products * sums
                upward.add_weighted(
                    partials, partial_row + j * sums, weights, start, product, products, sums
                )
            upward.combine_partitions(
                values,
                geometry.value_base[level] + region * sums,
                scales,
                lacks,
                geometry.region_base[level] + region,
                partials,
                partial_row,
                partial_scales,
                geometry.partition_base[level] + region * branching,
                branching,
                sums,
                lane_work,
                lane_bits,
                geometry.region_base[level + 1] + region * branching * children,
                children,
            )


@nb.njit(cache=True, fastmath={"contract", "reassoc", "nsz", "arcp"})
def _draw_edge(work, local, geometry, weights, level, region, s, lane, u):
    """Draw an edge of a sum for one lane: the partition from the kept sums, then the product."""
    values, _, _, partials, partial_scales, _, _, _ = work
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
    edges, work, local, row_values, is_exact, geometry, weights_down, log_weights, lane, uniforms,
    positions,
):  # fmt: skip
    """Draw one induced tree: the edge of every visited sum, level by level."""
    positions[0, 0] = 0
    positions[0, 1] = 0
    here = 0
    width = 1
    for level in range(geometry.branching.shape[0]):
        for position in range(width):
            v = here + position
            region, s = positions[v, 0], positions[v, 1]
            if is_exact:
                edge = exact.draw_edge(
                    row_values, log_weights, geometry, level, region, s, uniforms[v]
                )
            else:
                edge = _draw_edge(
                    work, local, geometry, weights_down, level, region, s, lane, uniforms[v]
                )
            edges[v] = edge
            step_down(
                geometry, level, region, edge, positions, here + width + position * geometry.children
            )
        here += width
        width *= geometry.children


@nb.njit(cache=True)
def _assign_group(
    first, count, work, acc, local, row_values, uniforms, positions, powers, geometry, tables,
    row_start, row_features, copy_start, copy_ids, weights_up, weights_down, log_weights, key, sweep,
    draw, edges, log_likelihood,
):  # fmt: skip
    values, scales, lacks, _, _, _, _, _ = work
    levels = geometry.branching.shape[0]
    leaf_value = geometry.value_base[levels]
    leaf_region = geometry.region_base[levels]
    upward.sum_leaves(
        acc, first, count, tables.constant, tables.deviations, tables.feature_column,
        tables.leaf_regions, row_start, row_features, tables.dense, tables.dense_columns,
    )  # fmt: skip
    upward.exponentiate_leaves(
        values[leaf_value:], scales[leaf_region:], lacks[leaf_region:], acc, count, powers
    )
    _evaluate_group(work, geometry, weights_up)
    sums_visited = edges.shape[1]
    for lane in range(count):
        row = first + lane
        doubtful = not lacks[0, lane] < upward.TOLERANCE * values[0, lane]
        if doubtful:
            log_likelihood[row] = exact.evaluate_row(row_values, acc[lane], log_weights, geometry)
        else:
            log_likelihood[row] = np.log(np.float64(values[0, lane])) + _LN2 * scales[0, lane]
        if draw:
            for copy in range(copy_start[row], copy_start[row + 1]):
                fill_uniforms(uniforms, copy_ids[copy], sweep, key[0], key[1], 0, sums_visited)
                _draw_tree(
                    edges[copy], work, local, row_values, doubtful, geometry, weights_down,
                    log_weights, lane, uniforms, positions,
                )  # fmt: skip


@nb.njit(cache=True, parallel=True)
def assign_rows(
    geometry, tables, row_start, row_features, copy_start, copy_ids, weights_up, weights_down,
    log_weights, key, sweep, draw, threads, edges, log_likelihood,
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
    log_likelihood : float64 array of shape (rows,)
        Receives the log density of every distinct row.
    """
    rows = log_likelihood.shape[0]
    levels = geometry.branching.shape[0]
    groups = (rows + LANES - 1) // LANES
    tasks = min(threads, groups)
    n_values = geometry.value_base[levels] + geometry.regions[levels] * geometry.nodes[levels]
    n_regions = geometry.region_base[levels] + geometry.regions[levels]
    most_products = max(geometry.products.max(), geometry.branching.max())
    visited = 1
    width = 1
    for _ in range(levels):
        width *= geometry.children
        visited += width
    for task in nb.prange(tasks):
        lane_work = np.zeros(LANES, dtype=np.float32)
        work = (
            np.zeros((n_values, LANES), dtype=np.float32),
            np.zeros((n_regions, LANES), dtype=np.int32),
            np.zeros((n_regions, LANES), dtype=np.float32),
            np.zeros((geometry.partial_base[levels], LANES), dtype=np.float32),
            np.zeros((geometry.partition_base[levels], LANES), dtype=np.int32),
            np.zeros((most_products, LANES), dtype=np.float32),
            lane_work,
            lane_work.view(np.int32),
        )
        acc = np.zeros(
            (LANES, tables.constant.shape[0], tables.constant.shape[1]), dtype=tables.constant.dtype
        )
        local = np.zeros(most_products, dtype=np.float64)
        row_values = np.zeros(n_values, dtype=np.float64)
        uniforms = np.zeros(edges.shape[1], dtype=np.float64)
        positions = np.zeros((visited, 2), dtype=np.int64)
        powers = np.zeros(upward.DROPPED + 2, dtype=np.float32)
        for power in range(upward.DROPPED + 1):
            powers[power] = 2.0**-power
        for group in range(task * groups // tasks, (task + 1) * groups // tasks):
            first = group * LANES
            _assign_group(
                first, min(LANES, rows - first), work, acc, local, row_values, uniforms, positions,
                powers, geometry, tables, row_start, row_features, copy_start, copy_ids, weights_up,
                weights_down, log_weights, key, sweep, draw, edges, log_likelihood,
            )  # fmt: skip
