"""`BayesianSPN`: the joint distribution of a table, behind scikit-learn's interface."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import DensityMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from bayesspn.arrays import Array
from bayesspn.estimators.joint import JointModel, check_count
from bayesspn.inference.evidence.estimates import LogEvidence
from bayesspn.questions.interface import Questions
from bayesspn.questions.rows import score_rows
from bayesspn.questions.views import View
from bayesspn.selection.evidence import estimate_evidence
from bayesspn.tables import encode, infer_schema


class BayesianSPN(Questions, DensityMixin, JointModel):
    """Bayesian sum-product network: a posterior over the joint distribution of a table.

    Columns of any type and missing cells are welcome, in training and in questions. Structure and
    parameters are sampled together, so there is nothing to tune on a validation set.

    Parameters
    ----------
    graph : {"auto", "select"}, default="auto"
        ``"select"`` chooses among several graphs by their evidence before it fits the best, as
        `select_graph` does; parameters below that are not "auto" stay. It takes many times as long
        as a fit. ``"auto"`` goes by the size of the table.
    depth : int or "auto", default="auto"
        Levels of partitions; 0 is a plain mixture. By default it grows with the number of columns.
    partitions : int, sequence of int or "auto", default="auto"
        Partitions per region, one number or one per level. By default 8 at the root, 1 below.
    children : int or "auto", default="auto"
        Parts that a partition splits a region's columns into. By default 2.
    sums : int or "auto", default="auto"
        Sum nodes per inner region. By default it grows with the number of rows.
    leaves : int or "auto", default="auto"
        Leaves per leaf region. By default the same number as ``sums``.
    products : {"shared", "cross", "auto"}, default="auto"
        ``"cross"`` multiplies every node of a child with every node of the others (the paper),
        ``"shared"`` nodes of equal number. By default ``"shared"``.
    alpha : float or "auto", default="auto"
        Concentration of sum weights; learned by default, a number fixes it.
    beta : float or "auto", default="auto"
        Concentration of the split of columns; learned by default.
    gamma : float or "auto", default="auto"
        Strength of the leaf priors in pseudo-observations: 0.5 means Beta(½, ½) and the like.
        Learned for every column by default; a number fixes all that the schema leaves open.
    chains : int, default=4
        Independent chains, averaged.
    burn_in : int, default=200
        Sweeps of a chain before its first draw.
    draws : int, default=50
        Draws that a chain keeps.
    thin : int, default=4
        Sweeps per draw.
    temperatures : int, default=1
        Chains at so many temperatures stand behind each of the ``chains`` and exchange networks
        with it: the warmer they are the more freely they move, and what they find helps the cold
        one, which alone is kept, out of bad modes. A fit takes more than so many times as long.
    schema : Schema, default=None
        What the columns are; inferred from the table if not given.
    n_jobs : int, default=None
        Cores to use, as joblib counts them. The draws do not depend on it.
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
    engine : {"local", "ray"}, default="local"
        Who holds the rows: this process, or workers of a Ray cluster (``pip install
        "bayesspn[ray]"``). With Ray, chains run one after the other, each sweep on all workers at
        once, and ``n_jobs`` is not used. The draws do not depend on it, whatever dies meanwhile.
    address : str, default=None
        Of a Ray cluster, such as ``"auto"``. By default the one that this process is connected to
        or that ``RAY_ADDRESS`` names, else one that is started here and ends with the fit.
    shards : int, default=None
        Parts that the rows are divided into, with Ray a worker each. By default 1, or the number
        of CPUs of the Ray cluster. The draws do not depend on it.

    Attributes
    ----------
    schema_ : Schema
        What the columns are.
    posterior_ : Posterior
        The draws.
    graph_ : RegionGraph
        The region graph.
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
    >>> model = BayesianSPN(chains=2, burn_in=30, draws=20, thin=1, random_state=0).fit(table)
    >>> query = pd.DataFrame({"sick": [True, False], "fever": [39.0, 39.0]})
    >>> sick, healthy = model.score_samples(query)
    >>> bool(sick > healthy + 2)
    True
    >>> model.sample(2, random_state=0).dtypes.tolist() == table.dtypes.tolist()
    True
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Sample the posterior given a table.

        Parameters
        ----------
        X : array or data frame of shape (rows, columns), str, path or list of these
            NaN, None, NA and NaT mark missing cells. Text and paths name Parquet files, or a
            folder of these: they are one table, which is read by whoever holds the rows and never
            in one piece.
        y : ignored
            For scikit-learn's interface.
        """
        self._fit_table(X)
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Add rows to those learned from so far, and go on sampling.

        The chains go on from where they stand, now with all rows, and their next
        ``burn_in + draws * thin`` sweeps give the draws that take the place of those before. They
        are of the posterior given all rows, as if these had been there from the start. Graph,
        schema and priors stay as they are, and ``checkpoint`` is not used. The first call is `fit`.

        Parameters
        ----------
        X : array or data frame of shape (rows, columns)
            Further rows, of the same columns. Categories that the schema does not have are an
            error.
        y : ignored
            For scikit-learn's interface.

        Examples
        --------
        >>> X = np.random.default_rng(0).normal(size=(60, 2))
        >>> model = BayesianSPN(chains=1, burn_in=5, draws=5, random_state=0).fit(X[:40])
        >>> model.partial_fit(X[40:]).posterior_.draws[0][0].edge_counts[0].sum()
        np.int64(60)
        """
        if not hasattr(self, "posterior_"):
            return self.fit(X)
        self._check_parameters()
        values = encode(X, self.schema_)
        validate_data(self, X, reset=False, skip_check_array=True)
        if len(values):
            self._learn_more(values)
        return self

    def log_evidence(
        self, X: Any, *, method: str = "pinned", runs: int = 4, sweeps: int | None = None
    ) -> LogEvidence:
        """Log model evidence: the probability that this graph and its priors give a whole table.

        The Bayesian score of a model, for which no rows need to be held out: compare it between
        graphs or priors on the same table. It does not need a fit and changes nothing.

        Parameters
        ----------
        X : array or data frame of shape (rows, columns)
        method : {"pinned", "sequential", "tempered"}, default="pinned"
            How it is estimated. ``"pinned"`` fixes the rows of a chain to the parts of the network
            that it has put them into, one after the other, and is by far the most precise.
            ``"sequential"`` predicts one row after the other with many networks, ``"tempered"``
            runs chains at several powers of the likelihood: independent checks, the latter for
            tables of at most a few hundred rows.
        runs : int, default=4
            Independent runs, at least 2; their agreement gives the standard error. ``n_jobs``
            runs them side by side.
        sweeps : int, default=None
            How thorough a run is: sweeps of a chain before its rows are pinned (320 by default),
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
        >>> settings = {"depth": 0, "random_state": 0}
        >>> apart = BayesianSPN(leaves=1, **settings).log_evidence(X, runs=2, sweeps=40)
        >>> together = BayesianSPN(leaves=2, **settings).log_evidence(X, runs=2, sweeps=40)
        >>> bool(together.value > apart.value + 3)
        True
        """
        self._check_parameters()
        check_count("runs", runs, 2)
        if self._infinite:
            raise ValueError("the evidence of infinite mixtures cannot be estimated yet")
        if self.graph == "select":
            raise ValueError(
                "log_evidence is of one graph, but graph='select': compare graphs by "
                "bayesspn.select_graph, or name one by depth, partitions and so on"
            )
        schema = infer_schema(X) if self.schema is None else self.schema
        values = encode(X, schema)
        return estimate_evidence(self, values, schema, method=method, runs=runs, sweeps=sweeps)

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
        """
        check_is_fitted(self)
        validate_data(self, X, reset=False, skip_check_array=True)
        return score_rows(self.posterior_, encode(X, self.schema_))

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log density of the rows.

        Parameters
        ----------
        X : array or data frame of shape (rows, columns)
        y : ignored
            For scikit-learn's interface.
        """
        return float(np.mean(self.score_samples(X)))
