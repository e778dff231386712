"""What all estimators share: fitting the joint distribution of a table, and what is left of it."""

from __future__ import annotations

import dataclasses
import os
import warnings
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from bayesspn.arrays import Array
from bayesspn.engine.engines import Engine, resolve_engine
from bayesspn.engine.shards import LocalShards, Shards
from bayesspn.estimators.defaults import BURN_IN, CHAINS, DRAWS, THIN
from bayesspn.estimators.diagnostics import Diagnosed
from bayesspn.estimators.fitting import sample_chains, stack_traces, warn_if_chains_disagree
from bayesspn.estimators.parameters import check_parameters
from bayesspn.estimators.training import MemoryTable, TrainingTable, opened_table
from bayesspn.files.estimators import save_estimator
from bayesspn.graphs import RegionGraph
from bayesspn.leaves.columns import Leaves, widen_ranges
from bayesspn.model.generative import Model
from bayesspn.numerics.checks import levels_to_user
from bayesspn.prediction.posterior import Posterior, merge_chains
from bayesspn.questions.interface import Conditional
from bayesspn.questions.views import View
from bayesspn.rows.encoded import EncodedRows
from bayesspn.selection.building import Priors, TableModels, build_model
from bayesspn.selection.candidates import default_candidates
from bayesspn.selection.defaults import choose_graph
from bayesspn.selection.successive_halving import rank_graphs
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
        chains: int = CHAINS,
        burn_in: int = BURN_IN,
        draws: int = DRAWS,
        thin: int = THIN,
        temperatures: int = 1,
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
        self.chains = chains
        self.burn_in = burn_in
        self.draws = draws
        self.thin = thin
        self.temperatures = temperatures
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

    #: Rows that were learned from, if they are in this process.
    _rows: EncodedRows | None

    def _fit_table(self, X: Any) -> None:
        """Check parameters and table, and sample the posterior of all columns."""
        check_parameters(self)
        if names_files(X) and self.graph == "select":
            raise ValueError(
                "graph='select' needs a table in memory, not the names of files: read some of "
                "their rows and choose the graph by bayesspn.select_graph"
            )
        with opened_table(X, self.schema, resolve_engine(self.engine)) as table:
            header = pd.DataFrame(columns=list(table.schema.names)) if names_files(X) else X
            validate_data(self, header, skip_check_array=True)
            self._learn(table)

    def _learn(self, table: TrainingTable) -> None:
        """Sample the posterior given a table, and keep what was learned."""
        self.__dict__.pop("selection_", None)  # of an earlier fit
        if table.shape[0] == 1:
            warnings.warn(
                "the table has a single row, from which next to nothing can be learned",
                UserWarning,
                stacklevel=levels_to_user(),
            )
        self.graph_ = self._find_graph(table)
        model = build_model(self.graph_, Priors.of(self), table.schema, table.sample)
        rows = table.encode(model.leaves)
        self._sample(model, rows, chains=self.chains, checkpoint=self.checkpoint)
        self.schema_ = _with_grids(table.schema, model.leaves)
        self._library = table.library  # of the tables that are given back
        self._generation = 0

    def _find_graph(self, table: TrainingTable) -> RegionGraph:
        """The graph that was given, that of the default rule, or the one with most evidence."""
        if isinstance(self.graph, RegionGraph):
            return self.graph
        if self.graph == "auto":
            return choose_graph(*table.shape, infinite=self._infinite)
        ranking = rank_graphs(
            TableModels(table.schema, table.sample),
            default_candidates(table.shape, Priors.of(self)),
            n_jobs=self.n_jobs,
            random_state=self.random_state,
            progress=self.progress,
            checkpoint=None if self.checkpoint is None else f"{os.fspath(self.checkpoint)}.graphs",
        )
        ranking.warn_if_interrupted()
        self.selection_ = ranking.tabulate(table.shape[0])
        return ranking.graphs[0].candidate.graph

    def _learn_more(self, values: Array) -> None:
        """Add encoded rows to those seen before, and go on sampling from where the chains stand."""
        if self._rows is None:
            raise ValueError(
                f"this {type(self).__name__} has not got the rows it learned from: models that "
                "were read from a file or a pickle do not hold them, nor do those whose rows were "
                "kept by workers of a cluster; call partial_fit on the model that was fitted in "
                "this process, or fit all rows again"
            )
        before = self._rows.values(np.arange(self._rows.n_rows))
        everything = np.concatenate([before, values])
        old = self.posterior_.model
        model = dataclasses.replace(old, leaves=widen_ranges(old.leaves, everything))
        shards = resolve_engine(self.engine).shards or 1
        rows = MemoryTable(self.schema_, everything, self._library, shards).encode(model.leaves)
        generation = self._generation + 1
        states = self._states
        self._sample(model, rows, chains=len(states), states=states, generation=generation)
        self.schema_ = _with_grids(self.schema_, model.leaves)
        self._generation = generation

    def _sample(self, model: Model, rows: EncodedRows | Shards, **options: Any) -> None:
        # workers of a cluster run one chain at a time, each on all of its rows
        on_cluster = resolve_engine(self.engine).name == "ray"
        done = sample_chains(
            model,
            rows,
            random_state=self.random_state,
            burn_in=self.burn_in,
            draws=self.draws,
            thin=self.thin,
            temperatures=self.temperatures,
            n_jobs=1 if on_cluster else self.n_jobs,
            progress=self.progress,
            **options,
        )
        self.posterior_: Posterior = merge_chains(done)
        self.trace_ = stack_traces(done)
        self.rhat_ = warn_if_chains_disagree(done, self.thin)
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

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one file, to be read by `bayesspn.load`.

        The file holds arrays and JSON, no code. It is written whole or not at all.

        Parameters
        ----------
        path : str or path
            By custom it ends in ``.bspn``.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> from bayesspn import load
        >>> from bayesspn.examples import fitted_patients
        >>> model = fitted_patients()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(Path(folder, "patients.bspn"))
        ...     again = load(Path(folder, "patients.bspn"))
        >>> again.probability("ill | age > 60") == model.probability("ill | age > 60")
        True
        """
        check_is_fitted(self)
        save_estimator(path, self)

    def _restore(self) -> None:
        """Set the attributes that follow from the schema, after loading."""
        self.graph_ = self.posterior_.model.graph
        self.n_features_in_ = len(self.schema_)
        self._rows, self._states, self._generation = None, (), 0


def _with_grids(schema: Schema, leaves: Leaves) -> Schema:
    """The schema with the values of continuous columns that were read off the data."""
    columns = []
    for column, described in zip(schema, leaves.columns, strict=True):
        if column.continuous:
            grid = described.grid
            # without any grid the smallest gap says nothing of how values are recorded
            found = grid.origin is not None or grid.values or grid.atoms
            column = dataclasses.replace(
                column,
                resolution=grid.step if found and grid.step else column.resolution,
                origin=grid.origin,
                values=grid.values,
                atoms=grid.atoms,
                low=grid.low if np.isfinite(grid.low) else None,
                high=grid.high if np.isfinite(grid.high) else None,
            )
        columns.append(column)
    return Schema(tuple(columns))
