"""Averages for the missing cells of many rows: expectations and probabilities, over all draws.

Anything linear in a column's distribution (a mean, a probability) is a table of values, one per
leaf, averaged with the weights that a row gives to the leaves.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from bayesspn.arrays import Array, IntArray
from bayesspn.numerics.threads import map_in_threads
from bayesspn.prediction.passes import evaluate
from bayesspn.prediction.stacked import StackedCircuits

#: Draws that weigh less than this for a row are left out.
_NEGLIGIBLE = 1e-6

#: Rows that all networks are evaluated on at once.
_FEW_ROWS = 16

#: Numbers held at a time for the nodes of a network.
_MOST_VALUES = 4_000_000


def weights_of_draws(scores: Array) -> Array:
    """Weights of the draws for every new row, from log densities (draws, rows); same shape.

    Columns of zeros for rows that are impossible under every draw.
    """
    top = scores.max(axis=0)
    weights = np.exp(scores - np.where(np.isneginf(top), 0.0, top))
    total = weights.sum(axis=0)
    return np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)


def weigh_evenly(scores: Array) -> Array:
    """Equal weights of the draws for every row, from log densities (draws, rows); same shape.

    For rows that the draws were given: these know them already, and weighing draws by how well
    they explain a row would count it twice. Draws under which a row is impossible get none.
    """
    return weights_of_draws(np.where(np.isneginf(scores), -np.inf, 0.0))


def average_missing(
    circuits: StackedCircuits, X: Array, weights: Array, tables: Mapping[int, Array]
) -> dict[int, Array]:
    """Average tables of leaf values over the distributions of missing cells.

    Parameters
    ----------
    circuits : StackedCircuits
    X : ndarray of shape (rows, columns)
        NaN where a cell is missing.
    weights : ndarray of shape (draws, rows)
        See `weights_of_draws`.
    tables : dict of int to ndarray of shape (k, draws, paths, leaves)
        For columns, k values of every leaf.

    Returns
    -------
    dict of int to ndarray of shape (rows, k)
        Zeros where the cell is not missing.
    """
    missing = np.isnan(X)
    wanted = {column: table for column, table in tables.items() if missing[:, column].any()}
    if len(X) <= _FEW_ROWS:
        return _average_few(circuits, X, weights, wanted)
    totals = {column: np.zeros((len(X), len(table))) for column, table in wanted.items()}
    asked = missing[:, list(wanted)].any(axis=1)
    graph = circuits.graph
    size = sum(regions * nodes for regions, nodes in zip(graph.regions, graph.nodes, strict=True))
    together = max(64, _MOST_VALUES // size)
    jobs = []
    for draw in range(circuits.n_draws):
        rows = np.flatnonzero(asked & (weights[draw] > _NEGLIGIBLE))
        jobs += [(draw, rows[i : i + together]) for i in range(0, len(rows), together)]

    def average(job: tuple[int, IntArray]) -> list[tuple[int, IntArray, Array]]:
        draw, rows = job
        circuit = circuits.draw(draw)
        visits = evaluate(circuit, X[rows]).visits()[0]
        parts = []
        for column, table in wanted.items():
            own = np.flatnonzero(missing[rows, column])
            if own.size:
                regions = circuit.leaf_regions[0, column]
                leaf_weights = visits[regions][:, own]
                part = np.einsum("kpi,pni->nk", table[:, draw], leaf_weights, optimize=True)
                parts.append((column, rows[own], weights[draw, rows[own], None] * part))
        return parts

    for parts in map_in_threads(average, jobs):
        for column, rows, part in parts:
            totals[column][rows] += part
    return totals


def _average_few(
    circuits: StackedCircuits, X: Array, weights: Array, tables: Mapping[int, Array]
) -> dict[int, Array]:
    """The same for a few rows: all draws at once, since each would take longer to begin with."""
    visits = evaluate(circuits, X).visits()
    draws = np.arange(circuits.n_draws)[:, None]
    averages = {}
    for column, table in tables.items():
        leaf_weights = visits[draws, circuits.leaf_regions[:, column]]
        average = np.einsum("kdpi,dpni,dn->nk", table, leaf_weights, weights, optimize=True)
        averages[column] = np.where(np.isnan(X[:, column])[:, None], average, 0.0)
    return averages
