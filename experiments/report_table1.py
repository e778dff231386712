"""The report's section on Table 1: published figures, ours at every time limit, and rivals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import anchors
from gathering import (
    PLAIN_SECONDS,
    Grid,
    Row,
    find,
    find_plain,
    gather,
    is_earlier,
    limits_of,
    pool,
)
from library_fits import name_graph
from paper_system import paper_grid
from public_data import BINARY_NAMES, MIXED_NAMES
from report_tables import (
    EARLIER,
    EARLIER_NOTE,
    SIGNS,
    figure,
    limits_text,
    markdown,
    mean_of,
    show,
    spread,
    verdict,
)
from results import Result
from rivals.registry import RIVALS
from running import spell_seconds

from bayesspn.estimators.plans import FitPlan

#: How near the plain call must come to the earlier rule to be counted.
_NEAR = 0.005


@dataclass(frozen=True)
class Column:
    """A column of ours: what is shown of a data set's runs, and the figure that is counted."""

    title: str
    show: Callable[[Row], str]
    mean: Callable[[Row], float | None]


def table1_section(results: Sequence[Result]) -> str:
    """Table 1: published, ours, rivals, and how ours compare."""
    if not results:
        return ""
    grid = gather(results)
    columns = [column for column in _columns(grid) if _is_used(column, grid)]
    lines = [_line(name, grid.get(name, {}), columns) for name in BINARY_NAMES]
    heads = ["data set", "paper, finite", "paper, infinite", *(one.title for one in columns)]
    heads += ["best in 2019", "best published"]
    heads += ["one continuous mixture", "ensemble of continuous mixtures"]
    text = (
        "Ours: mean over seeds ± standard deviation (number of seeds); with seeds pooled, the "
        "densities of all seeds are averaged. A question mark: the figure is doubtful, or comes "
        "from a column that was not checked against its source. Continuous mixtures were run by "
        f"us on a GPU. {_system_text(grid)} {EARLIER_NOTE}"
    )
    parts = ["## Table 1: binary data sets", markdown(heads, lines), text]
    parts += [_count_table(grid, columns), _near_text(grid), _rivals_table(grid)]
    return "\n\n".join(filter(None, parts))


def _columns(grid: Grid) -> list[Column]:
    columns = [_by_seeds("paper's system, run by us", "paper")]
    for limit in limits_of(grid, "ours"):
        columns += _ours_columns(f"ours, {limit:g} s", limit, grid)
    columns += [
        _by_seeds(f"ours, train rows only, {limit:g} s", "ours_train", limit, exact=True)
        for limit in limits_of(grid, "ours_train")
    ]
    columns.append(_by_seeds("infinite", "infinite"))
    earlier = {
        sum(run.case.configuration["seconds"] for run in row["wide", None])
        for row in grid.values()
        if ("wide", None) in row
    }
    spelled = " or ".join(spell_seconds(seconds) for seconds in sorted(earlier))
    return [*columns, _pooled(f"earlier rule, {spelled}", ("wide", None), fewest=1)]


def _ours_columns(title: str, limit: float, grid: Grid) -> list[Column]:
    """The plain call with one limit: by seeds, pooled where there are several, one chain."""
    label = ("ours", limit)
    columns = [_by_seeds(title, "ours", limit, exact=True)]
    if any(len(row.get(label, ())) > 1 for row in grid.values()):
        columns.append(_pooled(f"{title}, seeds pooled", label, fewest=2))
    return [*columns, _first_chain(f"{title}, first chain alone", limit)]


def _by_seeds(
    title: str, method: str, limit: float | None = None, *, exact: bool = False
) -> Column:
    """Mean over seeds; with exact limits, nothing stands in for what was not run."""

    def runs(row: Row) -> list[Result]:
        return row.get((method, limit), []) if exact else find(row, method)

    return Column(title, lambda row: show(runs(row)), lambda row: mean_of(runs(row)))


def _pooled(title: str, label: tuple[str, float | None], fewest: int) -> Column:
    """All seeds as one, where there are so many."""

    def mean(row: Row) -> float | None:
        runs = row.get(label, [])
        return None if len(runs) < fewest or mean_of(runs) is None else pool(runs).mean

    return Column(title, lambda row: figure(mean(row), digits=3), mean)


def _first_chain(title: str, limit: float) -> Column:
    def means(row: Row) -> list[float]:
        runs = [run for run in row.get(("ours", limit), []) if not run.error]
        return [run.details["chain_means"][0] for run in runs]

    def mean(row: Row) -> float | None:
        found = means(row)
        return sum(found) / len(found) if found else None

    return Column(title, lambda row: spread(means(row)) if means(row) else "–", mean)


def _is_used(column: Column, grid: Grid) -> bool:
    return any(column.mean(row) is not None for row in grid.values())


def _line(name: str, row: Row, columns: Sequence[Column]) -> tuple[str, ...]:
    published, later = anchors.read_figures("table1")[name], anchors.read_figures("later")[name]
    best = later["best_tractable_any"]
    return (
        name,
        figure(published["bspn"]),
        figure(published["bspn_infinite"]),
        *(column.show(row) for column in columns),
        figure(published["best_to_date_2019"]),
        figure(best, "?" if anchors.is_unverified(name, best) else ""),
        figure(later.get(anchors.MIXTURE), digits=3),
        figure(later.get(anchors.MIXTURES), digits=3),
    )


