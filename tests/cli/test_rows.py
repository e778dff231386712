"""score, impute and sample: what they print is what the estimators say, in every format."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest

from bayesspn import SPNClassifier, SPNImputer
from bayesspn.cli import rows
from bayesspn.tables import read_table

TABLES = ["@t.csv", "@t.tsv", "@t.csv.gz", "@t.parquet"]


def csv(result):
    return pd.read_csv(io.StringIO(result.stdout))


@pytest.fixture(scope="session")
def scores(model, table):
    return model.score_samples(table)


@pytest.mark.parametrize("name", TABLES)
def test_scores_are_those_of_the_estimator(run, name, scores):
    result = run("score", "@m.bspn", name)
    assert result.stderr == ""
    assert list(csv(result).columns) == ["log_density"]
    np.testing.assert_allclose(csv(result)["log_density"], scores, rtol=1e-14)


@pytest.mark.parametrize("name", TABLES)
def test_tables_in_pieces_get_the_same_scores(run, monkeypatch, name, scores):
    monkeypatch.setattr(rows, "ROWS_TOGETHER", 7)
    for output in ("s.csv", "s.tsv.gz", "s.parquet"):
        result = run("score", "@m.bspn", name, "-o", output)
        assert result.stdout == ""
        assert result.stderr == f"80 rows written to {output}\n"
        np.testing.assert_allclose(read_table(output)["log_density"], scores, rtol=1e-14)


def test_the_mean_is_a_number(run, document, scores, monkeypatch):
    assert float(run("score", "@m.bspn", "@t.csv", "--mean").stdout) == pytest.approx(scores.mean())
    monkeypatch.setattr(rows, "ROWS_TOGETHER", 7)
    found = document("score", "@m.bspn", "@t.csv", "--mean")
    assert found == {"mean_log_density": pytest.approx(scores.mean()), "rows": 80}


def test_surprise_and_anomaly(run, document, model, table):
    surprise = csv(run("score", "@m.bspn", "@t.csv", "--surprise"))
    pd.testing.assert_frame_equal(surprise, model.surprise(table))
    cells = document("score", "@m.bspn", "@t.csv", "--surprise")["rows"]
    assert cells[3].keys() == set(table.columns)
    missing = [[row[name] is None for name in table.columns] for row in cells]
    np.testing.assert_array_equal(missing, table.isna())
    anomaly = csv(run("score", "@m.bspn", "@t.csv", "--anomaly"))["anomaly"]
    np.testing.assert_allclose(anomaly, model.anomaly_score(table))


def test_rows_that_cannot_be_are_null_in_json(run, document, monkeypatch):
    text = "sex,age,income,job,ill\nF,30,-5,nurse,true\n"
    monkeypatch.setattr(
        "bayesspn.questions.interface.log_conditional", lambda view, X: np.full(len(X), -np.inf)
    )
    assert csv(run("score", "@m.bspn", "-", input=text))["log_density"][0] == -np.inf
    found = document("score", "@m.bspn", "-", input=text)
    assert found == {"rows": [{"log_density": None}]}
    assert document("score", "@m.bspn", "-", "--mean", input=text)["mean_log_density"] is None


def test_streams_have_a_format_of_their_own(run, files, scores):
    text = (files / "t.tsv").read_text()
    result = run("score", "@m.bspn", "-", "--format", "tsv", input=text)
    np.testing.assert_allclose(csv(result)["log_density"], scores, rtol=1e-14)
    packed = (files / "t.parquet").read_bytes()
    result = run("score", "@m.bspn", "-", "--format", "parquet", input=packed)
    found = pd.read_parquet(io.BytesIO(result.stdout_bytes))
    np.testing.assert_array_equal(found["log_density"], scores)


def test_unknown_columns_can_be_kept_or_dropped(run, table, scores):
    more = table.assign(name=[f"p{k}" for k in range(80)], note="x").to_csv(index=False)
    result = run("score", "@m.bspn", "-", input=more)
    assert "note: the model has no 'name', 'note'; standard input is read without" in result.stderr
    np.testing.assert_allclose(csv(result)["log_density"], scores)
    found = csv(run("score", "@m.bspn", "-", "--keep", "name,age", "--drop", "note", input=more))
    assert list(found.columns) == ["name", "age", "log_density"]
    np.testing.assert_allclose(found["log_density"], scores)
    assert found["name"][7] == "p7"
    result = run(
        "impute", "@m.bspn", "-", "--keep", "age", "--drop", "name,note", input=more, code=1
    )
    assert "the output has a column 'age' of its own" in result.stderr


def test_absent_columns_count_as_missing(run, model, table):
    result = run("score", "@m.bspn", "-", input=table.drop(columns="ill").to_csv(index=False))
    assert result.stderr == "note: standard input lacks 'ill'; what it lacks counts as missing\n"
    expected = model.score_samples(table.assign(ill=np.nan))
    np.testing.assert_allclose(csv(result)["log_density"], expected)


def test_a_table_without_rows_gives_none(run, document):
    header = "sex,age,income,job,ill\n"
    assert run("score", "@m.bspn", "-", input=header).stdout == "log_density\n"
    assert document("score", "@m.bspn", "-", input=header) == {"rows": []}
    assert document("impute", "@m.bspn", "-", input=header) == {"rows": []}
    result = run("score", "@m.bspn", "-", "--mean", input=header, code=1)
    assert result.stderr == "error: standard input: has no rows, so there is no mean\n"


@pytest.fixture(scope="session")
def imputer(model):
    imputer = SPNImputer()
    for name in ("schema_", "posterior_", "n_features_in_", "feature_names_in_", "_library"):
        setattr(imputer, name, getattr(model, name))
    return imputer


@pytest.mark.parametrize("name", TABLES)
def test_imputed_tables_are_those_of_the_imputer(run, monkeypatch, name, imputer, table):
    monkeypatch.setattr(rows, "ROWS_TOGETHER", 30)
    run("impute", "@m.bspn", name, "-o", "filled.parquet")
    best = imputer.transform(table)
    found = read_table("filled.parquet").astype(best.dtypes)
    pd.testing.assert_frame_equal(found, best)
    assert not found.isna().any(axis=None)


def test_several_imputed_tables_are_numbered(run, document, imputer, table):
    run("impute", "@m.bspn", "@t.csv", "--draws", 3, "--seed", 5, "-o", "three.parquet")
    found = read_table("three.parquet")
    assert found["imputation"].tolist() == np.repeat([1, 2, 3], 80).tolist()
    for number, filled in enumerate(imputer.impute(table, 3, random_state=5)):
        part = found[found["imputation"] == number + 1].drop(columns="imputation")
        pd.testing.assert_frame_equal(part.reset_index(drop=True).astype(filled.dtypes), filled)
    once = document("impute", "@m.bspn", "@t.csv", "--draws", 1)["rows"]
    assert once[0].keys() == set(table.columns)


def test_models_with_a_target_predict_it(run, tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"size": rng.normal(size=60)})
    y = pd.Series(np.where(X["size"] > 0, "big", "small"), name="kind")
    model = SPNClassifier(chains=1, burn_in=20, draws=5, thin=1, gamma=0.5, random_state=0)
    model.fit(X, y).save(tmp_path / "c.bspn")
    result = run("impute", "c.bspn", "-", input="size\n2\n-2\n")
    assert result.stdout.split() == ["size,kind", "2.0,big", "-2.0,small"]
    assert "lacks 'kind'" in result.stderr


@pytest.mark.parametrize("output", ["s.csv", "s.tsv", "s.csv.gz", "s.parquet"])
def test_samples_are_those_of_the_estimator(run, output, model):
    run("sample", "@m.bspn", "-n", 9, "--seed", 3, "--given", "age > 30, sex = F", "-o", output)
    expected = model.sample(9, "age > 30, sex = F", random_state=3)
    pd.testing.assert_frame_equal(read_table(output).astype(expected.dtypes), expected)


def test_samples_as_json(document, model):
    found = document("sample", "@m.bspn", "-n", 4, "--seed", 3)["rows"]
    assert found == model.sample(4, random_state=3).to_dict("records")
    assert len(document("sample", "@m.bspn")["rows"]) == 100
    report = document("sample", "@m.bspn", "-o", "s.csv")
    assert report == {"output": "s.csv", "rows": 100}
