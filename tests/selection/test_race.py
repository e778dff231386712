"""Graphs that compete on rows held out."""

import time
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest

from bayesspn import BayesianSPN, FitPlan, RegionGraph, SPNRegressor
from bayesspn.estimators import starting
from bayesspn.selection import lanes, race
from bayesspn.selection.building import Priors
from bayesspn.selection.defaults import default_graphs
from bayesspn.selection.lanes import advance_lanes, divide_rows, sample_rows
from bayesspn.selection.race import has_settled, race_graphs
from bayesspn.tables.infer import encode_table


def two_groups(rows=300, seed=0):
    """Four columns of which two pairs depend on each other."""
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 4, (2, rows))
    columns = {"a": a, "a2": a + rng.normal(0, 0.1, rows), "b": b}
    return pd.DataFrame(columns | {"b2": b + rng.normal(0, 0.1, rows)}).astype({"a": str, "b": str})


def run(table=None, graphs=None, **options):
    schema, values, _ = encode_table(two_groups() if table is None else table, None)
    graphs = graphs or (RegionGraph(0, leaves=2), RegionGraph(2, (4, 1), sums=8, leaves=8))
    return race_graphs(schema, values, Priors(), graphs, **{"seed": 0} | options)


def test_the_graph_that_can_represent_the_table_wins():
    found = run()
    assert found.graph.depth == 2
    assert found.table["graph"].iloc[0] == found.graph
    assert found.table["score"].iloc[0] > found.table["score"].iloc[-1] + 0.3
    assert found.table["behind"].iloc[0] == 0
    assert found.table["sweeps"].tolist() == [10, 10]  # one that is left needs no more


def test_a_race_depends_on_the_seed_alone():
    one, two = run(stops=(3, 5)), run(stops=(3, 5), n_jobs=2)
    pd.testing.assert_frame_equal(one.table, two.table)
    other = run(stops=(3, 5), seed=1)
    assert not other.table["score"].equals(one.table["score"])


def test_a_target_is_what_counts():
    # a3 says nothing about b, and a mixture of many components is best for whole rows
    table = two_groups()[["a", "a2", "b", "b2"]]
    whole, last = run(table, stops=(10,)), run(table, stops=(10,), target=3)
    assert last.table["score"].iloc[0] > whole.table["score"].iloc[0]
    assert not whole.table["score"].equals(last.table["score"])


def test_no_comparison_is_begun_after_the_time():
    large, small = RegionGraph(2, (4, 1), sums=8, leaves=8), RegionGraph(1, 2, leaves=3)
    found = run(graphs=(large, small), seconds=0.0)
    assert found.table["sweeps"].tolist() == [race.STOPS[0]] * 2
    assert set(found.table["graph"]) == {small, large}
    third = RegionGraph(2, (2, 1), sums=4, leaves=4)
    assert len(run(graphs=(large, small, third), seconds=0.0).table) == 2
    assert len(run(graphs=(large, small, third), seconds=60.0).table) == 3


class Lane(NamedTuple):
    name: str
    scores: np.ndarray
    pace: float


@pytest.mark.parametrize(("ahead", "first"), [(0.0, "quick"), (0.4, "quick"), (0.6, "slow")])
def test_graphs_that_are_slow_must_be_better(ahead, first):
    """By 0.0025 nats a cell, and as many times more as they are too slow."""
    tried = [Lane("quick", np.full(5, -3.0), 0.005), Lane("slow", np.full(5, -3.0 + ahead), 0.02)]
    hurried, patient = (race._Running((), None, 1, np.inf, left, 100, None) for left in (1.0, None))
    assert hurried.rank(tried)[0].name == first
    assert patient.rank(tried)[0].name == ("slow" if ahead else "quick")


def a_lane(leaves, scores, learned, sweeps=70):
    """A lane with scores of rows held out, and how well it fits rows that it learned."""
    tried = lanes.Lane(RegionGraph(0, leaves=leaves), judged={sweeps: scores})
    tried.runs = [lanes.Run(None, None, None, None, None, scores, learned)]
    return tried


