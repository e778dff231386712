"""Columns of pandas: read into cells and built from them, every dtype back as it was.

pandas has several types for the same content (``int64``, ``Int64``, ``int64[pyarrow]``), which
narwhals does not tell apart, so pandas is read directly.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesspn.tables.cells import Cells, Scalar, TableError, check_levels, read_objects
from bayesspn.tables.dtypes import category_content
from bayesspn.tables.times import in_known_unit, time_unit

#: Suffix of text that Arrow stores; pandas gives another meaning to its own spelling of it.
_ARROW = "[arrow]"

_UNREADABLE = {
    "Sparse": "convert it with .sparse.to_dense()",
    "period": "convert it with .dt.to_timestamp()",
    "interval": "convert it with .astype(str)",
    "complex": "Complex data not supported: split it into real and imaginary columns",
    "decimal": "convert it with .astype(float)",
}


def read_pandas_column(name: Hashable, series: pd.Series) -> Cells:
    """Read one column.

    Parameters
    ----------
    name : hashable
    series : pandas.Series
        Of any dtype; NaN, None, NA and NaT are missing.

    Examples
    --------
    >>> cells = read_pandas_column("n", pd.Series([3, None], dtype="Int64"))
    >>> cells.dtype, cells.values, cells.missing
    ('Int64', array([3, 0]), array([False,  True]))
    """
    if isinstance(series.dtype, pd.ArrowDtype) and str(series.dtype).startswith("dictionary"):
        import pyarrow

        series = pyarrow.array(series).to_pandas()
    if isinstance(series.dtype, pd.CategoricalDtype):
        return _read_categories(name, series)
    dtype = _name_dtype(series.dtype)
    kind = _content(series.dtype)
    missing = series.isna().to_numpy(dtype=bool)
    if kind == "b":
        values = series.to_numpy(dtype=np.bool_, na_value=False)
    elif kind in "iu":
        values = series.to_numpy(dtype=np.int64 if kind == "i" else np.uint64, na_value=0)
    elif kind == "f":
        values = series.to_numpy(dtype=np.float64, na_value=np.nan)
    elif kind == "M":
        values = _read_datetimes(name, series)
    elif kind == "m":
        values = in_known_unit(series.astype(f"timedelta64[{time_unit(dtype)}]").to_numpy())
    elif kind == "O":
        return read_objects(name, dtype, series.to_numpy(dtype=object))
    else:
        fix = next((fix for start, fix in _UNREADABLE.items() if dtype.startswith(start)), "")
        raise TableError(
            f"column {name!r} is of type {dtype}, which is not supported; {fix or 'drop it'}"
        )
    return Cells(name, dtype, values, missing)


def _content(dtype: Any) -> str:
    """One letter for what cells of a dtype hold: b, i, u, f, M, m, O, or ? if not supported."""
    if isinstance(dtype, pd.StringDtype) or dtype == np.dtype(object):
        return "O"
    if isinstance(dtype, pd.ArrowDtype):
        return {"U": "O", "O": "?", "S": "?"}.get(dtype.kind, dtype.kind)
    if isinstance(dtype, pd.SparseDtype):
        return "?"
    return dtype.kind if dtype.kind in "biufMm" else "?"


def _name_dtype(dtype: Any) -> str:
    """A name from which `_parse_dtype` finds the dtype again."""
    if isinstance(dtype, pd.ArrowDtype) and dtype.kind == "U":
        return f"{dtype.pyarrow_dtype}{_ARROW}"
    if isinstance(dtype, pd.StringDtype):
        if dtype.na_value is not pd.NA:
            return "str[python]" if dtype.storage == "python" != _text_storage() else "str"
        # the storage that pandas chooses by itself need not be named
        return (
            "string" if dtype == pd.api.types.pandas_dtype("string") else f"string[{dtype.storage}]"
        )
    return str(dtype)


def _parse_dtype(dtype: str) -> Any:
    if dtype.endswith(_ARROW):
        import pyarrow

        text = {"string": pyarrow.string(), "large_string": pyarrow.large_string()}
        return pd.ArrowDtype(text[dtype.removesuffix(_ARROW)])
    if dtype in ("str", "str[python]"):
        return _text_type(dtype)
    return pd.api.types.pandas_dtype(dtype)


def _text_type(dtype: str) -> Any:
    """The type of text that pandas has; objects before pandas 3, unless one opted in to the new."""
    storage = _text_storage()
    if storage is None:
        return np.dtype(object)
    plain = dtype == "str" or storage == "python"
    return pd.api.types.pandas_dtype("str") if plain else pd.StringDtype("python", na_value=np.nan)


def _text_storage() -> str | None:
    """How pandas stores text by itself; None before it had a type for it."""
    own = pd.api.types.pandas_dtype("str")
    return own.storage if isinstance(own, pd.StringDtype) else None


def _read_categories(name: Hashable, series: pd.Series) -> Cells:
    declared = series.cat.categories
    levels = tuple(declared.tolist())
    check_levels(name, levels)
    codes = series.cat.codes.to_numpy(dtype=np.int64)
    return Cells(
        name,
        f"category[{_name_dtype(declared.dtype)}]",
        codes,
        codes < 0,
        levels,
        declared=True,
        ordered=bool(series.cat.ordered),
    )


def _read_datetimes(name: Hashable, series: pd.Series) -> NDArray[Any]:
    if isinstance(series.dtype, pd.DatetimeTZDtype):
        try:
            _parse_dtype(str(series.dtype))
        except TypeError:
            raise TableError(
                f"column {name!r}: the time zone {series.dtype.tz} has no standard name; "
                "convert it with .dt.tz_convert, for instance to 'UTC'"
            ) from None
    unit = time_unit(str(series.dtype))
    if isinstance(series.dtype, pd.ArrowDtype):
        # Arrow keeps times in UTC, whatever the zone they are shown in
        zone = series.dtype.pyarrow_dtype
        aware = getattr(zone, "tz", None) is not None
        series = series.astype(f"datetime64[{unit}, UTC]" if aware else f"datetime64[{unit}]")
    if isinstance(series.dtype, pd.DatetimeTZDtype):
        series = series.dt.tz_convert("UTC").dt.tz_localize(None)
    return in_known_unit(series.to_numpy())


def build_pandas_frame(
    columns: Sequence[Cells], index: pd.Index | None, labels: pd.Index | None
) -> pd.DataFrame:
    """Build a frame of the dtypes that the columns name.

    Parameters
    ----------
    columns : sequence of Cells
    index : pandas.Index or None
        Row labels; 0, 1, 2 … if None.
    labels : pandas.Index or None
        Column labels; the columns' names if None.
    """
    series = [_build_column(cells) for cells in columns]
    frame = pd.concat(series, axis=1) if series else pd.DataFrame()
    frame.columns = pd.Index([cells.name for cells in columns]) if labels is None else labels
    if index is not None:
        frame.index = index
    return frame


def _build_column(cells: Cells) -> pd.Series:
    if category_content(cells.dtype) is not None:
        return pd.Series(_build_categories(cells))
    if cells.dtype == "object" or cells.levels is not None:
        return pd.Series(cells.as_objects(), dtype=_parse_dtype(cells.dtype))
    kind = cells.values.dtype.kind
    if kind == "M":
        return _build_datetimes(cells)
    if kind == "m":
        times = cells.values.copy()
        times[cells.missing] = "NaT"
        return _as_time_type(pd.Series(times), _parse_dtype(cells.dtype))
    return _build_numbers(cells)


def _build_numbers(cells: Cells) -> pd.Series:
    dtype, mask = _parse_dtype(cells.dtype), cells.missing
    if isinstance(dtype, np.dtype):
        if not mask.any():
            return pd.Series(cells.values.astype(dtype))
        if dtype.kind == "f":
            return pd.Series(np.where(mask, np.nan, cells.values).astype(dtype))
        # plain integers and booleans have no missing value, their nullable twins do
        dtype = pd.api.types.pandas_dtype(
            {"b": "boolean", "i": f"Int{8 * dtype.itemsize}", "u": f"UInt{8 * dtype.itemsize}"}[
                dtype.kind
            ]
        )
    arrays = {"b": pd.arrays.BooleanArray, "f": pd.arrays.FloatingArray}
    array = arrays.get(cells.values.dtype.kind, pd.arrays.IntegerArray)
    return pd.Series(array(cells.values.copy(), mask.copy())).astype(dtype)


def _build_categories(cells: Cells) -> pd.Categorical:
    name = category_content(cells.dtype)
    levels: Sequence[Scalar] = cells.levels or ()
    categories = pd.Index(levels, dtype=_parse_dtype(name) if name else None)
    codes = np.where(cells.missing, -1, cells.values)
    return pd.Categorical.from_codes(
        codes, dtype=pd.CategoricalDtype(categories, ordered=cells.ordered)
    )


def _build_datetimes(cells: Cells) -> pd.Series:
    times = cells.values.copy()
    times[cells.missing] = "NaT"
    series = pd.Series(times)
    if cells.dtype == "date":
        return series
    dtype = _parse_dtype(cells.dtype)
    if isinstance(dtype, pd.DatetimeTZDtype):
        return series.dt.tz_localize("UTC").dt.tz_convert(dtype.tz).astype(dtype)
    if isinstance(dtype, pd.ArrowDtype) and getattr(dtype.pyarrow_dtype, "tz", None):
        return series.dt.tz_localize("UTC").astype(dtype)
    return _as_time_type(series, dtype)


def _as_time_type(series: pd.Series, dtype: Any) -> pd.Series:
    # NumPy has units that pandas has not, such as days
    foreign = isinstance(dtype, np.dtype) and np.datetime_data(dtype) != (time_unit(str(dtype)), 1)
    return series if foreign else series.astype(dtype)
