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


def read_text(cells: Cells) -> Cells:
    """A column of text as dates or numbers, if all of its cells are such; else as it is.

    Dates are those in ISO's order. Numbers have a currency ("$0.50"), commas between thousands
    ("1,234") or a per cent sign; they lose these.

    Examples
    --------
    >>> def text(*levels):
    ...     codes = np.arange(len(levels))
    ...     return Cells("a", "str", codes, np.zeros(len(levels), dtype=bool), levels)
    >>> read_text(text("$0.50", "$1,234")).values
    array([5.000e-01, 1.234e+03])
    >>> read_text(text("2024-01-31", "2024-02-01")).dtype
    'datetime64[us]'
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
    read: Any
    if all(_ISO_DATE.match(str(level)) for level in written):
        try:
            read = pd.to_datetime(pd.Series(written), format="ISO8601").to_numpy("datetime64[us]")
        except (ValueError, TypeError):  # no such day, or several time zones: it stays text
            return cells
        values = np.full(len(levels), np.datetime64("NaT"), dtype="datetime64[us]")
    elif all(_MARKED_NUMBER.fullmatch(str(level)) for level in written):
        read = [float(str(level).translate(_MARKS)) for level in written]
        values = np.full(len(levels), np.nan)
    else:
        return cells
    values[used] = read
    codes = np.where(cells.missing, 0, cells.values)
    return replace(cells, dtype=str(values.dtype), values=values[codes], levels=None, ordered=False)
