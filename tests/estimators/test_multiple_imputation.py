"""Multiple imputation: tables differ by all that is not known, and pooled intervals cover."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from scipy.special import betaln, gammaln, logsumexp
from support import binary_leaves, state_from_latents

from bayesspn import RegionGraph, SPNImputer, pool_estimates
from bayesspn.estimators.imputation import average_cells
from bayesspn.inference.chains import run_chain, start_chain
from bayesspn.inference.prior import draw_prior_circuit
from bayesspn.leaves.columns import Leaves, describe_column
from bayesspn.model.generative import Model, start_hyper
from bayesspn.numerics.random_numbers import Key
from bayesspn.prediction import posterior as posteriors
from bayesspn.prediction.posterior import Posterior, merge_chains
from bayesspn.rows.encoded import encode_rows


def one_leaf(values: np.ndarray, draws: int, seed: int = 0) -> Posterior:
    """Posterior of a Gaussian column with one leaf and a fixed prior."""
    column = describe_column("x", values[:, 0], "gaussian", resolution=0.0)
    graph = RegionGraph(0, leaves=1)
    model = Model(graph, Leaves((column,)), alpha=1.0, beta=1.0, learn_leaf_priors=False)
    rows = encode_rows(model.leaves, values)
    return merge_chains([run_chain(start_chain(Key(seed), model, rows), rows, draws=draws)])


def with_holes(rng: np.random.Generator, rows: int = 60, observed: int = 18) -> np.ndarray:
    values = rng.normal(5.0, 2.0, size=(rows, 1))
    values[observed:] = np.nan
    return values


def test_tables_differ_by_what_is_not_known_of_the_network():
    """Exact variance of a completed table's mean, from the posterior of mean and precision."""
    values = with_holes(np.random.default_rng(0))
    posterior = one_leaf(values, draws=50)
    (state,) = {id(draw): draw for draw in posterior.draws[0][-1:]}.values()
    (group,) = posterior.model.leaves.groups
    slots = state.statistics[0][0, 0, 0]
    hyper = group.family.posterior(group.hyper(state.hyper.phi[0])[0, 0, 0], slots[0], slots[1:])
    _, kappa, a, b, _ = hyper
    scale = group.constants[0, 1]
    missing, rows = int(np.isnan(values).sum()), len(values)
    variance = scale**2 * b / (a - 1)  # mean of the leaf's variance
    expected = (missing**2 * variance / kappa + missing * variance) / rows**2
    means = [table.mean() for table in posterior.complete_tables(values, 400, seed=3)]
    ratio = np.var(means, ddof=1) / expected
    # heavier tails than a normal's; values stay within the plausible range, which cuts little
    assert 0.75 < ratio < 1.3
    # cells of rows that pick a draw each know nothing of each other
    few = Posterior(posterior.model, (posterior.draws[0][-8:],))
    apart = [few.complete(values, seed, fitted=True).mean() for seed in range(60)]
    assert np.var(apart, ddof=1) < 0.7 * expected


def test_tables_take_different_draws_of_all_chains():
    rng = np.random.default_rng(0)
    posterior = one_leaf(with_holes(rng), draws=4)
    several = Posterior(posterior.model, posterior.draws * 3)
    chosen = several._spread_draws(rng, 12)
    assert len(set(chosen)) == 12
    assert sorted(chain for chain, _ in several._spread_draws(rng, 3)) == [0, 1, 2]
    assert len(several._spread_draws(rng, 30)) == 30


