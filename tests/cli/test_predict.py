"""``bayesspn predict``: answers for the rows of a table are those that Python gives."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest


def read(text: str) -> pd.DataFrame:
    return pd.read_csv(io.StringIO(text))


@pytest.fixture
def rows(table):
    return table.head(6).reset_index(drop=True)


def test_probabilities_are_those_of_the_rows(run, model, rows):
    rows.to_csv("rows.csv", index=False)
    found = read(run("predict", "@m.bspn", "rows.csv", "age > 30", "--interval", "0.9").stdout)
    assert found.columns.tolist() == ["probability", "low", "high"]
    expected = model.probability("age > 30", rows, interval=0.9)
    np.testing.assert_allclose(found["probability"], expected.value, rtol=1e-6)
    np.testing.assert_allclose(found["low"], expected.low, rtol=1e-6)
    # cells of the column that is asked about do not matter, nor whether it is there
    rows.drop(columns="age").to_csv("rows.csv", index=False)
    again = run("predict", "@m.bspn", "rows.csv", "age > 30", "-o", "out.csv", "--keep", "sex")
    assert "lacks" not in again.stderr
    kept = pd.read_csv("out.csv")
    assert kept.columns.tolist() == ["sex", "probability"]
    np.testing.assert_allclose(kept["probability"], expected.value, rtol=1e-6)


def test_what_is_asked_for_need_not_be_there(run, rows):
    rows.drop(columns=["age", "job"]).to_csv("rows.csv", index=False)
    for asked in (("age > 30",), ("--expectation", "age"), ("--quantile", "age")):
        result = run("predict", "@m.bspn", "rows.csv", *asked)
        assert "lacks 'job'; what it lacks" in result.stderr
    assert "lacks" not in run("predict", "@m.bspn", "rows.csv", "age > 30 | job = cook").stderr


def test_expectations_and_quantiles(run, document, model, rows):
    rows.to_csv("rows.csv", index=False)
    found = read(run("predict", "@m.bspn", "rows.csv", "--expectation", "income").stdout)
    np.testing.assert_allclose(found["expectation"], model.expectation("income", rows), rtol=1e-6)
    levels = ("--at", "0.1", "--at", "0.9")
    found = read(run("predict", "@m.bspn", "rows.csv", "--quantile", "income", *levels).stdout)
    assert found.columns.tolist() == ["quantile_0.1", "quantile_0.9"]
    expected = model.quantile("income", 0.9, rows)
    np.testing.assert_allclose(found["quantile_0.9"], expected, rtol=1e-6)
    reply = document("predict", "@m.bspn", "rows.csv", "--quantile", "age", "--interval", "0.5")
    assert len(reply["rows"]) == 6
    assert set(reply["rows"][0]) == {"quantile", "low", "high"}


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ((), "write an event"),
        (("age > 30", "--expectation", "age"), "write an event"),
        (("age > 30", "--at", "0.5"), "--at belongs to --quantile"),
    ],
)
def test_one_thing_is_asked_for(run, rows, asked, said):
    rows.to_csv("rows.csv", index=False)
    assert said in run("predict", "@m.bspn", "rows.csv", *asked, code=2).stderr


def test_bad_questions_are_one_sentence(run, rows):
    rows.to_csv("rows.csv", index=False)
    result = run("predict", "@m.bspn", "rows.csv", "size > 30", code=1)
    assert "size" in result.stderr
    assert result.stderr.count("\n") == 1
    result = run("predict", "@m.bspn", "rows.csv", "--expectation", "job", code=1)
    assert "job" in result.stderr
