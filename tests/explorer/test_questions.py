"""What the explorer answers is what the Python API answers; what is wrong is said in words."""

from __future__ import annotations

import io
import re

import numpy as np
import pandas as pd
import pytest
from asgi_client import Client
from pictured import HOSTILE_NAMES, SCRIPT, fit, hostile_schema, hostile_table

from bayesspn import load
from bayesspn.explorer import create_app
from bayesspn.explorer import session as session_module
from bayesspn.explorer.session import Session

from .conftest import HOST, TOKEN

AGE, SEX, INCOME, VISITS, ILL, SEEN, STAY = range(7)


def value(column, text):
    return {"column": column, "kind": "value", "value": text}


def between(column, low, high):
    return {"column": column, "kind": "range", "low": low, "high": high}


def codes(column, *chosen):
    return {"column": column, "kind": "codes", "codes": list(chosen)}


GIVEN = [
    ([], {}),
    ([value(AGE, " 40 ")], {"age": 40}),
    ([between(AGE, "30", "40"), codes(SEX, 0)], {"age": (30, 40), "sex": "F"}),
    ([codes(SEX, 0, 1), value(ILL, "yes")], {"sex": ["F", "M"], "ill": True}),
    ([value(SEX, "M"), between(INCOME, "", "30.5")], {"sex": "M", "income": (None, 30.5)}),
    ([codes(ILL, 1), value(VISITS, "2")], {"ill": True, "visits": 2}),
    ([between(SEEN, "2024-02-01", "2024-03-01")], {"seen": ("2024-02-01", "2024-03-01")}),
    ([between(STAY, "3 hours", "")], {"stay": ("3 hours", None)}),
    # as the page writes the ends of cells
    (
        [between(SEEN, "2024-02-01 12:00:00.000", ""), between(STAY, "5400 seconds", "")],
        {"seen": ("2024-02-01 12:00", None), "stay": ("90 min", None)},
    ),
    ([{"column": AGE, "kind": "missing"}, codes(SEX, 1)], {"sex": "M"}),
]


@pytest.mark.parametrize(("entries", "given"), GIVEN)
def test_answers_are_those_of_the_python_api(ask, model, session, entries, given):
    told = ask("ask", given=entries)["columns"]
    asked = model.distributions(given=given, interval=0.9, cells=session.cells)
    for column, frame in zip(told, asked.values(), strict=True):
        for part in ("probability", "low", "high"):
            np.testing.assert_allclose(column[part], frame[part], rtol=1e-10)


