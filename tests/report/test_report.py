"""The report is one file that loads nothing, runs nothing, and takes all data for text."""

from __future__ import annotations

import re
import warnings
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from pictured import (
    HOSTILE_NAMES,
    IMAGE,
    LONG,
    RIGHT_TO_LEFT,
    SCRIPT,
    fit,
    hostile_schema,
    hostile_table,
)
from typer.testing import CliRunner

from bayesspn import BayesianSPN
from bayesspn.cli import app
from bayesspn.questions.events import QuestionError
from bayesspn.report import build_report, write_report
from bayesspn.report.markup import element
from bayesspn.report.subject import Subject
from bayesspn.report.surprises import show_surprising


class Reader(HTMLParser):
    """Elements with their attributes, and all text."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.open: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in ("meta", "img", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def check_harmless(page: str) -> Reader:
    """Nothing is loaded from anywhere, nothing runs, and elements are closed."""
    reader = Reader(page)
    assert not reader.open
    for tag, attributes in reader.elements:
        assert tag not in ("script", "iframe", "object", "embed", "link", "form", "base")
        assert not any(name.startswith("on") for name in attributes)
        if "src" in attributes:
            assert attributes["src"].startswith("data:image/png;base64,")
        if "href" in attributes:
            assert attributes["href"].startswith("#")
    assert "url(" not in page
    assert "@import" not in page
    policies = [
        a["content"] for t, a in reader.elements if a.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policies == ["default-src 'none'; img-src data:; style-src 'unsafe-inline'"]
    return reader


def test_report_is_one_file_that_needs_nothing_else(page):
    reader = check_harmless(page)
    pictures = [a for tag, a in reader.elements if tag == "img"]
    assert len(pictures) >= 7 + 2 + 1 + 3
    assert all(a["alt"] for a in pictures)


def test_report_has_its_sections_and_links_to_them(page):
    reader = check_harmless(page)
    ids = {a["id"] for _, a in reader.elements if "id" in a}
    links = {a["href"][1:] for tag, a in reader.elements if tag == "a"}
    assert ids == links
    assert len(links) == 6
    for words in ("Patients", "answers", "Fit of the columns", "Most", "strength", "name"):
        assert words.lower() in reader.text.lower()


def test_sections_are_announced_when_they_begin(numbers):
    told: list[str] = []
    build_report(numbers[0], announce=told.append)
    assert told[0] == "The table"
    assert told[-1] == "Questions and answers"


def test_answers_in_the_report_are_the_models(page, model):
    text = Reader(page).text
    calls = re.findall(r"model\.joint_\.(?:mode|expectation)\(.*?interval=0\.9\)", text)
    assert len(calls) >= 4
    from bayesspn.questions.wording import percent, show

    for call in calls:
        answer = eval(call, {"model": model})
        if isinstance(answer[1], tuple):
            assert f"{answer[0]}, {percent(answer[1].value)}" in text
        else:
            value = show(answer.value) if isinstance(answer.value, float) else str(answer.value)
            assert f"{value} (with 90 % certainty between" in text


def test_surprising_row_and_cell_are_found(model, table):
    table = table.copy()
    row = table.index[table["income"].notna()][7]
    table.loc[row, "income"] = 5_000.0
    text = Reader(show_surprising(Subject.of(model, table))).text
    rows = text[text.index("The most unusual rows") : text.index("Cells that fit")]
    assert "5000" in rows
    cells = text[text.index("Cells that fit") :]
    assert re.search(rf"how unusual{row}income5000", cells)


def test_without_a_table_the_report_says_so(numbers):
    reader = check_harmless(build_report(numbers[0]))
    assert "was not given" in reader.text
    assert "Surprising" not in reader.text


def test_hostile_names_and_categories_are_text():
    table = hostile_table()
    model = fit(table, hostile_schema(), chains=1)
    reader = check_harmless(build_report(model, table, title=SCRIPT))
    for name in (SCRIPT, IMAGE, RIGHT_TO_LEFT):
        assert name in reader.text
    assert LONG[:100] in reader.text
    assert LONG[:2_000] not in reader.text
    bidirectional = sum(tag == "bdi" for tag, _ in reader.elements)
    assert bidirectional > 20
    assert len(HOSTILE_NAMES) == 5


def test_markup_escapes_everything_but_markup():
    assert element("p", "<b>", title='"><script>') == (
        '<p title="&quot;&gt;&lt;script&gt;">&lt;b&gt;</p>'
    )
    assert "\x00" not in element("p", "\x00\ud800")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (lambda table: table[[]], "none of the model's columns"),
        (lambda table: table[:0], "no rows"),
        (lambda table: table.assign(age="old"), "'old'"),
    ],
)
def test_tables_that_do_not_fit_are_refused_in_words(model, table, data, words, tmp_path):
    with pytest.raises(ValueError, match=words) as caught:
        write_report(model, tmp_path / "r.html", data(table))
    assert isinstance(caught.value, QuestionError) or "age" in str(caught.value)
    assert not list(tmp_path.iterdir())


@pytest.fixture(scope="module")
def numbers():
    """A model of an array, and the array."""
    X = np.random.default_rng(0).normal(size=(50, 2)).round(2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = BayesianSPN(chains=1, burn_in=3, draws=3, thin=1, random_state=0)
        return model.fit(X), X


def test_arrays_are_subjects_too(numbers):
    subject = Subject.of(*numbers)
    assert "50 rows of 2 columns" in subject.overview()
    assert list(subject.data.columns) == ["x0", "x1"]


def test_command_writes_the_report(numbers, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model, X = numbers
    model.save("m.bspn")
    pd.DataFrame(X, columns=["x0", "x1"]).assign(name="n").to_csv("t.csv", index=False)
    arguments = ["report", "m.bspn", "-o", "r.html", "--table", "t.csv"]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.stderr
    assert "report written to r.html" in done.stderr
    reader = check_harmless((tmp_path / "r.html").read_text())
    assert "Columns that the model does not know: name" in reader.text
    again = CliRunner().invoke(app, arguments)
    assert again.exit_code == 1
    assert "exists already" in again.stderr
