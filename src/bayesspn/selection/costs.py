"""What sweeps cost, roughly, in seconds of one core: by the table and the graph, not the machine.

Fits without a time limit have lengths that follow from these, so that they are the same anywhere.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bayesspn.arrays import Array
from bayesspn.graphs import RegionGraph
from bayesspn.leaves.columns import Leaves

#: Seconds of a sweep in any case, for every weight, and for every statistic of a leaf.
_SWEEP, _WEIGHT, _STATISTIC = 1.2e-3, 8e-8, 9e-9

#: Seconds of a row for every leaf of those that it visits; for every cell that is not its column's
#: most frequent value and leaf that may see it, and leaf region that it visits. Where several
#: likelihood families or many values are possible, the same again for each family.
_NODE, _SEEN, _VISITED, _FAMILY_VISITED = 6e-10, 9e-10, 3.2e-9, 6.8e-9

#: Seconds of a start per column.
_START = 6e-4


def estimate_seconds(graph: RegionGraph, leaves: Leaves, rows: int, sample: Array) -> float:
    """What a sweep costs.

    Parameters
    ----------
    graph : RegionGraph
    leaves : Leaves
    rows : int
        Of the table.
    sample : ndarray of shape (sample, columns)
        Some of them.
    """
    families = [
        0 if c.n_categories and len(c.families) == 1 else len(c.families) for c in leaves.columns
    ]
    statistics = sum(len(group) * group.n_slots for group in leaves.groups)
    return _add_up(graph, rows, _telling(sample), np.array(families), statistics)


def estimate_trials(graphs: Sequence[RegionGraph], sample: Array, sweeps: int) -> float:
    """What a start and some sweeps of each graph cost on some rows; columns count as categories."""
    telling, columns = _telling(sample), sample.shape[1]
    plain = np.zeros(columns)
    return sum(
        _START * columns + sweeps * _add_up(graph, len(sample), telling, plain, 2 * columns)
        for graph in graphs
    )


def _telling(sample: Array) -> Array:
    """Share of every column's cells that are not its most frequent value; (columns,)."""
    some = sample[: min(len(sample), 1_000)]
    shares = []
    for column in some.T:
        _, counts = np.unique(column[~np.isnan(column)], return_counts=True)
        shares.append(1.0 - counts.max(initial=0) / len(some))
    return np.array(shares)


def _add_up(
    graph: RegionGraph, rows: int, telling: Array, families: Array, statistics: int
) -> float:
    """Seconds of a sweep; families that cells are evaluated by, 0 where a table has them all."""
    cells, evaluated = float(telling.sum()), float(telling @ families)
    seen = _SEEN * graph.n_paths * graph.leaves * (cells + evaluated)
    visited = graph.n_visited_leaves * (
        _NODE * graph.leaves + _VISITED * cells + _FAMILY_VISITED * evaluated
    )
    leaf_nodes = graph.n_leaf_regions * graph.leaves
    fixed = _SWEEP + _WEIGHT * graph.n_weights + _STATISTIC * statistics * leaf_nodes
    return fixed + rows * (seen + visited)
