"""Single values as questions write them, in encoded units.

A value is a Python or NumPy object, or a `Literal` where it comes as text. What `encode` accepts in
a cell gets the same code here; beyond that, text stands for numbers, categories and times.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import decimal
import math
import numbers
import operator
import re
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from bayesspn.tables.cells import shorten, suggest
from bayesspn.tables.encoding import LARGEST_INTEGER
from bayesspn.tables.schema import ColumnSchema, list_some
from bayesspn.tables.text_values import marked_number
from bayesspn.tables.times import seconds_from_times, time_zone, to_utc

#: Words for the values of a binary column.
_TRUTH = {"true": 1, "yes": 1, "1": 1, "false": 0, "no": 0, "0": 0}

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}

_WHOLE = re.compile(r"[+-]?\d+(_\d+)*", re.ASCII)

_NUMBER = re.compile(r"[+-]?(\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(e[+-]?\d+)?", re.IGNORECASE)

#: A moment: a year, a month or a day, with or without a time of day and an offset.
MOMENT = re.compile(
    r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2})(?:[ T](\d{1,2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?"
    r"(?: ?(Z|[+-]\d{2}(?::?\d{2})?))?)?)?)?(?![\w:.+-])",
    re.IGNORECASE,
)

#: Nanoseconds of the units in which lengths of time are written.
_UNITS = {
    "w|weeks?": 604_800 * 10**9,
    "d|days?": 86_400 * 10**9,
    "h|hrs?|hours?": 3_600 * 10**9,
    "m|mins?|minutes?": 60 * 10**9,
    "s|secs?|seconds?": 10**9,
    "ms|millis?|milliseconds?": 10**6,
    "us|µs|micros?|microseconds?": 10**3,
    "ns|nanos?|nanoseconds?": 1,
}
_AMOUNT = rf"\d{{1,15}}(?:\.\d{{1,9}})?\s*(?:{'|'.join(_UNITS)})(?![^\W\d])"
_CLOCK = r"\d{1,9}:[0-5]\d(?::[0-5]\d(?:\.\d{1,9})?)?"

#: A length of time: amounts with units, a clock, or amounts and then a clock.
DURATION = re.compile(
    rf"([+-]?)\s*(?:((?:{_AMOUNT}\s*)+)(?:([+-]?)({_CLOCK}))?|({_CLOCK}))(?<!\s)(?![\w:.+-])",
    re.IGNORECASE,
)


class QuestionError(ValueError):
    """A question that cannot be understood; the message names column, value and fix."""


class MissingNotModelled(QuestionError):
    """A question whether cells are missing, of a column of which the model does not say it."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(message)
        self.position = position


