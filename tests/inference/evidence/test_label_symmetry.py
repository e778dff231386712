"""Probabilities of trees up to labels, against all trees that relabellings turn them into."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.special import logsumexp
from support import binary_leaves, prior_circuit

from bayesspn.engine.oracle import leaf_values
from bayesspn.graphs import RegionGraph
from bayesspn.inference.evidence.label_symmetry import (
    FixedLabels,
    KnownPartition,
    label_fixing_rows,
    log_label_averaged,
)

GRAPHS = {
    "mixture": RegionGraph(0, leaves=4),
    "cross": RegionGraph(1, 2, leaves=3),
    "shared": RegionGraph(1, 3, leaves=3, products="shared"),
    "two levels": RegionGraph(2, 2, sums=2, leaves=2, products="shared"),
    "two levels, cross": RegionGraph(2, 1, sums=2, leaves=2),
    "three children": RegionGraph(1, 2, children=3, leaves=2),
}


def all_trees(graph: RegionGraph) -> list[tuple[int, ...]]:
    spans = [
        range(graph.branching[level] * graph.n_products[level])
        for level in range(graph.levels)
        for _ in range(graph.children**level)
    ]
    return list(itertools.product(*spans))


def walk(graph: RegionGraph, tree: tuple[int, ...]):
    """Choices of a tree: (level, place, region, sum, partition, product, nodes of children)."""
    visited, v = [(0, 0)], 0
    for level in range(graph.levels):
        below = []
        for place, (region, node) in enumerate(visited):
            j, product = divmod(tree[v], graph.n_products[level])
            size = graph.nodes[level + 1]
            powers = [size**c for c in reversed(range(graph.children))]
            shared = graph.products == "shared"
            nodes = [product if shared else product // power % size for power in powers]
            yield level, place, region, node, j, product, nodes
            v += 1
            partition = region * graph.branching[level] + j
            below += [(partition * graph.children + c, k) for c, k in enumerate(nodes)]
        visited = below


def turned(graph: RegionGraph, tree: tuple[int, ...], orders: dict) -> tuple[int, ...]:
    """A tree with the children of partitions in other orders: orders[level, partition]."""

    def read(level: int, place: int):
        first = sum(graph.children**above for above in range(level))
        below = []
        if level + 1 < graph.levels:
            below = [read(level + 1, place * graph.children + c) for c in range(graph.children)]
        return tree[first + place], below

    result: list[list[int]] = [[] for _ in range(graph.levels)]

    def write(level: int, region: int, choice) -> None:
        edge, below = choice
        j, product = divmod(edge, graph.n_products[level])
        partition = region * graph.branching[level] + j
        order = orders.get((level, partition), tuple(range(graph.children)))
        if graph.products == "cross":
            size = graph.nodes[level + 1]
            digits = [product // size**c % size for c in reversed(range(graph.children))]
            product = 0
            for c in order:
                product = product * size + digits[c]
        result[level].append(j * graph.n_products[level] + product)
        for place, c in enumerate(order if below else ()):
            write(level + 1, partition * graph.children + place, below[c])

    write(0, 0, read(0, 0))
    return tuple(edge for level in result for edge in level)


def signature(graph: RegionGraph, trees: list[tuple[int, ...]]) -> tuple:
    """Trees with labels in the order in which they first occur, and children in the least order."""
    visited = sorted(
        {
            (level, region * graph.branching[level] + j)
            for tree in trees
            for level, _, region, _, j, _, _ in walk(graph, tree)
        }
    )
    every = list(itertools.permutations(range(graph.children)))
    best = None
    for chosen in itertools.product(every, repeat=len(visited)):
        orders = dict(zip(visited, chosen, strict=True))
        named = _named(graph, [turned(graph, tree, orders) for tree in trees])
        best = named if best is None else min(best, named)
    return best


def _named(graph: RegionGraph, trees: list[tuple[int, ...]]) -> tuple:
    names: dict[tuple, dict[int, int]] = {}

    def rename(key: tuple, name: int) -> int:
        known = names.setdefault(key, {})
        return known.setdefault(name, len(known))

    result = []
    for tree in trees:
        for level, place, region, _, j, _, nodes in walk(graph, tree):
            partition = region * graph.branching[level] + j
            renamed = [
                rename((level, partition, 0 if graph.products == "shared" else c), node)
                for c, node in enumerate(nodes)
            ]
            result.append((level, place, rename((level, region), j), tuple(renamed)))
    return tuple(result)


def log_joint(circuit, at_leaves: np.ndarray, tree: tuple[int, ...]) -> float:
    graph, value = circuit.graph, 0.0
    for level, _, region, node, j, product, nodes in walk(graph, tree):
        value += circuit.log_weights[level][region, node, j, product]
        if level == graph.levels - 1:
            first = (region * graph.branching[level] + j) * graph.children
            value += sum(at_leaves[first + c, k] for c, k in enumerate(nodes))
    return float(value)


def case(name: str, seed: int, rows: int):
    graph = GRAPHS[name]
    circuit = prior_circuit(3, graph, binary_leaves(4))
    X = np.random.default_rng(1).integers(0, 2, (rows, 4)).astype(float)
    rng = np.random.default_rng(seed)
    trees = all_trees(graph)
    chosen = [trees[int(k)] for k in rng.integers(len(trees), size=rows)]
    return graph, circuit, leaf_values(circuit, X), trees, chosen


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", GRAPHS)
def test_a_tree_after_others_has_the_mean_probability_of_those_like_it(name, seed):
    rows = 2 if "levels" in name else 3  # all orders of all children are gone through
    graph, circuit, at_leaves, trees, chosen = case(name, seed, rows)
    labels = FixedLabels(graph, np.array(chosen))
    alone = log_label_averaged(circuit, at_leaves[0], labels, 0)
    each = [log_joint(circuit, at_leaves[0], tree) for tree in trees]
    assert alone == pytest.approx(logsumexp(each) - np.log(len(trees)))
    for number in range(1, rows):
        before = chosen[:number]
        wanted = signature(graph, chosen[: number + 1])
        alike = [
            log_joint(circuit, at_leaves[number], tree)
            for tree in trees
            if signature(graph, [*before, tree]) == wanted
        ]
        actual = log_label_averaged(circuit, at_leaves[number], labels, number)
        assert actual == pytest.approx(logsumexp(alike) - np.log(len(alike)))


@pytest.mark.parametrize("name", ["cross", "two levels, cross", "three children"])
def test_rows_that_fix_labels_leave_nothing_open(name):
    """After them, every further tree of the table is the only one that it could be."""
    graph = GRAPHS[name]
    trees = all_trees(graph)
    edges = np.array([trees[int(k)] for k in np.random.default_rng(0).integers(len(trees), size=5)])
    rows, labels = label_fixing_rows(graph, edges)
    before = [tuple(edges[row]) for row in rows]
    for tree in {tuple(tree) for tree in edges}:
        extended = FixedLabels(graph, np.array([*before, tree]))
        possible = extended.possibilities(len(before))
        wanted = signature_of_labels(labels, [*before, tree])
        assert count(possible) == wanted == 1


def count(possible) -> int:
    """Number of trees that a tree may be turned into."""
    if possible is None:
        return 1
    assert isinstance(possible, KnownPartition)
    return sum(
        int(np.prod([len(one) for one in nodes])) * int(np.prod([count(one) for one in below]))
        for nodes, below in possible.orders
    )


def signature_of_labels(labels: FixedLabels, trees: list[tuple[int, ...]]) -> int:
    """How many trees look like the last one after the others, by going through all of them."""
    graph = labels.graph
    wanted = signature(graph, trees)
    return sum(signature(graph, [*trees[:-1], tree]) == wanted for tree in all_trees(graph))
