"""Which graphs the data speak for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from bayesspn.plots._style import BLUE, GREY, ORANGE, clean, explain, make_axes, write_ticks


def evidence(table: pd.DataFrame, *, ax: Any = None) -> Any:
    """Log evidence of graphs, with twice its standard error.

    Reading help: farther right is better; graphs whose bars overlap cannot be told apart.

    Parameters
    ----------
    table : DataFrame
        A row per graph, named by the index, with columns ``evidence`` and ``standard_error``.
    ax : matplotlib axes, default=None

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> table = pd.DataFrame(
    ...     {"evidence": [-512.3, -498.1], "standard_error": [1.2, 2.5]},
    ...     index=["depth 1", "depth 2"],
    ... )
    >>> [text.get_text() for text in evidence(table).get_yticklabels()]
    ['depth 2', 'depth 1']
    """
    lacking = {"evidence", "standard_error"} - set(getattr(table, "columns", ()))
    if lacking:
        raise ValueError(
            f"the table of graphs lacks the column {sorted(lacking)[0]!r}; it needs a row per "
            "graph with 'evidence' and 'standard_error'"
        )
    if not len(table):
        raise ValueError("the table of graphs has no rows; add one per graph")
    table = table.sort_values("evidence", ascending=False)
    value = table["evidence"].to_numpy(dtype=np.float64)
    error = 2 * table["standard_error"].to_numpy(dtype=np.float64)
    ax = make_axes(ax, 6.4, 1.6 + 0.32 * len(table))
    places = np.arange(len(table))
    equal = value + error >= value[0] - error[0]
    for chosen, colour in ((equal, BLUE), (~equal, ORANGE)):
        ax.errorbar(
            value[chosen], places[chosen], xerr=error[chosen], fmt="o", color=colour, capsize=3
        )
    ax.axvline(value[0], color=GREY, lw=0.8, ls="--")
    write_ticks(ax.yaxis, places, table.index)
    ax.set_ylim(len(table) - 0.5, -0.5)
    ax.set_xlabel("log evidence, ± 2 standard errors")
    explain(ax, "Evidence for graphs", "farther right is better; blue: as good as the best")
    clean(ax)
    return ax
