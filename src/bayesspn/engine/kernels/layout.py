"""Arrays that the kernels of the row pass share: geometry, leaf tables, work space."""

from __future__ import annotations

from typing import NamedTuple

import numba as nb
import numpy as np

from bayesspn.engine.kernels.vectors import LANES


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

    constant: np.ndarray  # (regions, padded leaves)
    deviations: np.ndarray  # (features, paths, padded leaves)
    feature_column: np.ndarray  # (features,)
    leaf_regions: np.ndarray  # (columns, paths)
    dense: np.ndarray  # (dense columns, rows, paths, padded leaves)
    dense_columns: np.ndarray  # (dense columns,)


class Workspace(NamedTuple):
    """Arrays of one thread; the last axis is the lanes'."""

    values: np.ndarray  # (nodes, lanes), levels one after the other, leaves last
    scales: np.ndarray  # (regions, lanes)
    lacks: np.ndarray  # (regions, lanes)
    partials: np.ndarray  # (partition sums, lanes), levels with several partitions per region
    partial_scales: np.ndarray  # (partitions, lanes)
    product: np.ndarray  # (most products of a partition, lanes)
    turned: np.ndarray  # (padded leaves, lanes)
    acc: np.ndarray  # (leaf regions, lanes, padded leaves), of the leaf tables' type
    leaf_log: np.ndarray  # (leaf regions, padded leaves), natural logs of one row
    local: np.ndarray  # (most children of a sum,)
    row_values: np.ndarray  # (nodes,)
    uniforms: np.ndarray  # (visited sums,)
    positions: np.ndarray  # (visited nodes, 3): region, node, pattern or −1
    patterns: np.ndarray  # (regions, lanes) patterns of small regions
    cumulative: np.ndarray  # (weights,) cumulative edge probabilities of sums, for rows with copies
    cumulated: np.ndarray  # (sums,) the row that a sum's entries in ``cumulative`` belong to


@nb.njit(cache=True)
def make_workspace(geometry, tables, many_copies):
    """Allocate the arrays of one thread; ``many_copies`` if rows can have several."""
    levels = geometry.branching.shape[0]
    n_values = geometry.value_base[levels] + geometry.regions[levels] * geometry.nodes[levels]
    n_regions = geometry.region_base[levels] + geometry.regions[levels]
    dtype = tables.constant.dtype
    regions, padded = tables.constant.shape
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
        np.zeros((padded, LANES), dtype=np.float32),
        np.zeros((regions, LANES, padded), dtype=dtype),
        np.zeros((regions, padded), dtype=np.float64),
        np.zeros(most_products, dtype=np.float64),
        np.zeros(n_values, dtype=np.float64),
        np.zeros(visited_sums, dtype=np.float64),
        np.zeros((visited_sums + width, 3), dtype=np.int64),
        np.zeros((n_regions, LANES), dtype=np.int32),
        np.zeros(geometry.weight_base[levels] if many_copies else 0, dtype=np.float64),
        np.full(geometry.value_base[levels], -1, dtype=np.int64),
    )
