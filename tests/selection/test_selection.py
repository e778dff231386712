"""Choosing a graph by evidence: halving, files that keep scores, Ctrl-C, averages.

Most tests put known evidences in the place of estimates, which take seconds each; fits are real.
"""

from __future__ import annotations

import json
import sys
import time
import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy.special import logsumexp

from bayesspn import (
    BayesianSPN,
    InfiniteSPN,
    RegionGraph,
    SPNClassifier,
    SPNImputer,
    SPNRegressor,
    load,
    select_graph,
)
from bayesspn.files.arrays import ModelFileError
from bayesspn.selection import evidence
from bayesspn.selection.building import Priors
from bayesspn.selection.candidates import Candidate, list_candidates
from bayesspn.selection.evidence import Measurement
from bayesspn.selection.rankings import weigh_graphs
from bayesspn.selection.select import leave_one_out
from bayesspn.selection.successive_halving import find_promising, plan_stages
from bayesspn.tables import infer_schema

pytestmark = pytest.mark.filterwarnings("ignore:answers about")

SHORT = {"chains": 2, "burn_in": 4, "draws": 13, "thin": 1}
ESTIMATOR = BayesianSPN(**SHORT, random_state=0)
MIXTURES = {"depth": [0], "leaves": [1, 2, 3, 4, 6]}


def make_table(rows=40):
    rng = np.random.default_rng(0)
    kind = rng.choice(["a", "b"], rows)
    table = pd.DataFrame({"kind": kind, "size": (kind == "b") * 5 + rng.normal(size=rows)})
    table.loc[::9, "size"] = np.nan
    return table


TABLE = make_table()


class KnownEvidence:
    """In the place of `measure_graph`: values by the number of leaves, noise by the seed."""

    def __init__(self):
        self.values = {1: -90.0, 2: -50.0, 3: -51.0, 4: -60.0, 6: -70.0}
        self.error = 0.2
        self.calls = []
        self.stop_before = None  # which call Ctrl-C comes in
        self.pause = lambda leaves: 0.0

    def __call__(self, model, rows, *, runs, sweeps, random_state):
        leaves = model.graph.leaves
        if self.stop_before is not None and len(self.calls) >= self.stop_before:
            raise KeyboardInterrupt
        self.calls.append((leaves, sweeps))
        time.sleep(self.pause(leaves))
        noise = np.random.default_rng(random_state).normal(0, 0.01)
        value = self.values.get(leaves, -80.0) + noise
        return Measurement(value, self.error, 0.5, 100.0)


@pytest.fixture
def known(monkeypatch):
    stand_in = KnownEvidence()
    monkeypatch.setattr(evidence, "measure_graph", stand_in)
    return stand_in


def choose(table=TABLE, grid=MIXTURES, **options):
    options = {"estimator": ESTIMATOR, "loo": False} | options
    return select_graph(table, grid, **options)


def test_evidence_knows_independent_columns():
    """Real estimates; the example of `select_graph` has columns that are equal, by 10 nats."""
    x, y = np.random.default_rng(0).integers(0, 2, size=(2, 24, 1))
    table = choose(np.hstack([x, y]), {"depth": [0], "leaves": [1, 2]}, sweeps=40).table
    gap = table["evidence"]["mixture of 2"] - table["evidence"]["independent columns"]
    assert abs(gap - 0.6) < 4 * np.hypot(*table["standard_error"])  # 0.6 by 600 sweeps
    assert 0.05 < table["weight"]["independent columns"] < 0.95  # neither is ruled out
    assert (table["standard_error"] < 3).all()
    assert (table["sweeps_per_second"] > 1).all()


