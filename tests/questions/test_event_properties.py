"""Events: laws that hold for any column, any value and any way of writing them."""

from __future__ import annotations

import datetime as dt
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bayesspn.prediction.value_sets import ValueSet
from bayesspn.questions.events import QuestionError, read_event, read_given, read_question
from bayesspn.tables import ColumnSchema, Schema

LARGEST = 2**53
ORDERED = ("==", "!=", "<", "<=", ">", ">=")
OPPOSITE = {"==": "!=", "<": ">=", "<=": ">"}
FLIPPED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}

#: Text with much of what the language has a meaning for.
ODD_TEXT = st.text(st.one_of(st.sampled_from("ab1 .-'\"`\\\n<>=!|&,()[]{}"), st.characters()))

NUMBERS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False), st.integers(-99, 99).map(lambda k: k / 4)
)
WHOLE = st.one_of(st.integers(-20, 20), st.integers(1 - LARGEST, LARGEST - 1))
COUNTS = st.one_of(st.integers(0, 20), st.integers(0, LARGEST - 1))
MOMENTS = st.datetimes().map(pd.Timestamp)
LENGTHS = st.timedeltas(dt.timedelta(-90_000), dt.timedelta(90_000)).map(pd.Timedelta)

CATEGORIES = st.one_of(
    st.lists(ODD_TEXT, min_size=1, max_size=5, unique=True),
    st.lists(st.integers(-LARGEST, LARGEST), min_size=1, max_size=5, unique=True),
    st.lists(NUMBERS, min_size=1, max_size=5, unique=True),
).map(tuple)


@st.composite
def columns(draw, name: Any = "x", kinds: tuple[str, ...] = ("any",)):
    """A column and a strategy of its values."""
    every = ("integer", "count", "real", "category", "binary", "datetime", "duration", "zoned")
    kind = draw(st.sampled_from(every if kinds == ("any",) else kinds))
    resolution = draw(st.sampled_from([0.01, 0.5, 1.0, 3.0, 86_400.0]))
    if kind == "integer":
        return ColumnSchema(name, kind), WHOLE
    if kind == "count":
        return ColumnSchema(name, kind), COUNTS
    if kind == "real":
        return ColumnSchema(name, kind, resolution=resolution), NUMBERS
    if kind == "binary":
        return ColumnSchema(name, kind), st.booleans()
    if kind == "datetime":
        return ColumnSchema(name, kind, resolution=resolution), MOMENTS
    if kind == "zoned":
        zone = draw(st.sampled_from(["UTC", "Europe/Berlin", "America/New_York"]))
        dtype = f"datetime64[us, {zone}]"
        return ColumnSchema(name, "datetime", resolution=resolution, dtype=dtype), MOMENTS
    if kind == "duration":
        return ColumnSchema(name, kind, resolution=resolution), LENGTHS
    categories = draw(CATEGORIES)
    ordered = draw(st.booleans())
    column = ColumnSchema(name, "category", categories=categories, ordered=ordered)
    return column, st.sampled_from(categories)


DISCRETE = ("integer", "count", "category", "binary")


def comparisons(column: ColumnSchema) -> tuple[str, ...]:
    """Comparisons that a column has."""
    numbers = not any(isinstance(category, str) for category in column.categories)
    coded = column.kind in ("category", "binary")
    ordered = not coded or (column.kind == "category" and (column.ordered or numbers))
    return ORDERED if ordered else ORDERED[:2]


def between_quotes(text: str, mark: str = "'") -> str:
    return mark + text.replace("\\", "\\\\").replace(mark, f"\\{mark}") + mark


def written(value: Any) -> str:
    """A value as a question has it: numbers and truth as they are, anything else in quotes."""
    if isinstance(value, int | float):
        return repr(value)
    return between_quotes(str(value))


def pairs(values: ValueSet) -> list[tuple[float, float]]:
    return list(zip(values.low.tolist(), values.high.tolist(), strict=True))


