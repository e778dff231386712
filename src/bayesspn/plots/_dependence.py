"""Which columns depend on each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bayesspn.plots._inputs import check_model
from bayesspn.plots._style import SHARES, explain, labels, make_axes

if TYPE_CHECKING:
    from bayesspn.estimators.joint import JointEstimator

_MEASURES = {
    "strength": "strength, on the scale of correlations",
    "probability": "probability of dependence",
}

#: Columns up to which cells have their number in them.
_MOST_NUMBERS = 14


def dependence(
    model: JointEstimator,
    *,
    measure: str = "strength",
    table: pd.DataFrame | None = None,
    ax: Any = None,
) -> Any:
    """How strongly columns depend on each other, averaged over the posterior.

    Reading help: light cells are pairs of columns that tell much about each other; columns that go
    together stand together.

    Parameters
    ----------
    model : fitted estimator
    measure : {"strength", "probability"}, default="strength"
        What ``dependence_strength()`` or what ``dependence()`` gives.
    table : DataFrame of shape (columns, columns), default=None
        The answer to that question, if it was asked already.
    ax : matplotlib axes, default=None

    Returns
    -------
    matplotlib axes
    """
    check_model(model)
    if measure not in _MEASURES:
        raise ValueError(f"measure must be 'strength' or 'probability', got {measure!r}")
    if table is None:
        joint = model.joint_
        table = joint.dependence_strength() if measure == "strength" else joint.dependence()
    order = cluster(table)
    shares = table.to_numpy()[np.ix_(order, order)]
    names = labels(np.array(list(table.columns), dtype=object)[order])
    size = 2.2 + 0.42 * min(len(names), 30)
    ax = make_axes(ax, size + 0.8, size)
    image = ax.imshow(shares, cmap=SHARES, vmin=0, vmax=1)
    places = range(len(names))
    for axis, rotation in ((ax.xaxis, 90), (ax.yaxis, 0)):
        axis.set_ticks(list(places))
        axis.set_ticklabels(
            names, parse_math=False, rotation=rotation, fontsize=8 if len(names) < 30 else 5
        )
    if len(names) <= _MOST_NUMBERS:
        for row in places:
            for column in places:
                value = shares[row, column]
                ax.text(
                    column,
                    row,
                    f"{value:.2f}".replace("0.", ".").replace("1.00", "1"),
                    ha="center",
                    va="center",
                    fontsize=6.5,
                    color="black" if value > 0.5 else "white",
                )
    ax.figure.colorbar(image, ax=ax, shrink=0.7, label=_MEASURES[measure])
    explain(
        ax,
        "Dependence between columns",
        "light: they tell much about each other",
    )
    return ax


def cluster(table: pd.DataFrame) -> list[int]:
    """An order of the columns that puts those side by side that depend on each other."""
    if len(table) < 3:
        return list(range(len(table)))
    from scipy.cluster.hierarchy import leaves_list, linkage, optimal_leaf_ordering
    from scipy.spatial.distance import squareform

    distance = 1.0 - table.to_numpy(dtype=np.float64)
    np.fill_diagonal(distance, 0.0)
    condensed = squareform(0.5 * (distance + distance.T), checks=False)
    tree = linkage(condensed, "average")
    return [int(k) for k in leaves_list(optimal_leaf_ordering(tree, condensed))]
