"""Probability of trees up to the names of nodes.

Partitions of a region, and nodes of a region, can change their names without changing the model, so
the posterior has a copy of every mode for every way to name them. A chain stays with one. What it
would say if it visited all of them is known nevertheless: the probability of a tree, averaged over
the names that no earlier tree has fixed, is that of all trees which differ from it in free names
only, divided by their number.

`Naming` knows which partitions and nodes the trees so far stand for; `log_probability` gives that
average for one more tree of a network, and fixes its names.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from itertools import product as tuples

import numpy as np
from numpy.typing import NDArray

from bayesspn.engine.circuit import Circuit
from bayesspn.engine.oracle import propagate
from bayesspn.graphs import RegionGraph
from bayesspn.leaves.family import Array

IntArray = NDArray[np.int64]

#: Draws one of several log weights: which one.
Pick = Callable[[Array], int]


class Naming:
    """Names of a network's partitions and nodes that stand for those of trees.

    Parameters
    ----------
    graph : RegionGraph
    partitions : dict of (level, region) to dict of int to int
        Of every region of the trees: its partitions by their names in the trees.
    nodes : dict of (level, partition, child) to dict of int to int
        Of every child of a partition: its nodes. Products that are shared tie the nodes of all
        children together, which then have child 0.
    """

    def __init__(
        self,
        graph: RegionGraph,
        partitions: dict[tuple[int, int], dict[int, int]] | None = None,
        nodes: dict[tuple[int, int, int], dict[int, int]] | None = None,
    ) -> None:
        self.graph = graph
        self.partitions = partitions or {}
        self.nodes = nodes or {}

    def copy(self) -> Naming:
        """One that may go its own way."""
        partitions = {key: dict(names) for key, names in self.partitions.items()}
        return Naming(
            self.graph, partitions, {key: dict(names) for key, names in self.nodes.items()}
        )

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

    def keep(self, edges: IntArray) -> None:
        """Fix the names of a tree (visited sums,) as they are."""
        graph = self.graph
        visited, v = [0], 0
        for level in range(graph.levels):
            below = []
            for region in visited:
                j, nodes = self.choice(level, int(edges[v]))
                v += 1
                self.partitions.setdefault((level, region), {})[j] = j
                partition = region * graph.branching[level] + j
                for tied, node in enumerate(nodes):
                    self.nodes.setdefault((level, partition, tied), {})[node] = node
                below += [partition * graph.children + c for c in range(graph.children)]
            visited = below

    def choice(self, level: int, edge: int) -> tuple[int, tuple[int, ...]]:
        """Partition of an edge, and the nodes of its product: one if they are tied together."""
        graph = self.graph
        j, product = divmod(edge, graph.n_products[level])
        return j, self.nodes_of(level, product)

    def nodes_of(self, level: int, product: int) -> tuple[int, ...]:
        """Nodes of a product: one if they are tied together."""
        graph = self.graph
        if graph.products == "shared":
            return (product,)
        size = graph.nodes[level + 1]
        places = reversed(range(graph.children))
        return tuple(product // size**place % size for place in places)

    def allowed(self, level: int, partition: int, nodes: tuple[int, ...]) -> list[list[int]]:
        """Nodes that may stand for those of a tree, one list for each that is not tied."""
        choices = []
        for tied, node in enumerate(nodes):
            names = self.nodes.get((level, partition, tied), {})
            if node in names:
                choices.append([names[node]])
            else:
                taken = set(names.values())
                choices.append([k for k in range(self.graph.nodes[level + 1]) if k not in taken])
        return choices


class NamedTrees:
    """Probabilities of trees under a network, up to names.

    Parameters
    ----------
    circuit : Circuit
    at_leaves : ndarray of shape (rows, leaf regions, leaves)
        Log values of leaves, one row per tree.
    """

    def __init__(self, circuit: Circuit, at_leaves: Array) -> None:
        self._log_weights = circuit.log_weights
        self._values, self._products = propagate(circuit, at_leaves)

    def log_probability(
        self, row: int, edges: IntArray, naming: Naming, pick: Pick | None
    ) -> float:
        """Log probability of a row's tree and the row, averaged over free names.

        Parameters
        ----------
        row : int
        edges : ndarray of shape (visited sums,)
            The tree.
        naming : Naming
            Names that are not free; those of the tree are added.
        pick : callable or None
            Draws names in proportion to their log weights. None takes them as they are.
        """
        walk = _Walk(self._log_weights, self._values, self._products, row, edges, naming)
        value, count = walk.sum_below(0, 0, 0, 0)
        if pick is None:
            naming.keep(edges)
        else:
            walk.descend(0, 0, 0, 0, 0, pick)
        return float(value[0]) - count


class _Walk:
    """One tree on its way through a network; places count the regions that it visits in a level."""

    def __init__(
        self,
        log_weights: tuple[Array, ...],
        values: list[Array],
        products: list[Array],
        row: int,
        edges: IntArray,
        naming: Naming,
    ) -> None:
        self.graph, self.naming = naming.graph, naming
        self.log_weights = log_weights
        self.values = [value[row] for value in values]
        self.products = [product[row] for product in products]
        first = np.cumsum([0, *(self.graph.children**level for level in range(self.graph.levels))])
        self.choices = [
            [naming.choice(level, int(edge)) for edge in edges[first[level] : first[level + 1]]]
            for level in range(self.graph.levels)
        ]

    def sum_below(self, level: int, place: int, named: int, region: int) -> tuple[Array, float]:
        """Log sum over the trees below each node of a region, and the log number of these trees.

        ``named`` is the region's name in the tree.
        """
        if level == self.graph.levels:
            return self.values[level][region], 0.0
        found = self._found(level, place, named)
        if found is None:
            free = self._free(level, named)
            terms = self.log_weights[level][region][:, free] + self.products[level][region, free]
            value = np.logaddexp.reduce(terms.reshape(len(terms), -1), axis=1)
            return value, math.log(len(free)) + self.naming.log_trees[level]
        terms, allowed, below = self._terms(level, place, named, region, found)
        count = sum(math.log(len(nodes)) for nodes in allowed) + below
        return np.logaddexp.reduce(terms, axis=1), count

    def descend(
        self, level: int, place: int, named: int, region: int, node: int, pick: Pick
    ) -> None:
        """Draw which partitions and nodes stand for those of the tree, below a node."""
        if level == self.graph.levels:
            return
        graph, naming = self.graph, self.naming
        j, nodes = self.choices[level][place]
        found = self._found(level, place, named)
        if found is None:
            free = self._free(level, named)
            terms = self.log_weights[level][region, node, free] + self.products[level][region, free]
            position, product = divmod(pick(terms.ravel()), graph.n_products[level])
            found = free[position]
            naming.partitions.setdefault((level, named), {})[j] = found
            chosen = naming.nodes_of(level, product)
        else:
            terms, allowed, _ = self._terms(level, place, named, region, found)
            chosen = list(tuples(*allowed))[pick(terms[node])]
        named_partition = named * graph.branching[level] + j
        for tied, (there, here) in enumerate(zip(nodes, chosen, strict=True)):
            naming.nodes.setdefault((level, named_partition, tied), {})[there] = here
        partition = region * graph.branching[level] + found
        for c in range(graph.children):
            below = chosen[c if len(chosen) > 1 else 0]
            there, here = (part * graph.children + c for part in (named_partition, partition))
            self.descend(level + 1, place * graph.children + c, there, here, below, pick)

    def _found(self, level: int, place: int, named: int) -> int | None:
        """Partition that stands for the tree's, if any does."""
        return self.naming.partitions.get((level, named), {}).get(self.choices[level][place][0])

    def _free(self, level: int, named: int) -> list[int]:
        taken = set(self.naming.partitions.get((level, named), {}).values())
        return [j for j in range(self.graph.branching[level]) if j not in taken]

    def _terms(
        self, level: int, place: int, named: int, region: int, found: int
    ) -> tuple[Array, list[list[int]], float]:
        """Log terms (nodes, allowed products), nodes allowed, log number of trees below these."""
        graph = self.graph
        j, nodes = self.choices[level][place]
        named_partition = named * graph.branching[level] + j
        partition = region * graph.branching[level] + found
        below = [
            self.sum_below(
                level + 1,
                place * graph.children + c,
                named_partition * graph.children + c,
                partition * graph.children + c,
            )
            for c in range(graph.children)
        ]
        count = sum(number for _, number in below)
        allowed = self.naming.allowed(level, named_partition, nodes)
        log_weights = self.log_weights[level][region][:, found]
        if len(allowed) == 1:
            total = np.sum([value for value, _ in below], axis=0)
            return log_weights[:, allowed[0]] + total[allowed[0]], allowed, count
        size = graph.nodes[level + 1]
        grid = log_weights.reshape(-1, *(size,) * graph.children)
        for c, (value, _) in enumerate(below):
            grid = grid.take(allowed[c], axis=c + 1)
            shape = [-1 if axis == c + 1 else 1 for axis in range(grid.ndim)]
            grid = grid + value[allowed[c]].reshape(shape)
        return grid.reshape(len(grid), -1), allowed, count