def test_imputed_cells_stay_where_values_were_seen():
    """A log-normal column of few rows has tails that reach anywhere."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"income": np.exp(rng.normal(0, 1.5, 40)), "other": rng.normal(size=40)})
    holes = table.mask(rng.random(table.shape) < 0.6)
    model = SPNImputer(chains=1, burn_in=10, draws=10, random_state=0)
    tables = [*model.fit(holes).impute(holes, m=10, random_state=0), model.fit_transform(holes)]
    seen = holes["income"].dropna()
    width = seen.max() - seen.min()
    for filled in tables:
        assert filled.notna().all(axis=None)
        assert filled["income"].between(seen.min() - width, seen.max() + width).all()


def test_pooling_follows_rubins_rules():
    estimates, variances = [1.0, 2.0, 4.0], [0.5, 0.7, 0.3]
    pooled = pool_estimates(estimates, variances, interval=0.9)
    between = np.var(estimates, ddof=1)
    total = 0.5 + (1 + 1 / 3) * between
    assert pooled.value == pytest.approx(7 / 3)
    assert pooled.standard_error == pytest.approx(math.sqrt(total))
    share = (1 + 1 / 3) * between / total
    assert pooled.missing_information == pytest.approx(share)
    assert pooled.df == pytest.approx(2 / share**2)
    assert pooled.low < pooled.value < pooled.high
    small = pool_estimates(estimates, variances, complete_df=9)
    assert small.df < 2 / share**2
    same = pool_estimates([1.0, 1.0], [0.5, 0.5])
    assert same.df == math.inf
    assert same.high - same.value == pytest.approx(1.959964 * math.sqrt(0.5), rel=1e-5)
    several = pool_estimates([[1.0, 5.0], [2.0, 5.0]], [[0.1, 0.1], [0.1, 0.1]])
    assert several.value.tolist() == [1.5, 5.0]


@pytest.mark.parametrize(
    ("estimates", "variances", "words"),
    [
        ([1.0], [0.1], "two tables or more"),
        ([1.0, 2.0], [0.1], "two tables or more"),
        ([1.0, np.nan], [0.1, 0.1], "must be finite"),
        ([1.0, 2.0], [0.1, -0.1], "not negative"),
    ],
)
def test_what_cannot_be_pooled_is_refused(estimates, variances, words):
    with pytest.raises(ValueError, match=words):
        pool_estimates(estimates, variances)


def cover(replicates: int, seed: int) -> tuple[float, float]:
    """Share of 95 % intervals of the mean that hold the truth, and its standard error."""
    rng = np.random.default_rng(seed)
    inside = []
    for replicate in range(replicates):
        values = with_holes(rng)
        posterior = one_leaf(values, draws=20, seed=replicate)
        tables = [table[:, 0] for table in posterior.complete_tables(values, 10, seed=replicate)]
        pooled = pool_estimates(
            [table.mean() for table in tables],
            [table.var(ddof=1) / len(table) for table in tables],
            complete_df=len(values) - 1,
        )
        inside.append(pooled.low <= 5.0 <= pooled.high)
    return float(np.mean(inside)), math.sqrt(0.95 * 0.05 / replicates)


def test_intervals_by_rubins_rules_cover():
    share, error = cover(80, seed=1)
    assert share > 0.95 - 3 * error - 0.01


@pytest.mark.long
def test_intervals_by_rubins_rules_cover_at_length(record_property):
    share, error = cover(1_000, seed=2)
    record_property("coverage of 95 % intervals by Rubin's rules", round(share, 3))
    assert abs(share - 0.95) < 3 * error + 0.015


def test_missing_cells_of_fitted_rows_equal_enumeration(monkeypatch):
    """Two leaves, five rows: the probability of a missing cell, summed over all assignments.

    The draws are all 32 assignments, each as often as its exact posterior probability says.
    """
    X = np.array([[1, np.nan, 1], [0, 0, 0], [0, 0, 0], [0, 0, 1], [1, 1, 0.0]])
    alpha, gamma, draws = 3.0, 0.1, 6_000
    model = Model(
        RegionGraph(0, leaves=2),
        binary_leaves(3, gamma),
        alpha=alpha,
        beta=1.0,
        learn_leaf_priors=False,
    )
    rng = np.random.default_rng(0)
    hyper = start_hyper(model)
    circuit = draw_prior_circuit(rng, model, hyper)
    families = np.where(np.isnan(X), -1, 0)
    weights, wanted, states = [], [], []
    for z in itertools.product((0, 1), repeat=len(X)):
        place = np.array(z)
        value = gammaln(alpha + np.bincount(place, minlength=2)).sum()
        for leaf in (0, 1):
            ones, zeros = ((X[place == leaf] == k).sum(axis=0) for k in (1, 0))
            value += (betaln(gamma + ones, gamma + zeros) - betaln(gamma, gamma)).sum()
            if place[0] == leaf:
                wanted.append((gamma + ones[1]) / (2 * gamma + ones[1] + zeros[1]))
        weights.append(value)
        states.append(state_from_latents(model, hyper, circuit, X, place[:, None], families))
    share = np.exp(np.array(weights) - logsumexp(weights))
    exact = share @ np.array(wanted)
    chosen = np.searchsorted(np.cumsum(share), (np.arange(draws) + 0.5) / draws)
    posterior = Posterior(model, (tuple(states[min(k, len(states) - 1)] for k in chosen),))
    monkeypatch.setattr(posteriors, "MOST_ROW_DRAWS", draws)
    found = average_cells(posterior, X, [1], fitted=True)[1][0, 1]
    assert found == pytest.approx(exact, abs=0.009)
