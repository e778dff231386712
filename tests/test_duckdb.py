"""Models in SQL, in a real DuckDB: the same answers as in Python, row by row."""

from __future__ import annotations

import time

import numpy as np
import pandas as pd
import pytest

import bayesspn.duckdb
from bayesspn import SPNRegressor

duckdb = pytest.importorskip("duckdb")


@pytest.fixture
def connection(people_model, people_table):
    connection = duckdb.connect()
    connection.register("frame", people_table)
    connection.execute("CREATE TABLE people AS SELECT * FROM frame")
    bayesspn.duckdb.register(connection, people_model, "m")
    yield connection
    connection.close()


def ask(connection, text):
    """The columns of an answer, rows in the order of the table."""
    return connection.execute(text).fetchdf()


def test_log_densities_are_those_of_the_model(connection, people_model, people_table):
    found = ask(connection, "SELECT m_logp(p) AS logp FROM people p ORDER BY rowid")["logp"]
    np.testing.assert_allclose(found, people_model.score_samples(people_table), rtol=1e-6)


def test_null_is_summed_out(connection, people_model):
    names = people_model.schema_.names
    nulls = ", ".join(f"'{name}': NULL" for name in names)
    [[nothing]] = connection.execute(f"SELECT m_logp({{{nulls}}})").fetchall()
    assert nothing == pytest.approx(0.0, abs=1e-5)


def test_probabilities_are_given_the_other_cells_of_the_row(connection, people_model, people_table):
    category = next(c for c in people_model.schema_ if c.kind == "category")
    number = next(c for c in people_model.schema_ if c.kind in ("integer", "count", "real"))
    middle = people_model.quantile(number.name)
    events = [f"{category.name} = '{category.categories[0]}'", f"{number.name} > {middle}"]
    for event in events:
        quoted = event.replace("'", "''")
        text = f"SELECT m_probability(p, '{quoted}') AS share FROM people p ORDER BY rowid"
        found = ask(connection, text)["share"]
        expected = people_model.probability(event, given=people_table)
        np.testing.assert_allclose(found, expected, rtol=1e-5)
    # an event of its own for every row
    connection.execute("CREATE TABLE asked AS SELECT *, rowid % 2 = 0 AS first FROM people")
    one, two = (event.replace("'", "''") for event in events)
    text = (
        f"SELECT m_probability(p, CASE WHEN first THEN '{one}' ELSE '{two}' END) AS share "
        "FROM asked p ORDER BY rowid"
    )
    mixed = ask(connection, text)["share"]
    np.testing.assert_allclose(mixed[1::2], expected[1::2], rtol=1e-4)
    assert ask(connection, "SELECT m_probability(p, NULL) AS x FROM people p")["x"].isna().all()


def test_cells_are_filled_and_those_observed_stay(connection, people_table):
    filled = ask(connection, "SELECT unnest(m_fill(p)) FROM (SELECT * FROM people) p")
    assert not filled.isna().any(axis=None)
    for name in people_table:
        known = people_table[name].notna().to_numpy()
        assert (filled[name][known].astype(object) == people_table[name][known]).all()


def test_surprises_are_those_of_the_model(connection, people_model, people_table):
    expected = people_model.surprise(people_table)
    found = ask(connection, "SELECT unnest(m_surprise(p)) FROM people p ORDER BY rowid")
    pd.testing.assert_frame_equal(found, expected, check_exact=False, rtol=1e-4, atol=1e-6)
    score = ask(connection, "SELECT m_anomaly(p) AS score FROM people p ORDER BY rowid")["score"]
    np.testing.assert_allclose(score, people_model.anomaly_score(people_table), rtol=1e-4)


