"""Sections of the report on missing values and on cost."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

import anchors
import numpy as np
from cost import METHOD
from gathering import by_method
from report_tables import figure, markdown
from results import Result
from rivals.registry import RIVALS

from bayesspn.datasets import BINARY_NAMES


def figure3_section(results: Sequence[Result], figures: Sequence[str]) -> str:
    """Figure 3: means over seeds, the paper's beside, and slopes."""
    if not results:
        return ""
    groups: dict[tuple[str, str, float, str], list[float]] = defaultdict(list)
    for result in results:
        setting = result.case.configuration
        if not result.error:
            key = (result.case.data, setting["kind"], setting["share"], result.case.method)
            groups[key].append(result.mean)
    methods = ("paper", "wide", "learnspn", "learnspn_knn")
    published = anchors.read_missing()
    lines = []
    for data, kind, share in sorted({key[:3] for key in groups}):
        cells = [f"{data}, {100 * share:.0f} % of {kind}"]
        for method in methods:
            values = groups.get((data, kind, share, method), [])
            spread = f" ± {np.std(values):.2f}" if len(values) > 1 else ""
            cells.append(figure(float(np.mean(values))) + spread if values else "–")
        for method in ("bspn", "learnspn", "learnspn_knn_imputed", "id_spn_knn_imputed"):
            quoted = published.get((data, method, round(100 * share))) if kind == "rows" else None
            cells.append(figure(quoted))
        lines.append(cells)
    heads = ["data, holes", "paper's graph, run by us", "ours", "LearnSPN", "LearnSPN, imputed"]
    heads += ["paper", "LearnSPN (paper)", "LearnSPN, imputed (paper)", "ID-SPN, imputed (paper)"]
    slopes = []
    for data in sorted({key[0] for key in groups}):
        for method in methods:
            points = sorted(
                (share, float(np.mean(values)))
                for (name, kind, share, other), values in groups.items()
                if (name, kind, other) == (data, "rows", method)
            )
            if len(points) > 1:
                shares, means = np.array(points).T
                slope = np.polyfit(shares, means, 1)[0]
                slopes.append((data, method, figure(float(slope) / 10)))
    parts = [
        "## Figure 3: missing values",
        markdown(heads, lines),
        "Mean over seeds ± standard deviation. ID-SPN has no Python implementation: published "
        "figures only.",
        markdown(("data set", "method", "nats lost for another 10 % of rows"), slopes)
        if slopes
        else "",
        *(f"![{name}](figures/{name})" for name in figures),
    ]
    return "\n\n".join(filter(None, parts))


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
