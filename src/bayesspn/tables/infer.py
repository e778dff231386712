"""Schemas read off a table: the kind of every column and the likelihood families that suit it.

============================================================= ========= ===========================
values                                                        kind      families
============================================================= ========= ===========================
booleans                                                      binary    bernoulli
text                                                          category  categorical, sorted values
a categorical type                                            category  categorical, as declared
a categorical type with an order, three categories or more    category  categorical and binomial
whole numbers: only two, or one                               category  categorical, these values
whole numbers in a range of at most 20, twice each or so      integer   by sign, resolution 1¹
whole numbers from 0 on, 0 occurs, median ≤ 10, none > 1000,
no heaps: none above 0 far more frequent than its neighbours  count     poisson, geometric
other whole numbers                                           integer   by sign, resolution 1¹
other numbers                                                 real      by sign
moments                                                       datetime  gaussian
lengths of time                                               duration  by sign
============================================================= ========= ===========================

¹ Or what ten or more different ones are all multiples of: tens, hundreds.

By sign: gaussian alone if some value is negative; gaussian and exponential if some are 0; gaussian
and lognormal if all are positive; and atoms, wherever values recur far more often than those around
them: zeros, round numbers, dates. Few values that all recur have gaussian and atoms. Whole numbers
in a column of floats count as whole: pandas turns integers with missing cells into floats. Poisson
leaves are for counts near zero only: their spread is tied to their mean, which is far too narrow
for an income and too rigid for an age.

A constant column is allowed: text and whole numbers from 0 on get a single category, times and
whole numbers below 0 an atom, other numbers Gaussian leaves around the value. Identifiers are
refused, since there is nothing to learn from them: text with more than 1,000 different values, or
50 or more cells of which over 90 % differ.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from bayesspn.arrays import Array, IntArray
from bayesspn.leaves.atoms import find_atoms, has_heaps
from bayesspn.leaves.grid_detection import read_grid, whole_step
from bayesspn.leaves.grids import Grid
from bayesspn.numerics.checks import levels_to_user
from bayesspn.tables.cells import Cells, TableError, shorten
from bayesspn.tables.encoding import encode
from bayesspn.tables.frames import open_table
from bayesspn.tables.schema import ColumnSchema, Schema
from bayesspn.tables.surveys import MOST_TEXT_CATEGORIES, ColumnSurvey, survey_cells
from bayesspn.tables.text_values import read_text

_SMALL_RANGE = 20
_FEWEST_IDENTIFIERS = 50

#: Zeros that make an atom where there are too many values to remember.
_FEWEST_ZEROS = 8
_LEAST_SHARE = 0.02

#: Share of the precision below which positive values are taken for zeros: 1e-6 among whole numbers.
_NEAR_ZERO = 1e-3

_LARGEST_COUNT = 1_000
_LARGEST_MEDIAN_COUNT = 10


class Identifiers(TableError):
    """A column of identifiers, from which there is nothing to learn."""

    def __init__(self, column: Hashable, message: str) -> None:
        super().__init__(message)
        self.column = column


def infer_schema(table: Any, *, identifiers: Literal["error", "drop"] = "error") -> Schema:
    """Infer a schema.

    Parameters
    ----------
    table : array or frame of shape (rows, columns)
        Of any library; columns of arrays are named "x0", "x1", ….
    identifiers : {"error", "drop"}, default="error"
        Whether columns of identifiers are refused, or left out of the schema.

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
    surveys = [survey_cells(read_values(opened.read(k))) for k in range(len(opened.names))]
    return infer_columns(surveys, identifiers)


def read_values(cells: Cells) -> Cells:
    """Text that holds dates or numbers as these, with a word about the latter."""
    read = read_text(cells)
    if read is not cells and read.values.dtype.kind == "f":
        row = int(np.flatnonzero(~cells.missing)[0])
        warnings.warn(
            f"column {shorten(cells.name)} holds numbers as text, such as "
            f"{shorten(cells.as_objects()[row])}: they are taken as numbers",
            UserWarning,
            stacklevel=levels_to_user(),
        )
    return read


def infer_columns(
    surveys: Sequence[ColumnSurvey], identifiers: Literal["error", "drop"] = "error"
) -> Schema:
    """Schema of columns that have been surveyed; those that cannot be used are all named."""
    columns, refused = [], []
    for survey in surveys:
        try:
            columns.append(infer_column(survey))
        except Identifiers as error:
            refused.append(error)
    if identifiers == "drop" and columns:
        refused = []
    if len(refused) == 1:
        raise refused[0]
    if refused:
        names = ", ".join(shorten(error.column) for error in refused)
        raise TableError(
            f"columns {names} have nearly as many different values as cells, as identifiers do; "
            "drop them, or declare their categories (a categorical type, or their schema) if they "
            "are none"
        )
    numbered = [survey.name for survey in surveys if _numbers_rows(survey)]
    if numbered:
        warnings.warn(
            f"column {', '.join(map(shorten, numbered))} looks like row numbers: every whole "
            "number of a range, once; drop it if it says nothing about the row",
            UserWarning,
            stacklevel=levels_to_user(),
        )
    return Schema(tuple(columns))


def _numbers_rows(survey: ColumnSurvey) -> bool:
    if survey.content != "numbers" or not survey.whole or survey.observed < _FEWEST_IDENTIFIERS:
        return False
    once = survey.distinct.size in (0, survey.observed)
    return once and survey.highest - survey.lowest + 1 == survey.observed


class EncodedTable(NamedTuple):
    """A table as numbers.

    Attributes
    ----------
    schema : Schema
    values : ndarray of shape (rows, columns)
        NaN where a cell is missing.
    library : str
        The table's library, one that `build_frame` knows.
    """

    schema: Schema
    values: Array
    library: str


