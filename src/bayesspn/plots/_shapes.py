"""How the cells of a column are drawn: bars for categories, steps along an axis for the rest."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from bayesspn.arrays import Array
from bayesspn.plots._style import label, write_ticks
from bayesspn.tables import Schema
from bayesspn.tables.schema import ColumnSchema

#: Units of lengths of time in seconds, the longest first.
_UNITS = (("days", 86_400.0), ("hours", 3_600.0), ("minutes", 60.0), ("seconds", 1.0))


@dataclass(frozen=True, eq=False)
class Shape:
    """Cells of a column along an axis.

    Attributes
    ----------
    column : ColumnSchema
    edges : ndarray of shape (cells + 1,)
        In the units of the axis; category k lies between k − ½ and k + ½.
    kept : slice
        Cells of the distribution that are drawn: those that are finite.
    unit : str
        Unit of a length of time, else empty.
    scale : float
        Seconds, or one, per unit.
    """

    column: ColumnSchema
    edges: Array
    kept: slice
    unit: str = ""
    scale: float = 1.0

    @property
    def named(self) -> bool:
        """Whether cells are categories."""
        return self.column.coded

    @property
    def centres(self) -> Array:
        """Middles of the cells."""
        return 0.5 * (self.edges[1:] + self.edges[:-1])

    def heights(self, shares: Any) -> Array:
        """Probabilities of categories, densities of the rest, from probabilities of all cells."""
        cells = np.asarray(shares, dtype=np.float64)[self.kept]
        return cells if self.named else cells / np.diff(self.edges)

    def measure(self, values: Array) -> Array:
        """Encoded values on the axis; NaN where missing."""
        if self.column.kind == "datetime":
            from matplotlib.dates import date2num

            return values / 86_400.0 + date2num(np.datetime64("1970-01-01"))
        return values / self.scale

    def prepare(self, axis: Any, names: list[Any] | None = None) -> None:
        """Label an axis."""
        if self.named:
            names = list(self.column.categories or (False, True)) if names is None else names
            write_ticks(axis, range(len(names)), names)
        elif self.column.kind == "datetime":
            axis.axis_date()
        unit = f" ({self.unit})" if self.unit else ""
        axis.set_label_text(label(self.column.name, 40) + unit, parse_math=False)


def shape_of(frame: pd.DataFrame, schema: Schema, name: Hashable) -> Shape:
    """How the cells of a column, as `distributions` or `cells` gives them, are drawn."""
    column = schema[name]
    if "value" in frame:
        edges = np.arange(len(frame) + 1, dtype=np.float64) - 0.5
        return Shape(column, edges, slice(0, len(frame)))
    if column.kind == "count":
        starts = frame["from"].to_numpy(dtype=np.float64)
        return Shape(column, starts - 0.5, slice(0, len(frame) - 1))
    cuts, unit, scale = frame["to"].iloc[:-1], "", 1.0
    if column.timed:
        if column.kind == "duration":
            span = (cuts.iloc[-1] - cuts.iloc[0]).total_seconds()
            unit, scale = next((u for u in _UNITS if span > 3 * u[1]), _UNITS[-1])
        edges = _times(cuts, scale)
    else:
        edges = cuts.to_numpy(dtype=np.float64)
    return Shape(column, edges, slice(1, len(frame) - 1), unit, scale)


def _times(series: pd.Series, scale: float) -> Array:
    """Moments as matplotlib's days, lengths of time in units."""
    if pd.api.types.is_timedelta64_dtype(series.dtype):
        return np.asarray(series.dt.total_seconds(), dtype=np.float64) / scale
    from matplotlib.dates import date2num

    moments = pd.to_datetime(series)
    if moments.dt.tz is not None:
        moments = moments.dt.tz_convert("UTC").dt.tz_localize(None)
    return np.asarray(date2num(moments.to_numpy()), dtype=np.float64)
