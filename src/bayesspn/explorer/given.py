"""What the page says is known, as the model's questions take it.

The page sends a list of entries, one per column:

``{"column": 2, "kind": "value", "value": "40"}``             equal to what was typed
``{"column": 2, "kind": "range", "low": "30", "high": ""}``   between what was typed; "" is open
``{"column": 1, "kind": "codes", "codes": [0, 3]}``           one of these categories, by position
``{"column": 4, "kind": "missing"}``                          nothing is known, as in a missing cell

Texts are read by `bayesspn.tables`, as the command line's and Python's are.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any

from bayesspn.questions import events
from bayesspn.questions.events import QuestionError
from bayesspn.tables import Schema
from bayesspn.tables.cells import shorten
from bayesspn.tables.schema import ColumnSchema

_LONGEST_TEXT = 20_000

_NUMBERS = ("real", "integer", "count")


def read_given(entries: Any, schema: Schema) -> dict[Hashable, Any]:
    """Read what the page says is given.

    Parameters
    ----------
    entries : list of dict
    schema : Schema

    Returns
    -------
    dict of column name to value
        As ``given`` of all questions, in values that one would write in Python.

    Examples
    --------
    >>> schema = Schema((ColumnSchema("age", "integer"), ColumnSchema("ill", "binary")))
    >>> read_given(
    ...     [
    ...         {"column": 0, "kind": "range", "low": "30", "high": ""},
    ...         {"column": 1, "kind": "value", "value": "yes"},
    ...     ],
    ...     schema,
    ... )
    {'age': (30, None), 'ill': True}
    """
    if not isinstance(entries, list):
        raise QuestionError("what is given is not a list of entries; reload the page")
    given: dict[Hashable, Any] = {}
    for entry in entries:
        column = _find_column(entry, schema)
        if column.name in given:
            raise QuestionError(f"column {shorten(column.name)} is given twice; leave one out")
        given[column.name] = _read_entry(entry, column)
    events.read_given(given, schema)  # what cannot be read is refused now, in words
    return given


def _find_column(entry: Any, schema: Schema) -> ColumnSchema:
    position = entry.get("column") if isinstance(entry, dict) else None
    if not isinstance(position, int) or isinstance(position, bool):
        raise QuestionError("an entry of what is given names no column; reload the page")
    if not 0 <= position < len(schema):
        raise QuestionError(
            f"column {position} is given, but the model has {len(schema)}; the link "
            "may be of another model"
        )
    return schema.columns[position]


def _read_entry(entry: dict[str, Any], column: ColumnSchema) -> Any:
    kind = entry.get("kind")
    if kind == "missing":
        return None
    if kind == "value":
        return _read_value(_text(entry, "value", column), column)
    if kind == "range":
        ends = tuple(_read_end(_text(entry, end, column), column) for end in ("low", "high"))
        if ends == (None, None):
            raise QuestionError(
                f"column {shorten(column.name)}: give at least one end of the range"
            )
        if column.coded:
            raise QuestionError(
                f"column {shorten(column.name)} has categories, not ranges; choose some of them"
            )
        return ends
    if kind == "codes":
        return _read_codes(entry.get("codes"), column)
    raise QuestionError(
        f"column {shorten(column.name)}: {shorten(kind)} is no kind of entry; reload the page"
    )


def _text(entry: dict[str, Any], field: str, column: ColumnSchema) -> str:
    text = entry.get(field, "")
    if not isinstance(text, str) or len(text) > _LONGEST_TEXT:
        raise QuestionError(
            f"column {shorten(column.name)}: {shorten(text)} is no text that can be read; type a "
            "value"
        )
    return text.strip() if not column.coded else text


def _read_value(text: str, column: ColumnSchema) -> Any:
    if not text.strip():
        raise QuestionError(f"column {shorten(column.name)}: type a value first")
    if column.coded:
        # in a list, text is a category and never a comparison
        alone = Schema((column,))
        known = events.read_given({column.name: [text]}, alone)
        if not known:
            return [text]
        code = int(next(iter(known.values())))  # type: ignore[arg-type]
        return _name_codes([code], column)
    return _number(text, column)


def _read_end(text: str, column: ColumnSchema) -> Any:
    return _number(text, column) if text else None


def _number(text: str, column: ColumnSchema) -> Any:
    """A number if it is one; other text is left to the reader of questions."""
    if column.kind not in _NUMBERS:
        return text
    try:
        number = float(text)
    except ValueError:
        raise QuestionError(
            f"column {shorten(column.name)}: {shorten(text)} is not a number; write one such as "
            "40 or 2.5"
        ) from None
    if math.isfinite(number) and number == int(number) and abs(number) < 2**53:
        return int(number)
    return number


def _read_codes(codes: Any, column: ColumnSchema) -> Any:
    names = column.categories or (False, True)
    if not column.coded:
        raise QuestionError(f"column {shorten(column.name)} has no categories; type a value")
    whole = isinstance(codes, list) and all(
        isinstance(code, int) and not isinstance(code, bool) and 0 <= code < len(names)
        for code in codes
    )
    if not whole or not codes:
        raise QuestionError(
            f"column {shorten(column.name)}: {shorten(codes)} is no choice among its "
            f"{len(names)} categories; choose again"
        )
    return _name_codes(sorted(set(codes)), column)


def _name_codes(codes: list[int], column: ColumnSchema) -> Any:
    names = column.categories or (False, True)
    values = [names[code] for code in codes]
    # text by itself might be taken for a comparison
    return values[0] if len(values) == 1 and not isinstance(values[0], str) else values


def write_python(given: dict[Hashable, Any], path: str, interval: float, cells: int) -> str:
    """The Python call that gives the answers on the page."""
    return (
        "import bayesspn\n\n"
        f"model = bayesspn.load({path!r})\n"
        f"given = {given!r}\n"
        "answers = model.joint_.distributions("
        f"given=given, interval={interval}, cells={cells})\n"
    )
