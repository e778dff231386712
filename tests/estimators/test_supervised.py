"""SPNClassifier, SPNRegressor and SPNImputer: scikit-learn's checks, and the joint behind them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.datasets import load_iris
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import bayesspn
from bayesspn import SPNClassifier, SPNImputer, SPNRegressor
from bayesspn.estimators.imputation import average_cells
from bayesspn.prediction.posterior import DRAWN_SEED, Posterior
from bayesspn.prediction.row_averages import average_missing, weigh_evenly
from bayesspn.prediction.value_sets import ValueSet
from bayesspn.tables import encode

# chains this short do not agree, and need not
pytestmark = pytest.mark.filterwarnings("ignore:answers about")

QUICK = {"chains": 1, "burn_in": 30, "draws": 10, "thin": 1, "random_state": 0}


@parametrize_with_checks(
    [
        SPNClassifier(chains=1, burn_in=10, draws=4, thin=1),
        SPNRegressor(chains=1, burn_in=40, draws=6, thin=1),
        SPNImputer(chains=1, burn_in=3, draws=2, thin=1),
    ],
    # test_sample_weight.py has repeated rows in the order that weights repeat them
    expected_failed_checks=lambda estimator: (
        {}
        if isinstance(estimator, SPNImputer)
        else {
            "check_sample_weight_equivalence_on_dense_data": "shuffled rows, other random numbers"
        }
    ),
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def mixed() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 3, 150)
    table = pd.DataFrame(
        {
            "size": kind * 3 + rng.normal(0, 0.5, 150),
            "city": pd.Categorical.from_codes(kind, ["Oslo", "Rome", "Wien"]),
            "seen": pd.Timestamp("2024-01-01") + pd.to_timedelta(100 * kind, "D"),
            "visits": pd.array(rng.poisson(2 + 20 * kind), dtype="Int64"),
            "label": np.array(["a", "b", "c"])[kind],
        }
    )
    for column in ("size", "city", "seen", "visits"):
        table.loc[rng.random(150) < 0.1, column] = None
    return table


def test_class_probabilities_are_conditionals_of_the_joint(mixed):
    X, y = mixed.drop(columns="label"), mixed["label"]
    model = SPNClassifier(**QUICK).fit(X, y)
    assert model.joint_.sample(2).columns.tolist() == list(mixed.columns)
    proba = model.predict_proba(X[:5])
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    for row in range(5):
        given = X.iloc[row].to_dict()
        asked = [model.joint_.probability({"label": c}, given=given) for c in model.classes_]
        np.testing.assert_allclose(proba[row], asked, rtol=1e-4, atol=1e-9)
    assert model.score(X, y) > 0.95


def test_intervals_of_classes_are_those_of_the_joint(mixed):
    X, y = mixed.drop(columns="label"), mixed["label"]
    model = SPNClassifier(**QUICK | {"chains": 2}).fit(X, y)
    sure = model.predict_proba(X[:20], interval=0.9)
    for k, label in enumerate(model.classes_):
        asked = model.joint_.probability({"label": label}, given=X[:20], interval=0.9)
        for part in ("value", "low", "high", "error"):
            mine, theirs = getattr(sure, part)[:, k], getattr(asked, part)
            np.testing.assert_allclose(mine, theirs, rtol=1e-3, atol=1e-5)
    assert (sure.error >= 0).all()


def test_predictions_without_any_feature_are_how_common_classes_are(mixed):
    X, y = mixed.drop(columns="label"), mixed["label"]
    model = SPNClassifier(**QUICK).fit(X, y)
    empty = X.iloc[:1].mask(np.ones((1, X.shape[1]), dtype=bool))
    share = y.value_counts(normalize=True).sort_index()
    np.testing.assert_allclose(model.predict_proba(empty)[0], share, atol=0.05)


def test_expected_targets_are_expectations_of_the_joint(mixed):
    X, y = mixed.drop(columns=["label", "size"]), mixed["size"]
    known = y.notna()
    model = SPNRegressor(**QUICK).fit(X[known], y[known])
    mean, std = model.predict(X[:4], return_std=True)
    for row in range(4):
        asked = model.joint_.expectation("size", given=X.iloc[row].to_dict())
        assert mean[row] == pytest.approx(asked, rel=1e-5)
    assert (std > 0).all()
    assert (std < 2).all()
    assert model.score(X[known], y[known]) > 0.9


def test_missing_targets_are_refused(mixed):
    X = mixed.drop(columns=["label", "size"])
    with pytest.raises(ValueError, match="contains NaN"):
        SPNRegressor(**QUICK).fit(X, mixed["size"])


def test_iris_is_learned():
    X, y = load_iris(return_X_y=True)
    X = X.copy()
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    assert cross_val_score(SPNClassifier(**QUICK), X, y, cv=3).mean() > 0.9
    pipeline = make_pipeline(StandardScaler(), SPNImputer(**QUICK))
    assert not np.isnan(pipeline.fit_transform(X)).any()


def test_imputation_keeps_what_is_there_and_the_types(mixed):
    model = SPNImputer(**QUICK).fit(mixed)
    filled = model.transform(mixed)
    assert not filled.isna().any(axis=None)
    assert filled.dtypes.tolist() == mixed.dtypes.tolist()
    pd.testing.assert_index_equal(filled.index, mixed.index)
    for column in mixed:
        known = mixed[column].notna()
        pd.testing.assert_series_equal(filled[column][known], mixed[column][known])
    hole = mixed["city"].isna()
    truth = mixed["label"].map({"a": "Oslo", "b": "Rome", "c": "Wien"})
    assert (filled["city"].astype(str)[hole] == truth[hole]).mean() > 0.9
    assert isinstance(SPNImputer(**QUICK).fit_transform(pl.from_pandas(mixed)), pl.DataFrame)


def test_best_imputations_are_answers_of_the_joint(mixed):
    model = SPNImputer(**QUICK).fit(mixed)
    row = mixed.iloc[[0]].copy()
    row["size"], row["city"] = None, None
    filled = model.transform(row)
    given = row.iloc[0].to_dict()
    assert filled["size"].iloc[0] == pytest.approx(
        model.joint_.expectation("size", given=given), rel=1e-5
    )
    assert filled["city"].iloc[0] == model.joint_.mode("city", given=given)


def test_all_draws_count_the_same_for_the_rows_they_were_given(mixed):
    """For new rows, a draw counts as much as it explains the row."""
    table = mixed[["size", "city", "visits"]]
    model = SPNImputer(**QUICK | {"chains": 2, "draws": 3})
    filled = model.fit_transform(table)
    posterior = model.posterior_
    values = encode(table, model.schema_)
    hole = np.isnan(values[:, 0])
    # draws that were given the rows: parameters are drawn, and all count the same
    described = posterior.model.leaves.columns[0].plausible
    table_of_moments = posterior.drawn.moments(0, ValueSet.of([described]))
    scores = posterior.score_draws(values[hole], DRAWN_SEED)
    even = average_missing(
        posterior.drawn, values[hole], weigh_evenly(scores), {0: table_of_moments}
    )[0]
    known = even[:, 1] / even[:, 0]
    np.testing.assert_allclose(filled["size"][hole], known, atol=1e-7)
    alone = [Posterior(posterior.model, ((draw,),)) for chain in posterior.draws for draw in chain]
    moments = np.stack([average_cells(draw, values, [0])[0][hole] for draw in alone])
    weights = np.exp(posterior.score_draws(values[hole]))[:, :, None]
    weighed = (weights * moments).sum(axis=0) / weights.sum(axis=0)
    new = weighed[:, 1] / weighed[:, 0]
    np.testing.assert_allclose(model.transform(table)["size"][hole], new, atol=1e-7)
    assert not np.allclose(known, new, rtol=1e-3)


def test_multiple_imputations_differ_and_repeat(mixed):
    model = SPNImputer(**QUICK).fit(mixed)
    first, second = model.impute(mixed, m=2, random_state=0)
    again, _ = model.impute(mixed, m=2, random_state=0)
    pd.testing.assert_frame_equal(first, again)
    hole = mixed["size"].isna()
    assert (first["size"][hole] != second["size"][hole]).all()
    drawn = SPNImputer(strategy="draw", **QUICK).fit(mixed)
    pd.testing.assert_frame_equal(drawn.transform(mixed), drawn.transform(mixed))
    with pytest.raises(ValueError, match="'best' or 'draw'"):
        SPNImputer(strategy="mean").fit(mixed)


@pytest.mark.parametrize("kind", [SPNClassifier, SPNRegressor, SPNImputer])
def test_files_bring_every_estimator_back(kind, mixed, tmp_path):
    X, y = mixed.drop(columns="label"), mixed["label"]
    if kind is SPNRegressor:
        y = y.map({"a": 0.5, "b": 1.0, "c": 4.0}).to_numpy()
    model = kind(**QUICK).fit(X, y)
    model.save(tmp_path / "model.bspn")
    again = bayesspn.load(tmp_path / "model.bspn")
    assert type(again) is kind
    assert again.n_features_in_ == 4
    if kind is SPNImputer:
        pd.testing.assert_frame_equal(again.transform(X), model.transform(X))
    else:
        np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_few_rows_and_many_get_the_same_answers(mixed):
    model = SPNImputer(**QUICK).fit(mixed)
    many = model.transform(mixed)
    few = pd.concat([model.transform(mixed[start : start + 10]) for start in range(0, 150, 10)])
    for column in ("size", "city", "label"):
        if column == "size":
            np.testing.assert_allclose(few[column], many[column], rtol=1e-5)
        else:
            assert few[column].astype(str).tolist() == many[column].astype(str).tolist()


@pytest.mark.parametrize("library", [pa.table, pl.DataFrame, pd.DataFrame])
def test_a_target_never_takes_the_name_of_a_column(library):
    rng = np.random.default_rng(0)
    X = library({"target": rng.normal(size=20), "kind": rng.normal(size=20)})
    y = np.arange(20) % 2
    classifier = SPNClassifier(**QUICK).fit(X, pd.Series(y, name="kind"))
    assert classifier.schema_.names == ("target", "kind", "target_")
    regressor = SPNRegressor(**QUICK).fit(rng.normal(size=(20, 1)), pd.Series(y, name="x0"))
    assert regressor.schema_.names == ("x0", "target")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_regression_of_few_values_knows_them():
    """Of 0 and 1, of which it is sure, the mean is near the end, and intervals hold values."""
    x = np.random.default_rng(3).normal(size=300)
    X, y = pd.DataFrame({"a": x}), (x > 0).astype(int)
    model = SPNRegressor(chains=2, burn_in=60, draws=10, random_state=0).fit(X, y)
    far = pd.DataFrame({"a": [-2.0, 2.0]})
    np.testing.assert_allclose(model.predict(far), [0.0, 1.0], atol=0.1)
    np.testing.assert_array_equal(model.predict_interval(far, 0.8), [[0, 0], [1, 1]])


def test_times_as_targets_are_refused_in_words():
    X = pd.DataFrame({"a": np.arange(5.0)})
    with pytest.raises(ValueError, match="target 'when' holds times, not numbers"):
        SPNRegressor().fit(X, pd.Series(pd.date_range("2020", periods=5), name="when"))


def test_words_as_targets_of_a_regression_are_refused_in_words():
    X = pd.DataFrame({"a": np.arange(3.0)})
    with pytest.raises(ValueError, match=r"target 'kind' does not hold numbers .*SPNClassifier"):
        SPNRegressor().fit(X, pd.Series(["u", "v", "w"], name="kind"))
