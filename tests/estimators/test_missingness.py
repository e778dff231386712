"""Whether cells are missing is part of the model, if the schema says so."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from bayesspn import (
    BayesianSPN,
    InfiniteSPN,
    SPNClassifier,
    SPNImputer,
    SPNRegressor,
    load,
)
from bayesspn.duckdb import register
from bayesspn.explorer.session import Session
from bayesspn.questions.event_values import QuestionError
from bayesspn.report import build_report
from bayesspn.tables import ColumnSchema, Schema, TableError, decode, encode, infer_schema
from bayesspn.tables.encoding import encode_some
from bayesspn.tables.schema import SchemaError

QUICK = {"chains": 2, "burn_in": 60, "draws": 20, "random_state": 0}


def make_table(rows: int = 300, seed: int = 0) -> pd.DataFrame:
    """The rich keep their pay to themselves; what they own is known."""
    rng = np.random.default_rng(seed)
    rich = rng.random(rows) < 0.4
    pay = np.where(rich, 90.0, 30.0) + rng.normal(0, 5, rows).round(1)
    pay[rng.random(rows) < np.where(rich, 0.8, 0.05)] = np.nan
    house = np.where(rng.random(rows) < np.where(rich, 0.9, 0.2), "own", "rent")
    return pd.DataFrame({"pay": pay, "house": house, "age": rng.integers(20, 70, rows)})


@pytest.fixture(scope="module")
def schema():
    return infer_schema(make_table()).model_missing("pay")


@pytest.fixture(scope="module")
def model(schema):
    return BayesianSPN(schema=schema, **QUICK).fit(make_table())


def test_indicators_are_read_off_the_cells(schema):
    table = make_table()
    assert schema.names == ("pay", "house", "age", "pay is missing")
    assert schema.recorded == ("pay", "house", "age")
    values = encode(table, schema)
    np.testing.assert_array_equal(values[:, 3], table["pay"].isna())
    assert decode(values, schema, table).equals(table)
    # of what a table lacks, nothing is known
    assert np.isnan(encode_some(table[["age"]], schema)[:, 3]).all()
    assert encode_some(table[["pay"]], schema)[:, 3].tolist() == table["pay"].isna().tolist()


def test_unknown_values_are_not_missing_cells():
    schema = Schema((ColumnSchema("house", "category", categories=("own", "rent")),))
    schema = schema.model_missing("house")
    values = encode(pd.DataFrame({"house": ["tent", None]}), schema, "ignore")
    np.testing.assert_array_equal(values, [[np.nan, 0.0], [np.nan, 1.0]])


def test_missing_cells_can_be_asked_about(model):
    table = make_table()
    share = table["pay"].isna().mean()
    assert model.probability("pay is missing") == pytest.approx(share, abs=0.06)
    both = model.probability("pay is missing") + model.probability("pay is not missing")
    assert both == pytest.approx(1.0)
    owners = table[table["house"] == "own"]["pay"].isna().mean()
    assert model.probability("pay is missing | house = own") == pytest.approx(owners, abs=0.08)
    assert model.probability("house = own | pay is missing") > 0.75
    assert model.probability("house = own | pay is not missing") < 0.55
    assert model.probability("house = own", given={"pay is missing": True}) == pytest.approx(
        model.probability("house = own | pay is null")
    )


def test_cells_are_filled_in_as_cells_that_are_missing(model, schema):
    asked = pd.DataFrame({"pay": [np.nan], "house": ["own"], "age": [40]})
    imputer = SPNImputer(schema=schema, **QUICK).fit(make_table())
    filled = imputer.transform(asked)
    assert list(filled.columns) == ["pay", "house", "age"]
    told = model.expectation("pay", given="pay is missing and house = own, age = 40")
    assert filled["pay"][0] == pytest.approx(told, abs=0.1)
    assert np.asarray(model.expectation("pay", given=asked))[0] == pytest.approx(told, abs=0.1)
    # which differs from cells of which nothing is known
    unknown = model.expectation("pay", given={"house": "own", "age": 40})
    assert abs(told - unknown) > 0.2


def test_rows_are_scored_with_their_holes(model):
    rows = pd.DataFrame({"pay": [None, 30.0], "house": ["own", "own"], "age": [40, 40]})
    whole = model.score_samples(rows)
    without = model.log_prob(rows[["house", "age"]])
    missing = model.probability("pay is missing", given={"house": "own", "age": 40})
    assert whole[0] - without[0] == pytest.approx(np.log(missing), abs=0.02)
    assert np.isfinite(whole).all()


def test_new_rows_have_holes_like_the_table(model):
    rows = model.sample(2_000, random_state=0)
    table = make_table()
    assert list(rows.columns) == list(table.columns)
    assert rows["pay"].isna().mean() == pytest.approx(table["pay"].isna().mean(), abs=0.06)
    gap = rows.groupby("house")["pay"].apply(lambda pay: pay.isna().mean())
    assert gap["own"] > gap["rent"] + 0.2
    # what is given is there
    assert model.sample(50, given={"pay": 30.0}, random_state=0)["pay"].notna().all()
    assert model.replicates(40, 2, random_state=0)[0].shape == (40, 3)
    assert np.isfinite(model.score_samples(rows[:20])).all()


def test_a_marginal_says_what_it_lacks(model):
    part = model.marginal(["age", "pay"])
    with pytest.raises(QuestionError, match="name 'pay is missing' as well"):
        part.probability("pay is missing")
    with pytest.raises(QuestionError, match="model_missing"):
        part.probability("age is missing")
    both = model.marginal(["age", "pay", "pay is missing"])
    assert both.probability("pay is missing") == model.probability("pay is missing")


def test_without_it_nothing_is_said_of_holes():
    plain = BayesianSPN(**QUICK).fit(make_table(60))
    with pytest.raises(QuestionError, match="model_missing"):
        plain.probability("pay is missing")
    assert plain.sample(50, random_state=0)["pay"].notna().all()


def test_it_survives_files_and_further_rows(model, tmp_path, schema):
    model.save(tmp_path / "pay.bspn", rows=True)
    again = load(tmp_path / "pay.bspn")
    table = make_table(20, seed=3)
    np.testing.assert_array_equal(again.score_samples(table), model.score_samples(table))
    assert again.n_features_in_ == 3
    again.partial_fit(table)
    again.refit(table.drop(columns="age"))
    assert again.schema_.names == ("pay", "house", "pay is missing")
    assert again.refit(table.drop(columns="pay")).schema_.names == ("house", "age")
    schema.save(tmp_path / "schema.json")
    assert Schema.load(tmp_path / "schema.json") == schema


def test_other_estimators_and_arrays_have_it_too(schema):
    table = make_table(120)
    features = Schema(tuple(schema[name] for name in ("pay", "age", "pay is missing")))
    classifier = SPNClassifier(schema=features, **QUICK).fit(table[["pay", "age"]], table["house"])
    asked = pd.DataFrame({"pay": [np.nan, 30.0], "age": [40, 40]})
    proba = classifier.predict_proba(asked)
    assert proba[0, 0] > proba[1, 0]
    assert classifier.n_features_in_ == 2
    imputer = SPNImputer(schema=schema, **QUICK)
    filled = imputer.fit_transform(table)
    assert filled.shape == (120, 3)
    assert filled.notna().all().all()
    X = np.random.default_rng(0).normal(size=(60, 2))
    X[X[:, 0] > 0.5, 1] = np.nan
    infinite = InfiniteSPN(schema=infer_schema(X).model_missing("x1"), **QUICK).fit(X)
    assert infinite.sample(5, random_state=0).shape == (5, 2)
    assert infinite.probability("x1 is missing | x0 > 1") > 0.6


def test_schemas_that_make_no_sense_are_refused(schema):
    assert schema.model_missing("pay") == schema
    with pytest.raises(SchemaError, match="no column 'rent'"):
        schema.model_missing("rent")
    with pytest.raises(SchemaError, match="never missing"):
        schema.model_missing("pay is missing")
    with pytest.raises(SchemaError, match="binary"):
        ColumnSchema("gone", "real", indicates="pay")
    with pytest.raises(SchemaError, match="indicates is 'pay'"):
        Schema((*schema.columns, ColumnSchema("gone", "binary", indicates="pay")))
    taken = Schema((ColumnSchema("a", "real"), ColumnSchema("a is missing", "binary")))
    assert taken.model_missing("a").names[-1] == "a is missing_"


def test_tables_may_have_indicators_which_are_not_looked_at(model, schema):
    table = make_table(40, seed=3)
    told = table.assign(**{"pay is missing": ~table["pay"].isna()})
    np.testing.assert_array_equal(model.score_samples(told), model.score_samples(table))
    again = BayesianSPN(schema=schema, chains=1, burn_in=5, draws=5, random_state=0).fit(told)
    assert again.n_features_in_ == 3
    assert again.refit(told).schema_.names == ("pay", "house", "age", "pay is missing")
    again.partial_fit(told)
    assert again.feature_names_in_.tolist() == ["pay", "house", "age"]
    # of rows that lack the column, it is unknown whether it is missing
    lacking = told.drop(columns="pay")
    unknown = model.probability("house = own", given=lacking)
    np.testing.assert_array_equal(
        unknown, model.probability("house = own", given=table.drop(columns="pay"))
    )
    # without what it is about it is a column like others
    assert again.refit(lacking).schema_.names == ("house", "age", "pay is missing")
    assert again.schema_["pay is missing"].indicates is None


def test_indicators_go_along_with_what_they_are_about(schema):
    renamed = schema.replace("pay", name="wage")
    assert renamed["pay is missing"].indicates == "wage"
    table = make_table(20).rename(columns={"pay": "wage"})
    np.testing.assert_array_equal(encode(table, renamed)[:, 3], table["wage"].isna())
    part = Schema(tuple(schema[name] for name in ("age", "pay is missing")))
    for alone in (make_table(20)[["age"]], make_table(20)[["age"]].to_numpy()):
        with pytest.raises(TableError, match="'pay is missing' says whether 'pay' is missing"):
            encode(alone, part)
    np.testing.assert_array_equal(
        encode(make_table(20)[["age", "pay"]], part)[:, 1], make_table(20)["pay"].isna()
    )


def test_the_indicator_of_a_target_is_left_out(schema):
    table = make_table(60)
    settings = {"chains": 1, "burn_in": 5, "draws": 5, "random_state": 0}
    known = table[table["pay"].notna()]
    regressor = SPNRegressor(schema=schema, **settings).fit(known[["house", "age"]], known["pay"])
    assert regressor.schema_.names == ("house", "age", "pay")
    both = schema.model_missing("house")
    classifier = SPNClassifier(schema=both, **settings).fit(table[["pay", "age"]], table["house"])
    assert classifier.schema_.names == ("pay", "age", "pay is missing", "house")


def test_columns_may_be_named_twice_and_only_one_by_one(schema):
    plain = infer_schema(make_table(20))
    assert plain.model_missing("pay", "pay").names == ("pay", "house", "age", "pay is missing")
    with pytest.raises(SchemaError, match=r"one by one.*model_missing\('pay', 'age'\)"):
        plain.model_missing(["pay", "age"])
    numbers = Schema((ColumnSchema(1, "real"), ColumnSchema("1", "real")))
    assert numbers.model_missing(1, "1").names[2:] == ("1 is missing", "1 is missing_")


def test_reports_pages_and_sql_have_it_too(model):
    table = make_table(60)
    assert "pay is missing" in build_report(model, table)
    session = Session(model, "pay.bspn")
    assert session.describe()["columns"][3]["name"] == "pay is missing"
    session.use_table(table)
    hole = int(table["pay"].isna().to_numpy().argmax())
    assert session.look_at_row(hole)["cells"][3]["text"] == "True"
    assert len(session.sample([], 3, 0).columns) == 3
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect()
    connection.register("people", table)
    register(connection, model, "pay")
    scores = connection.execute("SELECT pay_logp(t) FROM people t").fetchnumpy()
    found = next(iter(scores.values()))
    np.testing.assert_allclose(np.asarray(found), model.score_samples(table), rtol=1e-6)
    filled = connection.execute("SELECT unnest(pay_fill(t)) FROM people t").df()
    assert filled.columns.tolist() == ["pay", "house", "age"]
    assert filled["pay"].notna().all()
    drawn = connection.execute("SELECT * FROM pay_sample(200)").df()
    assert drawn["pay"].isna().any()
