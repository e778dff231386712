"""Which results count: the newest of every case, by method and time limit, seeds side by side.

Lines of ours name the call that was made. Those that do not are of earlier versions, whose rules
lived in the experiments: they are shown apart, or where there is nothing newer, with a mark.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
from results import Result, Scores

#: The time limit of the plain call, at which it is compared with others.
PLAIN_SECONDS = 60.0

#: What lines of earlier versions call the method that is now the plain call.
_EARLIER_OURS = ("wide", "chains in turn")

_OURS = ("paper", "ours", "ours_train", "infinite", "abda", "recorded", *_EARLIER_OURS)

#: A method and its time limit; None for rivals and earlier versions, whose last limit counts.
Label = tuple[str, float | None]

#: Runs of a data set that differ in their seeds alone, by method and limit.
Row = dict[Label, list[Result]]
Grid = dict[str, Row]

#: A share of the rows, or cells, with the runs of every seed.
Curve = dict[float, list[Result]]


def label(result: Result) -> Label:
    """What a result is a run of."""
    configuration = result.case.configuration
    limit = float(configuration["seconds"]) if "call" in configuration else None
    return result.case.method, limit


def is_earlier(result: Result) -> bool:
    """Whether a result of ours is of an earlier version."""
    method, limit = label(result)
    return method in _OURS and limit is None


def newest(results: Iterable[Result]) -> list[Result]:
    """Of every data set, label, seed and kind of holes the newest result that did not fail.

    A failure counts only where there is nothing else.
    """
    chosen: dict[tuple[object, ...], Result] = {}
    for result in results:
        case, holes = result.case, result.case.configuration
        key = (case.data, label(result), case.seed, holes.get("kind"), holes.get("share"))
        if key in chosen and result.error and not chosen[key].error:
            continue
        chosen[key] = result
    return list(chosen.values())


def gather(results: Iterable[Result]) -> Grid:
    """Results by data set and label, seeds in their order; failures only where all failed."""
    grid: Grid = defaultdict(lambda: defaultdict(list))
    for result in sorted(results, key=lambda result: result.case.seed):
        grid[result.case.data][label(result)].append(result)
    return {
        data: {
            name: [run for run in runs if not run.error] or runs[:1] for name, runs in row.items()
        }
        for data, row in grid.items()
    }


def limits_of(grid: Grid, method: str) -> list[float]:
    """Time limits that a method was run with."""
    found = {limit for row in grid.values() for name, limit in row if name == method}
    return sorted(limit for limit in found if limit is not None)


def find(row: Row, method: str, limit: float | None = None) -> list[Result]:
    """Runs of a method: with this limit or the longest, else of an earlier version, else none."""
    limits = [other for name, other in row if name == method and other is not None]
    if limits:
        return row[method, limit if limit in limits else max(limits)]
    earlier = (method, *_EARLIER_OURS) if method == "ours" else (method,)
    return next((row[name, None] for name in earlier if (name, None) in row), [])


def find_plain(row: Row) -> Result | None:
    """The run of ours that others are compared with: the plain call, its first seed.

    Seeds of an earlier version are pooled, as they were then.
    """
    runs = find(row, "ours", PLAIN_SECONDS)
    if not runs:
        return None
    return pool(runs) if is_earlier(runs[0]) else runs[0]


def pool(runs: Sequence[Result]) -> Result:
    """Runs that differ in their seeds alone as one: their densities are averaged, times add up.

    Each run is an average over chains, so that all of them together are one over more chains.
    """
    first = runs[0]
    if len(runs) == 1:
        return first
    means = [run.details.get("chain_means", [run.mean]) for run in runs]
    seconds: dict[str, float] = defaultdict(float)
    for run in runs:
        for name, value in run.seconds.items():
            seconds[name] += value
    return dataclasses.replace(
        first,
        scores=_average([run.scores for run in runs], [len(each) for each in means]),
        seconds=dict(seconds),
        details=first.details | {"chain_means": [mean for each in means for mean in each]},
    )


def _average(scores: Sequence[Scores | None], chains: Sequence[int]) -> Scores:
    """Log of the mean density, runs weighted by their numbers of chains."""
    logs = np.stack([np.asarray(each, dtype=np.float64) for each in scores])
    shares = np.log(np.array(chains) / sum(chains))
    mean: Scores = np.logaddexp.reduce(logs + shares[:, None]).astype(np.float32)
    return mean


def missing_curves(
    results: Sequence[Result], methods: Iterable[str]
) -> dict[tuple[str, str], dict[str, Curve]]:
    """Runs of the study of missing values by kind of holes and data set, method and share."""
    curves: dict[tuple[str, str], dict[str, Curve]] = defaultdict(lambda: defaultdict(dict))
    cells: dict[tuple[str, float], list[Result]] = defaultdict(list)
    for result in results:
        holes = result.case.configuration
        cells[holes["kind"], holes["share"]].append(result)
    for (kind, share), some in sorted(cells.items()):
        for data, row in sorted(gather(some).items()):
            for method in methods:
                runs = find(row, method)
                if runs and not runs[0].error:
                    curves[kind, data][method][share] = runs
    return curves


def cost_points(row: Row) -> list[tuple[float, float]]:
    """Seconds and score of our calls with all their limits, of the first seed."""
    found = [runs for (name, limit), runs in row.items() if name == "ours" and limit is not None]
    runs = [each[0] for each in found] or find(row, "ours")[:1]
    return sorted(point for run in runs for point in run.checkpoints)