def _system_text(grid: Grid) -> str:
    """What time the paper's system and the infinite mixture had, and for how many graphs."""
    shown = []
    for method, title in (("paper", "the paper's system"), ("infinite", "the infinite mixture")):
        limits = {
            run.case.configuration["seconds"] for row in grid.values() for run in find(row, method)
        }
        if limits:
            shown.append(f"{title} {' or '.join(spell_seconds(s) for s in sorted(limits))}")
    text = f"Limits per data set: {', '.join(shown)}." if shown else ""
    chosen = [
        run.details for row in grid.values() for run in find(row, "paper")[:1] if not run.error
    ]
    if not chosen:
        return text
    counts = [len(details.get("evidence", {})) for details in chosen]
    most = max(details.get("evidence_rows", 0) for details in chosen)
    return (
        f"{text} Of the paper's grid, {min(counts)} to {max(counts)} of {len(paper_grid())} graphs "
        f"were compared by evidence on up to {most:,} rows in the time there was; where there was "
        "none, no evidence went into the choice."
    )


def _count_table(grid: Grid, columns: Sequence[Column]) -> str:
    """How often each of our columns reaches published figures.

    Columns are counted one by one: taking the best of them per data set would be a choice by test
    rows.
    """
    published, later = anchors.read_figures("table1"), anchors.read_figures("later")
    bars = (
        ("better than the best in 2019", published, "best_to_date_2019", 2),
        ("better than the best published", later, "best_tractable_any", 2),
        ("better than one continuous mixture", later, anchors.MIXTURE, 3),
        ("better than an ensemble of them", later, anchors.MIXTURES, 3),
    )
    lines = []
    for column in columns:
        ran = {name: mean for name, row in grid.items() if (mean := column.mean(row)) is not None}
        reached = sum(round(mean, 2) >= anchors.best_of_paper(name) for name, mean in ran.items())
        counts = [_count_better(ran, figures, bar, digits) for _, figures, bar, digits in bars]
        lines.append((column.title, f"{reached} of {len(ran)}", *counts))
    return markdown(("column", "at least the paper's better one", *(bar[0] for bar in bars)), lines)


def _count_better(means: dict[str, float], figures: anchors.Figures, bar: str, digits: int) -> str:
    """On how many data sets a figure is exceeded, at the decimals that it has, and of how many."""
    known = [name for name in means if bar in figures[name]]
    better = sum(round(means[name], digits) > figures[name][bar] for name in known)
    return f"{better} of {len(known)}"


def _near_text(grid: Grid) -> str:
    """How near the plain call comes to the earlier rule, in words."""
    pairs = [
        (ours, pool(row["wide", None]).mean)
        for row in grid.values()
        if (ours := mean_of(row.get(("ours", PLAIN_SECONDS), []))) is not None
        and ("wide", None) in row
    ]
    if not pairs:
        return ""
    near = sum(ours >= earlier - _NEAR * abs(earlier) for ours, earlier in pairs)
    return (
        f"The plain call at {PLAIN_SECONDS:g} s is better than the earlier rule, or within "
        f"{100 * _NEAR:g} % of it, on {near} of {len(pairs)} data sets."
    )


def _rivals_table(grid: Grid) -> str:
    """Scores of rivals on binary data sets, each with how ours compares by two tests."""
    rivals = [
        name
        for name, rival in RIVALS.items()
        if rival.binary and any((name, None) in row for row in grid.values())
    ]
    if not rivals:
        return ""
    lines = []
    for name in BINARY_NAMES:
        row = grid.get(name, {})
        if not any(find(row, rival) for rival in rivals):
            continue
        own = find_plain(row)
        mark = EARLIER if own is not None and is_earlier(own) else ""
        mean = None if own is None or own.error else own.mean
        cells = [show(find(row, rival)) + verdict(own, find(row, rival)) for rival in rivals]
        lines.append([name, figure(mean, mark, digits=3), *cells])
    heads = ["data set", "ours", *(RIVALS[name].title for name in rivals)]
    whose = "Ours is the first seed, of an earlier version all of them."
    text = f"{whose} {SIGNS} {limits_text(grid, rivals)} {EARLIER_NOTE}"
    return "\n\n".join(["### Rivals, run by us", markdown(heads, lines), text])


def plain_section(results: Sequence[Result]) -> str:
    """What the plain call did on both tables: graph, chains, time, size, warnings."""
    grid = gather(results)
    lines = []
    for name in (*BINARY_NAMES, *MIXED_NAMES):
        runs = grid.get(name, {}).get(("ours", PLAIN_SECONDS), [])
        if mean_of(runs) is not None:
            lines.append(_plain_line(name, runs))
    if not lines:
        return ""
    heads = ["data set", "graph", "chains", "burn-in", "draws of a chain", "seconds of the fit"]
    heads += ["seconds per 1,000 test rows", "edges of one draw", "fits that warned"]
    return "\n\n".join(
        [
            f"## What the plain call does in {PLAIN_SECONDS:g} s",
            markdown(heads, lines),
            "Graph, chains, sweeps and edges are those of the first seed.",
        ]
    )


def _plain_line(name: str, runs: Sequence[Result]) -> tuple[str, ...]:
    first = runs[0]
    plan = FitPlan.from_json(first.details["plan"])
    warned = sum(run.details["warned"] for run in runs)
    return (
        name,
        name_graph(plan.graph),
        f"{plan.chains}",
        f"{plan.burn_in}",
        f"{plan.draws}",
        f"{first.seconds['fit']:.1f}",
        f"{first.details['seconds_per_1000_rows']:.2f}",
        f"{first.details['edges']:,}",
        f"{warned} of {len(runs)}",
    )