def test_samples_are_a_table_to_select_from(connection, people_model):
    rows = ask(connection, "SELECT * FROM m_sample(50, seed := 3)")
    assert list(rows.columns) == list(people_model.schema_.names)
    assert len(rows) == 50
    assert rows.equals(ask(connection, "SELECT * FROM m_sample(50, seed := 3)"))
    assert not rows.equals(ask(connection, "SELECT * FROM m_sample(50)"))
    name = next(c.name for c in people_model.schema_ if c.kind in ("integer", "count", "real"))
    middle = people_model.quantile(name)
    [[least]] = connection.execute(
        f"SELECT min({name}) FROM m_sample(100, given := '{name} > {middle}')"
    ).fetchall()
    assert least > middle
    assert ask(connection, "SELECT * FROM m_sample(0)").empty
    # samples are rows as good as any
    [[mean]] = connection.execute("SELECT avg(m_logp(s)) FROM m_sample(200) s").fetchall()
    assert np.isfinite(mean)


def test_a_name_can_be_registered_again_and_models_side_by_side(connection, people_model):
    bayesspn.duckdb.register(connection, people_model, "m")
    bayesspn.duckdb.register(connection, people_model, "other")
    [[apart]] = connection.execute(
        "SELECT max(abs(m_logp(p) - other_logp(p))) FROM people p"
    ).fetchall()
    assert apart == 0


@pytest.mark.filterwarnings("ignore:the chains do not agree")
def test_names_with_quotes_and_every_kind_of_column(tmp_path):
    rng = np.random.default_rng(0)
    rows = 60
    table = pd.DataFrame(
        {
            "it's": rng.normal(size=rows),
            'say "so"': rng.choice(["a'b", "c"], rows),
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 900, rows), "D"),
            "took": pd.to_timedelta(rng.integers(1, 4000, rows), "s"),
            "grade": rng.choice([1, 2, 5], rows),
        }
    )
    model = SPNRegressor(chains=1, burn_in=10, draws=4, random_state=0)
    model.fit(table.drop(columns="it's"), table["it's"])
    connection = duckdb.connect(tmp_path / "base.duckdb")
    bayesspn.duckdb.register(connection, model, "m")
    connection.register("t", table)
    found = ask(connection, "SELECT m_logp(t) AS x FROM t")["x"]
    joint = table[[*table.columns[1:], "it's"]]
    np.testing.assert_allclose(found, model.joint_.log_prob(joint), rtol=1e-5)
    filled = ask(connection, "SELECT unnest(m_fill(t)) FROM t")
    assert filled["grade"].tolist() == table["grade"].tolist()
    assert filled["took"].tolist() == table["took"].tolist()
    assert (filled["day"] == table["day"]).all()
    assert ask(connection, "SELECT * FROM m_sample(5)").shape == (5, 5)
    connection.close()
    # nothing of the model stays in the database
    [[left]] = (
        duckdb.connect(tmp_path / "base.duckdb")
        .execute("SELECT count(*) FROM duckdb_functions() WHERE function_name LIKE 'm_%logp'")
        .fetchall()
    )
    assert left == 0


def test_mistakes_are_told_in_words(connection, people_model):
    with pytest.raises(ValueError, match="letters, digits"):
        bayesspn.duckdb.register(connection, people_model, "my model; DROP TABLE people")
    with pytest.raises(TypeError, match="one of DuckDB's"):
        bayesspn.duckdb.register("people.duckdb", people_model, "m")
    with pytest.raises(TypeError, match="fitted estimator"):
        bayesspn.duckdb.register(connection, people_model.condition(None), "m")
    for text, message in {
        "SELECT m_probability(p, 'height of nobody > 3') FROM people p": "no column",
        "SELECT m_logp({'nothing': 1})": "(?i)could not find",
        "SELECT * FROM m_sample(-1)": "number of rows",
    }.items():
        with pytest.raises(duckdb.Error, match=message):
            connection.execute(text).fetchall()


@pytest.mark.long
def test_a_hundred_thousand_rows(connection, people_model, people_table, record_property):
    copies = -(-100_000 // len(people_table))
    connection.execute(f"CREATE TABLE many AS SELECT p.* FROM people p, range({copies})")
    [[rows]] = connection.execute("SELECT count(*) FROM many").fetchall()
    for function in ("m_logp(m)", "m_fill(m)"):
        start = time.perf_counter()
        found = ask(connection, f"SELECT count({function}) AS answered FROM many m")
        assert found["answered"][0] == rows >= 100_000
        record_property(function, f"{rows / (time.perf_counter() - start):,.0f} rows a second")
