"""What methods are given: tables in original units, resolutions, holes; how they compare."""

import dataclasses
import math
import time
import warnings

import abda
import anchors
import cost
import figure3
import numpy as np
import pytest
import table1
import table2
from figure3 import impute, punch_holes
from library_fits import Fit, fit_rows, make_estimator
from paper_system import PRIORS, choose_by_evidence, paper_grid
from problems import Problem, find_resolution, resolve, restore_zeros
from public_data import BINARY_NAMES, MIXED_NAMES
from running import Outcome, parse_options
from significance import compare
from sklearn.exceptions import ConvergenceWarning

from bayesspn import BayesianSPN, InfiniteSPN, Key, RegionGraph, encode_rows
from bayesspn.engine.shards import LocalShards
from bayesspn.estimators.plans import FitPlan
from bayesspn.selection.building import Priors, build_model
from bayesspn.tables import ColumnSchema, Schema


def test_resolution_is_the_step_of_recording():
    rng = np.random.default_rng(0)
    values = np.round(rng.normal(size=2_000), 2)
    assert find_resolution(values) == 0.01
    # one value that is closer to its neighbour than the others does not matter
    assert find_resolution(np.append(values, values[0] + 1e-5)) == 0.01
    assert find_resolution(np.full(3, 7.0)) == 1.0


def test_resolved_cells_stay_within_their_resolution():
    rng = np.random.default_rng(1)
    table = np.column_stack([np.round(rng.gamma(2.0, size=500), 1), rng.integers(0, 3, 500)])
    table[3, 0] = np.nan
    spread = resolve(table, (0.1, 0.0), np.random.default_rng(2))
    moved = spread[:, 0] - table[:, 0]
    assert np.isnan(moved[3])
    moved = np.delete(moved, 3)
    assert moved.min() > 0
    assert moved.max() <= 0.1 + 1e-12
    assert moved.std() == pytest.approx(0.1 / np.sqrt(12), rel=0.1)
    np.testing.assert_array_equal(spread[:, 1], table[:, 1])


def test_no_density_gains_more_than_its_resolution_on_a_spike():
    # the best density of a column that is always 0, recorded to δ, is uniform on (0, δ)
    delta = 0.01
    cells = resolve(np.zeros((10_000, 1)), (delta,), np.random.default_rng(0))[:, 0]
    for scale in (1e-6, 1e-4, delta / np.sqrt(12), 1.0):
        log_density = -0.5 * ((cells - delta / 2) / scale) ** 2 - np.log(scale * np.sqrt(2 * np.pi))
        assert log_density.mean() < np.log(1 / delta)


def test_zeros_that_were_moved_upstream_are_moved_back():
    table = np.array([[1e-6, 1e-6], [2e-6, 1.0]])
    np.testing.assert_array_equal(restore_zeros(table, (0, 2)), [[0.0, 1e-6], [2e-6, 1.0]])


@pytest.mark.parametrize("share", [0.2, 0.8])
def test_holes_in_rows(share):
    holes = np.isnan(punch_holes(np.ones((200, 11)), "rows", share, 3))
    per_row = holes.sum(axis=1)
    assert set(per_row) == {0, 5}
    assert (per_row > 0).sum() == 200 * share
    again = np.isnan(punch_holes(np.zeros((200, 11)), "rows", share, 3))
    np.testing.assert_array_equal(holes, again)
    assert (holes != np.isnan(punch_holes(np.ones((200, 11)), "rows", share, 4))).any()


def test_holes_in_cells():
    holes = np.isnan(punch_holes(np.ones((400, 50)), "cells", 0.9, 0))
    assert holes.mean() == pytest.approx(0.9, abs=0.01)  # 4 standard deviations