def sets(event: Any, *schema: ColumnSchema) -> Any:
    """Intervals by column, or that the event is refused."""
    try:
        read = read_event(event, Schema(schema))
    except QuestionError:
        return "refused"
    return {position: pairs(values) for position, values in read.items()}


def probes(column: ColumnSchema, values: list[Any]) -> np.ndarray:
    """Encoded values that a column can take: all of its codes, or some near the given ones."""
    if column.kind == "binary":
        return np.arange(2.0)
    if column.kind == "category":
        return np.arange(float(len(column.categories)))
    near = [value + step for value in values for step in (-1, 0, 1)] + [0, 1, LARGEST - 1]
    return np.unique([float(k) for k in near if k >= 0 or column.kind == "integer"])


def accepted(event: Any, column: ColumnSchema, values: np.ndarray) -> np.ndarray:
    """Whether an event on a column accepts encoded values."""
    (found,) = read_event(event, Schema((column,))).values()
    return found.contains(values)


@given(st.data(), columns())
def test_text_and_dictionary_say_the_same(data, drawn):
    column, values = drawn
    test = data.draw(st.sampled_from(comparisons(column)))
    value = data.draw(values)
    as_text = sets(f"x {test} {written(value)}", column)
    assert sets({"x": f"{test} {written(value)}"}, column) == as_text
    assert sets({"x": f"{test}{written(value)}"}, column) == as_text
    assert sets(f"{written(value)} {FLIPPED[test]} x", column) == as_text
    if test == "==":
        assert sets({"x": value}, column) == as_text
        assert sets({"x": [value]}, column) == as_text
        assert sets(f"x = {written(value)}", column) == as_text
    if as_text == "refused":
        # when clocks change, some times do not exist and some come twice; of others each is known
        assert column.dtype is not None
        assert not time_of_day_exists_once(value, column)
    else:
        assert list(as_text) == [0]


def time_of_day_exists_once(value: pd.Timestamp, column: ColumnSchema) -> bool:
    try:
        value.tz_localize(column.dtype.partition(", ")[2].rstrip("]"))
    except (ValueError, OverflowError):
        return False
    return True


@given(st.data(), columns())
def test_lists_and_ranges_say_the_same_in_text_and_dictionary(data, drawn):
    column, strategy = drawn
    values = data.draw(st.lists(strategy, min_size=1, max_size=4))
    listed = ", ".join(map(written, values))
    as_text = sets(f"x in [{listed}]", column)
    assert sets(f"x in ({listed})", column) == sets(f"x IN {{{listed},}}", column) == as_text
    assert sets({"x": values}, column) == sets({"x": {*values}}, column) == as_text
    assert sets({"x": np.array(values, dtype=object)}, column) == as_text
    low, high = values[0], values[-1]
    if column.kind in ("category", "binary"):
        assert sets({"x": tuple(values)}, column) == as_text
        return
    low, high = min(low, high), max(low, high)
    spelled = sets(f"x between {written(low)} and {written(high)}", column)
    assert sets({"x": (low, high)}, column) == spelled
    assert sets(f"{written(low)} <= x <= {written(high)}", column) == spelled
    assert sets(f"x >= {written(low)} and x <= {written(high)}", column) == spelled
    assert sets({"x": (low, None)}, column) == sets(f"x >= {written(low)}", column)
    assert sets({"x": (None, high)}, column) == sets(f"x <= {written(high)}", column)


@given(NUMBERS)
def test_printed_numbers_are_read_to_the_last_digit(value):
    real = ColumnSchema("x", "real")
    for text in (repr(value), f"{value:.17g}", f"{value:.16e}", f"{value:.16E}"):
        for literal in (text, f"'{text}'", f'" {text} "'):
            assert sets(f"x >= {literal}", real) == {0: [(value, math.inf)]}
            assert sets({"x": f"<= {literal}"}, real) == {0: [(-math.inf, value)]}
    assert sets({"x": (np.float64(value), None)}, real) == {0: [(value, math.inf)]}
    assert read_given(f"x = {value!r}", Schema((real,))) == {0: value}


