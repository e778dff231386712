"""The questions that a fitted model, or a part of it, answers.

`Questions` is shared by the estimators and by `Conditional`, which is what is left of a model once
columns are chosen (`marginal`) or something is known (`condition`).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from bayesspn.arrays import Array
from bayesspn.prediction.conditionals import ConditionalCircuits
from bayesspn.prediction.most_probable import most_probable
from bayesspn.prediction.value_sets import ValueSet, include_exclude
from bayesspn.questions.anomalies import AnomalyQuestions
from bayesspn.questions.answers import (
    answers_frame,
    average_views,
    column_mode,
    column_quantile,
    expected_value,
    give_back,
    is_exact,
    is_number,
    read_levels,
    several,
)
from bayesspn.questions.distributions import DistributionQuestions
from bayesspn.questions.events import QuestionError
from bayesspn.questions.explanations import ExplanationQuestions
from bayesspn.questions.pairs import PairQuestions
from bayesspn.questions.row_answers import (
    is_table,
    row_expectations,
    row_probabilities,
    row_quantiles,
)
from bayesspn.questions.rows import (
    log_conditional,
    log_conditional_draws,
)
from bayesspn.questions.samples import SampleQuestions
from bayesspn.questions.soft import is_soft, soft_views
from bayesspn.questions.uncertainty import Answer, monte_carlo_error, spread_draws
from bayesspn.questions.views import Condition, View
from bayesspn.tables.cells import shorten


class Questions(
    DistributionQuestions, PairQuestions, SampleQuestions, AnomalyQuestions, ExplanationQuestions
):
    """Questions about a joint distribution; see `BayesianSPN` for what is what."""

    def log_prob(self, X: Any, given: Condition = None, *, interval: float | None = None) -> Any:
        """Log density of rows, given what is known.

        Parameters
        ----------
        X : array or data frame of shape (rows, columns)
            Missing cells are summed out, and so are columns that a frame lacks.
        given : str or dict, default=None
            What is known, such as ``{"age": (30, 40)}`` or ``"age > 30 and sex == F"``.
        interval : float, default=None
            Probability of a credible interval to give back as well.

        Returns
        -------
        ndarray of shape (rows,), or Answer of these

        Examples
        --------
        >>> import pandas as pd
        >>> from bayesspn.examples import fitted_patients
        >>> model = fitted_patients()
        >>> ages = pd.DataFrame({"age": [30, 70]})
        >>> young, old = model.log_prob(ages, given="ill")
        >>> bool(old > young)
        True
        """
        view = self._view().knowing(given)
        values = view.encode_evidence(X)
        result = log_conditional(view, values)
        if interval is None:
            return result
        said = log_conditional_draws(view, values)
        error = monte_carlo_error(view.posterior, said.T)
        return Answer(result, *spread_draws(said, interval), error)

    def probability(
        self,
        event: str | Mapping[Hashable, Any],
        given: Any = None,
        *,
        interval: float | None = None,
    ) -> Any:
        """Probability of an event, given what is known.

        Parameters
        ----------
        event : str or dict
            A conjunction of comparisons, ranges and sets: ``"income > 50 and sex == 'F'"``,
            ``"30 <= age < 40"``, ``{"job": ["clerk", "nurse"]}``; text may have alternatives,
            ``"age > 60 or smoker"``. Equality with a number means
            recorded as that number. Text may go on with a bar and what is given:
            ``"income > 50 | sex == 'F'"``.
        given : str, dict or table, default=None
            What is known, in the same form. For a table, one answer for every row, given its other
            cells: missing cells are summed out, and cells of the event's own columns are ignored.
            In a dict, a distribution may stand for a value: ``{"job": {"clerk": 0.7, "cook":
            0.3}}`` averages over its values, which exclude each other (Jeffrey's rule).
        interval : float, default=None
            Probability of a credible interval to give back as well.

        Returns
        -------
        float or Answer
            Of arrays of shape (rows,) if a table is given; NaN for rows that have probability zero.

        Examples
        --------
        >>> from bayesspn.examples import fitted_patients
        >>> model = fitted_patients()
        >>> old = model.probability("ill", given="age > 60", interval=0.9)
        >>> 0 < old.low < old.value < old.high < 1
        True
        >>> model.probability("ill | age < 40") < old.low
        True
        >>> import pandas as pd
        >>> rows = pd.DataFrame({"age": [30, 70], "sex": ["F", None]})
        >>> young, older = model.probability("ill", given=rows)
        >>> bool(young < older)
        True
        """
        view = self._view()
        if isinstance(event, str):
            events, view = view.alternatives(event)
        else:
            events = [view.event(event)]
        if is_table(given):
            return row_probabilities(view, events, given, interval)
        views = soft_views(view, given) if is_soft(given) else [(1.0, view.knowing(given))]
        terms = include_exclude(events)

        def ask(conditional: ConditionalCircuits) -> Array:
            if len(terms) == 1:
                return conditional.probability(terms[0][1])
            impossible = np.where(np.isneginf(conditional.log_probability), np.nan, 0.0)
            parts = [sign * conditional.probability(term) for sign, term in terms]
            return np.clip(sum(parts, impossible), 0.0, 1.0)

        return average_views(views, ask, interval)

    def expectation(
        self,
        columns: Hashable | Sequence[Hashable] | None = None,
        given: Any = None,
        *,
        interval: float | None = None,
    ) -> Any:
        """Expected value of one or more columns, given what is known.

        Expectations are within the column's plausible range: that of the values seen, and as much
        again on both sides. Heavy tails need not have a mean.

        Parameters
        ----------
        columns : column name or list of these, default=None
            Numbers, times, truth values, or categories that are numbers; all such columns if None.
        given : str, dict or table, default=None
            What is known, such as ``"sex == F"``. For a table, one answer for every row, given its
            other cells; those of the column itself are ignored. A dict may give distributions, as
            for `probability`.
        interval : float, default=None
            Probability of a credible interval to give back as well.

        Returns
        -------
        number or time, or Answer
            For one column; arrays of shape (rows,) if a table is given.
        DataFrame of shape (columns, 1 or 3)
            For several: ``value`` and, with an interval, ``low`` and ``high``. If a table is given,
            a frame of shape (rows, columns), or an Answer of these.

        Examples
        --------
        >>> from bayesspn.examples import fitted_patients
        >>> model = fitted_patients()
        >>> women = model.expectation("weight", given="sex == F")
        >>> women < model.expectation("weight", given="sex == M")
        True
        >>> model.expectation(given="sex == F").index.tolist()  # there is no mean of the sex
        ['age', 'weight', 'ill', 'visits']
        """
        rows = is_table(given)
        view = self._view()
        views = [(1.0, view)]
        if not rows:
            views = soft_views(view, given) if is_soft(given) else [(1.0, view.knowing(given))]
        if not several(columns):
            position = view.position(columns)
            if rows:
                return row_expectations(view, [position], True, given, interval)
            return expected_value(views, position, interval)
        positions = view.positions(columns)  # type: ignore[arg-type]
        if columns is None:
            positions = [p for p in positions if is_number(view.schema.columns[p])]
        if rows:
            return row_expectations(view, positions, False, given, interval)
        answers = [expected_value(views, position, interval) for position in positions]
        return answers_frame(view, positions, answers, interval)

    def quantile(
        self,
        column: Hashable,
        q: float | Sequence[float] = 0.5,
        given: Any = None,
        *,
        interval: float | None = None,
    ) -> Any:
        """Quantiles of a column, given what is known.

        Parameters
        ----------
        column : column name
            Numbers, times, or categories with an order.
        q : float or sequence of float, default=0.5
            Levels between 0 and 1.
        given : str, dict or table, default=None
            What is known, such as ``"sex == F"``. For a table, one answer for every row, given its
            other cells; those of the column itself are ignored.
        interval : float, default=None
            Probability of a credible interval to give back as well.

        Returns
        -------
        number, time or category, or a list of these for several levels; or Answer
            If a table is given, arrays of shape (rows,) or (rows, levels). They are exact up to a
            thousandth of the column's own distribution.

        Examples
        --------
        >>> from bayesspn.examples import fitted_patients
        >>> model = fitted_patients()
        >>> low, median, high = model.quantile("weight", [0.1, 0.5, 0.9], given="sex == F")
        >>> low < median < high
        True
        >>> model.quantile("weight", given="sex == M") > median
        True
        """
        view = self._view() if is_table(given) else self._view().knowing(given)
        position = view.position(column)
        described = view.schema.columns[position]
        if described.kind == "category" and not (described.ordered or is_number(described)):
            raise QuestionError(
                f"column {shorten(column)} has no order, so it has no quantiles; ask for a "
                "probability or the mode"
            )
        levels = read_levels(q)
        if is_table(given):
            found = row_quantiles(view, position, levels, given, interval)
            if np.ndim(q):
                return found
            return found[:, 0] if interval is None else Answer(*(part[:, 0] for part in found[:3]))
        answers = [column_quantile(view, position, float(level), interval) for level in levels]
        if np.ndim(q) == 0:
            return answers[0]
        if interval is None:
            return answers
        value, low, high = (list(part) for part in zip(*answers, strict=True))
        errors = [answer.error for answer in answers]
        return Answer(value, low, high, errors, answers[0].effective_draws)

    def mode(
        self,
        columns: Hashable | Sequence[Hashable] | None = None,
        given: Condition = None,
        *,
        interval: float | None = None,
    ) -> Any:
        """Most probable value of a column, or most probable completion of a row.

        The best completion of several columns is found by coordinate ascent from several starts:
        no change of a single column improves it.

        Parameters
        ----------
        columns : column name or list of these, default=None
            What to fill in; by default everything that is not given.
        given : str or dict, default=None
            What is known, such as ``{"age": 70, "sex": "F"}``.
        interval : float, default=None
            For one column: probability of a credible interval, not of the value but of its
            probability (its density, for continuous columns).

        Returns
        -------
        value
            For one column. With an interval, a tuple of the value and an Answer: its probability.
        table of shape (1, columns)
            For several: a row with what is given and the most probable rest.

        Examples
        --------
        >>> from bayesspn.examples import fitted_patients
        >>> model = fitted_patients()
        >>> model.mode("sex", given={"weight": 90})
        'M'
        >>> row = model.mode(given={"age": 70, "sex": "F"})
        >>> row[["age", "sex"]].values.tolist()
        [[70, 'F']]
        >>> bool(row.isna().any(axis=None))
        False
        """
        view = self._view().knowing(given)
        if not several(columns):
            return column_mode(view, view.position(columns), interval)
        if interval is not None:
            raise QuestionError("an interval needs a single column; ask for log_prob of the row")
        wanted = [p for p in view.positions(columns) if not is_exact(view, p)]  # type: ignore[arg-type]
        row = np.full((1, len(view.schema)), np.nan)
        for position, known in view.given.items():
            if not isinstance(known, ValueSet):
                row[0, position] = known
        if wanted:
            row[0, wanted] = most_probable(view.conditional, wanted)
        return give_back(view, row)

    def marginal(self, columns: Sequence[Hashable]) -> Conditional:
        """The joint distribution of some columns; answers the same questions.

        Parameters
        ----------
        columns : list of column names

        Examples
        --------
        >>> from bayesspn.examples import fitted_patients
        >>> model = fitted_patients()
        >>> model.marginal(["age", "ill"])
        Conditional('age', 'ill')
        >>> model.marginal(["age", "ill"]).sample(2, random_state=0).columns.tolist()
        ['age', 'ill']
        """
        return Conditional(self._view().of_columns(columns))

    def condition(self, given: Condition) -> Conditional:
        """The joint distribution, given what is known; answers the same questions.

        Parameters
        ----------
        given : str or dict
            What is known, such as ``{"age": (30, 40)}`` or ``"age > 30 and sex == F"``.

        Examples
        --------
        >>> from bayesspn.examples import fitted_patients
        >>> model = fitted_patients()
        >>> women = model.condition({"sex": "F"})
        >>> women
        Conditional('age', 'sex', 'weight', 'ill', 'visits' | 'sex' = 'F')
        >>> women.expectation("weight") < model.expectation("weight")
        True
        """
        view = self._view().knowing(given)
        view.conditional  # noqa: B018  (what is impossible is found now)
        return Conditional(view)


class Conditional(Questions):
    """Part of a fitted model: some of its columns, and what is known.

    Made by `BayesianSPN.marginal` and `BayesianSPN.condition`.

    Examples
    --------
    >>> from bayesspn.examples import fitted_patients
    >>> old = fitted_patients().condition("age > 60").marginal(["sex", "ill"])
    >>> old
    Conditional('sex', 'ill' | 'age' in [60.5, inf])
    >>> old.mode("ill")
    True
    """

    def __init__(self, view: View) -> None:
        self._viewed = view

    def _view(self) -> View:
        return self._viewed

    def __repr__(self) -> str:
        view = self._viewed
        known = " and ".join(view.describe(column) for column in view.given)
        names = ", ".join(shorten(name, 20) for name in view.shown.names[:6])
        more = f", … ({len(view.columns)} in all)" if len(view.columns) > 6 else ""
        return f"Conditional({names}{more}" + (f" | {known})" if known else ")")
