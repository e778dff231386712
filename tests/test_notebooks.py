"""What notebooks show: well-formed HTML with the numbers in it, and no markup of a table's own."""

from __future__ import annotations

from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from bayesspn import Answer, GraphAverage, GraphSelection
from bayesspn.tables import ColumnSchema, Schema


class Reader(HTMLParser):
    """Reads text, and checks that tags are closed in order."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text: list[str] = []
        self.feed(markup)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data.strip())


def test_answers_are_a_line_or_a_table():
    assert Reader(Answer(0.25, 0.125, 0.5)._repr_html_()).text == ["0.25", "(0.125 to 0.5)"]
    day = pd.Timestamp("2024-02-03")
    assert "2024-02-03" in Answer(day, day, day)._repr_html_()
    many = Reader(Answer(*np.arange(60.0).reshape(3, 20))._repr_html_()).text
    assert "the first 10 of 20" in many
    assert many[4:7] == ["0", "20", "40"]
    levels = Reader(Answer(*np.arange(12.0).reshape(3, 2, 2))._repr_html_()).text
    assert "2, 3" in levels
    frame = pd.DataFrame({"a": [1.5]})
    assert Reader(Answer(frame, frame, frame)._repr_html_()).text.count("1.5") == 3
    assert "&lt;b&gt;" in Answer("<b>", "<b>", "<b>")._repr_html_()


def test_schemas_are_tables_and_escape_names():
    schema = Schema(
        (
            ColumnSchema("<script>", "real"),
            ColumnSchema("b", "category", categories=("<i>", "&")),
        )
    )
    markup = schema._repr_html_()
    assert "<script>" not in markup
    assert "<i>" not in markup
    assert "<script>" in Reader(markup).text
    assert "<i>, &" in "".join(Reader(markup).text)


def test_posteriors_and_selections_tell_what_they_are(people_model):
    text = Reader(people_model.posterior_._repr_html_()).text
    assert str(people_model.posterior_.n_draws) in text
    average = GraphAverage(["one", "<two>"], [people_model, people_model], [3, 1])
    assert Reader(average._repr_html_()).text[-4:] == ["one", "75.0%", "<two>", "25.0%"]
    choice = object.__new__(GraphSelection)
    choice.table = pd.DataFrame(
        {"evidence": [-9.25], "standard_error": [0.5], "weight": [1.0], "nodes": [7]}, index=["one"]
    )
    text = Reader(choice._repr_html_()).text
    assert "-9.25" in text
    assert any("the best: one" in part for part in text)


@pytest.mark.parametrize("value", [3, 2.5, "text", None, True])
def test_single_answers_of_any_type_are_shown(value):
    assert str(value) in "".join(Reader(Answer(value, value, value)._repr_html_()).text)
