"""`select_graph`: the graph that a table speaks for, by evidence."""

from __future__ import annotations

import hashlib
import os
import warnings
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from bayesspn.estimators.density import BayesianSPN
from bayesspn.estimators.diagnostics import build_inference_data
from bayesspn.estimators.parameters import check_parameters
from bayesspn.numerics.checks import check_whole
from bayesspn.selection.averages import GraphAverage
from bayesspn.selection.building import Priors, TableModels
from bayesspn.selection.candidates import Candidate, list_candidates
from bayesspn.selection.rankings import Ranking
from bayesspn.selection.successive_halving import LEAST_SWEEPS, RUNS, SWEEPS, rank_graphs
from bayesspn.tables.infer import encode_table
from bayesspn.tables.partitions import names_files

#: Graphs with less than this share of the probability are left out of averages.
_LEAST_WEIGHT = 1e-3

#: Fewer draws have no tail that leave-one-out could go by.
_FEWEST_DRAWS = 25


class GraphSelection:
    """Graphs in the order of their evidence, and the best one fitted; `select_graph` makes them.

    Attributes
    ----------
    table : DataFrame
        A row per graph, best first, named by the index: those scored to the end, and then those
        that were stopped early. The columns:

        - ``depth``, ``partitions``, ``children``, ``sums``, ``leaves``, ``products``, and the
          priors if a grid has them;
        - ``evidence``, ``standard_error``, ``evidence_per_row``: log evidence in nats;
        - ``weight``: the probability of the graph if all were equally probable before, averaged
          over the errors of the evidence;
        - ``loo``, ``loo_error``: expected log density of new rows by leave-one-out, times the
          number of rows, and its standard error; ``loo_bad``: the share of rows for which the
          estimate is unreliable (large Pareto k); ``rhat``: whether the chains of the fit agree.
          NaN for graphs that were not fitted, or have fewer than 25 draws;
        - ``sweeps``, ``stage``, ``stopped_early``: how thoroughly it was scored; ``seconds``: how
          long that took;
        - ``sweeps_per_second`` of one chain in one thread, and ``nodes``.
    model : BayesianSPN
        The best graph, fitted to all rows.
    interrupted : bool
        Whether Ctrl-C ended the scoring early.

    Examples
    --------
    >>> from bayesspn import RegionGraph
    >>> x = np.random.default_rng(0).integers(0, 2, size=(30, 1))
    >>> X = np.hstack([x, x])  # two columns that are always equal
    >>> grid = [RegionGraph(0, leaves=1), RegionGraph(0, leaves=2)]
    >>> estimator = BayesianSPN(chains=1, burn_in=10, draws=10, random_state=0)
    >>> choice = select_graph(X, grid, estimator=estimator, sweeps=8, runs=2, loo=False)
    >>> choice.table["evidence"].idxmax()
    'mixture of 2'
    >>> choice.model.graph_.leaves
    2
    """

    def __init__(
        self, X: Any, rows: int, ranking: Ranking, estimator: BayesianSPN, checkpoint: Any
    ) -> None:
        self._X = X
        self._estimator = estimator
        self._checkpoint = checkpoint
        self._finalists = {one.candidate.name: one.candidate for one in ranking.finalists}
        self._models: dict[str, BayesianSPN] = {}
        self.interrupted = ranking.interrupted
        self.table: pd.DataFrame = ranking.tabulate(rows)
        self.model = self._fit(self.table.index[0])

    def _fit(self, name: str) -> BayesianSPN:
        """The fitted model of a graph that was scored to the end."""
        if name not in self._models:
            candidate = self._finalists[name]
            model = clone(self._estimator).set_params(
                **candidate.parameters, checkpoint=self._fit_checkpoint(candidate)
            )
            self._models[name] = model.fit(self._X)
        return self._models[name]

    def _fit_checkpoint(self, candidate: Candidate) -> str | None:
        if self._checkpoint is None:
            return None
        digest = hashlib.sha256(candidate.name.encode()).hexdigest()
        return f"{os.fspath(self._checkpoint)}.{digest[:8]}"

    def _leave_one_out(self) -> None:
        """Fit whatever was scored to the end, and add columns about it; until Ctrl-C."""
        columns = ("loo", "loo_error", "loo_bad", "rhat")
        found = pd.DataFrame(np.nan, index=self.table.index, columns=list(columns))
        for name in self._finalists:
            try:
                with warnings.catch_warnings():
                    # the table says of every graph whether its chains agree
                    warnings.simplefilter("ignore", ConvergenceWarning)
                    model = self._fit(name)
                found.loc[name] = (*leave_one_out(model, self._X), model.rhat_)
            except KeyboardInterrupt:
                break
            if self.interrupted or model.interrupted_:
                break  # Ctrl-C ended the fit
        place = int(self.table.columns.get_loc("weight")) + 1
        for offset, name in enumerate(columns):
            self.table.insert(place + offset, name, found[name])

    def average(self, most: int | None = None) -> GraphAverage:
        """Average over the best graphs, each by its probability.

        Parameters
        ----------
        most : int, default=None
            Graphs at most. By default all that were scored to the end and have at least a
            thousandth of the probability. Those not fitted yet are fitted now.

        Returns
        -------
        GraphAverage
            With ``score_samples``, ``score`` and ``sample``.

        Examples
        --------
        >>> from bayesspn import RegionGraph
        >>> x = np.random.default_rng(0).integers(0, 2, size=(30, 1))
        >>> X = np.hstack([x, x])  # two columns that are always equal
        >>> grid = [RegionGraph(0, leaves=1), RegionGraph(0, leaves=2)]
        >>> estimator = BayesianSPN(chains=1, burn_in=10, draws=10, random_state=0)
        >>> choice = select_graph(X, grid, estimator=estimator, sweeps=8, runs=2, loo=False)
        >>> average = choice.average(most=1)
        >>> average
        GraphAverage(100.0% mixture of 2)
        >>> average.sample(5, random_state=0).shape
        (5, 2)
        """
        if most is not None:
            check_whole("most", most, 1)
        weights = self.table.loc[list(self._finalists), "weight"].nlargest(most or len(self.table))
        weights = weights[weights >= _LEAST_WEIGHT * weights.iloc[0]]
        models = [self._fit(name) for name in weights.index]
        return GraphAverage(list(weights.index), models, weights.tolist())

    def __repr__(self) -> str:
        best = self.table.iloc[0]
        return (
            f"GraphSelection of {len(self.table)} graphs; the best: {self.table.index[0]} (log "
            f"evidence {best['evidence']:.1f} ± {best['standard_error']:.1f}, probability "
            f"{best['weight']:.0%})"
        )

    def _repr_html_(self) -> str:
        from bayesspn.notebooks import html_table

        shown = self.table[["evidence", "standard_error", "weight", "nodes"]].round(3)
        rows = ([name, *row] for name, row in zip(shown.index, shown.to_numpy(), strict=True))
        return html_table(("graph", *shown.columns), rows, repr(self))


