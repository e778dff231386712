"""Arrays that the kernels of the row pass share: geometry, leaf tables, entries, work space.

An *entry* is what a region is worth for a row, or for all rows with the same pattern: the values
of its nodes, on a scale of their own. Entries are numbered; entry e holds ``values[e · width]`` and
the ``width − 1`` numbers after it, zeros beyond the region's nodes. The tables of small regions
come first (`bayesspn.engine.kernels.patterns`), then the work space of every thread.
"""

from __future__ import annotations

from typing import NamedTuple

import numba as nb
import numpy as np

from bayesspn.engine.kernels.valued import Scratch, make_scratch
from bayesspn.engine.kernels.vectors import LANES

#: Rows that are evaluated side by side, so that a weight is loaded once for all of them.
ROWS = 8

#: A thread's entries should stay in a second-level cache: this many values at most.
_CACHED_VALUES = 200_000
_MOST_ROWS = 64


class Geometry(NamedTuple):
    """A region graph as numbers; see `RegionGraph`. Bases are offsets into flat arrays."""

    regions: np.ndarray
    nodes: np.ndarray
    branching: np.ndarray
    products: np.ndarray
    value_base: np.ndarray  # first node of each level
    region_base: np.ndarray  # first region of each level
    partition_base: np.ndarray  # first partition of each level with several per region
    weight_base: np.ndarray  # first weight of each level
    padded_base: np.ndarray  # first weight of each level, sums padded to the width
    pair_base: np.ndarray  # first pair of a sum and a partition of each level
    outer: np.ndarray  # tuples of nodes of all children but the last; 1 if products are shared
    outer_base: np.ndarray  # first such tuple of a sum and a partition, where there are several
    children: int
    shared: bool
    width: int  # values of an entry: the nodes of a region, padded to full vectors


class LeafTables(NamedTuple):
    """Binary log densities of leaves, arranged for one block; see `bayesspn.engine.leaf_tables`."""

    constant: np.ndarray  # (regions, width)
    deviations: np.ndarray  # (features, paths, width)
    feature_column: np.ndarray  # (features,)
    leaf_regions: np.ndarray  # (columns, paths)
    dense: DenseColumns


class DenseColumns(NamedTuple):
    """Columns whose values are evaluated row by row; see `bayesspn.engine.kernels.valued`."""

    columns: np.ndarray  # (dense columns,)
    first_value: np.ndarray  # (dense columns,) of the block's first row
    first_member: np.ndarray  # (dense columns + 1,)
    features: np.ndarray  # (families, values, 1 + statistics)
    spans: np.ndarray  # (families, values, 4)
    forms: np.ndarray  # (members,)
    parameters: np.ndarray  # (members, parameters, different leaves)
    single: np.ndarray  # (members, parameters, padded), or without members
    power: float
    places: np.ndarray  # (dense columns, paths × leaves)


class Plan(NamedTuple):
    """What is evaluated for every row. Regions are numbered over all levels, root first."""

    region: np.ndarray  # (evaluated,) regions that are not small, children before parents
    level: np.ndarray  # (evaluated,)
    leaf_region: np.ndarray  # (evaluated leaf regions,) counted within the last level
    leaf_live: np.ndarray  # (evaluated leaf regions,)
    live: np.ndarray  # (regions,) evaluated: 0, 1, …; then the largest small regions; others −1
    place: np.ndarray  # (columns, paths) of the column's leaf sums; inverted: a live small region
    stride: np.ndarray  # (columns, paths) of the column in the patterns of that small region
    small: np.ndarray  # (largest small regions,) their first entry
    rows: int  # rows evaluated together


class Entries(NamedTuple):
    """Values of regions; see the module's docstring."""

    values: np.ndarray  # float32 (entries × width)
    marks: np.ndarray  # float32 (entries × 2) scale, a power of two; what the values may lack
    below: np.ndarray  # int32 (table entries × children) the children's entries


class Weights(NamedTuple):
    """Sum weights in the orders in which they are read."""

    up: np.ndarray  # float32, (region, partition, product, padded sum) level after level
    down: np.ndarray  # float32, (region, sum, partition, product) level after level, and a vector
    log: np.ndarray  # float64, in the order of ``down``


class LeafSpace(NamedTuple):
    """Arrays of one thread for leaves; sums and dense columns have the leaf tables' type."""

    sums: np.ndarray  # (leaf regions, width)
    dense: np.ndarray  # (dense columns × rows × paths × leaves, and a vector)
    scratch: Scratch


