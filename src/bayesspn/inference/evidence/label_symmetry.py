"""Label switching, worked out exactly: probabilities of trees averaged over labels.

Nodes of a region, partitions of a region and children of a partition can be relabelled without
changing the model, so the posterior has a copy of every mode for every labelling. A chain may stay
with one, or wander between some. What it would say if it visited all of them is known nevertheless:
the probability of a tree, averaged over the relabellings that leave all earlier trees as they are,
is that of all trees which such relabellings turn it into, divided by their number.

`FixedLabels` knows the trees in their order and which labels each of them is the first to use;
`log_label_averaged` gives the average for a tree given those before it, and `label_fixing_rows`
says which rows fix all labels that a table's trees tell apart.
"""

from __future__ import annotations

import math
from functools import cached_property
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np

from bayesspn.arrays import Array, BoolArray, IntArray
from bayesspn.engine.oracle import children_of, propagate
from bayesspn.graphs import RegionGraph
from bayesspn.model.circuit import Circuit


class Choice(NamedTuple):
    """What a tree does at a region.

    Attributes
    ----------
    partition : int
        The partition it chooses, within the region.
    nodes : tuple of int
        The node of every child; all the same if products are shared.
    below : tuple of Choice
        What it does at the children; empty at leaf regions.
    """

    partition: int
    nodes: tuple[int, ...]
    below: tuple[Choice, ...]


class FreePartitions(NamedTuple):
    """A tree is the first at its partition: it may as well be any tree below any unused one."""

    partitions: list[int]


class KnownPartition(NamedTuple):
    """A tree follows others into a partition.

    Attributes
    ----------
    partition : int
    orders : list of (nodes, below)
        Orders of the children that earlier trees leave open: for every child the nodes that it may
        be, and what is possible below it (None at leaf regions).
    """

    partition: int
    orders: list[tuple[list[list[int]], list[Any]]]


class FixedLabels:
    """Labels that trees fix, one tree after the other.

    Parameters
    ----------
    graph : RegionGraph
    trees : ndarray of shape (trees, visited sums)
    """

    def __init__(self, graph: RegionGraph, trees: IntArray) -> None:
        self.graph = graph
        self.choices: list[Choice] = []
        #: Choices at every (level, region), by tree.
        self.visits: dict[tuple[int, int], dict[int, Choice]] = {}
        #: First tree at every partition of a (level, region).
        self.partitions: dict[tuple[int, int], dict[int, int]] = {}
        #: First tree at every node of a (level, partition, child).
        self.nodes: dict[tuple[int, int, int], dict[int, int]] = {}
        #: First tree after which no two children of a (level, partition) look alike.
        self.settled: dict[tuple[int, int], int] = {}
        self._possible: dict[int, FreePartitions | KnownPartition] = {}
        for edges in trees:
            self.add(edges)

    def add(self, edges: IntArray) -> None:
        """Let one more tree fix labels."""
        choice = read_tree(self.graph, edges)
        self.choices.append(choice)
        self._fix(len(self.choices) - 1, 0, 0, choice)

    def _fix(self, tree: int, level: int, region: int, choice: Choice) -> None:
        graph, j = self.graph, choice.partition
        self.visits.setdefault((level, region), {})[tree] = choice
        self.partitions.setdefault((level, region), {}).setdefault(j, tree)
        partition = region * graph.branching[level] + j
        for c, node in enumerate(choice.nodes):
            self.nodes.setdefault((level, partition, c), {}).setdefault(node, tree)
        for c, below in enumerate(choice.below):
            self._fix(tree, level + 1, partition * graph.children + c, below)
        if (level, partition) not in self.settled and not self.always_alike(level):
            forms = self.forms(level, region, j)
            if len(set(forms)) == len(forms):
                self.settled[level, partition] = tree

    def always_alike(self, level: int) -> bool:
        """Whether no tree can tell the children of a level's partitions apart."""
        graph = self.graph
        return graph.children == 1 or (graph.products == "shared" and level == graph.levels - 1)

    def forms(
        self, level: int, region: int, j: int, before: int | None = None
    ) -> list[tuple[Any, ...]]:
        """What trees did in every child of a partition, up to labels."""
        entries = [
            (tree, choice)
            for tree, choice in self.visits.get((level, region), {}).items()
            if choice.partition == j and (before is None or tree < before)
        ]
        return child_forms(entries, self.graph.children)

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

    def possibilities(self, tree: int) -> FreePartitions | KnownPartition:
        """What a tree may be turned into by relabellings that leave those before it alone."""
        if tree not in self._possible:  # many sweeps ask
            self._possible[tree] = self._possibilities(tree, 0, 0, 0, self.choices[tree])
        return self._possible[tree]

    def _possibilities(
        self, tree: int, level: int, region: int, source: int, choice: Choice
    ) -> FreePartitions | KnownPartition:
        """The same at a region, for what the tree does at ``source``, whose labels are translated.

        Earlier trees did the same in both up to labels.
        """
        graph = self.graph
        used = self.partitions.get((level, source), {})
        first = used.get(choice.partition, tree)
        if first >= tree:
            here = self.partitions.get((level, region), {})
            free = [j for j in range(graph.branching[level]) if here.get(j, tree) >= tree]
            return FreePartitions(free)
        j = self.visits[level, region][first].partition
        partition = region * graph.branching[level] + j
        from_partition = source * graph.branching[level] + choice.partition
        orders = [
            self._order(tree, level, partition, from_partition, choice, order)
            for order in self._open_orders(tree, level, region, j, source, choice)
        ]
        return KnownPartition(j, orders)

    def _open_orders(
        self, tree: int, level: int, region: int, j: int, source: int, choice: Choice
    ) -> list[tuple[int, ...]]:
        """Orders of children: which of the source's child stands at every place of the region."""
        graph = self.graph
        partition = region * graph.branching[level] + j
        if self.always_alike(level) or (
            region == source and self.settled.get((level, partition), tree) < tree
        ):
            return [tuple(range(graph.children))]
        places = self.forms(level, region, j, tree)
        entries = [
            entry
            for entry in self.visits[level, source].items()
            if entry[1].partition == choice.partition and entry[0] < tree
        ]
        before = child_forms(entries, graph.children)
        after = child_forms([*entries, (tree, choice)], graph.children)
        different: dict[tuple[Any, ...], tuple[int, ...]] = {}
        for order in permutations(range(graph.children)):
            if all(before[c] == places[place] for place, c in enumerate(order)):
                # orders that only exchange what is alike give the same trees
                different.setdefault(tuple(after[c] for c in order), order)
        return list(different.values())

    def _order(
        self,
        tree: int,
        level: int,
        partition: int,
        source: int,
        choice: Choice,
        order: tuple[int, ...],
    ) -> tuple[list[list[int]], list[Any]]:
        """Nodes that children may be, and what is possible below them, for one order."""
        graph = self.graph
        nodes: list[list[int]] = []
        below: list[Any] = []
        for place, c in enumerate(order):
            known = self.nodes.get((level, partition, place), {})
            first = self.nodes.get((level, source, c), {}).get(choice.nodes[c], tree)
            if first >= tree:
                size = graph.nodes[level + 1]
                nodes.append([k for k in range(size) if known.get(k, tree) >= tree])
            else:
                region = partition // graph.branching[level]
                nodes.append([self.visits[level, region][first].nodes[place]])
            if level + 1 < graph.levels:
                below.append(
                    self._possibilities(
                        tree,
                        level + 1,
                        partition * graph.children + place,
                        source * graph.children + c,
                        choice.below[c],
                    )
                )
            else:
                below.append(None)
        return nodes, below


