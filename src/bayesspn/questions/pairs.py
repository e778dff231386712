"""How much columns have to do with each other."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from bayesspn.arrays import Array
from bayesspn.prediction.conditionals import ConditionalCircuits
from bayesspn.prediction.entropies import entropies
from bayesspn.prediction.information import joint_masses, mutual_information, pairwise_information
from bayesspn.questions.answers import is_exact, several
from bayesspn.questions.events import QuestionError
from bayesspn.questions.uncertainty import Answer, certain, monte_carlo_error, spread_draws
from bayesspn.questions.views import Condition, Viewed
from bayesspn.tables.cells import shorten

#: Mutual information that matters, and what rows give by chance, in nats over their number.
_DEPENDENT, _BY_CHANCE = 0.01, 5.0

#: Cells per column that dependence is judged by, and draws that judge it.
_DEPENDENCE_CELLS = 12
_DEPENDENCE_DRAWS = 50


class PairQuestions(Viewed):
    """Questions about pairs of columns."""

    def mutual_information(
        self, a: Hashable, b: Hashable, given: Condition = None, *, interval: float | None = None
    ) -> Any:
        """Mutual information of two columns in nats, averaged over the posterior's networks.

        Columns without categories are divided into a hundred cells, so that values above about 4
        nats are underestimated.

        Parameters
        ----------
        a, b : column names
        given : str or dict, default=None
            What is known, such as ``"sex == F"``.
        interval : float, default=None
            Probability of a credible interval to give back as well.

        Returns
        -------
        float or Answer

        Examples
        --------
        >>> from bayesspn.examples import fitted_patients
        >>> model = fitted_patients()
        >>> ill = model.mutual_information("ill", "visits", interval=0.9)
        >>> 0 < ill.low < ill.value < ill.high
        True
        >>> model.mutual_information("sex", "ill") < ill.low
        True
        """
        view = self._view().knowing(given)
        first, second = view.position(a), view.position(b)
        if first == second:
            raise QuestionError(f"name two different columns, got {shorten(a)} twice")
        if is_exact(view, first) or is_exact(view, second):
            return 0.0 if interval is None else certain(0.0)
        cells = {p: view.cells(view.conditional, p) for p in (first, second)}
        joint = joint_masses(view.drawn_conditional, first, cells[first], {second: cells[second]})
        values = mutual_information(joint[second])
        if interval is None:
            return float(values.mean())
        error = float(monte_carlo_error(view.posterior, values))
        low, high = spread_draws(values, interval)
        return Answer(float(values.mean()), float(low), float(high), error)

    def entropy(
        self,
        columns: Hashable | Sequence[Hashable],
        given: Condition = None,
        *,
        knowing: Sequence[Hashable] = (),
        interval: float | None = None,
    ) -> Any:
        """Entropy of one or more columns in nats, averaged over the posterior's networks.

        Parameters
        ----------
        columns : column name or list of these
        given : str or dict, default=None
            What is known, such as ``"sex == F"``.
        knowing : list of column names, default=()
            Columns whose values are known as well, whatever they are: the conditional entropy,
            which is what is left to learn once they have been looked at.
        interval : float, default=None
            Probability of a credible interval to give back as well.

        Returns
        -------
        float or Answer
            Of probabilities for columns with categories and counts, of densities in the columns'
            units for others: the latter may be negative. Up to some thousand combinations of
            categories are summed over; otherwise 512 rows are drawn from each network, always the
            same ones.

        Examples
        --------
        >>> from bayesspn.examples import fitted_patients
        >>> model = fitted_patients()
        >>> alone = model.entropy("ill")
        >>> 0 < model.entropy("ill", knowing=["visits"]) < alone < 0.7  # at most log 2
        True
        >>> both = model.entropy(["ill", "sex"], interval=0.9)
        >>> both.low < both.value < both.high
        True
        """
        view = self._view().knowing(given)
        named: Any = columns
        wanted = view.positions(named) if several(columns) else [view.position(named)]
        rest = view.positions(knowing)
        twice = [p for p in {*wanted, *rest} if [*wanted, *rest].count(p) > 1]
        if twice:
            raise QuestionError(
                f"column {shorten(view.schema.columns[twice[0]].name)} is named twice"
            )
        if not wanted:
            raise QuestionError("name at least one column")
        # what is known exactly has no entropy, and nothing more to tell
        wanted = [p for p in wanted if not is_exact(view, p) and not view.constant(p)]
        rest = [p for p in rest if not is_exact(view, p) and not view.constant(p)]
        if not wanted:
            return 0.0 if interval is None else certain(0.0)
        values = entropies(view.drawn_conditional, wanted, rest)
        mean = float(np.nanmean(values))
        if interval is None:
            return mean
        error = float(monte_carlo_error(view.posterior, values))
        low, high = spread_draws(values, interval)
        return Answer(mean, float(low), float(high), error)

    def dependence(self, threshold: float | None = None) -> pd.DataFrame:
        """Probability that two columns depend on each other, for all pairs.

        Parameters
        ----------
        threshold : float, default=None
            Mutual information in nats from which on columns count as dependent. By default 0.01,
            and 5 over the number of rows: as much as few rows cannot tell from none.

        Returns
        -------
        DataFrame of shape (columns, columns)
            Share of the posterior's draws under which the mutual information of two columns
            exceeds the threshold; 1 on the diagonal.

        Examples
        --------
        >>> from bayesspn.examples import fitted_patients
        >>> model = fitted_patients()
        >>> table = model.dependence()
        >>> bool(table.loc["ill", "visits"] > 0.9 > table.loc["ill", "sex"])
        True
        """
        if threshold is None:
            rows = self._view().posterior.n_rows
            threshold = _DEPENDENT + _BY_CHANCE / max(rows, 1)
        share = (self._information_draws() > threshold).mean(axis=0)
        return self._square_frame(share)

    def dependence_strength(self) -> pd.DataFrame:
        """How strongly two columns depend on each other, for all pairs.

        Returns
        -------
        DataFrame of shape (columns, columns)
            Mutual information I on the scale of correlations, √(1 − exp(−2 I)), averaged over the
            posterior's draws: 0 for independent columns, the absolute correlation for Gaussian
            ones; 1 on the diagonal. Columns without categories are divided into twelve cells, so
            that it stays below 1.

        Examples
        --------
        >>> from bayesspn.examples import fitted_patients
        >>> model = fitted_patients()
        >>> table = model.dependence_strength()
        >>> table.shape
        (5, 5)
        >>> table.loc["ill"].drop("ill").idxmax()
        'visits'
        """
        strength = np.sqrt(-np.expm1(-2.0 * self._information_draws())).mean(axis=0)
        return self._square_frame(strength)

    def _information_draws(self) -> Array:
        """Mutual information of all pairs under some draws; (draws, columns, columns)."""
        view = self._view()
        if view.given:
            raise QuestionError("dependence is of the whole table; ask mutual_information instead")
        circuits = view.posterior.drawn
        step = -(-circuits.n_draws // _DEPENDENCE_DRAWS)
        circuits = circuits.some(slice(0, None, step))
        conditional = ConditionalCircuits(circuits, {})
        cells = {p: view.cells(conditional, p, _DEPENDENCE_CELLS) for p in view.columns}
        return pairwise_information(conditional, cells)

    def _square_frame(self, values: Array) -> pd.DataFrame:
        values = values.copy()
        np.fill_diagonal(values, 1.0)
        names = list(self._view().shown.names)
        return pd.DataFrame(values, index=names, columns=names)
