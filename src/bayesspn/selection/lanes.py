"""Graphs that are tried on a table: short chains, judged by rows held out."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from joblib import delayed

from bayesspn.arrays import Array
from bayesspn.engine.shards import as_shards
from bayesspn.graphs import RegionGraph
from bayesspn.inference.starts.choices import ROW_STARTS, TARGET_STARTS, start_state
from bayesspn.inference.state import State
from bayesspn.inference.sweep import draw_sweep
from bayesspn.leaves.columns import Leaves
from bayesspn.model.generative import Model
from bayesspn.numerics.parallel import run_side_by_side
from bayesspn.numerics.random_numbers import Key
from bayesspn.prediction.posterior import Posterior
from bayesspn.rows.encoded import EncodedRows, encode_rows
from bayesspn.selection.building import Priors
from bayesspn.tables.columns import describe_columns
from bayesspn.tables.schema import Schema

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


class Run(NamedTuple):
    """A chain of a lane on one division of the rows."""

    model: Model
    rows: EncodedRows
    held_out: Array
    key: Key
    state: State | None
    scores: Array
    learned: float = 0.0
    seconds: float = 0.0


@dataclass
class Lane:
    """A graph that is tried, with one chain per division of the rows.

    Attributes
    ----------
    graph : RegionGraph
    runs : list of Run
    judged : dict of int to ndarray of shape (rows held out,)
        Log densities of the rows held out, by sweeps done.
    """

    graph: RegionGraph
    runs: list[Run] = field(default_factory=list)
    judged: dict[int, Array] = field(default_factory=dict)

    @property
    def sweeps(self) -> int:
        """Sweeps done."""
        return max(self.judged, default=0)

    @property
    def scores(self) -> Array:
        """Log densities of the rows held out, after all sweeps that were done."""
        return self.judged[self.sweeps]

    @property
    def learned(self) -> float:
        """Mean log density of rows that were learned from, after all sweeps that were done."""
        return sum(run.learned for run in self.runs) / len(self.runs)

    @property
    def pace(self) -> float:
        """Seconds that a sweep of a row took.

        Of many rows each takes less, a half to a sixth. But large graphs also need more sweeps than
        short chains show: choosing by what all rows take gave worse scores on tables of clicks and
        words.
        """
        taken = [run.seconds / run.rows.n_rows for run in self.runs]
        return sum(taken) / len(taken) / self.sweeps


class Divided(NamedTuple):
    """Rows that graphs are tried on, the same for all of them.

    Attributes
    ----------
    leaves : Leaves
    parts : tuple of (EncodedRows, ndarray)
        Rows to learn from and rows held out, for every division.
    """

    leaves: Leaves
    parts: tuple[tuple[EncodedRows, Array], ...]

    def lane(self, graph: RegionGraph, priors: Priors, seed: int, number: int) -> Lane:
        """A graph at its beginning; lanes have different numbers."""
        model = priors.model(graph, self.leaves)
        return Lane(
            graph,
            [
                Run(model, rows, held_out, Key(seed, number).aside(1_000 + k), None, np.empty(0))
                for k, (rows, held_out) in enumerate(self.parts)
            ],
        )


def sample_rows(values: Array, seed: int) -> Array:
    """Rows that are looked at: as many as can be compared quickly."""
    rows, columns = values.shape
    most = min(_MOST_ROWS, max(_LEAST_ROWS, _MOST_CELLS // columns))
    if rows <= most:
        return values
    chosen = np.random.default_rng([seed, rows]).choice(rows, size=most, replace=False)
    return values[np.sort(chosen)]


def divide_rows(
    schema: Schema, values: Array, priors: Priors, seed: int, recorded: Array | None = None
) -> Divided:
    """Divide a sample of the rows into some to learn from and some held out, once or more."""
    sample = sample_rows(values, seed)
    rows = len(sample)
    divisions = next((count for most, count in _DIVISIONS if len(values) <= most), 1)
    leaves = describe_columns(schema, sample, priors.fixed_gamma, recorded)
    held = max(1, round(_HELD_OUT * rows))
    parts = []
    for division in range(divisions):
        order = np.random.default_rng([seed, division]).permutation(rows)
        parts.append((encode_rows(leaves, sample[order[held:]]), sample[order[:held]]))
    return Divided(leaves, tuple(parts))


def advance_lanes(lanes: Sequence[Lane], stop: int, target: int | None, jobs: int) -> None:
    """Bring lanes to a number of sweeps, side by side.

    ``target`` is a column whose density given all others counts, beside that of whole rows per
    column; None judges by whole rows.
    """
    tasks = [
        delayed(_advance)(run, lane.sweeps, stop, target) for lane in lanes for run in lane.runs
    ]
    done = iter(run_side_by_side(tasks, jobs))
    for lane in lanes:
        lane.runs = [next(done) for _ in lane.runs]
        lane.judged[stop] = np.concatenate([run.scores for run in lane.runs])


def _advance(run: Run, done: int, stop: int, target: int | None) -> Run:
    shards = as_shards(run.rows)
    state = run.state
    if state is None:
        # on 41 tables, graphs also tried from spread-out leaves were no better
        starts = ROW_STARTS if target is None else TARGET_STARTS
        state = start_state(run.key, run.model, shards, starts[0])
    begun = time.perf_counter() - run.seconds  # of sweeps alone, which a fit has many of
    kept = []
    for sweep in range(done + 1, stop + 1):
        state, _ = draw_sweep(run.key, sweep, run.model, shards, state)
        if (stop - sweep) % _APART == 0 and (stop - sweep) // _APART < _JUDGED:
            kept.append(state)
    seconds = time.perf_counter() - begun
    posterior = Posterior(run.model, (tuple(kept),))
    known = run.rows.values(np.arange(min(run.rows.n_rows, len(run.held_out))))
    return run._replace(
        state=state,
        scores=_judge(posterior, run.held_out, target),
        learned=float(_judge(posterior, known, target).mean()),
        seconds=seconds,
    )


def _judge(posterior: Posterior, rows: Array, target: int | None) -> Array:
    """What counts of rows: their log densities, or those of a column; (rows,)."""
    scores = posterior.score_samples(rows)
    if target is None:
        return scores
    others = rows.copy()
    others[:, target] = np.nan
    # few rows held out say little about one column: those that explain the rest count as well
    whole = scores / rows.shape[1]
    return scores - posterior.score_samples(others) + whole


def find_gaps(scores: Sequence[Array]) -> Array:
    """How much less than the best each lane gives each row held out; (lanes, rows)."""
    stacked = np.nan_to_num(np.stack(scores), nan=-np.inf)
    best = np.maximum(stacked.max(axis=0), np.finfo(float).min)
    return np.maximum(stacked - best, -_LARGEST_GAP)
