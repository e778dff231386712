"""Predictions of draws and of the posterior."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import beta
from support import GRAPHS, binary_leaves, mixed_leaves, mixed_table

from bayesspn.engine import compiled, oracle
from bayesspn.graphs import RegionGraph
from bayesspn.inference.chains import run_chain, start_chain
from bayesspn.inference.circuits import draw_circuit, predictive_circuit
from bayesspn.leaves.columns import Leaves, describe_column
from bayesspn.model.explicit import SPN, LeafNode, ProductNode, SumNode
from bayesspn.model.generative import Model
from bayesspn.numerics.random_numbers import Key
from bayesspn.prediction.posterior import DRAWN_SEED, Posterior, merge_chains
from bayesspn.rows.encoded import encode_rows


def fit(model, X, seed=0, chains=2, burn_in=10, draws=3):
    rows = encode_rows(model.leaves, X)
    return merge_chains(
        [
            run_chain(start_chain(Key(seed, c), model, rows), rows, burn_in=burn_in, draws=draws)
            for c in range(chains)
        ]
    )


@pytest.fixture(scope="module")
def binary():
    rng = np.random.default_rng(0)
    X = (rng.random((60, 4)) < 0.3 + 0.4 * rng.integers(0, 2, (60, 1))).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    model = Model(RegionGraph(2, (2, 1), sums=2, leaves=3, products="shared"), binary_leaves(4))
    return fit(model, X)


ALL_ROWS = np.array(list(itertools.product([0.0, 1.0], repeat=4)))


def test_a_posterior_is_shown_in_a_line(binary):
    shown = repr(binary)
    assert shown.startswith("<Posterior of 4 columns: 6 draws of 2 chains; region graph: depth 2")
    assert len(shown) < 200


def test_predictive_probabilities_sum_to_one(binary):
    np.testing.assert_allclose(np.exp(binary.score_samples(ALL_ROWS)).sum(), 1.0, rtol=1e-6)


def test_missing_cells_are_summed_out(binary):
    joint = np.exp(binary.score_samples(ALL_ROWS))
    query = np.array([[1.0, np.nan, 0.0, np.nan]])
    agrees = (ALL_ROWS[:, 0] == 1) & (ALL_ROWS[:, 2] == 0)
    marginal = np.exp(binary.score_samples(query))[0]
    np.testing.assert_allclose(marginal, joint[agrees].sum(), rtol=1e-6)
    np.testing.assert_allclose(binary.score_samples(np.full((1, 4), np.nan)), 0.0, atol=1e-6)


def test_posterior_averages_densities_over_draws_and_chains(binary):
    per_draw = binary.score_draws(ALL_ROWS)
    assert per_draw.shape == (binary.n_draws, len(ALL_ROWS)) == (6, 16)
    expected = logsumexp(per_draw, axis=0) - np.log(6)
    # few rows are evaluated in double precision, many with weights in single precision
    np.testing.assert_allclose(binary.score_samples(ALL_ROWS), expected, rtol=1e-6)
    more = np.concatenate([ALL_ROWS, ALL_ROWS])
    np.testing.assert_allclose(binary.score_draws(more)[:, :16], per_draw, rtol=1e-6)


def test_drawn_parameters_give_credible_intervals_of_the_right_width():
    """One coin thrown 100 times: its probability has a Beta posterior, known in closed form."""
    X = np.repeat([0.0, 1.0], [70, 30])[:, None]
    model = Model(RegionGraph(0, leaves=1), binary_leaves(1), learn_leaf_priors=False)
    posterior = fit(model, X, chains=1, burn_in=1, draws=2000)
    probability = np.exp(posterior.score_draws(np.ones((1, 1)), seed=0))[:, 0]
    exact = beta(30.5, 70.5)
    # 2,000 independent draws; 4.5 standard errors of mean and standard deviation
    assert abs(probability.mean() - exact.mean()) < 4.5 * exact.std() / np.sqrt(2000)
    assert abs(probability.std() / exact.std() - 1) < 4.5 / np.sqrt(2 * 2000)
    predictive = np.exp(posterior.score_draws(np.ones((1, 1))))
    np.testing.assert_allclose(predictive, exact.mean(), rtol=1e-6)


@pytest.mark.parametrize("name", GRAPHS)
def test_explicit_network_evaluates_to_the_same_numbers(name):
    X = mixed_table(0, rows=40)
    posterior = fit(Model(GRAPHS[name], mixed_leaves(X)), X, draws=2)
    circuit = posterior.as_spn()
    circuit.check()
    assert circuit.scopes()[-1] == frozenset(range(X.shape[1]))
    np.testing.assert_allclose(
        circuit.log_density(X), posterior.score_samples(X), rtol=1e-6, atol=1e-6
    )
    assert f"{sum(isinstance(n, SumNode) for n in circuit.nodes):,} sums" in str(circuit)


def test_explicit_network_check_finds_what_is_wrong():
    leaves = binary_leaves(2)
    leaf = [LeafNode(d, np.zeros(1), (np.ones(2),)) for d in (0, 1)]
    half = np.log([0.5, 0.5])
    with pytest.raises(ValueError, match="sum 2 is not complete"):
        SPN(leaves, (leaf[0], leaf[1], SumNode((0, 1), half))).check()
    with pytest.raises(ValueError, match="product 2 is not decomposable"):
        SPN(leaves, (leaf[0], leaf[0], ProductNode((0, 1)))).check()
    with pytest.raises(ValueError, match="node 1 comes before"):
        SPN(leaves, (leaf[0], ProductNode((0, 2)), leaf[1])).check()


@pytest.mark.parametrize("name", ["cross", "shared, deep"])
def test_predictive_circuit_equals_the_average_over_drawn_parameters(name):
    """4,000 draws of (w, θ, ω) of one state; 4.5 standard errors at each of a few rows."""
    X = mixed_table(1, rows=30)
    model = Model(GRAPHS[name], mixed_leaves(X))
    posterior = fit(model, X, chains=1, draws=1)
    state = posterior.draws[0][0]
    queries = X[:6].copy()
    queries[:, 4:] = np.nan  # densities of fewer cells have fewer heavy tails
    rows = encode_rows(model.leaves, queries)
    exact = np.exp(compiled.log_likelihood(predictive_circuit(model, state), rows))
    draws = np.exp(
        [
            compiled.log_likelihood(draw_circuit(Key(7), sweep, model, state), rows)
            for sweep in range(4000)
        ]
    )
    error = draws.std(axis=0, ddof=1) / np.sqrt(len(draws))
    assert (np.abs(draws.mean(axis=0) - exact) < 4.5 * error).all()


def test_sampled_rows_follow_the_predictive_distribution(binary):
    """20,000 rows over 16 cells; 4.5 standard errors."""
    sampled = binary.sample(20_000, seed=3)
    codes = sampled @ [8, 4, 2, 1]
    probability = np.exp(binary.score_samples(ALL_ROWS))
    frequency = np.bincount(codes.astype(int), minlength=16) / len(sampled)
    error = np.sqrt(probability * (1 - probability) / len(sampled))
    assert (np.abs(frequency - probability) < 4.5 * error).all()


@pytest.mark.parametrize("fitted", [False, True])
def test_completed_rows_follow_the_conditional_distribution(binary, fitted):
    given = np.array([np.nan, 1.0, np.nan, 0.0])
    completed = binary.complete(np.tile(given, (20_000, 1)), seed=4, fitted=fitted)
    assert (completed[:, [1, 3]] == [1.0, 0.0]).all()
    possible = ALL_ROWS[(ALL_ROWS[:, 1] == 1) & (ALL_ROWS[:, 3] == 0)]
    if fitted:  # the average of the draws' own conditionals, parameters drawn
        known = binary.score_draws(given[None], DRAWN_SEED)
        conditional = binary.score_draws(possible, DRAWN_SEED) - known
        probability = np.exp(conditional).mean(axis=0)
    else:
        probability = np.exp(binary.score_samples(possible) - binary.score_samples(given[None]))
    codes = completed[:, 0] * 2 + completed[:, 2]
    frequency = np.bincount(codes.astype(int), minlength=4) / len(completed)
    error = np.sqrt(probability * (1 - probability) / len(completed))
    assert (np.abs(frequency - probability) < 4.5 * error).all()


def test_sampled_columns_of_every_kind_follow_their_marginals():
    """Distribution function of 4,000 sampled values against the density, 1e-4 false alarms."""
    X = mixed_table(2, rows=200)
    model = Model(GRAPHS["shared, deep"], mixed_leaves(X))
    posterior = fit(model, X, burn_in=30)
    n = 4000
    sampled = posterior.sample(n, seed=5)
    for d in range(X.shape[1]):
        column = np.sort(sampled[:, d])
        # log densities are right if ∫ over a bin equals its share; bins at sample quantiles
        edges = np.quantile(column, [0.2, 0.5, 0.8])
        for low, high in itertools.pairwise(edges):
            share = ((column > low) & (column <= high)).mean()
            if model.leaves.columns[d].likelihoods[0].measure == "discrete":
                values = np.arange(low + 1, high + 1)
                weights = np.ones(len(values))
            else:
                nodes, weights = np.polynomial.legendre.leggauss(400)
                values = low + (high - low) * (nodes + 1) / 2
                weights = weights * (high - low) / 2
            query = np.full((len(values), X.shape[1]), np.nan)
            query[:, d] = values
            mass = float(np.exp(posterior.score_samples(query)) @ weights) if len(values) else 0.0
            assert abs(share - mass) < 4.5 * np.sqrt(mass * (1 - mass) / n) + 2e-3, (d, low, high)


def test_same_seed_gives_the_same_rows(binary):
    np.testing.assert_array_equal(binary.sample(50, seed=1), binary.sample(50, seed=1))
    assert (binary.sample(50, seed=1) != binary.sample(50, seed=2)).any()


def test_impossible_evidence_is_an_error_that_names_the_row():
    X = np.array([[0.0], [3.0], [1.0]])
    model = Model(RegionGraph(0, leaves=2), Leaves((describe_column("n", X[:, 0], "poisson"),)))
    posterior = fit(model, X)
    with pytest.raises(ValueError, match="row 1: its observed cells have probability zero"):
        posterior.complete(np.array([[1.0], [-2.0]]), seed=0)


def test_posteriors_of_one_model_merge_and_others_do_not(binary):
    merged = binary.merged(binary)
    assert merged.n_draws == 2 * binary.n_draws
    np.testing.assert_allclose(merged.score_samples(ALL_ROWS), binary.score_samples(ALL_ROWS))
    other = Posterior(Model(binary.model.graph, binary.model.leaves), binary.draws)
    with pytest.raises(ValueError, match="same model"):
        binary.merged(other)
    with pytest.raises(ValueError, match="at least one draw"):
        Posterior(binary.model, ((), ()))


@pytest.mark.parametrize("unit", [1000.0, 0.004])
def test_changing_a_columns_unit_shifts_every_log_density_and_nothing_else(unit):
    X = mixed_table(6, rows=120)
    scaled = X.copy()
    changed = [2, 4, 5, 6, 7]  # the continuous columns
    scaled[:, changed] *= unit
    first = fit(Model(GRAPHS["shared, deep"], mixed_leaves(X)), X)
    second = fit(Model(GRAPHS["shared, deep"], mixed_leaves(scaled)), scaled)
    for one, two in zip(first.draws[0], second.draws[0], strict=True):
        for a, b in zip(one.scope.y + one.edge_counts, two.scope.y + two.edge_counts, strict=True):
            np.testing.assert_array_equal(a, b)
    observed = (~np.isnan(X[:, changed])).sum(axis=1)
    np.testing.assert_allclose(
        second.score_samples(scaled),
        first.score_samples(X) - observed * np.log(unit),
        rtol=1e-6,
        atol=1e-6,
    )


def test_engine_and_oracle_agree_on_predictive_circuits():
    X = mixed_table(8, rows=50)
    model = Model(GRAPHS["cross, deep"], mixed_leaves(X))
    circuit = predictive_circuit(model, fit(model, X, chains=1, draws=1).draws[0][0])
    np.testing.assert_allclose(
        compiled.log_likelihood(circuit, encode_rows(model.leaves, X)),
        oracle.log_likelihood(circuit, X),
        rtol=1e-6,
        atol=1e-6,
    )


def test_thinned_posteriors_keep_evenly_spaced_draws_of_every_chain(monkeypatch):
    monkeypatch.setattr("bayesspn.prediction.posterior.MOST_ROW_DRAWS", 6)
    posterior = Posterior(object(), (tuple(range(10)), tuple(range(10, 17))))
    assert posterior.thinned.draws == ((0, 3, 6, 9), (10, 13, 16))
    monkeypatch.setattr("bayesspn.prediction.posterior.MOST_ROW_DRAWS", 17)
    whole = Posterior(object(), posterior.draws)
    assert whole.thinned is whole
