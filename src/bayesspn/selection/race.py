"""The comparison of graphs inside a fit: short chains, judged by rows held out.

Every graph is tried on a sample of the table, from one kind of start. After a few sweeps the worse
half is dropped, the rest goes on, and so on. It takes a small part of a fit and does not need the
evidence. Without a time limit it depends on nothing but the table and the seed; with one, on how
many lanes there is time for.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pandas as pd
from joblib import delayed
from tqdm.auto import tqdm

from bayesspn.arrays import Array
from bayesspn.engine.shards import as_shards
from bayesspn.graphs import RegionGraph
from bayesspn.inference.starts.choices import StartName, start_state
from bayesspn.inference.state import State
from bayesspn.inference.sweep import draw_sweep
from bayesspn.model.generative import Model
from bayesspn.numerics.parallel import count_cores, run_side_by_side
from bayesspn.numerics.random_numbers import Key
from bayesspn.prediction.posterior import Posterior
from bayesspn.rows.encoded import EncodedRows, encode_rows
from bayesspn.selection.building import Priors
from bayesspn.selection.costs import estimate_trials
from bayesspn.tables.columns import describe_columns
from bayesspn.tables.schema import Schema

#: Sweeps that lanes have done when they are compared; the better half goes on.
STOPS = (10, 30, 70)

#: Rows at most, cells at most, and rows at least that are looked at.
_MOST_ROWS = 10_000
_MOST_CELLS = 200_000
_LEAST_ROWS = 600

#: Share of the rows that is held out.
_HELD_OUT = 0.25

#: Divisions into rows to learn from and rows held out, for tables with at most so many rows.
_DIVISIONS = ((800, 2),)

#: States that a lane is judged by, and sweeps between them.
_JUDGED, _APART = 3, 3

#: A row held out counts for at most so many nats less than under the lane that foresaw it best.
_LARGEST_GAP = 20.0

#: Sweeps that there should be time for, of all chains together. Nats by which a cell is short if
#: there is not, times how many times too slow they are: 40 sweeps in place of 100 lost 1.5 % on
#: tables of 900 words.
_LEAST_SWEEPS = 100
_LOSS = 0.0025

#: Where chains of a race begin: on 41 tables, graphs that were also tried from the other start were
#: no better.
_START: StartName = "clustered"

#: Lanes that are compared even if there is no time for it.
FEWEST_LANES = 2

#: Fewest rows that can be divided.
FEWEST_ROWS = 20


@dataclass
class _Lane:
    """A graph in the race, with one chain per division of the rows."""

    graph: RegionGraph
    runs: list[_Run] = field(default_factory=list)
    scores: Array = field(default_factory=lambda: np.empty(0))
    sweeps: int = 0

    @property
    def pace(self) -> float:
        """Seconds that a sweep of a row took.

        Of many rows each takes less, a half to a sixth. But large graphs also need more sweeps than
        short chains show: choosing by what all rows take gave worse scores on tables of clicks and
        words.
        """
        return (
            sum(run.seconds / run.rows.n_rows for run in self.runs) / len(self.runs) / self.sweeps
        )


class _Run(NamedTuple):
    """A chain of a lane on one division of the rows."""

    model: Model
    rows: EncodedRows
    held_out: Array
    key: Key
    state: State | None
    scores: Array
    seconds: float = 0.0


class Race(NamedTuple):
    """What a race found.

    Attributes
    ----------
    graph : RegionGraph
        The best.
    table : DataFrame
        A row per graph, best first: ``graph``, ``score`` (mean log density of a row held out),
        ``behind`` and ``error`` (how far behind the best, with its standard error), ``sweeps`` done
        and ``weights`` of the graph.
    """

    graph: RegionGraph
    table: pd.DataFrame


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
    begun = time.monotonic()
    lanes = [_Lane(graph) for graph in graphs]
    _divide(lanes, schema, values, priors, seed, recorded)
    if seconds is not None:  # the quick ones come first
        lanes.sort(key=lambda lane: lane.graph.n_leaf_regions)
    dropped: list[_Lane] = []
    with tqdm(
        total=sum(len(lanes) >> k for k in range(len(stops))),
        desc="comparing graphs",
        unit=" runs",
        disable=not progress,
    ) as bar:
        pace, done = 0.0, 0
        for number, stop in enumerate(stops):
            taken = time.monotonic() - begun
            coming = pace * len(lanes) * (stop - done)
            late = seconds is not None and taken + coming > seconds
            if number and (late or len(lanes) == 1):
                break
            end = begun + seconds if seconds is not None and not number else np.inf
            lanes = _advance(lanes, stop, target, n_jobs, end)
            # what a sweep of a lane took, for the time that the next comparison will take
            pace = (time.monotonic() - begun - taken) / (len(lanes) * (stop - done))
            done = stop
            bar.update(len(lanes))
            time_for = None
            if budget is not None:
                time_for = [budget / (lane.pace * (rows or len(values))) for lane in lanes]
            lanes = _rank(lanes, time_for, 1 if target is not None else values.shape[1])
            if number + 1 < len(stops):
                kept = -(-len(lanes) // 2)
                dropped = lanes[kept:] + dropped
                lanes = lanes[:kept]
    return Race(lanes[0].graph, _tabulate([*lanes, *dropped]))


def estimate_race(graphs: Sequence[RegionGraph], sample: Array) -> float:
    """Seconds that comparing graphs on some rows takes at least, roughly."""
    quickest = sorted(graphs, key=lambda graph: graph.n_leaf_regions)[:FEWEST_LANES]
    return estimate_trials(quickest, sample, STOPS[0])


def sample_rows(values: Array, seed: int) -> Array:
    """Rows that are looked at: as many as can be compared quickly."""
    rows, columns = values.shape
    most = min(_MOST_ROWS, max(_LEAST_ROWS, _MOST_CELLS // columns))
    if rows <= most:
        return values
    chosen = np.random.default_rng([seed, rows]).choice(rows, size=most, replace=False)
    return values[np.sort(chosen)]


def _divide(
    lanes: list[_Lane],
    schema: Schema,
    values: Array,
    priors: Priors,
    seed: int,
    recorded: Array | None = None,
) -> None:
    """Give every lane its chains, on the same divisions of the rows."""
    sample = sample_rows(values, seed)
    rows = len(sample)
    divisions = next((count for most, count in _DIVISIONS if len(values) <= most), 1)
    leaves = describe_columns(schema, sample, priors.fixed_gamma, recorded)
    models = {lane.graph: priors.model(lane.graph, leaves) for lane in lanes}
    held = max(1, round(_HELD_OUT * rows))
    for division in range(divisions):
        order = np.random.default_rng([seed, division]).permutation(rows)
        encoded = encode_rows(leaves, sample[order[held:]])
        for number, lane in enumerate(lanes):
            key = Key(seed, number).aside(1_000 + division)
            lane.runs.append(
                _Run(models[lane.graph], encoded, sample[order[:held]], key, None, np.empty(0))
            )


def _advance(
    lanes: list[_Lane], stop: int, target: int | None, n_jobs: int | None, end: float
) -> list[_Lane]:
    """Bring lanes to a number of sweeps: all of them, or as many as there is time for."""
    jobs = count_cores(n_jobs)
    together = len(lanes) if end == np.inf else max(jobs, FEWEST_LANES)
    advanced: list[_Lane] = []
    while len(advanced) < len(lanes) and (not advanced or time.monotonic() < end):
        some = lanes[len(advanced) : len(advanced) + together]
        tasks = [
            delayed(_advance_run)(run, lane.sweeps, stop, target)
            for lane in some
            for run in lane.runs
        ]
        done = iter(run_side_by_side(tasks, jobs))
        for lane in some:
            lane.runs = [next(done) for _ in lane.runs]
            lane.scores = np.concatenate([run.scores for run in lane.runs])
            lane.sweeps = stop
        advanced += some
    return advanced


def _advance_run(run: _Run, done: int, stop: int, target: int | None) -> _Run:
    shards = as_shards(run.rows)
    state = run.state
    if state is None:
        state = start_state(run.key, run.model, shards, _START)
    begun = time.perf_counter() - run.seconds  # of sweeps alone, which a fit has many of
    kept = []
    for sweep in range(done + 1, stop + 1):
        state, _ = draw_sweep(run.key, sweep, run.model, shards, state)
        if (stop - sweep) % _APART == 0 and (stop - sweep) // _APART < _JUDGED:
            kept.append(state)
    seconds = time.perf_counter() - begun
    posterior = Posterior(run.model, (tuple(kept),))
    scores = posterior.score_samples(run.held_out)
    if target is not None:
        others = run.held_out.copy()
        others[:, target] = np.nan
        # few rows held out say little about one column: those that explain the rest count as well
        whole = scores / run.held_out.shape[1]
        scores = scores - posterior.score_samples(others) + whole
    return run._replace(state=state, scores=scores, seconds=seconds)


def _rank(lanes: list[_Lane], time_for: Sequence[float] | None, columns: int) -> list[_Lane]:
    """Lanes by their scores, best first, less what those lose that there are few sweeps of."""
    scores = _gaps(lanes).mean(axis=1)
    if time_for is not None:
        haste = _LEAST_SWEEPS / np.array(time_for)
        scores = np.where(haste > 1.0, scores - _LOSS * columns * haste, scores)
    return [lanes[k] for k in np.argsort(-scores, kind="stable")]


def _gaps(lanes: Sequence[_Lane]) -> Array:
    """How much less each lane gives each row held out than the best one does; (lanes, rows)."""
    scores = np.nan_to_num(np.stack([lane.scores for lane in lanes]), nan=-np.inf)
    best = np.maximum(scores.max(axis=0), np.finfo(float).min)
    return np.maximum(scores - best, -_LARGEST_GAP)


def _tabulate(lanes: Sequence[_Lane]) -> pd.DataFrame:
    gaps = _gaps(lanes)
    behind = gaps[0] - gaps
    return pd.DataFrame(
        {
            "graph": [lane.graph for lane in lanes],
            "score": [float(np.mean(lane.scores)) for lane in lanes],
            "behind": behind.mean(axis=1),
            "error": behind.std(axis=1) / np.sqrt(behind.shape[1]),
            "sweeps": [lane.sweeps for lane in lanes],
            "weights": [lane.graph.n_weights for lane in lanes],
        }
    )
