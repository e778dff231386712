"""Upward and downward passes over all draws and many cases at once: rows, or what is given.

Upward: the log value of every node given what is known. Downward: the probability, given the same,
that the induced tree visits a leaf. A column's conditional distribution is the mixture of its
leaves with these probabilities as weights, so the two passes answer any question about one column.

Arrays have axes (draws, regions, cases, nodes); cases never interact.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from bayesspn.arrays import Array
from bayesspn.prediction.stacked import StackedCircuits

#: Sums below this share of their largest product are evaluated again, in the log domain.
_SMALLEST = 1e-290

#: Error of a probability that is mended.
_LARGEST_ERROR = 1e-9


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Log values of all nodes.

    Attributes
    ----------
    circuits : StackedCircuits
    values : tuple of ndarray of shape (draws, regions, given, nodes)
        One array per level, the root's first, the leaves' last.
    """

    circuits: StackedCircuits
    values: tuple[Array, ...]

    @property
    def log_probability(self) -> Array:
        """Log probability of every case under every draw; (draws, cases)."""
        return self.values[0][:, 0, :, 0]

    def visits(self) -> Array:
        """Probability that a leaf is visited; (draws, leaf regions, cases, leaves).

        Zeros for draws under which a case is impossible.
        """
        circuits = self.circuits
        visits = np.ones_like(self.values[0])
        visits[np.isneginf(self.values[0])] = 0.0
        for level, weights in enumerate(circuits.weights):
            products = log_products(circuits, level, self.values[level + 1])
            top = _finite_maximum(products)
            sums = np.exp(self.values[level] - top)
            share = np.divide(visits, sums, out=np.zeros_like(visits), where=sums > _SMALLEST)
            chosen = np.exp(products - top) * (share @ weights.swapaxes(-1, -2))
            tiny = (visits > 0) & (sums <= _SMALLEST)
            for draw, region, given, node in np.argwhere(tiny):
                terms = (
                    products[draw, region, given] - self.values[level][draw, region, given, node]
                )
                terms += circuits.log_weights[level][draw, region, node]
                visited = visits[draw, region, given, node]
                chosen[draw, region, given] += visited * np.exp(terms)
            _make_add_up(chosen, visits.sum(axis=-1, keepdims=True))
            visits = _children_visits(circuits, level, chosen)
        return visits


def evaluate(
    circuits: StackedCircuits, X: Array, factors: Mapping[int, Array] = MappingProxyType({})
) -> Evaluation:
    """Evaluate networks on what is given.

    Parameters
    ----------
    circuits : StackedCircuits
    X : ndarray of shape (given, columns)
        Exact values, NaN where unknown.
    factors : dict of int to ndarray of shape (given or 1, draws, paths, leaves), default={}
        What else is known of some columns: log probabilities of it under their leaves.
    """
    values = [_leaf_values(circuits, X, factors)]
    for level in reversed(range(circuits.graph.levels)):
        values.append(_sum_values(circuits, level, values[-1]))
    return Evaluation(circuits, tuple(reversed(values)))


def _leaf_values(circuits: StackedCircuits, X: Array, factors: Mapping[int, Array]) -> Array:
    """Log values of all leaves; (draws, leaf regions, cases, leaves)."""
    graph = circuits.graph
    total = np.zeros((circuits.n_draws, graph.n_leaf_regions, len(X), graph.leaves))
    draws = np.arange(circuits.n_draws)
    for column in range(X.shape[1]):
        observed = np.flatnonzero(~np.isnan(X[:, column]))
        if observed.size:
            distinct, place = np.unique(X[observed, column], return_inverse=True)
            logs = np.moveaxis(circuits.log_density(column, distinct), 0, 2)
            for path in range(graph.n_paths):
                region = circuits.leaf_regions[:, column, path]
                # each (draw, region) pair occurs once, so that nothing is added to a copy
                total[draws[:, None], region[:, None], observed] += logs[:, path][:, place]
    for column, factor in factors.items():
        logs = np.moveaxis(factor, 0, 2)
        for path in range(graph.n_paths):
            total[draws, circuits.leaf_regions[:, column, path]] += logs[:, path]
    return total


def _sum_values(circuits: StackedCircuits, level: int, below: Array) -> Array:
    """Log values of the sums of a level."""
    products = log_products(circuits, level, below)
    top = _finite_maximum(products)
    sums = np.exp(products - top) @ circuits.weights[level]
    with np.errstate(divide="ignore"):
        values = np.log(sums) + top
    vanished = (sums <= _SMALLEST).any(axis=-1) & ~np.isneginf(products).all(axis=-1)
    if vanished.any():
        draw, region, _ = np.nonzero(vanished)
        terms = products[vanished][:, None] + circuits.log_weights[level][draw, region]
        values[vanished] = np.logaddexp.reduce(terms, axis=-1)
    return values


def log_products(circuits: StackedCircuits, level: int, below: Array) -> Array:
    """Log values of the products of a level; (draws, regions, cases, partitions × products)."""
    graph = circuits.graph
    parts = _by_partition(circuits, level, below)
    product = parts[:, :, :, 0]
    for child in range(1, graph.children):
        if graph.products == "shared":
            product = product + parts[:, :, :, child]
        else:
            product = product[..., :, None] + parts[:, :, :, child][..., None, :]
            product = product.reshape(*product.shape[:-2], -1)
    merged = np.moveaxis(product, 2, 3)
    return np.ascontiguousarray(merged).reshape(*merged.shape[:3], -1)


def _by_partition(circuits: StackedCircuits, level: int, below: Array) -> Array:
    """Nodes of a level's children; (draws, regions, partitions, children, cases, nodes)."""
    graph = circuits.graph
    draws, _, given, nodes = below.shape
    shape = (draws, graph.regions[level], graph.branching[level], graph.children, given, nodes)
    return below.reshape(shape)


def _make_add_up(chosen: Array, total: Array) -> None:
    """Scale how often products are chosen to what they should add to, where they do not.

    Logarithms of absurd rows, 1e8 standard deviations off, differ by more than a float can tell.
    """
    found = chosen.sum(axis=-1, keepdims=True)
    off = (np.abs(found - total) > _LARGEST_ERROR * total) & (found > 0)
    if off.any():
        chosen *= np.divide(total, found, out=np.ones_like(found), where=off)


def _children_visits(circuits: StackedCircuits, level: int, chosen: Array) -> Array:
    """From how often products are chosen to how often the children's nodes are visited."""
    graph = circuits.graph
    draws, regions, given, _ = chosen.shape
    branching, nodes, children = graph.branching[level], graph.nodes[level + 1], graph.children
    axes = 1 if graph.products == "shared" else children
    by_node = chosen.reshape(draws, regions, given, branching, *(nodes,) * axes)
    parts = []
    for child in range(children):
        others = tuple(4 + axis for axis in range(axes) if axes > 1 and axis != child)
        parts.append(by_node.sum(axis=others) if others else by_node)
    stacked = np.stack(parts, axis=4)  # (draws, regions, cases, partitions, children, nodes)
    moved = np.moveaxis(stacked, 2, 4)
    return np.ascontiguousarray(moved).reshape(draws, -1, given, nodes)


def _finite_maximum(values: Array) -> Array:
    """Maximum over the last axis, kept; 0 where nothing is possible."""
    top = values.max(axis=-1, keepdims=True)
    return np.where(np.isneginf(top), 0.0, top)