def test_holes_are_filled_from_the_nearest_of_few_donors(monkeypatch):
    # two kinds of rows, complementary; every other row lost its last cell
    left = np.arange(40) % 4 < 2
    table = np.where(left[:, None], [[1.0, 1, 0, 1]], [[0.0, 0, 1, 0]])
    holes = table.copy()
    holes[::2, 3] = np.nan
    for donors in (100, 30):
        monkeypatch.setattr(figure3, "DONORS", donors)
        np.testing.assert_array_equal(impute(holes, 0), table)
    # a single donor has one answer for everybody
    monkeypatch.setattr(figure3, "DONORS", 1)
    assert len(set(impute(holes, 0)[::2, 3])) == 1


def test_imputation_that_takes_too_long_is_told(monkeypatch, twins):
    monkeypatch.setattr(figure3, "IMPUTATION_SECONDS", 0.05)
    monkeypatch.setattr(figure3, "impute", lambda *_: time.sleep(5))
    options = parse_options("", ("tiny",), figure3.METHODS, 1.0, [])
    outcome = figure3.run_method(twins, twins.training, "learnspn_knn", 1.0, 0, options)
    assert outcome.error == "imputation took more than 0 s"
    assert outcome.seconds["imputation"] < 4


def test_paper_grid_is_the_papers():
    grid = paper_grid()
    assert len(set(grid)) == len(grid) == 15
    assert PRIORS == {"alpha": 1.0, "beta": 10.0, "gamma": 0.5}
    for graph in grid:
        assert graph.products == "cross"
        assert graph.leaves >= graph.sums
        assert set(graph.branching) <= {2, 4, 8}


def test_other_limits_and_choices_are_other_cases(monkeypatch):
    assert table1.configure("ours", 60.0) == {"seconds": 60.0, "call": "BayesianSPN"}
    assert table1.configure("ours", 60.0) != table1.configure("ours", 600.0)
    calls = {table1.configure(method, 1.0)["call"] for method in table1.METHODS}
    assert len(calls) == len(table1.METHODS)
    before = table1.configure("paper", 1.0)
    monkeypatch.setattr(table1, "CHOICE", 0.5)
    assert table1.configure("paper", 1.0) != before


def test_plain_call_is_told_nothing_but_its_seconds(twins):
    for kind in (BayesianSPN, InfiniteSPN):
        usual = kind().get_params()
        called = make_estimator(twins, 7.0, 3, kind).get_params()
        told = {name: value for name, value in called.items() if value is not usual[name]}
        assert told == {"schema": twins.schema, "time_limit": 7.0, "n_jobs": 1, "random_state": 3}


@pytest.fixture
def calls(monkeypatch):
    """Estimators and rows that would have been fitted."""
    made = []

    class Unfitted(Fit):
        def score_test(self, test):
            return Outcome({"fit": 0.0}, np.zeros(len(test), dtype=np.float32))

    def note(estimator, rows):
        made.append((estimator, rows))
        return Unfitted(estimator, 0.0, False, ())

    for module in (table1, table2, figure3, cost):
        monkeypatch.setattr(module, "fit_rows", note)
    return made


@pytest.mark.parametrize("method", ["ours", "ours_train", "infinite"])
def test_table1_gives_plain_calls_their_rows(twins, calls, method):
    table1.METHODS[method][0](twins, 7.0, 0)
    ((estimator, rows),) = calls
    assert type(estimator) is (InfiniteSPN if method == "infinite" else BayesianSPN)
    assert estimator.time_limit == 7.0
    expected = twins.train if method == "ours_train" else twins.training
    np.testing.assert_array_equal(rows, expected)


