"""Checks of what users give, in one form for the whole package, and whose line a warning names."""

from __future__ import annotations

import inspect
from numbers import Integral, Real
from typing import Any

import numpy as np

from bayesspn.arrays import Array

_PACKAGE = "bayesspn."


def check_whole(name: str, value: Any, least: int, error: type[Exception] = ValueError) -> int:
    """A whole number that is not smaller than ``least``, as Python's own.

    Examples
    --------
    >>> check_whole("chains", np.int64(4), 1)
    4
    >>> check_whole("chains", 0, 1)
    Traceback (most recent call last):
    ValueError: chains must be a whole number from 1 on, got 0
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise error(f"{name} must be a whole number from {least} on, got {value!r}")
    return int(value)


def check_positive(name: str, value: Any) -> float:
    """A positive and finite number, as Python's own."""
    number = isinstance(value, Real) and not isinstance(value, bool)
    if not (number and 0 < float(value) < np.inf):
        raise ValueError(f"{name} must be positive and finite, got {value!r}")
    return float(value)


def check_weights(sample_weight: Any, rows: int) -> Array:
    """Weights of rows: finite, not negative, not all zero; (rows,).

    Examples
    --------
    >>> check_weights([1, 2], 3)
    Traceback (most recent call last):
    ValueError: sample_weight must be 3 numbers, one for every row, got shape (2,)
    >>> check_weights([1, -2, 1], 3)
    Traceback (most recent call last):
    ValueError: sample_weight, row 1: -2 is not a finite number from 0 on; 0 leaves a row out
    """
    given = np.asarray(sample_weight)
    if given.shape != (rows,):
        raise ValueError(
            f"sample_weight must be {rows} numbers, one for every row, got shape {given.shape}"
        )
    if given.dtype.kind in "biuf":
        weights = given.astype(np.float64)
    else:
        weights = np.array([_as_number(weight) for weight in given])
    wrong = np.flatnonzero(~((weights >= 0) & (weights < np.inf)))
    if wrong.size:
        row = int(wrong[0])
        raise ValueError(
            f"sample_weight, row {row}: {given[row : row + 1].tolist()[0]!r} is not a finite "
            "number from 0 on; 0 leaves a row out"
        )
    if not weights.any():
        raise ValueError("sample_weight is zero in every row, so that no row counts; leave it out")
    return weights


def _as_number(value: Any) -> float:
    """A number of any type as a float, NaN for anything else, text included."""
    try:
        return float("nan") if isinstance(value, str) else float(value)
    except (TypeError, ValueError):
        return float("nan")


def levels_to_user() -> int:
    """``stacklevel`` at which the caller of this function warns the user's line."""
    frame = inspect.currentframe()
    level = 0
    # scikit-learn wraps methods whose results can be frames; tables are opened by context managers
    ours = (_PACKAGE, "sklearn.", "contextlib")
    while frame is not None and frame.f_globals.get("__name__", "").startswith(ours):
        frame, level = frame.f_back, level + 1
    return level
