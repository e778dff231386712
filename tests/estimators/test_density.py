"""BayesianSPN: scikit-learn's conventions, tables in and out, clear errors, Ctrl-C."""

from __future__ import annotations

import pickle
import signal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from tqdm.auto import tqdm

from bayesspn import BayesianSPN, Engine, InfiniteSPN, RegionGraph, SPNRegressor
from bayesspn.estimators import fitting, settling
from bayesspn.inference import chains
from bayesspn.selection.defaults import choose_graph, default_graphs
from bayesspn.tables import infer_schema

# chains this short do not agree, and need not
pytestmark = pytest.mark.filterwarnings("ignore:answers about")

QUICK = {"chains": 2, "burn_in": 10, "draws": 5, "thin": 1, "random_state": 0}


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    rows = 150
    smoker = rng.random(rows) < 0.3
    table = pd.DataFrame(
        {
            "age": rng.integers(18, 80, rows),
            "smoker": smoker,
            "city": pd.Categorical.from_codes(rng.integers(0, 3, rows), ["Oslo", "Rome", "Wien"]),
            "visits": pd.array(rng.poisson(1 + 4 * smoker), dtype="Int64"),
            "weight": rng.normal(70 + 10 * smoker, 5),
            "seen": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, rows), "D"),
        }
    )
    table.loc[rng.random(rows) < 0.1, "weight"] = np.nan
    table.loc[rng.random(rows) < 0.1, "visits"] = pd.NA
    table.loc[rng.random(rows) < 0.1, "city"] = None
    return table


@parametrize_with_checks(
    [kind(chains=1, burn_in=3, draws=2, thin=1) for kind in (BayesianSPN, InfiniteSPN)]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_constructor_only_stores():
    model = BayesianSPN(graph=RegionGraph(3), gamma=0.5, engine=Engine(shards=2), n_jobs=2)
    assert clone(model).get_params() == model.get_params()
    assert not [name for name in vars(model) if name.endswith("_")]


def test_frames_in_frames_out(people):
    model = BayesianSPN(**QUICK).fit(people)
    drawn = model.sample(40, random_state=1)
    assert isinstance(drawn, pd.DataFrame)
    assert drawn.dtypes.tolist() == people.dtypes.tolist()
    assert drawn["city"].cat.categories.tolist() == ["Oslo", "Rome", "Wien"]
    assert not drawn.isna().any(axis=None)
    assert (drawn["seen"] == drawn["seen"].dt.normalize()).all()  # recorded in whole days
    pd.testing.assert_frame_equal(drawn, model.sample(40, random_state=1))
    assert isinstance(BayesianSPN(**QUICK).fit(pl.from_pandas(people)).sample(3), pl.DataFrame)


def test_libraries_agree_on_the_same_table(people):
    numbers = people[["age", "weight"]].astype(float)
    scores = [
        BayesianSPN(**QUICK, schema=infer_schema(numbers)).fit(table).score_samples(table)
        for table in (numbers, pl.from_pandas(numbers))
    ]
    np.testing.assert_array_equal(scores[0], scores[1])


def test_missing_cells_are_summed_out(people):
    model = BayesianSPN(**QUICK).fit(people)
    row = people.iloc[[0]].copy()
    joint = []
    for smoker in (False, True):
        row["smoker"] = pd.array([smoker], dtype="boolean")
        joint.append(model.score_samples(row)[0])
    row["smoker"] = pd.array([pd.NA], dtype="boolean")
    np.testing.assert_allclose(np.logaddexp(*joint), model.score_samples(row)[0], rtol=1e-6)


def test_density_of_a_real_column_integrates_to_one(people):
    model = BayesianSPN(**QUICK).fit(people[["weight", "smoker"]])
    grid = np.linspace(-200, 400, 20_001)
    query = pd.DataFrame({"weight": grid, "smoker": pd.array([pd.NA] * len(grid), dtype="boolean")})
    density = np.exp(model.score_samples(query))
    np.testing.assert_allclose(np.trapezoid(density, grid), 1.0, atol=2e-3)


def test_draws_do_not_depend_on_n_jobs(people):
    one = BayesianSPN(**QUICK).fit(people).score_samples(people)
    two = BayesianSPN(**QUICK, n_jobs=2).fit(people).score_samples(people)
    np.testing.assert_array_equal(one, two)


def test_model_selection_and_pipelines_work(people):
    X = people[["age", "weight"]].dropna().astype(float)
    assert cross_val_score(BayesianSPN(**QUICK), X, cv=3).shape == (3,)
    search = GridSearchCV(
        BayesianSPN(**QUICK), {"graph": ["auto", RegionGraph(0, leaves=2)]}, cv=2
    ).fit(X)
    assert search.best_params_["graph"] in ("auto", RegionGraph(0, leaves=2))
    assert np.isfinite(make_pipeline(StandardScaler(), BayesianSPN(**QUICK)).fit(X).score(X))


def test_a_fitted_model_pickles(people):
    model = BayesianSPN(**QUICK).fit(people)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.score_samples(people), model.score_samples(people))


def test_numbers_fix_priors(people):
    model = BayesianSPN(**QUICK, alpha=0.3, beta=2.0, gamma=0.7).fit(people)
    for state in model.posterior_.draws[0]:
        assert (state.hyper.alpha == 0.3).all()
        assert (state.hyper.beta == 2.0).all()
    assert {column.gamma for column in model.posterior_.model.leaves.columns} == {0.7}
    assert not model.posterior_.model.learn_leaf_priors


