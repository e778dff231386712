"""Supervised tables: preparation, holes, lines that are not run twice, and what is printed."""

import numpy as np
import pandas as pd
import pytest
import supervised
from problems import Problem
from sklearn.dummy import DummyClassifier, DummyRegressor
from supervised import METHODS, judge, read, run, run_missing, tabulate
from supervised_tables import MOST_ROWS, Split, as_frame, make_holes, sources, split

from bayesspn.tables import ColumnSchema, Schema


def make_table(rows=90):
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "size": rng.normal(size=rows),
            "colour": pd.Categorical(rng.choice(["red", "green", "blue"], rows)),
            "count": rng.integers(0, 9, rows),
            "sort": rng.integers(0, 2, rows),
        }
    )


@pytest.fixture
def dummies(monkeypatch):
    """Methods that learn nothing, in place of the real ones; the fits that they were asked for."""
    asked = []

    def make(kind, seed, seconds):
        asked.append((kind, seed, seconds))
        return DummyClassifier() if kind == "class" else DummyRegressor()

    monkeypatch.setattr(supervised, "METHODS", dict.fromkeys(METHODS, make))
    return asked


@pytest.mark.parametrize("name", sources(None))
def test_bundled_tables_are_split_within_limits(name):
    found = sources(None)[name](0)
    assert list(found.training) == list(found.test)
    assert len(found.training) == len(found.training_target) <= MOST_ROWS
    assert len(found.test) == len(found.test_target) <= MOST_ROWS
    assert found.training_target.name not in found.training
    assert (found.training.dtypes == np.float64).all()
    again = sources(None)[name](0)
    pd.testing.assert_frame_equal(found.training, again.training)
    other = sources(None)[name](1)
    assert not np.array_equal(found.test_target, other.test_target)


def test_other_targets_are_no_features():
    assert list(sources(None)["linnerud"](0).training) == ["Chins", "Situps", "Jumps"]


def test_training_and_test_rows_are_different():
    table = make_table().assign(number=np.arange(90.0))
    found = split(table, "number", "number", seed=0, most=20)
    assert len(found.training) == 20
    assert len(found.test) == 30
    assert not set(found.training_target) & set(found.test_target)


def test_codes_are_categories_but_for_the_target():
    columns = ("real", "category", "category")
    schema = Schema(
        tuple(
            ColumnSchema(name, kind, categories=(0, 1, 2) if kind == "category" else ())
            for name, kind in zip("abc", columns, strict=True)
        )
    )
    rows = np.array([[0.5, 1, 2], [1.5, np.nan, 0], [2.5, 0, np.nan]])
    problem = Problem("made up", rows[:1], rows[1:2], rows[2:], schema, (0, 3, 3), (1.0, 0, 0))
    frame = as_frame(problem, "c")
    assert frame["a"].tolist() == [0.5, 1.5]
    assert frame["b"].tolist()[0] == "1"
    assert pd.isna(frame["b"].tolist()[1])
    assert frame["c"].tolist() == [2, 0]  # rows without a target are no use


def test_holes_are_in_features_only():
    whole = split(make_table(3_000), "sort", "class", seed=0)
    holes = make_holes(whole, 0.3, seed=0)
    for before, after in ((whole.training, holes.training), (whole.test, holes.test)):
        # 3,000 cells: 5 standard errors
        assert abs(after.isna().to_numpy().mean() - 0.3) < 0.042
        assert (after.dtypes == before.dtypes).all()
        assert (after.isna() | (after == before)).to_numpy().all()
    assert holes.training_target.notna().all()
    assert whole.training.notna().to_numpy().all()


@pytest.mark.parametrize("method", ["linear", "forest", "boosting"])
@pytest.mark.parametrize("target", ["sort", "count"])
def test_rivals_take_holes_and_categories(method, target):
    table = make_table(60)
    kind = "class" if target == "sort" else "number"
    found = run(make_holes(split(table, target, kind, 0), 0.3, 0), method, 0, 1.0)
    assert set(supervised.MEASURES[kind]) < set(found)


def test_classes_never_seen_do_not_count():
    features, two = pd.DataFrame({"a": [1.0, 2.0]}), pd.Series(["x", "y"])
    test = pd.DataFrame({"a": [1.0, 2.0, 3.0]})
    model = DummyClassifier(strategy="prior").fit(features, two)
    found = judge(model, Split("class", features, two, test, pd.Series(["x", "y", "z"])))
    assert found == {"log_loss": pytest.approx(np.log(2)), "accuracy": 0.5}


def test_impossible_classes_cost_what_the_least_probability_does():
    features, two = pd.DataFrame({"a": [1.0, 2.0, 3.0]}), pd.Series(["x", "x", "y"])
    model = DummyClassifier(strategy="most_frequent").fit(features, two)
    found = judge(model, Split("class", features, two, features[:1], pd.Series(["y"])))
    assert found["log_loss"] == pytest.approx(-np.log(1e-6), rel=1e-5)


def test_failures_are_lines(dummies):
    whole = split(make_table(), "sort", "class", seed=0)
    spoiled = Split("number", whole.training, whole.training_target, whole.test, whole.test_target)
    assert set(run(spoiled, "ours", 0, 1.0)) == {"error"}


def test_a_resumed_run_skips_what_is_there(dummies, tmp_path):
    path = tmp_path / "lines.jsonl"
    run_missing(path, ["iris"], None, 1, 5.0)
    assert len(read(path)) == len(dummies) == 2 * len(METHODS)
    run_missing(path, ["iris"], None, 1, 5.0)
    assert len(dummies) == 2 * len(METHODS)
    run_missing(path, ["iris"], None, 1, 7.0)  # another limit is ours alone
    assert [line["limit"] for line in read(path)[2 * len(METHODS) :]] == [7.0, 7.0]
    assert "### log_loss (accuracy), 7 s" in tabulate(read(path))


def make_line(method, data="iris", kind="number", limit=None, seed=0, **found):
    case = {"data": data, "missing": 0.0, "method": method, "seed": seed, "limit": limit}
    return case | {"kind": kind, "rows": 10} | found


def test_table_of_lines():
    lines = [
        make_line("ours", limit=5.0, seed=0, rmse=1.0, r2=0.5),
        make_line("ours", limit=5.0, seed=1, rmse=2.0, r2=0.7),
        make_line("linear", seed=0, rmse=2.0, r2=0.2),
        make_line("linear", seed=1, rmse=4.0, r2=0.2),
        make_line("linear", seed=2, rmse=99.0, r2=0.2),  # a split that ours has not seen
        make_line("forest", seed=0, error="ValueError: no"),
        make_line("ours", data="wine", limit=5.0, rmse=1.03, r2=0.5),
        make_line("linear", data="wine", rmse=1.0, r2=0.5),
    ]
    assert tabulate(lines).splitlines() == [
        "### rmse (r2), 5 s",
        "",
        "| table | missing | seeds | ours | linear | forest | boosting | ours / linear |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
        "| iris | 0% | 2 | **1.500** (0.60) | 3.000 (0.20) | failed | – | 0.50 |",
        "| wine | 0% | 1 | 1.030 (0.50) | **1.000** (0.50) | – | – | 1.03 |",
        "",
        "1 of 2 are not behind linear by more than 2%.",
    ]
