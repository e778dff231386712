"""How one column changes with another: conditional distributions side by side."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesspn.arrays import Array
from bayesspn.plots._columns import describe_given
from bayesspn.plots._inputs import as_frame, check_model, column_of, matching_rows
from bayesspn.plots._shapes import Shape, shape_of
from bayesspn.plots._style import SHARES, explain, label, make_axes
from bayesspn.questions.events import QuestionError

if TYPE_CHECKING:
    import pandas as pd

    from bayesspn.estimators.joint import JointEstimator

#: Data points drawn at most.
_MOST_POINTS = 1_000


def conditional_map(
    model: JointEstimator,
    x: Hashable,
    y: Hashable,
    given: Any = None,
    *,
    data: Any = None,
    cells: int = 30,
    ax: Any = None,
) -> Any:
    """Distribution of one column for every value of another.

    Reading help: each upright strip is the distribution of y for that x; light is likely.

    Parameters
    ----------
    model : fitted estimator
    x, y : column names
    given : str or dict, default=None
        What else is known, such as ``"sex == F"``.
    data : table, default=None
        Rows to draw as points.
    cells : int, default=30
        At most how many cells columns without categories are divided into.
    ax : matplotlib axes, default=None

    Returns
    -------
    matplotlib axes
    """
    check_model(model)
    if x == y:
        raise QuestionError(f"name two different columns, got {label(x)!r} twice")
    known = model.joint_ if given is None else model.joint_.condition(given)
    frames = known.distributions([x, y], cells=cells)
    across, up = (shape_of(frames[name], model.schema_, name) for name in (x, y))
    strips = [
        _strip(known, {x: event}, y, up, cells)
        for event in list(cell_events(frames[x]))[across.kept]
    ]
    image = np.array(strips).T
    ax = make_axes(ax, 6.4, 4.8)
    most = np.nanmax(image, axis=0)
    # every strip has its own brightest cell, or rare values would all be dark
    ax.pcolormesh(
        across.edges, up.edges, image / np.where(most > 0, most, 1.0), cmap=SHARES, vmin=0, vmax=1
    )
    if data is not None:
        _draw_points(ax, model, data, given, (across, up))
    for axis, shape in ((ax.xaxis, across), (ax.yaxis, up)):
        shape.prepare(axis)
    if across.named:
        ax.tick_params(axis="x", rotation=90 if len(across.centres) > 4 else 0)
    ax.set_xlim(across.edges[0], across.edges[-1])
    ax.set_ylim(up.edges[0], up.edges[-1])
    under = "" if given is None else f" given {describe_given(given)}"
    explain(
        ax,
        f"{label(y)} by {label(x)}{under}",
        "each upright strip: distribution for that value; light is likely"
        + ("; dots: data" if data is not None else ""),
    )
    return ax


def cell_events(frame: pd.DataFrame) -> list[Any]:
    """What is given, or asked for, if a column lies in a cell of its distribution."""
    if "value" in frame:
        return [[value] for value in frame["value"]]
    return list(zip(frame["from"], frame["to"], strict=True))


def _strip(known: Any, event: dict[Hashable, Any], y: Hashable, up: Shape, cells: int) -> Array:
    """Distribution of y given a cell of x; not a number if the cell is impossible."""
    try:
        return up.heights(known.distributions([y], event, cells=cells)[y]["probability"])
    except QuestionError:
        return np.full(len(up.centres), np.nan)


def _draw_points(
    ax: Any, model: JointEstimator, data: Any, given: Any, shapes: tuple[Shape, Shape]
) -> None:
    rows = as_frame(data, model.schema_)
    if given is not None:
        rows = rows[matching_rows(rows, given, model.schema_)]
    rng = np.random.default_rng(0)
    if len(rows) > _MOST_POINTS:
        rows = rows.iloc[np.sort(rng.choice(len(rows), _MOST_POINTS, replace=False))]
    places = []
    for shape in shapes:
        values = shape.measure(column_of(model, rows, shape.column.name))
        # equal categories would lie on one point
        places.append(values + (rng.uniform(-0.35, 0.35, len(values)) if shape.named else 0.0))
    ax.plot(*places, ".", color="white", mec="black", mew=0.3, ms=4, alpha=0.6, ls="")
