"""Label switching, worked out exactly: probabilities of trees averaged over labels of nodes.

Partitions of a region, and nodes of a region, can be relabelled without changing the model, so the
posterior has a copy of every mode for every labelling. A chain stays with one. What it would say if
it visited all of them is known nevertheless: the probability of a tree, averaged over the labels
that no earlier tree has fixed, is that of all trees which differ from it in free labels only,
divided by their number.

`FixedLabels` knows which tree is the first to visit a partition or node; `log_label_averaged` gives
that average for a tree given those before it. `first_visits` and
`distinguishable_children` say which trees are the first to fix a label, and where trees know one
child of a partition from another.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bayesspn.arrays import Array, IntArray
from bayesspn.engine.oracle import children_of, propagate
from bayesspn.graphs import RegionGraph
from bayesspn.model.circuit import Circuit


class FixedLabels:
    """Labels that trees fix, one tree after the other.

    Parameters
    ----------
    graph : RegionGraph
    trees : ndarray of shape (trees, visited sums)

    Attributes
    ----------
    partitions : dict of (level, region) to dict of int to int
        Partitions that are visited, and the first tree that does.
    nodes : dict of (level, partition, child) to dict of int to int
        Nodes that are visited, likewise. Products that are shared tie the nodes of all children
        together, which then have child 0.
    """

    def __init__(self, graph: RegionGraph, trees: IntArray) -> None:
        self.graph = graph
        self.partitions: dict[tuple[int, int], dict[int, int]] = {}
        self.nodes: dict[tuple[int, int, int], dict[int, int]] = {}
        for tree, edges in enumerate(trees):
            self._fix(tree, edges)

    def _fix(self, tree: int, edges: IntArray) -> None:
        graph = self.graph
        visited, v = [0], 0
        for level in range(graph.levels):
            below = []
            for region in visited:
                j, nodes = self.choice(level, int(edges[v]))
                v += 1
                self.partitions.setdefault((level, region), {}).setdefault(j, tree)
                partition = region * graph.branching[level] + j
                for tied, node in enumerate(nodes):
                    self.nodes.setdefault((level, partition, tied), {}).setdefault(node, tree)
                below += [partition * graph.children + c for c in range(graph.children)]
            visited = below

    @cached_property
    def log_trees(self) -> tuple[float, ...]:
        """Log number of trees below a partition, per level."""
        graph = self.graph
        counts = [0.0] * graph.levels
        below = 0.0  # of a node of the level below
        for level in reversed(range(graph.levels)):
            counts[level] = math.log(graph.n_products[level]) + graph.children * below
            below = counts[level] + math.log(graph.branching[level])
        return tuple(counts)

    def choice(self, level: int, edge: int) -> tuple[int, tuple[int, ...]]:
        """Partition of an edge, and the nodes of its product: one if they are tied together."""
        graph = self.graph
        j, product = divmod(edge, graph.n_products[level])
        if graph.products == "shared":
            return j, (product,)
        size = graph.nodes[level + 1]
        places = reversed(range(graph.children))
        return j, tuple(product // size**place % size for place in places)

    def free_partitions(self, tree: int, level: int, region: int) -> list[int]:
        """Partitions that no tree before this one has visited."""
        known = self.partitions.get((level, region), {})
        return [j for j in range(self.graph.branching[level]) if known.get(j, tree) >= tree]

    def free_nodes(self, tree: int, level: int, partition: int, tied: int) -> list[int]:
        """Nodes that no tree before this one has visited."""
        known = self.nodes.get((level, partition, tied), {})
        return [k for k in range(self.graph.nodes[level + 1]) if known.get(k, tree) >= tree]


def log_label_averaged(
    circuit: Circuit, at_leaves: Array, edges: IntArray, labels: FixedLabels, tree: int
) -> float:
    """Log probability of a row and its tree, averaged over labels that are free.

    Parameters
    ----------
    circuit : Circuit
    at_leaves : ndarray of shape (leaf regions, leaves)
        Log values of leaves for the row.
    edges : ndarray of shape (visited sums,)
        The tree.
    labels : FixedLabels
    tree : int
        Number of the tree: labels that earlier ones fix are not free.
    """
    walk = _Walk(circuit, at_leaves, edges, labels, tree)
    value, log_count = walk.sum_below(0, 0, 0)
    return float(value[0]) - log_count


class _Walk:
    """One tree on its way through a network; places count the regions that it visits in a level."""

    def __init__(
        self, circuit: Circuit, at_leaves: Array, edges: IntArray, labels: FixedLabels, tree: int
    ) -> None:
        self.graph, self.labels, self.tree = labels.graph, labels, tree
        self.log_weights = circuit.log_weights
        values, products = propagate(circuit, at_leaves[None])
        self.values = [value[0] for value in values]
        self.products = [product[0] for product in products]
        first = np.cumsum([0, *(self.graph.children**level for level in range(self.graph.levels))])
        self.choices = [
            [labels.choice(level, int(edge)) for edge in edges[first[level] : first[level + 1]]]
            for level in range(self.graph.levels)
        ]

    def sum_below(self, level: int, place: int, region: int) -> tuple[Array, float]:
        """Log sum over trees below each node of a region, and the log number of these trees."""
        if level == self.graph.levels:
            return self.values[level][region], 0.0
        j, nodes = self.choices[level][place]
        log_weights = self.log_weights[level][region]
        free = self.labels.free_partitions(self.tree, level, region)
        if j in free:
            terms = log_weights[:, free] + self.products[level][region, free]
            value = np.logaddexp.reduce(terms.reshape(len(terms), -1), axis=1)
            return value, math.log(len(free)) + self.labels.log_trees[level]
        partition = region * self.graph.branching[level] + j
        children = self.graph.children
        below = [
            self.sum_below(level + 1, place * children + c, partition * children + c)
            for c in range(children)
        ]
        allowed = []
        for tied, node in enumerate(nodes):
            free = self.labels.free_nodes(self.tree, level, partition, tied)
            allowed.append(free if node in free else [node])
        count = sum(math.log(len(named)) for named in allowed) + sum(number for _, number in below)
        if len(allowed) == 1:
            total = np.sum([value for value, _ in below], axis=0)
            terms = log_weights[:, j, allowed[0]] + total[allowed[0]]
            return np.logaddexp.reduce(terms, axis=1), count
        grid = log_weights[:, j].reshape(-1, *(self.graph.nodes[level + 1],) * children)
        for c, (value, _) in enumerate(below):
            shape = [-1 if axis == c + 1 else 1 for axis in range(grid.ndim)]
            grid = grid.take(allowed[c], axis=c + 1) + value[allowed[c]].reshape(shape)
        return np.logaddexp.reduce(grid.reshape(len(grid), -1), axis=1), count


def _visits(graph: RegionGraph, edges: IntArray) -> list[list[tuple[IntArray, IntArray]]]:
    """(region, node) arrays of all visited places, per level below the root."""
    zero = np.zeros(len(edges), dtype=np.int64)
    visited, levels, v = [(zero, zero)], [], 0
    for level in range(graph.levels):
        below: list[tuple[IntArray, IntArray]] = []
        for region, _ in visited:
            below += children_of(graph, level, region, edges[:, v])
            v += 1
        visited = below
        levels.append(below)
    return levels


def first_visits(graph: RegionGraph, edges: IntArray) -> IntArray:
    """Rows (of edges) that are the first to visit a node."""
    first = [
        np.unique(region * graph.nodes[level + 1] + node, return_index=True)[1]
        for level, places in enumerate(_visits(graph, edges))
        for region, node in places
    ]
    return np.unique(np.concatenate(first))


def distinguishable_children(graph: RegionGraph, edges: IntArray) -> list[NDArray[np.bool_]]:
    """Whether trees tell the children of a partition apart; shape (partitions,) per level.

    They do not if what trees do in one child follows from what they do in the other, and the other
    way round: then other labels undo a change of places.
    """
    result = []
    first = 0
    for level, below in enumerate(_visits(graph, edges)):
        first += graph.children**level  # of the edges below this level
        different = np.zeros(graph.regions[level] * graph.branching[level], dtype=bool)
        deeper = level + 1 < graph.levels
        for place in range(0, len(below), graph.children):
            partition = below[place][0] // graph.children
            done = []
            for c in range(place, place + graph.children):
                edge = edges[:, first + c] if deeper else 0
                done.append(below[c][1] * (edges.max() + 1) + edge)
            for other in done[1:]:
                pairs = np.unique(np.stack([partition, done[0], other]), axis=1)
                times = [
                    np.bincount(np.unique(part, axis=1)[0], minlength=len(different))
                    for part in (pairs, pairs[:2], pairs[::2])
                ]
                different |= (times[0] > times[1]) | (times[0] > times[2])
        result.append(different)
    return result