@pytest.mark.parametrize(
    ("behind", "learned", "unseen", "first"),
    [
        (0.05, -2.0, 0.9, "large"),  # the sample cannot tell, and the larger has more to gain
        (0.05, -2.0, 0.0, "small"),  # all rows were looked at
        (0.05, -2.99, 0.9, "small"),  # nor has the larger more to gain
        (0.5, -1.0, 0.9, "small"),  # the sample can tell
    ],
)
def test_what_a_sample_cannot_tell_more_rows_may(behind, learned, unseen, first):
    rng = np.random.default_rng(0)
    rows = -3.0 + rng.normal(size=200)
    noise = rng.normal(0, 1.0, 200)
    small = a_lane(4, rows, -2.9)
    large = a_lane(8, rows - behind + noise - noise.mean(), learned)
    dropped = a_lane(16, rows - behind, 5.0, sweeps=30)
    running = race._Running((), None, 1, np.inf, None, 3, None)
    found = running.break_tie([small, large, dropped], unseen)
    assert found[0] is (small if first == "small" else large)
    assert len(found) == 3
    assert found[-1] is dropped


def test_a_sample_of_the_rows_is_known_as_one(monkeypatch):
    seen = []
    monkeypatch.setattr(
        race._Running, "break_tie", lambda _, tried, unseen: seen.append(unseen) or tried
    )
    run(stops=(2,))
    run(stops=(2,), rows=1200)  # of which 300 are here
    assert seen == [0.0, 0.75]


def test_lanes_fit_what_they_learned_better_than_what_they_did_not():
    schema, values, _ = encode_table(many_kinds(200), None)
    divided = divide_rows(schema, values, Priors(), 0)
    lane = divided.lane(RegionGraph(1, 1, leaves=16, products="shared"), Priors(), 0, 0)
    for target in (None, 2):
        tried = lanes.Lane(lane.graph, list(lane.runs))
        advance_lanes([tried], 10, target, 1)
        assert tried.learned > tried.scores.mean() + 0.1


