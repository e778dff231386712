"""Sections of the report on missing values and on cost."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

import anchors
import numpy as np
from cost import METHOD
from gathering import by_method
from public_data import BINARY_NAMES
from report_tables import figure, markdown
from results import Result
from rivals.registry import RIVALS

#: Columns of Figure 3: what was run, and what the paper quotes.
_RUN = {
    "paper": "paper's graph, run by us",
    "wide": "ours",
    "learnspn": "LearnSPN",
    "learnspn_knn": "LearnSPN, imputed",
}
_QUOTED = {
    "bspn": "paper",
    "learnspn": "LearnSPN (paper)",
    "learnspn_knn_imputed": "LearnSPN, imputed (paper)",
    "id_spn_knn_imputed": "ID-SPN, imputed (paper)",
}

#: A share of the rows, or cells, with the mean score of every seed.
Curve = dict[float, list[float]]


def figure3_section(results: Sequence[Result], figures: Sequence[str]) -> str:
    """Figure 3: means over seeds, the paper's beside, and slopes."""
    if not results:
        return ""
    curves: dict[tuple[str, str], dict[str, Curve]] = defaultdict(lambda: defaultdict(dict))
    for result in results:
        if not result.error:
            holes = result.case.configuration
            curve = curves[holes["kind"], result.case.data][result.case.method]
            curve.setdefault(holes["share"], []).append(result.mean)
    published = anchors.read_missing()
    for data, method, percent in published:
        if ("rows", data) in curves and method in _QUOTED and percent:
            quoted = [published[data, method, percent]]
            curves["rows", data][f"{method} quoted"][percent / 100] = quoted
    columns = [*_RUN, *(f"{method} quoted" for method in _QUOTED)]
    heads = [*_RUN.values(), *_QUOTED.values()]
    parts = ["## Figure 3: missing values"]
    for kind in ("rows", "cells"):
        some = {data: by for (other, data), by in sorted(curves.items()) if other == kind}
        if some:
            parts += _missing_tables(kind, some, columns, heads)
    parts.append("ID-SPN has no Python implementation: published figures only.")
    parts += [f"![{name}](figures/{name})" for name in figures]
    return "\n\n".join(parts)


def _missing_tables(
    kind: str, curves: dict[str, dict[str, Curve]], columns: Sequence[str], heads: Sequence[str]
) -> list[str]:
    """A table of scores and one of slopes for a kind of holes; no columns that nothing is in."""
    used = [(c, head) for c, head in zip(columns, heads, strict=True) if _is_used(c, curves)]
    scores, slopes = [], []
    for data, by in curves.items():
        for share in sorted({share for curve in by.values() for share in curve}):
            cells = [_mean_and_spread(by.get(column, {}).get(share, [])) for column, _ in used]
            scores.append([f"{data}, {100 * share:.0f} % of {kind}", *cells])
        slopes.append([data, *(_slope(by.get(column, {})) for column, _ in used)])
    titles = [head for _, head in used]
    return [
        markdown(["data, holes", *titles], scores),
        "Mean over seeds ± standard deviation.",
        markdown([f"nats for another 10 % of {kind}", *titles], slopes),
    ]


def _is_used(column: str, curves: dict[str, dict[str, Curve]]) -> bool:
    return any(by.get(column) for by in curves.values())


def _mean_and_spread(values: Sequence[float]) -> str:
    if not values:
        return "–"
    spread = f" ± {np.std(values):.2f}" if len(values) > 1 else ""
    return figure(float(np.mean(values))) + spread


def _slope(curve: Curve) -> str:
    """What a straight line through the means loses for another tenth."""
    if len(curve) < 2:
        return "–"
    means = [float(np.mean(values)) for values in curve.values()]
    return figure(float(np.polyfit(list(curve), means, 1)[0]) / 10)


def time_to(checkpoints: Sequence[tuple[float, float]], target: float) -> float | None:
    """Seconds until a target was first reached, None if it never was."""
    reached = [seconds for seconds, mean in checkpoints if round(mean, 2) >= target]
    return min(reached) if reached else None


def cost_section(cost: Sequence[Result], table1: Sequence[Result], figures: Sequence[str]) -> str:
    """Time to the paper's figure and to the end, ours and rivals'; where rivals are ahead."""
    if not cost:
        return ""
    grid, rivals = by_method(cost), by_method(table1)
    lines, behind = [], []
    for name in BINARY_NAMES:
        target = anchors.best_of_paper(name)
        ours = grid.get(name, {}).get(METHOD)
        if ours is None:
            continue
        lines.append(_cost_line(name, "ours", ours, target))
        for method, result in rivals.get(name, {}).items():
            if method in RIVALS and result.checkpoints:
                lines.append(_cost_line(name, RIVALS[method].title, result, target))
                when = ahead(ours.checkpoints, result.checkpoints)
                if when:
                    behind.append(f"- {name}: {RIVALS[method].title}, {when}")
    heads = ("data set", "method", "the paper's best", "seconds to it", "at the end", "seconds")
    told = "\n".join(behind) or "None."
    parts = [
        "## Cost: score over time, one core",
        markdown(heads, lines),
        f"Rivals ahead of ours at some budget from two seconds up:\n\n{told}",
        *(f"![{name}](figures/{name})" for name in figures),
    ]
    return "\n\n".join(parts)


def _cost_line(name: str, title: str, result: Result, target: float) -> tuple[str, ...]:
    reached = time_to(result.checkpoints, target)
    seconds = "not reached" if reached is None else f"{reached:.1f}"
    last = result.checkpoints[-1] if result.checkpoints else (float("nan"), float("nan"))
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