@given(WHOLE)
def test_printed_whole_numbers_are_read_to_the_last_digit(value):
    column = ColumnSchema("x", "integer")
    for text in (str(value), f"{value:_}", f"{value}.0", f"{value:+}", f"'{value}'"):
        assert read_given(f"x = {text}", Schema((column,))) == {0: float(value)}
        near = np.array([value - 1.0, value, value + 1.0])
        assert accepted(f"x = {text}", column, near).tolist() == [False, True, False]
    assert sets({"x": value}, column) == sets({"x": np.int64(value)}, column)


@given(
    st.lists(st.one_of(ODD_TEXT, st.integers()), min_size=1, max_size=4, unique_by=str), st.data()
)
def test_columns_of_any_name_are_found(names, data):
    schema = [ColumnSchema(name, "integer") for name in names]
    position = data.draw(st.integers(0, len(names) - 1))
    text = str(names[position])
    expected = {position: [(29.5, math.inf)]}
    assert sets({names[position]: (30, None)}, *schema) == expected
    spellings = [between_quotes(text), between_quotes(text, '"')]
    if "`" not in text:
        spellings.append(f"`{text}`")
        assert sets(f"`{text}` >= 30", *schema) == expected
        assert sets(f"30 <= `{text}`", *schema) == expected
    for spelling in spellings:
        for question in (f"{spelling} >= 30", f"  {spelling}>=30 ", f"(({spelling} >= 30))"):
            # a name that matches as it is written, marks and all, comes first
            if not any(name and question.lstrip().startswith(name) for name in map(str, names)):
                assert sets(question, *schema) == expected


#: Text that looks like a number, beside the number.
ALIKE = st.lists(
    st.one_of(st.integers(-3, 3), st.integers(-3, 3).map(str), NUMBERS), min_size=1, unique=True
).map(tuple)


@given(st.data(), st.one_of(CATEGORIES, ALIKE), st.booleans())
def test_categories_of_any_name_are_found(data, categories, ordered):
    column = ColumnSchema("x", "category", categories=categories, ordered=ordered)
    value = data.draw(st.sampled_from(categories))
    code = float(categories.index(value))
    marks = ("'", '"') if isinstance(value, str) else ("",)
    for mark in marks:
        literal = between_quotes(value, mark) if mark else repr(value)
        assert sets(f"x == {literal}", column) == {0: [(code, code)]}
        assert sets(f"x in [{literal}, {literal}]", column) == {0: [(code, code)]}
    assert read_given({"x": value}, Schema((column,))) == {0: code}


def test_whole_numbers_beyond_floats_are_told_apart_as_categories():
    column = ColumnSchema("x", "category", categories=(2**60, 2**60 + 1))
    assert sets({"x": 2**60 + 1}, column) == {0: [(1.0, 1.0)]}
    assert sets(f"x == {2**60 + 1}", column) == {0: [(1.0, 1.0)]}


@given(st.data(), columns(kinds=DISCRETE))
def test_less_equal_and_more_are_apart_and_cover_everything(data, drawn):
    column, strategy = drawn
    value = data.draw(strategy)
    values = probes(column, [value])
    literal = written(value)
    parts = [t for t in ("<", "==", ">") if t in comparisons(column)]
    parts = parts if len(parts) == 3 else ["==", "!="]
    times = sum(accepted(f"x {test} {literal}", column, values).astype(int) for test in parts)
    assert times.tolist() == [1] * len(values)
    for test, other in OPPOSITE.items():
        if test in comparisons(column):
            here = accepted(f"x {test} {literal}", column, values)
            there = accepted(f"x {other} {literal}", column, values)
            assert (here != there).all()


