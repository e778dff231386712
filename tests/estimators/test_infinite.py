"""InfiniteSPN and learning from more rows: what they add to `BayesianSPN`."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest

import bayesspn
from bayesspn import BayesianSPN, InfiniteSPN, RegionGraph
from bayesspn.files.posteriors import ModelFileError
from bayesspn.inference.infinite.components import component_sizes

# chains this short do not agree, and need not
pytestmark = pytest.mark.filterwarnings("ignore:answers about")

QUICK = {"chains": 2, "burn_in": 10, "draws": 5, "thin": 1, "random_state": 0}
KINDS = (BayesianSPN, InfiniteSPN)


def make_table(rows: int, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 3, rows)
    table = pd.DataFrame(
        {
            "size": 4.0 * kind + rng.normal(size=rows),
            "kind": pd.Categorical.from_codes(kind, ["ant", "bee", "cat"]),
            "legs": 2 * kind + rng.integers(0, 3, rows),
        }
    )
    table.loc[rng.random(rows) < 0.1, "size"] = np.nan
    return table


@pytest.fixture(scope="module")
def fitted() -> InfiniteSPN:
    return InfiniteSPN(**QUICK).fit(make_table(120))


def test_draws_have_different_numbers_of_components(fitted):
    found = fitted.n_components()
    assert found.shape == (2, 5)
    assert len(np.unique(found)) > 1
    assert fitted.summary().loc["components", "mean"] == pytest.approx(found.mean())
    assert fitted.summary().loc["concentration", "mean"] > 0


def test_a_summary_says_in_words_what_its_table_is(fitted):
    summary = fitted.summary()
    first, *meanings = summary.words.splitlines()
    assert first.startswith("2 chains, 10 draws; answers ")
    assert [line.partition(":")[0] for line in meanings] == [
        *("log_likelihood", "alpha", "beta", "edges_in_use", "components", "concentration")
    ]
    assert repr(summary).startswith(summary.words)
    assert summary._repr_html_().startswith(f"<p>{first}<br>log_likelihood: mean")
    assert type(summary.round(2)) is pd.DataFrame  # parts and results are plain tables
    assert not repr(summary[["mean"]]).startswith(first)


def test_densities_add_up_to_one(fitted):
    """Over categories, and over a grid of sizes; the share of components to come included."""
    grid = np.linspace(-60, 80, 4001)
    table = pd.DataFrame({"size": grid, "kind": "bee", "legs": [np.nan] * len(grid)})
    table["kind"] = pd.Categorical(table["kind"], categories=["ant", "bee", "cat"])
    joint = np.exp(fitted.score_samples(table)).sum() * (grid[1] - grid[0])
    alone = table.iloc[:1].assign(size=np.nan)
    assert joint == pytest.approx(np.exp(fitted.score_samples(alone)[0]), rel=1e-3)
    kinds = pd.DataFrame({"size": np.nan, "kind": ["ant", "bee", "cat"], "legs": np.nan})
    assert np.exp(fitted.score_samples(kinds)).sum() == pytest.approx(1.0)


def test_files_and_pickles_bring_it_back(fitted, tmp_path):
    path = tmp_path / "model.bspn"
    fitted.save(path)
    table = make_table(30, seed=1)
    for again in (bayesspn.load(path), pickle.loads(pickle.dumps(fitted))):
        assert isinstance(again, InfiniteSPN)
        np.testing.assert_array_equal(again.score_samples(table), fitted.score_samples(table))
        np.testing.assert_array_equal(again.n_components(), fitted.n_components())
        first = again.posterior_.draws[1][2]
        expected = fitted.posterior_.draws[1][2]
        assert first.hyper.concentration == expected.hyper.concentration
        for a, b in zip(first.statistics, expected.statistics, strict=True):
            np.testing.assert_array_equal(a, b)


def test_a_file_that_names_another_estimator_is_refused(tmp_path):
    model = BayesianSPN(**QUICK).fit(make_table(40))
    parameters = {
        name: model.get_params()[name]
        for name in InfiniteSPN().get_params()
        if name in model.get_params()
    }
    model.__class__ = type(
        "InfiniteSPN", (BayesianSPN,), {"get_params": lambda self, deep=True: parameters}
    )
    model.save(tmp_path / "model.bspn")
    with pytest.raises(ModelFileError, match="not that of an estimator named InfiniteSPN"):
        bayesspn.load(tmp_path / "model.bspn")


def test_fits_go_on_from_a_checkpoint(tmp_path):
    table, path = make_table(60), tmp_path / "chains"
    whole = InfiniteSPN(**QUICK).fit(table)
    InfiniteSPN(**QUICK | {"draws": 2}, checkpoint=path).fit(table)
    again = InfiniteSPN(**QUICK, checkpoint=path).fit(table)
    np.testing.assert_array_equal(again.trace_, whole.trace_)
    np.testing.assert_array_equal(again.score_samples(table), whole.score_samples(table))


def test_draws_do_not_depend_on_n_jobs(fitted):
    again = InfiniteSPN(**QUICK, n_jobs=2).fit(make_table(120))
    np.testing.assert_array_equal(again.trace_, fitted.trace_)


def test_a_number_fixes_the_concentration():
    model = InfiniteSPN(**QUICK, concentration=0.3).fit(make_table(40))
    assert all(state.hyper.concentration == 0.3 for state in model.posterior_.draws[0])
    for wrong in (0, -1.0, "many", True):
        with pytest.raises(ValueError, match="concentration must be 'auto' or a positive number"):
            InfiniteSPN(concentration=wrong).fit(make_table(40))


def test_components_need_a_partition():
    with pytest.raises(ValueError, match="need a depth of at least 1"):
        InfiniteSPN(graph=RegionGraph(0)).fit(make_table(40))
    assert InfiniteSPN(**QUICK).fit(make_table(40)[["legs"]]).graph_.depth == 1


# More rows ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_more_rows_are_added_to_those_before(kind):
    table = make_table(90)
    model = kind(**QUICK).partial_fit(table[:30])
    first = model.trace_
    assert model.partial_fit(table[30:60]) is model
    model.partial_fit(table[60:])
    for chain in model.posterior_.draws:
        for state in chain:
            assert component_sizes(model.posterior_.model, state.edge_counts).sum() == 90
    assert not np.array_equal(first, model.trace_)
    again = kind(**QUICK).fit(table[:30]).partial_fit(table[30:60]).partial_fit(table[60:])
    np.testing.assert_array_equal(model.trace_, again.trace_)
    values = model._rows.values(np.arange(90))
    np.testing.assert_array_equal(values[:, 2], table["legs"])


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_rows_in_parts_teach_the_same_as_all_at_once(kind):
    """Up to Monte Carlo error, judged by chains of another seed."""
    table, test = make_table(150), make_table(200, seed=1)
    graph = RegionGraph(2, sums=16, leaves=16, products="shared")
    settings = {"graph": graph, "chains": 4, "burn_in": 100, "draws": 40, "thin": 2}
    parts = kind(**settings, random_state=0).fit(table[:50]).partial_fit(table[50:])
    whole, other = (kind(**settings, random_state=seed).fit(table) for seed in (1, 2))
    spread = abs(whole.score(test) - other.score(test)) + 0.02
    assert abs(parts.score(test) - whole.score(test)) < 3 * spread
    less = kind(**settings, random_state=0).fit(table[:50]).score(test)
    assert parts.score(test) > less + 0.03


def test_values_beyond_those_seen_before_become_plausible():
    table = make_table(60)
    model = BayesianSPN(**QUICK).fit(table)
    before = model.posterior_.model.leaves.columns[0].observed
    model.partial_fit(pd.DataFrame({"size": [100.0], "kind": ["bee"], "legs": [3]}))
    after = model.posterior_.model.leaves.columns[0].observed
    assert after == (before[0], 100.0)


def test_rows_that_do_not_fit_are_refused_and_nothing_changes():
    table = make_table(60)
    model = BayesianSPN(**QUICK).fit(table)
    scores = model.score_samples(table)
    wrong = table[:3].astype({"kind": object}).assign(kind="dog")
    with pytest.raises(ValueError, match="dog"):
        model.partial_fit(wrong)
    with pytest.raises(ValueError, match="legs"):
        model.partial_fit(table[:3].drop(columns="legs"))
    model.partial_fit(table[:0])
    np.testing.assert_array_equal(model.score_samples(table), scores)


def test_models_that_travelled_have_no_rows(tmp_path):
    model = BayesianSPN(**QUICK).fit(make_table(40))
    model.save(tmp_path / "model.bspn")
    for again in (bayesspn.load(tmp_path / "model.bspn"), pickle.loads(pickle.dumps(model))):
        with pytest.raises(ValueError, match="has not got the rows"):
            again.partial_fit(make_table(10))


@pytest.mark.parametrize("kind", [BayesianSPN, InfiniteSPN])
def test_a_saved_model_with_its_rows_learns_on_as_if_it_had_stayed(kind, tmp_path):
    table = make_table(60)
    model = kind(**QUICK).fit(table[:30])
    model.save(tmp_path / "model.bspn", rows=True)
    again = bayesspn.load(tmp_path / "model.bspn")
    for part in (table[30:45], table[45:]):
        model.partial_fit(part)
        again.partial_fit(part)
        np.testing.assert_array_equal(again.score_samples(table), model.score_samples(table))
        # from one generation to the next, too
        again.save(tmp_path / "model.bspn", rows=True)
        again = bayesspn.load(tmp_path / "model.bspn")


def test_rows_that_are_not_there_cannot_be_saved(tmp_path):
    model = BayesianSPN(**QUICK).fit(make_table(40))
    model.save(tmp_path / "plain.bspn")
    model.save(tmp_path / "rows.bspn", rows=True)
    assert (tmp_path / "rows.bspn").stat().st_size > (tmp_path / "plain.bspn").stat().st_size
    with pytest.raises(ValueError, match="has not got the rows"):
        bayesspn.load(tmp_path / "plain.bspn").save(tmp_path / "again.bspn", rows=True)
    assert not (tmp_path / "again.bspn").exists()
