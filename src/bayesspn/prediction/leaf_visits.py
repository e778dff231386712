"""Leaves of one column that rows visit, draw by draw, by compiled passes.

What `Evaluation.visits` of `bayesspn.prediction.passes` says about one column, for many rows. A
row's cell is a number: of a value of its column, or of a set that the column is known to be in. Log
densities of the leaves are looked up by these numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayesspn.arrays import Array, BoolArray
from bayesspn.engine.compiled import lay_out
from bayesspn.engine.kernels import visits as visits_kernel
from bayesspn.engine.kernels.visits import Cells, SumWeights, visit_leaves
from bayesspn.graphs import RegionGraph
from bayesspn.numerics.compilation import announce_compilation
from bayesspn.numerics.threads import map_in_threads, run_tasks
from bayesspn.prediction.stacked import StackedCircuits

#: Log densities held at a time for a draw.
_MOST_VALUES = 4_000_000
_FEWEST_ROWS, _MOST_ROWS = 64, 4096


class KnownCells(NamedTuple):
    """What is known of rows, by numbers.

    Attributes
    ----------
    numbers : ndarray of shape (rows, columns)
        −1 where nothing is known.
    values : tuple of ndarray
        Values of every column that occur; theirs are the first numbers, column after column.
    sets : dict of int to ndarray of shape (draws, paths, leaves)
        Log probabilities of sets, by column; each has a number after those of all values.
    """

    numbers: NDArray[np.int32]
    values: tuple[Array, ...]
    sets: Mapping[int, Array]

    def log_densities(self, circuits: StackedCircuits, draw: int) -> Array:
        """Of everything that has a number, under one draw's leaves; (numbers, paths, leaves)."""
        circuit = circuits.draw(draw)
        shape = (0, circuits.graph.n_paths, circuits.graph.leaves)
        parts = [np.empty(shape)]
        for column, values in enumerate(self.values):
            if len(values):
                parts.append(circuit.log_density(column, values)[:, 0])
        return np.concatenate([*parts, *(logs[draw][None] for logs in self.sets.values())])


def number_cells(X: Array, sets: Mapping[int, Array]) -> KnownCells:
    """Number what is known of rows.

    Parameters
    ----------
    X : ndarray of shape (rows, columns)
        Cells that are known, NaN where not.
    sets : dict of int to ndarray of shape (draws, paths, leaves)
        Log probabilities of sets that columns lie in, which matters for unknown cells.
    """
    numbers = np.full(X.shape, -1, dtype=np.int32)
    values, count = [], 0
    for column in range(X.shape[1]):
        observed = ~np.isnan(X[:, column])
        distinct, place = np.unique(X[observed, column], return_inverse=True)
        numbers[observed, column] = count + place
        values.append(distinct)
        count += len(distinct)
    for number, column in enumerate(sets, start=count):
        numbers[np.isnan(X[:, column]), column] = number
    return KnownCells(numbers, tuple(values), sets)


def rows_together(graph: RegionGraph, columns: int) -> int:
    """Rows whose leaves are weighted together, which bounds memory."""
    fitting = _MOST_VALUES // (columns * graph.n_paths * graph.leaves)
    return min(_MOST_ROWS, max(_FEWEST_ROWS, fitting))


def leaf_visits(circuits: StackedCircuits, known: KnownCells, column: int) -> tuple[Array, Array]:
    """Probabilities that a column's leaves are visited, given what is known of rows.

    Returns
    -------
    visits : ndarray of shape (draws, rows, paths × leaves)
        Zeros for draws under which a row is impossible.
    scores : ndarray of shape (draws, rows)
        Log densities of what is known.
    """
    announce_compilation(
        visits_kernel.__file__, "visit_leaves", "what finds quantiles of rows", "some seconds"
    )
    graph, rows = circuits.graph, len(known.numbers)
    geometry = lay_out(graph)
    visits = np.empty((circuits.n_draws, rows, graph.n_paths * graph.leaves))
    scores = np.empty((circuits.n_draws, rows))
    tables = map_in_threads(
        lambda draw: known.log_densities(circuits, draw), range(circuits.n_draws)
    )
    for draw, logs in enumerate(tables):
        leaf_regions = circuits.leaf_regions[draw]
        run_tasks(
            visit_leaves,
            rows,
            geometry,
            Cells(known.numbers, logs, leaf_regions),
            _arrange_weights(circuits, draw),
            _regions_above(graph, leaf_regions[column]),
            leaf_regions[column],
            visits[draw],
            scores[draw],
        )
    return visits, scores


def _arrange_weights(circuits: StackedCircuits, draw: int) -> SumWeights:
    log = np.concatenate([level[draw].ravel() for level in circuits.log_weights])
    up = np.concatenate([level[draw].ravel() for level in circuits.weights])
    return SumWeights(up, np.exp(log), log)


def _regions_above(graph: RegionGraph, leaf_regions: NDArray[np.int32]) -> BoolArray:
    """Whether a region is one of these leaf regions or above one; (regions of all levels,)."""
    levels, regions = [], leaf_regions
    for level in reversed(range(graph.levels + 1)):
        levels.append(np.isin(np.arange(graph.regions[level]), regions))
        if level:
            regions = regions // (graph.branching[level - 1] * graph.children)
    return np.concatenate(levels[::-1])
