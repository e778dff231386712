"""One narrow interface over the tables people have: NumPy, pandas, polars, Arrow and others.

`open_table` gives names, number of rows and columns one at a time as `Cells`; `build_frame` makes a
table of the same library out of such columns. Nothing else in the package looks into a table.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import scipy.sparse
from numpy.typing import NDArray

from bayesspn.tables.cells import Cells, TableError, read_objects, shorten
from bayesspn.tables.dtypes import number_type
from bayesspn.tables.narwhals_columns import build_narwhals_column, read_narwhals_column
from bayesspn.tables.pandas_columns import build_pandas_frame, read_pandas_column
from bayesspn.tables.times import in_known_unit

#: Libraries that `build_frame` knows by name.
LIBRARIES = ("numpy", "pandas", "polars", "pyarrow")


@dataclass(frozen=True, eq=False)
class Table:
    """A table that has been opened.

    Attributes
    ----------
    names : tuple of hashable
        Column names; "x0", "x1", … for arrays.
    named : bool
        Whether the names are the table's own.
    n_rows : int
    library : str
        The table's library, one that `build_frame` knows.
    read : callable
        Gives the column at a position.
    """

    names: tuple[Hashable, ...]
    named: bool
    n_rows: int
    library: str
    read: Callable[[int], Cells]

    def columns(self) -> list[Cells]:
        """All columns."""
        return [self.read(position) for position in range(len(self.names))]


def open_table(table: Any) -> Table:
    """Open a table of any library.

    Parameters
    ----------
    table : array, frame or list of shape (rows, columns)
        A NumPy array, a pandas, polars or Arrow table, anything else that narwhals takes, a list of
        rows, or a list of dictionaries. A `Table` that is open already is given back.

    Examples
    --------
    >>> opened = open_table(pd.DataFrame({"age": [31, 42], "city": ["Rome", None]}))
    >>> opened.names, opened.n_rows
    (('age', 'city'), 2)
    >>> opened.read(1).missing
    array([False,  True])
    """
    if isinstance(table, Table):
        return table
    if scipy.sparse.issparse(table):
        raise TypeError("sparse tables are not supported; convert it with .toarray()")
    if isinstance(table, pd.Series):
        raise TableError(
            "Expected 2D array, got 1D array instead, a Series: rows are kept in a table by "
            "table.iloc[[0]], a column becomes one by .to_frame(), and one row that is given is a "
            "dict, .to_dict()"
        )
    if isinstance(table, list) and table and isinstance(table[0], dict):
        table = pd.DataFrame(table)
    if isinstance(table, pd.DataFrame):
        return _open_pandas(table)
    if isinstance(table, np.ndarray | list | tuple):
        return _open_array(table)
    return _open_narwhals(table)


def _open_pandas(frame: pd.DataFrame) -> Table:
    names = tuple(frame.columns.tolist())
    check_names(names)

    def read(position: int) -> Cells:
        return read_pandas_column(names[position], frame.iloc[:, position])

    return Table(names, True, len(frame), "pandas", _read_once(read))


def _open_narwhals(table: Any) -> Table:
    try:
        frame = nw.from_native(table)
    except TypeError:
        if hasattr(table, "__array__"):
            return _open_array(table)
        raise TypeError(
            f"a table is an array, a data frame or a list of rows, got {type(table).__name__}"
        ) from None
    except Exception as error:  # each library has its own error for duplicate names
        raise TableError(f"the table cannot be read: {error}") from error
    if isinstance(frame, nw.LazyFrame):
        raise TypeError(
            f"the {type(table).__name__} has not been computed yet; collect it into a table first"
        )
    names = tuple(frame.columns)
    check_names(names)
    library = frame.implementation.value

    def read(position: int) -> Cells:
        return read_narwhals_column(frame[names[position]])

    known = library if library in LIBRARIES else "pandas"
    return Table(names, True, len(frame), known, _read_once(read))


def _open_array(table: Any) -> Table:
    masked = isinstance(table, np.ma.MaskedArray)
    try:
        array = np.ma.asarray(table) if masked else np.asarray(table)
    except ValueError as error:
        raise TableError(f"the rows of a table must be equally long: {error}") from None
    if array.ndim != 2:
        # scikit-learn's words, which its estimator checks look for
        raise TableError(
            f"Expected 2D array, got {array.ndim}D array instead. Reshape your data to rows × "
            "columns: array.reshape(-1, 1) for one column, array.reshape(1, -1) for one row"
        )
    if array.dtype.kind == "c":
        raise TableError("Complex data not supported: split it into real and imaginary columns")
    names = tuple(f"x{j}" for j in range(array.shape[1]))

    def read(position: int) -> Cells:
        return _read_array_column(names[position], array[:, position])

    return Table(names, False, len(array), "numpy", _read_once(read))


def _read_once(read: Callable[[int], Cells]) -> Callable[[int], Cells]:
    """Columns are read once: who infers what they are encodes them next."""
    return lru_cache(maxsize=None)(read)


def _read_array_column(name: str, values: NDArray[Any]) -> Cells:
    masked = np.ma.getmaskarray(values)
    values, dtype, kind = np.asarray(values), str(values.dtype), values.dtype.kind
    if kind in "OU":
        objects = values.astype(object)
        objects[masked] = None
        return read_objects(name, dtype if kind == "O" else "str", objects)
    if kind in "Mm":
        return Cells(name, dtype, in_known_unit(values), masked | np.isnat(values))
    if kind == "f":
        return Cells(name, dtype, values.astype(np.float64), masked | np.isnan(values))
    if kind in "iu":
        return Cells(name, dtype, values.astype(np.int64 if kind == "i" else np.uint64), masked)
    if kind == "b":
        return Cells(name, dtype, values, masked)
    raise TableError(f"an array of type {dtype} is not supported; make it numbers or text")


def library_of(table: Any) -> str:
    """Name of the library whose tables answer a table: one that `build_frame` knows.

    Examples
    --------
    >>> library_of([[1, 2], [3, 4]]), library_of(pd.DataFrame({"age": [31]}))
    ('numpy', 'pandas')
    """
    return "pandas" if isinstance(table, pd.DataFrame) else open_table(table).library


def check_names(names: Sequence[Hashable]) -> None:
    """Check that column names differ and are of types that a schema can write down."""
    seen: dict[Hashable, int] = {}
    for position, name in enumerate(names):
        if name in seen:
            raise TableError(
                f"columns {seen[name]} and {position} are both named {shorten(name)}; "
                "rename one of them"
            )
        parts = name if isinstance(name, tuple) else (name,)
        if not parts or not all(isinstance(part, str | int) for part in parts):
            raise TableError(
                f"column {position} is named {shorten(name)} of type {type(name).__name__}; names "
                "must be text or whole numbers, or tuples of these: rename it"
            )
        seen[name] = position


def build_frame(columns: Sequence[Cells], like: Any) -> Any:
    """Build a table of the same library as another.

    Parameters
    ----------
    columns : sequence of Cells
        Of equal length.
    like : table or {"numpy", "pandas", "polars", "pyarrow"}
        What to build. A pandas frame of as many rows lends its index.

    Examples
    --------
    >>> table = pd.DataFrame({"age": [31, 42]}, index=["Ann", "Bob"])
    >>> build_frame(open_table(table).columns(), like=table)
         age
    Ann   31
    Bob   42
    """
    n_rows = len(columns[0].missing) if columns else 0
    if isinstance(like, str):
        if like not in LIBRARIES:
            raise ValueError(f"like must be a table or one of {LIBRARIES}, got {like!r}")
        if like == "pandas":
            return build_pandas_frame(columns, None, None)
        if like != "numpy":
            return _build_narwhals(columns, nw.Implementation.from_string(like))
        return _build_array(columns, n_rows)
    if isinstance(like, pd.DataFrame):
        names = [cells.name for cells in columns]
        index = like.index if len(like) == n_rows else None
        return build_pandas_frame(
            columns, index, like.columns if like.columns.tolist() == names else None
        )
    if isinstance(like, list | tuple) or hasattr(like, "__array_interface__"):
        rows_are_dictionaries = isinstance(like, list) and like and isinstance(like[0], dict)
        if rows_are_dictionaries:
            return build_pandas_frame(columns, None, None)
        return _build_array(columns, n_rows)
    return _build_narwhals(columns, nw.from_native(like).implementation)


def _build_narwhals(columns: Sequence[Cells], implementation: nw.Implementation) -> Any:
    series = [build_narwhals_column(cells, implementation) for cells in columns]
    return nw.from_dict({one.name: one for one in series}).to_native()


def _build_array(columns: Sequence[Cells], n_rows: int) -> NDArray[Any]:
    """Build an array: of the columns' common type, or of objects if they have none."""
    parts = [_build_array_column(cells) for cells in columns]
    if not parts:
        return np.empty((n_rows, 0))
    kinds = {part.dtype.kind for part in parts}
    alike = len(kinds) == 1 or kinds <= set("iuf")
    dtype = np.result_type(*(part.dtype for part in parts)) if alike else np.dtype(object)
    array = np.empty((n_rows, len(parts)), dtype=dtype)
    for position, part in enumerate(parts):
        array[:, position] = part
    return array


def _build_array_column(cells: Cells) -> NDArray[Any]:
    if cells.dtype == "object" or cells.levels is not None:
        objects = cells.as_objects()
        text = cells.dtype == "str" and cells.levels and not cells.missing.any()
        return objects.astype(str) if text else objects
    values, missing = cells.values, cells.missing
    if values.dtype.kind in "Mm":
        times = values.copy()
        times[missing] = "NaT"
        plain = cells.dtype.startswith(("datetime64", "timedelta64")) and ", " not in cells.dtype
        return times.astype(cells.dtype) if plain else times
    if missing.any() and values.dtype.kind == "b":
        return cells.as_objects()
    dtype = number_type(cells.dtype) or values.dtype
    if missing.any():
        # integers have no missing value, floats do
        dtype = dtype if dtype.kind == "f" else np.dtype(np.float64)
        values = np.where(missing, np.nan, values.astype(np.float64))
    return values.astype(dtype)
