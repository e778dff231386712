"""How long fits are: time limits, burn-in of open length, plans, and whether answers settled."""

import dataclasses
import time

import numpy as np
import pandas as pd
import pytest
from tqdm.auto import tqdm

from bayesspn import BayesianSPN, InfiniteSPN, RegionGraph, SPNImputer, load
from bayesspn.estimators import fitting
from bayesspn.estimators.plans import compares_graphs, plan_lengths, plan_warm_up
from bayesspn.estimators.settling import measure_settling, warn_if_unsettled
from bayesspn.estimators.starting import fit_warm_up
from bayesspn.inference.warm_up import WarmUp
from bayesspn.leaves.columns import Leaves
from bayesspn.questions.uncertainty import Answer, monte_carlo_error
from bayesspn.selection.costs import estimate_seconds
from bayesspn.selection.defaults import default_graphs
from bayesspn.selection.race import estimate_race
from bayesspn.tables import encode

pytestmark = pytest.mark.filterwarnings("ignore:answers about")

AUTO = dict.fromkeys(("chains", "burn_in", "draws", "thin"), "auto")
GRAPH = RegionGraph(1, 2, sums=3, leaves=3, products="shared")


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    kind = rng.choice(["ant", "bee"], 120)
    size = np.where(kind == "bee", 8.0, 3.0) + rng.normal(size=120)
    return pd.DataFrame({"kind": kind, "size": size.round(2), "noise": rng.normal(size=120)})


@pytest.fixture(scope="module")
def fitted(table):
    return BayesianSPN(graph=GRAPH, random_state=0).fit(table)


@pytest.mark.parametrize("estimator", [BayesianSPN, InfiniteSPN, SPNImputer])
def test_a_time_limit_is_kept_and_its_plan_repeats_the_draws(estimator, table, tmp_path):
    estimator(graph=GRAPH, chains=1, burn_in=1, draws=1).fit(table)  # loads compiled code
    begun = time.monotonic()
    model = estimator(graph=GRAPH, time_limit=1.5, random_state=0).fit(table)
    assert time.monotonic() - begun < 6.0  # and not the dozens of seconds of 64 whole chains
    assert 2 <= model.plan_.chains <= 64
    assert model.posterior_.n_draws == model.plan_.chains * model.plan_.draws
    model.save(tmp_path / "model.bspn")
    plan = load(tmp_path / "model.bspn").plan_
    again = estimator(plan=plan).fit(table)
    for one, two in zip(model.posterior_.draws, again.posterior_.draws, strict=True):
        assert len(one) == len(two)
        np.testing.assert_array_equal(one[-1].edge_counts[0], two[-1].edge_counts[0])
        np.testing.assert_array_equal(one[-1].hyper.alpha, two[-1].hyper.alpha)


def test_lengths_follow_the_cost_of_a_sweep():
    assert plan_lengths(AUTO, 0.001, 40.0, settled=True).most_burn_in == 100
    assert plan_lengths(AUTO, 0.001, 40.0, settled=True, limited=True).most_burn_in > 400
    quick, slow = plan_lengths(AUTO, 0.001, 40.0), plan_lengths(AUTO, 5.0, 40.0)
    assert (quick.chains, quick.burn_in, quick.draws, quick.thin) == (8, None, 12, 4)
    assert slow.chains == 2
    assert slow.most_burn_in == 10
    assert plan_lengths(AUTO, 0.001, 600.0, limited=True).chains == 6  # others are added later
    assert plan_lengths(AUTO, 0.001, 600.0, limited=True, cores=12).chains == 12
    given = plan_lengths(AUTO | {"chains": 3, "burn_in": 7, "draws": 5}, 0.01, 40.0)
    assert (given.chains, given.burn_in, given.draws) == (3, 7, 5)


def test_the_cost_of_a_sweep_grows_with_rows_families_and_nodes(fitted, table):
    model, sample = fitted.posterior_.model, encode(table, fitted.schema_)
    small, large = (
        estimate_seconds(model.graph, model.leaves, rows, sample) for rows in (100, 10**7)
    )
    assert small < 0.01 < 0.1 < large
    plain = dataclasses.replace(model, leaves=Leaves(model.leaves.columns[:1]))
    assert estimate_seconds(plain.graph, plain.leaves, 10**7, sample[:, :1]) < large
    wide = dataclasses.replace(model, graph=RegionGraph(1, 4, leaves=32))
    assert estimate_seconds(wide.graph, wide.leaves, 10**7, sample) > large


def test_a_limit_that_is_too_short_to_compare_graphs():
    wide = np.random.default_rng(0).integers(0, 2, (200, 300))
    model = BayesianSPN(time_limit=0.2, random_state=0).fit(wide)
    assert not hasattr(model, "comparison_")
    assert model.graph_ == min(default_graphs(200, 300), key=lambda graph: graph.n_weights)
    assert 0.2 < estimate_race(default_graphs(200, 300), wide.astype(float)) < 1.0
    # the quickest graphs are compared where there is no time for all of them
    some = BayesianSPN(time_limit=3.0, random_state=0).fit(wide)
    assert 2 <= len(some.comparison_) <= len(default_graphs(200, 300))