def test_hopeless_graphs_stop_early_and_the_rest_is_scored_thoroughly(known):
    found = choose()
    # 50 and 51 are near each other, 60 is in the better half of five, then of three only two go on
    assert [call for call in known.calls if call[1] == 80] == [(n, 80) for n in (1, 2, 3, 4, 6)]
    assert [call for call in known.calls if call[1] == 160] == [(n, 160) for n in (2, 3, 4)]
    assert [call for call in known.calls if call[1] == 320] == [(2, 320), (3, 320)]
    table = found.table
    assert table.index.tolist() == [
        "mixture of 2",
        "mixture of 3",
        "mixture of 4",
        "mixture of 6",
        "independent columns",
    ]
    assert table["stopped_early"].tolist() == [False, False, True, True, True]
    assert table["stage"].tolist() == [3, 3, 2, 1, 1]
    assert table["sweeps"].tolist() == [320, 320, 160, 80, 80]
    assert table["seconds"].tolist() == [1.5, 1.5, 1.0, 0.5, 0.5]
    assert table["nodes"].tolist() == [3, 4, 5, 7, 2]
    np.testing.assert_allclose(table["evidence_per_row"], table["evidence"] / len(TABLE))
    assert "alpha" not in table
    assert found.model.graph_ == RegionGraph(0, sums=2, leaves=2, products="shared")
    assert not found.interrupted
    assert repr(found).startswith("GraphSelection of 5 graphs; the best: mixture of 2 (log evi")


def test_graphs_within_their_errors_go_on(known):
    known.error = 20.0
    assert not choose().table["stopped_early"].any()


def test_stages_and_promising_graphs():
    assert plan_stages(320, 5) == (80, 160, 320)
    assert plan_stages(8, 5) == (8,)
    value, error = np.array([-50.0, -52.0, -53.5, -90.0]), np.full(4, 0.01)
    np.testing.assert_array_equal(find_promising(value, error), [True, True, False, False])
    np.testing.assert_array_equal(find_promising(value[:1], error[:1]), [True])


def test_weights_average_over_the_errors():
    value = np.array([-10.0, -14.0])
    exact = np.exp(value - logsumexp(value))
    np.testing.assert_allclose(weigh_graphs(value, np.zeros(2)), exact)
    doubtful = weigh_graphs(value, np.full(2, 3.0))
    assert exact[1] + 0.1 < doubtful[1] < 0.5
    assert doubtful.sum() == pytest.approx(1)


def test_the_model_is_that_of_a_plain_fit(known):
    model = choose().model
    graph = RegionGraph(0, sums=2, leaves=2, products="shared")
    plain = BayesianSPN(graph=graph, **SHORT, random_state=0).fit(TABLE)
    np.testing.assert_array_equal(model.score_samples(TABLE), plain.score_samples(TABLE))
    assert model.graph == graph


