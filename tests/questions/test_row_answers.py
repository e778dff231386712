"""Questions for every row of a table: each row's answer is the one it would get alone."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from bayesspn import BayesianSPN, SPNClassifier, SPNRegressor
from bayesspn.questions.events import QuestionError
from bayesspn.questions.row_answers import spread_rows
from bayesspn.tables import infer_schema

EVENTS = [
    "size > 2",
    "city = Rome",
    "member",
    "visits in [1, 2, 5]",
    "price < 3, member, wait > 1",
]


@pytest.fixture
def rows(model):
    """Rows with holes; one has nothing but holes."""
    table = model.sample(7, random_state=3)
    rng = np.random.default_rng(0)
    table = table.mask(rng.random(table.shape) < 0.3)
    return pd.concat([table, table.iloc[:1].mask(table.iloc[:1].notna())], ignore_index=True)


def alone(rows, place, without):
    """A row's cells as a condition."""
    cells = rows.iloc[place].drop(without, errors="ignore").dropna()
    return {
        name: value.item() if hasattr(value, "item") else value for name, value in cells.items()
    }


@pytest.mark.parametrize("event", EVENTS)
def test_probabilities_of_rows_are_those_of_single_questions(model, rows, event):
    found = model.probability(event, given=rows, interval=0.8)
    asked = [name for name in rows.columns if name in event]
    for place in range(len(rows)):
        single = model.probability(event, given=alone(rows, place, asked), interval=0.8)
        here = [part[place] for part in found[:3]]
        np.testing.assert_allclose(here, single[:3], rtol=1e-4, atol=1e-7)
    np.testing.assert_array_equal(model.probability(event, given=rows), found.value)


