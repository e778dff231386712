"""Where a chain starts: an informed scope, and leaves that have each seen a few random rows."""

from __future__ import annotations

import numpy as np

from bayesspn.dependence import draw_informed_scope, pairwise_dependence
from bayesspn.engine.circuit import Statistics
from bayesspn.leaves.family import Array
from bayesspn.model import Model, start_hyper
from bayesspn.randomness import Key, Stream
from bayesspn.rows import EncodedRows
from bayesspn.sampling.state import State, unscale
from bayesspn.scopes import Scope

#: Rows that the dependence between columns is judged by.
_SAMPLE_ROWS = 4096

#: Rows whose statistics a leaf starts with.
_ROWS_PER_LEAF = 8


def start_state(key: Key, model: Model, rows: EncodedRows) -> State:
    """Draw the state that a chain begins with; it differs from chain to chain."""
    rng = key.generator(0, Stream.START)
    sample = sample_values(rng, rows, _SAMPLE_ROWS)
    scope = draw_informed_scope(rng, model.graph, pairwise_dependence(sample))
    return State(
        scope,
        start_hyper(model),
        tuple(np.zeros(shape, dtype=np.int64) for shape in model.graph.weight_shapes),
        _seed_leaves(rng, rows, scope, sample),
    )


def sample_values(rng: np.random.Generator, rows: EncodedRows, size: int) -> Array:
    """Values of random rows, without replacement if there are enough; shape (rows, columns)."""
    per_block = np.array([len(block.copy_ids) for block in rows.blocks])
    chosen = rng.choice(rows.n_rows, size=min(size, rows.n_rows), replace=False)
    block_of = np.searchsorted(np.cumsum(per_block), chosen, side="right")
    parts = []
    for index, block in enumerate(rows.blocks):
        copies = chosen[block_of == index] - per_block[:index].sum()
        if copies.size:
            distinct = np.searchsorted(block.copy_start, copies, side="right") - 1
            parts.append(block.values(rows.dictionary)[distinct])
    return np.concatenate(parts)[rng.permutation(len(chosen))]


def _seed_leaves(
    rng: np.random.Generator, rows: EncodedRows, scope: Scope, sample: Array
) -> Statistics:
    """Statistics of a few random rows for every leaf; arrays (g, paths, leaves, slots)."""
    graph, dictionary = scope.graph, rows.dictionary
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