def select_graph(
    X: Any,
    grid: Any = None,
    *,
    estimator: BayesianSPN | None = None,
    sweeps: int = SWEEPS,
    runs: int = RUNS,
    loo: bool = True,
    n_jobs: int | None = None,
    random_state: Any = None,
    progress: bool = False,
    checkpoint: str | os.PathLike[str] | None = None,
) -> GraphSelection:
    """Choose a graph by its evidence, without a validation set, and fit it.

    All graphs are scored with few sweeps first. The better half goes on with twice as many,
    and so does whatever is within three standard errors or three nats of the best, until ``sweeps``
    are reached. The graphs that get there are fitted.

    Parameters
    ----------
    X : array or data frame of shape (rows, columns)
    grid : list of RegionGraph, dict of str to list, or list of such dicts, default=None
        Graphs to choose from, one by one or as scikit-learn's parameter grids, by ``depth``,
        ``partitions``, ``children``, ``sums``, ``leaves``, ``products``, ``alpha``, ``beta`` and
        ``gamma``; what is left open of a graph follows from the shape of the table. By default
        five to nine graphs that suit that shape.
    estimator : BayesianSPN, default=None
        Has all other settings, and the priors that the grid leaves open.
    sweeps : int, default=320
        Sweeps of the last stage; see `BayesianSPN.log_evidence`.
    runs : int, default=4
        Independent runs of every estimate.
    loo : bool, default=True
        Whether to fit all graphs that were scored to the end, and to estimate by leave-one-out how
        well they predict (needs ``pip install "bayesspn[arviz]"``). Otherwise only the best graph
        is fitted.
    n_jobs : int, default=None
        Graphs that are scored side by side, and chains that are, as joblib counts them. By default
        that of the estimator. The choice does not depend on it.
    random_state : int, RandomState or None, default=None
        An int makes the choice reproducible. By default that of the estimator.
    progress : bool, default=False
        Whether to show a progress bar for every stage and fit.
    checkpoint : str or path, default=None
        File that keeps every finished score, as lines of JSON; files beside it, whose names begin
        with its name, keep the fits. The same call goes on from there, with the results of one that
        was never stopped, also if the grid has grown. A file of another table is refused.

    Returns
    -------
    GraphSelection
        With ``table``, ``model`` and ``average``.

    Notes
    -----
    Ctrl-C while graphs are scored ends the scoring. If every graph has been through the first
    stage, the best of what is known is fitted, and a warning says so; a second Ctrl-C ends this
    fit and keeps its draws, as with any fit. Before that, KeyboardInterrupt is raised; the
    checkpoint keeps what was finished. Ctrl-C during the fits for leave-one-out leaves the other
    graphs without it.

    Examples
    --------
    >>> from bayesspn import BayesianSPN, RegionGraph
    >>> rng = np.random.default_rng(0)
    >>> x = rng.integers(0, 2, size=(30, 1))
    >>> X = np.hstack([x, x])  # two columns that are always equal
    >>> estimator = BayesianSPN(chains=1, burn_in=10, draws=10, random_state=0)
    >>> grid = [RegionGraph(0, leaves=1), RegionGraph(0, leaves=2)]
    >>> choice = select_graph(X, grid, estimator=estimator, sweeps=8, loo=False)
    >>> choice.table.index.tolist()
    ['mixture of 2', 'independent columns']
    >>> choice.model.graph_.leaves
    2
    """
    estimator = BayesianSPN() if estimator is None else estimator
    _check_estimator(estimator)
    check_whole("sweeps", sweeps, LEAST_SWEEPS)
    check_whole("runs", runs, 2)
    if names_files(X):
        raise ValueError("select_graph needs a table in memory, not the names of files: read it")
    if loo:
        _require_arviz()
    settings = clone(estimator).set_params(graph="auto")
    if n_jobs is not None:
        settings.n_jobs = n_jobs
    # a generator is not cloned: it has to move on
    settings.random_state = estimator.random_state if random_state is None else random_state
    settings.progress = progress or estimator.progress
    schema, values, _ = encode_table(X, estimator.schema)
    ranking = rank_graphs(
        TableModels(schema, values),
        list_candidates(values.shape, Priors.of(settings), grid),
        sweeps=int(sweeps),
        runs=int(runs),
        n_jobs=settings.n_jobs,
        random_state=settings.random_state,
        progress=settings.progress,
        checkpoint=checkpoint,
    )
    ranking.warn_if_interrupted()
    settings.random_state = ranking.random_state  # a generator would give every fit another seed
    selection = GraphSelection(X, len(values), ranking, settings, checkpoint)
    if loo:
        selection._leave_one_out()
    return selection


