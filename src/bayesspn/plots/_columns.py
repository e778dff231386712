"""Distributions of single columns, with credible bands, over the data."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesspn.arrays import Array
from bayesspn.plots._inputs import check_model, column_of, matching_rows
from bayesspn.plots._shapes import Shape, shape_of
from bayesspn.plots._style import (
    BLUE,
    PALE,
    SKY,
    add_legend,
    clean,
    explain,
    label,
    make_axes,
    write_ticks,
)
from bayesspn.questions.wording import count

if TYPE_CHECKING:
    from bayesspn.estimators.joint import JointEstimator

#: Categories that are drawn; the least probable others are left out.
_MOST_BARS = 25

#: Fewer rows than this do not make a histogram.
_FEWEST_ROWS = 20


def density(
    model: JointEstimator,
    column: Hashable,
    given: Any = None,
    *,
    data: Any = None,
    interval: float = 0.9,
    ax: Any = None,
) -> Any:
    """Distribution of a column, by itself or given what is known, with its credible band.

    Reading help: the line is the model's answer, the band how sure it is, grey the data.

    Parameters
    ----------
    model : fitted estimator
    column : column name
    given : str or dict, default=None
        What is known, such as ``"age > 60"``.
    data : table, default=None
        Rows whose histogram is drawn behind, those of them that agree with what is given.
    interval : float, default=0.9
        Probability of the band.
    ax : matplotlib axes, default=None

    Returns
    -------
    matplotlib axes
    """
    check_model(model)
    frame = model.joint_.distributions([column], given, interval=interval)[column]
    shape = shape_of(frame, model.schema_, column)
    seen, rows = None, 0
    if data is not None:
        values = shape.measure(column_of(model, data, column))
        if given is not None:
            values = values[matching_rows(data, given, model.schema_)]
        values = values[~np.isnan(values)]
        rows = len(values)
        if rows >= _FEWEST_ROWS:
            seen = np.histogram(values, shape.edges)[0] / rows
    ax = make_axes(ax)
    parts = {name: shape.heights(frame[name]) for name in ("probability", "low", "high")}
    told = f"model, {100 * interval:g} % band"
    if shape.named:
        _draw_bars(ax, shape, parts, seen, rows, told)
    else:
        _draw_steps(ax, shape, parts, seen, rows, told)
    under = "" if given is None else f" given {describe_given(given)}"
    help_ = "line: model; band: how sure it is" + ("; grey: data" if seen is not None else "")
    explain(ax, label(column, 40) + under, help_.replace("line", "dot") if shape.named else help_)
    clean(ax)
    return ax


def describe_given(given: Any) -> str:
    """What is given, in a title."""
    if isinstance(given, str):
        return label(given, 60)
    return label(", ".join(f"{label(name)}: {label(value)}" for name, value in given.items()), 60)


def _draw_steps(
    ax: Any, shape: Shape, parts: dict[str, Array], seen: Array | None, rows: int, told: str
) -> None:
    if seen is not None:
        heights = seen / np.diff(shape.edges)
        ax.stairs(heights, shape.edges, fill=True, color=PALE, label=f"data, {count(rows, 'row')}")
    ax.stairs(
        parts["high"], shape.edges, baseline=parts["low"], fill=True, color=SKY, alpha=0.45, lw=0
    )
    ax.stairs(parts["probability"], shape.edges, baseline=None, color=BLUE, lw=1.5, label=told)
    ax.set_xlim(shape.edges[0], shape.edges[-1])
    ax.set_ylim(bottom=0)
    ax.set_ylabel("density")
    shape.prepare(ax.xaxis)
    add_legend(ax)


def _draw_bars(
    ax: Any, shape: Shape, parts: dict[str, Array], seen: Array | None, rows: int, told: str
) -> None:
    value = parts["probability"]
    names = np.array(list(shape.column.categories or (False, True)), dtype=object)
    shown = np.arange(len(value))
    if len(value) > _MOST_BARS:
        shown = np.sort(np.argsort(-value, kind="stable")[:_MOST_BARS])
    places = np.arange(len(shown))
    if seen is not None:
        ax.barh(places, seen[shown], color=PALE, label=f"data, {count(rows, 'row')}")
    low, high = parts["low"][shown], parts["high"][shown]
    ax.hlines(places, low, high, color=SKY, lw=5, alpha=0.7)
    ax.plot(value[shown], places, "o", color=BLUE, ms=4, label=told)
    write_ticks(ax.yaxis, places, names[shown])
    ax.set_ylim(len(shown) - 0.5, -0.5)
    ax.set_xlim(left=0)
    left = len(value) - len(shown)
    rest = f" ({count(left, 'less probable category').replace('categorys', 'categories')} left out)"
    ax.set_xlabel("probability" + (rest if left else ""))
    ax.set_ylabel(label(shape.column.name, 40), parse_math=False)
    add_legend(ax)