def test_a_warm_up_keeps_to_its_share_of_a_limit(fitted):
    model, rows = fitted.posterior_.model, fitted._rows
    plan = WarmUp(("clustered", "spread"), samples=((100, 60),))
    hour = fitting.Clock(time.monotonic(), 3_600.0)
    assert fit_warm_up(plan, model, rows, 0, hour, "auto") == plan
    over = fitting.Clock(time.monotonic() - 10.0, 5.0)
    short = fit_warm_up(plan, model, rows, 0, over, "auto")
    assert short == WarmUp(("clustered",), samples=((100, 1),))
    assert plan.shortened(0.5).sweeps == plan.sweeps // 2
    # that of each of many chains is shorter
    minute = fitting.Clock(time.monotonic(), 60.0)
    assert fit_warm_up(plan, model, rows, 0, minute, 100_000).sweeps < plan.sweeps


def test_short_fits_neither_compare_graphs_nor_try_starts_for_long():
    assert compares_graphs(AUTO)
    assert not compares_graphs({"chains": 1, "burn_in": 20, "draws": 5, "thin": 1})
    assert compares_graphs({"chains": 4, "burn_in": 200, "draws": "auto", "thin": "auto"})
    starts = ("clustered", "spread")
    assert plan_warm_up(AUTO | {"burn_in": 0}, 100, starts).starts == ("clustered",)
    assert plan_warm_up(AUTO | {"burn_in": 40}, 100, starts).trial_sweeps == 10
    assert plan_warm_up(AUTO, 100_000, starts).samples


def test_a_burn_in_of_open_length_ends_when_chains_no_longer_climb(fitted, table, monkeypatch):
    assert fitted.plan_.burn_in in (50, 100, 200, 400)
    assert fitted.trace_.shape == (8, fitted.plan_.burn_in + 12 * 4)
    monkeypatch.setattr(fitting, "still_climbing", lambda traces: traces.shape[1] < 400)
    longer = BayesianSPN(graph=GRAPH, chains=2, draws=2, thin=1, random_state=0).fit(table)
    assert longer.plan_.burn_in == 400


@pytest.mark.parametrize("limit", [None, 30.0])
@pytest.mark.parametrize("after", [60, 260])
def test_ctrl_c_in_a_burn_in_of_open_length_keeps_the_states(table, monkeypatch, limit, after):
    left = [after]

    def update(self, count=1):
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt

    monkeypatch.setattr(tqdm, "update", update)
    monkeypatch.setattr(fitting, "still_climbing", lambda traces: traces.shape[1] < 400)
    model = BayesianSPN(graph=GRAPH, chains=2, time_limit=limit, random_state=0).fit(table)
    assert model.interrupted_
    assert {len(chain) for chain in model.posterior_.draws} == {1}
    assert np.isfinite(model.score(table))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"time_limit": 0}, "time_limit must be positive and finite"),
        ({"time_limit": "1 h"}, "time_limit must be"),
        ({"chains": "many"}, "chains must be a whole number"),
        ({"plan": {"chains": 3}}, "plan must be the plan_ of a fitted estimator"),
    ],
)
def test_wrong_lengths_are_refused(table, parameters, message):
    with pytest.raises((ValueError, TypeError), match=message):
        BayesianSPN(**parameters).fit(table)


def test_errors_tell_how_far_chains_disagree(fitted):
    posterior = fitted.posterior_
    chain = np.repeat(np.arange(8.0), 12)
    assert monte_carlo_error(posterior, chain) == pytest.approx(np.arange(8).std(ddof=1) / 8**0.5)
    assert monte_carlo_error(posterior, np.tile(np.arange(12.0), 8)) == pytest.approx(0.0)
    # draws without weight do not count
    weights = np.where(chain < 4, 1 / 48, 0.0)
    assert monte_carlo_error(posterior, chain, weights) < np.arange(4).std(ddof=1)
    answer = fitted.probability("kind == bee", given="size > 5", interval=0.9)
    value, low, high = answer
    assert 0 <= low <= value - answer.error
    assert value + answer.error <= high + 1e-12 <= 1 + 1e-12
    assert 1 <= answer.effective_draws <= 96
    assert answer == Answer(value, low, high)
    assert fitted.expectation("size", interval=0.9).error < 1.0
    frame = fitted.expectation(["size", "noise"], interval=0.9)
    assert (frame["error"] > 0).all()
    assert (fitted.distribution("kind", interval=0.5)["error"] >= 0).all()


def test_settling_is_measured_where_chains_disagree(fitted, table, tmp_path):
    settling = fitted.settling_
    assert settling.index.tolist() == ["whole rows", "kind", "size", "noise"]
    np.testing.assert_allclose(settling["error"] * 8**0.5, settling["spread"])
    assert settling["error"].max() < 0.25
    fitted.save(tmp_path / "model.bspn")
    pd.testing.assert_frame_equal(load(tmp_path / "model.bspn").settling_, settling)
    again = measure_settling(fitted.posterior_, fitted._rows)
    pd.testing.assert_frame_equal(again, settling)
    warn_if_unsettled(settling)
    with pytest.warns(Warning, match=r"answers about columns 'noise' and 'size' are not settled"):
        warn_if_unsettled(settling.assign(error=[0.0, 0.1, 0.3, 0.4]))