def test_finalists_have_leave_one_out(known):
    from arviz_stats import loo

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "the chains do not agree")
        found = choose(loo=True)
    table = found.table
    finalists = ~table["stopped_early"]
    assert table.loc[finalists, ["loo", "loo_error", "loo_bad"]].notna().all(axis=None)
    assert table.loc[~finalists, ["loo", "loo_error", "loo_bad", "rhat"]].isna().all(axis=None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = loo(found.model.to_arviz(TABLE), pointwise=True)
    assert table["loo"].iloc[0] == pytest.approx(expected.elpd)
    # newer versions of ArviZ divide by one row less
    pointwise = np.ravel(expected.elpd_i)
    assert table["loo_error"].iloc[0] == pytest.approx(np.sqrt(len(pointwise)) * pointwise.std())
    # of few draws newer versions say nothing, which is no better than a bad diagnostic
    assert table["loo_bad"].iloc[0] == 1.0 - np.mean(expected.pareto_k <= expected.good_k)


def test_rows_without_a_known_cell_do_not_spoil_leave_one_out(known):
    model = choose().model
    empty = pd.DataFrame({"kind": [None], "size": [np.nan]}, dtype=object).astype(
        {"kind": TABLE["kind"].dtype, "size": float}
    )
    whole = pd.concat([TABLE, empty], ignore_index=True)
    value, error, bad = leave_one_out(model, whole)
    without, _, bad_without = leave_one_out(model, TABLE)
    assert value == pytest.approx(without)  # log 1 for nothing at all
    assert error > 0
    assert bad * 41 == pytest.approx(bad_without * 40)


def test_few_draws_have_no_leave_one_out(known):
    few = BayesianSPN(**SHORT | {"draws": 12}, random_state=0)
    assert choose(estimator=few, loo=True).table["loo"].isna().all()


def test_without_arviz_leave_one_out_says_what_to_install(known, monkeypatch):
    monkeypatch.setitem(sys.modules, "arviz_base", None)
    with pytest.raises(ImportError, match=r"pip install 'bayesspn\[arviz\]'.*loo=False"):
        choose(loo=True)
    assert not known.calls
    choose(loo=False)


def test_plots_take_the_table(known):
    plots = pytest.importorskip("bayesspn.plots")
    found = choose()
    shown = [text.get_text() for text in plots.evidence(found.table).get_yticklabels()]
    assert shown == found.table.index.tolist()


def test_the_average_is_the_weighted_mixture_of_densities(known):
    found = choose()
    average = found.average()
    assert average.names_ == ("mixture of 2", "mixture of 3")
    share = found.table["weight"].iloc[:2].to_numpy()
    np.testing.assert_allclose(average.weights_, share / share.sum())
    assert average.models_[0] is found.model
    densities = [np.exp(model.score_samples(TABLE)) for model in average.models_]
    by_hand = np.log(average.weights_[0] * densities[0] + average.weights_[1] * densities[1])
    np.testing.assert_allclose(average.score_samples(TABLE), by_hand)
    assert average.score(TABLE) == pytest.approx(by_hand.mean())
    drawn = average.sample(50, random_state=0)
    assert drawn.shape == (50, 2)
    assert drawn.dtypes.tolist() == found.model.sample(1).dtypes.tolist()
    pd.testing.assert_frame_equal(drawn, average.sample(50, random_state=0))
    assert repr(average).startswith("GraphAverage(7")
    assert len(found.average(1).models_) == 1
    with pytest.raises(ValueError, match="most must be a whole number from 1 on"):
        found.average(0)


def test_rows_of_an_average_come_from_all_graphs(known):
    """A graph fitted to other rows shows in the sample by its weight."""
    found = choose()
    average = found.average()
    shifted = TABLE.assign(size=TABLE["size"] + 1000)
    average.models_ = (average.models_[0], BayesianSPN(**SHORT, random_state=0).fit(shifted))
    average.weights_ = np.array([0.7, 0.3])
    share = (average.sample(2000, random_state=0)["size"] > 500).mean()
    assert abs(share - 0.3) < 4 * np.sqrt(0.3 * 0.7 / 2000)


def scores_of(found):
    columns = ["evidence", "standard_error", "weight", "sweeps", "stage", "stopped_early"]
    return found.table[columns]


def assert_same_choice(one, two):
    pd.testing.assert_frame_equal(scores_of(one), scores_of(two))
    np.testing.assert_array_equal(one.model.score_samples(TABLE), two.model.score_samples(TABLE))


def test_a_killed_choice_goes_on_wherever_it_was(known, tmp_path):
    path = tmp_path / "graphs.jsonl"
    whole = choose(checkpoint=path)
    assert_same_choice(whole, choose())
    content = path.read_bytes()
    lines = content.splitlines(keepends=True)
    assert len(lines) == 1 + 5 + 3 + 2
    middle = len(b"".join(lines[:4])) + len(lines[4]) // 2
    cuts = [0, 7, len(lines[0]), middle, len(content) - 1, len(content)]
    scores = [0, 0, 0, 3, 9, 10]
    for cut, done in zip(cuts, scores, strict=True):
        path.write_bytes(content[:cut])
        known.calls.clear()
        again = choose(checkpoint=path)
        assert len(known.calls) == 10 - done
        assert_same_choice(again, whole)
        assert path.read_bytes() == content


def test_fits_of_finalists_are_kept_as_well(known, tmp_path, monkeypatch):
    path = tmp_path / "graphs.jsonl"
    whole = choose(checkpoint=path, loo=True)
    assert len(list(tmp_path.iterdir())) == 3

    def refuse(*_):
        raise AssertionError("sampled again")

    monkeypatch.setattr("bayesspn.inference.chains.GrowingChain.step", refuse)
    again = choose(checkpoint=path, loo=True)
    assert_same_choice(again, whole)
    assert again.table["loo"].equals(whole.table["loo"])


def test_grids_may_grow(known, tmp_path):
    path = tmp_path / "graphs.jsonl"
    choose(grid={"depth": [0], "leaves": [1, 2]}, checkpoint=path)
    known.calls.clear()
    found = choose(checkpoint=path)
    assert (2, 8) not in known.calls
    assert_same_choice(found, choose())


def test_files_of_others_are_refused_by_name(known, tmp_path):
    path = tmp_path / "graphs.jsonl"
    choose(checkpoint=path)
    known.calls.clear()
    before = path.read_bytes()
    other = TABLE.assign(size=TABLE["size"].round(1))
    cases = [
        (TABLE[:30], {}, "the table has 30 rows, the file's had 40"),
        (TABLE.rename(columns={"size": "length"}), {}, r"columns are \['kind', 'length'\]"),
        (other, {}, "the table has other cells"),
        (TABLE, {"random_state": 1}, "random_state is 1, in the file 0"),
        (
            TABLE,
            {"estimator": BayesianSPN(**SHORT, schema=coarse_schema(), random_state=0)},
            "resolution of column 'size' is 0.5",
        ),
    ]
    for table, options, words in cases:
        with pytest.raises(ValueError, match=words):
            choose(table, checkpoint=path, **options)
    assert path.read_bytes() == before
    assert not known.calls
    anyone = BayesianSPN(**SHORT)  # without a seed it takes that of the file
    found = choose(estimator=anyone, checkpoint=path)
    assert not known.calls
    assert found.table.index[0] == "mixture of 2"


def coarse_schema():
    return infer_schema(TABLE).replace("size", resolution=0.5)


def rewrite(line, **changes):
    return json.dumps(json.loads(line) | changes).encode() + b"\n"


HOSTILE = {
    "not scores": (lambda lines: [b'{"format": "elephants"}\n'], "does not hold scores"),
    "a newer version": (lambda lines: [rewrite(lines[0], version=2)], "version 2"),
    "a pickle": (lambda lines: [b"\x80\x04K\x01.\n"], "damaged in line 1"),
    "no object": (lambda lines: [lines[0], b"[1, 2]\n"], "damaged in line 2"),
    "a broken line within": (lambda lines: [lines[0], lines[1][:9] + b"\n"], "damaged in line 2"),
    "depths of JSON": (lambda lines: [lines[0], b"[" * 10**5 + b"\n"], "damaged in line 2"),
    "NaN": (lambda lines: [lines[0], lines[1].replace(b"0.2", b"NaN")], "NaN is no number"),
    "a negative error": (
        lambda lines: [lines[0], rewrite(lines[1], standard_error=-1)],
        "standard_error is -1",
    ),
    "a huge number": (
        lambda lines: [lines[0], rewrite(lines[1], value=10**400)],
        "damaged in line 2",
    ),
    "text for a number": (lambda lines: [lines[0], rewrite(lines[1], value="1")], "value is no"),
    "another seed": (lambda lines: [lines[0], rewrite(lines[1], seed=1)], "the seed is not"),
    "no graph": (lambda lines: [lines[0], rewrite(lines[1], graph=None)], "graph is no text"),
    "no cells": (lambda lines: [rewrite(lines[0], cells=None, seed=None)], "damaged in line 1"),
    "details that are none": (lambda lines: [rewrite(lines[0], details=7)], "damaged in line 1"),
}


@pytest.fixture(scope="module")
def score_lines(tmp_path_factory):
    path = tmp_path_factory.mktemp("scores") / "graphs.jsonl"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evidence, "measure_graph", KnownEvidence())
        choose(grid={"depth": [0], "leaves": [2]}, checkpoint=path)
    return path.read_bytes().splitlines(keepends=True)