@pytest.mark.parametrize("value", [LARGEST, -LARGEST])
def test_less_equal_and_more_are_apart_at_the_largest_whole_number(value):
    column = ColumnSchema("x", "integer")
    times = sum(
        accepted(f"x {test} {value}", column, np.array([float(value)])).astype(int)
        for test in ("<", "==", ">")
    )
    assert times.tolist() == [1]


@given(st.sampled_from(["integer", "count"]), NUMBERS)
def test_bounds_between_whole_numbers_leave_none_out(kind, bound):
    assume(abs(bound) < LARGEST - 1)
    column = ColumnSchema("x", kind)
    values = probes(column, [math.floor(bound), math.ceil(bound)])
    assert accepted(f"x < {bound!r}", column, values).tolist() == (values < bound).tolist()
    assert accepted(f"x > {bound!r}", column, values).tolist() == (values > bound).tolist()
    assert accepted(f"x <= {bound!r}", column, values).tolist() == (values <= bound).tolist()
    assert accepted(f"x >= {bound!r}", column, values).tolist() == (values >= bound).tolist()


@given(NUMBERS, NUMBERS)
def test_bounds_of_continuous_columns_leave_no_float_out(bound, other):
    column = ColumnSchema("x", "real")
    values = [math.nextafter(bound, side) for side in (-math.inf, math.inf)]
    values = np.array([*values, bound, other])
    assert accepted(f"x < {bound!r}", column, values).tolist() == (values < bound).tolist()
    assert accepted(f"x > {bound!r}", column, values).tolist() == (values > bound).tolist()


GRIDS = st.one_of(
    st.builds(
        lambda step, shift, low: {"resolution": step, "origin": shift * step, "low": low},
        st.sampled_from([0.01, 0.1, 0.5, 1 / 3, 2.5, 1000.0]),
        st.sampled_from([0.0, 0.25, 0.5]),
        st.none(),
    ),
    st.builds(
        lambda values: {"resolution": 0.25, "values": sorted(k / 4 for k in values)},
        st.lists(st.integers(-40, 40), min_size=1, max_size=8, unique=True),
    ),
    st.just({"resolution": 0.5, "origin": 0.0, "low": 0.5}),
    st.just({"resolution": 0.5, "origin": 0.0, "low": 0.0}),
    st.just({"resolution": 0.01, "origin": 0.0, "low": 0.0, "high": 1.0}),
    st.just({"resolution": 0.07}),
    st.just({"resolution": 0.25, "atoms": [0.0, 4.0]}),
    st.just({}),
)


@given(GRIDS, st.integers(-60, 60), st.sampled_from([0.0, 0.1, 0.3, 0.5, 0.9]), st.data())
def test_recorded_values_are_compared_as_they_are_recorded(fields, steps, off, data):
    """Events on densities accept what is recorded as a value that satisfies them."""
    column = ColumnSchema("x", "real", **fields)
    grid = column.grid
    start = (column.origin or 0.0) if not column.values else column.values[0]
    bound = float(np.round(start + (grid.step or 1.0) * (steps + off), 9))
    drawn = data.draw(st.lists(st.floats(-100, 100), min_size=1, max_size=20))
    recorded = grid.nearest(np.array(drawn))
    if set(fields) == {"resolution"}:
        drawn = recorded = recorded[np.abs(recorded - bound) > grid.step]
    same = np.abs(recorded - bound) <= 1e-7 * grid.step
    below, above = (recorded < bound) & ~same, (recorded > bound) & ~same
    # a float on the very end of two intervals belongs to both sets
    off_ends = np.ones(len(drawn), dtype=bool)
    for values in read_event(f"x <= {bound!r}", Schema((column,))).values():
        for end in (*values.low, *values.high):
            off_ends &= np.abs(np.array(drawn) - end) > 1e-9
    for values in read_event(f"x < {bound!r}", Schema((column,))).values():
        for end in (*values.low, *values.high):
            off_ends &= np.abs(np.array(drawn) - end) > 1e-9
    latent = np.array(drawn)[off_ends]
    expected = {"<": below, "<=": below | same, ">": above, ">=": above | same}
    if grid.single or grid.interval(bound) is not None:
        expected |= {"==": same, "!=": ~same}
    else:
        with pytest.raises(QuestionError, match="probability zero"):
            read_event(f"x == {bound!r}", Schema((column,)))
    for test, wanted in expected.items():
        found = accepted(f"x {test} {bound!r}", column, latent)
        assert found.tolist() == wanted[off_ends].tolist(), test