def _check_estimator(estimator: Any) -> None:
    if not isinstance(estimator, BayesianSPN):
        raise TypeError(
            f"estimator must be a BayesianSPN or None, got {type(estimator).__name__}; other "
            "estimators choose their graph with graph='select'"
        )
    if estimator.checkpoint is not None:
        raise ValueError(
            f"the estimator's checkpoint is {os.fspath(estimator.checkpoint)!r}, but several "
            "graphs are fitted; give checkpoint to select_graph instead"
        )
    # whoever cannot select by evidence says so
    check_parameters(clone(estimator).set_params(graph="select"))


def _require_arviz() -> None:
    try:
        import arviz_base  # noqa: F401
        from arviz_stats import loo  # type: ignore[attr-defined]  # noqa: F401
    except ImportError:
        raise ImportError(
            "leave-one-out needs ArviZ: install it with  pip install 'bayesspn[arviz]', or choose "
            "without it by loo=False"
        ) from None


def leave_one_out(model: BayesianSPN, X: Any) -> tuple[float, float, float]:
    """How well a fitted model predicts rows that it has not seen, by importance sampling.

    Parameters
    ----------
    model : BayesianSPN
    X : array or data frame of shape (rows, columns)
        The rows that it was fitted to.

    Returns
    -------
    tuple of float
        Log density of all rows, each left out in turn; its standard error; and the share of rows
        for which the draws are too different without them (large Pareto k). NaN if there are
        fewer than 25 draws.
    """
    from arviz_stats import loo  # type: ignore[attr-defined]

    scores = model.to_arviz(X)["log_likelihood"]["row"].to_numpy()
    if scores[..., 0].size < _FEWEST_DRAWS:
        return np.nan, np.nan, np.nan
    each = scores.mean(axis=(0, 1))
    bad = np.zeros(len(each), dtype=bool)
    # rows without a single known cell, on which all draws agree, are beyond importance sampling
    telling = np.ptp(scores, axis=(0, 1)) > 0
    if telling.any():
        data = build_inference_data(model._invariants(), scores[..., telling])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the share tells it
            found = loo(data, pointwise=True)
        each[telling] = found.elpd_i.to_numpy()
        bad[telling] = ~(found.pareto_k.to_numpy() <= found.good_k)
    return float(each.sum()), float(np.sqrt(len(each) * each.var())), float(bad.mean())