@pytest.mark.parametrize("entries", [entries for entries, _ in GIVEN[2::3]])
def test_the_python_call_gives_the_same_answers(ask, model, entries, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model.save("people.bspn")
    reply = ask("ask", given=entries)
    names: dict[str, object] = {}
    exec(reply["python"], names)
    for column, frame in zip(reply["columns"], names["answers"].values(), strict=True):
        np.testing.assert_allclose(column["probability"], frame["probability"], rtol=1e-9)


def test_columns_are_described_with_their_cells(client, model, session, table):
    told = client.get("api/model").json()
    assert told["name"] == "people.bspn"
    assert told["draws"] == 16
    assert [column["name"] for column in told["columns"]] == list(model.schema_.names)
    for column, name in zip(told["columns"], model.schema_.names, strict=True):
        frame = model.cells(name, session.cells)
        if "labels" in column:
            assert column["labels"] == [str(label) for label in frame["value"]]
        else:
            assert len(column["low"]) == len(frame)
            assert column["high"][-1] is None
    seen = told["columns"][SEEN]
    first = pd.Timestamp(seen["high"][0], unit="s")
    assert first == table["seen"].min() - pd.Timedelta("12h")


def test_what_is_given_is_judged(ask, model):
    assert ask("judge", given=[])["words"] == "Nothing is given yet."
    told = ask("judge", given=[between(AGE, "30", "40"), codes(SEX, 0)])
    answer = model.probability({"age": (30, 40), "sex": "F"}, interval=0.9)
    assert told["probability"]["value"] == pytest.approx(answer.value)
    assert told["probability"]["high"] == pytest.approx(answer.high)
    assert "about one row in" in told["words"]
    odd = ask("judge", given=[value(INCOME, "900")])
    assert odd["rarity"] == pytest.approx(1 / 501)
    assert "at least as unusual" in odd["words"]
    assert odd["rarity"] == model.rarity({"income": 900})


def test_synthetic_rows_agree_with_what_is_given(ask, model):
    told = ask("sample", given=[codes(SEX, 1), between(AGE, "30", "40")], rows=150, seed=3)
    rows = pd.read_csv(io.StringIO(told["csv"]))
    assert len(rows) == 150
    assert (rows["sex"] == "M").all()
    assert rows["age"].between(30, 40).all()
    assert len(told["rows"]) == 100
    assert told["words"] == "150 rows drawn; the first 100 are shown"
    drawn = model.sample(150, {"sex": "M", "age": (30, 40)}, random_state=3)
    pd.testing.assert_series_equal(rows["income"], drawn["income"])


def test_answers_are_exported(ask, model):
    text = ask("export", given=[codes(SEX, 1)])["csv"]
    frame = pd.read_csv(io.StringIO(text))
    ill = frame[frame["column"] == "ill"]
    told = model.distribution("ill", {"sex": "M"})
    np.testing.assert_allclose(ill["probability"], told["probability"])
    assert set(frame["column"]) == set(model.schema_.names)


def test_rows_of_a_table_are_looked_at(client, ask, model, table, session):
    session.table = None
    assert "no table" in ask("look", 422, row=0)["error"]
    odd = table.drop(columns=["stay"]).assign(name="<b>")
    odd.loc[3, "income"] = 4_000.0
    odd.loc[3, "age"] = np.nan
    opened = client.post("api/table?name=odd.csv", content=odd.to_csv(index=False).encode())
    assert opened.json() == {"rows": 120, "columns": 6}
    told = ask("look", row=3)
    cells = told["cells"]
    rows = odd.drop(columns="name")
    expected = model.surprise(rows[3:4])
    surprises = [cell["surprise"] for cell in cells]
    np.testing.assert_allclose(surprises[INCOME], expected["income"].iloc[0])
    assert max(s for s in surprises if s is not None) == surprises[INCOME]
    assert cells[AGE] == {
        "text": "missing",
        "surprise": None,
        "words": "",
        "entry": {"column": AGE, "kind": "missing"},
    }
    assert cells[STAY]["text"] == "missing"
    for cell in cells:
        ask("ask", given=[cell["entry"]])
    whole = {c["entry"]["column"]: c["entry"] for c in cells}
    assert whole[SEX]["kind"] == "codes"
    assert whole[INCOME] == value(INCOME, "4000.0")
    for row in (-1, 120, "1", True, None):
        assert "no row" in ask("look", 422, row=row)["error"]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("t.xlsx", b"x", "must be one of"),
        ("t.csv", b"", "the table"),
        ("t.csv", b"a,b\n1,2\n", "none of the model's columns"),
        ("t.parquet", b"nonsense", "the table"),
    ],
)
def test_bad_tables_are_refused_in_words(client, name, content, words):
    reply = client.post(f"api/table?name={name}", content=content)
    assert reply.status == 422
    assert words in reply.json()["error"]
    assert "/tmp" not in reply.json()["error"]


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ([value(AGE, "forty")], "'age': 'forty' is not a number"),
        ([value(AGE, "")], "type a value first"),
        ([value(AGE, "inf")], "finite"),
        ([value(AGE, "40.5")], "whole number"),
        ([value(VISITS, "-1")], "negative"),
        ([between(AGE, "40", "30")], "ends before it begins"),
        ([between(AGE, "", "")], "at least one end"),
        ([between(SEX, "F", "M")], "categories, not ranges"),
        ([value(SEX, "X")], "not among its categories"),
        ([codes(SEX)], "no choice"),
        ([codes(SEX, 2)], "no choice"),
        ([codes(AGE, 0)], "no categories"),
        ([value(SEEN, "yesterday")], "not a moment"),
        ([value(STAY, "long")], "not a length of time"),
        ([value(AGE, "40"), value(AGE, "41")], "given twice"),
        ([{"column": 7, "kind": "missing"}], "another model"),
        ([{"column": "age", "kind": "missing"}], "names no column"),
        ([{"column": 0, "kind": "guess"}], "no kind of entry"),
        ([{"column": 0, "kind": "value", "value": 40}], "no text"),
        ([value(AGE, "4" * 30_000)], "no text"),
        ("age = 40", "not a list"),
        ([between(VISITS, "", "-3")], "contradict|no value"),
    ],
)
def test_what_cannot_be_given_is_answered_in_words(ask, entries, words):
    for question in ("ask", "judge", "export"):
        assert re.search(words, ask(question, 422, given=entries)["error"])


