"""`SPNClassifier`: class probabilities from the joint distribution of features and class."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_y, column_or_1d

from bayesspn.estimators.row_questions import score_rows
from bayesspn.estimators.targets import TargetModel, name_target, split_schema
from bayesspn.leaves.family import Array
from bayesspn.tables.schema import ColumnSchema

#: Rows times classes that are scored together.
_SCORED_TOGETHER = 65_536


class SPNClassifier(ClassifierMixin, TargetModel):
    """Classifier by a Bayesian sum-product network of features and class together.

    Features of any type; missing cells are welcome when fitting and when predicting. ``joint_``
    answers any other question about features and class.

    Parameters
    ----------
    **parameters
        Those of `BayesianSPN`. A ``schema`` describes the features, and may describe the class.

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
    >>> model = SPNClassifier(chains=2, burn_in=30, draws=20, thin=1, random_state=0).fit(X, y)
    >>> model.predict([[1.1, np.nan], [-0.1, 0.4]])
    array([1, 0])
    """

    def fit(self, X: Any, y: Any) -> Self:
        """Sample the posterior given a table and its classes.

        Parameters
        ----------
        X : array or data frame of shape (rows, columns)
        y : array of shape (rows,)
            Classes: text, numbers or truth values.
        """
        self._check_parameters()
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        name = name_target(X, y)
        y = column_or_1d(y, warn=True)
        _check_y(y, estimator=self)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        features, _ = split_schema(self, name)
        target = ColumnSchema(
            name, "category", categories=tuple(self.classes_.tolist()), dtype=_dtype(self.classes_)
        )
        self._learn_with_target(X, y, target, codes.astype(np.float64), features)
        return self

    def predict_log_proba(self, X: Any) -> Array:
        """Log probability of every class; shape (rows, classes)."""
        values = self._encode_features(X)
        classes = len(self.classes_)
        together = max(1, _SCORED_TOGETHER // classes)
        parts = [np.empty((0, classes))]
        for start in range(0, len(values), together):
            rows = np.repeat(values[start : start + together], classes, axis=0)
            rows[:, -1] = np.tile(np.arange(float(classes)), len(rows) // classes)
            parts.append(score_rows(self.posterior_, rows).reshape(-1, classes))
        scores = np.concatenate(parts)
        impossible = np.isneginf(scores).all(axis=1)
        if impossible.any():
            # such features tell nothing: what is left is how common the classes are
            prior = np.full((classes, values.shape[1]), np.nan)
            prior[:, -1] = np.arange(classes)
            scores[impossible] = score_rows(self.posterior_, prior)
        return scores - np.logaddexp.reduce(scores, axis=1)[:, None]

    def predict_proba(self, X: Any) -> Array:
        """Probability of every class, missing cells summed out.

        Parameters
        ----------
        X : array or data frame of shape (rows, columns)

        Returns
        -------
        ndarray of shape (rows, classes)
        """
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Most probable class of every row.

        Parameters
        ----------
        X : array or data frame of shape (rows, columns)

        Returns
        -------
        ndarray of shape (rows,)
        """
        best = self.predict_log_proba(X).argmax(axis=1)
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
