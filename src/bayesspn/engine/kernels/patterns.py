"""Regions with few columns: rows that agree on them share one evaluation.

A region whose columns have few combinations of codes is *small*. Its values are tabulated once per
circuit, one entry per pattern, by the same code that evaluates rows. A row then only needs to know
its pattern in the largest small regions, a number that adds up over stored cells; the children's
patterns follow from it. Only regions below which every region has a single partition can be small
above the leaves: with several partitions patterns would not compose.
"""

from __future__ import annotations

from typing import NamedTuple

import numba as nb
import numpy as np

from bayesspn.engine.kernels.layout import Plan, make_workspace, mark_leaves, rows_together
from bayesspn.engine.kernels.leaf_values import exponentiate
from bayesspn.engine.kernels.upward import evaluate
from bayesspn.engine.kernels.vectors import flush_denormals, restore_denormals


class Patterns(NamedTuple):
    """Small regions and their columns. Regions are numbered over all levels, root first."""

    size: np.ndarray  # (regions,) patterns of small regions, 0 for others
    entry: np.ndarray  # (regions,) first entry of small regions
    stride: np.ndarray  # (columns, paths) of a column in its leaf region's patterns
    widths: np.ndarray  # (columns,) codes per column
    feature_rank: np.ndarray  # (features,) of a code in patterns; the reference code is 0
    rank_feature: np.ndarray  # (features,) inverse of feature_rank, within each column
    feature_base: np.ndarray  # (columns + 1,)


@nb.njit(cache=True, nogil=True, error_model="numpy")
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


@nb.njit(cache=True, nogil=True, error_model="numpy")
def plan_rows(geometry, leaf_regions, patterns):
    """Which regions to evaluate for every row, and where rows look up the others."""
    levels = geometry.branching.shape[0]
    children = geometry.children
    size = patterns.size
    evaluated = (size == 0).sum()
    regions = np.empty(evaluated, dtype=np.int64)
    region_levels = np.empty(evaluated, dtype=np.int64)
    live = np.full(size.shape[0], -1, dtype=np.int64)
    found = 0
    for leaf_region in range(geometry.regions[levels]):
        region, level = leaf_region, levels
        while True:
            here = geometry.region_base[level] + region
            if size[here] == 0:
                regions[found], region_levels[found] = here, level
                live[here] = found
                found += 1
            # a region is evaluated right after the last of its children
            siblings = geometry.branching[level - 1] * children if level > 0 else 0
            if level == 0 or (region + 1) % siblings != 0:
                break
            region //= siblings
            level -= 1
    small = np.empty(size.shape[0], dtype=np.int64)
    tops = 0
    for level in range(levels + 1):
        for region in range(geometry.regions[level]):
            here = geometry.region_base[level] + region
            if size[here] > 0:
                parent = -1
                if level > 0:
                    siblings = geometry.branching[level - 1] * children
                    parent = geometry.region_base[level - 1] + region // siblings
                if parent < 0 or size[parent] == 0:
                    live[here] = evaluated + tops
                    small[tops] = patterns.entry[here]
                    tops += 1
    leaf_live = np.flatnonzero(region_levels == levels)
    place, stride = _find_places(geometry, leaf_regions, patterns, live)
    return Plan(
        regions,
        region_levels,
        regions[leaf_live] - geometry.region_base[levels],
        leaf_live,
        live,
        place,
        stride,
        small[:tops].copy(),
        rows_together(geometry, evaluated),
    )


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _find_places(geometry, leaf_regions, patterns, live):
    """Where each column's leaf sums are, or its largest small region and the stride there."""
    levels = geometry.branching.shape[0]
    children = geometry.children
    columns, paths = leaf_regions.shape
    place = np.zeros((columns, paths), dtype=np.int32)
    stride = np.zeros((columns, paths), dtype=np.int32)
    for d in range(columns):
        for q in range(paths):
            region, level = leaf_regions[d, q], levels
            here = geometry.region_base[level] + region
            if patterns.size[here] == 0:
                place[d, q] = region * geometry.width
                continue
            step = patterns.stride[d, q]
            while live[here] < 0:
                # the parent is small, so it has a single partition
                first = geometry.region_base[level] + region // children * children
                for sibling in range(here + 1, first + children):
                    step *= patterns.size[sibling]
                region //= children
                level -= 1
                here = geometry.region_base[level] + region
            place[d, q] = ~live[here]
            stride[d, q] = step
    return place, stride


