"""What methods are given: tables in original units, resolutions, holes; how they compare."""

import time
from itertools import count
from types import SimpleNamespace

import anchors
import candidates
import figure3
import numpy as np
import pytest
import timed_fits
from figure3 import impute, punch_holes
from problems import Problem, find_resolution, resolve, restore_zeros
from public_data import BINARY_NAMES, MIXED_NAMES
from running import parse_options
from significance import compare
from table1 import configure
from timed_fits import Settings, TimedChain, build_model, choose_by_validation, fit_for

from bayesspn import Key, RegionGraph, encode_rows
from bayesspn.engine.shards import LocalShards
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
    table, schema = twins
    problem = Problem("tiny", table, table[:0], table, schema, (2,) * 4, (0.0,) * 4)
    monkeypatch.setattr(figure3, "IMPUTATION_SECONDS", 0.05)
    monkeypatch.setattr(figure3, "impute", lambda *_: time.sleep(5))
    options = parse_options("", ("tiny",), 1.0, [])
    outcome = figure3.run_method(problem, table, "learnspn_knn", 1.0, 0, options)
    assert outcome.error == "imputation took more than 0 s"
    assert outcome.seconds["imputation"] < 4


def test_paper_grid_is_the_papers():
    grid = candidates.paper_grid()
    assert len({settings.graph for settings in grid}) == len(grid) == 15
    for settings in grid:
        graph = settings.graph
        assert (settings.alpha, settings.beta, settings.gamma) == (1.0, 10.0, 0.5)
        assert graph.products == "cross"
        assert graph.leaves >= graph.sums
        assert set(graph.branching) <= {2, 4, 8}


def test_other_candidates_are_another_case(twins, monkeypatch):
    table, schema = twins
    problem = Problem("tiny", table, table[:0], table, schema, (2,) * 4, (0.0,) * 4)
    options = parse_options("", ("tiny",), 1.0, [])
    before = configure(problem, "wide", 1.0, options)
    assert before == configure(problem, "wide", 1.0, options)
    one = Settings(RegionGraph(1, 3))
    monkeypatch.setattr(candidates, "wide_candidates", lambda *_: [one])
    assert configure(problem, "wide", 1.0, options) != before


def test_anchors_are_whole():
    table1, later = anchors.read_figures("table1"), anchors.read_figures("later")
    assert set(table1) == set(later) == set(BINARY_NAMES)
    assert set(anchors.read_figures("table2")) == set(MIXED_NAMES)
    assert len(anchors.read_missing()) == 60
    assert anchors.best_of_paper("accidents") == -33.89
    for name, row in later.items():
        others = [value for column, value in (row | table1[name]).items()]
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
    return table, Schema(columns)


@pytest.fixture
def clock(monkeypatch):
    """Time that passes by a millisecond whenever it is looked at, whatever else runs here."""
    ticks = count()
    monkeypatch.setattr(timed_fits, "time", SimpleNamespace(perf_counter=lambda: next(ticks) / 1e3))


@pytest.mark.usefixtures("clock")
def test_timed_fit_keeps_later_draws_and_learns(twins):
    table, schema = twins
    settings = Settings(RegionGraph(1, 2, leaves=3))
    fit = fit_for(0.6, settings, schema, table, chains=2, seed=0, draws=5)
    assert len(fit.sweeps) == 2
    assert all(250 < sweeps <= 300 for sweeps in fit.sweeps)
    assert all(1 <= len(draws) <= 5 for draws in fit.posterior.draws)
    scores = fit.posterior.score_samples(np.array([[0.0, 0, 1, 1], [0, 1, 0, 1]]))
    assert scores[0] > scores[1] + 2


@pytest.mark.usefixtures("clock")
def test_number_of_chains_by_their_speed(twins, monkeypatch):
    table, schema = twins
    settings = Settings(RegionGraph(1, 2, leaves=3))
    chains = {}
    for sweeps in (1, 40, 10**6):
        monkeypatch.setattr(timed_fits, "_SWEEPS", sweeps)
        chains[sweeps] = fit_for(0.4, settings, schema, table, seed=0).sweeps
    assert [len(sweeps) for sweeps in chains.values()] == [64, 10, 2]
    # the chain that told the speed goes on, and has its share
    first, second = chains[10**6]
    assert abs(first - second) < 10


@pytest.mark.usefixtures("clock")
def test_choice_by_valid_rows_finds_the_graph_that_can(twins):
    # a graph without a second leaf says that columns are independent
    table, schema = twins
    able, unable = (Settings(RegionGraph(1, 2, leaves=leaves)) for leaves in (4, 1))
    chosen, scores = choose_by_validation(
        1.0, [unable, able, unable], schema, table[:100], table[100:], seed=0
    )
    assert chosen is able
    assert scores[able.name] > scores[unable.name] + 0.5


def test_fixed_structure_stays(twins):
    table, schema = twins
    settings = Settings(RegionGraph(1, 2, leaves=3), fixed=True)
    model = build_model(settings, schema, table)
    shards = LocalShards(encode_rows(model.leaves, table))
    chain = TimedChain(model, shards, Key(0), fixed=True)
    before = chain.draws()[0].scope.y
    chain.run(chain.seconds + 0.2)
    for state in chain.draws():
        for old, new in zip(before, state.scope.y, strict=True):
            np.testing.assert_array_equal(old, new)
        assert sum(counts.sum() for counts in state.edge_counts[:1]) == len(table)


def test_draws_are_evenly_spaced_and_of_the_later_half(twins, monkeypatch):
    table, schema = twins
    model = build_model(Settings(RegionGraph(1, 2, leaves=2)), schema, table)
    chain = TimedChain(model, LocalShards(encode_rows(model.leaves, table)), Key(0))
    monkeypatch.setattr(chain, "_sweep_once", lambda key, sweep, *_: (sweep, None))
    for _ in range(1_000):
        chain._step()
    draws = chain.draws(10)
    assert 5 <= len(draws) <= 10
    assert min(draws) > 500
    assert len(set(np.diff(draws))) == 1


def test_choice_by_evidence_stops_in_time_and_says_so(twins):
    table, schema = twins
    grid = candidates.paper_grid()
    # compiled code must not be interrupted while it is loaded
    whole = candidates.choose_by_evidence(100.0, grid[:1], schema, table, seed=0)
    assert list(whole.evidence) == ["0"]
    assert whole.rows == len(table)
    choice = candidates.choose_by_evidence(0.01, grid, schema, table, seed=0)
    assert choice.evidence == {}
    assert choice.settings.graph == RegionGraph(1, 2, sums=5, leaves=5)  # the smallest
    assert choice.seconds < 5
