"""Missing cells: where they are, and what was filled in."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesspn.estimators.imputation import fill_drawn
from bayesspn.plots._checks import thin_rows
from bayesspn.plots._inputs import as_frame, check_model, column_of
from bayesspn.plots._shapes import shape_of
from bayesspn.plots._style import (
    BLUE,
    ORANGE,
    PALE,
    SHARES,
    add_legend,
    clean,
    explain,
    label,
    make_axes,
    write_ticks,
)
from bayesspn.questions.wording import count
from bayesspn.tables.encoding import encode_some

if TYPE_CHECKING:
    from bayesspn.estimators.joint import JointEstimator

#: Rows of the picture, each of which stands for several rows of the table.
_STRIPS = 200

_FILLED_ROWS = 2_000
_CELLS = 30


def missing(model: JointEstimator, data: Any, *, ax: Any = None) -> Any:
    """Where the missing cells of a table are.

    Reading help: light is missing; rows from top to bottom as in the table.

    Parameters
    ----------
    model : fitted estimator
    data : table
    ax : matplotlib axes, default=None

    Returns
    -------
    matplotlib axes
    """
    check_model(model)
    names = list(model.schema_.names)
    holes = np.isnan(encode_some(as_frame(data, model.schema_), model.schema_))
    if not len(holes):
        raise ValueError("the data have no rows")
    strips = np.array_split(holes, min(_STRIPS, len(holes)))
    image = np.array([strip.mean(axis=0) for strip in strips])
    ax = make_axes(ax, max(4.0, 2.0 + 0.35 * len(names)), 4.4)
    most = float(image.max()) or 1.0
    extent = (-0.5, len(names) - 0.5, len(holes), 0)
    shown = ax.imshow(
        image, aspect="auto", cmap=SHARES, vmin=0, vmax=most, extent=extent, interpolation="none"
    )
    shares = holes.mean(axis=0)
    write_ticks(
        ax.xaxis,
        range(len(names)),
        [f"{label(name, 18)}  {100 * s:.0f} %" for name, s in zip(names, shares, strict=True)],
        rotation=90,
        fontsize=8,
    )
    ax.set_ylabel("row")
    ax.figure.colorbar(shown, ax=ax, label="share of cells missing")
    explain(
        ax, f"Missing cells: {100 * holes.mean():.1f} % of the table", "light cells are missing"
    )
    return ax


def filled(
    model: JointEstimator, data: Any, column: Hashable, *, random_state: int = 0, ax: Any = None
) -> Any:
    """Compare what a column's missing cells are filled with to the cells that are known.

    Reading help: the two need not be equal, but a difference should have a reason: rows with holes
    may be unlike others.

    Parameters
    ----------
    model : fitted estimator
    data : table
    column : column name
    random_state : int, default=0
        Missing cells are drawn given the rest of their row.
    ax : matplotlib axes, default=None

    Returns
    -------
    matplotlib axes
    """
    check_model(model)
    schema = model.schema_
    frame = as_frame(data, schema)
    cells = column_of(model, frame, column)
    lacking = np.isnan(cells)
    if not lacking.any():
        raise ValueError(f"column {label(column)!r} has no missing cells, so none is filled in")
    shape = shape_of(model.joint_.cells(column, _CELLS), schema, column)
    holes = encode_some(thin_rows(frame[lacking], _FILLED_ROWS), schema)
    drawn = fill_drawn(model.posterior_, holes, random_state)[:, schema.position(column)]
    parts = []
    for values in (cells[~lacking], drawn):
        places = shape.measure(values)
        parts.append(np.histogram(places, shape.edges)[0] / len(places))
    ax = make_axes(ax)
    known, made = parts
    told = (f"known, {count(int((~lacking).sum()), 'cell')}", f"filled in, {lacking.sum():,}")
    if shape.named:
        ax.barh(shape.centres, known, height=0.8, color=PALE, label=told[0])
        ax.plot(made, shape.centres, "D", color=ORANGE, ms=4, label=told[1])
        shape.prepare(ax.yaxis)
        ax.invert_yaxis()
        ax.set_xlabel("share of cells")
    else:
        ax.stairs(known, shape.edges, fill=True, color=PALE, label=told[0])
        ax.stairs(made, shape.edges, baseline=None, color=BLUE, lw=1.5, label=told[1])
        shape.prepare(ax.xaxis)
        ax.set_ylabel("share of cells")
        ax.set_xlim(shape.edges[0], shape.edges[-1])
    add_legend(ax)
    explain(ax, f"{label(column, 40)}: known and filled in", "a difference should have a reason")
    clean(ax)
    return ax
