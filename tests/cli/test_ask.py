"""ask: the answers of the estimators, in words and as JSON."""

from __future__ import annotations

import pandas as pd
import pytest

from bayesspn import BayesianSPN


def numbers(answer):
    return {name: pytest.approx(value) for name, value in answer._asdict().items()}


def test_the_probability_of_an_event(run, document, model):
    answer = model.probability("income > 30", "age = 40, sex = F", interval=0.9)
    expected = {
        "kind": "probability",
        "event": "income > 30",
        "given": "age = 40 and sex = F",
        "interval": 0.9,
        **numbers(answer),
    }
    assert document("ask", "@m.bspn", "income > 30 | age = 40, sex = F") == expected
    assert document("ask", "@m.bspn", "income > 30|age = 40", "--given", "sex = F") == expected
    words = run("ask", "@m.bspn", "income > 30 | age = 40, sex = F").stdout
    assert words.startswith("The probability of income > 30 given age = 40 and sex = F is ")
    assert "with 90 % certainty it lies between" in words
    narrow = document("ask", "@m.bspn", "income > 30", "--interval", 0.5)
    wide = document("ask", "@m.bspn", "income > 30", "--interval", 0.99)
    assert wide["low"] < narrow["low"] < narrow["high"] < wide["high"]
    assert wide["value"] == narrow["value"]
    assert wide["given"] is None


def test_expectations(run, document, model):
    answer = model.expectation("income", "age = 40", interval=0.9)
    for given in (["| age = 40"], ["--given", "age = 40"]):
        found = document("ask", "@m.bspn", *given, "--expectation", "income")
        assert found == {
            "kind": "expectation",
            "column": "income",
            "given": "age = 40",
            "interval": 0.9,
            **numbers(answer),
        }
    assert run("ask", "@m.bspn", "--expectation", "age").stdout.startswith(
        "The expected value of age is "
    )


def test_quantiles(run, document, model):
    found = document("ask", "@m.bspn", "--quantile", "income", "--at", 0.1, "--at", 0.9)
    expected = [model.quantile("income", q, interval=0.9) for q in (0.1, 0.9)]
    assert found["quantiles"] == [
        {"at": q, **numbers(answer)} for q, answer in zip((0.1, 0.9), expected, strict=True)
    ]
    words = run("ask", "@m.bspn", "--quantile", "income").stdout
    assert words.startswith("The 50 % quantile of income is ")


def test_modes(run, document, model):
    value, answer = model.mode("job", "sex = F", interval=0.9)
    found = document("ask", "@m.bspn", "--mode", "job", "--given", "sex = F")
    assert found["value"] == value
    assert found["probability"] == {"interval": 0.9, **numbers(answer)}
    assert "its density is" in run("ask", "@m.bspn", "--mode", "income").stdout


def test_the_most_probable_row(run, document, model, monkeypatch):
    both = document("ask", "@m.bspn", "--mode", "sex,job")["value"]
    assert both == model.mode(["sex", "job"])[["sex", "job"]].iloc[0].to_dict()
    asked = []

    def mode(self, columns=None, given=None):
        asked.append((columns, str(self)))
        return model.sample(1, random_state=0)

    monkeypatch.setattr("bayesspn.questions.interface.Conditional.mode", mode)
    for arguments in (["| sex = F", "--mode"], ["--mode", "| sex = F"]):
        assert document("ask", "@m.bspn", *arguments)["value"].keys() == set(model.schema_.names)
    assert [columns for columns, _ in asked] == [None, None]
    assert all(view.endswith("| 'sex' = 'F')") for _, view in asked)
    assert run("ask", "@m.bspn", "--mode").stdout.startswith("The most probable values:\n  sex ")


def test_distributions(run, document, model):
    for column in ("job", "income"):
        expected = model.distribution(column, "sex = F", interval=0.9)
        found = document("ask", "@m.bspn", "--distribution", column, "| sex = F")
        cells = pd.DataFrame(found["cells"])
        assert list(cells.columns) == list(expected.columns)
        assert cells["probability"].tolist() == pytest.approx(expected["probability"].tolist())
    words = run("ask", "@m.bspn", "--distribution", "job").stdout
    assert words.splitlines()[1].split() == ["value", "probability", "90", "%", "interval"]
    assert "█" in words


def test_times_are_iso_text(document, tmp_path):
    days = pd.date_range("2020-01-01", periods=40)
    frame = pd.DataFrame({"day": days, "wait": pd.to_timedelta(range(40), "h")})
    model = BayesianSPN(chains=1, burn_in=3, draws=3, thin=1, random_state=0).fit(frame)
    model.save(tmp_path / "times.bspn")
    found = document("ask", "times.bspn", "--expectation", "day")
    assert pd.Timestamp(found["low"]) <= pd.Timestamp(found["value"]) <= pd.Timestamp(found["high"])
    assert found["value"].startswith("2020-0")
    row = document("sample", "times.bspn", "-n", 1)["rows"][0]
    assert row["wait"].startswith(("P", "-P"))
    cells = document("ask", "times.bspn", "--distribution", "day")["cells"]
    assert cells[0]["from"] is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["incme > 3"], "there is no column 'incme'; did you mean 'income'?"),
        (["--expectation", "incme"], "there is no column 'incme'; did you mean 'income'?"),
        (["--mode", "age,x"], "the model: there is no column 'x'"),
        (["--expectation", "job"], "column 'job' has categories, which have no mean"),
        (["income > 3 | job = pilot"], "pilot"),
        (["income > 3 | age > 40, age < 30"], "age"),
        (["income >"], "expected a value here"),
        (["age > 3 | income > 3 or age > 3"], "'or' is not understood"),
        ([""], "the event is empty"),
        (["income > 3", "--interval", "2"], "interval must lie between 0 and 1"),
        (["--quantile", "age", "--at", "2"], "q must lie between 0 and 1"),
        (["age > 3", "--expectation", "income"], "is an event, but a column was asked for"),
    ],
)
def test_a_question_that_cannot_be_answered_is_one_sentence(run, arguments, message):
    result = run("ask", "@m.bspn", *arguments, code=1)
    assert result.stdout == ""
    assert result.stderr.startswith("error: ")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["age > 3", "--at", "0.5"],
        ["--expectation", "age", "--mode", "age"],
        ["age > 3", "--interval", "much"],
    ],
)
def test_wrong_usage_has_its_own_code(run, arguments):
    result = run("ask", "@m.bspn", *arguments, code=2)
    assert result.stdout == ""
