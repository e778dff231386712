"""The evidence against enumeration, estimates against each other, and tempered chains."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from enumeration import (
    ALPHA,
    BETA,
    CASES,
    GAMMA,
    enumerate_posterior,
    log_dirichlet_multinomial,
)
from scipy.special import betaln, gammaln, logsumexp
from support import (
    GRAPHS,
    binary_leaves,
    mixed_leaves,
    mixed_table,
    prior_circuit,
)

from bayesspn.engine import compiled, oracle
from bayesspn.engine.row_sums import Address
from bayesspn.graphs import RegionGraph
from bayesspn.inference.evidence.checks.sequential import sequential_evidence
from bayesspn.inference.evidence.checks.tempered import tempered_evidence
from bayesspn.inference.evidence.estimates import bridge_evidence
from bayesspn.inference.prior import draw_prior_circuit, draw_rows
from bayesspn.leaves.columns import Leaves, describe_column
from bayesspn.model.generative import Learned, Model, draw_hyper
from bayesspn.numerics.random_numbers import Key
from bayesspn.rows.encoded import encode_rows

ESTIMATES = {
    "bridge": bridge_evidence,
    "sequential": sequential_evidence,
    "tempered": tempered_evidence,
}

#: Effort that makes errors of tiny tables small.
THOROUGH = {
    "bridge": {"runs": 6, "sweeps": 640},
    "sequential": {"runs": 8, "particles": 64},
    "tempered": {"sweeps": 300},
}


def _quick_or_long(case: str):
    quick = case == "shared, two levels"
    return case if quick else pytest.param(case, marks=pytest.mark.long)


@pytest.mark.parametrize(
    "name", ["bridge", "sequential", pytest.param("tempered", marks=pytest.mark.long)]
)
@pytest.mark.parametrize("case", [_quick_or_long(case) for case in CASES])
def test_evidence_of_binary_tables_equals_enumeration(case, name):
    graph, X = CASES[case]
    exact = enumerate_posterior(graph, X)["log_evidence"]
    leaves = binary_leaves(X.shape[1], gamma=GAMMA)
    model = Model(graph, leaves, alpha=ALPHA, beta=BETA, learn_leaf_priors=False)
    value, error = ESTIMATES[name](model, encode_rows(leaves, X), seed=1, **THOROUGH[name])
    assert error < 0.3
    assert abs(value - exact) < 4 * error


def mixed_case() -> tuple[Model, np.ndarray]:
    """Two leaves, a real column and one that mixes two models of counts."""
    X = np.array([[0.3, 0.0], [0.9, 2.0], [-3.0, np.nan], [np.nan, 5.0]])
    columns = (
        describe_column("real", X[:, 0], "gaussian", resolution=0.1),
        describe_column("count", X[:, 1], ("poisson", "geometric")),
    )
    graph = RegionGraph(0, leaves=2)
    return Model(graph, Leaves(columns), alpha=ALPHA, mixing=0.8, learn_leaf_priors=False), X


def enumerate_mixed(model: Model, X: np.ndarray) -> float:
    """Sum over leaves of rows and models of count cells; θ, ω and w integrated out."""
    leaves = model.leaves
    cells = np.flatnonzero(~np.isnan(X[:, 1]))
    terms = []
    for z in itertools.product(range(2), repeat=len(X)):
        assigned = np.array(z)
        log_z = log_dirichlet_multinomial(ALPHA, np.bincount(assigned, minlength=2).astype(float))
        for s in itertools.product(range(2), repeat=len(cells)):
            value = log_z
            for leaf in range(2):
                own = assigned == leaf
                value += log_cells(leaves, 0, 0, X[own & ~np.isnan(X[:, 0]), 0])
                models = np.array([m for n, m in zip(cells, s, strict=True) if own[n]])
                counts = np.bincount(models.astype(int), minlength=2).astype(float)
                value += log_dirichlet_multinomial(0.8, counts)
                for m in range(2):
                    rows = [n for n, k in zip(cells, s, strict=True) if own[n] and k == m]
                    value += log_cells(leaves, 1, m, X[rows, 1])
            terms.append(value)
    return float(logsumexp(terms))


def log_cells(leaves: Leaves, column: int, model: int, values: np.ndarray) -> float:
    """Log marginal likelihood of cells under one likelihood family."""
    group, position = leaves.places[column][model]
    family = leaves.groups[group].family
    statistics, log_base = leaves.columns[column].features(model, values)
    hyper = leaves.groups[group].hyper(leaves.groups[group].center)[position].reshape(1, -1)
    marginal = family.log_marginal(hyper, np.array([len(values)]), statistics.sum(axis=0)[None])
    return float(marginal[0] + log_base.sum())


@pytest.mark.parametrize(
    ("name", "more", "largest"),
    [
        ("bridge", {"runs": 6, "sweeps": 400}, 2.0),
        pytest.param("sequential", THOROUGH["sequential"], 0.4, marks=pytest.mark.long),
        pytest.param("bridge", {"runs": 8, "sweeps": 6000}, 0.3, marks=pytest.mark.long),
        pytest.param("tempered", THOROUGH["tempered"], 0.3, marks=pytest.mark.long),
    ],
)
def test_evidence_of_mixed_columns_equals_enumeration(name, more, largest):
    model, X = mixed_case()
    rows = encode_rows(model.leaves, X)
    value, error = ESTIMATES[name](model, rows, seed=2, **more)
    assert error < largest
    assert abs(value - enumerate_mixed(model, X)) < 4 * error


@pytest.mark.parametrize("leaves_used", [3, 5])
def test_names_that_a_chain_never_changes_are_counted(leaves_used):
    """Clusters that nothing confuses: p(x) is that of one assignment times its ways to be named."""
    rng = np.random.default_rng(3)
    X = np.repeat(rng.integers(0, 2, (3, 60)), 10, axis=0).astype(float)
    leaves = binary_leaves(60, gamma=GAMMA)
    graph = RegionGraph(0, leaves=leaves_used)
    model = Model(graph, leaves, alpha=ALPHA, learn_leaf_priors=False)
    cluster = np.arange(30) // 10
    counts = np.bincount(cluster, minlength=leaves_used).astype(float)
    exact = log_dirichlet_multinomial(ALPHA, counts)
    for k in range(3):
        ones = X[cluster == k].sum(axis=0)
        exact += log_dirichlet_multinomial(GAMMA, np.stack([ones, 10 - ones], axis=1))
    exact += np.log(np.prod(np.arange(leaves_used, leaves_used - 3, -1)))
    value, error = bridge_evidence(model, encode_rows(leaves, X), seed=0, sweeps=160)
    assert error < 0.5
    assert abs(value - exact) < 4 * error + 0.02


def small_tables(count: int):
    """Tables from the prior of a small model with learned hyper-parameters."""
    rng = np.random.default_rng(5)
    leaves = binary_leaves(3)
    model = Model(RegionGraph(1, 1, leaves=2), leaves, alpha=Learned(0.5, 0.7))
    for _ in range(count):
        circuit = draw_prior_circuit(rng, model, draw_hyper(rng, model))
        yield model, draw_rows(rng, circuit, 30)


@pytest.mark.long
def test_the_two_estimates_agree_with_learned_hyper_parameters():
    for model, X in small_tables(1):
        rows = encode_rows(model.leaves, X)
        one = bridge_evidence(model, rows, seed=3, sweeps=2000)
        two = sequential_evidence(model, rows, seed=3, runs=6, particles=48)
        together = np.hypot(one.standard_error, two.standard_error)
        assert together < 0.8
        assert abs(one.value - two.value) < 4 * together


@pytest.mark.long
@pytest.mark.parametrize("case", ["cross, two partitions", "shared, two partitions"])
def test_error_bars_hold_what_they_promise_on_tiny_tables(case):
    """The truth, by enumeration, is within two standard errors about 19 times in 20."""
    graph, X = CASES[case]
    leaves = binary_leaves(X.shape[1], gamma=GAMMA)
    model = Model(graph, leaves, alpha=ALPHA, beta=BETA, learn_leaf_priors=False)
    rng = np.random.default_rng(6)
    inside = []
    for number in range(60):
        table = draw_rows(rng, draw_prior_circuit(rng, model, draw_hyper(rng, model)), len(X))
        table[np.isnan(X)] = np.nan
        exact = enumerate_posterior(graph, table)["log_evidence"]
        value, error = bridge_evidence(model, encode_rows(leaves, table), seed=number)
        inside.append(abs(value - exact) < 2 * error)
    assert 0.87 <= np.mean(inside) <= 1.0


@pytest.mark.long
def test_error_bars_hold_what_they_promise():
    """The truth, from many particles, is within two standard errors about 19 times in 20."""
    inside = []
    for number, (model, X) in enumerate(small_tables(40)):
        rows = encode_rows(model.leaves, X)
        truth = sequential_evidence(model, rows, seed=1000 + number, runs=6, particles=96)
        value, error = bridge_evidence(model, rows, seed=number)
        inside.append(abs(value - truth.value) < 2 * np.hypot(error, truth.standard_error))
    assert 0.87 <= np.mean(inside) <= 1.0


@pytest.mark.parametrize("power", [0.0, 0.37, 1.0])
def test_tempered_passes_of_engine_and_oracle_agree(power):
    X = mixed_table(2, rows=200)
    leaves = mixed_leaves(X)
    rows = encode_rows(leaves, X)
    circuit = prior_circuit(2, GRAPHS["shared, deep"], leaves)
    circuit = replace(circuit, densities=replace(circuit.densities, power=power))
    address = Address(Key(3).words(), 1)
    expected, actual = (
        oracle.row_pass(circuit, rows, address),
        compiled.row_pass(circuit, rows, address),
    )
    for a, b in zip(
        expected.edge_counts + expected.statistics,
        actual.edge_counts + actual.statistics,
        strict=True,
    ):
        np.testing.assert_array_equal(a, b)
    exact = oracle.log_likelihood(circuit, X)
    np.testing.assert_allclose(compiled.log_likelihood(circuit, rows), exact, rtol=1e-6, atol=1e-5)
    if power == 0.0:
        np.testing.assert_allclose(exact, 0.0, atol=1e-9)


# Orders of children -------------------------------------------------------------------------------


def log_evidence_of_one_partition(X: np.ndarray, alpha: float, beta: float) -> float:
    """Exact evidence of a cross graph with one partition and two leaves per region.

    All assignments of rows to the leaves of both children are gone through; scopes are summed by
    the number of columns that the first child gets.
    """
    rows, columns = X.shape
    sides = (np.arange(2**rows)[:, None] >> np.arange(rows)) & 1
    per_side = np.zeros((len(sides), columns))
    for leaf in (0, 1):
        members = (sides == leaf).astype(float)
        ones, size = members @ X, members.sum(axis=1, keepdims=True)
        per_side += betaln(0.5 + ones, 0.5 + size - ones) - betaln(0.5, 0.5)
    k = np.arange(columns + 1)
    log_scope = gammaln(beta + k) + gammaln(beta + columns - k) - 2 * gammaln(beta)
    log_scope += gammaln(2 * beta) - gammaln(2 * beta + columns)
    total = -np.inf
    for first, own in zip(sides, per_side, strict=True):
        product = 2 * first + sides
        counts = np.stack([(product == p).sum(axis=1) for p in range(4)], axis=1)
        log_edges = (gammaln(alpha + counts) - gammaln(alpha)).sum(axis=1)
        log_edges += gammaln(4 * alpha) - gammaln(4 * alpha + rows)
        sums = np.full((len(sides), columns + 1), -np.inf)
        sums[:, 0] = 0.0
        for d in range(columns):
            longer = sums + per_side[:, d, None]
            longer[:, 1:] = np.logaddexp(longer[:, 1:], sums[:, :-1] + own[d])
            sums = longer
        total = np.logaddexp(total, logsumexp(log_edges + logsumexp(sums + log_scope, axis=1)))
    return float(total)


def mean_error(tables: int, rows: int, sweeps: int) -> tuple[float, float]:
    """Of the evidence of random tables with six columns, and its standard error."""
    model = Model(
        RegionGraph(1, 1, leaves=2), binary_leaves(6), alpha=1.0, beta=10.0, learn_leaf_priors=False
    )
    errors = []
    for seed in range(tables):
        X = np.random.default_rng(100 + seed).integers(0, 2, (rows, 6)).astype(float)
        found = bridge_evidence(
            model, encode_rows(model.leaves, X), seed=seed, runs=4, sweeps=sweeps, n_jobs=1
        )
        errors.append(found.value - log_evidence_of_one_partition(X, 1.0, 10.0))
    return float(np.mean(errors)), float(np.std(errors, ddof=1) / np.sqrt(tables))


@pytest.mark.long
def test_children_that_a_chain_swaps_are_not_counted_twice(record_property):
    """Weak data: chains swap the children of the partition all the time."""
    error, uncertainty = mean_error(tables=40, rows=4, sweeps=1_600)
    record_property("error of the evidence where children swap", (error, uncertainty))
    assert abs(error) < 4 * uncertainty
    assert uncertainty < 0.06
