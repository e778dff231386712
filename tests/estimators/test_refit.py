"""A changed table: chains go on from where they stand, and end where a fresh fit does."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import bayesspn
from bayesspn import BayesianSPN, InfiniteSPN, RegionGraph, load
from bayesspn.inference.starts.carried import carry_state
from bayesspn.tables.cells import TableError

QUICK = {"chains": 2, "burn_in": 10, "draws": 5, "random_state": 0}
KINDS = [BayesianSPN, InfiniteSPN]


def make_table(rows: int, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    bee = rng.random(rows) < 0.5
    return pd.DataFrame(
        {
            "size": np.where(bee, 1.5, 6.0) + rng.normal(0, 0.4, rows),
            "kind": np.where(bee, "bee", "ant"),
            "legs": rng.poisson(np.where(bee, 2.0, 6.0)),
            "old": rng.random(rows) < np.where(bee, 0.2, 0.8),
        }
    )


@pytest.mark.parametrize("kind", KINDS)
def test_every_draw_is_of_the_rows_there_are_now(kind):
    table = make_table(90)
    model = kind(**QUICK).fit(table)
    edited = table.drop(index=range(30)).assign(size=lambda now: now["size"] + 1)
    assert model.refit(edited) is model
    for chain in model.posterior_.draws:
        for state in chain:
            assert state.edge_counts[0].sum() == 60
    values = model._rows.values(np.arange(60))
    np.testing.assert_array_equal(values[:, 0], edited["size"])
    # the same again, bit by bit
    again = kind(**QUICK).fit(table).refit(edited)
    np.testing.assert_array_equal(again.score_samples(edited), model.score_samples(edited))


@pytest.mark.parametrize("kind", KINDS)
def test_columns_come_and_go(kind):
    table = make_table(80)
    model = kind(**QUICK).fit(table)
    model.refit(table[["legs", "size"]].assign(heavy=table["size"] > 4, note="x"))
    assert model.schema_.names == ("legs", "size", "heavy", "note")
    assert model.feature_names_in_.tolist() == ["legs", "size", "heavy", "note"]
    assert model.n_features_in_ == 4
    for state in model.posterior_.draws[0]:
        assert state.scope.n_dimensions == 4
    assert np.isfinite(model.score_samples(model.sample(5, random_state=0))).all()


def test_state_of_known_columns_goes_along():
    table = make_table(60)
    model = BayesianSPN(**QUICK).fit(table)
    old, state = model.posterior_.model, model._states[0]
    same = carry_state(np.random.default_rng(0), state, old.leaves, old, [0, 1, 2, 3])
    for before, after in zip(state.statistics, same.statistics, strict=True):
        np.testing.assert_array_equal(before, after)
        assert before.dtype == after.dtype
    for before, after in zip(state.scope.y, same.scope.y, strict=True):
        np.testing.assert_array_equal(before, after)
    for before, after in zip(state.hyper.phi, same.hyper.phi, strict=True):
        np.testing.assert_array_equal(before, after)
    np.testing.assert_array_equal(state.hyper.mixing, same.hyper.mixing)
    # turned round, with one that is new
    columns = tuple(old.leaves.columns[k] for k in (3, 1, 0))
    turned = bayesspn.Model(old.graph, bayesspn.Leaves(columns))
    moved = carry_state(np.random.default_rng(0), state, old.leaves, turned, [3, None, 0])
    np.testing.assert_array_equal(moved.scope.y[0][:, 0], state.scope.y[0][:, 3])
    np.testing.assert_array_equal(moved.scope.y[0][:, 2], state.scope.y[0][:, 0])
    group, place = turned.leaves.places[1][0]
    assert not moved.statistics[group][place].any()
    for number in range(len(columns[2].families)):
        group, place = turned.leaves.places[2][number]
        source, at = old.leaves.places[0][number]
        np.testing.assert_array_equal(moved.statistics[group][place], state.statistics[source][at])


def test_categories_that_no_row_has_any_more_stay_known():
    table = make_table(60)
    model = BayesianSPN(**QUICK).fit(table)
    model.refit(table[table["kind"] == "bee"])
    assert model.schema_["kind"].categories == ("ant", "bee")
    assert 0 < model.probability("kind = ant") < 0.2


def test_columns_whose_new_cells_do_not_suit_are_described_anew():
    table = make_table(60)
    model = BayesianSPN(**QUICK).fit(table)
    wasps = table.assign(kind=table["kind"].replace("ant", "wasp"), size=-table["size"])
    model.refit(wasps)
    assert model.schema_["kind"].categories == ("bee", "wasp")
    assert model.sample(50, random_state=0)["size"].min() < 0


def test_models_from_files_can_be_refitted_without_their_rows(tmp_path):
    table = make_table(60)
    BayesianSPN(**QUICK).fit(table).save(tmp_path / "model.bspn")
    model = load(tmp_path / "model.bspn").refit(table[:50])
    assert model.posterior_.draws[0][0].edge_counts[0].sum() == 50
    model.partial_fit(table[50:])
    assert model.posterior_.draws[0][0].edge_counts[0].sum() == 60


def test_bad_tables_are_refused_and_nothing_changes(tmp_path):
    table = make_table(60)
    model = BayesianSPN(**QUICK).fit(table)
    scores = model.score_samples(table)
    with pytest.raises(ValueError, match="0 sample"):
        model.refit(table[:0])
    with pytest.raises(TableError, match="infinite"):
        model.refit(table.assign(weight=np.inf))
    with pytest.raises(TableError, match="identifiers"):
        model.refit(table.assign(name=[f"n{k}" for k in range(60)]))
    with pytest.raises(ValueError, match="in memory"):
        model.refit(str(tmp_path))
    np.testing.assert_array_equal(model.score_samples(table), scores)
    assert model.feature_names_in_.tolist() == list(table.columns)
    numbers = BayesianSPN(**QUICK).fit(np.random.default_rng(0).normal(size=(30, 3)))
    with pytest.raises(TableError, match="if they have names"):
        numbers.refit(np.zeros((30, 2)))


def test_names_that_are_refused_change_nothing():
    table = make_table(60)
    model = BayesianSPN(**QUICK).fit(table)
    scores = model.score_samples(table)
    with pytest.raises(TypeError, match="names"):
        model.refit(table.rename(columns={"legs": 7}))
    assert model.schema_.names == tuple(table.columns)
    np.testing.assert_array_equal(model.score_samples(table), scores)


def test_the_first_call_is_a_fit():
    table = make_table(40)
    first = BayesianSPN(**QUICK).refit(table)
    np.testing.assert_array_equal(
        first.score_samples(table), BayesianSPN(**QUICK).fit(table).score_samples(table)
    )


def test_a_refit_ends_where_a_fresh_fit_does():
    """Up to Monte Carlo error, judged by chains of another seed."""
    table, test = make_table(120), make_table(200, seed=1)
    graph = RegionGraph(2, sums=8, leaves=8, products="shared")
    settings = {"graph": graph, "chains": 4, "burn_in": 60, "draws": 20, "thin": 2}
    moved = table.assign(size=10 - table["size"]).rename(columns={"old": "young"})
    changed = BayesianSPN(**settings, random_state=0).fit(moved).refit(table)
    whole, other = (BayesianSPN(**settings, random_state=seed).fit(table) for seed in (1, 2))
    spread = abs(whole.score(test) - other.score(test)) + 0.02
    assert abs(changed.score(test) - whole.score(test)) < 3 * spread


def few_values(rows: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    return pd.DataFrame(
        {"x": rng.choice([0.5, 1.5, 4.0], rows), "g": rng.integers(0, 2, rows).astype(bool)}
    )


@pytest.mark.parametrize("kind", KINDS)
def test_values_off_the_old_grid_have_the_probability_of_a_fresh_fit(kind):
    table = few_values()
    edited = table.copy()
    edited.loc[:20, "x"] = 2.75
    settings = {"chains": 2, "burn_in": 30, "draws": 20, "random_state": 0}
    fresh = kind(**settings).fit(edited).probability("x = 2.75")
    changed = kind(**settings).fit(table).refit(edited)
    assert changed.probability("x = 2.75") == pytest.approx(fresh, abs=0.06)
    grown = kind(**settings).fit(table).partial_fit(table.assign(x=2.75))
    assert grown.probability("x = 2.75") == pytest.approx(0.5, abs=0.06)
    assert set(grown.schema_["x"].values) == {0.5, 1.5, 2.75, 4.0}
    assert grown.posterior_.draws[0][0].edge_counts[0].sum() == 120
    assert 2.75 in grown.sample(50, random_state=0)["x"].to_numpy()


def test_columns_recorded_finer_than_before_get_their_step():
    rng = np.random.default_rng(2)
    halves = pd.DataFrame({"x": rng.integers(-20, 20, 60) / 2 + 0.0, "day": 0})
    halves["day"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, 60), "D")
    fine = halves.assign(x=rng.normal(0, 5, 60).round(3), day=halves["day"] + pd.Timedelta("90min"))
    model = BayesianSPN(**QUICK).fit(halves)
    assert model.schema_["x"].resolution == 0.5
    assert model.schema_["day"].resolution == 86_400
    location = model.posterior_.model.leaves.columns[0].constants[0][:2]
    for changed in (model.refit(fine), BayesianSPN(**QUICK).fit(halves).partial_fit(fine)):
        assert changed.schema_["x"].resolution == 0.001
        assert changed.schema_["day"].resolution == 60
        described = changed.posterior_.model.leaves.columns[0]
        assert described.resolution == 0.001
        # the units of the leaves, in which chains stand, stay
        np.testing.assert_array_equal(described.constants[0][:2], location)


def test_new_values_that_recur_become_atoms():
    rng = np.random.default_rng(3)
    table = pd.DataFrame({"x": rng.normal(2, 1, 100), "g": rng.random(100) < 0.5})
    model = BayesianSPN(**QUICK).fit(table)
    zeros = table.assign(x=table["x"].where(rng.random(100) < 0.6, 0.0))
    share = (zeros["x"] == 0).mean()
    model.refit(zeros)
    assert model.schema_["x"].atoms == (0.0,)
    assert model.probability("x = 0") == pytest.approx(share, abs=0.12)
    assert "atoms" in model.schema_["x"].families


def test_grids_that_the_user_states_stay():
    table = few_values()
    known = bayesspn.tables.infer_schema(table)
    schema = known.replace("x", values=(0.5, 1.5, 4.0), resolution=1.0)
    model = BayesianSPN(schema=schema, **(QUICK | {"chains": 1})).fit(table)
    model.refit(table.assign(x=table["x"].replace(1.5, 2.75)))
    assert model.schema_["x"].values == (0.5, 1.5, 4.0)
