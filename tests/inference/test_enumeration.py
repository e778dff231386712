"""The sampler's posterior against full enumeration on tables small enough to enumerate.

All scopes y and all assignments z are listed, weights, v and θ integrated out in closed form with
scipy, independently of the sampler's code. Monte Carlo errors come from batch means; the tests
allow 4.5 standard errors, a false alarm rate below 1e-3 for the few dozen events together.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from enumeration import ALPHA, BETA, CASES, GAMMA, enumerate_posterior
from scipy.stats import chi2
from support import binary_leaves

from bayesspn.engine import compiled
from bayesspn.engine.shards import LocalShards
from bayesspn.graphs import RegionGraph
from bayesspn.inference.chains import Chain, run_chain, start_chain
from bayesspn.inference.scopes import draw_scopes
from bayesspn.model.generative import Model
from bayesspn.numerics.random_numbers import Key
from bayesspn.rows.encoded import encode_rows
from bayesspn.scopes import Scope


def batch_error(indicator: np.ndarray, batches: int = 30) -> float:
    means = indicator[: len(indicator) // batches * batches].reshape(batches, -1).mean(axis=1)
    return float(means.std(ddof=1) / np.sqrt(batches))


@pytest.mark.parametrize("case", CASES)
def test_posterior_of_scopes_and_row_partitions_equals_enumeration(case):
    graph, X = CASES[case]
    exact = enumerate_posterior(graph, X)
    leaves = binary_leaves(X.shape[1], gamma=GAMMA)
    model = Model(graph, leaves, alpha=ALPHA, beta=BETA, learn_leaf_priors=False)
    rows = encode_rows(leaves, X)
    same = []

    def watch_row_pass(circuit, rows, address):
        edges, _ = compiled.draw_trees(circuit, rows, address)
        same.append((edges[0] == edges[1]).all())
        return compiled.row_pass(circuit, rows, address)

    sweeps = 3000
    chain = run_chain(
        start_chain(Key(1), model, rows),
        LocalShards(rows, row_pass=watch_row_pass),
        burn_in=20,
        draws=sweeps,
    )
    assert_scopes(chain, exact)
    hits = np.array(same[20:], dtype=float)
    assert abs(hits.mean() - exact["same"]) < 4.5 * batch_error(hits) + 1e-3


def assert_scopes(chain: Chain, exact: dict) -> None:
    scopes = []
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