@dataclass(frozen=True)
class Literal:
    """A value as text; without quotes it is a number first and a word second."""

    text: str
    quoted: bool = True

    def __repr__(self) -> str:
        return repr(self.text)


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, NA or NaT."""
    if isinstance(value, decimal.Decimal):
        return value.is_nan()  # pandas fails on signalling ones
    return bool(pd.api.types.is_scalar(value) and pd.isna(value))


def encode_values(values: Iterable[Any], column: ColumnSchema) -> list[float]:
    """Encode values that the column is to be equal to.

    Parameters
    ----------
    values : iterable
        Python or NumPy scalars, or literals.
    column : ColumnSchema

    Examples
    --------
    >>> encode_values([Literal("yes"), "no"], ColumnSchema("x", "binary"))
    [1.0, 0.0]
    """
    plain = [_simplify(value, column) for value in values]
    if column.coded:
        index = _CategoryIndex(column)
        return [float(index.find(value)) for value in plain]
    return [_check_whole(value, encode_bound(value, column), column) for value in plain]


def encode_bound(value: Any, column: ColumnSchema) -> float:
    """Encode a value that a column of numbers or times is compared with.

    Examples
    --------
    >>> encode_bound(Literal("1970-01-02"), ColumnSchema("day", "datetime"))
    86400.0
    """
    value = _simplify(value, column)
    if column.kind == "datetime":
        return _encode_moment(value, column)
    if column.kind == "duration":
        return _encode_duration(value, column)
    number = _as_number(value)
    if number is None and isinstance(value, Literal):
        with contextlib.suppress(ValueError):  # as tables may write it: "$1,234"
            number = marked_number(value.text)
    if number is None:
        raise _wrong(column, value, "is not a number; write one such as 40 or 2.5")
    if not math.isfinite(number):
        raise _wrong(column, value, "is not finite; use a finite number, or leave that end open")
    return number


def compare_categories(test: str, value: Any, column: ColumnSchema) -> list[int]:
    """Codes of the categories that are below or above a value.

    Ordered categories compare by their order, others only if they are all numbers.

    Examples
    --------
    >>> stars = ColumnSchema("stars", "category", categories=(1, 2, 3))
    >>> compare_categories(">", Literal("1.5"), stars)
    [1, 2]
    """
    value, compare = _simplify(value, column), _COMPARE[test]
    index = _CategoryIndex(column)
    codes = range(len(index.categories))
    found = index.look_up(value) if column.ordered else []
    if len(found) == 1:
        return [code for code in codes if compare(code, found[0])]
    if column.kind == "binary" or not (column.ordered or index.numbers):
        raise _wrong(
            column,
            value,
            f"cannot be compared with {test}, since the column's values have no order; use ==, != "
            f"or in [...]: {list_some(index.categories)}",
        )
    ascending = sorted(index.numbers) == index.numbers
    number = _as_number(value)
    if (
        not index.numbers
        or number is None
        or math.isnan(number)
        or (column.ordered and not ascending)
    ):
        raise index.unknown(value)
    return [code for code in codes if compare(index.numbers[code], number)]


class _CategoryIndex:
    """Finds the code of a category however it is written."""

    def __init__(self, column: ColumnSchema) -> None:
        self.column = column
        self.categories = column.categories or (False, True)
        self.codes: dict[Hashable, int] = {c: code for code, c in enumerate(self.categories)}
        numbers = [
            None if isinstance(c, bool) else _as_number(Literal(c) if isinstance(c, str) else c)
            for c in self.categories
        ]
        self.by_number: dict[float, list[int]] = {}
        for code, number in enumerate(numbers):
            if number is not None:
                self.by_number.setdefault(number, []).append(code)
        #: The categories as numbers, empty unless all of them are.
        self.numbers = [number for number in numbers if number is not None]
        if len(self.numbers) < len(numbers):
            self.numbers = []
        self.boolean = set(self.categories) <= {0, 1}

    def find(self, value: Any) -> int:
        found = self.look_up(value)
        if len(found) > 1:
            raise _wrong(
                self.column,
                value,
                f"could be several categories: write one of {list_some(self._select(found))}",
            )
        if not found:
            raise self.unknown(value)
        return found[0]

    def look_up(self, value: Any) -> list[int]:
        """Codes that a value may stand for."""
        number: float | int | None = _as_number(value)
        spellings: list[Any] = [value]
        if isinstance(value, Literal):
            if _WHOLE.fullmatch(value.text.strip()):
                number = int(value.text)  # floats do not tell the largest ones apart
            spellings = [value.text, number] if value.quoted else [number, value.text]
            word = value.text.lower()
            if self.boolean and (self.column.kind == "binary" or word in ("true", "false")):
                spellings.append(_TRUTH.get(word))
        for spelling in spellings:
            # other types cannot be categories, and may have no hash
            if isinstance(spelling, str | int | float) and spelling in self.codes:
                return [self.codes[spelling]]
        return [] if number is None else self.by_number.get(number, [])

    def unknown(self, value: Any) -> QuestionError:
        if self.column.kind == "binary":
            return _wrong(self.column, value, "is neither true nor false; use true or false")
        word = value.text if isinstance(value, Literal) else value
        return _wrong(
            self.column,
            value,
            f"is not among its categories; {suggest(word, self.categories)}"
            f"{list_some(self.categories)}",
        )

    def _select(self, codes: list[int]) -> tuple[Hashable, ...]:
        return tuple(self.categories[code] for code in codes)


def _wrong(column: ColumnSchema, value: Any, problem: str) -> QuestionError:
    return QuestionError(f"column {shorten(column.name)}: {shorten(value)} {problem}")


def _simplify(value: Any, column: ColumnSchema) -> Any:
    """Text as a literal, NumPy's numbers as Python's."""
    if isinstance(value, str):
        return Literal(str(value))
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if is_missing(value):
        raise _wrong(column, value, "is a missing value; compare with a value, or leave it out")
    if isinstance(value, np.generic) and value.dtype.kind in "biuf":
        return value.item()
    return value


def _as_number(value: Any) -> float | None:
    """A number as a float, infinite if it is too large; None for anything else."""
    try:
        if isinstance(value, Literal):
            return float(value.text) if _NUMBER.fullmatch(value.text.strip()) else None
        # NumPy says that its lengths of time are integers
        number = isinstance(value, numbers.Real | decimal.Decimal)
        return float(value) if number and not isinstance(value, np.timedelta64) else None
    except ValueError:
        return None
    except OverflowError:
        return math.inf


def _check_whole(value: Any, encoded: float, column: ColumnSchema) -> float:
    if not column.whole:
        return encoded
    if encoded != math.floor(encoded):
        raise _wrong(
            column, value, f"is not a whole number, as {column.kind}s are; ask for a range"
        )
    if abs(encoded) > LARGEST_INTEGER:
        raise _wrong(column, value, "is beyond 2^53, where floats are not exact; ask for a range")
    if column.kind == "count" and encoded < 0:
        raise _wrong(column, value, "is negative; counts are whole numbers from 0 on")
    return encoded


def _encode_moment(value: Any, column: ColumnSchema) -> float:
    zone = time_zone(column.dtype or "")
    try:
        if isinstance(value, Literal):
            draw, fraction, offset = _read_moment(value.text.strip())
        elif isinstance(value, dt.date | np.datetime64):
            draw, fraction, offset = pd.Timestamp(value), 0.0, None
            if draw.tz is not None:
                offset = draw.utcoffset()
                draw = draw.tz_convert("UTC").tz_localize(None)
        else:
            raise ValueError
        if offset is None and zone is not None:
            draw = to_utc(draw, zone)
    except (ValueError, OverflowError, TypeError, NotImplementedError):
        # when clocks change, some times do not exist and some come twice
        fix = "'2024-01-31 12:00'" if zone is None else "'2024-01-31 12:00+01:00'"
        raise _wrong(column, value, f"is not a moment; write it as 2024-01-31 or {fix}") from None
    if offset and column.dtype is not None and zone is None:
        raise _wrong(
            column, value, "has a time zone, but the column has none; leave the time zone out"
        )
    return float(seconds_from_times(np.array([draw.to_numpy()]))[0]) + fraction


def _read_moment(text: str) -> tuple[pd.Timestamp, float, pd.Timedelta | None]:
    """A moment in whole seconds, the rest of its seconds, and its offset from UTC if it has one."""
    found = MOMENT.fullmatch(text)
    if found is None:
        raise ValueError
    year, month, day, hour, minute, second, fraction, zone = found.groups()
    # spelled out in full, so that pandas has nothing to guess
    iso = f"{year}-{int(month or 1):02}-{int(day or 1):02}"
    iso += f"T{int(hour or 0):02}:{minute or '00'}:{second or '00'}"
    draw = pd.Timestamp(np.datetime64(iso))
    # apart, because nanoseconds do not reach far in a 64-bit time
    rest = int((fraction or "").ljust(9, "0")) / 10**9
    if zone is None:
        return draw, rest, None
    minutes = 0 if zone in "Zz" else 60 * int(zone[1:3]) + int(zone[3:].lstrip(":") or 0)
    offset = pd.Timedelta(minutes=-minutes if zone[0] == "-" else minutes)
    return draw - offset, rest, offset


def _encode_duration(value: Any, column: ColumnSchema) -> float:
    try:
        if isinstance(value, Literal):
            return _read_duration(value.text.strip())
        generic = isinstance(value, np.timedelta64) and np.datetime_data(value)[0] == "generic"
        if not isinstance(value, dt.timedelta | np.timedelta64) or generic:
            raise ValueError
        return float(seconds_from_times(np.array([pd.Timedelta(value).to_numpy()]))[0])
    except (ValueError, OverflowError, TypeError):
        raise _wrong(
            column, value, "is not a length of time; write it with a unit, such as '3 days'"
        ) from None


def _read_duration(text: str) -> float:
    found = DURATION.fullmatch(text)
    if found is None:
        raise ValueError
    sign, amounts, clock_sign, clock, only_clock = found.groups()
    ticks = sum(
        Fraction(number) * next(n for unit, n in _UNITS.items() if re.fullmatch(unit, name))
        for number, name in re.findall(r"([\d.]+)\s*([^\W\d]+)", (amounts or "").lower())
    )
    parts = (clock or only_clock or "0").split(":")
    pace = Fraction(sum(Fraction(part) * 60 ** (2 - k) for k, part in enumerate(parts))) * 10**9
    # as pandas shows and reads them: "-1 days +02:00:00" is two hours more than minus a day
    size = -1 if sign == "-" else 1
    clock_size = size if not clock_sign else -1 if clock_sign == "-" else 1
    whole, rest = divmod(round(size * ticks + clock_size * pace), 10**9)
    return whole + rest / 10**9