@nb.njit(cache=True, nogil=True, error_model="numpy")
def tabulate_leaves(entries, geometry, tables, patterns):
    """Fill the tables of all small leaf regions."""
    before = flush_denormals()
    levels = geometry.branching.shape[0]
    is_leaf, logs = mark_leaves(geometry), np.empty_like(tables.constant)
    starts, members, member_paths = _list_members(tables.leaf_regions, geometry.regions[levels])
    for region in range(geometry.regions[levels]):
        _tabulate_leaf_region(
            entries, geometry, tables, patterns, is_leaf, logs, region, starts, members,
            member_paths,
        )  # fmt: skip
    restore_denormals(before)


@nb.njit(cache=True, nogil=True, error_model="numpy")
def tabulate_regions(entries, geometry, patterns, plan, weights):
    """Fill the tables of all small regions above the leaf regions, bottom-up."""
    before = flush_denormals()
    levels = geometry.branching.shape[0]
    # numbers that are written out would be types of their own, for which kernels compile again
    work = make_workspace(geometry, plan, np.int64(0))
    for level in range(levels - 1, -1, -1):
        for region in range(geometry.regions[level]):
            _tabulate_region(entries, geometry, patterns, weights, work, level, region)
    restore_denormals(before)


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _tabulate_leaf_region(
    entries, geometry, tables, patterns, is_leaf, logs, region, starts, members, member_paths
):
    levels = geometry.branching.shape[0]
    here = geometry.region_base[levels] + region
    first, width = region * geometry.width, geometry.width
    for pattern in range(patterns.size[here]):
        for i in range(width):
            logs[region, i] = tables.constant[region, i]
        for k in range(starts[region], starts[region + 1]):
            d, q = members[k], member_paths[k]
            rank = pattern // patterns.stride[d, q] % patterns.widths[d]
            feature = patterns.rank_feature[patterns.feature_base[d] + rank]
            for i in range(width):
                logs[region, i] += tables.deviations[feature, q, i]
        entry = patterns.entry[here] + pattern
        exponentiate(entries.values, entries.marks, entry, logs, first, width, is_leaf)


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _tabulate_region(entries, geometry, patterns, weights, work, level, region):
    children, width = geometry.children, geometry.width
    products, sums = geometry.products[level], geometry.nodes[level]
    here = geometry.region_base[level] + region
    size, first_entry = patterns.size[here], patterns.entry[here]
    child = geometry.region_base[level + 1] + region * children
    rows = work.targets.shape[0]
    for first in range(0, size, rows):
        for slot in range(rows):
            pattern = min(first + slot, size - 1)
            work.targets[slot] = first_entry + pattern
            rest = pattern
            for c in range(children - 1, -1, -1):
                entry = patterns.entry[child + c] + rest % patterns.size[child + c]
                rest //= patterns.size[child + c]
                work.children_of[slot * children + c] = entry
                entries.below[(first_entry + pattern) * children + c] = entry
        evaluate(
            entries.values, entries.marks, work.targets, work.children_of, work.partials,
            work.partial_scales, work.partial_lacks, np.int64(0), work.product, work.product_step,
            work.total, weights.up, weights.down,
            geometry.padded_base[level] + region * products * width,
            geometry.weight_base[level] + region * sums * products, np.int64(1), products, sums,
            geometry.nodes[level + 1], children, width, geometry.shared, min(rows, size - first),
        )  # fmt: skip


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _list_members(leaf_regions, regions):
    """Columns and paths of every leaf region: (starts, columns, paths), columns in order."""
    columns, paths = leaf_regions.shape
    starts = np.zeros(regions + 1, dtype=np.int64)
    for d in range(columns):
        for q in range(paths):
            starts[leaf_regions[d, q] + 1] += 1
    starts = np.cumsum(starts)
    members = np.empty(starts[regions], dtype=np.int64)
    member_paths = np.empty(starts[regions], dtype=np.int64)
    filled = starts.copy()
    for d in range(columns):
        for q in range(paths):
            region = leaf_regions[d, q]
            members[filled[region]] = d
            member_paths[filled[region]] = q
            filled[region] += 1
    return starts, members, member_paths
