"""`SPNImputer`: missing cells filled in from the joint distribution of a table."""

from __future__ import annotations

import os
from typing import Any, Self

from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from bayesspn.arrays import Array
from bayesspn.engine.engines import Engine
from bayesspn.estimators.defaults import BURN_IN, CHAINS, DRAWS, THIN
from bayesspn.estimators.imputation import fill_best, fill_drawn, fill_several, give_back
from bayesspn.estimators.joint import JointEstimator
from bayesspn.estimators.plans import FitPlan
from bayesspn.graphs import RegionGraph
from bayesspn.numerics.checks import check_whole
from bayesspn.numerics.random_numbers import draw_seed
from bayesspn.tables import Schema, encode
from bayesspn.tables.frames import library_of


class SPNImputer(OneToOneFeatureMixin, TransformerMixin, JointEstimator):
    """Imputer by a Bayesian sum-product network of all columns.

    Columns of any type. ``transform`` fills every missing cell; observed cells stay as they are.
    ``joint_`` answers any other question about the table.

    Parameters
    ----------
    strategy : {"best", "draw"}, default="best"
        What ``transform`` fills in: the expected value of numbers and times and the most probable
        category, or a draw of all missing cells of a row together.
    **parameters
        Those of `BayesianSPN`.

    Attributes
    ----------
    joint_ : Conditional
        The joint distribution of all columns.
    schema_, posterior_, graph_, rhat_, trace_, n_features_in_, feature_names_in_
        As of `BayesianSPN`.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from bayesspn import SPNImputer
    >>> rng = np.random.default_rng(0)
    >>> kind = rng.choice(["ant", "bee"], 150)
    >>> table = pd.DataFrame({"kind": kind, "size": (kind == "bee") * 5 + rng.normal(3, 0.2, 150)})
    >>> model = SPNImputer(chains=2, burn_in=60, draws=40, thin=2, random_state=0).fit(table)
    >>> holes = pd.DataFrame({"kind": ["bee", None], "size": [np.nan, 2.9]})
    >>> model.transform(holes).round(0)
      kind  size
    0  bee   8.0
    1  ant   3.0
    """

    def __init__(
        self,
        *,
        strategy: str = "best",
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
        super().__init__(
            graph=graph,
            alpha=alpha,
            beta=beta,
            gamma=gamma,
            time_limit=time_limit,
            chains=chains,
            burn_in=burn_in,
            draws=draws,
            thin=thin,
            plan=plan,
            schema=schema,
            handle_unknown=handle_unknown,
            n_jobs=n_jobs,
            random_state=random_state,
            progress=progress,
            checkpoint=checkpoint,
            engine=engine,
        )
        self.strategy = strategy

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Sample the posterior given a table.

        Parameters
        ----------
        X : array or data frame of shape (rows, columns), str, path or list of these
            NaN, None, NA and NaT mark missing cells. Names of Parquet files as for `BayesianSPN`.
        y : ignored
            For scikit-learn's interface.
        sample_weight : array of shape (rows,), default=None
            How many rows each row counts as. Whole numbers are exact, others are rounded up or down
            at random, right on average. Divide the weights of a survey by their mean.

        Examples
        --------
        >>> from bayesspn.examples import load_patients
        >>> table = load_patients()
        >>> model = SPNImputer(chains=1, burn_in=20, draws=5, random_state=0).fit(table)
        >>> model.n_features_in_, model.posterior_.n_draws
        (5, 5)
        """
        self._fit_table(X, sample_weight)
        return self

    def transform(self, X: Any) -> Any:
        """Fill in the missing cells of a table.

        Parameters
        ----------
        X : array or data frame of shape (rows, columns)

        Returns
        -------
        table of shape (rows, columns)
            Of the library of X.

        Examples
        --------
        >>> from bayesspn.examples import load_patients
        >>> table = load_patients()
        >>> model = SPNImputer(chains=1, burn_in=20, draws=5, random_state=0).fit(table)
        >>> filled = model.transform(table.head(20))
        >>> int(table.head(20)["weight"].isna().sum()) > 0, int(filled["weight"].isna().sum())
        (True, 0)
        >>> filled["age"].equals(table.head(20)["age"])
        True
        """
        return self._fill(X, fitted=False)

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Sample the posterior given a table, and fill in the missing cells of that table.

        Not quite ``fit`` and then ``transform``: the posterior already knows these rows, so all of
        its draws count the same, while for new rows those that explain a row count more. The
        difference matters where chains disagree.

        Parameters
        ----------
        X : array or data frame of shape (rows, columns)
            NaN, None, NA and NaT mark missing cells.
        y : ignored
            For scikit-learn's interface.
        sample_weight : array of shape (rows,), default=None
            How many rows each row counts as, as for `fit`.

        Returns
        -------
        table of shape (rows, columns)
            Of the library of X.

        Examples
        --------
        >>> from bayesspn.examples import load_patients
        >>> table = load_patients()
        >>> model = SPNImputer(chains=1, burn_in=20, draws=5, random_state=0)
        >>> filled = model.fit_transform(table)
        >>> bool(table.isna().any(axis=None)), bool(filled.isna().any(axis=None))
        (True, False)
        """
        return self.fit(X, sample_weight=sample_weight)._fill(X, fitted=True)

    def _fill(self, X: Any, *, fitted: bool) -> Any:
        values = self._encode(X)
        if self.strategy == "best":
            filled = fill_best(self.posterior_, values, fitted=fitted)
        else:
            seed = draw_seed(self.random_state)
            filled = fill_drawn(self.posterior_, values, seed, fitted=fitted)
        return give_back(filled, values, self.schema_, _like(X))

    def impute(self, X: Any, m: int = 5, *, random_state: Any = None) -> list[Any]:
        """Fill in the missing cells several times, for multiple imputation.

        Every table comes from one network of the posterior, with drawn parameters, so that tables
        differ by all that is not known: analyse each as if it were complete, and pool the results
        with `pool_estimates`. Draws are not weighed by the rows of X: as a rule these are the rows
        that were learned from.

        Parameters
        ----------
        X : array or data frame of shape (rows, columns)
        m : int, default=5
            Number of tables. Ten or more give good intervals where much is missing.
        random_state : int, RandomState or None, default=None

        Returns
        -------
        list of m tables of shape (rows, columns)
            Each filled with a draw of the missing cells, within their columns' plausible ranges.

        Examples
        --------
        >>> from bayesspn.examples import load_patients
        >>> table = load_patients()
        >>> model = SPNImputer(chains=1, burn_in=20, draws=5, random_state=0).fit(table)
        >>> one, two = model.impute(table, m=2, random_state=0)
        >>> one["age"].equals(two["age"])  # of which no cell was missing
        True
        >>> one["weight"].equals(two["weight"])
        False
        """
        check_whole("m", m, 1)
        values = self._encode(X)
        like = _like(X)
        tables = fill_several(self.posterior_, values, int(m), random_state)
        return [give_back(filled, values, self.schema_, like) for filled in tables]

    def _encode(self, X: Any) -> Array:
        check_is_fitted(self)
        values = encode(X, self.schema_, self.handle_unknown)
        self._check_names(X, self.schema_, reset=False)
        return values


def _like(X: Any) -> Any:
    """What tables given back are built like."""
    library = library_of(X)
    return X if library == "pandas" else library  # a pandas frame lends its index
