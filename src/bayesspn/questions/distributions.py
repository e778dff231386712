"""Whole distributions of columns, as tables: what plots are made of."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import pandas as pd

from bayesspn.arrays import Array
from bayesspn.numerics.checks import check_whole
from bayesspn.prediction.conditionals import ConditionalCircuits
from bayesspn.questions.answers import average_draws, cells_frame, ends_frame, even_distribution
from bayesspn.questions.events import QuestionError
from bayesspn.questions.views import Condition, Viewed


class DistributionQuestions(Viewed):
    """Questions for the distribution of columns."""

    def distribution(
        self, column: Hashable, given: Condition = None, *, interval: float | None = None
    ) -> pd.DataFrame:
        """Distribution of one column, given what is known, as a table.

        Parameters
        ----------
        column : column name
        given : str or dict, default=None
            What is known, such as ``"age > 60"``.
        interval : float, default=None
            Probability of a credible interval to give back as well.

        Returns
        -------
        DataFrame
            For columns with categories or truth values a row for each: ``value`` and
            ``probability``. Others are divided into cells of about equal probability in the
            table as a whole: ``from``, ``to`` and ``probability``. With an interval also ``low``
            and ``high``.

        Examples
        --------
        >>> from bayesspn.examples import fitted_patients
        >>> model = fitted_patients()
        >>> table = model.distribution("sex", given="weight > 80")
        >>> table["value"].tolist()
        ['F', 'M']
        >>> table["probability"].idxmax()
        1
        >>> model.distribution("weight", interval=0.9).columns.tolist()
        ['from', 'to', 'probability', 'low', 'high', 'error']
        """
        view = self._view().knowing(given)
        position = view.position(column)
        marginal = ConditionalCircuits(view.posterior.predictive, {})
        low, high = view.cells(marginal, position)

        def ask(conditional: ConditionalCircuits) -> Array:
            return conditional.cell_masses(position, low, high)

        answer = average_draws(view, ask, interval)
        return cells_frame(view, position, (low, high), answer, interval)

    def distributions(
        self,
        columns: Sequence[Hashable] | None = None,
        given: Condition = None,
        *,
        interval: float | None = None,
        cells: int = 80,
    ) -> dict[Hashable, pd.DataFrame]:
        """Distributions of several columns, given what is known, as plots need them.

        All columns are answered together: what is given is put to the networks once.

        Parameters
        ----------
        columns : list of column names, default=None
            All columns if None.
        given : str or dict, default=None
            What is known, such as ``"age > 60"``.
        interval : float, default=None
            Probability of a credible interval to give back as well.
        cells : int, default=80
            At most how many cells of equal width columns without categories are divided into.

        Returns
        -------
        dict of column name to DataFrame
            As `distribution` gives them, but with cells of equal width, of whole multiples of the
            column's resolution, over the values seen. The outermost cells hold what lies beyond.

        Examples
        --------
        >>> from bayesspn.examples import fitted_patients
        >>> model = fitted_patients()
        >>> tables = model.distributions(["sex", "weight"], given="age > 60", cells=20)
        >>> list(tables)
        ['sex', 'weight']
        >>> {name: float(table["probability"].sum().round(6)) for name, table in tables.items()}
        {'sex': 1.0, 'weight': 1.0}
        """
        check_whole("cells", cells, 1, QuestionError)
        view = self._view().knowing(given)
        return {
            view.schema.columns[position].name: even_distribution(view, position, cells, interval)
            for position in view.positions(columns)
        }

    def cells(self, column: Hashable, cells: int = 80) -> pd.DataFrame:
        """The cells that `distributions` divides a column into, without their probabilities.

        Parameters
        ----------
        column : column name
        cells : int, default=80
            At most how many.

        Returns
        -------
        DataFrame
            ``value`` of columns with categories or truth values, else ``from`` and ``to``.

        Examples
        --------
        >>> from bayesspn.examples import fitted_patients
        >>> model = fitted_patients()
        >>> model.cells("sex")["value"].tolist()
        ['F', 'M']
        >>> cells = model.cells("weight", 6)
        >>> float(cells["from"].iloc[0]), float(cells["to"].iloc[-1])
        (-inf, inf)
        """
        check_whole("cells", cells, 1, QuestionError)
        view = self._view()
        position = view.position(column)
        return ends_frame(view, position, view.even_cells(position, cells))
