"""Weights of rows: a row of weight 3 is a row that is there three times."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from bayesspn import BayesianSPN, InfiniteSPN, SPNClassifier, SPNImputer, SPNRegressor
from bayesspn.estimators.training import count_copies
from bayesspn.selection.building import Priors, TableModels
from bayesspn.tables import ColumnSchema, Schema
from bayesspn.tables.infer import encode_table

QUICK = {"chains": 1, "burn_in": 5, "draws": 5, "random_state": 0}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    return pd.DataFrame({"a": rng.normal(size=40).round(2), "b": rng.integers(0, 3, 40)})


WEIGHTS = np.arange(40) % 4


@pytest.mark.parametrize("kind", [BayesianSPN, InfiniteSPN, SPNImputer])
def test_whole_weights_are_repeated_rows(kind, table):
    weighted = kind(**QUICK).fit(table, sample_weight=WEIGHTS)
    repeated = kind(**QUICK).fit(table.loc[np.repeat(np.arange(40), WEIGHTS)])
    np.testing.assert_array_equal(weighted.trace_, repeated.trace_)
    assert weighted.joint_.log_prob(table)[3] == repeated.joint_.log_prob(table)[3]


def test_rows_added_later_have_weights_too(table):
    places = np.repeat(np.arange(20, 40), WEIGHTS[20:])
    weighted, repeated = (BayesianSPN(**QUICK).fit(table[:20]) for _ in range(2))
    weighted.partial_fit(table[20:], sample_weight=WEIGHTS[20:])
    repeated.partial_fit(table.loc[places])
    np.testing.assert_array_equal(weighted.trace_, repeated.trace_)
    first = BayesianSPN(**QUICK).partial_fit(table, sample_weight=WEIGHTS)
    fitted = BayesianSPN(**QUICK).fit(table, sample_weight=WEIGHTS)
    np.testing.assert_array_equal(first.trace_, fitted.trace_)


def test_changed_tables_have_weights_too(table):
    weighted, repeated = (BayesianSPN(**QUICK).fit(table) for _ in range(2))
    weighted.refit(table, sample_weight=WEIGHTS)
    repeated.refit(table.loc[np.repeat(np.arange(40), WEIGHTS)])
    np.testing.assert_array_equal(weighted.trace_, repeated.trace_)
    x = np.random.default_rng(0).normal(size=40)
    weighted.refit(table.assign(x=x), sample_weight=np.full(40, 10))
    assert weighted.schema_["x"].values == ()


def test_tables_are_filled_in_by_weighted_rows(table):
    holes = table.astype(float).mask(np.random.default_rng(0).random(table.shape) < 0.2)
    one, two = SPNImputer(**QUICK), SPNImputer(**QUICK)
    filled = one.fit_transform(holes, sample_weight=WEIGHTS)
    assert not filled.isna().any(axis=None)
    np.testing.assert_array_equal(one.trace_, two.fit(holes, sample_weight=WEIGHTS).trace_)


@pytest.mark.parametrize("kind", [SPNClassifier, SPNRegressor])
def test_targets_are_repeated_with_their_rows(kind, table):
    places = np.repeat(np.arange(40), WEIGHTS)
    weighted = kind(**QUICK).fit(table[["a"]], table["b"], sample_weight=WEIGHTS)
    repeated = kind(**QUICK).fit(table[["a"]].loc[places], table["b"].loc[places])
    np.testing.assert_array_equal(weighted.predict(table[["a"]]), repeated.predict(table[["a"]]))


def test_fractions_are_right_on_average():
    weights = [0.25, 1.5, 0.0, 2.0]
    counts = np.zeros(4)
    for seed in range(2_000):
        copies = count_copies(weights, 4, seed)
        assert copies.sum() in (3, 4)  # 3.75 rows
        counts += copies
    np.testing.assert_allclose(counts / 2_000, weights, atol=0.05)


def test_fractions_do_not_follow_the_order_of_the_table():
    """Of rows that take turns, halves leave as many of one kind as of the other."""
    kind = np.tile([0, 1], 50)
    shares = [count_copies(np.full(100, 0.5), 100, seed)[kind == 0].sum() for seed in range(200)]
    # hypergeometric with mean 25 and deviation 2.5: five standard errors of a mean of 200, and
    # none is that far out but once in 10^9
    assert np.mean(shares) == pytest.approx(25, abs=5 * 2.5 / np.sqrt(200))
    np.testing.assert_allclose(shares, 25, atol=6 * 2.5)
    table = pd.DataFrame({"sex": ["M", "F"] * 50})
    model = BayesianSPN(**QUICK).fit(table, sample_weight=np.full(100, 0.5))
    # a share of 50 rows, with what is not known of it
    assert model.probability("sex = M") == pytest.approx(0.5, abs=0.4)


def test_fractions_are_rounded_alike_by_fits_that_should_agree(table, tmp_path):
    """A plan and a checkpoint are of the rows of the first fit, without random_state, too."""
    weights = np.random.default_rng(1).uniform(0, 3, 40)
    settings = {"chains": 1, "burn_in": 5, "draws": 4}
    path = tmp_path / "fit.checkpoint"
    first = BayesianSPN(**settings, checkpoint=path).fit(table, sample_weight=weights)
    same = BayesianSPN(plan=first.plan_).fit(table, sample_weight=weights)
    np.testing.assert_array_equal(first.trace_, same.trace_)
    more = BayesianSPN(**settings | {"draws": 6}, checkpoint=path)
    more.fit(table, sample_weight=weights)
    np.testing.assert_array_equal(more.trace_[:, : first.trace_.shape[1]], first.trace_)


@pytest.mark.parametrize("rows", [15, 30])
def test_weights_make_no_list_of_the_values_of_a_measurement(rows):
    """Which values recur is read off the table, not off rows that weights repeat."""
    x = np.random.default_rng(0).normal(size=rows)
    table = pd.DataFrame({"x": x})
    settings = QUICK | {"schema": Schema((ColumnSchema("x", "real", ("gaussian", "atoms")),))}
    model = BayesianSPN(**settings).fit(table, sample_weight=np.full(rows, 10))
    plain = BayesianSPN(**settings).fit(table)
    assert model.schema_ == plain.schema_
    assert model.schema_["x"].values == model.schema_["x"].atoms == ()
    drawn = model.sample(200, random_state=0)["x"]
    assert not drawn.isin(x).any()
    np.testing.assert_array_equal(
        model.posterior_.model.leaves.columns[0].atoms,
        plain.posterior_.model.leaves.columns[0].atoms,
    )


def test_targets_with_weights_are_no_list_either(table):
    y = np.random.default_rng(0).normal(size=40)
    model = SPNRegressor(**QUICK).fit(table[["a"]], y, sample_weight=np.full(40, 10))
    assert model.schema_.columns[-1].values == ()


def test_compared_graphs_see_the_same_columns(table):
    """With graph="auto" on many rows, weights make no lists either."""
    x = np.random.default_rng(0).normal(size=80)
    schema, values, _ = encode_table(pd.DataFrame({"x": x, "y": x}))
    repeated = np.repeat(values, 20, axis=0)
    rows = TableModels(schema, repeated, values).rows(Priors())
    assert all(column.grid.values == () for column in rows.codebook.leaves.columns)


def test_weights_say_what_the_answers_are(table):
    model = BayesianSPN(chains=2, burn_in=40, draws=20, random_state=0)
    model.fit(table, sample_weight=np.where(table["b"] == 2, 10.0, 0.5))
    assert model.probability("b = 2") > 0.8


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones(39), "must be 40 numbers"),
        (np.ones((40, 1)), "must be 40 numbers"),
        (-np.ones(40), "row 0: -1.0 is not a finite number from 0 on"),
        (np.zeros(40), "zero in every row"),
        (np.where(np.arange(40) == 7, np.nan, 1.0), "row 7: nan is not a finite"),
        (np.full(40, np.inf), "row 0: inf is not a finite"),
        (["a"] * 40, "row 0: 'a' is not a finite number"),
        ([1.0] * 39 + [None], "row 39: None is not a finite number"),
        (np.full(40, 1e-9), "less than a row"),
        (np.full(40, 1e9), "divide weights by their mean"),
    ],
)
def test_wrong_weights_are_refused(table, weights, message):
    with pytest.raises(ValueError, match=message):
        BayesianSPN(**QUICK).fit(table, sample_weight=weights)


def test_files_have_no_weights(tmp_path, table):
    table.to_parquet(tmp_path / "table.parquet")
    with pytest.raises(ValueError, match="in memory"):
        BayesianSPN(**QUICK).fit(tmp_path / "table.parquet", sample_weight=WEIGHTS)


def test_weights_that_add_up_to_a_population_are_questioned():
    with pytest.warns(UserWarning, match="divide them by their mean"):
        assert count_copies(np.full(20, 20_000.0), 20).sum() == 400_000
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        count_copies(np.full(2_000, 30.0), 2_000)
