"""New rows given something: a draw, a tree, then one value per column from the leaf it visits."""

from __future__ import annotations

import numpy as np

from bayesspn.arrays import Array, IntArray
from bayesspn.prediction.conditionals import ConditionalCircuits
from bayesspn.prediction.mixtures import Mixtures
from bayesspn.prediction.passes import log_products
from bayesspn.prediction.value_sets import ValueSet


def draw_rows(rng: np.random.Generator, conditional: ConditionalCircuits, n: int) -> Array:
    """Draw rows from what networks say under what is given.

    Parameters
    ----------
    rng : numpy.random.Generator
    conditional : ConditionalCircuits
    n : int

    Returns
    -------
    ndarray of shape (n, columns)
        Exact values are repeated in every row.
    """
    circuits = conditional.circuits
    draw = rng.choice(circuits.n_draws, size=n, p=conditional.weights_of_draws)
    region, node = _draw_leaves(rng, conditional, draw)
    rows = np.empty((n, len(circuits.leaves.columns)))
    paths = circuits.graph.n_paths
    for column in range(rows.shape[1]):
        known = conditional.given.get(column)
        if known is not None and not isinstance(known, ValueSet):
            rows[:, column] = known
            continue
        # exactly one visited leaf has the column in its scope
        same = region[:, :, None] == circuits.leaf_regions[draw, column][:, None, :]
        _, visited, path = np.nonzero(same)
        leaf = node[np.arange(n), visited]
        if known is None:
            rows[:, column] = circuits.draw_values(rng, column, draw * paths + path, leaf)
        else:
            selected = circuits.densities.select(column, draw * paths + path, leaf)
            rows[:, column] = Mixtures(np.ones((n, 1)), selected, known).quantile(rng.random(n))
    return rows


def _draw_leaves(
    rng: np.random.Generator, conditional: ConditionalCircuits, draw: IntArray
) -> tuple[IntArray, IntArray]:
    """Leaf regions that a tree visits and the leaf chosen in each; (rows, visited leaves)."""
    circuits, values = conditional.circuits, conditional.evaluation.values
    graph = circuits.graph
    region = np.zeros((len(draw), 1), dtype=np.int64)
    node = np.zeros((len(draw), 1), dtype=np.int64)
    for level in range(graph.levels):
        products = log_products(circuits, level, values[level + 1])[:, :, 0]
        logs = (
            products[draw[:, None], region]
            + circuits.log_weights[level][draw[:, None], region, node]
        )
        chosen = _choose(rng, logs)
        partition, product = np.divmod(chosen, graph.n_products[level])
        first = (region * graph.branching[level] + partition) * graph.children
        region = (first[:, :, None] + np.arange(graph.children)).reshape(len(draw), -1)
        node = _split_products(product, graph.nodes[level + 1], graph.children, graph.products)
    return region, node


def _choose(rng: np.random.Generator, logs: Array) -> IntArray:
    """One index per entry, with probabilities proportional to the exponentials along the end."""
    upper = np.cumsum(np.exp(logs - logs.max(axis=-1, keepdims=True)), axis=-1)
    u = rng.random(upper.shape[:-1]) * upper[..., -1]
    return (u[..., None] >= upper[..., :-1]).sum(axis=-1)


def _split_products(product: IntArray, nodes: int, children: int, kind: str) -> IntArray:
    """Node of every child of chosen products; (rows, visited × children)."""
    if kind == "shared":
        return np.repeat(product, children, axis=1)
    powers = nodes ** np.arange(children - 1, -1, -1)
    return (product[:, :, None] // powers % nodes).reshape(len(product), -1)
