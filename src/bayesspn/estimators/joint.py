"""What all estimators share: fitting the joint distribution of a table, and what is left of it."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from bayesspn.arrays import Array
from bayesspn.engine.engines import Engine, resolve_engine
from bayesspn.engine.shards import LocalShards, Shards
from bayesspn.estimators.defaults import BURN_IN, CHAINS, DRAWS, LENGTHS, THIN
from bayesspn.estimators.diagnostics import Diagnosed
from bayesspn.estimators.fitting import (
    Clock,
    Pace,
    sample_chains,
    stack_traces,
    start_clock,
)
from bayesspn.estimators.parameters import check_parameters
from bayesspn.estimators.plans import NOMINAL_SECONDS, FitPlan, plan_lengths
from bayesspn.estimators.settling import log_likelihood_rhat, measure_settling, warn_if_unsettled
from bayesspn.estimators.starting import find_start, fit_warm_up
from bayesspn.estimators.training import TrainingTable, opened_table
from bayesspn.files.checkpoints import Checkpoint, saved_start
from bayesspn.files.estimators import save_estimator
from bayesspn.graphs import RegionGraph
from bayesspn.inference.lengths import Lengths
from bayesspn.inference.state import State
from bayesspn.inference.warm_up import WarmUp
from bayesspn.model.generative import Model
from bayesspn.numerics.checks import levels_to_user
from bayesspn.numerics.interrupts import put_off_interrupts
from bayesspn.numerics.parallel import count_cores
from bayesspn.numerics.random_numbers import draw_seed
from bayesspn.numerics.threads import limited_threads
from bayesspn.prediction.censored_columns import reach_quantiles
from bayesspn.prediction.censored_rows import CensoredRows
from bayesspn.prediction.posterior import Posterior, merge_chains
from bayesspn.questions.interface import Conditional
from bayesspn.questions.views import View
from bayesspn.rows.encoded import EncodedRows, encode_rows
from bayesspn.selection.building import Priors
from bayesspn.selection.costs import estimate_seconds
from bayesspn.tables.bounds import Bounds
from bayesspn.tables.columns import describe_columns, with_grids
from bayesspn.tables.frames import open_table
from bayesspn.tables.partitions import names_files
from bayesspn.tables.schema import Schema


class JointEstimator(Diagnosed, BaseEstimator):
    """An estimator that learns the joint distribution of the columns of a table.

    Parameters and attributes are those of `BayesianSPN`, which documents them.
    """

    def __init__(
        self,
        *,
        graph: RegionGraph | str = "auto",
        alpha: float | str = "auto",
        beta: float | str = "auto",
        gamma: float | str = "auto",
        time_limit: float | None = None,
        chains: int | str = CHAINS,
        burn_in: int | str = BURN_IN,
        draws: int | str = DRAWS,
        thin: int | str = THIN,
        plan: FitPlan | None = None,
        schema: Schema | None = None,
        handle_unknown: str = "warn",
        n_jobs: int | None = None,
        random_state: Any = None,
        progress: bool = False,
        checkpoint: str | os.PathLike[str] | None = None,
        engine: Engine | str = "local",
    ) -> None:
        self.graph = graph
        self.alpha = alpha
        self.beta = beta
        self.gamma = gamma
        self.time_limit = time_limit
        self.chains = chains
        self.burn_in = burn_in
        self.draws = draws
        self.thin = thin
        self.plan = plan
        self.schema = schema
        self.handle_unknown = handle_unknown
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.progress = progress
        self.checkpoint = checkpoint
        self.engine = engine

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags

    #: Whether the model is a Dirichlet process mixture.
    _infinite = False

    #: Whether graphs are judged by how well they foresee the last column.
    _judged_by_target = False

    #: Rows that were learned from, if they are in this process.
    _rows: EncodedRows | None

    #: Whether cells of the table were known to lie between bounds.
    _bounded: bool

    def _fit_table(self, X: Any, sample_weight: Any = None, bounds: Bounds | None = None) -> None:
        """Check parameters and table, and sample the posterior of all columns."""
        check_parameters(self)
        if names_files(X) and self.graph == "select":
            raise ValueError(
                "graph='select' needs a table in memory, not the names of files: read some of "
                "their rows and choose the graph by bayesspn.select_graph"
            )
        engine = resolve_engine(self.engine)
        with opened_table(X, self.schema, engine, sample_weight, bounds) as table:
            header = pd.DataFrame(columns=list(table.schema.recorded)) if names_files(X) else X
            self._check_names(header, table.schema)
            self._learn(table)

    def _check_names(self, X: Any, schema: Schema, *, reset: bool = True) -> None:
        """Check the names of a table's columns, or keep them, as scikit-learn does.

        Indicators of missing cells, which a table may have and need not, have no part in it.
        """
        indicators = {column.name for column in schema if column.indicates is not None}
        if indicators and hasattr(X, "columns"):
            names = open_table(X).names
            if not indicators.isdisjoint(names):
                X = pd.DataFrame(columns=[name for name in names if name not in indicators])
        validate_data(self, X, reset=reset, skip_check_array=True)

    def _learn(self, table: TrainingTable) -> None:
        """Sample the posterior given a table, and keep what was learned."""
        for name in ("selection_", "comparison_", "settling_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        if table.shape[0] == 1:
            warnings.warn(
                "the table has a single row, from which next to nothing can be learned",
                UserWarning,
                stacklevel=levels_to_user(),
            )
        clock = start_clock(self.time_limit) if self.plan is None else None
        cores = count_cores(self.n_jobs, math.prod(table.shape))
        seed = draw_seed(self.random_state) if self.plan is None else self.plan.seed
        # finds out first whether the checkpoint can be written
        saved, settled = saved_start(self.checkpoint), False
        if self.plan is not None:
            graph, warm = self.plan.graph, self.plan.warm_up
        elif saved is not None and not isinstance(self.graph, RegionGraph):
            graph, warm = saved
        else:
            with put_off_interrupts():
                given = self._lengths_given()
                start = find_start(self, table, given, seed, clock, cores)
                graph, warm, found, settled = start
            self.__dict__.update(found)
        priors = Priors.of(self)
        leaves = describe_columns(table.schema, table.sample, priors.fixed_gamma, table.recorded)
        model = priors.model(graph, table.reach(leaves))
        rows = table.encode(model.leaves)
        cost = estimate_seconds(model.graph, model.leaves, table.shape[0], table.sample)
        if clock is not None and saved is None:
            with limited_threads(cores):
                warm = fit_warm_up(warm, model, rows, seed, clock, self.chains)
        self._sample(
            model,
            rows,
            seed,
            warm,
            cost,
            cores=cores,
            clock=clock,
            settled=settled,
            checkpoint=self.checkpoint,
        )
        self.graph_ = graph
        self.schema_ = with_grids(table.schema, model.leaves)
        self._library = table.library  # of the tables that are given back
        self._generation = 0

    def _lengths_given(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in LENGTHS}

    def _sample(
        self,
        model: Model,
        rows: EncodedRows | Shards,
        seed: int,
        warm: WarmUp,
        cost: float,
        *,
        cores: int,
        clock: Clock | None,
        settled: bool = False,
        states: Sequence[State] = (),
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> None:
        """Run chains, and keep their draws.

        ``cost`` is what a sweep takes, roughly, and ``settled`` whether short chains are known to
        be as good as longer ones.
        """
        given = self._lengths_given()
        if states:
            given["chains"] = len(states)
        # workers of a cluster run one chain at a time, each on all of its rows
        on_cluster = resolve_engine(self.engine).name == "ray"

        def lengths(pace: Pace | None) -> Lengths:
            if self.plan is not None and not states:
                return self.plan.lengths
            if pace is None or clock is None:
                return plan_lengths(given, cost, NOMINAL_SECONDS, settled=settled)
            lanes = 1 if on_cluster else cores
            return plan_lengths(
                given,
                pace.sweep,
                lanes * clock.left(),
                warm_up_seconds=pace.warm_up,
                limited=True,
                cores=lanes,
            )

        store = Checkpoint(
            checkpoint,
            rows,
            given=given,
            warm=warm,
            random_state=self.random_state,
        )
        with put_off_interrupts(), limited_threads(cores):
            done, lasted, self.interrupted_ = sample_chains(
                model,
                rows,
                seed=seed,
                warm=warm,
                lengths=lengths,
                store=store,
                cores=cores,
                in_turn=on_cluster,
                progress=self.progress,
                states=states,
                clock=clock,
            )
        self.posterior_: Posterior = merge_chains(done)
        self._bounded = isinstance(rows, CensoredRows)
        if isinstance(rows, CensoredRows):
            self.posterior_ = reach_quantiles(self.posterior_, rows.censored_columns)
        self.trace_ = stack_traces(done)
        assert lasted.burn_in is not None
        seed = done[0].key.seed
        numbers = (len(done), lasted.burn_in, lasted.draws, lasted.thin, seed)
        self.plan_ = FitPlan(model.graph, warm, *numbers)
        self.rhat_ = log_likelihood_rhat(self.trace_[:, lasted.burn_in :])
        if len(done) > 1:
            self.settling_ = measure_settling(self.posterior_, rows)
            warn_if_unsettled(self.settling_)
        # what learning from more rows begins with
        kept = rows.rows if isinstance(rows, LocalShards) else rows
        self._rows = kept if isinstance(kept, EncodedRows) else None
        self._states = tuple(chain.state for chain in done)

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        if "_rows" in state:
            state |= {"_rows": None, "_states": ()}  # models that travel hold no rows
        return state

    @property
    def joint_(self) -> Conditional:
        """The joint distribution that was learned: answers any question about all columns.

        Examples
        --------
        >>> from bayesspn import SPNRegressor
        >>> from bayesspn.examples import load_patients
        >>> table = load_patients()
        >>> model = SPNRegressor(chains=1, burn_in=20, draws=5, random_state=0)
        >>> model = model.fit(table[["ill", "age"]], table["visits"])
        >>> model.joint_
        Conditional('ill', 'age', 'visits')
        >>> model.joint_.probability("visits > 3 | ill") > model.joint_.probability("visits > 3")
        True
        """
        check_is_fitted(self)
        return Conditional(self._whole())

    def _whole(self) -> View:
        columns = tuple(range(len(self.schema_)))
        return View(
            self.posterior_,
            self.schema_,
            self._library,
            columns,
            handle_unknown=self.handle_unknown,
        )

    def save(self, path: str | os.PathLike[str], *, rows: bool = False) -> None:
        """Write the fitted model to one file, to be read by `bayesspn.load`.

        The file holds arrays and JSON, no code. It is written whole or not at all.

        Parameters
        ----------
        path : str or path
            By custom it ends in ``.bspn``.
        rows : bool, default=False
            Whether to keep the rows that were learned from, so that ``partial_fit`` can add others
            after loading. Whoever has the file can read them.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> from bayesspn import load
        >>> from bayesspn.examples import fitted_patients, load_patients
        >>> model = fitted_patients()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(Path(folder, "patients.bspn"))
        ...     again = load(Path(folder, "patients.bspn"))
        >>> new = load_patients()
        >>> bool((again.score_samples(new) == model.score_samples(new)).all())
        True
        """
        check_is_fitted(self)
        if rows and self._rows is None:
            why = "keeps no rows that have bounds" if self._bounded else "has not got the rows"
            raise ValueError(
                f"this {type(self).__name__} {why}, so they cannot be saved: save it without rows"
            )
        values = self._rows.values(np.arange(self._rows.n_rows)) if rows and self._rows else None
        save_estimator(path, self, values)

    def _restore(self) -> None:
        """Set the attributes that follow from the schema, after loading."""
        self.graph_ = self.posterior_.model.graph
        self.n_features_in_ = len(self.schema_.recorded)
        self._rows, self._states, self._generation, self._bounded = None, (), 0, False
        self.interrupted_ = False

    def _restore_chains(self, rows: Array | None, generation: int, bounded: bool) -> None:
        """Let chains go on after loading, if the rows are there."""
        self._bounded = bounded is True
        if rows is None:
            return
        if not isinstance(generation, int) or generation < 0:
            raise ValueError(f"generation is {generation!r}")
        self._rows = encode_rows(self.posterior_.model.leaves, rows)
        self._states = tuple(chain[-1] for chain in self.posterior_.draws)
        self._generation = generation