@pytest.mark.parametrize("column", ["size", "price", "wait", "visits", "member"])
def test_expectations_of_rows_are_those_of_single_questions(model, rows, column):
    found = model.expectation(column, given=rows, interval=0.8)
    for place in range(len(rows)):
        single = model.expectation(column, given=alone(rows, place, [column]), interval=0.8)
        here = [part[place] for part in found[:3]]
        np.testing.assert_allclose(here, single[:3], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("column", ["size", "price", "wait", "visits"])
def test_quantiles_of_rows_are_those_of_single_questions(model, rows, column):
    levels = [0.1, 0.5, 0.9]
    found = model.quantile(column, levels, given=rows, interval=0.8)
    spread = 1.0 if column == "visits" else 0.01 * np.subtract(*model.quantile(column, [0.9, 0.1]))
    for place in range(len(rows)):
        single = model.quantile(column, levels, given=alone(rows, place, [column]), interval=0.8)
        for part, expected in zip(found[:3], single[:3], strict=True):
            # cells are coarse where no row ever was
            far = np.asarray(model.quantile(column, 0.95))
            near = np.minimum(part[place], far), np.minimum(expected, far)
            np.testing.assert_allclose(*near, rtol=0.02, atol=spread)
    middle = model.quantile(column, given=rows)
    np.testing.assert_allclose(middle, found.value[:, 1])


def test_a_row_may_lack_columns_and_come_from_any_library(model, rows):
    polars = pytest.importorskip("polars")
    some = rows[["size", "visits"]]
    expected = model.probability("city = Rome", given=some)
    other = polars.DataFrame({name: some[name].tolist() for name in some})
    other = other.with_columns(polars.all().cast(polars.Float64).fill_nan(None))
    np.testing.assert_allclose(model.probability("city = Rome", given=other), expected)
    listed = [alone(some, place, []) for place in range(4)]
    np.testing.assert_allclose(model.probability("city = Rome", given=listed), expected[:4])


def test_what_else_is_given_holds_for_all_rows(model, rows):
    part = rows[["city"]]
    cases = {"size > 2": {"size": (2, None)}, "member": {"member": True}}
    for text, mapping in cases.items():
        found = model.probability(f"visits > 2 | {text}", given=part)
        assert_close = model.condition(mapping).probability("visits > 2", given=part)
        np.testing.assert_allclose(found, assert_close)
        for place in range(3):
            single = model.probability(f"visits > 2 | {text}", given=alone(part, place, []))
            assert found[place] == pytest.approx(single, rel=1e-4)
        quantile = model.condition(mapping).quantile("price", given=part)
        single = model.condition(mapping).quantile("price", given=alone(part, 0, []))
        assert quantile[0] == pytest.approx(single, rel=0.02)
        mean = model.condition(mapping).expectation("size", given=part)
        single = model.condition(mapping).expectation("size", given=alone(part, 0, []))
        assert mean[0] == pytest.approx(single, rel=1e-3)


def test_rows_that_contradict_what_is_given_have_no_answer(model):
    rows = pd.DataFrame({"size": [1.0, 3.0]})
    known = model.condition("size > 2")
    for found in (
        known.probability("member", given=rows, interval=0.9),
        known.expectation("visits", given=rows, interval=0.9),
        known.quantile("price", given=rows, interval=0.9),
    ):
        for part in found[:3]:
            assert np.isnan(part[0])
            assert np.isfinite(part[1])
    assert model.condition({"member": True}).probability("member", given=rows).tolist() == [1, 1]
    exact = model.condition({"size": 2.5}).expectation("size", given=rows[1:].assign(size=np.nan))
    assert exact.tolist() == [2.5]


def test_several_columns_give_a_frame(model, rows):
    frame = model.expectation(["size", "visits"], given=rows.set_index(rows.index + 10))
    assert frame.index[0] == 10
    np.testing.assert_allclose(frame["size"], model.expectation("size", given=rows))
    answer = model.expectation(given=rows, interval=0.9)
    assert list(answer.low.columns) == ["size", "price", "wait", "visits", "member"]
    assert (answer.low <= answer.high).all(axis=None)


def test_no_rows_have_no_answers(model, rows):
    none = rows[:0]
    assert model.probability("member", given=none).shape == (0,)
    assert model.expectation("size", given=none, interval=0.9).low.shape == (0,)
    assert model.quantile("size", [0.1, 0.9], given=none).shape == (0, 2)


def test_questions_that_make_no_sense_for_rows_are_refused(model, rows):
    with pytest.raises(QuestionError, match="have no mean"):
        model.expectation("city", given=rows)
    with pytest.raises(QuestionError, match="has no order"):
        model.quantile("city", given=rows)
    with pytest.raises(QuestionError, match="interval must lie"):
        model.probability("member", given=rows, interval=90)
    with pytest.raises(ValueError, match="huge"):
        model.probability("member", given=pd.DataFrame({"size": ["huge"]}))
    with pytest.raises(QuestionError, match="text or a dictionary"):
        model.probability("member", given=3)


def test_intervals_of_rows_leave_out_impossible_draws_row_by_row():
    values = np.random.default_rng(0).random((200, 3))
    values[:50, 1] = np.nan
    values[:, 2] = np.nan
    low, high = spread_rows(values, 0.9)
    assert np.isnan(low).tolist() == [False, False, True]
    assert low[1] == pytest.approx(0.05, abs=0.04)
    assert high[0] == pytest.approx(0.95, abs=0.04)


@pytest.fixture(scope="module")
def supervised():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 2))
    y = 3 * X[:, 0] + rng.normal(size=300)
    options = {"chains": 2, "burn_in": 40, "draws": 20, "random_state": 0}
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, y, options


@pytest.mark.filterwarnings("ignore:the chains do not agree")
def test_classes_have_intervals(supervised):
    X, y, options = supervised
    labels = np.where(y > 0, "high", "low")
    model = SPNClassifier(**options).fit(X, labels)
    answer = model.predict_proba(X[:20], interval=0.9)
    np.testing.assert_array_equal(answer.value, model.predict_proba(X[:20]))
    assert (answer.low <= answer.high).all()
    assert ((answer.low <= answer.value) & (answer.value <= answer.high)).mean() > 0.9
    np.testing.assert_allclose(answer.low[:, 0], 1 - answer.high[:, 1], rtol=1e-7, atol=1e-12)
    joint = model.joint_
    target = joint.probability("target = high", given=pd.DataFrame(X[:20], columns=["x0", "x1"]))
    np.testing.assert_allclose(target, answer.value[:, 0], atol=1e-5)
    with pytest.raises(QuestionError, match="interval must lie"):
        model.predict_proba(X, interval=2)


