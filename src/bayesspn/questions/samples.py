"""New rows: draws from what a model knows."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesspn.arrays import Array
from bayesspn.numerics.checks import check_whole
from bayesspn.numerics.random_numbers import draw_seed
from bayesspn.questions.answers import give_back
from bayesspn.questions.rows import draw_plausible, draw_replicates
from bayesspn.questions.views import Condition, View, Viewed


class SampleQuestions(Viewed):
    """Questions for new rows."""

    def sample(
        self, n_samples: int = 1, given: Condition = None, *, random_state: Any = None
    ) -> Any:
        """Draw new rows, given what is known.

        Numbers stay within their column's plausible range, as expectations do: a row that leaves
        it is drawn again. Columns that something is given of may go beyond. Cells are missing
        only where that is modelled, see `Schema.model_missing`.

        Parameters
        ----------
        n_samples : int, default=1
        given : str or dict, default=None
            What is known; all rows agree with it.
        random_state : int, RandomState or None, default=None

        Returns
        -------
        table of shape (n_samples, columns)
            Of the library and types of the table that was learned from.

        Examples
        --------
        >>> from bayesspn.examples import fitted_patients
        >>> model = fitted_patients()
        >>> rows = model.sample(3, given="age > 60 and sex == F", random_state=0)
        >>> rows["sex"].tolist()
        ['F', 'F', 'F']
        >>> bool(rows["age"].min() > 60)
        True
        """
        view = self._view().knowing(given)
        rows = check_whole("n_samples", n_samples, 1)
        drawn = draw_plausible(view, rows, draw_seed(random_state))
        return give_back(view, leave_holes(view, drawn))

    def replicates(
        self, n_samples: int, tables: int, given: Condition = None, *, random_state: Any = None
    ) -> list[Any]:
        """Draw several tables, each from one network of the posterior: for predictive checks.

        Rows of `sample` come from the average of all networks. Tables of `replicates` differ from
        each other as tables of the same origin would, for all the model knows.

        Parameters
        ----------
        n_samples : int
            Rows of a table.
        tables : int
            Number of tables.
        given : str or dict, default=None
            What is known; all rows agree with it.
        random_state : int, RandomState or None, default=None

        Returns
        -------
        list of tables of shape (n_samples, columns)
            Of the library and types of the table that was learned from.

        Examples
        --------
        >>> from bayesspn.examples import fitted_patients
        >>> model = fitted_patients()
        >>> tables = model.replicates(50, 3, random_state=0)
        >>> [table.shape for table in tables]
        [(50, 5), (50, 5), (50, 5)]
        >>> tables[0].equals(tables[1])
        False
        """
        view = self._view().knowing(given)
        rows, count = check_whole("n_samples", n_samples, 1), check_whole("tables", tables, 1)
        drawn = draw_replicates(view, rows, count, draw_seed(random_state))
        return [give_back(view, leave_holes(view, rows)) for rows in drawn]


def leave_holes(view: View, rows: Array) -> Array:
    """Drawn rows (rows, columns) without the cells that are missing where that is modelled."""
    rows = rows.copy()
    for position, column in enumerate(view.schema):
        source = column.indicates
        if source is not None and source in view.schema:
            about = view.schema.position(source)
            if about not in view.given:  # what is given is known
                rows[rows[:, position] == 1.0, about] = np.nan
    return rows
