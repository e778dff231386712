"""`SPNClassifier`: class probabilities from the joint distribution of features and class."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_y, column_or_1d

from bayesspn.arrays import Array
from bayesspn.estimators.imputation import average_cells
from bayesspn.estimators.parameters import check_parameters
from bayesspn.estimators.targets import TargetEstimator, check_target, name_target, split_schema
from bayesspn.questions.row_answers import classes_of_rows
from bayesspn.tables.schema import ColumnSchema


class SPNClassifier(ClassifierMixin, TargetEstimator):
    """Classifier by a Bayesian sum-product network of features and class together.

    Features of any type; missing cells are welcome when fitting and when predicting. ``joint_``
    answers any other question about features and class.

    Parameters
    ----------
    **parameters
        Those of `BayesianSPN`. A ``schema`` describes the features; the class is a category.

    Attributes
    ----------
    classes_ : ndarray of shape (classes,)
    joint_ : Conditional
        The joint distribution; the class is the last column.
    schema_, posterior_, graph_, rhat_, trace_, n_features_in_, feature_names_in_
        As of `BayesianSPN`.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesspn import SPNClassifier
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 150)
    >>> X = np.column_stack([y + rng.normal(0, 0.3, 150), rng.normal(size=150)])
    >>> model = SPNClassifier(chains=1, burn_in=50, draws=20, random_state=0).fit(X, y)
    >>> model.predict([[1.1, np.nan], [-0.1, 0.4]])
    array([1, 0])
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Sample the posterior given a table and its classes.

        Parameters
        ----------
        X : array or data frame of shape (rows, columns)
        y : array of shape (rows,)
            Classes: text, numbers or truth values.
        sample_weight : array of shape (rows,), default=None
            How many rows each row counts as. Whole numbers are exact, others are rounded up or down
            at random, right on average. Divide the weights of a survey by their mean.

        Examples
        --------
        >>> from bayesspn.examples import load_patients
        >>> table = load_patients()
        >>> model = SPNClassifier(chains=1, burn_in=20, draws=5, random_state=0)
        >>> model = model.fit(table[["weight", "visits"]], table["sex"])
        >>> model.classes_.tolist()
        ['F', 'M']
        """
        check_parameters(self)
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        name = name_target(X, y)
        y = column_or_1d(y, warn=True)
        check_target(y, name)
        _check_y(y, estimator=self)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        features, _ = split_schema(self, name)
        target = ColumnSchema(
            name, "category", categories=tuple(self.classes_.tolist()), dtype=_dtype(self.classes_)
        )
        self._learn_with_target(X, target, codes.astype(np.float64), features, sample_weight)
        return self

    def predict_proba(self, X: Any, interval: float | None = None) -> Any:
        """Probability of every class, missing cells summed out.

        Rows that the model holds impossible get how common the classes are.

        Parameters
        ----------
        X : array or data frame of shape (rows, columns)
        interval : float, default=None
            Probability of a credible interval to give back as well: how sure the model is of the
            probabilities themselves.

        Returns
        -------
        ndarray of shape (rows, classes), or Answer of these
            The ends of an interval are NaN for rows that the model holds impossible.

        Examples
        --------
        >>> import pandas as pd
        >>> from bayesspn.examples import load_patients
        >>> table = load_patients()
        >>> model = SPNClassifier(chains=1, burn_in=20, draws=5, random_state=0)
        >>> model = model.fit(table[["weight", "visits"]], table["sex"])
        >>> new = pd.DataFrame({"weight": [55.0, 90.0], "visits": [1, None]})
        >>> light, heavy = model.predict_proba(new)
        >>> bool(light[0] > heavy[0])  # the probability of the first class, F
        True
        >>> sure = model.predict_proba(new, interval=0.9)
        >>> bool((sure.low < sure.high).all())
        True
        """
        values = self._encode_features(X)
        column = values.shape[1] - 1
        found = classes_of_rows(self._whole(), column, values, interval)
        proba = found if interval is None else found.value
        impossible = np.isnan(proba).any(axis=1)
        if impossible.any():
            usual = average_cells(self.posterior_, values[impossible], [column])[column]
            # a single class has a second code in the model, for classes never seen
            usual = usual[:, : len(self.classes_)]
            proba[impossible] = usual / usual.sum(axis=1, keepdims=True)
        return found

    def predict_log_proba(self, X: Any) -> Array:
        """Log probability of every class, missing cells summed out.

        Parameters
        ----------
        X : array or data frame of shape (rows, columns)

        Returns
        -------
        ndarray of shape (rows, classes)

        Examples
        --------
        >>> from bayesspn.examples import load_patients
        >>> table = load_patients()
        >>> model = SPNClassifier(chains=1, burn_in=20, draws=5, random_state=0)
        >>> model = model.fit(table[["weight", "visits"]], table["sex"])
        >>> log_proba = model.predict_log_proba(table[["weight", "visits"]])
        >>> log_proba.shape
        (200, 2)
        >>> bool((log_proba <= 0).all())
        True
        """
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    def predict(self, X: Any) -> NDArray[Any]:
        """Most probable class of every row.

        Parameters
        ----------
        X : array or data frame of shape (rows, columns)

        Returns
        -------
        ndarray of shape (rows,)

        Examples
        --------
        >>> import pandas as pd
        >>> from bayesspn.examples import load_patients
        >>> table = load_patients()
        >>> model = SPNClassifier(chains=1, burn_in=20, draws=5, random_state=0)
        >>> model = model.fit(table[["weight", "visits"]], table["sex"])
        >>> new = pd.DataFrame({"weight": [55.0, 90.0], "visits": [1, None]})
        >>> model.predict(new).tolist()
        ['F', 'M']
        """
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def _restore(self) -> None:
        super()._restore()
        target = self.schema_.columns[-1]
        if target.kind != "category":
            raise ValueError(f"the target is of kind {target.kind}, which has no classes")
        self.classes_ = np.array(target.categories)


def _dtype(classes: NDArray[Any]) -> str | None:
    """Type of the class column, if it is one that tables know."""
    return str(classes.dtype) if classes.dtype.kind in "iuf" else None
