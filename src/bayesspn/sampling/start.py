"""Where a chain starts: an informed scope, and leaves that have each seen a few random rows."""

from __future__ import annotations

import numpy as np

from bayesspn.dependence import draw_informed_scope, pairwise_dependence
from bayesspn.dictionaries import Dictionary
from bayesspn.engine.circuit import Statistics
from bayesspn.engine.shards import Shards
from bayesspn.leaves.family import Array
from bayesspn.model import Model, start_hyper
from bayesspn.randomness import Key, Stream
from bayesspn.sampling.state import State, unscale
from bayesspn.scopes import Scope

#: Rows that the dependence between columns is judged by.
_SAMPLE_ROWS = 4096

#: Partitions of the root that the components of an infinite mixture begin with, together.
_START_PARTITIONS = 8

#: Rows whose statistics a leaf starts with.
_ROWS_PER_LEAF = 8


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
    statistics = _seed_leaves(rng, shards.dictionary, scope, sample)
    return State(scope, start_hyper(model), counts, statistics)


def _seed_leaves(
    rng: np.random.Generator, dictionary: Dictionary, scope: Scope, sample: Array
) -> Statistics:
    """Statistics of a few random rows for every leaf; arrays (g, paths, leaves, slots)."""
    graph = scope.graph
    shape = (graph.n_leaf_regions, graph.leaves, _ROWS_PER_LEAF)
    chosen = rng.integers(len(sample), size=shape)
    statistics = []
    for g, group in enumerate(dictionary.leaves.groups):
        scaled = np.zeros((len(group), graph.n_paths, graph.leaves, group.n_slots), dtype=np.int64)
        for position, (d, m) in enumerate(zip(group.columns, group.models, strict=True)):
            models = len(dictionary.leaves.columns[d].families)
            values = sample[chosen[scope.leaf_regions[d]], d]
            # cells of a mixed column are dealt out to its models in turn
            values[..., np.arange(_ROWS_PER_LEAF) % models != m] = np.nan
            slots = dictionary.scaled_statistics(int(d), int(m), values.ravel())
            scaled[position] = slots.reshape(*values.shape, -1).sum(axis=2)
        statistics.append(unscale(dictionary, g, scaled))
    return tuple(statistics)