@pytest.mark.parametrize("name", HOSTILE)
def test_damaged_files_are_refused_in_words(known, tmp_path, score_lines, name):
    change, words = HOSTILE[name]
    path = tmp_path / "graphs.jsonl"
    path.write_bytes(b"".join(change(score_lines)))
    before = path.read_bytes()
    with pytest.raises(ModelFileError, match=words):
        choose(checkpoint=path)
    assert path.read_bytes() == before


def test_files_that_cannot_be_written_are_told_of_at_once(known, tmp_path):
    with pytest.raises(FileNotFoundError, match="name a file in a folder that exists"):
        choose(checkpoint=tmp_path / "nowhere" / "graphs.jsonl")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        choose(checkpoint=tmp_path)
    assert not known.calls


def test_jobs_do_not_change_the_choice(known):
    """Whatever is finished first; that processes do the same is a long test."""
    alone = choose()
    known.pause = lambda leaves: 0.02 * (leaves == 1)
    with joblib.parallel_config(backend="threading"):
        assert_same_choice(choose(n_jobs=3), alone)


@pytest.mark.long
def test_processes_do_not_change_the_choice():
    grid = {"depth": [0, 1], "leaves": [2]}
    alone = choose(grid=grid, sweeps=8)
    assert_same_choice(choose(grid=grid, sweeps=8, n_jobs=2), alone)


