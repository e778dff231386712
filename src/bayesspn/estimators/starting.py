"""Where a fit starts: its graph, and how its chains warm up."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

import pandas as pd

from bayesspn.engine.shards import Shards, as_shards
from bayesspn.estimators.fitting import Clock
from bayesspn.estimators.plans import (
    ALL_WARM_UPS,
    GROWN_SWEEPS,
    NOMINAL_SECONDS,
    RACE_SHARE,
    WARM_UP_SHARE,
    compares_graphs,
    plan_warm_up,
)
from bayesspn.estimators.training import TrainingTable
from bayesspn.graphs import RegionGraph
from bayesspn.inference.starts.choices import ROW_STARTS, TARGET_STARTS, start_state
from bayesspn.inference.sweep import draw_sweep
from bayesspn.inference.warm_up import WarmUp
from bayesspn.model.generative import Model
from bayesspn.numerics.random_numbers import Key
from bayesspn.rows.encoded import EncodedRows
from bayesspn.selection.building import Priors, TableModels
from bayesspn.selection.candidates import default_candidates
from bayesspn.selection.defaults import choose_graph, default_graphs
from bayesspn.selection.lanes import sample_rows
from bayesspn.selection.race import FEWEST_ROWS, estimate_race, race_graphs
from bayesspn.selection.successive_halving import rank_graphs

#: Sweeps that the pace of a warm-up is read off.
_TIMED_SWEEPS = 2

#: Graphs are compared unless that would take so many times its share of a time limit.
_MOST_SHARES = 3.0


class Found(NamedTuple):
    """What a fit starts with.

    Attributes
    ----------
    graph : RegionGraph
    warm_up : WarmUp
    tables : dict of str to DataFrame
        Attributes of the estimator that tell how the graph was found.
    settled : bool
        Whether it is known that short chains of the graph are as good as longer ones.
    """

    graph: RegionGraph
    warm_up: WarmUp
    tables: dict[str, pd.DataFrame]
    settled: bool


def find_start(
    estimator: Any,
    table: TrainingTable,
    given: Mapping[str, Any],
    seed: int,
    clock: Clock | None,
    cores: int,
) -> Found:
    """The graph that was given, or the best of several on the table, and the warm-up.

    Parameters
    ----------
    estimator : JointEstimator
        Whose parameters say what is wanted.
    table : TrainingTable
    given : mapping
        Lengths of chains that the user gave, or "auto".
    seed : int
    clock : Clock or None
    cores : int
        To use.
    """
    shape, wanted = table.shape, estimator.graph
    tables, settled = {}, False
    if isinstance(wanted, RegionGraph):
        graph = wanted
    elif wanted == "select":
        graph, tables["selection_"] = _select_graph(estimator, table)
    elif estimator._infinite or shape[0] < FEWEST_ROWS or not compares_graphs(given):
        graph = choose_graph(*shape, infinite=estimator._infinite)
    elif clock is not None and _too_late(table, seed, clock):
        graph = min(default_graphs(*shape), key=lambda graph: graph.n_weights)
    else:
        graph, tables["comparison_"], settled = race_graphs(
            table.schema,
            table.sample,
            Priors.of(estimator),
            default_graphs(*shape, target=estimator._judged_by_target),
            seed=seed,
            recorded=table.recorded,
            target=len(table.schema) - 1 if estimator._judged_by_target else None,
            n_jobs=cores,
            seconds=None if clock is None else clock.left(RACE_SHARE),
            rows=shape[0],
            budget=None if clock is None else clock.left(),
            sweep_seconds=(NOMINAL_SECONDS if clock is None else clock.left()) / GROWN_SWEEPS,
            progress=estimator.progress,
        )
    starts = TARGET_STARTS if estimator._judged_by_target else ROW_STARTS
    return Found(graph, plan_warm_up(given, shape[0], starts), tables, settled)


def fit_warm_up(
    warm: WarmUp,
    model: Model,
    rows: EncodedRows | Shards,
    seed: int,
    clock: Clock,
    chains: int | str,
) -> WarmUp:
    """Shorten a warm-up that would take too much of a time limit, by the pace of this machine.

    It is done by every one of ``chains``, a number or "auto": as many as there is time for.
    """
    shards, key = as_shards(rows), Key(seed).aside(len(warm.starts) + 1)
    few = shards.sampled(warm.samples[0][0]) if warm.samples else shards
    begun = time.monotonic()
    state = start_state(key, model, shards, warm.starts[0])
    starts = len(warm.starts) * (time.monotonic() - begun)
    state, _ = draw_sweep(key, 1, model, few, state)
    begun = time.monotonic()
    for sweep in range(2, 2 + _TIMED_SWEEPS):
        state, _ = draw_sweep(key, sweep, model, few, state)
    pace = (time.monotonic() - begun) / _TIMED_SWEEPS
    trials = warm.sweeps - sum(sweeps for _, sweeps in warm.samples)
    grown = sum(sweeps * rows / few.n_rows for rows, sweeps in warm.samples)
    each = WARM_UP_SHARE if isinstance(chains, str) else min(WARM_UP_SHARE, ALL_WARM_UPS / chains)
    room = each * clock.left() - starts
    share = max(0.0, room / (pace * (trials + grown) or 1.0))
    return warm if share >= 1.0 else warm.shortened(share)


def _too_late(table: TrainingTable, seed: int, clock: Clock) -> bool:
    """Whether there is no time to compare graphs, not even roughly."""
    needed = estimate_race(default_graphs(*table.shape), sample_rows(table.sample, seed))
    return needed > _MOST_SHARES * clock.left(RACE_SHARE)


def _select_graph(estimator: Any, table: TrainingTable) -> tuple[RegionGraph, pd.DataFrame]:
    """The graph with most evidence, and the table of all."""
    path = estimator.checkpoint
    ranking = rank_graphs(
        TableModels(table.schema, table.sample, table.recorded),
        default_candidates(table.shape, Priors.of(estimator)),
        n_jobs=estimator.n_jobs,
        random_state=estimator.random_state,
        progress=estimator.progress,
        checkpoint=None if path is None else f"{os.fspath(path)}.graphs",
    )
    ranking.warn_if_interrupted()
    return ranking.graphs[0].candidate.graph, ranking.tabulate(table.shape[0])
