"""Where a chain starts: an informed scope, and leaves that have each seen one random row."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from bayesspn.arrays import Array
from bayesspn.engine.row_sums import Statistics
from bayesspn.engine.shards import Shards
from bayesspn.inference.starts.dependence import draw_informed_scope, pairwise_dependence
from bayesspn.inference.state import State, unscale
from bayesspn.model.generative import Model, start_hyper
from bayesspn.numerics.random_numbers import Key, Stream
from bayesspn.rows.codebook import Codebook
from bayesspn.scopes import Scope

#: Rows that the dependence between columns is judged by.
_SAMPLE_ROWS = 4096

#: Rows that leaves may begin with, and candidates for each of them.
_SEED_ROWS = 1024
_CANDIDATES = 8

#: Partitions of the root that the components of an infinite mixture begin with, together.
_START_PARTITIONS = 8


def start_state(key: Key, model: Model, shards: Shards) -> State:
    """Draw the state that a chain begins with; it differs from chain to chain."""
    rng = key.generator(0, Stream.START)
    chosen = rng.choice(shards.n_rows, size=min(_SAMPLE_ROWS, shards.n_rows), replace=False)
    sample = shards.values(chosen)
    graph = model.graph
    if model.infinite:
        graph = model.joined_graph(-(-_START_PARTITIONS // graph.branching[0]))
    scope = draw_informed_scope(rng, graph, pairwise_dependence(sample))
    counts = tuple(np.zeros(shape, dtype=np.int64) for shape in graph.weight_shapes)
    if model.infinite:
        # components need rows to have a share: as if every edge of their roots had one
        counts[0][:] = 1
    statistics = _seed_leaves(rng, shards.codebook, scope, sample)
    return State(scope, start_hyper(model), counts, statistics)


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
