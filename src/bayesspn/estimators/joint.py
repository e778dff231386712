"""What all estimators share: parameters, sampling the joint distribution of a table, files."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from bayesspn.arrays import Array
from bayesspn.cluster import ArrayTable, Engine, FileTable, names_files
from bayesspn.engine.shards import LocalShards, Shards
from bayesspn.estimators.defaults import choose_graph
from bayesspn.estimators.diagnostics import build_inference_data, invariants, summarise
from bayesspn.estimators.fitting import sample_chains, stack_traces, warn_if_chains_disagree
from bayesspn.files.posteriors import save_posterior
from bayesspn.graphs import RegionGraph
from bayesspn.leaves.columns import Leaves, widen_ranges
from bayesspn.model.generative import Model
from bayesspn.prediction.posterior import DRAWN_SEED, Posterior, merge_chains
from bayesspn.questions.interface import Conditional
from bayesspn.questions.views import View
from bayesspn.rows.encoded import EncodedRows, check_support
from bayesspn.selection.candidates import list_candidates
from bayesspn.selection.successive_halving import rank_graphs
from bayesspn.tables import Schema, describe_columns, encode, infer_schema
from bayesspn.tables.frames import library_of
from bayesspn.tables.schema_files import schema_to_json


class JointModel(BaseEstimator):
    """An estimator that learns the joint distribution of the columns of a table.

    Parameters and attributes are those of `BayesianSPN`, which documents them.
    """

    def __init__(
        self,
        *,
        graph: str = "auto",
        depth: int | str = "auto",
        partitions: int | Sequence[int] | str = "auto",
        children: int | str = "auto",
        sums: int | str = "auto",
        leaves: int | str = "auto",
        products: str = "auto",
        alpha: float | str = "auto",
        beta: float | str = "auto",
        gamma: float | str = "auto",
        chains: int = 4,
        burn_in: int = 200,
        draws: int = 50,
        thin: int = 4,
        temperatures: int = 1,
        schema: Schema | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        progress: bool = False,
        checkpoint: str | os.PathLike[str] | None = None,
        engine: str = "local",
        address: str | None = None,
        shards: int | None = None,
    ) -> None:
        self.graph = graph
        self.depth = depth
        self.partitions = partitions
        self.children = children
        self.sums = sums
        self.leaves = leaves
        self.products = products
        self.alpha = alpha
        self.beta = beta
        self.gamma = gamma
        self.chains = chains
        self.burn_in = burn_in
        self.draws = draws
        self.thin = thin
        self.temperatures = temperatures
        self.schema = schema
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.progress = progress
        self.checkpoint = checkpoint
        self.engine = engine
        self.address = address
        self.shards = shards

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
        self._check_parameters()
        if names_files(X):
            if self.graph == "select":
                raise ValueError(
                    "graph='select' needs a table in memory, not the names of files: read some of "
                    "their rows and choose the graph by bayesspn.select_graph"
                )
            with FileTable(X, self.schema, self._engine()) as table:
                header = pd.DataFrame(columns=list(table.schema.names))
                validate_data(self, header, skip_check_array=True)
                self._learn_placed(table, table.schema, "pandas")
            return
        schema = infer_schema(X) if self.schema is None else self.schema
        values = encode(X, schema)
        validate_data(self, X, skip_check_array=True)
        self._learn(values, schema, library_of(X))

    def _learn(self, values: Array, schema: Schema, library: str) -> None:
        """Sample the posterior given encoded rows, and keep what was learned."""
        if not len(values):
            raise ValueError("Found array with 0 sample(s): there are no rows to learn from")
        with ArrayTable(values, self._engine()) as table:
            self._learn_placed(table, schema, library)

    def _learn_placed(self, table: ArrayTable | FileTable, schema: Schema, library: str) -> None:
        self.__dict__.pop("selection_", None)  # of an earlier fit
        if self.graph == "select":
            self.graph_ = self._select_graph(table.described_by, schema)
        else:
            self.graph_ = self._choose_graph(table.shape)
        model = self._build_model(self.graph_, schema, table.described_by)
        rows = table.encode(model.leaves)
        self._sample(model, rows, chains=self.chains, checkpoint=self.checkpoint)
        self.schema_ = _with_resolutions(schema, model.leaves)
        self._library = library  # of the tables that are given back
        self._generation = 0

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
        generation = self._generation + 1
        states = self._states
        with ArrayTable(everything, Engine(shards=self.shards)) as table:
            rows = table.encode(model.leaves)
            if isinstance(rows, EncodedRows):
                check_support(rows)
            self._sample(model, rows, chains=len(states), states=states, generation=generation)
        self._generation = generation

    def _sample(self, model: Model, rows: EncodedRows | Shards, **options: Any) -> None:
        done = sample_chains(
            model,
            rows,
            random_state=self.random_state,
            burn_in=self.burn_in,
            draws=self.draws,
            thin=self.thin,
            temperatures=self.temperatures,
            # workers of a cluster run one chain at a time, each on all of its rows
            n_jobs=1 if self.engine == "ray" else self.n_jobs,
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

    def _engine(self) -> Engine:
        return Engine(self.engine, self.address, self.shards)

    def _check_parameters(self) -> None:
        self._engine().check()
        self._check_graph()
        for name in ("chains", "burn_in", "draws", "thin", "temperatures"):
            check_count(name, getattr(self, name), 0 if name == "burn_in" else 1)
        for name in ("alpha", "beta", "gamma"):
            check_strength(name, getattr(self, name))
        if self.schema is not None and not isinstance(self.schema, Schema):
            raise TypeError(f"schema must be a Schema or None, got {type(self.schema).__name__}")

    def _check_graph(self) -> None:
        if self.graph not in ("auto", "select"):
            raise ValueError(f"graph must be 'auto' or 'select', got {self.graph!r}")
        if self.graph == "select" and self._infinite:
            raise ValueError(
                "graph='select' needs the evidence, which cannot be estimated for infinite "
                "mixtures yet; use BayesianSPN or graph='auto'"
            )
        if self.graph == "select" and self.engine != "local":
            raise ValueError(
                f"graph='select' needs engine='local', got engine={self.engine!r}; choose the "
                "graph on some of the rows by bayesspn.select_graph"
            )

    def _select_graph(self, values: Array, schema: Schema) -> RegionGraph:
        """The graph with the largest evidence of a default set; its table is ``selection_``."""
        ranking = rank_graphs(
            self,
            values,
            schema,
            list_candidates(self, values.shape),
            n_jobs=self.n_jobs,
            random_state=self.random_state,
            progress=self.progress,
            checkpoint=None if self.checkpoint is None else f"{os.fspath(self.checkpoint)}.graphs",
        )
        ranking.warn_if_interrupted()
        self.selection_ = ranking.tabulate(len(values))
        return ranking.graphs[0].candidate.graph

    def _choose_graph(self, shape: tuple[int, ...]) -> RegionGraph:
        return choose_graph(
            *shape,
            depth=self.depth,
            partitions=self.partitions,
            children=self.children,
            sums=self.sums,
            leaves=self.leaves,
            products=self.products,
            infinite=self._infinite,
        )

    def _build_model(self, graph: RegionGraph, schema: Schema, values: Array) -> Model:
        fixed = {
            name: float(getattr(self, name))
            for name in ("alpha", "beta")
            if getattr(self, name) != "auto"
        } | self._more_priors()
        learned = self.gamma == "auto"
        if not learned:
            columns = tuple(
                dataclasses.replace(column, gamma=float(self.gamma))
                if column.gamma is None
                else column
                for column in schema
            )
            schema = Schema(columns)
        return Model(graph, describe_columns(schema, values), learn_leaf_priors=learned, **fixed)

    def _more_priors(self) -> dict[str, Any]:
        """Priors that only some estimators have, by their names in `Model`."""
        return {}

    @property
    def joint_(self) -> Conditional:
        """The joint distribution that was learned: answers any question about all columns."""
        check_is_fitted(self)
        return Conditional(self._whole())

    def _whole(self) -> View:
        columns = tuple(range(len(self.schema_)))
        return View(self.posterior_, self.schema_, self._library, columns)

    def summary(self, interval: float = 0.9) -> pd.DataFrame:
        """How well the chains agree, on quantities that do not depend on how nodes are numbered.

        Parameters
        ----------
        interval : float, default=0.9
            Probability of the interval from ``low`` to ``high``.

        Returns
        -------
        DataFrame
            A row per quantity with ``mean``, ``sd``, ``low``, ``high``, effective sample sizes
            ``ess_bulk`` and ``ess_tail``, and ``r_hat``: near 1 if the chains agree. Quantities
            are the log-likelihood per training row, the concentrations α (per level) and β, and
            the number of sum edges that rows go through.
        """
        return summarise(self._invariants(), interval)

    def to_arviz(self, X: Any = None) -> Any:
        """The draws for ArviZ.

        Parameters
        ----------
        X : array or data frame of shape (rows, columns), default=None
            Rows whose log-likelihood is wanted, the training rows as a rule: then LOO and WAIC
            work. With the estimators that have a target, rows without it: ``joint_`` is of more.

        Returns
        -------
        xarray.DataTree
            Groups ``posterior`` (label-invariant quantities), ``sample_stats`` and, with X,
            ``log_likelihood``.
        """
        scores = None
        quantities = self._invariants()
        if X is not None:
            each = self.posterior_.score_draws(self._whole().encode(X), DRAWN_SEED)
            chains, length = quantities["beta"].shape
            starts = np.cumsum([0, *(len(chain) for chain in self.posterior_.draws[:-1])])
            kept = starts[:, None] + np.arange(length)
            scores = each[kept.ravel()].reshape(chains, length, -1)
        return build_inference_data(quantities, scores)

    def _invariants(self) -> dict[str, Array]:
        check_is_fitted(self)
        return invariants(self.posterior_, self.trace_, self.thin)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one file, to be read by `bayesspn.load`.

        The file holds arrays and JSON, no code. It is written whole or not at all.

        Parameters
        ----------
        path : str or path
            By custom it ends in ``.bspn``.
        """
        check_is_fitted(self)
        parameters = self.get_params()
        parameters["schema"] = None if self.schema is None else schema_to_json(self.schema)
        if self.checkpoint is not None:
            parameters["checkpoint"] = os.fspath(self.checkpoint)
        if not isinstance(self.random_state, int):
            parameters["random_state"] = None  # a generator has moved on
        names = getattr(self, "feature_names_in_", None)
        more = {
            "estimator": type(self).__name__,
            "parameters": parameters,
            "schema": schema_to_json(self.schema_),
            "library": self._library,
            "rhat": self.rhat_ if np.isfinite(self.rhat_) else None,
            "feature_names": None if names is None else names.tolist(),
        }
        save_posterior(path, self.posterior_, more, self.trace_)

    def _restore(self) -> None:
        """Set the attributes that follow from the schema, after loading."""
        self.graph_ = self.posterior_.model.graph
        self.n_features_in_ = len(self.schema_)
        self._rows, self._states, self._generation = None, (), 0


def _with_resolutions(schema: Schema, leaves: Leaves) -> Schema:
    """The schema with the precision of continuous columns that was read off the data."""
    columns = []
    for column, described in zip(schema, leaves.columns, strict=True):
        if column.resolution is None and described.resolution > 0:
            column = dataclasses.replace(column, resolution=described.resolution)
        columns.append(column)
    return Schema(tuple(columns))


def check_count(name: str, value: Any, least: int) -> None:
    """Check that a parameter is a whole number."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or value < least:
        raise ValueError(f"{name} must be a whole number from {least} on, got {value!r}")


def check_strength(name: str, value: Any) -> None:
    """Check that a parameter is "auto" or a positive number."""
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if value != "auto" and not (number and 0 < value < np.inf):
        raise ValueError(f"{name} must be 'auto' or a positive number, got {value!r}")