def test_papers_system_sees_train_rows_only_and_runs_one_chain(twins, calls, monkeypatch):
    seen = []

    def prefer_few_leaves(self, X, **_):
        seen.append(X)
        return (-self.graph.leaves, 0.1)

    monkeypatch.setattr(table1, "paper_grid", lambda: paper_grid()[:2])
    monkeypatch.setattr(BayesianSPN, "log_evidence", prefer_few_leaves)
    outcome = table1.run_paper(twins, 8.0, 0)
    ((estimator, rows),) = calls
    np.testing.assert_array_equal(rows, twins.train)
    assert estimator.chains == 1
    assert estimator.graph == paper_grid()[0]
    assert (estimator.alpha, estimator.beta, estimator.gamma) == (1.0, 10.0, 0.5)
    assert 2.0 <= estimator.time_limit < 8.0
    assert [len(table) for table in seen] == [len(twins.train)] * 2
    assert outcome.details["evidence"] == {"0": (-5, 0.1), "1": (-10, 0.1)}


@pytest.mark.parametrize("method", ["ours", "paper"])
def test_figure3_gives_ours_the_holes(twins, calls, method):
    options = parse_options("", ("tiny",), figure3.METHODS, 5.0, [])
    holes = punch_holes(twins.training, "cells", 0.5, 0)
    figure3.run_method(twins, holes, method, 5.0, 0, options)
    ((estimator, rows),) = calls
    assert rows is holes
    assert estimator.time_limit == 5.0
    if method == "paper":
        assert estimator.graph == RegionGraph(1, 2, sums=5, leaves=5)
        assert (estimator.alpha, estimator.chains) == (1.0, 1)
    else:
        assert (estimator.graph, estimator.chains) == ("auto", "auto")


def test_cost_is_a_fresh_call_for_every_budget(twins, calls):
    assert cost.budgets(10.0) == [2.0, 5.0, 10.0]
    outcome = cost.run_method(twins, 5.0, 0)
    assert calls[0][0].time_limit == 5.0
    assert outcome.checkpoints == [(0.0, 0.0)]


def test_anchors_are_whole():
    published_2019, later = anchors.read_figures("table1"), anchors.read_figures("later")
    assert set(published_2019) == set(later) == set(BINARY_NAMES)
    assert set(anchors.read_figures("table2")) == set(MIXED_NAMES)
    assert len(anchors.read_missing()) == 60
    assert anchors.best_of_paper("accidents") == -33.89
    assert sum(anchors.MIXTURE in row for row in later.values()) == 19
    assert sum(anchors.MIXTURES in row for row in later.values()) == 15
    for name, row in later.items():
        published = (row | published_2019[name]).items()
        others = [round(value, 2) for column, value in published if column != anchors.MIXTURES]
        assert row["best_tractable_any"] == max(others) or name == "pumsb_star"


def test_comparison_has_the_direction_of_the_ranks():
    rng = np.random.default_rng(0)
    base = rng.normal(-6.0, 2.0, size=1_000).astype(np.float32)
    assert compare(base, base).verdict == "··"
    assert compare(base + np.float32(1.0), base).verdict == "++"
    assert compare(base - np.float32(1.0), base).verdict == "−−"
    # better by far on a few rows, a little worse on most: the mean and the ranks disagree
    few = base - np.float32(0.1)
    few[:20] += 50.0
    comparison = compare(few, base)
    assert comparison.difference > 0
    assert comparison.verdict[1] == "−"
    with pytest.raises(ValueError, match="999 and 1000"):
        compare(base[1:], base)


@pytest.fixture(scope="module")
def twins():
    """Two pairs of equal columns, some cells missing."""
    rng = np.random.default_rng(0)
    left, right = rng.integers(0, 2, (2, 150, 1))
    table = np.hstack([left, left, right, right]).astype(np.float64)
    table[rng.random(table.shape) < 0.05] = np.nan
    columns = tuple(ColumnSchema(f"x{k}", "category", ("bernoulli",), (0, 1)) for k in range(4))
    parts = (table[:80], table[80:110], table[110:])
    return Problem("tiny", *parts, Schema(columns), (2,) * 4, (0.0,) * 4)


@pytest.fixture(scope="module")
def fitted(twins):
    short = {"chains": 2, "burn_in": 30, "draws": 4, "thin": 2}
    return fit_rows(make_estimator(twins, None, 0, **short), twins.training)