@given(st.data(), columns(kinds=DISCRETE))
def test_a_list_is_the_union_of_its_values_and_not_in_the_rest(data, drawn):
    column, strategy = drawn
    several = data.draw(st.lists(strategy, min_size=1, max_size=5))
    listed = ", ".join(map(written, several))
    values = probes(column, several)
    inside = accepted(f"x in [{listed}]", column, values)
    each = [accepted(f"x == {written(value)}", column, values) for value in several]
    assert inside.tolist() == np.any(each, axis=0).tolist()
    assert inside.any()
    assert accepted(f"x not in [{listed}]", column, values).tolist() == (~inside).tolist()
    assert accepted(f"x not in [{listed}] and x in [{listed}]", column, values).sum() == 0


@st.composite
def clauses(draw, schema: list[tuple[ColumnSchema, Any]]) -> str:
    """A clause on one of the columns."""
    column, strategy = draw(st.sampled_from(schema))
    if draw(st.booleans()):
        listed = ", ".join(written(draw(strategy)) for _ in range(2))
        return f"{column.name} {draw(st.sampled_from(['in', 'not in']))} [{listed}]"
    test = draw(st.sampled_from(comparisons(column)))
    return f"{column.name} {test} {written(draw(strategy))}"


@given(st.data(), columns("a"), columns("b"))
def test_the_order_of_clauses_does_not_matter(data, a, b):
    parts = data.draw(st.lists(clauses([a, b]), min_size=2, max_size=5))
    shuffled = data.draw(st.permutations(parts))
    schema = (a[0], b[0])
    expected = sets(" and ".join(parts), *schema)
    for join in (" and ", " AND ", " & ", "&&", ", ", ", and "):
        assert sets(join.join(shuffled), *schema) == expected
    assert sets(" and ".join(f"({part})" for part in shuffled), *schema) == expected
    assert sets(f"(({' and '.join(shuffled)}))", *schema) == expected


@given(st.data(), columns("a", DISCRETE))
def test_several_clauses_accept_what_each_of_them_accepts(data, drawn):
    column, strategy = drawn
    parts = data.draw(st.lists(clauses([drawn]), min_size=1, max_size=4))
    values = probes(column, data.draw(st.lists(strategy, min_size=1, max_size=4)))
    each = [accepted(part, column, values) for part in parts]
    assert accepted(" and ".join(parts), column, values).tolist() == np.all(each, axis=0).tolist()


@given(st.data(), columns("a"), columns("b"))
def test_what_follows_the_bar_is_given(data, a, b):
    before, after = data.draw(clauses([a])), data.draw(clauses([b]))
    schema = Schema((a[0], b[0]))
    try:
        event, known = read_event(before, schema), read_given(after, schema)
    except QuestionError:
        with pytest.raises(QuestionError):
            read_question(f"{before} | {after}", schema)
        return
    asked, told = read_question(f"{before} | {after}", schema)
    assert {k: pairs(v) for k, v in asked.items()} == {k: pairs(v) for k, v in event.items()}
    assert list(told) == list(known)
    for position, value in known.items():
        same = pairs(told[position]) == pairs(value) if isinstance(value, ValueSet) else None
        assert told[position] == value if same is None else same


