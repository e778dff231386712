"""How answers, schemas, selections and posteriors look in a notebook: plain HTML tables.

Nothing of a user's table is markup: names and values are escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

#: Rows of an answer that are shown.
_MOST_ROWS = 10


def html_table(header: Sequence[Any], rows: Iterable[Sequence[Any]], caption: str = "") -> str:
    """A table of HTML.

    Parameters
    ----------
    header : sequence
        Names of the columns.
    rows : iterable of sequences
        Cells, shown as text.
    caption : str, default=""

    Examples
    --------
    >>> html_table(["a"], [["<b>"]])
    '<table><thead><tr><th>a</th></tr></thead><tbody><tr><td>&lt;b&gt;</td></tr></tbody></table>'
    """
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    top = "".join(f"<th>{escape(str(name))}</th>" for name in header)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<table>{title}<thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def answer_html(answer: Any) -> str:
    """An answer and its interval: a line, or a table if there are many.

    Examples
    --------
    >>> from bayesspn import Answer
    >>> answer_html(Answer(0.5, 0.25, 0.75))
    '<b>0.5</b> (0.25 to 0.75)'
    """
    parts = [answer.value, answer.low, answer.high]
    if all(hasattr(part, "to_html") for part in parts):
        return "".join(
            f"<p><b>{name}</b></p>{part.to_html(max_rows=_MOST_ROWS)}"
            for name, part in zip(("value", "low", "high"), parts, strict=True)
        )
    sized = [hasattr(part, "__len__") and not isinstance(part, str) for part in parts]
    if not all(sized):
        value, low, high = (escape(_show(part)) for part in parts)
        return f"<b>{value}</b> ({low} to {high})"
    rows = [[_show(cell) for cell in row] for row in zip(*parts, strict=True)]
    more = f"the first {_MOST_ROWS} of {len(rows):,}" if len(rows) > _MOST_ROWS else ""
    return html_table(("value", "low", "high"), rows[:_MOST_ROWS], more)


def _show(value: Any) -> str:
    from bayesspn.questions.wording import show

    if hasattr(value, "__len__") and not isinstance(value, str):
        return ", ".join(map(_show, value))
    return show(value.item() if hasattr(value, "item") else value)


def posterior_html(posterior: Any) -> str:
    """What a posterior consists of."""
    graph = str(posterior.model.graph).splitlines()[0]
    rows = [
        ("chains", len(posterior.draws)),
        ("draws", posterior.n_draws),
        ("columns", posterior.model.n_columns),
        ("graph", graph.removeprefix("region graph: ")),
    ]
    return html_table(("posterior", ""), rows)
