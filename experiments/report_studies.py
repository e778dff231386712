"""Sections of the report on missing values and on cost."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

import anchors
import numpy as np
from gathering import Curve, cost_points, find, gather, is_earlier, missing_curves
from public_data import BINARY_NAMES
from report_tables import EARLIER, EARLIER_NOTE, figure, markdown, show
from results import Result
from rivals.registry import RIVALS

#: Columns of Figure 3: what was run, and what the paper quotes.
_RUN = {
    "paper": "paper's graph, run by us",
    "ours": "ours",
    "learnspn": "LearnSPN",
    "learnspn_knn": "LearnSPN, imputed",
}
_QUOTED = {
    "bspn": "paper",
    "learnspn": "LearnSPN (paper)",
    "learnspn_knn_imputed": "LearnSPN, imputed (paper)",
    "id_spn_knn_imputed": "ID-SPN, imputed (paper)",
}

#: Published figures by data set, method and share.
Quoted = dict[str, dict[str, dict[float, float]]]


def figure3_section(results: Sequence[Result], figures: Sequence[str]) -> str:
    """Figure 3: means over seeds, the paper's beside, and slopes."""
    if not results:
        return ""
    curves = missing_curves(results, _RUN)
    parts = ["## Figure 3: missing values"]
    for kind in ("rows", "cells"):
        some = {data: by for (other, data), by in sorted(curves.items()) if other == kind}
        if some:
            parts += _missing_tables(kind, some, _quoted() if kind == "rows" else {})
    parts.append(f"ID-SPN has no Python implementation: published figures only. {EARLIER_NOTE}")
    parts += [f"![{name}](figures/{name})" for name in figures]
    return "\n\n".join(parts)


def _quoted() -> Quoted:
    quoted: Quoted = defaultdict(lambda: defaultdict(dict))
    for (data, method, percent), mean in anchors.read_missing().items():
        if percent:
            quoted[data][method][percent / 100] = mean
    return quoted


def _missing_tables(kind: str, curves: dict[str, dict[str, Curve]], quoted: Quoted) -> list[str]:
    """A table of scores and one of slopes for a kind of holes; no columns that nothing is in."""
    run = [method for method in _RUN if any(by.get(method) for by in curves.values())]
    published = [m for m in _QUOTED if any(m in quoted.get(data, {}) for data in curves)]
    scores, slopes = [], []
    for data, by in curves.items():
        theirs = quoted.get(data, {})
        for share in sorted({share for curve in by.values() for share in curve}):
            cells = [show(by.get(method, {}).get(share, []), digits=2) for method in run]
            cells += [figure(theirs.get(method, {}).get(share)) for method in published]
            scores.append([f"{data}, {100 * share:.0f} % of {kind}", *cells])
        means = [_means(by.get(method, {})) for method in run]
        means += [theirs.get(method, {}) for method in published]
        slopes.append([data, *map(_slope, means)])
    titles = [*(_RUN[method] for method in run), *(_QUOTED[method] for method in published)]
    return [
        markdown(["data, holes", *titles], scores),
        "Mean over seeds ± standard deviation (number of seeds).",
        markdown([f"nats for another 10 % of {kind}", *titles], slopes),
    ]


def _means(curve: Curve) -> dict[float, float]:
    return {
        share: float(np.mean([run.mean for run in runs])) for share, runs in sorted(curve.items())
    }


def _slope(means: dict[float, float]) -> str:
    """What a straight line through the means loses for another tenth."""
    if len(means) < 2:
        return "–"
    return figure(float(np.polyfit(list(means), list(means.values()), 1)[0]) / 10)


def time_to(checkpoints: Sequence[tuple[float, float]], target: float) -> float | None:
    """Seconds until a target was first reached, None if it never was."""
    reached = [seconds for seconds, mean in checkpoints if round(mean, 2) >= target]
    return min(reached) if reached else None


def cost_section(cost: Sequence[Result], table1: Sequence[Result], figures: Sequence[str]) -> str:
    """Time to the paper's figure and to the end, ours and rivals'; where rivals are ahead."""
    if not cost:
        return ""
    grid, others = gather(cost), gather(table1)
    lines, behind = [], []
    for name in BINARY_NAMES:
        target, row = anchors.best_of_paper(name), grid.get(name, {})
        ours = cost_points(row)
        if not ours:
            continue
        mark = EARLIER if is_earlier(find(row, "ours")[0]) else ""
        lines.append(_cost_line(name, f"ours{mark}", ours, target))
        for method, rival in RIVALS.items():
            points = [
                point for run in find(others.get(name, {}), method)[:1] for point in run.checkpoints
            ]
            if points:
                lines.append(_cost_line(name, rival.title, points, target))
                when = ahead(ours, points)
                if when:
                    behind.append(f"- {name}: {rival.title}, {when}")
    heads = ("data set", "method", "the paper's best", "seconds to it", "at the end", "seconds")
    told = "\n".join(behind) or "None."
    parts = [
        "## Cost: score over time, one core",
        markdown(heads, lines),
        f"Ours: a fresh plain call for every budget, by the seconds that it took. {EARLIER_NOTE}",
        f"Rivals ahead of ours at some budget from two seconds up:\n\n{told}",
        *(f"![{name}](figures/{name})" for name in figures),
    ]
    return "\n\n".join(parts)


def _cost_line(
    name: str, title: str, points: Sequence[tuple[float, float]], target: float
) -> tuple[str, ...]:
    reached = time_to(points, target)
    seconds = "not reached" if reached is None else f"{reached:.1f}"
    last = points[-1]
    return (name, title, figure(target), seconds, figure(last[1], digits=3), f"{last[0]:.1f}")


def ahead(
    ours: Sequence[tuple[float, float]], other: Sequence[tuple[float, float]], first: float = 2.0
) -> str:
    """The budgets at which another is ahead of ours, in words; empty if there are none.

    At a budget, both have the last score that they had reported by then, which is what somebody
    who stops there would get.
    """

    def last(points: Sequence[tuple[float, float]], budget: float) -> float:
        return max([p for p in points if p[0] <= budget], default=(0.0, -np.inf))[1]

    end = max(seconds for seconds, _ in ours)
    times = sorted({first, *(s for s, _ in (*ours, *other) if first <= s <= end), end})
    spans = [
        (low, high)
        for low, high in pairwise([*times, end])
        if last(other, low) > last(ours, low) and low < end
    ]
    if not spans:
        return ""
    return f"from {spans[0][0]:.1f} s to {spans[-1][1]:.1f} s"
