"""Bottom-up evaluation of all regions, for a group of rows or for the patterns of small regions."""

from __future__ import annotations

import numba as nb
import numpy as np

from bayesspn.engine.kernels import upward
from bayesspn.engine.kernels.layout import make_workspace
from bayesspn.engine.kernels.patterns import (
    child_pattern,
    join_patterns,
    load_patterns,
    store_patterns,
    tabulate_leaf_region,
)
from bayesspn.engine.kernels.vectors import LANES


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
def evaluate_group(work, geometry, patterns, weights):
    """Evaluate all regions, each as soon as its children are done and still in the cache."""
    levels = geometry.branching.shape[0]
    leaves = geometry.nodes[levels]
    children = geometry.children
    for leaf_region in range(geometry.regions[levels]):
        at = geometry.value_base[levels] + leaf_region * leaves
        here = geometry.region_base[levels] + leaf_region
        if patterns.size[here] == 0:
            upward.exponentiate_leaves(
                work.values,
                at,
                work.scales,
                work.lacks,
                here,
                work.acc[leaf_region],
                leaves,
                work.turned,
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
    work = make_workspace(geometry, tables, False)
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
                work,
                patterns,
                tables,
                geometry.nodes[levels],
                region,
                here,
                at,
                members[own],
                member_paths[own],
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