@pytest.mark.parametrize("done", [0, 4])
def test_ctrl_c_in_the_first_stage_is_raised_and_scores_are_kept(known, tmp_path, done):
    path = tmp_path / "graphs.jsonl"
    known.stop_before = done
    with pytest.raises(KeyboardInterrupt):
        choose(checkpoint=path)
    assert len(path.read_text().splitlines()) == 1 + done
    known.stop_before = None
    known.calls.clear()
    found = choose(checkpoint=path)
    assert len(known.calls) == 10 - done
    assert_same_choice(found, choose())


def test_ctrl_c_later_chooses_by_what_is_known(known):
    known.stop_before = 6  # the second stage has one score
    with pytest.warns(UserWarning, match="best of what is known after stage 1 of the scores"):
        found = choose(loo=True)
    assert found.interrupted
    assert found.table.index[0] == "mixture of 2"
    assert found.table["stage"].tolist() == [2, 1, 1, 1, 1]
    assert found.model.graph_.leaves == 2
    # the others are not fitted for the sake of leave-one-out
    assert found.table["loo"].notna().tolist() == [True, False, False, False, False]


def test_ctrl_c_while_fitting_leaves_other_graphs_without_leave_one_out(known, monkeypatch):
    fit, fitted = BayesianSPN.fit, []

    def interrupted(self, X, y=None):
        if fitted:
            raise KeyboardInterrupt
        fitted.append(self.graph.leaves)
        return fit(self, X)

    monkeypatch.setattr(BayesianSPN, "fit", interrupted)
    table = choose(loo=True).table
    assert fitted == [2]
    assert table["loo"].notna().tolist() == [True, False, False, False, False]


@pytest.mark.parametrize(
    ("grid", "error", "words"),
    [
        ({"depht": [1]}, ValueError, "grid has 'depht', but only .* depth, partitions"),
        ([{"depth": [1]}, {"burn_in": [1], "n_jobs": [2]}], ValueError, "'burn_in', 'n_jobs'"),
        ({"depth": 1}, ValueError, "'depth' needs a list"),
        ({"depth": []}, ValueError, "'depth'"),
        ("depth", TypeError, "grid must be a dict"),
        ([], ValueError, "empty list"),
        ({"depth": [1, -1]}, ValueError, "graph with depth=-1: depth must be a whole number"),
        ({"alpha": [-2.0]}, ValueError, "graph with alpha=-2.0: alpha must be 'auto' or"),
        ({"depth": [2], "partitions": [(8,)]}, ValueError, r"partitions=\(8,\)"),
        ({"products": ["none"]}, ValueError, "products must be"),
    ],
)
def test_grids_that_cannot_be_are_refused_in_words(known, grid, error, words):
    with pytest.raises(error, match=words):
        choose(grid=grid)
    assert not known.calls


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"sweeps": 7}, ValueError, "sweeps must be a whole number from 8 on"),
        ({"runs": 1}, ValueError, "runs must be a whole number from 2 on"),
        ({"estimator": SPNImputer()}, TypeError, "graph='select'"),
        ({"estimator": InfiniteSPN()}, ValueError, "infinite mixtures"),
        ({"estimator": BayesianSPN(engine="ray")}, ValueError, "engine='local'"),
        ({"estimator": BayesianSPN(checkpoint="a")}, ValueError, "checkpoint to select_graph"),
        ({"estimator": BayesianSPN(draws=0)}, ValueError, "draws must be"),
        ({"table": "folder"}, ValueError, "table in memory"),
        ({"table": TABLE[:0]}, ValueError, "0 sample"),
    ],
)
def test_bad_settings_are_refused_in_words(known, options, error, words):
    with pytest.raises(error, match=words):
        choose(**options)
    assert not known.calls


