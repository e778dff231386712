"""Questions as users write them, as sets of encoded values.

Text is read by `bayesspn.questions.event_text`; a mapping has a value per column:

======================= =========================================================================
value                   meaning
======================= =========================================================================
scalar                  equal to it
tuple of two            range with both ends, None where it is open (numbers and times)
list, set, array        one of these values; for categories tuples, too
text such as ``"> 30"`` comparison
None, NaN, NaT          missing: nothing is said
`ValueSet`              these encoded values
======================= =========================================================================

A recorded value of a continuous column stands for everything that is rounded to it, and one that is
not on the column's grid is compared with those that are (see `bayesspn.leaves.grids`): of whole
numbers, "= 3" is [2.5, 3.5], "< 3" ends at 2.5, "> 3.2" begins at 3.5. What is less, equal and
greater is everything, whatever the value. Sets are closed. Where no resolution is known, a set
begins with the next float beyond a strict bound.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Mapping
from typing import Any

import numpy as np

from bayesspn.prediction.value_sets import ValueSet
from bayesspn.questions.event_text import (
    Clause,
    ColumnFinder,
    parse_alternatives,
    parse_text,
    split_operator,
)
from bayesspn.questions.event_values import (
    MissingNotModelled,
    QuestionError,
    compare_categories,
    encode_bound,
    encode_values,
    is_missing,
)
from bayesspn.tables.cells import shorten
from bayesspn.tables.schema import ColumnSchema, Schema

__all__ = ["QuestionError", "read_event", "read_given", "read_question"]

_MOST_ALTERNATIVES = 12

#: Closed intervals, disjoint and ascending; those of counts hold whole numbers.
_Pieces = list[tuple[float, float]]


def read_event(event: str | Mapping[Hashable, Any], schema: Schema) -> dict[int, ValueSet]:
    """Read an event, of which the probability is to be found.

    Equality with a number or time means "recorded as this value", and order is that of recorded
    values; for equality the column's resolution must be known.

    Parameters
    ----------
    event : str or mapping of column names to values
        Columns that a mapping says are missing are not restricted.
    schema : Schema

    Returns
    -------
    dict of int to ValueSet
        By position of the column; a set is empty if no value will do.

    Examples
    --------
    >>> from bayesspn.tables import ColumnSchema
    >>> schema = Schema((
    ...     ColumnSchema("age", "integer"),
    ...     ColumnSchema("sex", "category", categories=("F", "M")),
    ... ))
    >>> read_event("30 <= age < 40 and sex == F", schema)
    {0: ValueSet([29.5, 39.5]), 1: ValueSet({0})}
    >>> read_event({"age": (30, None), "sex": ["F", "M"]}, schema)
    {0: ValueSet([29.5, inf]), 1: ValueSet({0} ∪ {1})}
    """
    clauses = _read_clauses(event, schema, "an event")
    if isinstance(event, str):
        if not clauses:
            raise QuestionError("the event is empty; write one such as 'age > 30'")
        _refuse_missing(clauses)
    return {
        position: _combine(of_column, schema.columns[position], exact=False)
        for position, of_column in _group(clauses).items()
    }


def read_given(
    given: str | Mapping[Hashable, Any] | None, schema: Schema
) -> dict[int, float | ValueSet]:
    """Read what is given.

    Parameters
    ----------
    given : str, mapping of column names to values, or None
    schema : Schema

    Returns
    -------
    dict of int to float or ValueSet
        By position of the column: an exact value where one is given, else a set.

    Examples
    --------
    >>> from bayesspn.tables import ColumnSchema
    >>> schema = Schema((ColumnSchema("age", "integer"), ColumnSchema("pay", "real")))
    >>> read_given({"age": 40, "pay": (None, 2.5)}, schema)
    {0: 40.0, 1: ValueSet([-inf, 2.5])}
    """
    if given is None:
        return {}
    return _given_sets(_read_clauses(given, schema, "what is given"), schema)


def read_question(
    text: str, schema: Schema
) -> tuple[dict[int, ValueSet], dict[int, float | ValueSet]]:
    """Read an event and, after a bar, what is given.

    Examples
    --------
    >>> from bayesspn.tables import ColumnSchema
    >>> schema = Schema((ColumnSchema("age", "integer"), ColumnSchema("ill", "binary")))
    >>> read_question("ill | age > 60", schema)
    ({1: ValueSet({1})}, {0: ValueSet([60.5, inf])})
    """
    if not isinstance(text, str):
        raise QuestionError(f"a question is text, got {type(text).__name__}")
    clauses, given = parse_text(text, schema)
    if not clauses:
        raise QuestionError("the event is empty; write one such as 'age > 30 | sex == F'")
    _refuse_missing(clauses)
    event = {
        position: _combine(of_column, schema.columns[position], exact=False)
        for position, of_column in _group(clauses).items()
    }
    return event, _given_sets(given or [], schema)


def read_any(
    text: str, schema: Schema
) -> tuple[list[dict[int, ValueSet]], dict[int, float | ValueSet]]:
    """Read the alternatives of an event, joined by ``or``, and what is given after a bar.

    Examples
    --------
    >>> from bayesspn.tables import ColumnSchema
    >>> schema = Schema((ColumnSchema("age", "integer"), ColumnSchema("ill", "binary")))
    >>> read_any("ill or age > 60", schema)
    ([{1: ValueSet({1})}, {0: ValueSet([60.5, inf])}], {})
    """
    alternatives, given = parse_alternatives(text, schema)
    if not all(alternatives):
        raise QuestionError("the event is empty; write one such as 'age > 30 | sex == F'")
    if len(alternatives) > _MOST_ALTERNATIVES:
        # all conjunctions of them are evaluated
        raise QuestionError(
            f"an event has at most {_MOST_ALTERNATIVES} alternatives, got {len(alternatives)}; "
            "use in [...] for several values of a column"
        )
    for clauses in alternatives:
        _refuse_missing(clauses)
    events = [
        {
            position: _combine(of_column, schema.columns[position], exact=False)
            for position, of_column in _group(clauses).items()
        }
        for clauses in alternatives
    ]
    return events, _given_sets(given or [], schema)


def _refuse_missing(clauses: list[Clause]) -> None:
    """Refuse to tell the probability that a cell is missing, which the model knows nothing of."""
    told = {clause.position for clause in clauses if clause.test not in ("missing", "not missing")}
    for clause in clauses:
        if clause.position not in told:
            raise MissingNotModelled(
                f"{clause.text!r} has no probability: the model is of what cells hold, not of "
                "whether they are missing; give it after the bar '|' to say that it is unknown, or "
                "fit again with a schema that models it: schema.model_missing",
                clause.position,
            )


def _read_clauses(question: object, schema: Schema, what: str) -> list[Clause]:
    if isinstance(question, str):
        clauses, given = parse_text(question, schema)
        if given is not None:
            raise QuestionError(f"{what} has no bar '|'; pass what is given by itself")
        return clauses
    if not isinstance(question, Mapping):
        raise QuestionError(
            f"{what} is text or a dictionary of columns and values, got {type(question).__name__}"
        )
    finder = ColumnFinder(schema)
    return [
        _read_entry(finder.position(name), schema.columns[finder.position(name)], value)
        for name, value in question.items()
    ]


def _read_entry(position: int, column: ColumnSchema, value: Any) -> Clause:
    """A clause from a column and what a mapping says of it."""
    text = f"{shorten(column.name)}: {shorten(value)}"
    if isinstance(value, ValueSet):
        return Clause(position, "set", (value,), text)
    if is_missing(value):
        return Clause(position, "missing", (), text)
    if isinstance(value, str):
        compared = None if value in column.categories else split_operator(value)
        if compared is None:
            return Clause(position, "==", (value,), text)
        return Clause(position, compared[0], (compared[1],), text)
    if getattr(value, "ndim", 1) == 0 or not isinstance(value, Collection):
        return Clause(position, "==", (value,), text)
    if isinstance(value, Mapping) or getattr(value, "ndim", 1) > 1:
        raise QuestionError(
            f"column {shorten(column.name)}: use a value, a list of values or a range (low, high), "
            f"not {shorten(value)}; only probability and expectation understand distributions"
        )
    if not isinstance(value, tuple) or column.coded:
        return Clause(position, "in", tuple(value), text)
    if len(value) != 2:
        raise QuestionError(
            f"column {shorten(column.name)}: {shorten(value)} is no range, which has two ends; "
            "use (low, high), or a list for several values"
        )
    return Clause(position, "between", value, text)


def _group(clauses: list[Clause]) -> dict[int, list[Clause]]:
    """Clauses by column, without columns of which nothing is said."""
    by_column: dict[int, list[Clause]] = {}
    for clause in clauses:
        by_column.setdefault(clause.position, []).append(clause)
    groups = {}
    for position, group in by_column.items():
        tests = {clause.test for clause in group}
        if "missing" in tests and len(tests) > 1:
            raise _contradiction(group)
        restricting = [c for c in group if c.test not in ("missing", "not missing")]
        if restricting:
            groups[position] = restricting
    return groups


def _contradiction(clauses: list[Clause]) -> QuestionError:
    said = list(dict.fromkeys(shorten(clause.text) for clause in clauses))
    if len(said) == 1:
        return QuestionError(f"no value satisfies {said[0]}; give a condition that can hold")
    return QuestionError(f"{' and '.join(said)} contradict each other; leave one of them out")


def _given_sets(clauses: list[Clause], schema: Schema) -> dict[int, float | ValueSet]:
    given: dict[int, float | ValueSet] = {}
    for position, group in _group(clauses).items():
        column = schema.columns[position]
        values = _combine(group, column, exact=True)
        if values.empty:
            raise _contradiction(group)
        equal = any(c.test == "==" or _lists_one_value(c, column) for c in group)
        low, high = float(values.low[0]), float(values.high[-1])
        if equal:
            _check_possible(low, column)
            given[position] = low  # a set of one value
        elif low == high and not column.coded and all(c.test != "set" for c in group):
            given[position] = low
        else:
            given[position] = values
    return given


def _check_possible(value: float, column: ColumnSchema) -> None:
    """Check that a number that is given is not beyond all that are possible."""
    if not column.continuous or column.timed:
        return
    grid = column.grid
    for beyond, bound, side, most in (
        (value < grid.low - 0.5 * grid.step, grid.low, "below", "least"),
        (value > grid.high + 0.5 * grid.step, grid.high, "above", "most"),
    ):
        if beyond:
            raise QuestionError(
                f"column {shorten(column.name)}: {value:g} is {side} {bound:g}, the {most} it can "
                "be; give a value that can occur, or set the bounds in the schema"
            )


def _lists_one_value(clause: Clause, column: ColumnSchema) -> bool:
    return clause.test == "in" and len(set(encode_values(clause.values, column))) == 1


def _combine(clauses: list[Clause], column: ColumnSchema, exact: bool) -> ValueSet:
    """Values that satisfy all clauses; with `exact`, equality is not about what is recorded."""
    sets = [clause.values[0] for clause in clauses if clause.test == "set"]
    written = [clause for clause in clauses if clause.test != "set"]
    pieces = _support(column)
    for clause in written:
        pieces = _intersect(pieces, _satisfy(clause, column, exact), _touching(column))
    if written:
        sets.append(_as_set(pieces, column))
    values: ValueSet = sets[0]
    for other in sets[1:]:
        values = values.intersect(other)
    return values


def _as_set(pieces: _Pieces, column: ColumnSchema) -> ValueSet:
    if not column.continuous or not _touching(column):
        return ValueSet.of(pieces)
    joined: _Pieces = []
    for low, high in pieces:
        # a gap of a single float has no probability
        if joined and _after(_after(joined[-1][1])) >= low:
            low = joined.pop()[0]
        joined.append((low, high))
    return ValueSet.of(joined)


def _support(column: ColumnSchema) -> _Pieces:
    if column.coded:
        return [(float(code), float(code)) for code in range(len(column.categories) or 2)]
    return [(0.0 if column.kind == "count" else -math.inf, math.inf)]


def _satisfy(clause: Clause, column: ColumnSchema, exact: bool) -> _Pieces:
    """Values that satisfy a clause; errors say which clause it is."""
    try:
        if clause.test in ("==", "!=", "in", "not in"):
            values = sorted(set(encode_values(clause.values, column)))
            if clause.test in ("==", "in"):
                return _equal(values, column, exact)
            return _outside(_equal(values, column, exact, negated=True), column)
        if clause.test == "between":
            return _between(clause.values, column)
        return _beyond(clause.test, clause.values[0], column)
    except QuestionError as error:
        raise QuestionError(f"{error} (in {clause.text!r})") from None


def _equal(
    values: list[float], column: ColumnSchema, exact: bool, negated: bool = False
) -> _Pieces:
    points = [(value, value) for value in values]
    if not column.continuous or (exact and len(values) == 1 and not negated):
        return points
    grid = column.grid
    intervals = [grid.interval(value) for value in values]
    if grid.single or (intervals and None not in intervals):
        merged = ValueSet.of(interval for interval in intervals if interval is not None)
        return list(zip(merged.low.tolist(), merged.high.tolist(), strict=True))
    if negated or not values:
        return points
    if exact:
        raise QuestionError(
            f"column {shorten(column.name)}: several exact values of a continuous column cannot be "
            "given without its resolution; give one value or a range, or set the resolution in the "
            "schema"
        )
    raise QuestionError(
        f"column {shorten(column.name)}: an exact value of a continuous column, {values[0]:g}, has "
        "probability zero; ask for a range, or for its density with log_prob, or set the column's "
        "resolution in the schema"
    )


def _outside(pieces: _Pieces, column: ColumnSchema) -> _Pieces:
    """Complement; that of codes within the column's support."""
    if column.coded:
        return [point for point in _support(column) if point not in set(pieces)]
    gaps, low = [], -math.inf
    for first, last in pieces:
        if not column.continuous:
            before, after = first - 1, last + 1
        else:
            # intervals share their ends, points do not
            before = _before(first) if first == last else first
            after = _after(last) if first == last else last
        gaps.append((low, before))
        low = after
    gaps.append((low, math.inf))
    return [
        (low, high) for low, high in gaps if low <= high and low < math.inf and high > -math.inf
    ]


