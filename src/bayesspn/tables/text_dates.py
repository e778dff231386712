"""Dates in text files, which have no types of their own."""

from __future__ import annotations

import re

import pandas as pd

#: What a cell of a date column begins with: the ISO order is the only one without doubt.
_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d|$)")


def parse_dates(table: pd.DataFrame) -> pd.DataFrame:
    """Turn text columns all of whose cells are ISO dates into dates.

    Examples
    --------
    >>> parse_dates(pd.DataFrame({"day": ["2024-01-31", None], "id": ["2024-1", "x"]})).dtypes
    day    datetime64[us]
    id                str
    dtype: object
    """
    for position in range(table.shape[1]):
        cells = table.iloc[:, position]
        if not pd.api.types.is_string_dtype(cells.dtype):
            continue
        observed = cells.dropna()
        if observed.empty or not all(map(_ISO_DATE.match, observed.astype(str))):
            continue
        try:
            dates = pd.to_datetime(cells, format="ISO8601")
        except ValueError:  # no such day, or several time zones: it stays text
            continue
        table = table.assign(**{str(table.columns[position]): dates})
    return table
