"""How unusual rows and cells are."""

from __future__ import annotations

from typing import Any

import pandas as pd

from bayesspn.arrays import Array
from bayesspn.numerics.random_numbers import draw_seed
from bayesspn.questions.rows import anomaly_scores, rarity_of
from bayesspn.questions.surprises import cell_surprises
from bayesspn.questions.views import Condition, Viewed


class AnomalyQuestions(Viewed):
    """Questions for what is unusual."""

    def anomaly_score(self, X: Any, *, random_state: Any = 0) -> Array:
        """How much less likely rows are than the model expects of rows with the same cells.

        Parameters
        ----------
        X : array or data frame of shape (rows, columns)
            Rows with missing cells are compared with rows that lack the same cells.
        random_state : int, RandomState or None, default=0
            For the rows compared with.

        Returns
        -------
        ndarray of shape (rows,)
            Standard deviations of the log density below its mean: about 0 for common rows, above
            3 for rare ones. Infinite for impossible rows.

        Examples
        --------
        >>> import pandas as pd
        >>> from bayesspn.examples import fitted_patients
        >>> model = fitted_patients()
        >>> rows = pd.DataFrame({"age": [70, 25], "visits": [6, 12]})
        >>> common, rare = model.anomaly_score(rows)  # the young seldom come so often
        >>> bool(rare > common + 1)
        True
        """
        view = self._view()
        seed = draw_seed(random_state)
        return anomaly_scores(view, view.encode_evidence(X), seed)

    def rarity(self, given: Condition) -> float:
        """How unusual what is given is.

        Parameters
        ----------
        given : str or dict
            What is known. Exact values are compared with those of rows that agree with the rest.

        Returns
        -------
        float
            Share of such rows that are at most as likely as the exact values together: 0.01 if one
            row in a hundred is as unusual. It is found with five hundred drawn rows, and not
            smaller than one in as many. 1 if no exact values are given.

        Examples
        --------
        >>> from bayesspn.examples import fitted_patients
        >>> model = fitted_patients()
        >>> model.rarity({"age": 30, "visits": 12}) < 0.1 < model.rarity({"age": 30, "visits": 1})
        True
        >>> model.rarity("age > 60")  # a range is not an exact value
        1.0
        """
        view = self._view().knowing(given)
        view.conditional  # noqa: B018  (what is impossible is refused)
        return rarity_of(view)

    def surprise(self, X: Any) -> Any:
        """How unusual every cell is, given the other cells of its row.

        Parameters
        ----------
        X : array or data frame of shape (rows, columns)

        Returns
        -------
        DataFrame or ndarray of shape (rows, columns)
            −log of the probability of a value that is at most as likely: 0 is the most likely
            value, 3 one in twenty, 7 one in a thousand. NaN for missing cells.

        Examples
        --------
        >>> from bayesspn.examples import fitted_patients, load_patients
        >>> model = fitted_patients()
        >>> rows = load_patients().head(3).assign(weight=120.0)
        >>> model.surprise(rows).idxmax(axis=1).tolist()
        ['weight', 'weight', 'weight']
        """
        view = self._view()
        values = cell_surprises(view, view.encode(X))[:, list(view.columns)]
        if view.library == "numpy":
            return values
        index = X.index if isinstance(X, pd.DataFrame) else None
        return pd.DataFrame(values, columns=list(view.shown.names), index=index)
