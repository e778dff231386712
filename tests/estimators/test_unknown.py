"""Categories that were not learned from: taken as missing, named once, or refused."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import cross_val_score

from bayesspn import (
    BayesianSPN,
    InfiniteSPN,
    SPNClassifier,
    SPNImputer,
    SPNRegressor,
    load,
)
from bayesspn.questions.events import QuestionError
from bayesspn.tables import TableError

SMALL = {"chains": 1, "burn_in": 5, "draws": 4, "thin": 1, "random_state": 0}
UNKNOWN = "unknown values are taken as missing .*'city'.*'Bern', 'Genf'"

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture
def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    city = rng.choice(["Oslo", "Rome"], 60)
    return pd.DataFrame({"city": city, "size": (city == "Rome") * 3 + rng.normal(size=60)})


@pytest.fixture
def new() -> pd.DataFrame:
    return pd.DataFrame({"city": ["Bern", "Rome", "Genf"], "size": [0.5, 3.0, None]})


def test_rows_with_unknown_categories_score_as_if_these_were_missing(table, new):
    model = BayesianSPN(**SMALL).fit(table)
    missing = new.assign(city=[None, "Rome", None])
    asked = (model.score_samples, model.log_prob, model.anomaly_score)
    for ask in asked:
        with pytest.warns(UserWarning, match=UNKNOWN) as told:
            found = ask(new)
        assert len(told) == 1
        assert "test_unknown.py" in told[0].filename
        np.testing.assert_array_equal(found, ask(missing))
    with pytest.warns(UserWarning, match=UNKNOWN):
        assert model.surprise(new)["city"].isna().tolist() == [True, False, True]


def test_cross_validation_passes_categories_that_occur_once(table):
    table.loc[3, "city"] = "Bern"
    with pytest.warns(UserWarning, match="'Bern'"):
        scores = cross_val_score(BayesianSPN(**SMALL), table, cv=3, error_score="raise")
    assert np.isfinite(scores).all()
    with pytest.warns(UserWarning, match="'Bern'"):
        cross_val_score(
            SPNRegressor(**SMALL), table[["city"]], table["size"], cv=3, error_score="raise"
        )


def test_predicting_and_filling_in_pass_them(table, new):
    regressor = SPNRegressor(**SMALL).fit(table[["city"]], table["size"])
    with pytest.warns(UserWarning, match=UNKNOWN):
        predicted = regressor.predict(new[["city"]])
    nothing = regressor.predict(pd.DataFrame({"city": [None]}))[0]
    assert predicted[[0, 2]] == pytest.approx([nothing, nothing])
    classifier = SPNClassifier(**SMALL).fit(table[["city"]], table["size"] > 1)
    with pytest.warns(UserWarning, match=UNKNOWN):
        assert np.isfinite(classifier.predict_proba(new[["city"]])).all()
    imputer = SPNImputer(**SMALL).fit(table)
    with pytest.warns(UserWarning, match=UNKNOWN):
        assert set(imputer.transform(new)["city"]) <= {"Oslo", "Rome"}


@pytest.mark.parametrize("estimator", [BayesianSPN, InfiniteSPN, SPNImputer])
def test_they_can_be_refused_or_passed_over_in_silence(table, new, estimator, tmp_path):
    model = estimator(handle_unknown="error", **SMALL).fit(table)
    with pytest.raises(TableError, match="'Bern' is not among its categories"):
        model.joint_.log_prob(new)
    model.set_params(handle_unknown="ignore").save(tmp_path / "model.bspn")
    again = load(tmp_path / "model.bspn")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isfinite(again.joint_.log_prob(new)).all()
    with pytest.raises(ValueError, match="handle_unknown must be 'warn', 'ignore' or 'error'"):
        estimator(handle_unknown="skip").fit(table)


def test_questions_and_learning_refuse_them(table, new):
    model = BayesianSPN(**SMALL).fit(table)
    with pytest.raises(QuestionError, match="'Bern' is not among its categories"):
        model.probability("city = Bern")
    with pytest.raises(TableError, match="not among its categories"):
        model.partial_fit(new)
    with pytest.raises(TableError, match="not among its categories"):
        BayesianSPN(schema=model.schema_, **SMALL).fit(new)


def test_numbers_of_another_kind_pass():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"n": rng.integers(10, 99, 60), "visits": rng.poisson(3, 60) * 7})
    model = BayesianSPN(**SMALL).fit(table)
    assert model.schema_["n"].kind == "integer"
    assert np.isfinite(model.score_samples(pd.DataFrame({"n": [40.5], "visits": [7]}))).all()
    flags = pd.DataFrame({"flag": [True, False] * 20})
    model = BayesianSPN(**SMALL).fit(flags)
    with pytest.warns(UserWarning, match=r"unknown values .*'flag': 2\.0"):
        assert model.score_samples(pd.DataFrame({"flag": [2, 1]}))[0] == pytest.approx(
            0.0, abs=1e-6
        )