def read_tree(graph: RegionGraph, edges: IntArray) -> Choice:
    """The choices of a tree (visited sums,), from the root down."""
    first = np.cumsum([0, *(graph.children**level for level in range(graph.levels))])

    def read(level: int, place: int) -> Choice:
        j, product = divmod(int(edges[first[level] + place]), graph.n_products[level])
        nodes = (product,) * graph.children
        if graph.products != "shared":
            size = graph.nodes[level + 1]
            powers = reversed(range(graph.children))
            nodes = tuple(product // size**power % size for power in powers)
        below: tuple[Choice, ...] = ()
        if level + 1 < graph.levels:
            places = range(place * graph.children, (place + 1) * graph.children)
            below = tuple(read(level + 1, child) for child in places)
        return Choice(j, nodes, below)

    return read(0, 0)


def child_forms(entries: list[tuple[int, Choice]], children: int) -> list[tuple[Any, ...]]:
    """What trees, by number, do in every child of a partition, the same if only labels differ."""
    return [
        _form([(t, a.nodes[c], a.below[c] if a.below else None) for t, a in entries])
        for c in range(children)
    ]


def _form(entries: list[tuple[int, int, Choice | None]]) -> tuple[Any, ...]:
    """Choices of trees at a region, with labels in the order in which they first occur."""
    labels: dict[int, int] = {}
    nodes = tuple((tree, labels.setdefault(node, len(labels))) for tree, node, _ in entries)
    groups: dict[int, list[tuple[int, Choice]]] = {}
    for tree, _, below in entries:
        if below is not None:
            groups.setdefault(below.partition, []).append((tree, below))
    parts = tuple(
        (
            tuple(tree for tree, _ in group),
            tuple(sorted(child_forms(group, len(group[0][1].nodes)))),
        )
        for group in groups.values()
    )
    return nodes, parts


def log_label_averaged(circuit: Circuit, at_leaves: Array, labels: FixedLabels, tree: int) -> float:
    """Log probability of a row and its tree, averaged over relabellings that are open.

    Parameters
    ----------
    circuit : Circuit
    at_leaves : ndarray of shape (leaf regions, leaves)
        Log values of leaves for the row.
    labels : FixedLabels
    tree : int
        Number of the tree: labels that earlier ones fix are not open.
    """
    walk = _Walk(circuit, at_leaves, labels)
    value, log_count = walk.sum_below(0, 0, labels.possibilities(tree))
    return float(value[0]) - log_count


class _Walk:
    """Sums over the trees that a tree may be turned into."""

    def __init__(self, circuit: Circuit, at_leaves: Array, labels: FixedLabels) -> None:
        self.graph, self.labels = labels.graph, labels
        self.log_weights = circuit.log_weights
        values, products = propagate(circuit, at_leaves[None])
        self.values = [value[0] for value in values]
        self.products = [product[0] for product in products]

    def sum_below(
        self, level: int, region: int, possible: FreePartitions | KnownPartition | None
    ) -> tuple[Array, float]:
        """Log sum over trees below each node of a region, and the log number of these trees."""
        if possible is None:
            return self.values[level][region], 0.0
        log_weights = self.log_weights[level][region]
        if isinstance(possible, FreePartitions):
            free = possible.partitions
            terms = log_weights[:, free] + self.products[level][region, free]
            value = np.logaddexp.reduce(terms.reshape(len(terms), -1), axis=1)
            return value, math.log(len(free)) + self.labels.log_trees[level]
        partition = region * self.graph.branching[level] + possible.partition
        sums = [
            self._sum_order(level, partition, log_weights[:, possible.partition], *order)
            for order in possible.orders
        ]
        value = np.logaddexp.reduce([total for total, _ in sums], axis=0)
        # orders are relabellings of each other, and have equally many trees
        return value, math.log(len(sums)) + sums[0][1]

    def _sum_order(
        self, level: int, partition: int, log_weights: Array, nodes: list[list[int]], below: Any
    ) -> tuple[Array, float]:
        graph = self.graph
        parts = [
            self.sum_below(level + 1, partition * graph.children + c, one)
            for c, one in enumerate(below)
        ]
        count = sum(number for _, number in parts)
        if graph.products == "shared" or graph.children == 1:
            total = np.sum([value for value, _ in parts], axis=0)
            terms = log_weights[:, nodes[0]] + total[nodes[0]]
            return np.logaddexp.reduce(terms, axis=1), count + math.log(len(nodes[0]))
        grid = log_weights.reshape(-1, *(graph.nodes[level + 1],) * graph.children)
        for c, (value, _) in enumerate(parts):
            shape = [-1 if axis == c + 1 else 1 for axis in range(grid.ndim)]
            grid = grid.take(nodes[c], axis=c + 1) + value[nodes[c]].reshape(shape)
        count += sum(math.log(len(allowed)) for allowed in nodes)
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


def label_fixing_rows(graph: RegionGraph, edges: IntArray) -> tuple[IntArray, FixedLabels]:
    """Rows (of edges) that between them fix all labels that the trees of all rows tell apart.

    These are the first to visit a node, and then those that tell children of a partition apart.
    """
    visits = _visits(graph, edges)
    first = [
        np.unique(region * graph.nodes[level + 1] + node, return_index=True)[1]
        for level, places in enumerate(visits)
        for region, node in places
    ]
    rows = np.unique(np.concatenate(first)).tolist()
    labels = FixedLabels(graph, edges[rows])
    more = []
    for row in np.flatnonzero(_visits_unsettled(labels, visits)):
        if _settles(labels, edges[row]):
            labels.add(edges[row])
            more.append(int(row))
    return np.array([*rows, *more], dtype=np.int64), labels


def _visits_unsettled(
    labels: FixedLabels, visits: list[list[tuple[IntArray, IntArray]]]
) -> BoolArray:
    """Rows that visit a partition whose children are not told apart yet, but may be."""
    graph = labels.graph
    found = np.zeros(len(visits[0][0][0]), dtype=bool)
    for level, places in enumerate(visits):
        if labels.always_alike(level):
            continue
        open_ = np.ones(graph.regions[level] * graph.branching[level], dtype=bool)
        open_[[p for at, p in labels.settled if at == level]] = False
        for region, _ in places[:: graph.children]:
            found |= open_[region // graph.children]
    return found


def _settles(labels: FixedLabels, edges: IntArray) -> bool:
    """Whether one more tree would tell children of a partition apart that look alike so far."""
    graph = labels.graph

    def look(level: int, region: int, choice: Choice) -> bool:
        partition = region * graph.branching[level] + choice.partition
        if not labels.always_alike(level) and (level, partition) not in labels.settled:
            entries = [
                entry
                for entry in labels.visits.get((level, region), {}).items()
                if entry[1].partition == choice.partition
            ]
            now = child_forms(entries, graph.children)
            then = child_forms([*entries, (len(labels.choices), choice)], graph.children)
            if len(set(then)) > len(set(now)):
                return True
        return any(
            look(level + 1, partition * graph.children + c, below)
            for c, below in enumerate(choice.below)
        )

    return look(0, 0, read_tree(graph, edges))