def test_default_graphs_suit_the_table():
    def names(rows, columns, grid=None, **priors):
        found = list_candidates((rows, columns), Priors(**priors), grid)
        return [candidate.name for candidate in found]

    wide = names(5_000, 40)
    assert wide == [
        "depth 6, partitions 4·1·1·1·1·1, nodes 16",
        "independent columns",
        "mixture of 16",
        "mixture of 48",
        "depth 6, partitions 1·1·1·1·1·1, nodes 32",
        "depth 6, partitions 8·1·1·1·1·1, nodes 16",
        "depth 6, partitions 4·1·1·1·1·1, nodes 32",
        "depth 4, partitions 8·1·1·1, nodes 16",
        "depth 2, partitions 4·1, nodes 8, cross",
    ]
    assert len(names(100, 4)) == 9
    assert names(100, 1) == [
        "mixture of 6",
        "independent columns",
        "mixture of 18",
        "mixture of 12",
    ]
    assert all(name.endswith(", gamma 0.5") for name in names(100, 12, gamma=0.5))
    assert names(100, 12, [RegionGraph(1, 3, leaves=2), RegionGraph(0, leaves=2)]) == [
        "depth 1, partitions 3, nodes 2, cross",
        "mixture of 2",
    ]


def test_graphs_that_are_the_same_are_scored_once(known):
    grid = [{"depth": [0], "leaves": [2], "sums": [3, 4], "products": ["shared", "cross"]}] * 2
    table = choose(grid=grid).table
    assert table.index.tolist() == ["mixture of 2"]
    assert table["stage"].tolist() == [1]
    assert known.calls == [(2, 320)]


def test_names_tell_graphs_apart():
    names = {
        Candidate(
            RegionGraph(depth, partitions, children, sums, leaves, products), Priors(alpha)
        ).name
        for depth in (1, 2)
        for partitions in (2, 3)
        for children in (2, 3)
        for sums in ((4,) if depth == 1 else (2, 4))
        for leaves in (3, 4)
        for products in ("shared", "cross")
        for alpha in ("auto", 1.0, 1.0 + 1e-12)
    }
    assert len(names) == (1 + 2) * 2 * 2 * 2 * 2 * 3


def test_priors_are_in_the_table_if_they_differ(known):
    table = choose(grid={"depth": [0], "leaves": [2], "gamma": ["auto", np.float64(0.5)]}).table
    assert table["gamma"].tolist() in (["auto", 0.5], [0.5, "auto"])
    assert "mixture of 2, gamma 0.5" in table.index


def test_seeds_are_drawn_from_generators_too(known):
    def score(state):
        return choose(estimator=BayesianSPN(**SHORT), random_state=state)

    assert_same_choice(score(np.random.RandomState(3)), score(np.random.RandomState(3)))
    one, other = score(np.random.RandomState(3)), score(np.random.RandomState(4))
    assert (one.table["evidence"] != other.table["evidence"]).any()


def test_progress_is_shown_for_every_stage(known, capsys):
    choose(progress=True)
    shown = capsys.readouterr().err
    assert "stage 1 of 3, 80 sweeps" in shown
    assert "stage 3 of 3, 320 sweeps" in shown
    assert "best: mixture of 2" in shown
    choose()
    assert "stage" not in capsys.readouterr().err


def test_single_columns(known):
    assert choose(TABLE[["size"]], None).model.graph_.depth == 0


