"""Averages over graphs: what the best graphs say together, each by its probability."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import logsumexp
from sklearn.utils import check_random_state

from bayesspn.arrays import Array
from bayesspn.estimators.density import BayesianSPN
from bayesspn.numerics.checks import check_whole
from bayesspn.numerics.random_numbers import draw_seed
from bayesspn.questions.answers import give_back
from bayesspn.questions.rows import draw_plausible


class GraphAverage:
    """Fitted models of several graphs as one mixture, weighted by the graphs' probabilities.

    `GraphSelection.average` makes them.

    Parameters
    ----------
    names : sequence of str
        Of the graphs.
    models : sequence of BayesianSPN
        Fitted to the same table.
    weights : sequence of float
        Made to sum to 1.

    Attributes
    ----------
    names_ : tuple of str
    models_ : tuple of BayesianSPN
    weights_ : ndarray of shape (graphs,)

    Examples
    --------
    >>> from bayesspn import BayesianSPN, RegionGraph
    >>> from bayesspn.examples import fitted_patients, load_patients
    >>> settings = {"chains": 1, "burn_in": 20, "draws": 5, "random_state": 0}
    >>> small = BayesianSPN(graph=RegionGraph(0, leaves=2), **settings).fit(load_patients())
    >>> average = GraphAverage(["large", "small"], [fitted_patients(), small], [0.6, 0.2])
    >>> average
    GraphAverage(75.0% large; 25.0% small)
    """

    def __init__(
        self, names: Sequence[str], models: Sequence[BayesianSPN], weights: Sequence[float]
    ) -> None:
        self.names_ = tuple(names)
        self.models_ = tuple(models)
        self.weights_ = np.array(weights, dtype=np.float64) / np.sum(weights)

    def score_samples(self, X: Any) -> Array:
        """Log density of every row, averaged over graphs; missing cells are summed out.

        Parameters
        ----------
        X : array or data frame of shape (rows, columns)

        Returns
        -------
        ndarray of shape (rows,)

        Examples
        --------
        >>> from bayesspn import BayesianSPN, RegionGraph
        >>> from bayesspn.examples import fitted_patients, load_patients
        >>> settings = {"chains": 1, "burn_in": 20, "draws": 5, "random_state": 0}
        >>> small = BayesianSPN(graph=RegionGraph(0, leaves=2), **settings).fit(load_patients())
        >>> average = GraphAverage(["large", "small"], [fitted_patients(), small], [0.6, 0.2])
        >>> rows = load_patients().head(3)
        >>> each = [model.score_samples(rows) for model in average.models_]
        >>> bool((average.score_samples(rows) <= np.maximum(*each)).all())
        True
        """
        scores = np.array([model.score_samples(X) for model in self.models_])
        return np.asarray(logsumexp(scores, b=self.weights_[:, None], axis=0))

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log density of the rows.

        Parameters
        ----------
        X : array or data frame of shape (rows, columns)
        y : ignored
            For scikit-learn's interface.

        Examples
        --------
        >>> from bayesspn import BayesianSPN, RegionGraph
        >>> from bayesspn.examples import fitted_patients, load_patients
        >>> settings = {"chains": 1, "burn_in": 20, "draws": 5, "random_state": 0}
        >>> small = BayesianSPN(graph=RegionGraph(0, leaves=2), **settings).fit(load_patients())
        >>> average = GraphAverage(["large", "small"], [fitted_patients(), small], [0.6, 0.2])
        >>> average.score(load_patients().assign(weight=150.0)) < average.score(load_patients())
        True
        """
        return float(np.mean(self.score_samples(X)))

    def sample(self, n_samples: int = 1, *, random_state: Any = None) -> Any:
        """Draw new rows, each from one of the graphs.

        Parameters
        ----------
        n_samples : int, default=1
        random_state : int, RandomState or None, default=None

        Returns
        -------
        table of shape (n_samples, columns)
            Of the library and types of the table that was learned from.

        Examples
        --------
        >>> from bayesspn import BayesianSPN, RegionGraph
        >>> from bayesspn.examples import fitted_patients, load_patients
        >>> settings = {"chains": 1, "burn_in": 20, "draws": 5, "random_state": 0}
        >>> small = BayesianSPN(graph=RegionGraph(0, leaves=2), **settings).fit(load_patients())
        >>> average = GraphAverage(["large", "small"], [fitted_patients(), small], [0.6, 0.2])
        >>> average.sample(4, random_state=0).columns.tolist()
        ['age', 'sex', 'weight', 'ill', 'visits']
        """
        check_whole("n_samples", n_samples, 1)
        rng = check_random_state(random_state)
        counts = rng.multinomial(n_samples, self.weights_)
        parts = [
            draw_plausible(model._whole(), int(count), draw_seed(rng))
            for model, count in zip(self.models_, counts, strict=True)
            if count
        ]
        rows = np.concatenate(parts)[rng.permutation(n_samples)]
        return give_back(self.models_[0]._whole(), rows)

    def __repr__(self) -> str:
        parts = [
            f"{weight:.1%} {name}" for weight, name in zip(self.weights_, self.names_, strict=True)
        ]
        return f"GraphAverage({'; '.join(parts)})"

    def _repr_html_(self) -> str:
        from bayesspn.notebooks import html_table

        rows = zip(self.names_, (f"{weight:.1%}" for weight in self.weights_), strict=True)
        return html_table(("graph", "weight"), rows)
