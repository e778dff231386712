"""Figures of the report: scores over missing rows, and over time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anchors
import matplotlib as mpl
import numpy as np
from public_data import BINARY_NAMES
from results import Result
from rivals.registry import RIVALS

mpl.use("Agg")
import matplotlib.pyplot as plt

#: Lines that look the same in every run, so that figures only change with results.
_STYLE: dict[Any, Any] = {"svg.hashsalt": "bayesspn", "font.size": 9, "axes.spines.top": False}
_TITLES = {
    "paper": "paper's graph, run by us",
    "wide": "ours",
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
    names = []
    with mpl.rc_context(_STYLE):
        for kind in ("rows", "cells"):
            some = [r for r in results if r.case.configuration["kind"] == kind and not r.error]
            if some:
                figure = _draw_kind(some, kind)
                names.append(_save(figure, folder, f"missing-{kind}.svg"))
    return names


def _draw_kind(results: Sequence[Result], kind: str) -> Any:
    data = sorted({result.case.data for result in results})
    figure, panels = _panels(data)
    published = anchors.read_missing()
    for panel, name in zip(panels, data, strict=True):
        for method, title in _TITLES.items():
            points: dict[float, list[float]] = defaultdict(list)
            for result in results:
                if (result.case.data, result.case.method) == (name, method):
                    points[100 * result.case.configuration["share"]].append(result.mean)
            if points:
                shares = sorted(points)
                means = np.array([np.mean(points[share]) for share in shares])
                spreads = np.array([np.std(points[share]) for share in shares])
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
    data = [name for name in BINARY_NAMES if any(result.case.data == name for result in cost)]
    if not data:
        return []
    longest = max(result.checkpoints[-1][0] for result in cost if result.checkpoints)
    colors = {method: f"C{number}" for number, method in enumerate(RIVALS)}
    with mpl.rc_context(_STYLE):
        figure, panels = _panels(data)
        for panel, name in zip(panels, data, strict=True):
            ours = [r for r in cost if r.case.data == name and r.checkpoints]
            for result in ours:
                panel.plot(*_steps(result), color="black", label="ours")
            for result in table1:
                method = result.case.method
                if result.case.data == name and method in RIVALS and result.checkpoints:
                    look = {"color": colors[method], "marker": ".", "linewidth": 1}
                    panel.plot(*_steps(result), label=RIVALS[method].title, **look)
            look = {"color": "grey", "linewidth": 0.8, "linestyle": ":"}
            panel.axhline(anchors.best_of_paper(name), label="the paper's best", **look)
            panel.set_xscale("log")
            panel.set_xlim(0.1, 10 ** np.ceil(np.log10(longest)))
            low = min((r.checkpoints[-1][1] for r in ours), default=0.0)
            best = max((r.checkpoints[-1][1] for r in ours), default=0.0)
            # beginnings far below would flatten everything else
            panel.set_ylim(bottom=low - max(0.15 * abs(low), best - low))
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


def _steps(result: Result) -> tuple[list[float], list[float]]:
    points = sorted(result.checkpoints)
    return [seconds for seconds, _ in points], [mean for _, mean in points]