#: Pieces of questions: nearly all of what the grammar knows.
TOKENS = st.sampled_from(
    [
        *("a", "b", "`a`", "'b'", '"a"', "x y", "and", "or", "not", "in", "between", "is", "null"),
        *("=", "==", "!=", "<", "<=", ">", ">=", "≤", "≥", "≠", "[", "]", "(", ")", "{", "}", ","),
        *("&", "&&", "|", "!", "'", '"', "`", "\\", "\n", "\0", "3", "-4.5", "1e5", "1e999", "1_0"),
        *("_1", "٣", "²", "nan", "inf", "missing", "true", "2024-01-31", "2024-02-30", "12:00"),
        *("Z", "+02:00", "-99:99", "3 days", "1h", "-1 days +02:00:00", "99999999999999 w", "0000"),
    ]
)
NONSENSE = st.one_of(
    ODD_TEXT,
    st.text(),
    st.lists(TOKENS, max_size=12).map(" ".join),
    st.lists(TOKENS, max_size=12).map("".join),
    st.lists(st.one_of(TOKENS, ODD_TEXT), max_size=8).map(" ".join),
)


@settings(max_examples=5 * settings().max_examples)
@given(NONSENSE, columns("a"), columns("x y"), ODD_TEXT)
def test_any_text_is_answered_or_refused_in_words(text, a, b, name):
    assume(name not in ("a", "x y"))
    schema = Schema((a[0], b[0], ColumnSchema(name, "binary")))
    questions = [text, f"a {text}", f"a > {text}", f"a = 3 and {text}", {"a": text}, {text: text}]
    for question in questions:
        for read in (read_event, read_given, read_question):
            try:
                answer = read(question, schema)
            except QuestionError:
                continue
            for part in answer if isinstance(answer, tuple) else (answer,):
                assert all(isinstance(v, ValueSet) or math.isfinite(v) for v in part.values())


SCALARS = st.one_of(
    *(st.none(), st.booleans(), st.integers(), st.floats(), ODD_TEXT, st.binary(max_size=3)),
    *(st.decimals(), st.fractions(), st.complex_numbers(), st.datetimes(), st.dates()),
    *(st.times(), st.timedeltas(), st.floats(width=16).map(np.float16)),
    st.integers(300, 400).map(lambda digits: 10**digits),
    st.integers(0, 9).map(np.timedelta64),
    st.integers(1 - 2**63, 2**63 - 1).map(lambda ticks: np.datetime64(ticks, "s")),
    st.datetimes(timezones=st.just(dt.timezone(dt.timedelta(hours=14)))),
    st.sampled_from([pd.NaT, pd.NA, np.datetime64("NaT", "ns"), object()]),
)
OBJECTS = st.one_of(
    SCALARS,
    st.lists(SCALARS, max_size=3),
    st.tuples(SCALARS, SCALARS),
    st.lists(st.lists(SCALARS, max_size=2), max_size=2),
    st.dictionaries(st.text(max_size=2), SCALARS, max_size=2),
    st.lists(SCALARS, max_size=3).map(lambda some: np.array([*some, None], dtype=object)[:-1]),
)


@pytest.mark.filterwarnings("ignore:The 'generic' unit")
@settings(max_examples=5 * settings().max_examples)
@given(columns(), OBJECTS)
def test_any_value_is_answered_or_refused_in_words(drawn, value):
    for said in (value, [value], (value, None)):
        for read in (read_event, read_given):
            try:
                answer = read({"x": said}, Schema((drawn[0],)))
            except QuestionError:
                continue
            assert all(isinstance(v, ValueSet) or math.isfinite(v) for v in answer.values())


@pytest.mark.parametrize("kind", ["integer", "count", "real", "binary"])
def test_lengths_of_time_are_refused_in_words_by_other_columns(kind):
    with pytest.raises(QuestionError, match=r"not a number|neither true nor false"):
        read_event({"x": np.timedelta64(3, "s")}, Schema((ColumnSchema("x", kind),)))
