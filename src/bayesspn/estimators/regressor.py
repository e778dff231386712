"""`SPNRegressor`: expected targets from the joint distribution of features and target."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import _check_y, column_or_1d

from bayesspn.estimators.imputation import average_cells
from bayesspn.estimators.parameters import check_parameters
from bayesspn.estimators.targets import TargetEstimator, check_target, name_target, split_schema
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

    def fit(self, X: Any, y: Any) -> Self:
        """Sample the posterior given a table and its targets.

        Parameters
        ----------
        X : array or data frame of shape (rows, columns)
        y : array of shape (rows,)
            Numbers.

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
        y = _check_y(y, y_numeric=True, estimator=self).astype(np.float64)
        if not len(y):
            raise ValueError("Found array with 0 sample(s): there are no rows to learn from")
        features, target = split_schema(self, name)
        if target is None:
            target = ColumnSchema(name, "real", families_by_sign(y), dtype="float64")
        self._learn_with_target(X, target, y, features)
        return self

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Expected target of every row, missing cells averaged over.

        Parameters
        ----------
        X : array or data frame of shape (rows, columns)
        return_std : bool, default=False
            Whether to give the standard deviation of the target, too.

        Returns
        -------
        mean : ndarray of shape (rows,)
        std : ndarray of shape (rows,)
            If asked for.

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
        """
        values = self._encode_features(X)
        column = values.shape[1] - 1
        whole, first, second = average_cells(self.posterior_, values, [column])[column].T
        mean = first / whole
        if not return_std:
            return mean
        return mean, np.sqrt(np.maximum(second / whole - mean**2, 0.0))

    def _restore(self) -> None:
        super()._restore()
        target = self.schema_.columns[-1]
        if target.coded:
            raise ValueError(f"the target is of kind {target.kind}, which has no mean")
