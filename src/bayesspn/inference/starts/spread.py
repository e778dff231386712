"""Where a chain starts: an informed scope, and leaves that have each seen one random row."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from bayesspn.arrays import Array
from bayesspn.engine.row_sums import Statistics
from bayesspn.graphs import RegionGraph
from bayesspn.inference.starts.dependence import draw_informed_scope
from bayesspn.inference.starts.state import Start
from bayesspn.inference.state import unscale
from bayesspn.rows.codebook import Codebook
from bayesspn.scopes import Scope

#: Rows that leaves may begin with, and candidates for each of them.
_SEED_ROWS = 1024
_CANDIDATES = 8


def spread_start(
    rng: np.random.Generator,
    graph: RegionGraph,
    codebook: Codebook,
    sample: Array,
    dependence: Array,
) -> Start:
    """A scope by the dependence of columns; leaves by rows of a sample (rows, columns)."""
    scope = draw_informed_scope(rng, graph, dependence)
    counts = tuple(np.zeros(shape, dtype=np.int64) for shape in graph.weight_shapes)
    return Start(scope, counts, _seed_leaves(rng, codebook, scope, sample))


def _seed_leaves(
    rng: np.random.Generator, codebook: Codebook, scope: Scope, sample: Array
) -> Statistics:
    """Statistics of a random row for every leaf; arrays (g, paths, leaves, slots).

    Leaves that begin with several rows all look alike, and a value that recurs, such as a zero in
    half of the rows, never gets a leaf of its own. Of a mixed column, the first likelihood family
    owns the cell, and the others begin with their priors.
    """
    graph = scope.graph
    chosen = _choose_rows(rng, scope, sample[:_SEED_ROWS])
    statistics = []
    for g, group in enumerate(codebook.leaves.groups):
        scaled = np.zeros((len(group), graph.n_paths, graph.leaves, group.n_slots), dtype=np.int64)
        for position, (d, m) in enumerate(zip(group.columns, group.family_numbers, strict=True)):
            if m == 0:
                values = sample[chosen[scope.leaf_regions[d]], d]
                slots = codebook.scaled_statistics(int(d), 0, values.ravel())
                scaled[position] = slots.reshape(*values.shape, -1)
        statistics.append(unscale(codebook, g, scaled))
    return tuple(statistics)


def _choose_rows(rng: np.random.Generator, scope: Scope, sample: Array) -> NDArray[np.int64]:
    """Rows for the leaves of every region to begin with; shape (leaf regions, leaves).

    Rows of a region are spread out: each is the one among a few candidates that is farthest from
    those before, by ranks within the region's columns. Clusters that are far apart would otherwise
    share a leaf, and no sweep tells them apart again.
    """
    graph = scope.graph
    ranks = np.nan_to_num(rankdata(sample, axis=0, nan_policy="omit") / len(sample), nan=0.5)
    within = np.zeros((graph.n_leaf_regions, sample.shape[1]), dtype=bool)
    within[scope.leaf_regions, np.arange(sample.shape[1])[:, None]] = True
    chosen = rng.integers(len(sample), size=(graph.n_leaf_regions, graph.leaves, _CANDIDATES))
    rows = chosen[:, :, 0].copy()
    for region, columns in enumerate(within):
        places = ranks[:, columns]
        for leaf in range(1, graph.leaves):
            candidates = places[chosen[region, leaf]]
            before = places[rows[region, :leaf]]
            distances = np.abs(candidates[:, None] - before).sum(axis=2)
            rows[region, leaf] = chosen[region, leaf, distances.min(axis=1).argmax()]
    return rows
