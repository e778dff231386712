"""Figures of the report: scores over missing rows, and over time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anchors
import matplotlib as mpl
import numpy as np
from gathering import Curve, cost_points, find, gather, missing_curves
from public_data import BINARY_NAMES
from results import Result
from rivals.registry import RIVALS

mpl.use("Agg")
import matplotlib.pyplot as plt

#: Lines that look the same in every run, so that figures only change with results.
_STYLE: dict[Any, Any] = {"svg.hashsalt": "bayesspn", "font.size": 9, "axes.spines.top": False}
_TITLES = {
    "paper": "paper's graph, run by us",
    "ours": "ours",
    "learnspn": "LearnSPN",
    "learnspn_knn": "LearnSPN, k-NN imputed",
}
_QUOTED = {"bspn": "paper, published", "id_spn_knn_imputed": "ID-SPN imputed, published"}


def _save(figure: Any, folder: Path, name: str) -> str:
    figure.savefig(folder / name, metadata={"Date": None}, bbox_inches="tight")
    plt.close(figure)
    return name


def draw_missing(results: Sequence[Result], folder: Path) -> list[str]:
    """A panel per data set for every kind of holes: means over seeds with bands."""
    curves = missing_curves(results, _TITLES)
    names = []
    with mpl.rc_context(_STYLE):
        for kind in ("rows", "cells"):
            some = {data: by for (other, data), by in sorted(curves.items()) if other == kind}
            if some:
                figure = _draw_kind(some, kind)
                names.append(_save(figure, folder, f"missing-{kind}.svg"))
    return names


def _draw_kind(curves: dict[str, dict[str, Curve]], kind: str) -> Any:
    figure, panels = _panels(list(curves))
    published = anchors.read_missing()
    for panel, (name, by) in zip(panels, curves.items(), strict=True):
        for method, title in _TITLES.items():
            points = [
                (100 * share, [run.mean for run in runs])
                for share, runs in sorted(by.get(method, {}).items())
            ]
            if points:
                shares = [share for share, _ in points]
                means = np.array([np.mean(values) for _, values in points])
                spreads = np.array([np.std(values) for _, values in points])
                (line,) = panel.plot(shares, means, marker="o", markersize=3, label=title)
                panel.fill_between(
                    shares, means - spreads, means + spreads, color=line.get_color(), alpha=0.2
                )
        for method, title in _QUOTED.items() if kind == "rows" else ():
            quoted = [(p, v) for (d, m, p), v in published.items() if (d, m) == (name, method)]
            if quoted:
                panel.plot(*zip(*sorted(quoted), strict=True), linestyle=":", label=title)
        panel.set_xlabel(f"% of {kind} with missing cells" if kind == "rows" else "% of cells")
    _add_legend(figure, panels)
    return figure


def draw_cost(cost: Sequence[Result], table1: Sequence[Result], folder: Path) -> list[str]:
    """A panel per data set: score over time, ours in black."""
    grid, others = gather(cost), gather(table1)
    curves = {name: cost_points(grid[name]) for name in BINARY_NAMES if name in grid}
    curves = {name: points for name, points in curves.items() if points}
    if not curves:
        return []
    longest = max(points[-1][0] for points in curves.values())
    colors = {method: f"C{number}" for number, method in enumerate(RIVALS)}
    with mpl.rc_context(_STYLE):
        figure, panels = _panels(list(curves))
        for panel, (name, ours) in zip(panels, curves.items(), strict=True):
            panel.plot(*zip(*ours, strict=True), color="black", label="ours")
            for method, rival in RIVALS.items():
                for result in find(others.get(name, {}), method)[:1]:
                    if result.checkpoints:
                        look = {"color": colors[method], "marker": ".", "linewidth": 1}
                        points = sorted(result.checkpoints)
                        panel.plot(*zip(*points, strict=True), label=rival.title, **look)
            look = {"color": "grey", "linewidth": 0.8, "linestyle": ":"}
            panel.axhline(anchors.best_of_paper(name), label="the paper's best", **look)
            panel.set_xscale("log")
            panel.set_xlim(0.1, 10 ** np.ceil(np.log10(longest)))
            # beginnings far below would flatten everything else
            panel.set_ylim(bottom=ours[-1][1] - 0.15 * abs(ours[-1][1]))
            panel.set_xlabel("seconds of learning, one core")
        _add_legend(figure, panels)
        return [_save(figure, folder, "cost.svg")]


def _panels(names: Sequence[str]) -> tuple[Any, list[Any]]:
    """A figure with a panel for every data set."""
    columns = min(4, len(names))
    rows = -(-len(names) // columns)
    figure, panels = plt.subplots(
        rows,
        columns,
        figsize=(3.2 * columns, 2.4 * rows + 0.8),
        squeeze=False,
        layout="constrained",
    )
    for panel, name in zip(panels.flat, names, strict=False):
        panel.set_title(name)
    for panel in panels.flat[len(names) :]:
        panel.set_visible(False)
    figure.supylabel("test log-likelihood")
    return figure, list(panels.flat[: len(names)])


def _add_legend(figure: Any, panels: Sequence[Any]) -> None:
    """One for all panels: a method that has no result on one data set may have one on another."""
    known = {
        label: handle
        for panel in panels
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True)
    }
    place = {"loc": "outside lower center", "ncols": min(4, len(panels)), "frameon": False}
    figure.legend(known.values(), known.keys(), fontsize=8, **place)
