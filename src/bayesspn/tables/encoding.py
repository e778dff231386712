"""Tables as numbers and back: what the maths works on, and what the user sees.

`encode` turns a table into floats, one column each, NaN where a cell is missing; `decode` gives
floats back as a table of the user's library and types. The way there and back changes nothing,
except for times finer than a float can hold (see `bayesspn.tables.times`).
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Hashable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from bayesspn.arrays import Array
from bayesspn.numerics.checks import levels_to_user
from bayesspn.tables.cells import BoolArray, Cells, Scalar, TableError, shorten
from bayesspn.tables.dtypes import DEFAULT_DTYPES, category_content, number_type
from bayesspn.tables.frames import Table, build_frame, open_table
from bayesspn.tables.schema import ColumnSchema, Schema, list_some
from bayesspn.tables.text_values import read_text
from bayesspn.tables.times import (
    has_time_zone,
    seconds_from_times,
    time_unit,
    times_from_seconds,
)

#: Whole numbers up to here are exact in a float.
LARGEST_INTEGER = 2**53


def encode(table: Any, schema: Schema, handle_unknown: str = "error") -> Array:
    """Encode a table.

    Parameters
    ----------
    table : array or frame of shape (rows, columns)
        Frames are matched by column name, in any order; arrays by position.
    schema : Schema
        Columns that indicate missing cells are read off those that they are about; if the table
        has any of them, they are not looked at.
    handle_unknown : {"error", "warn", "ignore"}, default="error"
        What is done about values that the schema does not have, categories as a rule: they are
        refused, or taken as missing, with a warning that names them or without.

    Returns
    -------
    ndarray of shape (rows, columns)
        NaN where a cell is missing; columns in the order of the schema.

    Examples
    --------
    >>> schema = Schema((ColumnSchema("answer", "category", categories=("no", "yes")),))
    >>> encode([["yes"], [None], ["no"]], schema)
    array([[ 1.],
           [nan],
           [ 0.]])
    """
    return _encode(open_table(table), schema, handle_unknown)


def _encode(
    table: Table, schema: Schema, handle_unknown: str, ignored: Collection[Hashable] = ()
) -> Array:
    """Encode an opened table; columns of some names may be there and are not looked at."""
    values = np.empty((table.n_rows, len(schema)), order="F")  # written and read by column
    unknown: dict[Hashable, tuple[Scalar, ...]] | None = {} if handle_unknown != "error" else None
    for target, source in enumerate(_match_columns(table, schema, ignored)):
        column, cells = schema.columns[target], table.read(source)
        if column.indicates is not None:
            values[:, target] = cells.missing
        else:
            values[:, target] = encode_cells(cells, column, unknown)
    if unknown and handle_unknown == "warn":
        warn_of_unknown(unknown)
    return values


def forget_constants(values: Array, schema: Schema) -> Array:
    """Encoded rows without the cells of columns that have one category, which say nothing.

    A model has a second category for such columns, so that theirs would not be quite certain.
    """
    constant = [len(column.categories) == 1 for column in schema]
    return np.where(constant, np.nan, values) if any(constant) else values


def warn_of_unknown(unknown: Mapping[Hashable, tuple[Scalar, ...]]) -> None:
    """Warn, once, of values that a model knows nothing of, by column."""
    named = "; ".join(
        f"column {shorten(name)}: {list_some(values, 4).removeprefix('known are ')}"
        for name, values in unknown.items()
    )
    warnings.warn(
        f"unknown values are taken as missing ({named}); handle_unknown='error' refuses them, "
        "'ignore' says nothing",
        UserWarning,
        stacklevel=levels_to_user(),
    )


def encode_some(table: Any, schema: Schema, handle_unknown: str = "warn") -> Array:
    """Encode a table that may lack columns, which count as missing; see `encode`.

    Whether cells of a column that it lacks are missing is unknown, too.

    Examples
    --------
    >>> import pandas as pd
    >>> schema = Schema((ColumnSchema("age", "integer"), ColumnSchema("size", "real")))
    >>> encode_some(pd.DataFrame({"size": [1.5]}), schema)
    array([[nan, 1.5]])
    """
    opened = open_table(table)
    present = [
        place
        for place, column in enumerate(schema)
        if (column.name if column.indicates is None else column.indicates) in opened.names
    ]
    if not opened.named or not present:
        return encode(opened, schema, handle_unknown)
    values = np.full((opened.n_rows, len(schema)), np.nan)
    some = Schema(tuple(schema.columns[k] for k in present))
    indicators = {column.name for column in schema if column.indicates is not None}
    values[:, present] = _encode(opened, some, handle_unknown, indicators)
    return values


def _match_columns(table: Table, schema: Schema, ignored: Collection[Hashable]) -> list[int]:
    """Position in the table of every column of the schema; of what indicators are about."""
    recorded = schema.recorded
    if not table.named:
        if len(table.names) != len(recorded):
            # scikit-learn's words, which its estimator checks look for
            raise TableError(
                f"X has {len(table.names)} features, but Schema is expecting {len(recorded)} "
                "features as input"
            )
        positions = {name: position for position, name in enumerate(recorded)}
    else:
        positions = {name: position for position, name in enumerate(table.names)}
        _check_columns(table, schema, ignored)
    for column in schema:
        if column.indicates is not None and column.indicates not in positions:
            raise TableError(
                f"column {shorten(column.name)} says whether {shorten(column.indicates)} is "
                "missing, which neither the table nor the schema has; add that column, or leave "
                "out the one that is about it"
            )
    return [
        positions[column.name if column.indicates is None else column.indicates]
        for column in schema
    ]


def _check_columns(table: Table, schema: Schema, ignored: Collection[Hashable]) -> None:
    """Check that a table has the columns that it should have, and no others."""
    known = {*schema.names, *(column.indicates for column in schema), *ignored}
    for name in schema.recorded:
        if name not in table.names:
            raise TableError(
                f"the table has no column {shorten(name)}, which the schema has; add it, with "
                f"missing cells if it is unknown ({list_some(table.names)})"
            )
    for name in table.names:
        if name not in known:  # indicators may be there, and are not looked at
            raise TableError(f"column {shorten(name)} is not in the schema; drop it from the table")


def encode_cells(
    cells: Cells,
    column: ColumnSchema,
    unknown: dict[Hashable, tuple[Scalar, ...]] | None = None,
) -> Array:
    """Encode one column; unknown categories are added to ``unknown``, or refused without it."""
    if cells.missing.all():
        return np.full(len(cells.missing), np.nan)  # of whatever type it is
    if column.kind == "category":
        return _encode_categories(cells, column, unknown)
    cells = read_text(cells)
    if column.timed:
        return _encode_times(cells, column)
    values = numbers(cells)
    wrong, problem = np.zeros(len(values), dtype=bool), ""
    if column.kind == "binary":
        wrong, problem = ~np.isin(values, (0.0, 1.0)), "is neither true nor false"
    elif column.kind == "count" or (column.whole and unknown is None):
        # a model of whole numbers has a density between them, one of counts has not
        wrong, problem = values != np.floor(values), "is not a whole number"
    wrong &= ~cells.missing
    if not wrong.any():
        return values
    if unknown is None:
        raise _refusal(cells, wrong, problem, column.kind)
    unknown[cells.name] = tuple(pd.unique(values[wrong]).tolist())
    return np.where(wrong, np.nan, values)


def _refuse(cells: Cells, wrong: BoolArray, problem: str, kind: str) -> None:
    """Raise an error that names the first wrong cell, if there is one."""
    if (wrong & ~cells.missing).any():
        raise _refusal(cells, wrong & ~cells.missing, problem, kind)


def _refusal(cells: Cells, wrong: BoolArray, problem: str, kind: str) -> TableError:
    row = int(np.flatnonzero(wrong)[0])
    return TableError(
        f"column {shorten(cells.name)}, row {row}: {shorten(cells.as_objects()[row])} {problem}; "
        f"correct it, make it missing, or change the column's kind ({kind})"
    )


def numbers(cells: Cells) -> Array:
    """Cells of a column as floats, NaN where missing; they must be finite and exact.

    Examples
    --------
    >>> numbers(Cells("n", "int8", np.array([3, 0]), np.array([False, True])))
    array([ 3., nan])
    """
    values = cells.values
    if cells.levels is not None:
        levels = _number_levels(cells, cells.levels)
        values = np.append(levels, np.nan)[np.where(cells.missing, -1, values)]
    if values.dtype.kind in "Mm":
        _refuse(cells, ~cells.missing, "is a time, not a number", "a number")
    if values.dtype.kind in "iu":
        inexact = (values > LARGEST_INTEGER) | (values < -LARGEST_INTEGER)
        rows = np.flatnonzero(inexact & ~cells.missing)
        if rows.size:
            raise TableError(
                f"column {shorten(cells.name)}, row {rows[0]}: {values[rows[0]]} is beyond 2^53, "
                "where floats no longer hold every whole number; drop the column or make it text"
            )
    floats = np.where(cells.missing, np.nan, values.astype(np.float64))
    rows = np.flatnonzero(np.isinf(floats))
    if rows.size:
        raise TableError(
            f"column {shorten(cells.name)}, row {rows[0]}: the value is infinite "
            f"({floats[rows[0]]:g}); use a finite value, or NaN for a missing cell"
        )
    return floats


def _number_levels(cells: Cells, levels: tuple[Scalar, ...]) -> Array:
    text = np.array([isinstance(level, str) for level in levels])
    if text.any():
        wrong = np.append(text, False)[np.where(cells.missing, -1, cells.values)]
        _refuse(cells, wrong, "is text, not a number", "a number")
    # text that is declared but does not occur does no harm
    return np.array([np.nan if isinstance(level, str) else float(level) for level in levels])


def _encode_categories(
    cells: Cells, column: ColumnSchema, unknown: dict[Hashable, tuple[Scalar, ...]] | None
) -> Array:
    codes: dict[Any, float] = {value: float(k) for k, value in enumerate(column.categories)}
    if cells.levels is None:
        # by hashing: sorting millions of cells takes ten times as long
        positions, levels = pd.factorize(cells.values)
        values: list[Any] = levels.tolist()
    else:
        values, positions = list(cells.levels), cells.values
    lookup = np.array([*(codes.get(value, np.nan) for value in values), np.nan])
    encoded = lookup[np.where(cells.missing, -1, positions)]
    unseen = np.flatnonzero(np.isnan(encoded) & ~cells.missing)
    if unseen.size and unknown is not None:
        unknown[cells.name] = tuple(values[int(k)] for k in pd.unique(positions[unseen]))
    elif unseen.size:
        value = shorten(values[int(positions[unseen[0]])])
        raise TableError(
            f"column {shorten(cells.name)}, row {unseen[0]}: {value} is not among its categories; "
            f"{list_some(column.categories)}: make the cell missing, or add the category to the "
            "schema and fit again"
        )
    return encoded


def _encode_times(cells: Cells, column: ColumnSchema) -> Array:
    wanted = "M" if column.kind == "datetime" else "m"
    if cells.levels is not None or cells.values.dtype.kind != wanted:
        article = "a moment" if wanted == "M" else "a length of time"
        fix = "pandas.to_datetime" if wanted == "M" else "pandas.to_timedelta"
        _refuse(cells, ~cells.missing, f"is not {article}: convert it with {fix}", column.kind)
    if wanted == "M" and column.dtype is not None:
        known = {True: "a time zone", False: "no time zone"}
        given, expected = has_time_zone(cells.dtype), has_time_zone(column.dtype)
        if given != expected:
            raise TableError(
                f"column {shorten(cells.name)} has {known[given]}, but its schema says "
                f"{column.dtype}; convert one of them"
            )
    return np.where(cells.missing, np.nan, seconds_from_times(cells.values))


def with_indicators(frame: pd.DataFrame, schema: Schema) -> pd.DataFrame:
    """A frame with the columns that indicate missing cells, as pictures and pages show them.

    Examples
    --------
    >>> schema = Schema((ColumnSchema("pay", "real"),)).model_missing("pay")
    >>> with_indicators(pd.DataFrame({"pay": [1.5, None]}), schema)["pay is missing"].tolist()
    [False, True]
    """
    indicators = [column for column in schema if column.indicates in frame.columns]
    if indicators:
        frame = frame.copy()
    for column in indicators:
        frame[column.name] = frame[column.indicates].isna()
    return frame


def decode(values: Array, schema: Schema, like: Any = "pandas") -> Any:
    """Give encoded values back as a table.

    Parameters
    ----------
    values : ndarray of shape (rows, columns)
        NaN where a cell is missing. Values that a column's type cannot hold become the nearest
        that it can: integers are rounded, bytes stay between 0 and 255.
    schema : Schema
        Indicators of missing cells are left out, unless the column that they are about is.
    like : table or {"numpy", "pandas", "polars", "pyarrow"}, default="pandas"
        What to give back. A pandas frame of as many rows lends its index.

    Returns
    -------
    table of shape (rows, columns)
        Missing cells have the missing value of their type; plain integers and booleans of pandas,
        which have none, become nullable ones.

    Examples
    --------
    >>> schema = Schema((ColumnSchema("age", "integer"),))
    >>> decode(np.array([[31.2], [np.nan]]), schema)
        age
    0    31
    1  <NA>
    """
    values = np.asarray(values, dtype=np.float64)
    if values.ndim != 2 or values.shape[1] != len(schema):
        raise ValueError(f"expected rows × {len(schema)} columns, got shape {values.shape}")
    cells = [
        _decode_column(values[:, j], column)
        for j, column in enumerate(schema)
        if column.indicates is None or column.indicates not in schema
    ]
    return build_frame(cells, like)


def _decode_column(values: Array, column: ColumnSchema) -> Cells:
    missing = np.isnan(values)
    filled = np.where(missing, 0.0, values)
    if column.kind == "category":
        return _decode_categories(filled, missing, column)
    dtype = column.dtype or DEFAULT_DTYPES[column.kind]
    if column.timed:
        kind = "M" if column.kind == "datetime" else "m"
        # clocks of time zones differ from UTC by less than a day
        margin = 86_400.0 if has_time_zone(dtype) else 0.0
        times = times_from_seconds(values, time_unit(dtype), kind, margin)
        return Cells(column.name, dtype, times, missing)
    if column.kind == "binary" and category_content(dtype) is not None:
        codes = np.rint(filled).astype(np.int64)
        return Cells(column.name, dtype, codes, missing, (False, True), declared=True)
    if column.kind != "real":
        filled = np.rint(filled)
    number = number_type(dtype)
    if number is None:  # objects: Python's own numbers
        number = np.dtype(_OBJECT_NUMBERS.get(column.kind, np.int64))
    return Cells(column.name, dtype, _fit_into(filled, number), missing)


_OBJECT_NUMBERS: dict[str, Any] = {"binary": np.bool_, "real": np.float64}


def _fit_into(values: Array, number: np.dtype[Any]) -> Any:
    """Nearest values that a number type can hold."""
    if number.kind == "b":
        return np.rint(values) >= 1
    if number.kind == "f":
        limits = np.finfo(number)
        return np.clip(values, float(limits.min), float(limits.max)).astype(number)
    bounds = np.iinfo(number)
    # the largest 64-bit integers are no floats: the next float above them would overflow
    highest = np.nextafter(2.0**63, 0) if bounds.max >= LARGEST_INTEGER else float(bounds.max)
    return np.clip(np.rint(values), float(bounds.min), highest).astype(number)


def _decode_categories(filled: Array, missing: BoolArray, column: ColumnSchema) -> Cells:
    categories = column.categories
    codes = np.rint(filled).astype(np.int64)
    if len(categories) == 1:
        # the model gives a constant column a second category, for values never seen
        codes = np.where(codes == 1, 0, codes)
    outside = np.flatnonzero((codes < 0) | (codes >= len(categories)))
    if outside.size:
        raise ValueError(
            f"column {shorten(column.name)}, row {outside[0]}: code {filled[outside[0]]:g} is not "
            f"the position of one of its {len(categories)} categories"
        )
    dtype = column.dtype or _category_dtype(categories)
    number = number_type(dtype)
    if number is None:
        return Cells(column.name, dtype, codes, missing, categories, True, column.ordered)
    try:
        lookup = np.array(categories, dtype=number)
    except (ValueError, OverflowError):
        raise TableError(
            f"column {shorten(column.name)}: its categories cannot be given back as {dtype}; "
            "change its dtype in the schema"
        ) from None
    return Cells(column.name, dtype, lookup[codes], missing)


def _category_dtype(categories: tuple[Scalar, ...]) -> str:
    types = {type(category) for category in categories}
    plain = {str: "str", bool: "bool", int: "int64", float: "float64"}
    return plain[types.pop()] if len(types) == 1 else "object"


def as_recorded(values: Array, schema: Schema) -> Array:
    """Round drawn values to how their columns are recorded: whole numbers, cents, whole days.

    Parameters
    ----------
    values : ndarray of shape (rows, columns)
    schema : Schema
        Counts are rounded to whole numbers, other numbers and times to the nearest value of their
        `bayesspn.leaves.grids.Grid`; whole numbers stay within ±2^53.

    Returns
    -------
    ndarray of shape (rows, columns)

    Examples
    --------
    >>> schema = Schema((ColumnSchema("day", "datetime", resolution=86_400),))
    >>> as_recorded(np.array([[100_000.0]]), schema)
    array([[86400.]])
    """
    values = np.array(values, dtype=np.float64)
    for j, column in enumerate(schema):
        if column.continuous:
            values[:, j] = column.grid.nearest(values[:, j])
        if column.whole:
            # what is given back must be fit to be read again
            values[:, j] = np.clip(np.rint(values[:, j]), -LARGEST_INTEGER, LARGEST_INTEGER)
    return values
