"""The sampler's posterior against full enumeration on tables small enough to enumerate.

All scopes y and all assignments z are listed, weights, v and θ integrated out in closed form with
scipy, independently of the sampler's code. Monte Carlo errors come from batch means; the tests
allow 4.5 standard errors, a false alarm rate below 1e-3 for the few dozen events together.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.special import gammaln, logsumexp
from scipy.stats import chi2
from support import binary_leaves

from bayesspn.engine import compiled
from bayesspn.engine.shards import LocalShards
from bayesspn.graphs import RegionGraph
from bayesspn.model import Model
from bayesspn.randomness import Key
from bayesspn.rows import encode_rows
from bayesspn.sampling.chains import run_chain, start_chain
from bayesspn.sampling.scopes import draw_scopes
from bayesspn.scopes import Scope

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
    """Exact posterior of leaf-region scopes, and of rows 0 and 1 sharing all their edges."""
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
    }


def batch_error(indicator: np.ndarray, batches: int = 30) -> float:
    means = indicator[: len(indicator) // batches * batches].reshape(batches, -1).mean(axis=1)
    return float(means.std(ddof=1) / np.sqrt(batches))


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


@pytest.mark.parametrize("case", CASES)
def test_posterior_of_scopes_and_row_partitions_equals_enumeration(case):
    graph, X = CASES[case]
    exact = enumerate_posterior(graph, X)
    leaves = binary_leaves(X.shape[1], gamma=GAMMA)
    model = Model(graph, leaves, alpha=ALPHA, beta=BETA, learn_leaf_priors=False)
    rows = encode_rows(leaves, X)
    scopes = []
    same = []

    def watch_row_pass(circuit, rows, address):
        edges, _ = compiled.draw_trees(circuit, rows, address)
        same.append((edges[0] == edges[1]).all())
        return compiled.row_pass(circuit, rows, address)

    sweeps = 4000
    chain = run_chain(
        start_chain(Key(1), model, rows),
        LocalShards(rows, row_pass=watch_row_pass),
        burn_in=20,
        draws=sweeps,
    )
    for state in chain.draws:
        member = state.scope.region_scopes[-1]
        scopes.append(tuple(frozenset(np.flatnonzero(row).tolist()) for row in member))
    checked = 0
    for scope, probability in exact["scopes"].items():
        hits = np.array([s == scope for s in scopes], dtype=float)
        if probability > 0.02:
            checked += 1
            assert abs(hits.mean() - probability) < 4.5 * batch_error(hits) + 1e-3, scope
    assert checked >= 3
    hits = np.array(same[20:], dtype=float)
    assert abs(hits.mean() - exact["same"]) < 4.5 * batch_error(hits) + 1e-3


@pytest.mark.parametrize("children", [2, 3])
def test_one_columns_paths_are_drawn_from_their_exact_conditional(children):
    """Independent draws of a single column; chi-square with a false alarm rate of 1e-4."""
    graph = RegionGraph(2, (2, 1), children=children, leaves=2)
    rng = np.random.default_rng(0)
    evidence = rng.normal(scale=1.5, size=(1, graph.n_leaf_regions))
    beta = 0.8
    partitions = [graph.regions[l] * graph.branching[l] for l in range(2)]
    scope = Scope(graph, tuple(np.zeros((p, 1), dtype=np.int8) for p in partitions))
    # with one column all counts are zero, so π is uniform
    weight = {}
    root = itertools.product(range(children), repeat=partitions[0])
    for first in root:
        for second in itertools.product(range(children), repeat=2):
            regions = []
            for j in range(2):
                partition = j * children + first[j]
                regions.append(partition * children + second[j])
            weight[tuple(regions)] = np.exp(evidence[0, regions].sum())
    total = sum(weight.values())
    draws = 20_000
    counts = dict.fromkeys(weight, 0)
    for _ in range(draws):
        drawn = draw_scopes(rng, scope, evidence, beta)
        counts[tuple(drawn.leaf_regions[0].tolist())] += 1
    statistic = sum(
        (counts[key] - draws * weight[key] / total) ** 2 / (draws * weight[key] / total)
        for key in weight
    )
    assert statistic < chi2.isf(1e-4, len(weight) - 1)
