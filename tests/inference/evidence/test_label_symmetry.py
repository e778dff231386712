"""Probabilities of trees up to names, against all trees that differ in names only."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.special import logsumexp
from support import binary_leaves, prior_circuit

from bayesspn.engine.oracle import leaf_values
from bayesspn.graphs import RegionGraph
from bayesspn.inference.evidence.label_symmetry import FixedLabels, log_label_averaged

GRAPHS = {
    "mixture": RegionGraph(0, leaves=4),
    "cross": RegionGraph(1, 2, leaves=3),
    "shared": RegionGraph(1, 3, leaves=3, products="shared"),
    "two levels": RegionGraph(2, 2, sums=2, leaves=2, products="shared"),
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


def signature(graph: RegionGraph, trees: list[tuple[int, ...]]) -> tuple:
    """Trees with partitions and nodes named in the order in which they first occur."""
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


def case(name: str, seed: int):
    graph = GRAPHS[name]
    circuit = prior_circuit(3, graph, binary_leaves(4))
    X = np.random.default_rng(1).integers(0, 2, (2, 4)).astype(float)
    rng = np.random.default_rng(seed)
    trees = all_trees(graph)
    chosen = [trees[int(k)] for k in rng.integers(len(trees), size=2)]
    return graph, circuit, leaf_values(circuit, X), trees, chosen


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", GRAPHS)
def test_a_tree_after_another_has_the_mean_probability_of_those_like_it(name, seed):
    graph, circuit, at_leaves, trees, (first, second) = case(name, seed)
    labels = FixedLabels(graph, np.array([first, second]))
    alone = log_label_averaged(circuit, at_leaves[0], np.array(first), labels, 0)
    each = [log_joint(circuit, at_leaves[0], tree) for tree in trees]
    assert alone == pytest.approx(logsumexp(each) - np.log(len(trees)))
    wanted = signature(graph, [first, second])
    alike = [
        log_joint(circuit, at_leaves[1], tree)
        for tree in trees
        if signature(graph, [first, tree]) == wanted
    ]
    actual = log_label_averaged(circuit, at_leaves[1], np.array(second), labels, 1)
    assert actual == pytest.approx(logsumexp(alike) - np.log(len(alike)))
