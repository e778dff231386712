"""`BayesianSPN`: the joint distribution of a table, behind scikit-learn's interface."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import DensityMixin
from sklearn.utils.validation import check_is_fitted

from bayesspn.arrays import Array
from bayesspn.engine.engines import resolve_engine
from bayesspn.estimators.continuing import learn_changed, learn_more
from bayesspn.estimators.joint import JointEstimator
from bayesspn.estimators.parameters import check_parameters
from bayesspn.estimators.training import count_copies, placed_table
from bayesspn.graphs import RegionGraph
from bayesspn.inference.evidence.runs import LogEvidence
from bayesspn.numerics.checks import check_weights, check_whole
from bayesspn.questions.interface import Questions
from bayesspn.questions.rows import score_rows
from bayesspn.questions.views import View
from bayesspn.selection.building import Priors, TableModels
from bayesspn.selection.defaults import choose_graph
from bayesspn.selection.evidence import estimate_evidence
from bayesspn.tables import encode
from bayesspn.tables.bounds import Bounds, admit_bounds
from bayesspn.tables.changes import continue_schema
from bayesspn.tables.encoding import forget_constants
from bayesspn.tables.frames import open_table
from bayesspn.tables.infer import encode_table
from bayesspn.tables.partitions import names_files


class BayesianSPN(Questions, DensityMixin, JointEstimator):
    """Bayesian sum-product network: a posterior over the joint distribution of a table.

    Columns of any type and missing cells are welcome, in training and in questions. Structure and
    parameters are sampled together, so there is nothing to tune on a validation set.

    Parameters
    ----------
    graph : RegionGraph, "auto" or "select", default="auto"
        The region graph. ``"auto"`` compares half a dozen that suit the table's size by short
        chains on some of its rows, before the fit; ``"select"`` compares more of them by their
        evidence, as `select_graph` does, which takes many times as long as a fit.
    alpha : float or "auto", default="auto"
        Concentration of sum weights; learned by default, a number fixes it.
    beta : float or "auto", default="auto"
        Concentration of the split of columns; learned by default.
    gamma : float or "auto", default="auto"
        Strength of the leaf priors in pseudo-observations: 0.5 means Beta(½, ½) and the like.
        Learned for every column by default; a number fixes all that the schema leaves open.
    time_limit : float, default=None
        Seconds that the fit may take, the comparison of graphs included: as many chains, sweeps and
        draws as there is time for. Without a limit, what is "auto" depends on the table alone.
    chains : int or "auto", default="auto"
        Independent chains, averaged. Many short ones are better than few long ones: 8, fewer if a
        sweep takes seconds, up to 64 if there is a time limit.
    burn_in : int or "auto", default="auto"
        Sweeps of a chain before its first draw. ``"auto"`` goes on until the chains no longer climb
        (their fit rose by less than 0.02 nats per row, or two standard errors, from the second to
        the last quarter of their sweeps), at most 400 sweeps, 1,000 with a time limit.
    draws : int or "auto", default="auto"
        Draws that a chain keeps; about 100 of all chains together.
    thin : int or "auto", default="auto"
        Sweeps per draw; 4 unless sweeps are slow.
    plan : FitPlan, default=None
        ``plan_`` of an earlier fit: the same graph, starts, chains, sweeps and seed, and so the
        same draws of the same table, bit by bit, however long it takes. Lengths, ``graph``,
        ``time_limit`` and ``random_state`` are then not used.
    schema : Schema, default=None
        What the columns are; inferred from the table if not given.
    handle_unknown : {"warn", "ignore", "error"}, default="warn"
        What is done about categories that were not learned from, in tables to score, predict or
        fill in: they are taken as missing, with a warning that names them or without, or refused.
        When learning with a ``schema``, categories that it lacks are always refused.
    n_jobs : int, default=None
        Cores to use, as joblib counts them: so many chains run side by side, in threads of this
        process. By default all that compiled code may use (``NUMBA_NUM_THREADS`` in the
        environment limits these), or those of a `joblib.parallel_config`; one for a table of less
        than 1,500 cells. The draws do not depend on it.
    random_state : int, RandomState or None, default=None
        An int makes fits reproducible.
    progress : bool, default=False
        Whether to show a progress bar.
    checkpoint : str or path, default=None
        File that keeps the work done so far, every half minute and when the fit ends, fails or is
        interrupted. Fitting again with the same table and parameters goes on from there, and ends
        with the draws of a fit that was never stopped, bit by bit. ``n_jobs`` and ``progress`` may
        change, and so may ``draws``: more continue the chains, fewer are the first of those there.
        A fit without ``random_state`` takes the file's seed. One file serves one fit.
    engine : {"local", "ray"} or Engine, default="local"
        Who holds the rows: this process, or workers of a Ray cluster (``pip install
        "bayesspn[ray]"``). With Ray, chains run one after the other, each sweep on all workers at
        once, and ``n_jobs`` is not used. An `Engine` also says which cluster, and into how many
        parts rows are divided. The draws do not depend on it, whatever dies meanwhile.

    Attributes
    ----------
    schema_ : Schema
        What the columns are.
    posterior_ : Posterior
        The draws.
    graph_ : RegionGraph
        The region graph.
    comparison_ : DataFrame
        With ``graph="auto"``, the graphs that were compared, best first: ``score`` is the mean log
        density of rows held out. Files do not keep it.
    plan_ : FitPlan
        Graph, starts, chains, sweeps, draws and seed of the fit, to be given back as ``plan``.
    interrupted_ : bool
        Whether Ctrl-C ended the fit early.
    settling_ : DataFrame
        How well chains agree on answers about each column: ``error`` is the
        Monte Carlo error of the log probability of its cells given the rest of their rows, typical
        of some of the rows; ``spread`` that between single chains. Not with a single chain.
    selection_ : DataFrame
        With ``graph="select"``, the graphs and their evidence, best first, as the table of
        `GraphSelection`. Files do not keep it.
    rhat_ : float
        R-hat of the log-likelihood over the chains; close to 1 if they agree, NaN if there are too
        few draws to tell.
    trace_ : ndarray of shape (chains, sweeps)
        Log-likelihood per training row of every sweep, burn-in included; NaN after a chain that
        ended early.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if they are all strings.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from bayesspn import BayesianSPN
    >>> rng = np.random.default_rng(0)
    >>> sick = rng.random(200) < 0.3
    >>> table = pd.DataFrame({"sick": sick, "fever": 37 + 2 * sick + rng.normal(0, 0.3, 200)})
    >>> model = BayesianSPN(chains=1, burn_in=100, draws=40, thin=2, random_state=0).fit(table)
    >>> query = pd.DataFrame({"sick": [True, False], "fever": [39.0, 39.0]})
    >>> sick, healthy = model.score_samples(query)
    >>> bool(sick > healthy + 2)
    True
    >>> model.sample(2, random_state=0).dtypes.tolist() == table.dtypes.tolist()
    True
    """

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, bounds: Bounds | None = None
    ) -> Self:
        """Sample the posterior given a table.

        Parameters
        ----------
        X : array or data frame of shape (rows, columns), str, path or list of these
            NaN, None, NA and NaT mark missing cells. Text and paths name Parquet files, or a
            folder of these: they are one table, which is read by whoever holds the rows and never
            in one piece.
        y : ignored
            For scikit-learn's interface.
        sample_weight : array of shape (rows,), default=None
            How many rows each row counts as. Whole numbers are exact, others are rounded up or down
            at random, right on average and the same way in every fit. Divide the weights of a
            survey by their mean.
        bounds : dict of column names to pairs (low, high), default=None
            What is known of missing cells of numbers and times: that they lie between these. An end
            is a value for all rows or one for every row; None, NaN, NaT or infinite if open.
            Survival times of those still alive: ``{"years": (years_so_far, None)}``. For tables in
            memory and without ``sample_weight``.

        Examples
        --------
        >>> from bayesspn.examples import load_patients
        >>> model = BayesianSPN(chains=1, burn_in=20, draws=5, random_state=0).fit(load_patients())
        >>> model.schema_.names
        ('age', 'sex', 'weight', 'ill', 'visits')
        >>> model.posterior_.n_draws
        5
        """
        self._fit_table(X, sample_weight, bounds)
        return self

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Add rows to those learned from so far, and go on sampling.

        The chains go on from where they stand, now with all rows, and their next
        ``burn_in + draws * thin`` sweeps give the draws that take the place of those before. They
        are of the posterior given all rows, as if these had been there from the start. Graph,
        kinds, families and priors stay as they are. Which values a column is recorded as is read
        again, from all rows, if new cells are recorded otherwise. ``checkpoint`` is not used. The
        first call is `fit`.

        Parameters
        ----------
        X : array or data frame of shape (rows, columns)
            Further rows, of the same columns. Categories that the schema does not have are an
            error.
        y : ignored
            For scikit-learn's interface.
        sample_weight : array of shape (rows,), default=None
            How many rows each of these rows counts as, as for `fit`.

        Examples
        --------
        >>> X = np.random.default_rng(0).normal(size=(60, 2))
        >>> model = BayesianSPN(chains=1, burn_in=5, draws=5, random_state=0).fit(X[:40])
        >>> model.partial_fit(X[40:]).posterior_.draws[0][0].edge_counts[0].sum()
        np.int64(60)
        """
        if not hasattr(self, "posterior_"):
            return self.fit(X, sample_weight=sample_weight)
        check_parameters(self)
        values = encode(X, self.schema_)
        self._check_names(X, self.schema_, reset=False)
        if sample_weight is not None:
            values = np.repeat(values, count_copies(sample_weight, len(values)), axis=0)
        if len(values):
            learn_more(self, values)
        return self

    def refit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, bounds: Bounds | None = None
    ) -> Self:
        """Learn a changed table, going on from where the chains stand.

        For a table whose rows were removed or added, whose cells were edited, or that gained or
        lost columns. The next ``burn_in + draws * thin`` sweeps of the chains, on the table as it
        is now, give the draws that take the place of those before: of the posterior given the
        changed table, as if it had been fitted afresh, from a start that is near. The rows before
        are not needed, so that models from files can be refitted as they are.

        The graph stays as it is, and so do the kind, the families and the priors of columns that
        were there before, unless new cells do not allow it: those are described anew, as added
        columns are. Cells may be recorded otherwise than before, 2.75 where all was 0.5, 1.5 or 4:
        which values there are is then read off the table again, unless ``schema`` says it.
        ``checkpoint`` is not used. The first call is `fit`.

        Parameters
        ----------
        X : array or data frame of shape (rows, columns)
            The whole table. Frames may have other columns than before, in any order.
        y : ignored
            For scikit-learn's interface.
        sample_weight : array of shape (rows,), default=None
            How many rows each row counts as, as for `fit`.
        bounds : dict of column names to pairs (low, high), default=None
            What is known of missing cells, as for `fit`. A model that was fitted with bounds has to
            be given those of the table as it is now, or ``{}`` if there are none any more.

        Examples
        --------
        >>> from bayesspn.examples import load_patients
        >>> table = load_patients()
        >>> model = BayesianSPN(chains=1, burn_in=20, draws=5, random_state=0).fit(table)
        >>> edited = table.drop(columns="visits").drop(index=[3, 4])
        >>> model.refit(edited).schema_.names
        ('age', 'sex', 'weight', 'ill')
        """
        if not hasattr(self, "posterior_"):
            return self.fit(X, sample_weight=sample_weight, bounds=bounds)
        check_parameters(self)
        if bounds is None and self._bounded:
            raise ValueError(
                "the model was fitted with bounds: give those of the table as it is now, or "
                "bounds={} if nothing is known of its missing cells any more"
            )
        if names_files(X):
            raise ValueError("refit needs a table in memory, not the names of files: use fit")
        # names that are refused must not leave a model half changed
        type(self)()._check_names(X, self.schema_)
        opened = open_table(X)
        schema, sources = continue_schema(opened, self.schema_, self.schema)
        values = encode(opened, schema)
        if bounds:
            schema = admit_bounds(bounds, schema, self.schema, values)
        engine = resolve_engine(self.engine)
        known = schema, values, opened.library, engine
        with placed_table(*known, sample_weight, bounds) as table:
            learn_changed(self, table, sources)
        self._check_names(X, schema)
        return self

    def log_evidence(
        self, X: Any, *, method: str = "bridge", runs: int = 4, sweeps: int | None = None
    ) -> LogEvidence:
        """Log model evidence: the probability that this graph and its priors give a whole table.

        The Bayesian score of a model, for which no rows need to be held out: compare it between
        graphs or priors on the same table. It does not need a fit and changes nothing.

        Parameters
        ----------
        X : array or data frame of shape (rows, columns)
        method : {"bridge", "sequential", "tempered"}, default="bridge"
            How it is estimated. ``"bridge"`` samples along a path on which the assignments of rows
            are fixed, part by part, and joins its steps by bridge sampling; it is by far the most
            precise.
            ``"sequential"`` predicts one row after the other with many networks, ``"tempered"``
            runs chains at several powers of the likelihood: independent checks, the latter for
            tables of at most a few hundred rows.
        runs : int, default=4
            Independent runs, at least 2; their agreement gives the standard error. ``n_jobs``
            runs them side by side.
        sweeps : int, default=None
            How thorough a run is: sweeps of a chain before its rows are fixed (320 by default),
            each time that particles are moved (2), or of every power (80).

        Returns
        -------
        LogEvidence
            ``value`` and ``standard_error``, in nats, for all rows together.

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> x = rng.integers(0, 2, size=(20, 1))
        >>> X = np.hstack([x, x])  # two columns that are always equal
        >>> one, two = RegionGraph(0, leaves=1), RegionGraph(0, leaves=2)
        >>> apart = BayesianSPN(graph=one, random_state=0).log_evidence(X, runs=2, sweeps=40)
        >>> together = BayesianSPN(graph=two, random_state=0).log_evidence(X, runs=2, sweeps=40)
        >>> bool(together.value > apart.value + 3)
        True
        """
        check_parameters(self)
        check_whole("runs", runs, 2)
        if self._infinite:
            raise ValueError("the evidence of infinite mixtures cannot be estimated yet")
        if self.graph == "select":
            raise ValueError(
                "log_evidence is of one graph, but graph='select': compare graphs by "
                "bayesspn.select_graph, or give one"
            )
        schema, values, _ = encode_table(X, self.schema)
        graph = self.graph if isinstance(self.graph, RegionGraph) else choose_graph(*values.shape)
        return estimate_evidence(
            *TableModels(schema, values).model(graph, Priors.of(self)),
            method=method,
            runs=runs,
            sweeps=sweeps,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
        )

    def _view(self) -> View:
        check_is_fitted(self)
        return self._whole()

    def score_samples(self, X: Any) -> Array:
        """Log density of every row, averaged over the posterior; missing cells are summed out.

        Parameters
        ----------
        X : array or data frame of shape (rows, columns)

        Returns
        -------
        ndarray of shape (rows,)
            In the units of the table: log probabilities of discrete columns, log densities of
            others.

        Examples
        --------
        >>> from bayesspn.examples import fitted_patients, load_patients
        >>> model = fitted_patients()
        >>> rows = load_patients().head(3)
        >>> model.score_samples(rows).shape
        (3,)
        >>> bool((model.score_samples(rows.assign(weight=150.0)) < model.score_samples(rows)).all())
        True
        """
        check_is_fitted(self)
        self._check_names(X, self.schema_, reset=False)
        values = encode(X, self.schema_, self.handle_unknown)
        return score_rows(self.posterior_, forget_constants(values, self.schema_))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Mean log density of the rows.

        Parameters
        ----------
        X : array or data frame of shape (rows, columns)
        y : ignored
            For scikit-learn's interface.
        sample_weight : array of shape (rows,), default=None
            Weights of the rows in the mean, not negative; all the same if None.

        Examples
        --------
        >>> from bayesspn.examples import fitted_patients, load_patients
        >>> model = fitted_patients()
        >>> rows = load_patients()
        >>> model.score(rows.assign(weight=150.0)) < model.score(rows)  # nobody is that heavy
        True
        """
        scores = self.score_samples(X)
        if not len(scores):
            raise ValueError("Found array with 0 sample(s): there are no rows to score")
        if sample_weight is None:
            return float(np.mean(scores))
        weights = check_weights(sample_weight, len(scores))
        counted = weights > 0  # a row that does not count may be impossible
        return float(np.average(scores[counted], weights=weights[counted]))
