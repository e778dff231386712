"""Cells that are known to lie between bounds: survival times, dates known to the month."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from bayesspn.arrays import Array
from bayesspn.tables.cells import TableError, shorten
from bayesspn.tables.encoding import encode
from bayesspn.tables.schema import Schema


def encode_bounds(
    bounds: Mapping[Hashable, tuple[Any, Any]], schema: Schema, values: Array
) -> tuple[Array, Array]:
    """Encode bounds of cells that a table lacks.

    Parameters
    ----------
    bounds : mapping of column names to pairs (low, high)
        Each a value for all rows, or one for every row; None, NaN and NaT are open ends.
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
    if not isinstance(bounds, Mapping):
        raise TypeError(
            f"bounds must be a dictionary of columns and pairs (low, high), got "
            f"{type(bounds).__name__}"
        )
    low, high = np.full(values.shape, np.nan), np.full(values.shape, np.nan)
    for name, pair in bounds.items():
        position = schema.position(name)
        if schema.columns[position].coded:
            raise TableError(
                f"column {shorten(name)} has categories, which have no bounds; make its cells "
                "missing"
            )
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TableError(
                f"bounds of column {shorten(name)} must be a pair (low, high), got {shorten(pair)}"
            )
        ends = [_encode_end(end, schema, position, len(values)) for end in pair]
        told = np.isnan(values[:, position]) & ~(np.isnan(ends[0]) & np.isnan(ends[1]))
        low[told, position] = np.where(np.isnan(ends[0]), -np.inf, ends[0])[told]
        high[told, position] = np.where(np.isnan(ends[1]), np.inf, ends[1])[told]
        wrong = np.flatnonzero(low[:, position] > high[:, position])
        if wrong.size:
            raise TableError(
                f"column {shorten(name)}, row {wrong[0]}: its lower bound is above its upper "
                "bound; swap them"
            )
    return low, high


def _encode_end(end: Any, schema: Schema, position: int, rows: int) -> Array:
    """One end for every row, NaN where open; (rows,)."""
    column = schema.columns[position]
    cells = pd.Series([end] * rows) if np.ndim(end) == 0 else pd.Series(np.asarray(end))
    if len(cells) != rows:
        raise TableError(
            f"bounds of column {shorten(column.name)} are for {len(cells)} rows, but the table has "
            f"{rows}"
        )
    if cells.isna().all():
        return np.full(rows, np.nan)
    alone = Schema((column,))
    return encode(pd.DataFrame({column.name: cells}), alone)[:, 0]
