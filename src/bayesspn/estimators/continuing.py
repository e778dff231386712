"""Learning on: chains go on from where they stand, on a table with other rows, cells or columns."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from bayesspn.arrays import Array
from bayesspn.engine.engines import resolve_engine
from bayesspn.estimators.fitting import start_clock
from bayesspn.estimators.training import MemoryTable, TrainingTable
from bayesspn.inference.starts.carried import carry_state
from bayesspn.inference.state import State
from bayesspn.inference.warm_up import WarmUp
from bayesspn.leaves.columns import Leaves, continue_column, widen_ranges
from bayesspn.model.generative import Model
from bayesspn.numerics.parallel import count_cores
from bayesspn.numerics.random_numbers import LARGEST_SEED, draw_seed
from bayesspn.selection.building import Priors
from bayesspn.selection.costs import estimate_seconds
from bayesspn.tables.changes import continue_grids
from bayesspn.tables.columns import describe_columns, with_grids
from bayesspn.tables.schema import Schema


def learn_more(estimator: Any, values: Array) -> None:
    """Add encoded rows to those seen before, and go on sampling from where the chains stand."""
    if estimator._bounded:
        raise ValueError(
            f"this {type(estimator).__name__} was fitted with bounds and does not keep such rows: "
            "learn the whole table by refit, with the bounds of all its rows"
        )
    if estimator._rows is None:
        raise ValueError(
            f"this {type(estimator).__name__} has not got the rows it learned from: models that "
            "were read from a file do not hold them unless it was saved with rows=True, nor do "
            "those from a pickle, or whose rows were kept by workers of a cluster; call "
            "partial_fit on the model that was fitted in this process, or fit all rows again"
        )
    before = estimator._rows.values(np.arange(estimator._rows.n_rows))
    everything = np.concatenate([before, values])
    schema = continue_grids(estimator.schema_, everything, estimator.schema)
    shards = resolve_engine(estimator.engine).shards or 1
    table = MemoryTable(schema, everything, estimator._library, shards)
    sources = range(len(schema))
    leaves = _continue_leaves(estimator, table, sources)
    model = dataclasses.replace(estimator.posterior_.model, leaves=leaves)
    states: Sequence[State] = estimator._states
    if schema != estimator.schema_:
        states = _carry_states(estimator, model, sources)
    _go_on(estimator, model, table, states)


def learn_changed(estimator: Any, table: TrainingTable, sources: Sequence[int | None]) -> None:
    """Go on sampling from where the chains stand, on a table of some of the same columns.

    ``sources`` are the positions of columns before, None for those that are new.
    """
    leaves = _continue_leaves(estimator, table, sources)
    model = Priors.of(estimator).model(estimator.posterior_.model.graph, leaves)
    _go_on(estimator, model, table, _carry_states(estimator, model, sources))
    estimator._library = table.library


def _continue_leaves(estimator: Any, table: TrainingTable, sources: Sequence[int | None]) -> Leaves:
    """Columns as they were before, as far as the schema is the same, and new ones."""
    gamma, old = Priors.of(estimator).fixed_gamma, estimator.posterior_.model.leaves
    columns = []
    for j, (column, source) in enumerate(zip(table.schema, sources, strict=True)):
        if source is not None and column == estimator.schema_.columns[source]:
            columns.append(old.columns[source])
            continue
        once = None if table.recorded is None else table.recorded[:, [j]]
        [new] = describe_columns(Schema((column,)), table.sample[:, [j]], gamma, once).columns
        columns.append(new if source is None else continue_column(old.columns[source], new))
    return table.reach(widen_ranges(Leaves(tuple(columns)), table.sample))


def _carry_states(estimator: Any, model: Model, sources: Sequence[int | None]) -> list[State]:
    """Where the chains stand, as states of a model whose columns have changed."""
    standing = estimator._states or tuple(chain[-1] for chain in estimator.posterior_.draws)
    rng = np.random.default_rng(estimator._generation)
    old = estimator.posterior_.model.leaves
    return [carry_state(rng, state, old, model, sources) for state in standing]


def _go_on(estimator: Any, model: Model, table: TrainingTable, states: Sequence[State]) -> None:
    """Sample from where chains stand, given a table."""
    rows = table.encode(model.leaves)
    generation = estimator._generation + 1
    seed = draw_seed(estimator.random_state) + generation * (LARGEST_SEED + 1)
    cost = estimate_seconds(model.graph, model.leaves, table.shape[0], table.sample)
    clock = start_clock(estimator.time_limit)
    cores = count_cores(estimator.n_jobs, math.prod(table.shape))
    estimator._sample(model, rows, seed, WarmUp(), cost, cores=cores, clock=clock, states=states)
    estimator.schema_ = with_grids(table.schema, model.leaves)
    estimator._generation = generation