def many_kinds(rows=400, kinds=40, seed=3):
    """Rows of many kinds, each with values of its own: few nodes cannot tell them apart."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(kinds, size=rows)
    centers = rng.normal(size=(kinds, 3))
    cells = (centers[kind] + 0.01 * rng.normal(size=(rows, 3))).round(4)
    return pd.DataFrame(cells, columns=list("abc"))


def test_the_best_graph_grows_while_that_is_better():
    graphs = (RegionGraph(1, 1, leaves=4, products="shared"),)
    found = run(many_kinds(), graphs, stops=(5, 10), sweep_seconds=0.01)
    assert found.graph.leaves >= 16
    assert found.graph.partitions == graphs[0].partitions
    table = found.table
    assert set(table["graph"].map(lambda graph: graph.leaves)) >= {4, 8, 16}
    # scores after as many sweeps are compared
    assert table["behind"].iloc[0] == 0
    assert (table["behind"] >= 0).all()


def test_graphs_do_not_grow_without_need_or_beyond_what_sweeps_may_cost():
    rng = np.random.default_rng(0)
    noise = pd.DataFrame(rng.normal(size=(200, 3)).round(2), columns=list("abc"))
    graphs = (RegionGraph(1, 1, leaves=4, products="shared"),)
    assert run(noise, graphs, stops=(5, 10), sweep_seconds=0.01).graph.leaves <= 8
    assert run(many_kinds(), graphs, stops=(5,), sweep_seconds=1e-6).graph.leaves == 4
    assert run(many_kinds(), graphs, stops=(5,), sweep_seconds=1.0, seconds=0.0).graph.leaves == 4


@pytest.mark.parametrize(
    ("judged", "settled"),
    [
        ({10: 0.0, 30: 1.0, 70: 1.02}, True),  # 70 sweeps are no better than 30, by noise of 0.04
        ({10: 0.0, 30: 1.0, 70: 1.3}, False),
        ({10: 0.0, 30: 0.0}, False),  # too few sweeps to tell
        ({10: 0.0}, False),
    ],
)
def test_chains_are_short_where_longer_ones_foresee_no_more(judged, settled):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=200)
    scores = {stop: rows + gain + rng.normal(0, 0.4, 200) for stop, gain in judged.items()}
    assert has_settled(lanes.Lane(RegionGraph(0, leaves=2), judged=scores)) is settled


def test_chains_try_every_start():
    """No start is the best on every table."""
    model = BayesianSPN(chains=2, burn_in="auto", draws=2, random_state=0).fit(two_groups(60))
    assert model.plan_.warm_up.starts == ("clustered", "spread")


def test_predictors_start_from_rows_that_agree_on_the_target():
    table = two_groups(60)
    features, target = table.iloc[:, :-1], table.iloc[:, -1]
    model = SPNRegressor(chains=2, burn_in="auto", draws=2, random_state=0).fit(features, target)
    assert model.plan_.warm_up.starts == ("targeted",)


def test_the_pace_is_that_of_sweeps(monkeypatch):
    """Not of starts, of which a chain has one."""
    schema, values, _ = encode_table(two_groups(60), None)
    lane = divide_rows(schema, values, Priors(), 0).lane(
        RegionGraph(1, 2, leaves=3), Priors(), 0, 0
    )
    start = lanes.start_state

    def slow(*arguments):
        time.sleep(0.5)
        return start(*arguments)

    monkeypatch.setattr(lanes, "start_state", slow)
    begun = time.perf_counter()
    advance_lanes([lane], 2, None, 1)
    assert sum(run.seconds for run in lane.runs) < time.perf_counter() - begun - 0.4


def test_rows_are_sampled_for_wide_and_long_tables():
    values = np.zeros((10_000, 2))
    assert len(sample_rows(values, 0)) == 10_000
    assert len(sample_rows(np.zeros((20_000, 2)), 0)) == 10_000
    assert len(sample_rows(np.zeros((5_000, 1_000)), 0)) == 600
    assert len(sample_rows(values[:50], 0)) == 50


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (30, 2), (900, 3), (10**6, 2_000)])
def test_default_graphs_differ(rows, columns):
    graphs = default_graphs(rows, columns)
    assert len(set(graphs)) == len(graphs) >= 2
    assert all(graph.n_weights < 10**8 for graph in graphs)


def test_graphs_for_a_target_include_a_shallow_one():
    usual, judged = default_graphs(300, 12), default_graphs(300, 12, target=True)
    [shallow] = set(judged) - set(usual)
    assert (shallow.depth, shallow.products) == (1, "cross")


LENGTHS = {"burn_in": 60, "chains": 8, "draws": 15, "thin": 2}


def test_a_fit_compares_graphs_and_says_so():
    table = two_groups(120)
    model = BayesianSPN(**LENGTHS, random_state=0).fit(table)
    assert model.graph_ == model.comparison_["graph"].iloc[0] == model.plan_.graph
    plan = FitPlan.from_json(model.plan_.to_json())
    assert plan == model.plan_
    again = BayesianSPN(plan=plan, random_state=5).fit(table)
    np.testing.assert_array_equal(again.score_samples(table), model.score_samples(table))
    assert not hasattr(BayesianSPN(burn_in=5, chains=1, draws=3).fit(table), "comparison_")


def test_estimators_with_a_target_are_judged_by_it(monkeypatch):
    seen = {}

    def spy(*arguments, **options):
        seen.update(options)
        return race_graphs(*arguments, **options | {"stops": (2,)})

    monkeypatch.setattr(starting, "race_graphs", spy)
    table = two_groups(80)
    SPNRegressor(**LENGTHS, random_state=0).fit(table[["a", "a2", "b"]], table["b2"])
    assert seen["target"] == 3
