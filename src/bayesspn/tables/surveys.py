"""Surveys: what a schema needs to know of a column, read off any part of it and then merged.

A table need not be in one place to get a schema: surveys of its parts are small, and merging them
gives the survey of the whole, exactly.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bayesspn.arrays import Array
from bayesspn.tables.cells import Cells, Scalar, TableError, shorten
from bayesspn.tables.encoding import LARGEST_INTEGER, numbers
from bayesspn.tables.times import recorded_step, seconds_from_times

#: Text with more different values is taken for identifiers, so more need not be remembered.
MOST_TEXT_CATEGORIES = 1_000

#: Different numbers or times that are remembered. Among thousands there may be some that recur: 99
#: for "unknown", the top of a scale, the first of January.
_MOST_VALUES = 50_000

Content = Literal["categories", "booleans", "moments", "durations", "numbers"]


@dataclass(frozen=True, eq=False)
class ColumnSurvey:
    """What a schema needs to know of a column.

    Attributes
    ----------
    name : hashable
    dtype : str
    content : {"categories", "booleans", "moments", "durations", "numbers"}
    observed : int
        Cells that are not missing. If there is none, nothing below means anything.
    levels : tuple
        Different values of categories.
    cut : bool
        Whether there are more levels, which nobody needs to know.
    declared, ordered : bool
        Whether the column's type fixes the levels, and orders them.
    lowest, highest : float
        Smallest and largest number, or length of time in seconds.
    whole : bool
        Whether all numbers are whole and exact.
    distinct, counts : ndarray
        Different numbers, times in seconds, ascending, and how often each occurs; empty if there
        are too many.
    zeros : int
        How many numbers or lengths of time are 0.
    step : float
        Seconds to which times are recorded.
    """

    name: Hashable
    dtype: str
    content: Content
    observed: int
    levels: tuple[Scalar, ...] = ()
    cut: bool = False
    declared: bool = False
    ordered: bool = False
    lowest: float = np.inf
    highest: float = -np.inf
    whole: bool = True
    distinct: Array = field(default_factory=lambda: np.empty(0))
    counts: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    zeros: int = 0
    step: float = np.inf

    @property
    def median(self) -> float:
        """Median of numbers that are all remembered."""
        ends = np.cumsum(self.counts)
        middle = [(self.observed - 1) // 2, self.observed // 2]
        return float(self.distinct[np.searchsorted(ends, middle, side="right")].mean())


def survey_cells(cells: Cells) -> ColumnSurvey:
    """Survey of a column, or of some of its cells.

    Examples
    --------
    >>> cells = Cells("n", "int64", np.array([3, 0, 1]), np.array([False, False, True]))
    >>> survey = survey_cells(cells)
    >>> survey.observed, survey.highest, survey.median
    (2, 3.0, 1.5)
    """
    name, dtype, observed = cells.name, cells.dtype, int((~cells.missing).sum())
    if cells.levels is not None:
        return ColumnSurvey(
            name,
            dtype,
            "categories",
            observed,
            cells.levels,
            declared=cells.declared,
            ordered=cells.ordered,
        )
    kind = cells.values.dtype.kind
    if kind == "b":
        return ColumnSurvey(name, dtype, "booleans", observed)
    if kind in "Mm":
        content: Content = "moments" if kind == "M" else "durations"
        if not observed:
            return ColumnSurvey(name, dtype, content, 0)
        distinct, counts = np.unique(seconds_from_times(cells.observed), return_counts=True)
        low, high = float(distinct[0]), float(distinct[-1])
        told = ColumnSurvey(
            name,
            dtype,
            content,
            observed,
            lowest=low,
            highest=high,
            zeros=int(counts[distinct == 0].sum()),
            step=recorded_step(cells.observed),
        )
        return _remember(told, distinct, counts)
    if not observed:
        return ColumnSurvey(name, dtype, "numbers", 0)
    values = numbers(cells)[~cells.missing]
    low, high = float(values.min()), float(values.max())
    whole = bool(np.all(values == np.floor(values)) and max(-low, high) <= LARGEST_INTEGER)
    distinct, counts = np.unique(values, return_counts=True)
    survey = ColumnSurvey(
        name,
        dtype,
        "numbers",
        observed,
        lowest=low,
        highest=high,
        whole=whole,
        zeros=int((values == 0).sum()),
    )
    return _remember(survey, distinct, counts)


def _remember(survey: ColumnSurvey, distinct: Array, counts: NDArray[np.int64]) -> ColumnSurvey:
    few = len(distinct) <= _MOST_VALUES
    return replace(survey, distinct=distinct, counts=counts) if few else survey


def merge_surveys(parts: Sequence[ColumnSurvey]) -> ColumnSurvey:
    """Survey of a column from those of its parts.

    Examples
    --------
    >>> parts = [
    ...     survey_cells(Cells("n", "int64", np.array([value]), np.array([False])))
    ...     for value in (3, 0)
    ... ]
    >>> merge_surveys(parts).distinct
    array([0., 3.])
    """
    told = [part for part in parts if part.observed]
    if not told:
        return parts[0]
    first = told[0]
    for other in told:
        if other.content != first.content:
            raise TableError(
                f"column {shorten(first.name)} holds {first.content} in one part of the table and "
                f"{other.content} in another; make them alike"
            )
    observed = sum(part.observed for part in told)
    if first.content == "categories":
        levels = tuple(dict.fromkeys(level for part in told for level in part.levels))
        most = len(levels) if first.declared else MOST_TEXT_CATEGORIES + 1
        cut = len(levels) > most or any(part.cut for part in told)
        return replace(first, observed=observed, levels=levels[:most], cut=cut)
    whole = all(part.whole for part in told)
    merged = replace(
        first,
        observed=observed,
        distinct=np.empty(0),
        counts=np.empty(0, dtype=np.int64),
        lowest=min(part.lowest for part in told),
        highest=max(part.highest for part in told),
        whole=whole,
        zeros=sum(part.zeros for part in told),
        step=min(part.step for part in told),
    )
    if first.content == "booleans":
        return merged
    known = all(part.distinct.size for part in told)
    kept = told if known else []
    distinct, place = np.unique(
        np.concatenate([np.empty(0), *(part.distinct for part in kept)]), return_inverse=True
    )
    counts = np.zeros(len(distinct), dtype=np.int64)
    np.add.at(counts, place, np.concatenate([counts[:0], *(part.counts for part in kept)]))
    return _remember(merged, distinct, counts)
