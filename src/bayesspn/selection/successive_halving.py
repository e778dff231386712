"""Successive halving: all graphs are scored roughly, and only good ones are scored thoroughly."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from tqdm.auto import tqdm

from bayesspn.arrays import Array
from bayesspn.model.generative import Model
from bayesspn.numerics.threads import limited_threads
from bayesspn.rows.encoded import EncodedRows
from bayesspn.selection import evidence
from bayesspn.selection.building import Priors, TableModels
from bayesspn.selection.candidates import Candidate
from bayesspn.selection.evidence import Measurement
from bayesspn.selection.rankings import Ranking, ScoredGraph
from bayesspn.selection.score_files import ScoreFile, Stage, stage_seed

#: How thoroughly graphs are scored in the last stage, if nothing else is said.
SWEEPS = 320
RUNS = 4

#: Stages at most, each with so many times the sweeps of the one before.
_STAGES = 3
_FACTOR = 2

#: Fewest sweeps that give an estimate.
LEAST_SWEEPS = 8

#: Graphs may be stopped if they are worse than the best by more than so many standard errors, and
#: by more than so many nats, as one with a twentieth of the best one's probability is.
_ERRORS = 3.0
_NATS = 3.0


def rank_graphs(
    table: TableModels,
    candidates: Sequence[Candidate],
    *,
    sweeps: int = SWEEPS,
    runs: int = RUNS,
    n_jobs: int | None = None,
    random_state: Any = None,
    progress: bool = False,
    checkpoint: str | os.PathLike[str] | None = None,
) -> Ranking:
    """Score graphs by their evidence for an encoded table, the good ones more thoroughly.

    After each stage, the better half goes on, and whatever is within three standard errors or
    three nats of the best; the next has twice the sweeps. Scores depend neither on
    ``n_jobs``, nor on the other graphs, nor on how often the work was stopped and taken up again.

    Ctrl-C ends the work. What is known is ranked if every graph has finished the first stage;
    otherwise the KeyboardInterrupt goes on.
    """
    store = ScoreFile(checkpoint, *table.model(candidates[0].graph, Priors()), random_state)
    progressing = _Halving(candidates, plan_stages(sweeps, len(candidates)), runs, store)
    interrupted = False
    try:
        for stage in range(len(progressing.stages)):
            progressing.stop_hopeless(stage)
            progressing.measure(stage, table, n_jobs, progress)
    except KeyboardInterrupt:
        if not progressing.complete(0):
            raise
        interrupted = True
    return Ranking(progressing.ranked(), store.random_state, interrupted)


class _Task(NamedTuple):
    """A graph to be scored in a stage."""

    stage: Stage
    model: Model
    rows: EncodedRows
    seed: int


class _Halving:
    """Scores of all graphs so far, and who is still in the race."""

    def __init__(
        self, candidates: Sequence[Candidate], stages: Sequence[int], runs: int, store: ScoreFile
    ) -> None:
        self.stages = stages
        self._candidates = {candidate.name: candidate for candidate in candidates}
        self._alive = list(self._candidates)
        self._runs = runs
        self._store = store
        self._scores: dict[str, list[Measurement]] = {name: [] for name in self._candidates}

    def complete(self, stage: int) -> bool:
        """Whether every graph that is still in the race has finished a stage."""
        return all(len(self._scores[name]) > stage for name in self._alive)

    def stop_hopeless(self, stage: int) -> None:
        """Leave out the graphs that need not be scored in this stage."""
        if stage:
            latest = np.array([self._scores[name][-1][:2] for name in self._alive])
            keep = find_promising(*latest.T)
            self._alive = [name for name, kept in zip(self._alive, keep, strict=True) if kept]

    def measure(self, stage: int, table: TableModels, n_jobs: int | None, progress: bool) -> None:
        """Score all graphs in the race, but those whose scores are known."""
        wanted = {Stage(name, self._runs, self.stages[stage]): name for name in self._alive}
        left = []
        for one, name in wanted.items():
            if one in self._store.known:
                self._scores[name].append(self._store.known[one])
            else:
                left.append(self._prepare(table, one))
        with tqdm(
            total=len(wanted),
            initial=len(wanted) - len(left),
            desc=f"stage {stage + 1} of {len(self.stages)}, {self.stages[stage]} sweeps",
            unit=" graphs",
            disable=not progress,
        ) as bar:
            for one, measured in _measure_all(left, n_jobs):
                self._store.add(one, measured)
                self._scores[wanted[one]].append(measured)
                bar.update()
                bar.set_postfix_str(self._best(stage), refresh=False)

    def _prepare(self, table: TableModels, stage: Stage) -> _Task:
        candidate = self._candidates[stage.graph]
        model, rows = table.model(candidate.graph, candidate.priors)
        return _Task(stage, model, rows, stage_seed(self._store.seed, stage))

    def _best(self, stage: int) -> str:
        done = [name for name in self._alive if len(self._scores[name]) > stage]
        return "best: " + max(done, key=lambda name: self._scores[name][-1].value)

    def ranked(self) -> tuple[ScoredGraph, ...]:
        """Everything that is known, best first."""
        found = [
            ScoredGraph(
                self._candidates[name],
                scores[-1],
                len(scores),
                self.stages[len(scores) - 1],
                name not in self._alive,
                sum(score.seconds for score in scores),
            )
            for name, scores in self._scores.items()
        ]
        return tuple(sorted(found, key=lambda graph: (graph.stopped, -graph.measured.value)))


def plan_stages(sweeps: int, graphs: int) -> tuple[int, ...]:
    """Sweeps of the stages; a single graph needs no comparison.

    Examples
    --------
    >>> plan_stages(80, 9), plan_stages(30, 9), plan_stages(80, 1)
    ((20, 40, 80), (15, 30), (80,))
    """
    if graphs == 1:
        return (sweeps,)
    planned = [sweeps // _FACTOR**power for power in reversed(range(_STAGES))]
    return tuple(number for number in planned if number >= LEAST_SWEEPS)


def find_promising(value: Array, error: Array) -> Array:
    """Which graphs may be the best: the better half, and whatever is nearly as good as the best.

    Examples
    --------
    >>> find_promising(np.array([-10.0, -50.0, -12.0, -60.0, -15.0]), np.array([1, 1, 1, 40, 1]))
    array([ True, False,  True,  True,  True])
    """
    best = value.argmax()
    near = value[best] - value <= np.maximum(_NATS, _ERRORS * np.hypot(error[best], error))
    half = np.zeros(len(value), dtype=bool)
    half[np.argsort(-value, kind="stable")[: (len(value) + 1) // 2]] = True
    return near | half


def _measure_all(tasks: Sequence[_Task], n_jobs: int | None) -> Iterator[tuple[Stage, Measurement]]:
    """Scores as they are finished, a process and a thread for every graph."""
    jobs = max(1, min(effective_n_jobs(n_jobs), len(tasks)))
    if jobs == 1:
        for task in tasks:
            yield _measure(task)
        return
    # arrays mapped from files are read-only, another type for which everything is compiled again
    parallel = Parallel(n_jobs=jobs, max_nbytes=None, batch_size=1, return_as="generator_unordered")
    yield from parallel(delayed(_measure)(task) for task in tasks)


def _measure(task: _Task) -> tuple[Stage, Measurement]:
    stage, model, rows, seed = task
    with limited_threads(1):
        measured = evidence.measure_graph(
            model, rows, runs=stage.runs, sweeps=stage.sweeps, random_state=seed
        )
    return stage, measured
