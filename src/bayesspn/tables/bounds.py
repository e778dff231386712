"""Cells that are known to lie between bounds: survival times, dates known to the month."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any

import numpy as np
import pandas as pd

from bayesspn.arrays import Array, BoolArray
from bayesspn.leaves import FAMILIES
from bayesspn.tables.cells import TableError, shorten
from bayesspn.tables.columns import check_largest
from bayesspn.tables.encoding import encode
from bayesspn.tables.schema import ColumnSchema, Schema

Bounds = Mapping[Hashable, Sequence[Any]]


def encode_bounds(bounds: Bounds, schema: Schema, values: Array) -> tuple[Array, Array]:
    """Encode bounds of cells that a table lacks.

    Parameters
    ----------
    bounds : mapping of column names to pairs (low, high)
        Each a value for all rows, or one for every row; None, NaN, NaT and infinity are open ends.
    schema : Schema
    values : ndarray of shape (rows, columns)
        The encoded table. Bounds of cells that are there are not used.

    Returns
    -------
    low, high : ndarray of shape (rows, columns)
        NaN for all cells but those with bounds; infinite at open ends.

    Examples
    --------
    >>> from bayesspn.tables import ColumnSchema
    >>> schema = Schema((ColumnSchema("years", "real"),))
    >>> low, high = encode_bounds({"years": ([5, 7], None)}, schema, np.array([[np.nan], [3.0]]))
    >>> low.ravel(), high.ravel()
    (array([ 5., nan]), array([inf, nan]))
    """
    _check_mapping(bounds)
    low, high = np.full(values.shape, np.nan), np.full(values.shape, np.nan)
    for name, pair in bounds.items():
        position = schema.position(name)
        column = schema.columns[position]
        if column.coded:
            raise TableError(
                f"column {shorten(name)} has categories, which have no bounds; make its cells "
                "missing"
            )
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise TableError(
                f"bounds of column {shorten(name)} must be a pair (low, high), got {shorten(pair)}"
            )
        starts, ends = (
            _encode_end(end, side, column, len(values))
            for end, side in zip(pair, ("lower", "upper"), strict=True)
        )
        told = np.isnan(values[:, position]) & (np.isfinite(starts) | np.isfinite(ends))
        low[told, position], high[told, position] = starts[told], ends[told]
        _check_bounds(column, low[:, position], high[:, position])
    return low, high


def admit_bounds(bounds: Bounds, schema: Schema, stated: Schema | None, values: Array) -> Schema:
    """The schema, of whose columns those are read anew that bounds go beyond.

    Parameters
    ----------
    bounds : mapping of column names to pairs (low, high)
    schema : Schema
        Of a model, with the grids and limits that were read off its table.
    stated : Schema or None
        What the user said of the columns, which stays.
    values : ndarray of shape (rows, columns)
        The encoded table.
    """
    _check_mapping(bounds)
    admitted = list(schema.columns)
    for name in bounds:
        column = schema[name]
        if not column.continuous or (column.low is None and column.high is None):
            continue
        known = stated[name] if stated is not None and name in stated else None
        if known is None or known.kind != column.kind:
            known = replace(
                column,
                resolution=column.resolution if column.timed else None,
                origin=None,
                values=(),
                atoms=(),
                low=None,
                high=None,
            )
        position = schema.position(name)
        open_schema = Schema((*admitted[:position], known, *admitted[position + 1 :]))
        low, high = encode_bounds({name: bounds[name]}, open_schema, values)
        below = column.low is not None and (high < column.low).any()
        above = column.high is not None and (low > column.high).any()
        if below or above:
            admitted[position] = known
    return Schema(tuple(admitted))


def _check_mapping(bounds: Any) -> None:
    if not isinstance(bounds, Mapping):
        raise TypeError(
            f"bounds must be a dictionary of columns and pairs (low, high), got "
            f"{type(bounds).__name__}"
        )


def _encode_end(end: Any, side: str, column: ColumnSchema, rows: int) -> Array:
    """One end for every row, infinite where open; (rows,)."""
    if np.ndim(end) > 1:
        raise TableError(
            f"bounds of column {shorten(column.name)}: the {side} bound has shape "
            f"{np.shape(end)}; give one value, or one for each of the {rows} rows"
        )
    cells = pd.Series([end] * rows) if np.ndim(end) == 0 else pd.Series(np.asarray(end))
    if len(cells) != rows:
        raise TableError(
            f"bounds of column {shorten(column.name)} are for {len(cells)} rows, but the table has "
            f"{rows}"
        )
    nothing = -np.inf if side == "lower" else np.inf
    cells = cells.mask(cells == nothing)
    if cells.isna().all():
        return np.full(rows, nothing)
    if column.kind == "datetime" and cells.dtype == object:
        # days of Python's calendar are moments, too
        cells = cells.map(lambda end: pd.Timestamp(end) if isinstance(end, date) else end)
        cells = cells.infer_objects()
    encoded = encode(pd.DataFrame({column.name: cells}), Schema((column,)))[:, 0]
    return np.where(np.isnan(encoded), nothing, encoded)


def _check_bounds(column: ColumnSchema, low: Array, high: Array) -> None:
    """Check that there are values of the column between bounds, NaN where there are none."""
    wrong = np.flatnonzero(low > high)
    if wrong.size:
        raise TableError(
            f"column {shorten(column.name)}, row {wrong[0]}: its lower bound is above its upper "
            "bound; swap them"
        )
    ends = np.column_stack([low, high])
    for end in ends.T:
        check_largest(Schema((column,)), np.where(np.isinf(end), np.nan, end)[:, None])
    for field, limit in (("low", column.low), ("high", column.high)):
        if limit is None:
            continue
        beyond = high < limit if field == "low" else low > limit
        if beyond.any():
            raise TableError(
                f"{_name_bounds(column, ends, beyond)} beyond {field}={limit:g} of its schema; "
                "correct one of them, or leave the bounds out"
            )
    families = [FAMILIES[name] for name in column.families]
    negative, zero = (
        any(not family.invalid(np.array([value]), 0)[0] for family in families)
        for value in (-1.0, 0.0)
    )
    impossible = (high < 0) | ((high == 0) & (not zero))
    if not negative and impossible.any():
        raise TableError(
            f"{_name_bounds(column, ends, impossible)} outside the support of "
            f"{' and '.join(column.families)}; correct them, or change the column's families"
        )


def _name_bounds(column: ColumnSchema, ends: Array, wrong: BoolArray) -> str:
    """The first row whose bounds are wrong, and what they are."""
    row = int(np.flatnonzero(wrong)[0])
    place = f"column {shorten(column.name)}, row {row}: its bounds"
    return f"{place} are" if column.timed else f"{place}, {ends[row, 0]:g} to {ends[row, 1]:g}, are"
