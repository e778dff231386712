"""Weights of rows: a row of weight 3 is a row that is there three times."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from bayesspn import BayesianSPN, InfiniteSPN, SPNClassifier, SPNImputer, SPNRegressor
from bayesspn.estimators.training import repeat_rows

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


@pytest.mark.parametrize("kind", [SPNClassifier, SPNRegressor])
def test_targets_are_repeated_with_their_rows(kind, table):
    places = np.repeat(np.arange(40), WEIGHTS)
    weighted = kind(**QUICK).fit(table[["a"]], table["b"], sample_weight=WEIGHTS)
    repeated = kind(**QUICK).fit(table[["a"]].loc[places], table["b"].loc[places])
    np.testing.assert_array_equal(weighted.predict(table[["a"]]), repeated.predict(table[["a"]]))


def test_fractions_are_right_on_average():
    rows = np.arange(4.0)[:, None]
    weights = [0.25, 1.5, 0.0, 2.0]
    counts = np.zeros(4)
    for seed in range(2_000):
        found = repeat_rows(rows, weights, seed)
        assert len(found) in (3, 4)  # 3.75 rows
        counts += np.bincount(found.ravel().astype(int), minlength=4)
    np.testing.assert_allclose(counts / 2_000, weights, atol=0.05)
    same = repeat_rows(rows, weights, 7)
    np.testing.assert_array_equal(same, repeat_rows(rows, weights, 7))


def test_weights_say_what_the_answers_are(table):
    model = BayesianSPN(chains=2, burn_in=40, draws=20, random_state=0)
    model.fit(table, sample_weight=np.where(table["b"] == 2, 10.0, 0.5))
    assert model.probability("b = 2") > 0.8


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones(39), "must be 40 numbers"),
        (np.ones((40, 1)), "must be 40 numbers"),
        (-np.ones(40), "not negative"),
        (np.zeros(40), "not all zero"),
        (np.full(40, np.nan), "not negative"),
        (np.full(40, np.inf), "not negative"),
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
