"""Names of column types: the language in which schemas say how to give values back.

Names are those of NumPy and pandas (``int64``, ``Int64``, ``int64[pyarrow]``, ``category[str]``,
``datetime64[us, Europe/Berlin]``), whatever library a table comes from, so that a schema means the
same in all of them. ``date`` is a day without a time, ``string[arrow]`` is text that Arrow stores.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd

#: Names of number types, and other names that pandas and Arrow have for them.
_NUMBERS = {name: name for name in ("bool", "float16", "float32", "float64")}
_NUMBERS |= {
    f"{sign}int{bits}": f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)
}
_NUMBERS |= {"boolean": "bool", "double": "float64", "float": "float32", "halffloat": "float16"}

_TEXT = re.compile(r"str(\[python\])?|string(\[(python|pyarrow|arrow)\])?|large_string\[arrow\]")
_ARROW_MOMENT = re.compile(
    r"timestamp\[(s|ms|us|ns)(, tz=[^\]]+)?\]\[pyarrow\]|date(32\[day\]|64\[ms\])\[pyarrow\]"
)
_ARROW_DURATION = re.compile(r"duration\[(s|ms|us|ns)\]\[pyarrow\]")

#: Type of each kind of column where a schema names none; categories also by what they are.
DEFAULT_DTYPES = {
    "binary": "bool",
    "category": "category[str]",
    "count": "int64",
    "integer": "int64",
    "real": "float64",
    "datetime": "datetime64[us]",
    "duration": "timedelta64[us]",
}


def number_type(dtype: str) -> np.dtype[Any] | None:
    """NumPy's type for the name of a number type, nullable or Arrow's; None for other types.

    Examples
    --------
    >>> number_type("Int8"), number_type("double[pyarrow]"), number_type("str")
    (dtype('int8'), dtype('float64'), None)
    """
    name = _NUMBERS.get(dtype.removesuffix("[pyarrow]").lower())
    return None if name is None else np.dtype(name)


def suits_kind(dtype: str, kind: str) -> bool:
    """Whether columns of a kind can be given back in a type.

    Examples
    --------
    >>> suits_kind("Int8", "integer"), suits_kind("str", "integer"), suits_kind("int46", "integer")
    (True, False, False)
    """
    if kind == "datetime":
        if dtype == "date" or _ARROW_MOMENT.fullmatch(dtype):
            return True
        return dtype.startswith("datetime64[") and _is_known(dtype)
    if kind == "duration":
        if _ARROW_DURATION.fullmatch(dtype):
            return True
        return dtype.startswith("timedelta64[") and _is_known(dtype)
    if dtype == "object" or number_type(dtype) is not None:
        return True
    content = category_content(dtype)
    if kind == "binary":
        return content == "bool"
    return kind == "category" and bool(
        _TEXT.fullmatch(dtype if content is None else content)
        or content in ("", "object")
        or (content is not None and number_type(content) is not None)
    )


def category_content(dtype: str) -> str | None:
    """Type of the categories of a categorical type, empty if it names none; None for other types.

    Examples
    --------
    >>> category_content("category[int64]"), category_content("category"), category_content("str")
    ('int64', '', None)
    """
    found = re.fullmatch(r"category(?:\[(.*)\])?", dtype)
    return None if found is None else found.group(1) or ""


def _is_known(dtype: str) -> bool:
    """Whether pandas or NumPy has a time type of this name, and its time zone exists."""
    for parse in (np.dtype, pd.api.types.pandas_dtype):
        try:
            parse(dtype)
        except (TypeError, ValueError, KeyError):  # KeyError: no such time zone
            continue
        return True
    return False
