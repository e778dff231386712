"""Sections of the report: Markdown tables and the sentences that say what they show."""

from __future__ import annotations

from collections.abc import Sequence

import anchors
import numpy as np
from gathering import PLAIN_SECONDS, Grid, Row, find, find_plain, gather, is_earlier
from public_data import MIXED_NAMES
from results import Result
from rivals.registry import RIVALS
from running import spell_seconds
from significance import LEVEL, compare

_OURS_2 = {
    "ours": "ours",
    "infinite": "ours, infinite",
    "abda": "ABDA (ours, structure fixed)",
    "recorded": "ours, as recorded",
}

#: What is shown for want of a newer run.
EARLIER = "†"
EARLIER_NOTE = f"{EARLIER} earlier version."

SIGNS = (
    "Signs: whether rows score better (+) or worse (−) with ours or neither (·), by "
    "Mann–Whitney's U, as in the paper, and by Wilcoxon's signed-rank test on the same rows; "
    f"two-sided, p < {LEVEL}. Neither is a test of means."
)


def markdown(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A Markdown table, the first column to the left and the others to the right."""
    rows = ["| " + " | ".join(line) + " |" for line in (heads, *lines)]
    rows.insert(1, "|---|" + "---:|" * (len(heads) - 1))
    return "\n".join(rows)


def show(runs: Sequence[Result], digits: int = 3) -> str:
    """The mean over seeds, a dash if nothing was run, a word if it failed, a mark if it is old."""
    if not runs:
        return "–"
    if runs[0].error:
        return "failed"
    mark = EARLIER if is_earlier(runs[0]) else ""
    return spread([run.mean for run in runs], digits) + mark


def spread(values: Sequence[float], digits: int = 3) -> str:
    """A mean; of several, with their standard deviation and number."""
    mean = figure(float(np.mean(values)), digits=digits)
    if len(values) == 1:
        return mean
    return f"{mean} ± {np.std(values, ddof=1):.{digits}f} ({len(values)})"


def figure(value: float | None, mark: str = "", digits: int = 2) -> str:
    """A published figure."""
    return "–" if value is None else f"{value:.{digits}f}{mark}".replace("-", "−")


def limits_text(grid: Grid, rivals: Sequence[str]) -> str:
    """The time that ours and the rivals had, in words."""

    def spell(seconds: set[float]) -> str:
        ends = (min(seconds), max(seconds)) if seconds else ()
        return " to ".join(dict.fromkeys(spell_seconds(end) for end in ends)) or "no time"

    ours = {
        sum(run.case.configuration["seconds"] for run in runs if is_earlier(run) or run is runs[0])
        for runs in (find(row, "ours", PLAIN_SECONDS) for row in grid.values())
        if runs
    }
    others = {
        run.case.configuration["seconds"]
        for row in grid.values()
        for rival in rivals
        for run in find(row, rival)
    }
    return (
        f"Time limits per data set: ours {spell(ours)}, every rival {spell(others)} on one core. "
        "Rivals run with the settings of `rivals/`, which were not tuned."
    )


def verdict(own: Result | None, runs: Sequence[Result]) -> str:
    """How ours compares with another's first run, if both were run."""
    if own is None or own.scores is None or not runs or runs[0].scores is None:
        return ""
    return f" {compare(own.scores, runs[0].scores).verdict}"


def table2_section(results: Sequence[Result]) -> str:
    """Table 2: ours and rivals on resolved tables; published and recorded beside."""
    if not results:
        return ""
    grid = gather(results)
    rivals = [
        name
        for name, rival in RIVALS.items()
        if rival.mixed and not rival.part and any((name, None) in row for row in grid.values())
    ]
    others = ("abda", *rivals)
    lines = [
        (
            name,
            *(show(find(grid[name], method, PLAIN_SECONDS)) for method in ("ours", "infinite")),
            *(_compared(grid[name], other) for other in others),
        )
        for name in MIXED_NAMES
        if name in grid
    ]
    shown = [_OURS_2[method] for method in ("ours", "infinite", "abda")]
    heads = ["data set", *shown, *(RIVALS[name].title for name in rivals)]
    wins, ran = _count_wins(grid, others)
    parts = [
        "## Table 2: heterogeneous data sets",
        markdown(heads, lines),
        "Log probabilities of discrete and log densities of continuous columns, in original units, "
        "of resolved tables: every continuous cell is spread over its column's resolution, once "
        f"for all methods. Ours (first column) has a better mean than everything to the right of "
        f"the infinite mixture on {wins} of {ran}. {SIGNS} {limits_text(grid, others)} "
        f"{EARLIER_NOTE}",
        _continuous_table(grid),
        _recorded_table(grid),
        _resolution_table(grid),
    ]
    return "\n\n".join(filter(None, parts))


def _compared(row: Row, other: str) -> str:
    runs = find(row, other, PLAIN_SECONDS)
    return show(runs) + verdict(find_plain(row), runs)


def _count_wins(grid: Grid, others: Sequence[str]) -> tuple[int, int]:
    """On how many data sets ours has the best mean, and of how many."""
    wins = ran = 0
    for row in grid.values():
        ours = mean_of(find(row, "ours", PLAIN_SECONDS))
        found = (mean_of(find(row, other, PLAIN_SECONDS)) for other in others)
        means = [mean for mean in found if mean is not None]
        if ours is not None and means:
            ran += 1
            wins += ours > max(means)
    return wins, ran


def mean_of(runs: Sequence[Result]) -> float | None:
    """The mean over seeds, None if nothing was run or it failed."""
    return None if not runs or runs[0].error else float(np.mean([run.mean for run in runs]))


def _recorded_table(grid: Grid) -> str:
    published = anchors.read_figures("table2")
    lines = [
        (
            name,
            show(find(grid[name], "recorded", PLAIN_SECONDS)),
            *(figure(published[name][c]) for c in ("bspn", "bspn_infinite", "abda", "mspn")),
        )
        for name in MIXED_NAMES
        if name in grid
    ]
    heads = ("data set", _OURS_2["recorded"], "paper", "paper, infinite", "ABDA", "MSPN")
    return "\n\n".join(
        [
            "### Densities at recorded values, and published figures",
            markdown(heads, lines),
            "The paper's preprocessing changed which columns count as discrete, and its units; its "
            "figures, and MSPN's and ABDA's beside them, are not comparable cell by cell. Where "
            "values recur, densities at recorded values reward spikes.",
        ]
    )


def _continuous_table(grid: Grid) -> str:
    lines = []
    for name in MIXED_NAMES:
        row = grid.get(name, {})
        ours, rival = find_plain(row), find(row, "bgm")
        mean = ours.details.get("continuous_mean") if ours else None
        if ours is not None and mean is not None and rival:
            mark = EARLIER if is_earlier(ours) else ""
            lines.append((name, figure(mean, mark, digits=3), show(rival)))
    if not lines:
        return ""
    heads = ("data set", "ours, the other columns summed out", RIVALS["bgm"].title)
    return "\n\n".join(["### Continuous columns alone", markdown(heads, lines)])


def _resolution_table(grid: Grid) -> str:
    lines = []
    for name in MIXED_NAMES:
        result = find_plain(grid.get(name, {}))
        if result is not None and not result.error:
            steps = [f"{value:g}" for value in result.details["resolutions"] if value]
            lines.append((name, ", ".join(steps) or "–"))
    if not lines:
        return ""
    heads = ("data set", "δ of the continuous columns, in their order")
    return "\n\n".join(["### Resolutions", markdown(heads, lines)])


def failures_section(results: Sequence[Result]) -> str:
    """What failed, and why."""
    lines = sorted(
        (r.case.experiment, r.case.data, r.case.method, r.error.replace("|", "/"))
        for r in results
        if r.error
    )
    if not lines:
        return ""
    heads = ("experiment", "data set", "method", "error")
    return "## What failed\n\n" + markdown(heads, lines)


def machine_section(results: Sequence[Result]) -> str:
    """Machines and versions."""
    if not results:
        return ""
    machines = sorted({f"{r.machine['processor']}, {r.machine['cores']} cores" for r in results})
    versions = sorted({f"{name} {number}" for r in results for name, number in r.versions.items()})
    return f"## Machine and versions\n\n{'; '.join(machines)}.\n\n{', '.join(versions)}."
