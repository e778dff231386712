"""Schemas read off a table: the kind of every column and the likelihood models that suit it.

============================================================= ========= ===========================
values                                                        kind      families
============================================================= ========= ===========================
booleans                                                      binary    bernoulli
text                                                          category  categorical, sorted values
a categorical type                                            category  categorical, as declared
whole numbers: only 0 and 1                                   category  categorical, these values
whole numbers from 0 on: up to 20 different, twice each or so category  categorical, these values
whole numbers from 0 on, 0 occurs, median ≤ 10, none > 1000   count     poisson, geometric
other whole numbers                                           integer   by sign, resolution 1
other numbers                                                 real      by sign
moments                                                       datetime  gaussian
lengths of time                                               duration  by sign
============================================================= ========= ===========================

By sign: gaussian alone if some value is negative; gaussian and exponential if some are 0; gaussian
and lognormal if all are positive. Whole numbers in a column of floats count as whole: pandas turns
integers with missing cells into floats. Poisson leaves are for counts near zero only: their spread
is tied to their mean, which is far too narrow for an income and too rigid for an age.

A constant column is allowed: text and whole numbers get a single category, other numbers Gaussian
leaves around the value. Identifiers are refused, since there is nothing to learn from them: text
with more than 1,000 different values, or 50 or more cells of which over 90 % differ.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesspn.leaves.family import Array
from bayesspn.tables.cells import Cells, TableError, shorten
from bayesspn.tables.encoding import LARGEST_INTEGER, numbers
from bayesspn.tables.frames import open_table
from bayesspn.tables.schema import ColumnSchema, Schema
from bayesspn.tables.times import recorded_step, seconds_from_times

_MOST_INTEGER_CATEGORIES = 20
_MOST_TEXT_CATEGORIES = 1_000
_FEWEST_IDENTIFIERS = 50
_LARGEST_COUNT = 1_000
_LARGEST_MEDIAN_COUNT = 10


def infer_schema(table: Any) -> Schema:
    """Infer a schema.

    Parameters
    ----------
    table : array or frame of shape (rows, columns)
        Of any library; columns of arrays are named "x0", "x1", ….

    Examples
    --------
    >>> import pandas as pd
    >>> infer_schema(pd.DataFrame({"size": [1.5, 2.25, None], "city": ["Rome", "Oslo", "Rome"]}))
    Schema of 2 columns
    name  kind      families             values      dtype
    size  real      gaussian, lognormal  -           float64
    city  category  categorical          Oslo, Rome  str
    """
    opened = open_table(table)
    shape = f"(shape=({opened.n_rows}, {len(opened.names)})) while a minimum of 1 is required"
    # scikit-learn's words, which its estimator checks look for
    if not opened.names:
        raise TableError(f"Found array with 0 feature(s) {shape}.")
    if not opened.n_rows:
        raise TableError(f"Found array with 0 sample(s) {shape}.")
    return Schema(
        tuple(_infer_column(cells) for cells in map(opened.read, range(len(opened.names))))
    )


def _infer_column(cells: Cells) -> ColumnSchema:
    if cells.missing.all():
        raise TableError(
            f"column {shorten(cells.name)} has no observed value; drop it or give its schema"
        )
    if cells.levels is not None:
        return _infer_categories(cells)
    kind = cells.values.dtype.kind
    if kind == "b":
        return ColumnSchema(cells.name, "binary", dtype=cells.dtype)
    if kind in "Mm":
        return _infer_times(cells)
    return _infer_numbers(cells)


def _infer_categories(cells: Cells) -> ColumnSchema:
    assert cells.levels is not None
    if cells.declared:
        return ColumnSchema(
            cells.name,
            "category",
            categories=cells.levels,
            ordered=cells.ordered,
            dtype=cells.dtype,
        )
    n_levels, n_cells = len(cells.levels), int((~cells.missing).sum())
    identifiers = n_cells >= _FEWEST_IDENTIFIERS and n_levels > 0.9 * n_cells
    if identifiers or n_levels > _MOST_TEXT_CATEGORIES:
        raise TableError(
            f"column {shorten(cells.name)} has {n_levels:,} different values in {n_cells:,} "
            f"cells, such as {shorten(cells.levels[0])}; drop it, or declare its categories (a "
            "categorical type, or its schema) if they are no identifiers"
        )
    categories = tuple(sorted(cells.levels, key=str))
    return ColumnSchema(cells.name, "category", categories=categories, dtype=cells.dtype)


def _infer_times(cells: Cells) -> ColumnSchema:
    resolution = recorded_step(cells.observed)
    if cells.values.dtype.kind == "M":
        return ColumnSchema(cells.name, "datetime", resolution=resolution, dtype=cells.dtype)
    families = families_by_sign(seconds_from_times(cells.observed))
    return ColumnSchema(cells.name, "duration", families, resolution=resolution, dtype=cells.dtype)


def _infer_numbers(cells: Cells) -> ColumnSchema:
    values = numbers(cells)[~cells.missing]
    whole = np.all(values == np.floor(values)) and np.abs(values).max() <= LARGEST_INTEGER
    if not whole:
        return ColumnSchema(cells.name, "real", families_by_sign(values), dtype=cells.dtype)
    distinct = np.unique(values)
    if _are_categories(distinct, len(values)):
        categories = tuple(int(value) for value in distinct)
        return ColumnSchema(cells.name, "category", categories=categories, dtype=cells.dtype)
    small = distinct[-1] <= _LARGEST_COUNT and np.median(values) <= _LARGEST_MEDIAN_COUNT
    if distinct[0] == 0 and small:
        return ColumnSchema(cells.name, "count", dtype=cells.dtype)
    return ColumnSchema(cells.name, "integer", families_by_sign(values), dtype=cells.dtype)


def _are_categories(distinct: Array, n_cells: int) -> bool:
    if set(distinct) == {0.0, 1.0}:
        return True
    return (
        distinct[0] >= 0
        and len(distinct) <= _MOST_INTEGER_CATEGORIES
        and 2 * len(distinct) <= n_cells  # values that hardly recur are measurements
    )


def families_by_sign(values: Array) -> tuple[str, ...]:
    """Likelihood models that suit continuous values."""
    if values.min() < 0:
        return ("gaussian",)
    return ("gaussian", "exponential" if values.min() == 0 else "lognormal")