def test_questions_that_are_none_are_refused(client):
    headers = {"content-type": "application/json"}
    for content, code in ((b"{", 400), (b"\xff", 400), (b"[]", 422), (b"[" * 100_000, 400)):
        assert client.post("api/ask", content=content, headers=headers).status == code
    long = client.post("api/ask", content=b" " * (1 << 20) + b"{}", headers=headers)
    assert long.status == 413
    assert client.get("api/ask").status == 405


@pytest.mark.parametrize(("rows", "seed"), [(0, 0), (10_001, 0), ("5", 0), (5, -1), (5, None)])
def test_bad_numbers_of_rows_are_refused_in_words(ask, rows, seed):
    assert "must be a whole number" in ask("sample", 422, given=[], rows=rows, seed=seed)["error"]


def test_what_fails_inside_is_not_shown_outside(client, monkeypatch, session, caplog):
    def fail(entries):
        raise RuntimeError("secret place /home/x")

    monkeypatch.setattr(session, "judge", fail)
    reply = client.post("api/judge", body={"given": []})
    assert reply.status == 500
    assert "secret" not in reply.text
    assert "secret place" in caplog.text


def test_hostile_names_travel_as_text(tmp_path, monkeypatch):
    table = hostile_table()
    session = Session(fit(table, hostile_schema(), chains=1), '"; import os #.bspn')
    application = create_app(session, token=TOKEN, hosts=[HOST])
    client = Client(application, HOST, TOKEN)
    described = client.get("api/model")
    assert described.headers["content-type"] == "application/json"
    names = [column["name"] for column in described.json()["columns"]]
    assert names[0] == SCRIPT
    assert all(len(name) <= 300 for name in names)
    assert described.json()["columns"][0]["labels"][:4] == list(HOSTILE_NAMES[:4])
    chosen = [codes(0, 0, 4), {"column": 2, "kind": "value", "value": SCRIPT}]
    reply = client.post("api/ask", body={"given": chosen}).json()
    monkeypatch.chdir(tmp_path)
    session.model.save('"; import os #.bspn')
    found: dict[str, object] = {}
    exec(reply["python"], found)
    assert list(found["given"]) == [SCRIPT, HOSTILE_NAMES[2]]
    assert "os" not in found
    page = client.get("").text
    assert SCRIPT not in page


def test_wide_models_get_fewer_cells(model, monkeypatch):
    assert Session(model).cells == 80
    monkeypatch.setattr(session_module, "_MOST_BYTES", 1)
    assert Session(model).cells == 12


def test_zoned_moments_and_arrays_are_explored():
    rng = np.random.default_rng(0)
    moments = pd.Timestamp("2024-05-01", tz="Europe/Vienna") + pd.to_timedelta(
        rng.integers(0, 100, 60), unit="D"
    )
    zoned = Session(fit(pd.DataFrame({"when": moments, "x": rng.normal(size=60)}), chains=1))
    described = zoned.describe()["columns"][0]
    assert described["zone"] is True
    low = pd.Timestamp(described["high"][10], unit="s", tz="UTC")
    entry = between(0, low.isoformat(sep=" "), "")
    answer = zoned.answer([entry])["columns"][0]
    assert sum(answer["probability"][:11]) == pytest.approx(0.0, abs=1e-9)
    array = Session(fit(pd.DataFrame(rng.normal(size=(40, 2)).round(2)), chains=1))
    assert list(array.sample([], 3, 0).columns) == [0, 1]


def test_the_page_uses_no_markup_from_data_and_nothing_from_outside():
    from importlib import resources

    folder = resources.files("bayesspn.explorer").joinpath("page")
    for file in folder.iterdir():
        text = file.read_text()
        for forbidden in (
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
        ):
            assert forbidden not in text, (file.name, forbidden)
        addresses = set(re.findall(r"https?://[^\s\"'`)]+", text))
        assert addresses <= {"http://www.w3.org/2000/svg"}


def test_saved_models_are_loaded_by_the_call(tmp_path, model):
    model.save(tmp_path / "m.bspn")
    again = Session(load(tmp_path / "m.bspn"))
    np.testing.assert_allclose(
        again.answer([])["columns"][0]["low"], Session(model).answer([])["columns"][0]["low"]
    )