def test_line_keeps_what_the_fit_did(twins, fitted):
    outcome = fitted.score_test(twins.test)
    model, details = fitted.model, outcome.details
    np.testing.assert_allclose(outcome.scores, fitted.score(twins.test), rtol=1e-6)
    assert FitPlan.from_json(details["plan"]) == model.plan_
    assert (details["plan"]["chains"], details["plan"]["draws"]) == (2, 4)
    assert details["mishaps"] == []
    assert details["edges"] > 4
    rate = 1000 * outcome.seconds["score"] / len(twins.test)
    assert details["seconds_per_1000_rows"] == pytest.approx(rate, rel=0.1, abs=1e-3)
    each = model.posterior_.score_draws(twins.test).reshape(2, 4, -1)
    alone = (np.logaddexp.reduce(each, axis=1) - math.log(4)).mean(axis=1)
    np.testing.assert_allclose(details["chain_means"], alone)


def test_warnings_of_a_fit_are_kept(twins, monkeypatch):
    def fit(self, X):
        warnings.warn("no", ConvergenceWarning, stacklevel=1)
        warnings.warn("odd", RuntimeWarning, stacklevel=1)

    monkeypatch.setattr(BayesianSPN, "fit", fit)
    noted = fit_rows(make_estimator(twins, 1.0, 0), twins.training)
    assert noted.warned
    assert noted.mishaps == ("RuntimeWarning: odd",)


def test_continuous_columns_are_scored_alone(twins):
    problem = dataclasses.replace(twins, categories=(2, 0, 2, 0))
    seen = []

    def score(rows):
        seen.append(rows)
        return np.full(len(rows), -2.0)

    assert table2.score_continuous(score, problem) == -2.0
    np.testing.assert_array_equal(seen[0][:, [1, 3]], twins.test[:, [1, 3]])
    assert np.isnan(seen[0][:, [0, 2]]).all()
    assert table2.score_continuous(score, twins) is None


def test_fixed_structure_stays(twins):
    graph = RegionGraph(1, 2, leaves=3)
    model = build_model(graph, Priors(), twins.schema, twins.training)
    shards = LocalShards(encode_rows(model.leaves, twins.training))
    before = abda.start_state(Key(0), model, shards).scope.y
    draws = abda.run_fixed_chain(Key(0), model, shards, 0.3)
    assert 1 <= len(draws) <= abda.DRAWS
    for state in draws:
        for old, new in zip(before, state.scope.y, strict=True):
            np.testing.assert_array_equal(old, new)
        assert sum(counts.sum() for counts in state.edge_counts[:1]) == len(twins.training)


def test_draws_of_fixed_chains_are_evenly_spaced_and_of_the_later_half():
    kept = [(sweep, sweep) for sweep in range(20, 1_001, 20)]
    draws = abda.thin_later_half(kept, 1_000)
    assert 5 <= len(draws) <= abda.DRAWS
    assert draws[0] > 500
    assert draws[-1] == 1_000
    assert len(set(np.diff(draws))) == 1


def test_abda_learns_and_tells_its_chains(twins, monkeypatch):
    monkeypatch.setattr(abda, "CHAINS", 2)
    outcome = table2.run_method(twins, "abda", 0.4, 0)
    assert len(outcome.details["chain_means"]) == 2
    assert outcome.scores.mean() > 4 * math.log(0.5) + 0.5  # columns are not independent


def test_choice_by_evidence_stops_in_time_and_says_so(twins):
    grid = paper_grid()
    # compiled code must not be interrupted while it is loaded
    whole = choose_by_evidence(100.0, grid[:1], twins, seed=0)
    assert list(whole.evidence) == ["0"]
    assert whole.rows == len(twins.train)
    choice = choose_by_evidence(0.01, grid, twins, seed=0)
    assert choice.evidence == {}
    assert choice.graph == RegionGraph(1, 2, sums=5, leaves=5)  # the smallest
    assert choice.seconds < 5
