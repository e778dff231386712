"""Cells of one column, in the one form that every table library is read into and built from.

A column of any library becomes a NumPy array of plain cells with a mask of the missing ones. Text
and categories become integer codes with the distinct values ("levels") on the side, so that the
rest of the package looks at few levels instead of many cells.
"""

from __future__ import annotations

import difflib
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

#: A category as schemas can write it down.
Scalar = str | int | float | bool

BoolArray = NDArray[np.bool_]

#: What to do about values that have no place in a table of numbers, text and times.
_FIXES = {
    "decimal": "convert the column to float",
    "bytes": "decode the column to text",
    "complex": "Complex data not supported: split it into real and imaginary columns",
    "datetime": "convert the column with pandas.to_datetime",
    "datetime64": "convert the column with pandas.to_datetime",
    "date": "convert the column with pandas.to_datetime",
    "timedelta": "convert the column with pandas.to_timedelta",
    "timedelta64": "convert the column with pandas.to_timedelta",
}


class TableError(ValueError):
    """A table, or a cell of it, that cannot be used; the message names the place and the fix."""


@dataclass(frozen=True, eq=False)
class Cells:
    """One column of a table.

    Parameters
    ----------
    name : hashable
        The column's name as the table has it.
    dtype : str
        The library's own name of the column's type, in the spelling of NumPy and pandas.
    values : ndarray of shape (rows,)
        Booleans, integers, floats, datetime64 (UTC) or timedelta64; integer codes if there are
        levels. Anything may stand where a cell is missing.
    missing : ndarray of bool of shape (rows,)
        Whether the cell is missing.
    levels : tuple of str, int, float or bool, default=None
        The distinct values that the codes stand for.
    declared : bool, default=False
        Whether the column's type fixes the levels, seen or not.
    ordered : bool, default=False
        Whether the declared levels have an order.
    """

    name: Hashable
    dtype: str
    values: NDArray[Any]
    missing: BoolArray
    levels: tuple[Scalar, ...] | None = None
    declared: bool = False
    ordered: bool = False

    @property
    def observed(self) -> NDArray[Any]:
        """The cells that are not missing."""
        return self.values[~self.missing]

    def as_objects(self) -> NDArray[np.object_]:
        """Cells as Python objects, None where missing; shape (rows,)."""
        if self.levels is None:
            objects = self.values.astype(object)
        else:
            # the last entry serves columns without any level
            lookup = np.empty(len(self.levels) + 1, dtype=object)
            lookup[: len(self.levels)] = self.levels
            objects = lookup[np.where(self.missing, -1, self.values)]
        objects[self.missing] = None
        return objects


def read_objects(name: Hashable, dtype: str, values: NDArray[np.object_]) -> Cells:
    """Read cells that are Python objects: all text, all numbers or all booleans.

    Parameters
    ----------
    name : hashable
    dtype : str
    values : ndarray of object of shape (rows,)
        None, NaN, NA and NaT are missing.

    Examples
    --------
    >>> cells = read_objects("city", "object", np.array(["Rome", None, "Oslo"], dtype=object))
    >>> cells.levels, cells.missing
    (('Rome', 'Oslo'), array([False,  True, False]))
    """
    missing = np.asarray(pd.isna(values), dtype=bool)
    observed = values[~missing]
    content = pd.api.types.infer_dtype(observed, skipna=False)
    if content == "string":
        codes, levels = pd.factorize(values)
        return Cells(name, dtype, codes.astype(np.int64), missing, tuple(map(str, levels)))
    if content in ("floating", "mixed-integer-float", "empty"):
        return Cells(name, dtype, _scatter(observed.astype(np.float64), missing), missing)
    if content == "boolean":
        return Cells(name, dtype, _scatter(observed.astype(np.bool_), missing), missing)
    if content == "integer":
        return Cells(name, dtype, _scatter(_as_integers(name, observed), missing), missing)
    raise _wrong_objects(name, content, values, missing)


def _as_integers(name: Hashable, observed: NDArray[np.object_]) -> NDArray[Any]:
    for integers in (np.int64, np.uint64):
        try:
            return observed.astype(integers)
        except OverflowError:
            continue
    largest = max(observed, key=abs)
    raise TableError(
        f"column {name!r}: {largest} does not fit into 64 bits; drop the column or make it text"
    )


def _scatter(observed: NDArray[Any], missing: BoolArray) -> NDArray[Any]:
    values = np.zeros(len(missing), dtype=observed.dtype)
    values[~missing] = observed
    return values


def _wrong_objects(
    name: Hashable, content: str, values: NDArray[np.object_], missing: BoolArray
) -> Exception:
    rows = np.flatnonzero(~missing)
    first = values[rows[0]]
    for row in rows:
        if type(values[row]) is not type(first):
            return TableError(
                f"column {name!r} mixes types: row {rows[0]} holds {shorten(first)} "
                f"({type(first).__name__}) and row {row} holds {shorten(values[row])} "
                f"({type(values[row]).__name__}); make them all text or all numbers"
            )
    if content in _FIXES:
        return TableError(
            f"column {name!r}, row {rows[0]}: {shorten(first)} is of type {type(first).__name__}; "
            f"{_FIXES[content]}"
        )
    # the middle of the sentence is what scikit-learn's estimator checks look for
    return TypeError(
        f"column {name!r}, row {rows[0]}: {shorten(first)} is of type {type(first).__name__}, but "
        "the argument must be a string or a real number; drop the column or make it text"
    )


def check_levels(name: Hashable, levels: tuple[Any, ...]) -> None:
    """Check that declared categories are of a type that a schema can write down."""
    for level in levels:
        if not isinstance(level, str | int | float | bool):
            raise TableError(
                f"column {name!r}: category {shorten(level)} is of type {type(level).__name__}; "
                "categories must be text, numbers or booleans: convert them to text"
            )


def shorten(value: object, length: int = 60) -> str:
    """A value as messages show it.

    Examples
    --------
    >>> shorten("a" * 100, 10)
    "'aaaaaa..."
    """
    text = repr(value)
    return text if len(text) <= length else text[: length - 3] + "..."


def suggest(word: object, known: Iterable[Hashable]) -> str:
    """A sentence part that names the known value nearest to a word, if one is near.

    Examples
    --------
    >>> suggest("agee", ("age", "income"))
    "did you mean 'age'? "
    """
    # long words are nonsense, and slow to compare
    spelled = {str(name).strip().casefold(): name for name in known}
    close = difflib.get_close_matches(str(word)[:60].strip().casefold(), spelled, n=1)
    return f"did you mean {shorten(spelled[close[0]])}? " if close else ""
