"""Which results count: the newest of every case, and all seeds of a method of ours together."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
from results import Result, Scores

#: Methods whose seeds add up; rivals, and the paper's one chain, stay alone.
_POOLED = ("wide", "infinite", "abda", "recorded")

#: Results of one table by data set and method.
Grid = dict[str, dict[str, Result]]


def newest(results: Iterable[Result]) -> list[Result]:
    """Of every data set, method, seed and kind of holes the newest result that did not fail.

    Runs with other time limits are kept apart in the files, and the last one counts. A failure
    counts only where there is nothing else.
    """
    chosen: dict[tuple[object, ...], Result] = {}
    for result in results:
        case, holes = result.case, result.case.configuration
        key = (case.data, case.method, case.seed, holes.get("kind"), holes.get("share"))
        if key in chosen and result.error and not chosen[key].error:
            continue
        chosen[key] = result
    return list(chosen.values())


def by_method(results: Iterable[Result]) -> Grid:
    """Results by data set and method; of several seeds the first."""
    grid: Grid = defaultdict(dict)
    for result in sorted(results, key=lambda result: -result.case.seed):
        grid[result.case.data][result.case.method] = result
    return grid


def pool_seeds(results: Sequence[Result]) -> list[Result]:
    """Runs of ours that differ in their seeds alone as one result; others stay as they are.

    Each run is an average over chains, so that all of them together are one over more chains: a
    run with another seed adds chains to those that are there. Seconds add up.
    """
    groups: dict[tuple[str, str], list[Result]] = defaultdict(list)
    for result in sorted(results, key=lambda result: result.case.seed):
        groups[result.case.data, result.case.method].append(result)
    pooled = []
    for (_, method), runs in groups.items():
        if method in _POOLED:
            pooled.append(_pool([run for run in runs if not run.error] or runs[:1]))
        else:
            pooled += runs
    return pooled


def _pool(runs: Sequence[Result]) -> Result:
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