@pytest.mark.filterwarnings("ignore:the chains do not agree")
def test_targets_have_quantiles_and_intervals_that_cover_them(supervised):
    X, y, options = supervised
    model = SPNRegressor(**options).fit(X[:200], y[:200])
    ends = model.predict_interval(X[200:], 0.8)
    inside = (ends[:, 0] <= y[200:]) & (y[200:] <= ends[:, 1])
    # 100 held-out rows: three standard errors of 0.04
    assert abs(inside.mean() - 0.8) < 0.12
    quantiles = model.predict(X[200:], quantiles=[0.1, 0.5, 0.9])
    np.testing.assert_allclose(quantiles[:, [0, 2]], ends)
    np.testing.assert_array_equal(model.predict(X[200:], quantiles=0.5), quantiles[:, 1])
    assert (np.diff(quantiles) > 0).all()
    for wrong in (0, 1.5, "most", True):
        with pytest.raises(ValueError, match="coverage"):
            model.predict_interval(X, wrong)
    with pytest.raises(ValueError, match="quantiles must lie"):
        model.predict(X, quantiles=[0.5, 2])
    with pytest.raises(ValueError, match="not for both"):
        model.predict(X, return_std=True, quantiles=0.5)


@pytest.fixture(scope="module")
def zeros():
    """Amounts, many of which are 0, and days."""
    rng = np.random.default_rng(4)
    amount = np.where(rng.random(160) < 0.4, 0.0, rng.gamma(2.0, 1.0, 160))
    day = pd.Timestamp("2024-02-01") + pd.to_timedelta(rng.integers(0, 30, 160), "D")
    return pd.DataFrame({"amount": amount, "day": day, "g": rng.random(160) < 0.5})


def test_quantiles_of_rows_are_recorded_values(zeros):
    model = BayesianSPN(chains=1, burn_in=30, draws=10, random_state=0).fit(zeros)
    rows = zeros[["g"]][:6]
    levels = [0.05, 0.3, 0.9]
    found = model.quantile("amount", levels, given=rows)
    assert (found[:, 0] == 0).all()
    assert (found >= 0).all()
    assert model.quantile("amount", 0.05, given={"g": bool(rows["g"][0])}) == found[0, 0]
    days = pd.DatetimeIndex(model.quantile("day", given=rows))
    assert (days == days.normalize()).all()
    answer = model.quantile("day", given=rows, interval=0.8)
    assert all((pd.DatetimeIndex(p) == pd.DatetimeIndex(p).normalize()).all() for p in answer[:3])
    regressor = SPNRegressor(chains=1, burn_in=30, draws=10, random_state=0)
    ends = regressor.fit(zeros[["g"]], zeros["amount"]).predict_interval(rows)
    assert (ends >= 0).all()


def test_own_cells_that_contradict_what_is_given_are_ignored(zeros):
    model = BayesianSPN(chains=1, burn_in=30, draws=10, random_state=0).fit(zeros)
    some = model.condition("amount > 0.5")
    rows = zeros[:8]
    assert (rows["amount"] < 0.5).any()
    without = rows.drop(columns="amount")
    for ask in (
        lambda given: some.probability("amount > 1", given=given),
        lambda given: some.expectation("amount", given=given),
        lambda given: some.quantile("amount", given=given),
    ):
        np.testing.assert_allclose(ask(rows), ask(without))
        assert np.isfinite(ask(rows)).all()
    # cells of other columns that contradict it make a row impossible
    other = some.probability("g", given=rows)
    np.testing.assert_array_equal(np.isnan(other), rows["amount"] <= 0.5)


def test_own_cells_are_ignored_in_what_they_say_of_being_missing():
    rng = np.random.default_rng(6)
    rich = rng.random(200) < 0.4
    pay = np.where(rich, 90.0, 30.0) + rng.normal(0, 5, 200).round(1)
    pay[rng.random(200) < np.where(rich, 0.7, 0.1)] = np.nan
    table = pd.DataFrame({"pay": pay, "own": rich})
    schema = infer_schema(table).model_missing("pay")
    model = BayesianSPN(schema=schema, chains=1, burn_in=30, draws=10, random_state=0).fit(table)
    rows = table[table["pay"].notna()][:6]
    without = rows[["own"]]
    for ask in (
        lambda given: model.probability("pay is missing", given=given),
        lambda given: model.probability("pay > 50", given=given),
        lambda given: model.expectation("pay", given=given),
        lambda given: model.quantile("pay", given=given),
    ):
        np.testing.assert_allclose(ask(rows), ask(without))
    # a cell that is missing is known to be, whatever it would hold
    holes = rows.assign(pay=np.nan)
    assert not np.allclose(model.expectation("pay", given=holes), model.expectation("pay", without))