def _between(ends: tuple[Any, ...], column: ColumnSchema) -> _Pieces:
    low, high = (_read_end(end, sign) for end, sign in zip(ends, (-1, 1), strict=True))
    pieces = _support(column)
    if low is not None:
        pieces = _intersect(pieces, _beyond(">=", low, column), _touching(column))
    if high is not None:
        pieces = _intersect(pieces, _beyond("<=", high, column), _touching(column))
    reversed_ends = low is not None and high is not None and not column.coded
    if reversed_ends and encode_bound(low, column) > encode_bound(high, column):
        raise QuestionError(
            f"column {shorten(column.name)}: the range from {shorten(low)} to {shorten(high)} ends "
            "before it begins; swap its ends"
        )
    return pieces


def _read_end(end: Any, sign: int) -> Any:
    """An end of a range, None if it is open."""
    infinite = isinstance(end, float | np.floating) and end == sign * math.inf
    return None if infinite else end


def _beyond(test: str, bound: Any, column: ColumnSchema) -> _Pieces:
    """Values on one side of a bound."""
    if column.coded:
        return [(float(c), float(c)) for c in compare_categories(test, bound, column)]
    value = encode_bound(bound, column)
    if column.continuous:
        below, above = column.grid.split(value, strict=test in ("<", ">="))
        inner = above if test.startswith(">") else below
    else:
        down, up = float(math.floor(value)), float(math.ceil(value))
        inner = {">": down + 1, ">=": up, "<": up - 1, "<=": down}[test]
    if test.startswith(">"):
        return [(inner, math.inf)] if inner < math.inf else []
    return [(-math.inf, inner)] if inner > -math.inf else []


def _after(value: float) -> float:
    return math.nextafter(value, math.inf)


def _before(value: float) -> float:
    return math.nextafter(value, -math.inf)


def _touching(column: ColumnSchema) -> bool:
    """Whether intervals that share an end have a value in common."""
    return not (column.continuous and column.grid.single)


def _intersect(left: _Pieces, right: _Pieces, touching: bool) -> _Pieces:
    """Values in both; takes time proportional to the number of intervals."""
    both: _Pieces = []
    i = j = 0
    while i < len(left) and j < len(right):
        low, high = max(left[i][0], right[j][0]), min(left[i][1], right[j][1])
        point = left[i][0] == left[i][1] or right[j][0] == right[j][1]
        if low < high or (low == high and (touching or point)):
            both.append((low, high))
        if left[i][1] < right[j][1]:
            i += 1
        else:
            j += 1
    return both