def test_a_better_model_of_dependent_columns_scores_better(people):
    together = BayesianSPN(**QUICK | {"burn_in": 60}).fit(people)
    apart = BayesianSPN(**QUICK, graph=RegionGraph(0, leaves=1)).fit(people)
    assert together.score(people) > apart.score(people) + 0.2


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"chains": 0}, "chains must be a whole number from 1 on, got 0"),
        ({"draws": 2.5}, r"draws must be a whole number from 1 on, got 2\.5"),
        ({"thin": True}, "thin must be a whole number"),
        ({"alpha": -1}, "alpha must be 'auto' or a positive number, got -1"),
        ({"gamma": "big"}, "gamma must be 'auto' or a positive number, got 'big'"),
        ({"graph": "deep"}, "graph must be 'auto', 'select' or a RegionGraph, got 'deep'"),
        ({"graph": 3}, "graph must be 'auto', 'select' or a RegionGraph, got 3"),
    ],
)
def test_wrong_parameters_are_named(people, parameters, message):
    with pytest.raises(ValueError, match=message):
        BayesianSPN(**parameters).fit(people)


def test_wrong_tables_are_named(people):
    model = BayesianSPN(**QUICK)
    with pytest.raises(NotFittedError):
        model.score_samples(people)
    model.fit(people)
    with pytest.raises(ValueError, match="feature names"):
        model.score_samples(people.drop(columns="age"))
    unseen = people.astype({"city": "str"}).assign(city="Bonn")
    with pytest.raises(ValueError, match=r"'city', row 0: 'Bonn' is not among its categories"):
        model.set_params(handle_unknown="error").score_samples(unseen)
    with pytest.raises(ValueError, match="infinite"):
        model.score_samples(people.assign(weight=np.inf))
    with pytest.raises(ValueError, match="n_samples must be a whole number from 1 on, got 0"):
        model.sample(0)


def test_a_warning_in_words_when_answers_are_not_settled(monkeypatch):
    monkeypatch.setattr(settling, "LARGEST_ERROR", 0.02)
    rng = np.random.default_rng(0)
    X = np.where(rng.random((400, 1)) < 0.5, 0.0, 5.0) + rng.normal(0, 0.3, (400, 6))
    with pytest.warns(ConvergenceWarning, match="not settled") as raised:
        BayesianSPN(chains=4, burn_in=0, draws=8, thin=1, random_state=0).fit(X)
    assert raised[0].filename == __file__
    with pytest.warns(ConvergenceWarning, match="not settled") as raised:
        SPNRegressor(chains=4, burn_in=0, draws=8, thin=1, random_state=0).fit(X[:, :5], X[:, 5])
    assert raised[0].filename == __file__  # where the user called, not a line of the package


def interrupt_after(function, calls):
    """The function, but a KeyboardInterrupt, as Ctrl-C raises it, after so many calls."""
    left = [calls]

    def interrupted(*arguments, **keywords):
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return function(*arguments, **keywords)

    return interrupted


def test_ctrl_c_keeps_the_draws_so_far(people, monkeypatch):
    shown = interrupt_after(tqdm.update, 30)
    monkeypatch.setattr(fitting.tqdm, "update", shown)
    model = BayesianSPN(chains=3, burn_in=5, draws=20, thin=1, random_state=0).fit(people)
    # 5 sweeps of all chains, then rounds of 2 draws of each
    assert [len(chain) for chain in model.posterior_.draws] == [6, 6, 4]
    assert model.interrupted_
    assert np.isfinite(model.score(people))


def test_ctrl_c_keeps_the_draws_of_parallel_chains(people, monkeypatch):
    monkeypatch.setattr(fitting, "advance_chains", interrupt_after(fitting.advance_chains, 7))
    model = BayesianSPN(chains=2, burn_in=5, draws=20, thin=1, random_state=0, n_jobs=2)
    # 5 rounds of burn-in, then 2 rounds of 2 draws
    assert [len(chain) for chain in model.fit(people).posterior_.draws] == [4, 4]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_signal_ends_a_fit_between_sweeps(people, monkeypatch, n_jobs):
    """In any thread, and the handler is what it was."""
    sweep, done = chains.draw_sweep, []

    def signalled(*arguments):
        state = sweep(*arguments)
        done.append(1)
        if len(done) == 60:
            signal.raise_signal(signal.SIGINT)
        return state

    monkeypatch.setattr(chains, "draw_sweep", signalled)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        model = BayesianSPN(
            chains=2, burn_in=4, draws=4_000, thin=1, random_state=0, n_jobs=n_jobs
        ).fit(people)
        assert signal.signal(signal.SIGINT, before) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert model.interrupted_
    assert 20 < model.posterior_.n_draws < 2_000
    assert np.isfinite(model.score(people))


def test_ctrl_c_before_the_first_draw_stops_the_fit(people, monkeypatch):
    monkeypatch.setattr(fitting.tqdm, "update", interrupt_after(tqdm.update, 2))
    with pytest.raises(KeyboardInterrupt):
        BayesianSPN(chains=1, burn_in=5, draws=5).fit(people)


def test_no_rows_have_no_score(people):
    model = BayesianSPN(**QUICK).fit(people)
    with pytest.raises(ValueError, match="there are no rows to score"):
        model.score(people[:0])


@pytest.mark.parametrize("n_jobs", [0, 1.5, "x", True])
def test_numbers_of_cores_are_checked(people, n_jobs):
    with pytest.raises(ValueError, match="n_jobs must be None, a number of cores, or -1"):
        BayesianSPN(n_jobs=n_jobs).fit(people)


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (10, 3), (500, 20), (10**6, 2000)])
def test_automatic_graphs_suit_any_table(rows, columns):
    graph = choose_graph(rows, columns)
    assert graph.depth <= max(0, np.ceil(np.log2(columns)))
    assert graph.n_weights < 10**7
    assert default_graphs(rows, columns)[0] == graph
    assert all(one.n_weights < 10**8 for one in default_graphs(rows, columns))
