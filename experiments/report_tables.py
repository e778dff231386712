"""Sections of the report: Markdown tables and the sentences that say what they show."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import anchors
from candidates import paper_grid
from gathering import Grid, by_method, pool_seeds
from public_data import BINARY_NAMES, MIXED_NAMES
from results import Result
from rivals.registry import RIVALS
from running import spell_seconds
from significance import LEVEL, compare

_OURS_1 = {"paper": "paper's grid, run by us", "wide": "wider class", "infinite": "infinite"}
_OURS_2 = {"wide": "ours", "infinite": "ours, infinite", "abda": "ABDA (ours, structure fixed)"}

_SIGNS = (
    "Signs: whether rows score better (+) or worse (−) with ours or neither (·), by "
    "Mann–Whitney's U, as in the paper, and by Wilcoxon's signed-rank test on the same rows; "
    f"two-sided, p < {LEVEL}. Neither is a test of means."
)


def markdown(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A Markdown table, the first column to the left and the others to the right."""
    rows = ["| " + " | ".join(line) + " |" for line in (heads, *lines)]
    rows.insert(1, "|---|" + "---:|" * (len(heads) - 1))
    return "\n".join(rows)


def show(result: Result | None, digits: int = 3) -> str:
    """A score, a dash if it was not run, a word if it failed."""
    if result is None:
        return "–"
    return "failed" if result.error else f"{result.mean:.{digits}f}".replace("-", "−")


def figure(value: float | None, mark: str = "", digits: int = 2) -> str:
    """A published figure."""
    return "–" if value is None else f"{value:.{digits}f}{mark}".replace("-", "−")


def spent(results: Sequence[Result]) -> float:
    """Seconds of choosing, fitting and scoring."""
    return sum(sum(result.seconds.values()) for result in results)


def table1_section(results: Sequence[Result]) -> str:
    """Table 1: published, ours, rivals, and how ours compare."""
    if not results:
        return ""
    grid = by_method(pool_seeds(results))
    published, later = anchors.read_figures("table1"), anchors.read_figures("later")
    lines = []
    for name in BINARY_NAMES:
        row, ours = published[name], grid.get(name, {})
        best = later[name]["best_tractable_any"]
        mark = "?" if anchors.is_unverified(name, best) else ""
        wide = ours.get("wide")
        chains = wide.details.get("chain_means", []) if wide else []
        one = figure(chains[0], digits=3) if chains else "–"
        mine = [result for result in ours.values() if result.case.method in _OURS_1]
        lines.append(
            (
                name,
                figure(row["bspn"]),
                figure(row["bspn_infinite"]),
                show(ours.get("paper")),
                one,
                show(wide),
                f"{len(chains)}" if chains else "–",
                show(ours.get("infinite")),
                figure(row["best_to_date_2019"]),
                figure(best, mark),
                spell_seconds(spent(mine)) if mine else "–",
            )
        )
    heads = ["data set", "paper, finite", "paper, infinite", "paper's grid, run by us"]
    heads += ["wider class, one chain", "wider class, all chains", "chains", "infinite mixture"]
    heads += ["best in 2019", "best published", "our time"]
    total = [result for result in results if result.case.method in _OURS_1]
    text = (
        f"All of ours took {spell_seconds(spent(total))} of one core; {_limits_of(total)}. "
        "A question mark: the figure is doubtful, "
        f"or comes from a column that was not checked against its source. {_compared_graphs(grid)}"
    )
    parts = ["## Table 1: binary data sets", markdown(heads, lines), text, _count_table(grid)]
    parts.append(_rivals_table(results, grid))
    return "\n\n".join(filter(None, parts))


def _limits_of(results: Sequence[Result]) -> str:
    """The time limits of our columns, seeds added up, in words."""
    limits: dict[str, dict[str, float]] = {method: defaultdict(float) for method in _OURS_1}
    for result in results:
        limits[result.case.method][result.case.data] += result.case.configuration["seconds"]
    shown = [
        f"{title} {' or '.join(spell_seconds(s) for s in sorted(set(limits[method].values())))}"
        for method, title in _OURS_1.items()
        if limits[method]
    ]
    return f"limits per data set: {', '.join(shown)}"


def _compared_graphs(grid: Grid) -> str:
    """For how many graphs of the paper's grid there was time, in words."""
    chosen = [
        row["paper"].details for row in grid.values() if "paper" in row and not row["paper"].error
    ]
    if not chosen:
        return ""
    counts = [len(details.get("evidence", {})) for details in chosen]
    most = max(details.get("evidence_rows", 0) for details in chosen)
    return (
        f"Of the paper's grid, {min(counts)} to {max(counts)} of {len(paper_grid())} graphs were "
        f"compared by evidence on up to {most:,} rows in the time there was; where there was none, "
        "no evidence went into the choice."
    )


def _count_table(grid: Grid) -> str:
    """How often each of our columns reaches published figures.

    Columns are counted one by one: taking the best of them per data set would be a choice by test
    rows.
    """
    published, later = anchors.read_figures("table1"), anchors.read_figures("later")
    lines = []
    for method, title in _OURS_1.items():
        ran = {
            name: round(row[method].mean, 2)  # published figures have two decimals
            for name, row in grid.items()
            if method in row and not row[method].error
        }
        reached = sum(mean >= anchors.best_of_paper(name) for name, mean in ran.items())
        of_2019 = sum(mean > published[name]["best_to_date_2019"] for name, mean in ran.items())
        of_any = sum(mean > later[name]["best_tractable_any"] for name, mean in ran.items())
        lines.append((title, f"{len(ran)}", f"{reached}", f"{of_2019}", f"{of_any}"))
    heads = ("column", "data sets run", "at least the paper's better one")
    return markdown(
        (*heads, "better than the best in 2019", "better than the best published"), lines
    )


