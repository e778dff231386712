"""Dates and numbers that a table holds as text."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from bayesspn.tables.cells import Cells

#: What a cell of a date column begins with: the ISO order is the only one without doubt.
_ISO_DATE = re.compile(r"(?a)\d{4}-\d{2}-\d{2}(?:[T ]\d|$)")

#: Numbers with a currency, with commas between thousands, or in per cent. Plain digits in text
#: are left alone: who writes these as text often means codes.
_MARKED_NUMBER = re.compile(
    r"(?a)\s*[-+]?\s*(?:[$€£]\s*(?:\d+|\d{1,3}(?:,\d{3})+)(?:\.\d+)?|\d{1,3}(?:,\d{3})+(?:\.\d+)?"
    r"|\d+(?:\.\d+)?\s*%)\s*"
)
_MARKS = str.maketrans("", "", "$€£,% ")

#: Numbers with commas between thousands, and those below a thousand, which have none.
_THOUSANDS = re.compile(r"(?a)\s*[-+]?\s*\d{1,3}(?:,\d{3})+(?:\.\d+)?\s*")
_BELOW_THOUSAND = re.compile(r"(?a)\s*[-+]?\s*(?:0|[1-9]\d{0,2})(?:\.\d+)?\s*")

#: What a moment ends with that says how far its clock is from UTC.
_OFFSET = re.compile(r"(?ai):\d{2}(?:[:.][\d.]*)?\s*(?:Z|[-+]\d{2}(?::?\d{2})?)$")


def read_text(cells: Cells) -> Cells:
    """A column of text as dates or numbers, if all of its cells are such; else as it is.

    Dates are those in ISO's order; with offsets, which may differ in summer, they are moments of
    UTC. Numbers have a currency ("$0.50"), commas between thousands ("1,234", beside which "999"
    needs none) or a per cent sign; they lose these.

    Examples
    --------
    >>> def text(*levels):
    ...     codes = np.arange(len(levels))
    ...     return Cells("a", "str", codes, np.zeros(len(levels), dtype=bool), levels)
    >>> read_text(text("$0.50", "$1,234")).values
    array([5.000e-01, 1.234e+03])
    >>> read_text(text("2024-01-31", "2024-02-01")).dtype
    'datetime64[us]'
    >>> read_text(text("2024-01-31T00:30+01:00")).values
    array(['2024-01-30T23:30:00.000000'], dtype='datetime64[us]')
    >>> read_text(text("1", "2")).levels
    ('1', '2')
    """
    levels = cells.levels
    if levels is None or cells.declared or cells.missing.all():
        return cells
    used = np.zeros(len(levels), dtype=bool)
    used[cells.values[~cells.missing]] = True
    written = [level for level, seen in zip(levels, used, strict=True) if seen]
    if not all(isinstance(level, str) for level in written):
        return cells
    words = [str(level) for level in written]
    read: Any
    if all(_ISO_DATE.match(word) for word in words):
        offsets = sum(_OFFSET.search(word) is not None for word in words)
        if 0 < offsets < len(words):  # the others may be of any clock
            return cells
        zoned = offsets > 0
        try:
            moments = pd.to_datetime(pd.Series(words), format="ISO8601", utc=zoned)
            read = moments.to_numpy("datetime64[us]")
        except (ValueError, TypeError):  # no such day: it stays text
            return cells
        values = np.full(len(levels), np.datetime64("NaT", "us"), dtype="datetime64[us]")
        dtype = "datetime64[us, UTC]" if zoned else "datetime64[us]"
    elif _are_marked_numbers(words):
        read = [marked_number(word) for word in words]
        values, dtype = np.full(len(levels), np.nan), "float64"
    else:
        return cells
    values[used] = read
    codes = np.where(cells.missing, 0, cells.values)
    return replace(cells, dtype=dtype, values=values[codes], levels=None, ordered=False)


def _are_marked_numbers(words: list[str]) -> bool:
    if all(_MARKED_NUMBER.fullmatch(word) for word in words):
        return True
    return any(_THOUSANDS.fullmatch(word) for word in words) and all(
        _THOUSANDS.fullmatch(word) or _BELOW_THOUSAND.fullmatch(word) for word in words
    )


def marked_number(text: str) -> float:
    """A number without its currency, the commas between its thousands or its per cent sign.

    Raises
    ------
    ValueError
        If the text is no such number.

    Examples
    --------
    >>> marked_number("$1,234.50"), marked_number("12 %")
    (1234.5, 12.0)
    """
    if not (_MARKED_NUMBER.fullmatch(text) or _BELOW_THOUSAND.fullmatch(text)):
        raise ValueError(f"{text!r} is not a number")
    return float(text.translate(_MARKS))
