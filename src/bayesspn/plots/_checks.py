"""Posterior predictive checks: whether the model would have made such data."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bayesspn.arrays import Array
from bayesspn.plots._inputs import as_frame, check_model, column_of
from bayesspn.plots._shapes import Shape, shape_of
from bayesspn.plots._style import (
    BLACK,
    DIFFERENCES,
    ORANGE,
    add_legend,
    clean,
    explain,
    label,
    make_axes,
    write_ticks,
)
from bayesspn.questions.events import QuestionError

if TYPE_CHECKING:
    from bayesspn.estimators.joint import JointEstimator

#: Rows of the data, and of each synthetic table, that are compared at most.
_MOST_ROWS = 5_000

_COLUMN_CELLS = 40
_PAIR_CELLS = 12

#: Differences in standard deviations at which colours end.
_FARTHEST = 4.0


def check_column(
    model: JointEstimator,
    data: Any,
    column: Hashable,
    *,
    tables: int = 40,
    replicates: list[Any] | None = None,
    random_state: Any = 0,
    ax: Any = None,
) -> Any:
    """Compare a column of the data with the same column of synthetic tables.

    Reading help: the data (black) should mostly lie within the orange band, which holds nine of
    ten synthetic tables.

    Parameters
    ----------
    model : fitted estimator
    data : table
        As a rule the one that was learned from.
    column : column name
    tables : int, default=40
        Number of synthetic tables.
    replicates : list of tables, default=None
        Synthetic tables, if there are some already; see `draw_tables`.
    random_state : int, RandomState or None, default=0
    ax : matplotlib axes, default=None

    Returns
    -------
    matplotlib axes
    """
    check_model(model)
    if replicates is None:
        replicates = draw_tables(model, data, tables, random_state)
    shape, seen, low, high = compare_column(model, data, column, replicates)
    ax = make_axes(ax)
    band = f"{len(replicates)} synthetic tables, 90 % band"
    if shape.named:
        order = np.sort(np.argsort(-np.maximum(seen, high), kind="stable")[:25])
        places = np.arange(len(order))
        ax.hlines(places, low[order], high[order], color=ORANGE, lw=6, alpha=0.6, label=band)
        ax.plot(seen[order], places, "|", color=BLACK, ms=9, mew=1.6, label="data")
        names = np.array(list(shape.column.categories or (False, True)), dtype=object)
        write_ticks(ax.yaxis, places, names[order])
        ax.set_ylim(len(order) - 0.5, -0.5)
        ax.set_xlim(left=0)
        ax.set_xlabel("share of rows")
        ax.set_ylabel(label(column, 40), parse_math=False)
    else:
        ax.stairs(high, shape.edges, baseline=low, fill=True, color=ORANGE, alpha=0.5, label=band)
        ax.stairs(seen, shape.edges, baseline=None, color=BLACK, lw=1.2, label="data")
        ax.set_xlim(shape.edges[0], shape.edges[-1])
        ax.set_ylim(bottom=0)
        ax.set_ylabel("share of rows")
        shape.prepare(ax.xaxis)
    add_legend(ax)
    explain(
        ax, f"Check of {label(column, 40)}", "the data should mostly lie within the orange band"
    )
    clean(ax)
    return ax


def check_pair(
    model: JointEstimator,
    data: Any,
    x: Hashable,
    y: Hashable,
    *,
    tables: int = 40,
    replicates: list[Any] | None = None,
    random_state: Any = 0,
    ax: Any = None,
) -> Any:
    """Compare how often values of two columns come together in the data and in synthetic tables.

    Reading help: pale cells are as common in the data as in synthetic tables; strong colours are
    combinations that the model makes too rarely (orange) or too often (purple).

    Parameters
    ----------
    model : fitted estimator
    data : table
        As a rule the one that was learned from.
    x, y : column names
    tables : int, default=40
        Number of synthetic tables.
    replicates : list of tables, default=None
        Synthetic tables, if there are some already; see `draw_tables`.
    random_state : int, RandomState or None, default=0
    ax : matplotlib axes, default=None

    Returns
    -------
    matplotlib axes
    """
    check_model(model)
    if x == y:
        raise QuestionError(f"name two different columns, got {label(x)!r} twice")
    shapes = tuple(
        shape_of(model.joint_.cells(name, _PAIR_CELLS), model.schema_, name) for name in (x, y)
    )
    if replicates is None:
        replicates = draw_tables(model, data, tables, random_state)
    data, drawn = _tables(model, data, replicates)
    seen = _pair_shares(model, shapes, data)
    made = np.array([_pair_shares(model, shapes, table) for table in drawn])
    # no cell is surer than that one row more or less makes no difference
    spread = np.maximum(made.std(axis=0), 1.0 / len(data))
    difference = (seen - made.mean(axis=0)) / spread
    ax = make_axes(ax, 6.4, 4.8)
    image = ax.pcolormesh(
        shapes[0].edges,
        shapes[1].edges,
        difference.T,
        cmap=DIFFERENCES,
        vmin=-_FARTHEST,
        vmax=_FARTHEST,
    )
    for axis, shape in zip((ax.xaxis, ax.yaxis), shapes, strict=True):
        shape.prepare(axis)
    if shapes[0].named:
        ax.tick_params(axis="x", rotation=90 if len(shapes[0].centres) > 4 else 0)
    ax.figure.colorbar(image, ax=ax, label="data less model, in standard deviations")
    explain(
        ax,
        f"Check of {label(x)} and {label(y)}",
        "orange: more common in the data than the model makes it; purple: rarer",
    )
    return ax


def compare_column(
    model: JointEstimator, data: Any, column: Hashable, replicates: list[Any]
) -> tuple[Shape, Array, Array, Array]:
    """Shares of the rows in the cells of a column.

    Returns
    -------
    shape : Shape
        The cells.
    seen : ndarray of shape (cells,)
        Of the data.
    low, high : ndarray of shape (cells,)
        Between which those of nine out of ten synthetic tables lie.
    """
    shape = shape_of(model.joint_.cells(column, _COLUMN_CELLS), model.schema_, column)
    data, drawn = _tables(model, data, replicates)
    seen = _shares(shape, column_of(model, data, column))
    made = np.array([_shares(shape, column_of(model, table, column)) for table in drawn])
    low, high = np.quantile(made, [0.05, 0.95], axis=0)
    return shape, seen, low, high


def draw_tables(
    model: JointEstimator, data: Any, tables: int = 40, random_state: Any = 0
) -> list[Any]:
    """Draw synthetic tables with as many rows as are compared, for several checks."""
    rows = min(len(as_frame(data, model.schema_)), _MOST_ROWS)
    if not rows:
        raise ValueError("the data have no rows to compare with")
    return model.joint_.replicates(rows, tables, random_state=random_state)


def _tables(
    model: JointEstimator, data: Any, replicates: list[Any]
) -> tuple[pd.DataFrame, list[pd.DataFrame]]:
    """The rows compared, and synthetic tables, as frames."""
    drawn = [as_frame(table, model.schema_) for table in replicates]
    return thin_rows(as_frame(data, model.schema_)), drawn


def thin_rows(frame: pd.DataFrame, most: int = _MOST_ROWS) -> pd.DataFrame:
    """Some rows of a long table, always the same ones."""
    if len(frame) <= most:
        return frame
    return frame.iloc[np.sort(np.random.default_rng(0).choice(len(frame), most, replace=False))]


def _shares(shape: Shape, values: Array) -> Array:
    """Share of the known values in each cell; (cells,)."""
    places = shape.measure(values)
    places = places[~np.isnan(places)]
    return np.histogram(places, shape.edges)[0] / max(len(places), 1)


def _pair_shares(model: JointEstimator, shapes: tuple[Shape, ...], table: pd.DataFrame) -> Array:
    """Share of the rows in each pair of cells; (cells of x, cells of y)."""
    x, y = (shape.measure(column_of(model, table, shape.column.name)) for shape in shapes)
    known = ~(np.isnan(x) | np.isnan(y))
    edges = [shape.edges for shape in shapes]
    return np.histogram2d(x[known], y[known], edges)[0] / max(known.sum(), 1)
