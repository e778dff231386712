"""Columns of polars, Arrow and the other libraries that narwhals knows, read and built.

Types are named as NumPy and pandas name them, so that a schema learned with one library reads the
same with another: polars' ``Int64`` is ``int64``, its ``Enum`` an ordered category.
"""

from __future__ import annotations

import re
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from bayesspn.tables.cells import Cells, TableError, read_objects
from bayesspn.tables.dtypes import category_content, number_type
from bayesspn.tables.times import in_known_unit, time_unit

#: Number types of narwhals by their NumPy names, and back.
_NUMBERS: dict[str, Any] = {
    "bool": nw.Boolean,
    "int8": nw.Int8,
    "int16": nw.Int16,
    "int32": nw.Int32,
    "int64": nw.Int64,
    "uint8": nw.UInt8,
    "uint16": nw.UInt16,
    "uint32": nw.UInt32,
    "uint64": nw.UInt64,
    "float32": nw.Float32,
    "float64": nw.Float64,
}

_TIME_ZONE = re.compile(r", (?:tz=)?([^\]]+)\]")


def read_narwhals_column(series: nw.Series[Any]) -> Cells:
    """Read one column.

    Parameters
    ----------
    series : narwhals.Series
        Null and NaN are missing.

    Examples
    --------
    >>> import polars as pl
    >>> cells = read_narwhals_column(nw.from_native(pl.Series("n", [3, None]), series_only=True))
    >>> cells.dtype, cells.values, cells.missing
    ('int64', array([3, 0]), array([False,  True]))
    """
    name, dtype = series.name, series.dtype
    missing = np.asarray(series.is_null().to_numpy(), dtype=bool)
    for number, narwhals_type in _NUMBERS.items():
        if dtype == narwhals_type:
            return _read_numbers(series, number, missing)
    if dtype == nw.Datetime or dtype == nw.Duration or dtype == nw.Date:
        return _read_times(series, missing)
    if dtype == nw.String:
        return read_objects(name, "str", _objects(series))
    if dtype == nw.Categorical:
        return read_objects(name, "category[str]", _objects(series.cast(nw.String)))
    if isinstance(dtype, nw.Enum):
        return _read_enum(series, dtype, missing)
    if dtype == nw.Object:
        return read_objects(name, "object", _objects(series))
    if dtype == nw.Unknown and missing.all():
        return Cells(name, "float64", np.full(len(missing), np.nan), missing)
    raise TableError(
        f"column {name!r} is of type {dtype}, which is not supported; convert it to a number, "
        "text or a time, or drop it"
    )


def _objects(series: nw.Series[Any]) -> NDArray[np.object_]:
    # lists pass by nulls in dictionaries of Arrow, which its NumPy conversion fills in
    objects = np.empty(len(series), dtype=object)
    objects[:] = series.to_list()
    return objects


def _read_numbers(series: nw.Series[Any], dtype: str, missing: NDArray[np.bool_]) -> Cells:
    filled = series.fill_null(False if dtype == "bool" else 0) if missing.any() else series
    values = np.asarray(filled.to_numpy())
    wide = {"i": np.int64, "u": np.uint64, "f": np.float64, "b": np.bool_}[np.dtype(dtype).kind]
    values = values.astype(wide)
    if values.dtype.kind == "f":
        missing = missing | np.isnan(values)
    return Cells(series.name, dtype, values, missing)


def _read_times(series: nw.Series[Any], missing: NDArray[np.bool_]) -> Cells:
    dtype: Any = series.dtype
    if dtype == nw.Date:
        ticks, unit, kind, name = series.dt.timestamp("ms"), "ms", "M", "date"
    elif dtype == nw.Duration:
        unit, kind = dtype.time_unit, "m"
        ticks, name = series.cast(nw.Int64), f"timedelta64[{unit}]"
    else:
        unit, kind = dtype.time_unit, "M"
        ticks = series.cast(nw.Int64)
        zone = f", {dtype.time_zone}" if dtype.time_zone else ""
        name = f"datetime64[{unit}{zone}]"
    filled = ticks.fill_null(0) if missing.any() else ticks
    values = np.asarray(filled.to_numpy()).astype(np.int64).astype(f"{kind}8[{unit}]")
    values[missing] = "NaT"
    return Cells(series.name, name, in_known_unit(values), missing)


def _read_enum(series: nw.Series[Any], dtype: nw.Enum, missing: NDArray[np.bool_]) -> Cells:
    levels = tuple(dtype.categories)
    codes = {level: code for code, level in enumerate(levels)}
    values = [-1 if cell is None else codes[cell] for cell in series.to_list()]
    return Cells(
        series.name,
        "category[str]",
        np.array(values, dtype=np.int64),
        missing,
        levels,
        declared=True,
        ordered=True,
    )


def build_narwhals_column(cells: Cells, backend: Any) -> nw.Series[Any]:
    """Build one column of a library that narwhals knows.

    Parameters
    ----------
    cells : Cells
    backend : narwhals.Implementation
        The library.
    """
    dtype = _narwhals_type(cells)
    values: Any = cells.values
    if cells.levels is None and values.dtype.kind in "Mm":
        return _build_times(cells, dtype, backend)
    if dtype is None or cells.levels is not None or cells.missing.any():
        values = cells.as_objects().tolist()
    if dtype in (nw.Enum, nw.Categorical) and backend == nw.Implementation.PYARROW:
        # Arrow's dictionaries declare nothing; some of its versions make them of text only
        text = nw.new_series(str(cells.name), values, nw.String, backend=backend)
        return text.cast(nw.Categorical)
    return nw.new_series(str(cells.name), values, dtype, backend=backend)


def _build_times(cells: Cells, dtype: Any, backend: Any) -> nw.Series[Any]:
    times = cells.values.copy()
    times[cells.missing] = "NaT"
    if dtype != nw.Date and dtype.time_unit == "s" and backend == nw.Implementation.POLARS:
        dtype = nw.Datetime("ms", dtype.time_zone) if dtype == nw.Datetime else nw.Duration("ms")
    if np.datetime_data(times.dtype)[0] == "s":
        times = times.astype(f"{times.dtype.kind}8[ms]")  # polars has no coarser unit
    if dtype == nw.Datetime and dtype.time_zone:
        series = nw.new_series(str(cells.name), times, backend=backend)
        series = series.cast(nw.Datetime(dtype.time_unit))
        return series.dt.replace_time_zone("UTC").dt.convert_time_zone(dtype.time_zone)
    return nw.new_series(str(cells.name), times, backend=backend).cast(dtype)


def _narwhals_type(cells: Cells) -> Any:
    """The type that a name stands for; None leaves the choice to the library."""
    number = number_type(cells.dtype)
    if number is not None:
        return _NUMBERS.get(str(number), nw.Float32)  # polars and narwhals have no float16
    if cells.values.dtype.kind in "Mm" and cells.levels is None:
        return _time_type(cells)
    if cells.levels is not None and all(isinstance(level, str) for level in cells.levels):
        if category_content(cells.dtype) is None:
            return nw.String
        return nw.Enum([str(level) for level in cells.levels]) if cells.ordered else nw.Categorical
    return None


def _time_type(cells: Cells) -> Any:
    if cells.dtype.startswith("date") and not cells.dtype.startswith("datetime64"):
        return nw.Date
    unit: Any = time_unit(cells.dtype)
    if cells.values.dtype.kind == "m":
        return nw.Duration(unit)
    zone = _TIME_ZONE.search(cells.dtype)
    return nw.Datetime(unit, zone.group(1) if zone else None)