def _rivals_table(results: Sequence[Result], grid: Grid) -> str:
    """Scores of rivals on binary data sets, each with how ours compares by two tests."""
    rivals = [
        name
        for name, rival in RIVALS.items()
        if rival.binary and any(name in row for row in grid.values())
    ]
    if not rivals:
        return ""
    lines = []
    for name in BINARY_NAMES:
        row = grid.get(name, {})
        if not any(rival in row for rival in rivals):
            continue
        own = row.get("wide")
        cells = [name, show(own)]
        for rival in rivals:
            cells.append(show(row.get(rival)) + _verdict(own, row.get(rival)))
        lines.append(cells)
    heads = ["data set", "ours", *(RIVALS[name].title for name in rivals)]
    text = f"{_SIGNS} {_limits(results, 'wide', rivals)}"
    return "\n\n".join(["### Rivals, run by us", markdown(heads, lines), text])


def _limits(results: Sequence[Result], ours: str, rivals: Sequence[str]) -> str:
    """The time that ours, all seeds together, and the rivals had, in words."""

    def spell(methods: Sequence[str]) -> str:
        seconds: dict[tuple[str, str], float] = defaultdict(float)
        for result in results:
            case = result.case
            if case.method in methods:
                seconds[case.data, case.method] += case.configuration["seconds"]
        ends = (min(seconds.values()), max(seconds.values())) if seconds else ()
        return " to ".join(dict.fromkeys(spell_seconds(end) for end in ends)) or "no time"

    return (
        f"Time limits per data set: ours {spell([ours])}, every rival {spell(rivals)} on one core. "
        "Rivals run with the settings of `rivals/`, which were not tuned."
    )


def _verdict(own: Result | None, other: Result | None) -> str:
    """How ours compares, if both were run."""
    if own is None or other is None or own.scores is None or other.scores is None:
        return ""
    return f" {compare(own.scores, other.scores).verdict}"


def table2_section(results: Sequence[Result]) -> str:
    """Table 2: ours and rivals on resolved tables; published and recorded beside."""
    if not results:
        return ""
    grid, published = by_method(pool_seeds(results)), anchors.read_figures("table2")
    rivals = [
        name
        for name, rival in RIVALS.items()
        if rival.mixed and not rival.part and any(name in row for row in grid.values())
    ]
    others = ("abda", *rivals)
    lines, wins, ran = [], 0, 0
    for name in MIXED_NAMES:
        row = grid.get(name, {})
        if not row:
            continue
        own = row.get("wide")
        cells = [name, show(own), show(row.get("infinite"))]
        cells += [show(row.get(other)) + _verdict(own, row.get(other)) for other in others]
        lines.append(cells)
        means = [row[m].mean for m in others if m in row and not row[m].error]
        if own and not own.error and means:
            ran += 1
            wins += own.mean > max(means)
    heads = ["data set", *_OURS_2.values(), *(RIVALS[name].title for name in rivals)]
    parts = [
        "## Table 2: heterogeneous data sets",
        markdown(heads, lines),
        "Log probabilities of discrete and log densities of continuous columns, in original units, "
        "of resolved tables: every continuous cell is spread over its column's resolution, once "
        f"for all methods. Ours (first column) has a better mean than everything to the right of "
        f"the infinite mixture on {wins} of {ran}. {_SIGNS} {_limits(results, 'wide', others)}",
        _continuous_table(grid),
    ]
    recorded = [
        (
            name,
            show(grid.get(name, {}).get("recorded")),
            *(figure(published[name][c]) for c in ("bspn", "bspn_infinite", "abda", "mspn")),
        )
        for name in MIXED_NAMES
        if name in grid
    ]
    parts += [
        "### Densities at recorded values, and published figures",
        markdown(
            ("data set", "ours, as recorded", "paper", "paper, infinite", "ABDA", "MSPN"), recorded
        ),
        "The paper's preprocessing changed which columns count as discrete, and its units; its "
        "figures, and MSPN's and ABDA's beside them, are not comparable cell by cell. Where values "
        "recur, densities at recorded values reward spikes.",
        _resolution_table(grid),
    ]
    return "\n\n".join(filter(None, parts))


def _continuous_table(grid: Grid) -> str:
    lines = []
    for name in MIXED_NAMES:
        row = grid.get(name, {})
        ours, rival = row.get("wide"), row.get("bgm")
        mean = ours.details.get("continuous_mean") if ours else None
        if mean is not None and rival is not None:
            lines.append((name, figure(mean, digits=3), show(rival)))
    if not lines:
        return ""
    heads = ("data set", "ours, the other columns summed out", RIVALS["bgm"].title)
    return "\n\n".join(["### Continuous columns alone", markdown(heads, lines)])


def _resolution_table(grid: Grid) -> str:
    lines = []
    for name in MIXED_NAMES:
        result = grid.get(name, {}).get("wide")
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
