"""The comparison of graphs inside a fit, which takes the best of those that suit a table.

Every graph is tried on a sample of the table, from one kind of start. After a few sweeps the worse
half is dropped, the rest goes on, and so on. Of those that the sample cannot tell apart, the one is
taken that more rows should help most; then it grows, for as long as twice as many nodes per region
are better. It takes a small part of a fit and does not need the evidence. Without
a time limit it depends on nothing but the table and the seed; with one, on how many graphs there is
time for.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd
from tqdm.auto import tqdm

from bayesspn.arrays import Array
from bayesspn.graphs import RegionGraph
from bayesspn.numerics.parallel import count_cores
from bayesspn.selection.building import Priors
from bayesspn.selection.costs import estimate_seconds, estimate_trials
from bayesspn.selection.lanes import Lane, advance_lanes, divide_rows, find_gaps, sample_rows
from bayesspn.tables.schema import Schema

#: Sweeps that lanes have done when they are compared; the better half goes on.
STOPS = (10, 30, 70)

#: Stops at which twice as many nodes must be better; what they gain shows early.
_GROWING_STOPS = 2

#: How many times as long a sweep takes with twice as many nodes, at most; and nodes per region that
#: a graph may grow to.
_GROWING_COST = 3.0
_MOST_NODES = {"shared": 128, "cross": 32}

#: Sweeps that there should be time for, of all chains together. Nats by which a cell is short if
#: there is not, times how many times too slow they are: 40 sweeps in place of 100 lost 1.5 % on
#: tables of 900 words.
_LEAST_SWEEPS = 100
_LOSS = 0.0025

#: Sweeps from which on more of them may turn out not to be needed.
_TELLING = 30

#: Lanes that are compared even if there is no time for it.
FEWEST_LANES = 2

#: Fewest rows that can be divided.
FEWEST_ROWS = 20


class Race(NamedTuple):
    """What a race found.

    Attributes
    ----------
    graph : RegionGraph
        The best.
    table : DataFrame
        A row per graph, best first: ``graph``, ``score`` (mean log density of a row held out),
        ``behind`` and ``error`` (how far behind the best after as many sweeps, with its standard
        error), ``sweeps`` done and ``weights`` of the graph.
    settled : bool
        Whether more sweeps of the best were no better, as the rows held out tell.
    """

    graph: RegionGraph
    table: pd.DataFrame
    settled: bool


def race_graphs(
    schema: Schema,
    values: Array,
    priors: Priors,
    graphs: Sequence[RegionGraph],
    *,
    seed: int,
    recorded: Array | None = None,
    rows: int | None = None,
    target: int | None = None,
    stops: Sequence[int] = STOPS,
    sweep_seconds: float = 0.0,
    n_jobs: int | None = None,
    seconds: float | None = None,
    budget: float | None = None,
    progress: bool = False,
) -> Race:
    """Compare graphs by short chains.

    Parameters
    ----------
    schema : Schema
    values : ndarray of shape (rows, columns)
        The encoded table, or some of its rows.
    priors : Priors
    graphs : sequence of RegionGraph
    seed : int
    recorded : ndarray of shape (recorded rows, columns), default=None
        The rows before weights repeated them; see `describe_columns`.
    rows : int, default=None
        Of the table, if ``values`` are some of them.
    target : int, default=None
        Column whose density given all others is what counts, beside the density of whole rows per
        column; None judges by whole rows.
    stops : sequence of int
        Sweeps that lanes have done when they are compared.
    sweep_seconds : float, default=0
        The best graph grows while a sweep of the whole table costs no more than this (`costs`).
    n_jobs : int, default=None
        Cores; see `count_cores`.
    seconds : float, default=None
        No further comparison is begun that would not be over by then; the first one is of as many
        graphs as there is time for, those with few regions first.
    budget : float, default=None
        Seconds that all chains of the fit may take together. Slow graphs must be better by what
        chains lose if they have no time to climb.
    progress : bool, default=False
        Whether to show a bar.
    """
    divided = divide_rows(schema, values, priors, seed, recorded)
    lanes = [divided.lane(graph, priors, seed, number) for number, graph in enumerate(graphs)]
    with tqdm(
        total=sum(len(lanes) >> k for k in range(len(stops))),
        desc="comparing graphs",
        unit=" runs",
        disable=not progress,
    ) as bar:
        race = _Running(
            stops,
            target,
            count_cores(n_jobs),
            np.inf if seconds is None else time.monotonic() + seconds,
            None if budget is None else budget / (rows or len(values)),
            1 if target is not None else values.shape[1],
            bar,
        )
        sample, size = sample_rows(values, seed), rows or len(values)
        lanes = race.break_tie(race.halve(lanes), 1.0 - len(sample) / size)
        if sweep_seconds > 0.0:
            lanes = race.grow(
                lanes,
                lambda graph: (
                    divided.lane(graph, priors, seed, len(graphs) + graph.leaves)
                    if graph.leaves <= _MOST_NODES[graph.products]
                    and estimate_seconds(graph, divided.leaves, size, sample) <= sweep_seconds
                    else None
                ),
            )
    return Race(lanes[0].graph, _tabulate(lanes), has_settled(lanes[0]))


class _Running(NamedTuple):
    """A race, with its rules and its time.

    Attributes
    ----------
    stops : sequence of int
    target : int or None
    jobs : int
    end : float
        When it should be over, in seconds of `time.monotonic`.
    budget : float or None
        Seconds that all chains may take for a row.
    columns : int
        That scores are of.
    bar : tqdm
    """

    stops: Sequence[int]
    target: int | None
    jobs: int
    end: float
    budget: float | None
    columns: int
    bar: tqdm

    def halve(self, lanes: list[Lane]) -> list[Lane]:
        """Drop the worse half at every stop; all lanes, best first."""
        if self.end < np.inf:  # the quick ones come first
            lanes = sorted(lanes, key=lambda lane: lane.graph.n_leaf_regions)
        dropped: list[Lane] = []
        pace, done = 0.0, 0
        for number, stop in enumerate(self.stops):
            begun = time.monotonic()
            late = begun + pace * len(lanes) * (stop - done) > self.end
            if number and (late or len(lanes) == 1):
                break
            lanes = self._advance(lanes, stop, hurry=not number)
            # what a sweep of a lane took, for the time that the next comparison will take
            pace = (time.monotonic() - begun) / (len(lanes) * (stop - done))
            done = stop
            self.bar.update(len(lanes))
            lanes = self.rank(lanes)
            if number + 1 < len(self.stops):
                kept = -(-len(lanes) // 2)
                dropped = lanes[kept:] + dropped
                lanes = lanes[:kept]
        return lanes + dropped

    def _advance(self, lanes: list[Lane], stop: int, hurry: bool) -> list[Lane]:
        """Bring lanes to a number of sweeps: all, or in a hurry as many as there is time for."""
        together = max(self.jobs, FEWEST_LANES) if hurry and self.end < np.inf else len(lanes)
        advanced: list[Lane] = []
        while len(advanced) < len(lanes) and (not advanced or time.monotonic() < self.end):
            some = lanes[len(advanced) : len(advanced) + together]
            advance_lanes(some, stop, self.target, self.jobs)
            advanced += some
        return advanced

    def grow(self, lanes: list[Lane], begin: Callable[[RegionGraph], Lane | None]) -> list[Lane]:
        """Double the nodes of the best graph for as long as that is better.

        ``begin`` gives the lane of a graph, or None if it is too large.
        """
        while True:
            best = lanes[0]
            graph = replace(best.graph, sums=2 * best.graph.sums, leaves=2 * best.graph.leaves)
            larger = None if graph in [lane.graph for lane in lanes] else begin(graph)
            if larger is None:
                return lanes
            gain = error = 0.0
            for stop in sorted(best.judged)[:_GROWING_STOPS]:
                taken = sum(run.seconds for run in best.runs) / best.sweeps
                if time.monotonic() + _GROWING_COST * taken * stop / self.jobs > self.end:
                    return lanes
                advance_lanes([larger], stop, self.target, self.jobs)
                self.bar.total += 1
                self.bar.update(1)
                gain, error = _compare(larger, best)
                gain -= float(np.diff(self._haste([best, larger]))[0])
                if gain < -error:
                    break
            lanes = [larger, *lanes] if gain > error else [best, larger, *lanes[1:]]

    def rank(self, lanes: Sequence[Lane]) -> list[Lane]:
        """Lanes by their scores, best first, less what those lose that there are few sweeps of."""
        scores = find_gaps([lane.scores for lane in lanes]).mean(axis=1) - self._haste(lanes)
        return [lanes[k] for k in np.argsort(-scores, kind="stable")]

    def break_tie(self, lanes: list[Lane], unseen: float) -> list[Lane]:
        """Put the one of the best lanes first that should be the best with all rows.

        Among lanes which the rows held out cannot tell apart, and of a table of which only a
        sample was looked at, ``unseen`` being the share of the rest. A model of p parameters fits
        the n rows that it learned better than new ones by about p / n, and these worse than it
        would with endless rows by half of that: so much is still to be gained.
        """
        if unseen <= 0.0:
            return lanes
        tied = [
            lane
            for lane in lanes
            if lane.sweeps == lanes[0].sweeps and self._is_tied(lane, lanes[0])
        ]
        held_out = find_gaps([lane.scores for lane in tied]).mean(axis=1)
        gains = np.array([lane.learned for lane in tied]) - held_out
        best = tied[int(np.argmax(held_out - self._haste(tied) + unseen * gains / 2))]
        return [best, *(lane for lane in lanes if lane is not best)]

    def _is_tied(self, lane: Lane, best: Lane) -> bool:
        gain, error = _compare(best, lane)
        return gain - float(np.subtract(*self._haste([best, lane]))) <= error

    def _haste(self, lanes: Sequence[Lane]) -> Array:
        """What chains lose that have no time to climb; (lanes,)."""
        if self.budget is None:
            return np.zeros(len(lanes))
        haste = np.array([_LEAST_SWEEPS * lane.pace / self.budget for lane in lanes])
        return np.where(haste > 1.0, _LOSS * self.columns * haste, 0.0)


def estimate_race(graphs: Sequence[RegionGraph], sample: Array) -> float:
    """Seconds that comparing graphs on some rows takes at least, roughly."""
    quickest = sorted(graphs, key=lambda graph: graph.n_leaf_regions)[:FEWEST_LANES]
    return estimate_trials(quickest, sample, STOPS[0])


def _compare(one: Lane, other: Lane) -> tuple[float, float]:
    """How much better one is than another after as many sweeps, and its standard error."""
    stop = max(one.judged.keys() & other.judged.keys())
    return _gain(one.judged[stop], other.judged[stop])


def _gain(scores: Array, others: Array) -> tuple[float, float]:
    """How much better rows held out are foreseen, and its standard error."""
    gains = np.subtract(*find_gaps([scores, others]))
    return float(gains.mean()), float(gains.std() / np.sqrt(len(gains)))


def has_settled(lane: Lane) -> bool:
    """Whether rows held out were foreseen no better after the last sweeps than before them.

    The fit of the rows that are learned from goes on rising for long, and says less. Of fewer
    sweeps than `_TELLING` nothing is said.
    """
    *_, early, late = 0, *sorted(lane.judged)
    if early < _TELLING:
        return False
    gain, error = _gain(lane.judged[late], lane.judged[early])
    return gain <= error


def _tabulate(lanes: Sequence[Lane]) -> pd.DataFrame:
    behind = np.array([_compare(lanes[0], lane) for lane in lanes])
    return pd.DataFrame(
        {
            "graph": [lane.graph for lane in lanes],
            "score": [float(np.mean(lane.scores)) for lane in lanes],
            "behind": behind[:, 0],
            "error": behind[:, 1],
            "sweeps": [lane.sweeps for lane in lanes],
            "weights": [lane.graph.n_weights for lane in lanes],
        }
    )
