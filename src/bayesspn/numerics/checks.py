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
    ValueError: sample_weight must be 3 numbers, not negative and not all zero, got shape (2,)
    """
    weights = np.asarray(sample_weight, dtype=np.float64)
    right = weights.shape == (rows,) and bool(((weights >= 0) & (weights < np.inf)).all())
    if not right or not weights.sum() > 0:
        raise ValueError(
            f"sample_weight must be {rows} numbers, not negative and not all zero, got shape "
            f"{weights.shape}"
        )
    return weights


def levels_to_user() -> int:
    """``stacklevel`` at which the caller of this function warns the user's line."""
    frame = inspect.currentframe()
    level = 0
    # scikit-learn wraps methods whose results can be frames
    ours = (_PACKAGE, "sklearn.")
    while frame is not None and frame.f_globals.get("__name__", "").startswith(ours):
        frame, level = frame.f_back, level + 1
    return level
