"""`SPNRegressor`: expected targets from the joint distribution of features and target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import _check_y, column_or_1d

from bayesspn.arrays import Array
from bayesspn.estimators.imputation import average_cells
from bayesspn.estimators.parameters import check_parameters
from bayesspn.estimators.targets import TargetEstimator, check_target, name_target, split_schema
from bayesspn.questions.row_answers import means_of_rows, quantiles_of_rows
from bayesspn.tables.cells import shorten
from bayesspn.tables.infer import families_by_sign
from bayesspn.tables.schema import ColumnSchema


class SPNRegressor(RegressorMixin, TargetEstimator):
    """Regressor by a Bayesian sum-product network of features and target together.

    Features of any type; missing cells are welcome when fitting and when predicting. ``joint_``
    answers any other question about features and target: quantiles, probabilities of ranges, modes.

    Parameters
    ----------
    **parameters
        Those of `BayesianSPN`. A ``schema`` describes the features, and may describe the target.

    Attributes
    ----------
    joint_ : Conditional
        The joint distribution; the target is the last column.
    schema_, posterior_, graph_, rhat_, trace_, n_features_in_, feature_names_in_
        As of `BayesianSPN`.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesspn import SPNRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.integers(0, 3, size=(200, 1)).astype(float)
    >>> y = 10 * X[:, 0] + rng.normal(0, 1, 200)
    >>> model = SPNRegressor(chains=2, burn_in=30, draws=20, thin=1, random_state=0).fit(X, y)
    >>> low, high = model.predict([[0.0], [2.0]])
    >>> bool(abs(low) < 2 and abs(high - 20) < 2)
    True
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Sample the posterior given a table and its targets.

        Parameters
        ----------
        X : array or data frame of shape (rows, columns)
        y : array of shape (rows,)
            Numbers.
        sample_weight : array of shape (rows,), default=None
            How many rows each row counts as, as for `BayesianSPN`.

        Examples
        --------
        >>> from bayesspn.examples import load_patients
        >>> table = load_patients()
        >>> model = SPNRegressor(chains=1, burn_in=20, draws=5, random_state=0)
        >>> model = model.fit(table[["ill", "age"]], table["visits"])
        >>> model.schema_.names
        ('ill', 'age', 'visits')
        >>> model.n_features_in_
        2
        """
        check_parameters(self)
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        name = name_target(X, y)
        y = column_or_1d(y, warn=True)
        check_target(y, name)
        if y.dtype.kind in "mM":
            raise ValueError(
                f"target {shorten(name)} holds times, not numbers; count them, in days since the "
                "first of them, say"
            )
        try:
            y = _check_y(y, y_numeric=True, estimator=self).astype(np.float64)
        except ValueError as error:
            if "convert" not in str(error):
                raise
            raise ValueError(
                f"target {shorten(name)} does not hold numbers ({error}); SPNClassifier learns "
                "categories"
            ) from None
        if not len(y):
            raise ValueError("Found array with 0 sample(s): there are no rows to learn from")
        features, target = split_schema(self, name)
        if target is None:
            target = ColumnSchema(name, "real", families_by_sign(y), dtype="float64")
        self._learn_with_target(X, target, y, features, sample_weight)
        return self

    def predict(
        self, X: Any, return_std: bool = False, quantiles: float | Sequence[float] | None = None
    ) -> Any:
        """Expected target of every row, or its quantiles, missing cells averaged over.

        Parameters
        ----------
        X : array or data frame of shape (rows, columns)
        return_std : bool, default=False
            Whether to give the standard deviation of the target, too.
        quantiles : float or sequence of float, default=None
            Levels between 0 and 1: give these quantiles of the target instead of its mean.

        Returns
        -------
        mean : ndarray of shape (rows,)
        std : ndarray of shape (rows,)
            If asked for.
        quantiles : ndarray of shape (rows,) or (rows, levels)
            If asked for, alone. NaN for rows that the model holds impossible.

        Examples
        --------
        >>> import pandas as pd
        >>> from bayesspn.examples import load_patients
        >>> table = load_patients()
        >>> model = SPNRegressor(chains=1, burn_in=20, draws=5, random_state=0)
        >>> model = model.fit(table[["ill", "age"]], table["visits"])
        >>> new = pd.DataFrame({"ill": [False, True], "age": [30, None]})
        >>> mean, std = model.predict(new, return_std=True)
        >>> bool(mean[0] < mean[1])
        True
        >>> bool((std > 0).all())
        True
        >>> model.predict(new, quantiles=[0.25, 0.75]).shape
        (2, 2)
        """
        if quantiles is not None:
            if return_std:
                raise ValueError("ask for return_std or for quantiles, not for both")
            return self._predict_quantiles(X, quantiles)
        values = self._encode_features(X)
        column = values.shape[1] - 1
        if return_std:
            whole, first, second = average_cells(self.posterior_, values, [column])[column].T
            mean = first / whole
            return mean, np.sqrt(np.maximum(second / whole - mean**2, 0.0))
        mean = means_of_rows(self._whole(), column, values)
        impossible = np.isnan(mean)
        if impossible.any():
            usual = average_cells(self.posterior_, values[impossible], [column])[column]
            mean[impossible] = usual[:, 1] / usual[:, 0]
        return mean

    def predict_interval(self, X: Any, coverage: float = 0.9) -> Array:
        """Interval that holds the target of every row with a given probability.

        It has equal tails, and holds the target itself: its spread as well as what is not known of
        the network.

        Parameters
        ----------
        X : array or data frame of shape (rows, columns)
        coverage : float, default=0.9
            Probability that the target lies in the interval.

        Returns
        -------
        ndarray of shape (rows, 2)
            Lower and upper ends.

        Examples
        --------
        >>> from bayesspn.examples import load_patients
        >>> table = load_patients()
        >>> model = SPNRegressor(chains=1, burn_in=20, draws=5, random_state=0)
        >>> model = model.fit(table[["ill", "age"]], table["visits"])
        >>> ends = model.predict_interval(table[["ill", "age"]], coverage=0.8)
        >>> inside = (ends[:, 0] <= table["visits"]) & (table["visits"] <= ends[:, 1])
        >>> bool(inside.mean() > 0.6)
        True
        """
        if not isinstance(coverage, float | np.floating) or not 0 < coverage < 1:
            raise ValueError(f"coverage must lie between 0 and 1, such as 0.9, got {coverage!r}")
        return self._predict_quantiles(X, [(1 - coverage) / 2, (1 + coverage) / 2])

    def _predict_quantiles(self, X: Any, quantiles: float | Sequence[float]) -> Array:
        levels = np.atleast_1d(np.asarray(quantiles, dtype=np.float64))
        if levels.ndim != 1 or not ((levels > 0) & (levels < 1)).all():
            raise ValueError(f"quantiles must lie between 0 and 1, got {quantiles!r}")
        values = self._encode_features(X)
        [found] = quantiles_of_rows(self._whole(), values.shape[1] - 1, levels, values, None)
        target = self.schema_.columns[-1]
        if target.continuous:  # as they would be recorded
            found = target.grid.nearest(found)
        return found if np.ndim(quantiles) else found[:, 0]

    def _restore(self) -> None:
        super()._restore()
        target = self.schema_.columns[-1]
        if target.coded:
            raise ValueError(f"the target is of kind {target.kind}, which has no mean")
