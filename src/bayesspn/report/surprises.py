"""Rows and cells that the model did not expect."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from bayesspn.plots._checks import thin_rows
from bayesspn.plots._inputs import as_frame
from bayesspn.questions.events import QuestionError
from bayesspn.questions.wording import count, percent, show
from bayesspn.report.markup import Markup, datum, element, join, table
from bayesspn.report.subject import Subject

_ROWS_SHOWN = 10
_CELLS_SHOWN = 12

#: Rows whose cells are judged; this takes longer than judging rows.
_JUDGED_ROWS = 250

#: Values drawn to tell what was expected; nine of ten lie in the range shown.
_DRAWN = 200

#: −log of one in a hundred: cells from here on are marked.
_SURPRISING = -np.log(0.01)


def show_surprising(subject: Subject) -> Markup | None:
    """Show the rows least like the others, and the cells least like the rest of their rows."""
    rows = subject.rows
    if rows is None or subject.data is None:
        return None
    scores = np.asarray(subject.joint.anomaly_score(rows))
    order = np.argsort(-scores, kind="stable")[:_ROWS_SHOWN]
    worst = rows.iloc[order]
    judged = thin_rows(rows, _JUDGED_ROWS)
    together = pd.concat([worst, judged])
    surprises = np.asarray(subject.joint.surprise(together), dtype=np.float64)
    names = list(subject.model.schema_.names)
    among = "" if len(rows) == len(subject.data) else f" among {count(len(rows), 'row')}"
    few = len(judged) < len(subject.data)
    return join(
        [
            element("h3", "Rows"),
            element(
                "p",
                f"The most unusual rows{among}. The score counts standard deviations of the log "
                "density below what the model expects; above 3 is rare. Cells that at most one "
                "in a hundred such rows would have are marked.",
            ),
            _rows_table(worst, scores[order], surprises[: len(worst)], names),
            element("h3", "Cells"),
            element(
                "p",
                "Cells that fit the rest of their row least"
                + (f", among {count(len(judged), 'row')}." if few else "."),
            ),
            _cells_table(subject, judged, surprises[len(worst) :], names),
        ]
    )


def _rows_table(worst: pd.DataFrame, scores: Any, surprises: Any, names: list[Any]) -> Markup:
    lines = []
    for (label, row), score, row_surprises in zip(worst.iterrows(), scores, surprises, strict=True):
        cells = []
        for name, surprise in zip(names, row_surprises, strict=True):
            text = datum(_cell(row[name]) if name in row else "", 40)
            if surprise >= _SURPRISING:
                cells.append(element("td", text, class_="surprising", title=_one_in(surprise)))
            else:
                cells.append(element("td", text))
        lines.append([datum(label, 40), show(round(float(score), 1)), *cells])
    return table(["row", "score", *(datum(name, 40) for name in names)], lines)


def _cells_table(subject: Subject, rows: pd.DataFrame, surprises: Any, names: list[Any]) -> Markup:
    ranked = np.where(np.isnan(surprises), -np.inf, surprises)
    order = np.argsort(-ranked, axis=None, kind="stable")[:_CELLS_SHOWN]
    lines = []
    for place in order:
        row, column = np.unravel_index(place, surprises.shape)
        surprise = float(surprises[row, column])
        if not surprise > 0:
            continue
        name = names[column]
        lines.append(
            [
                datum(rows.index[row], 40),
                datum(name),
                datum(_cell(rows.iloc[row][name]), 60),
                _expected(subject, rows.iloc[row], name),
                _one_in(surprise),
            ]
        )
    return table(["row", "column", "value", "expected, given the rest", "how unusual"], lines)


def _expected(subject: Subject, row: pd.Series, name: Any) -> Markup:
    """What a cell should have been, given the rest of its row."""
    given = {other: value for other, value in row.items() if other != name and not _missing(value)}
    column = subject.model.schema_[name]
    try:
        if column.coded:
            value, answer = subject.joint.mode(name, given, interval=0.9)
            return join([datum(_cell(value), 60), f" ({percent(answer.value)})"])
        drawn = as_frame(
            subject.joint.sample(_DRAWN, given, random_state=0), subject.model.schema_
        )[name]
    except QuestionError:
        return join(["the rest of the row is impossible"])
    ordered = drawn.sort_values(ignore_index=True)
    low, high = ordered[_DRAWN // 20], ordered[_DRAWN - 1 - _DRAWN // 20]
    return join([datum(_cell(low), 30), " to ", datum(_cell(high), 30)])


def _missing(value: Any) -> bool:
    return bool(pd.api.types.is_scalar(value) and pd.isna(value))


def _cell(value: Any) -> str:
    if _missing(value):
        return "missing"
    number = isinstance(value, float | np.floating)
    return show(float(value)) if number else str(value)


def _one_in(surprise: float) -> str:
    """A surprise in words.

    Examples
    --------
    >>> _one_in(np.log(20)), _one_in(np.inf)
    ('1 in 20', 'impossible')
    """
    if not np.isfinite(surprise) or surprise > 700:
        return "impossible"
    times = np.exp(surprise)
    return f"1 in {times:,.0f}" if times < 1e6 else f"1 in {times:.0e}".replace("e+", "e")
