"""Regions with few columns: rows that agree on them share one evaluation.

A region whose columns have few combinations of codes is *small*. Its values are tabulated once per
circuit, one entry per pattern, by the same code that evaluates rows, with patterns in the lanes. A
row then only needs to know its pattern, a number that adds up over stored cells in a leaf region
and composes from the children's numbers above. Only regions below which every region has a single
partition can be small above the leaves: with several partitions patterns would not compose.
"""

from __future__ import annotations

from typing import NamedTuple

import numba as nb
import numpy as np

from bayesspn.engine.kernels import upward
from bayesspn.engine.kernels.vectors import LANES


class Patterns(NamedTuple):
    """Small regions and their tables. Regions are numbered over all levels, root first."""

    size: np.ndarray  # (regions,) patterns of small regions, 0 for others
    value_at: np.ndarray  # (regions,) first table value
    entry_at: np.ndarray  # (regions,) first table entry
    stride: np.ndarray  # (columns, paths) of a column in its leaf region's patterns, 0 if not small
    widths: np.ndarray  # (columns,) codes per column
    feature_rank: np.ndarray  # (features,) of a code in patterns; the reference code is 0
    rank_feature: np.ndarray  # (features,) inverse of feature_rank, within each column
    feature_base: np.ndarray  # (columns + 1,)
    values: np.ndarray  # float32, patterns of a region × nodes
    scales: np.ndarray  # int32, one per pattern
    lacks: np.ndarray  # float32, one per pattern


@nb.njit(cache=True)
def find_small_regions(geometry, leaf_regions, widths, most):
    """Sizes of small regions (at most ``most`` patterns) and strides of their columns."""
    levels = geometry.branching.shape[0]
    columns, paths = leaf_regions.shape
    base = geometry.region_base[levels]
    size = np.zeros(base + geometry.regions[levels], dtype=np.int64)
    stride = np.zeros((columns, paths), dtype=np.int64)
    size[base:] = 1
    for d in range(columns):
        for q in range(paths):
            region = base + leaf_regions[d, q]
            stride[d, q] = size[region]
            if size[region] <= most:  # beyond that a product could overflow
                size[region] *= widths[d]
    for region in range(base, size.shape[0]):
        if size[region] > most:
            size[region] = 0
    for d in range(columns):
        for q in range(paths):
            if size[base + leaf_regions[d, q]] == 0:
                stride[d, q] = 0
    for level in range(levels - 1, -1, -1):
        if geometry.branching[level] > 1:
            break
        for region in range(geometry.regions[level]):
            total = 1
            child = geometry.region_base[level + 1] + region * geometry.children
            for c in range(geometry.children):
                total *= size[child + c]
            size[geometry.region_base[level] + region] = total if total <= most else 0
    return size, stride


@nb.njit(cache=True)
def load_patterns(work, patterns, region, nodes, at):
    """Copy the table entries of the lanes' patterns of a small region to vector ``at`` on."""
    for lane in range(LANES):
        entry = work.patterns[region, lane]
        work.scales[region, lane] = patterns.scales[patterns.entry_at[region] + entry]
        work.lacks[region, lane] = patterns.lacks[patterns.entry_at[region] + entry]
        start = patterns.value_at[region] + entry * nodes
        for i in range(nodes):
            work.values[at + i, lane] = patterns.values[start + i]


@nb.njit(cache=True)
def store_patterns(work, patterns, region, nodes, at, first, count):
    """Copy lanes 0 … count − 1 of a region to its table entries from ``first`` on."""
    for lane in range(count):
        entry = patterns.entry_at[region] + first + lane
        patterns.scales[entry] = work.scales[region, lane]
        patterns.lacks[entry] = work.lacks[region, lane]
        start = patterns.value_at[region] + (first + lane) * nodes
        for i in range(nodes):
            patterns.values[start + i] = work.values[at + i, lane]


@nb.njit(cache=True)
def child_pattern(patterns, child, children, c, pattern):
    """Pattern of the c-th child of a small region, given the region's."""
    for later in range(children - 1, c, -1):
        pattern //= patterns.size[child + later]
    return pattern % patterns.size[child + c]


@nb.njit(cache=True)
def join_patterns(work, patterns, region, child, children):
    """Patterns of a small region in all lanes, from its children's."""
    for lane in range(LANES):
        joined = work.patterns[child, lane]
        for c in range(1, children):
            joined = joined * patterns.size[child + c] + work.patterns[child + c, lane]
        work.patterns[region, lane] = joined


@nb.njit(cache=True)
def tabulate_leaf_region(
    work, patterns, tables, leaves, leaf_region, region, at, members, member_paths
):
    """Fill the table of a small leaf region; ``members`` are the columns in its scope."""
    size = patterns.size[region]
    for first in range(0, size, LANES):
        count = min(LANES, size - first)
        for lane in range(LANES):
            pattern = min(first + lane, size - 1)
            for i in range(leaves):
                work.acc[leaf_region, lane, i] = tables.constant[leaf_region, i]
            for k in range(members.shape[0]):
                d, q = members[k], member_paths[k]
                rank = pattern // patterns.stride[d, q] % patterns.widths[d]
                feature = patterns.rank_feature[patterns.feature_base[d] + rank]
                for i in range(leaves):
                    work.acc[leaf_region, lane, i] += tables.deviations[feature, q, i]
        upward.exponentiate_leaves(
            work.values,
            at,
            work.scales,
            work.lacks,
            region,
            work.acc[leaf_region],
            leaves,
            work.turned,
        )
        store_patterns(work, patterns, region, leaves, at, first, count)
