"""Why the model says what it says: which cells moved an answer, and which rows are alike."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from bayesspn.arrays import Array, IntArray
from bayesspn.numerics.checks import check_whole
from bayesspn.prediction.similarity import shared_leaves
from bayesspn.prediction.value_sets import ValueSet
from bayesspn.questions.events import QuestionError
from bayesspn.questions.views import Condition, View, Viewed

#: Rows that are compared with others at a time, which bounds memory.
_COMPARED_TOGETHER = 512


class ExplanationQuestions(Viewed):
    """Questions for reasons."""

    def explain(self, event: str | Mapping[Hashable, Any], given: Condition = None) -> pd.DataFrame:
        """Which pieces of what is given moved the probability of an event, and by how much.

        Each piece is left out in turn; what is left is summed over, exactly. Pieces that say the
        same can stand in for each other: each of them alone may then seem to matter little.

        Parameters
        ----------
        event : str or dict
            As for `probability`; text may go on with a bar and what is given.
        given : str or dict, default=None
            What is known.

        Returns
        -------
        DataFrame
            A row per column that something is given of, indexed by its name, what moved the event
            most first: ``given`` (what is known, as text), ``probability`` (of the event given
            everything), ``without`` (given everything else) and ``log_odds``, by how much the piece
            raises the logarithm of the odds: positive if it speaks for the event.

        Examples
        --------
        >>> from bayesspn.examples import fitted_patients
        >>> model = fitted_patients()
        >>> reasons = model.explain("ill", given={"age": 70, "sex": "F", "visits": 0})
        >>> sorted(reasons.index)
        ['age', 'sex', 'visits']
        >>> bool(reasons.loc["age", "log_odds"] > 0 > reasons.loc["visits", "log_odds"])
        True
        """
        view = self._view()
        if isinstance(event, str):
            wanted, view = view.question(event)
        else:
            wanted = view.event(event)
        view = view.knowing(given)
        if not view.given:
            raise QuestionError("nothing is given, so nothing moved the answer; say what is known")
        inside, outside = _log_both(view, wanted)
        rows = []
        for column in view.given:
            rest = {other: known for other, known in view.given.items() if other != column}
            other_inside, other_outside = _log_both(replace(view, given=rest), wanted)
            with np.errstate(invalid="ignore"):
                moved = (inside - outside) - (other_inside - other_outside)
            rows.append(
                {
                    "given": view.describe(column),
                    "probability": float(np.exp(inside)),
                    "without": float(np.exp(other_inside)),
                    "log_odds": float(moved),
                }
            )
        names = [view.schema.columns[column].name for column in view.given]
        table = pd.DataFrame(rows, index=pd.Index(names))
        return table.iloc[np.argsort(-np.abs(table["log_odds"].to_numpy()), kind="stable")]

    def similarity(
        self, X: Any, Y: Any = None, *, columns: Sequence[Hashable] | None = None
    ) -> Array:
        """How alike rows are: the probability that they come from the same parts of the network.

        Parameters
        ----------
        X : array or data frame of shape (rows, columns)
            Missing cells are summed out, and so are columns that a frame lacks.
        Y : array or data frame of shape (rows, columns), default=None
            Rows to compare with; the same if None.
        columns : list of column names, default=None
            Columns in which rows are to be alike; all if None. Other cells still tell where a row
            belongs.

        Returns
        -------
        ndarray of shape (rows of X, rows of Y)
            Between 0 and 1: the probability that a column of both rows comes from the same leaf,
            averaged over columns and draws. NaN for impossible rows.

        Examples
        --------
        >>> import pandas as pd
        >>> from bayesspn.examples import fitted_patients
        >>> model = fitted_patients()
        >>> rows = pd.DataFrame({"age": [70, 75, 25], "visits": [6, 7, 0]})
        >>> alike = model.similarity(rows)
        >>> bool(alike[0, 1] > alike[0, 2])
        True
        """
        view = self._view()
        values = view.encode(X)
        others = values if Y is None else view.encode(Y)
        return _similarities(view, values, others, columns)

    def nearest(
        self,
        X: Any,
        table: Any,
        number: int = 5,
        *,
        columns: Sequence[Hashable] | None = None,
    ) -> pd.DataFrame:
        """The rows of a table that are most like given rows.

        Parameters
        ----------
        X : array or data frame of shape (rows, columns)
            Rows to find others for.
        table : array or data frame of shape (rows, columns)
            Where to look.
        number : int, default=5
            How many to find for each row.
        columns : list of column names, default=None
            As for `similarity`.

        Returns
        -------
        DataFrame
            ``row`` of X, and ``match`` of the table (labels of a pandas frame, else positions), and
            their ``similarity``; for every row the most similar first.

        Examples
        --------
        >>> from bayesspn.examples import fitted_patients, load_patients
        >>> model = fitted_patients()
        >>> import pandas as pd
        >>> found = model.nearest(pd.DataFrame({"age": [70], "visits": [6]}), load_patients(), 3)
        >>> found.columns.tolist(), len(found)
        (['row', 'match', 'similarity'], 3)
        """
        check_whole("number", number, 1, QuestionError)
        view = self._view()
        values, others = view.encode(X), view.encode(table)
        alike = np.nan_to_num(_similarities(view, values, others, columns), nan=-1.0)
        best = np.argsort(-alike, axis=1, kind="stable")[:, :number]
        rows = np.repeat(np.arange(len(values)), best.shape[1])
        return pd.DataFrame(
            {
                "row": _labels(X, rows),
                "match": _labels(table, best.ravel()),
                "similarity": alike[rows, best.ravel()],
            }
        )


def _similarities(
    view: View, values: Array, others: Array, columns: Sequence[Hashable] | None
) -> Array:
    positions = view.positions(columns)
    if not positions:
        raise QuestionError("name at least one column")
    circuits = view.posterior.thinned.predictive
    parts = [np.empty((0, len(others)))]
    for start in range(0, len(values), _COMPARED_TOGETHER):
        some = values[start : start + _COMPARED_TOGETHER]
        across = [
            shared_leaves(circuits, some, others[begin : begin + _COMPARED_TOGETHER], positions)
            for begin in range(0, len(others), _COMPARED_TOGETHER)
        ]
        parts.append(np.concatenate([np.empty((len(some), 0)), *across], axis=1))
    return np.concatenate(parts)


def _labels(table: Any, positions: IntArray) -> Any:
    return table.index[positions] if isinstance(table, pd.DataFrame) else positions


def _log_both(view: View, event: Mapping[int, ValueSet]) -> tuple[float, float]:
    """Log probability of an event, and of its opposite, given what a view knows."""
    conditional = view.conditional
    inside = conditional.log_joint(event)
    whole = conditional.log_probability
    log_inside = float(np.logaddexp.reduce(inside) - np.logaddexp.reduce(whole))
    # by draw: differences of averages would lose the digits of a small rest
    with np.errstate(divide="ignore"):
        rest = whole + np.log(-np.expm1(np.minimum(inside - whole, 0.0)))
    rest[np.isneginf(whole)] = -np.inf
    return log_inside, float(np.logaddexp.reduce(rest) - np.logaddexp.reduce(whole))
