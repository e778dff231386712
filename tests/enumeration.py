"""All scopes and assignments of tables small enough to list them, and their probabilities.

Weights, v and θ are integrated out in closed form with scipy, independently of the sampler's code.
"""

from __future__ import annotations

import itertools

import numpy as np
from scipy.special import gammaln, logsumexp

from bayesspn.graphs import RegionGraph

ALPHA, BETA, GAMMA = 0.7, 1.3, 0.5


def log_dirichlet_multinomial(concentration: float, counts: np.ndarray) -> float:
    size = counts.shape[-1]
    total = counts.sum(axis=-1)
    value = gammaln(concentration + counts).sum(axis=-1) - size * gammaln(concentration)
    return float(
        (value + gammaln(size * concentration) - gammaln(size * concentration + total)).sum()
    )


def induced_tree(graph: RegionGraph, edges: tuple[int, ...]) -> tuple[list, list]:
    """Visited (level, region, sum, edge) tuples and visited (region, leaf) pairs of one row."""
    nodes = [(0, 0)]
    visited = []
    position = 0
    for level in range(graph.levels):
        below = []
        for region, s in nodes:
            edge = edges[position]
            position += 1
            visited.append((level, region, s, edge))
            j, product = divmod(edge, graph.n_products[level])
            width = graph.nodes[level + 1]
            for c in range(graph.children):
                index = (
                    product
                    if graph.products == "shared"
                    else (product // width, product % width)[c]
                )
                below.append(((region * graph.branching[level] + j) * graph.children + c, index))
        nodes = below
    return visited, nodes


def scope_of_leaf_regions(graph: RegionGraph, y: list[np.ndarray], columns: int) -> list[set[int]]:
    """Columns of each leaf region, by walking every column down."""
    scopes = [set() for _ in range(graph.n_leaf_regions)]
    for d in range(columns):
        regions = [0]
        for level in range(graph.levels):
            below = []
            for region in regions:
                for j in range(graph.branching[level]):
                    partition = region * graph.branching[level] + j
                    below.append(partition * graph.children + int(y[level][partition, d]))
            regions = below
        for region in regions:
            scopes[region].add(d)
    return scopes


def log_scope_prior(graph: RegionGraph, y: list[np.ndarray]) -> float:
    """log p(y) with v integrated out, over all entries, reached or not."""
    value = 0.0
    for choice in y:
        counts = np.stack([(choice == c).sum(axis=1) for c in range(graph.children)], axis=1)
        value += log_dirichlet_multinomial(BETA, counts)
    return value


def enumerate_posterior(graph: RegionGraph, X: np.ndarray) -> dict:
    """Exact evidence, posterior of leaf-region scopes, and of rows 0 and 1 sharing all edges."""
    rows, columns = X.shape
    spans = [
        range(graph.branching[level] * graph.n_products[level])
        for level in range(graph.levels)
        for _ in range(graph.children**level)
    ]
    trees = [(edges, *induced_tree(graph, edges)) for edges in itertools.product(*spans)]
    partitions = [graph.regions[l] * graph.branching[l] for l in range(graph.levels)]
    log_scope: dict[tuple, list[float]] = {}
    for flat in itertools.product(range(graph.children), repeat=sum(partitions) * columns):
        parts = np.split(np.array(flat), np.cumsum([p * columns for p in partitions])[:-1])
        y = [part.reshape(-1, columns) for part in parts]
        scopes = tuple(frozenset(s) for s in scope_of_leaf_regions(graph, y, columns))
        log_scope.setdefault(scopes, []).append(log_scope_prior(graph, y))
    scope_names = list(log_scope)
    log_prior = np.array([logsumexp(log_scope[name]) for name in scope_names])

    log_joint = np.full(len(scope_names), -np.inf)
    log_same = -np.inf
    observed = ~np.isnan(X)
    for combination in itertools.product(trees, repeat=rows):
        counts: dict[tuple, np.ndarray] = {}
        for _, visited, _ in combination:
            for level, region, s, edge in visited:
                size = graph.branching[level] * graph.n_products[level]
                counts.setdefault((level, region, s), np.zeros(size))[edge] += 1
        log_z = sum(log_dirichlet_multinomial(ALPHA, count) for count in counts.values())
        leaf_counts = np.zeros((graph.n_leaf_regions, graph.leaves, columns, 2))
        for n, (_, _, leaves) in enumerate(combination):
            for region, leaf in leaves:
                for d in np.flatnonzero(observed[n]):
                    leaf_counts[region, leaf, d, int(X[n, d])] += 1
        evidence = np.array(
            [
                [log_dirichlet_multinomial(GAMMA, leaf_counts[r, :, d]) for d in range(columns)]
                for r in range(graph.n_leaf_regions)
            ]
        )
        terms = (
            log_z
            + log_prior
            + np.array(
                [
                    sum(evidence[r, d] for r, s in enumerate(scopes) for d in s)
                    for scopes in scope_names
                ]
            )
        )
        log_joint = np.logaddexp(log_joint, terms)
        if combination[0][0] == combination[1][0]:
            log_same = np.logaddexp(log_same, logsumexp(terms))
    total = logsumexp(log_joint)
    return {
        "scopes": dict(zip(scope_names, np.exp(log_joint - total), strict=True)),
        "same": float(np.exp(log_same - total)),
        "log_evidence": float(total),
    }


CASES = {
    "cross, two partitions": (
        RegionGraph(1, 2, leaves=2),
        np.array([[0.0, 0.0], [0.0, 0.0], [1.0, np.nan]]),
    ),
    "shared, two partitions": (
        RegionGraph(1, 2, leaves=2, products="shared"),
        np.array([[0.0, 0.0, 1.0], [0.0, np.nan, 1.0], [1.0, 1.0, 0.0], [1.0, 1.0, np.nan]]),
    ),
    "shared, two levels": (
        RegionGraph(2, 1, sums=2, leaves=2, products="shared"),
        np.array([[0.0, 0.0], [np.nan, 0.0], [1.0, 1.0]]),
    ),
    "three children": (
        RegionGraph(1, 1, children=3, leaves=2, products="shared"),
        np.array([[0.0, 0.0, 1.0], [0.0, np.nan, 1.0], [1.0, 1.0, 0.0]]),
    ),
}