def test_empty_columns_are_refused_before_anything_is_scored(known, tmp_path):
    path = tmp_path / "graphs.jsonl"
    with pytest.raises(ValueError, match="column 'nothing' has no observed value; drop it"):
        choose(TABLE.assign(nothing=np.nan), checkpoint=path)
    assert not known.calls
    assert not path.exists()


@pytest.mark.parametrize("library", ["numpy", "polars"])
def test_any_table_is_welcome(known, library):
    table = TABLE[["size"]].assign(twice=TABLE["size"] * 2)
    if library == "polars":
        data = pytest.importorskip("polars").from_pandas(table)
    else:
        data = table.to_numpy()
    drawn = choose(data).average().sample(3, random_state=0)
    assert type(drawn) is type(data)


def test_estimators_select_their_graph(known, tmp_path):
    known.values = {12: -50.0}
    model = BayesianSPN(graph="select", **SHORT, random_state=0).fit(TABLE)
    assert model.graph == "select"
    assert (model.graph_.depth, model.graph_.leaves) == (1, 12)
    assert "nodes 12" in model.selection_.index[0]
    assert "loo" not in model.selection_
    path = tmp_path / "model.bspn"
    model.save(path)
    again = load(path)
    assert again.graph == "select"
    assert again.graph_ == model.graph_
    np.testing.assert_array_equal(again.score_samples(TABLE), model.score_samples(TABLE))
    assert not hasattr(model.set_params(graph="auto").fit(TABLE), "selection_")


def test_estimators_with_a_target_select_by_the_joint_table(known):
    seen = []
    known.pause = lambda leaves: 0.0
    original = known.__class__.__call__

    def call(self, model, rows, **options):
        names = tuple(column.name for column in model.leaves.columns)
        seen.append((rows.n_rows, names))
        return original(self, model, rows, **options)

    known.__class__ = type("Spy", (KnownEvidence,), {"__call__": call})
    settings = SHORT | {"graph": "select", "random_state": 0}
    features, target = TABLE[["size"]], TABLE["kind"]
    classifier = SPNClassifier(**settings).fit(features, target)
    assert set(seen) == {(40, ("size", "kind"))}
    assert classifier.graph_.leaves == classifier.selection_["leaves"].iloc[0]
    SPNRegressor(**settings).fit(TABLE[["kind"]], TABLE["size"].fillna(0.0))
    imputer = SPNImputer(**settings)
    assert imputer.fit_transform(TABLE).notna().all(axis=None)
    assert imputer.graph_.leaves == imputer.selection_["leaves"].iloc[0]


def test_selecting_estimators_go_on_from_their_checkpoint(known, tmp_path):
    path = tmp_path / "fit.ckpt"
    settings = SHORT | {"graph": "select", "random_state": 0, "checkpoint": path}
    model = BayesianSPN(**settings).fit(TABLE)
    assert (tmp_path / "fit.ckpt.graphs").exists()
    known.calls.clear()
    again = BayesianSPN(**settings).fit(TABLE)
    assert not known.calls
    np.testing.assert_array_equal(again.score_samples(TABLE), model.score_samples(TABLE))


@pytest.mark.parametrize(
    ("estimator", "words"),
    [
        (BayesianSPN(graph="best"), "graph must be 'auto', 'select' or a RegionGraph"),
        (InfiniteSPN(graph="select"), "infinite mixtures"),
        (BayesianSPN(graph="select", engine="ray"), "needs engine='local'"),
    ],
)
def test_selecting_is_refused_where_there_is_no_evidence(known, estimator, words):
    with pytest.raises(ValueError, match=words):
        estimator.fit(TABLE)
    assert not known.calls


def test_selecting_needs_one_graph_and_rows_in_memory(known, tmp_path):
    with pytest.raises(ValueError, match="not the names of files"):
        BayesianSPN(graph="select").fit(tmp_path)
    with pytest.raises(ValueError, match="log_evidence is of one graph"):
        BayesianSPN(graph="select").log_evidence(TABLE)


@pytest.mark.parametrize("values", ["a", 2])
def test_grids_need_lists_of_values(values):
    with pytest.raises(ValueError, match=r"grid: 'depth' needs a list of values"):
        list_candidates((100, 5), Priors(), {"depth": values})