def encode_table(table: Any, schema: Schema | None = None) -> EncodedTable:
    """Open a table once, infer its schema unless there is one, and encode it.

    Parameters
    ----------
    table : array or frame of shape (rows, columns)
    schema : Schema, default=None

    Examples
    --------
    >>> encode_table([[1.5, 2.0], [2.25, 3.5]]).schema.names
    ('x0', 'x1')
    """
    opened = open_table(table)
    known = infer_schema(opened) if schema is None else schema
    return EncodedTable(known, encode(opened, known), opened.library)


def infer_column(survey: ColumnSurvey) -> ColumnSchema:
    """Schema of a column that has been surveyed."""
    if not survey.observed:
        raise TableError(
            f"column {shorten(survey.name)} has no observed value; drop it or give its schema"
        )
    if survey.content == "categories":
        return _infer_categories(survey)
    name, dtype = survey.name, survey.dtype
    if survey.content == "booleans":
        return ColumnSchema(name, "binary", dtype=dtype)
    if survey.content == "moments":
        families = _time_families(("gaussian",), survey)
        return ColumnSchema(name, "datetime", families, resolution=survey.step, dtype=dtype)
    if survey.content == "durations":
        families = _time_families(_families_from(survey.lowest), survey)
        return ColumnSchema(name, "duration", families, resolution=survey.step, dtype=dtype)
    families = _number_families(survey)
    if not survey.whole:
        return ColumnSchema(name, "real", families, dtype=dtype)
    if _are_categories(survey):
        categories = tuple(int(value) for value in survey.distinct)
        return ColumnSchema(name, "category", categories=categories, dtype=dtype)
    # up to this limit all different values are known, and so is the median
    small = survey.lowest == 0 and survey.highest <= _LARGEST_COUNT
    few = survey.highest < _SMALL_RANGE and "atoms" in families
    counted = small and not few and survey.median <= _LARGEST_MEDIAN_COUNT
    if counted and not has_heaps(survey.distinct, survey.counts):
        return ColumnSchema(name, "count", dtype=dtype)
    step = whole_step(survey.distinct) if survey.distinct.size else None
    return ColumnSchema(name, "integer", families, resolution=step, dtype=dtype)


def _infer_categories(survey: ColumnSurvey) -> ColumnSchema:
    levels, n_cells = survey.levels, survey.observed
    name, dtype = survey.name, survey.dtype
    if survey.declared:
        return ColumnSchema(
            name, "category", categories=levels, ordered=survey.ordered, dtype=dtype
        )
    identifiers = n_cells >= _FEWEST_IDENTIFIERS and len(levels) > 0.9 * n_cells
    if identifiers or len(levels) > MOST_TEXT_CATEGORIES:
        number = f"{len(levels):,}" + (" or more" if survey.cut else "")
        raise Identifiers(
            name,
            f"column {shorten(name)} has {number} different values in {n_cells:,} "
            f"cells, such as {shorten(levels[0])}; drop it, or declare its categories (a "
            "categorical type, or its schema) if they are no identifiers",
        )
    return ColumnSchema(name, "category", categories=tuple(sorted(levels, key=str)), dtype=dtype)


def _are_categories(survey: ColumnSurvey) -> bool:
    n_distinct = survey.distinct.size
    if n_distinct == 2 and (survey.lowest, survey.highest) == (0.0, 1.0):
        return True
    # values that hardly recur are measurements
    return survey.lowest >= 0 and 0 < n_distinct <= 2 and 2 * n_distinct <= survey.observed


def _number_families(survey: ColumnSurvey) -> tuple[str, ...]:
    """Likelihood families that suit a column of numbers."""
    families = _families_from(survey.lowest)
    if survey.distinct.size:
        step = whole_step(survey.distinct) if survey.whole else None
        return _with_atoms(families, survey.distinct, survey.counts, step)
    return (*families, "atoms") if _many_zeros(survey) else families


def _many_zeros(survey: ColumnSurvey) -> bool:
    """Whether zeros make an atom, of columns with too many values to remember."""
    return survey.zeros >= max(_FEWEST_ZEROS, _LEAST_SHARE * survey.observed)


def _time_families(families: tuple[str, ...], survey: ColumnSurvey) -> tuple[str, ...]:
    """Families with atoms beside them where times recur: the first of January of some years."""
    if not survey.distinct.size:
        # the beginning of 1970 is a moment like any other
        zeros = survey.content == "durations" and _many_zeros(survey)
        return (*families, "atoms") if zeros else families
    return _with_atoms(families, survey.distinct, survey.counts, survey.step)


def _with_atoms(
    families: tuple[str, ...], distinct: Array, counts: IntArray, step: float | None
) -> tuple[str, ...]:
    """Families with atoms beside them, if values recur; their precision may be known."""
    times = counts.astype(np.float64)
    grid = Grid(step, 0.0) if step is not None else read_grid(distinct, times)
    width = grid.step
    if grid.origin is not None and 0 < distinct[0] < _NEAR_ZERO * width:
        families = _families_from(0.0)  # a zero, as far as the recording can tell
    atoms = find_atoms(distinct, times, width)
    if atoms.size == len(distinct):
        # what skewed families have at one value spills over to its neighbours
        return ("gaussian", "atoms")
    return (*families, "atoms") if atoms.size else families


def families_by_sign(values: Array) -> tuple[str, ...]:
    """Likelihood families that suit continuous values."""
    distinct, counts = np.unique(values, return_counts=True)
    return _with_atoms(_families_from(float(distinct[0])), distinct, counts, None)


def _families_from(lowest: float) -> tuple[str, ...]:
    if lowest < 0:
        return ("gaussian",)
    return ("gaussian", "exponential" if lowest == 0 else "lognormal")