class Workspace(NamedTuple):
    """Arrays of one thread, of the same types whatever that of the leaf tables is."""

    entry_of: np.ndarray  # int32 (live regions, rows)
    partials: np.ndarray  # float32 (partitions × rows × width) sums of single partitions
    partial_scales: np.ndarray  # float32 (partitions × rows)
    partial_lacks: np.ndarray  # float32 (partitions × rows)
    targets: np.ndarray  # int32 (rows,) entries to write
    children_of: np.ndarray  # int32 (rows × partitions of a region × children) entries to read
    product: np.ndarray  # float32 (ROWS + 2 × product_step), the last two to spare
    product_step: int  # most products of a partition and two vectors, at least two entries
    total: np.ndarray  # float32 (ROWS × width)
    is_leaf: np.ndarray  # float32 (width,) 1 for leaves, 0 for padding
    factor: np.ndarray  # float64 (products of all children but the last,)
    outer: np.ndarray  # float64 (weights without the last child's axis,) cumulative
    outer_row: np.ndarray  # int64 (sum partitions,) the row that entries in ``outer`` belong to
    partition: np.ndarray  # float64 (sum partitions,) cumulative over the partitions of a sum
    partition_row: np.ndarray  # int64 (sums,)
    visited: np.ndarray  # int64 (visited nodes, 3): region of the level, node, entry
    uniforms: np.ndarray  # float64 (visited sums,)
    chosen: np.ndarray  # int64 (visited sums,) numbers of the chosen weights
    doubtful: np.ndarray  # bool (rows,) whether what was dropped may matter to a row
    leaf_log: np.ndarray  # float64 (leaf regions, width), natural logs of one row
    row_values: np.ndarray  # float64 (rows, nodes), natural logs of doubtful rows


@nb.njit(cache=True, nogil=True, error_model="numpy")
def rows_together(geometry, evaluated):
    """Rows to evaluate together, so that their entries stay in the cache."""
    fitting = _CACHED_VALUES // max(1, evaluated * geometry.width)
    return min(_MOST_ROWS, max(ROWS, fitting // ROWS * ROWS))


@nb.njit(cache=True, nogil=True, error_model="numpy")
def mark_leaves(geometry):
    """1 for the leaves of a leaf region, 0 for padding; float32 (width,)."""
    is_leaf = np.zeros(geometry.width, dtype=np.float32)
    for leaf in range(geometry.nodes[geometry.branching.shape[0]]):
        is_leaf[leaf] = 1.0
    return is_leaf


@nb.njit(cache=True, nogil=True, error_model="numpy")
def make_leaf_space(tables, plan):
    """Allocate what depends on the type of the leaf tables, for one thread."""
    return LeafSpace(
        np.zeros(tables.constant.shape, dtype=tables.constant.dtype),
        np.zeros(
            tables.dense.columns.shape[0] * plan.rows * tables.dense.places.shape[1] + LANES,
            dtype=tables.constant.dtype,
        ),
        make_scratch(tables.dense.parameters.shape[2]),
    )


@nb.njit(cache=True, nogil=True, error_model="numpy")
def make_workspace(geometry, plan, first_entry):
    """Allocate the arrays of one thread, whose entries start at ``first_entry``."""
    levels = geometry.branching.shape[0]
    width, rows = geometry.width, plan.rows
    n_values = geometry.value_base[levels] + geometry.regions[levels] * geometry.nodes[levels]
    visited_sums, visited = 0, 1
    for _ in range(levels):
        visited_sums += visited
        visited *= geometry.children
    entry_of = np.zeros((plan.region.shape[0] + plan.small.shape[0], rows), dtype=np.int32)
    for row in range(rows):
        for k in range(plan.region.shape[0]):
            entry_of[k, row] = first_entry + k * rows + row
        for k in range(plan.small.shape[0]):
            entry_of[plan.region.shape[0] + k, row] = plan.small[k]
    leaf_regions = geometry.regions[levels]
    product_step = max(geometry.products.max() + 2 * LANES, 2 * width)
    return Workspace(
        entry_of,
        np.zeros(geometry.partition_base[levels] * rows * width, dtype=np.float32),
        np.zeros(geometry.partition_base[levels] * rows, dtype=np.float32),
        np.zeros(geometry.partition_base[levels] * rows, dtype=np.float32),
        np.zeros(rows, dtype=np.int32),
        np.zeros(rows * geometry.branching.max() * geometry.children, dtype=np.int32),
        np.zeros((ROWS + 2) * product_step, dtype=np.float32),
        product_step,
        np.zeros(ROWS * width, dtype=np.float32),
        mark_leaves(geometry),
        np.ones(geometry.outer.max(), dtype=np.float64),
        np.zeros(geometry.outer_base[levels], dtype=np.float64),
        np.full(geometry.pair_base[levels], -1, dtype=np.int64),
        np.zeros(geometry.pair_base[levels], dtype=np.float64),
        np.full(geometry.value_base[levels], -1, dtype=np.int64),
        np.zeros((visited_sums + visited, 3), dtype=np.int64),
        np.zeros(visited_sums, dtype=np.float64),
        np.zeros(visited_sums, dtype=np.int64),
        np.zeros(rows, dtype=np.bool_),
        np.zeros((leaf_regions, width), dtype=np.float64),
        np.zeros((rows, n_values), dtype=np.float64),
    )
