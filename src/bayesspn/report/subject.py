"""What a report is about: a model, its table if there is one, and answers several sections need."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bayesspn.plots._checks import draw_tables, thin_rows
from bayesspn.plots._inputs import as_frame, check_model
from bayesspn.questions.events import QuestionError
from bayesspn.questions.wording import count
from bayesspn.tables.encoding import encode_some

if TYPE_CHECKING:
    from collections.abc import Hashable

    from bayesspn.estimators.joint import JointEstimator
    from bayesspn.questions.interface import Conditional

#: Rows among which surprising ones are looked for.
_MOST_ROWS = 5_000

_TABLES = 40

#: Rows drawn to tell what values are like.
_TYPICAL = 400


@dataclass(frozen=True, eq=False)
class Subject:
    """A model and a table.

    Attributes
    ----------
    model : fitted estimator
    data : DataFrame or None
        With the model's columns only.
    unknown : tuple of column names
        Columns of the table that the model does not know.
    """

    model: JointEstimator
    data: pd.DataFrame | None
    unknown: tuple[Hashable, ...] = ()

    @classmethod
    def of(cls, model: JointEstimator, data: Any) -> Subject:
        """Check what is given."""
        check_model(model)
        if data is None:
            return cls(model, None)
        frame = as_frame(data, model.schema_)
        if not len(frame.columns):
            raise QuestionError(
                "the table has none of the model's columns; give the one that was learned from"
            )
        if not len(frame):
            raise QuestionError("the table has no rows; give the one that was learned from")
        encode_some(frame, model.schema_)  # cells that the model cannot read are found now
        names = tuple(getattr(data, "columns", ()))
        return cls(model, frame, tuple(n for n in names if n not in model.schema_))

    @property
    def joint(self) -> Conditional:
        """The joint distribution."""
        return self.model.joint_

    def overview(self) -> str:
        """What it is, in a sentence."""
        posterior = self.model.posterior_
        rows = "" if self.data is None else f"{count(len(self.data), 'row')} of "
        return (
            f"{type(self.model).__name__} of {rows}{count(len(self.model.schema_), 'column')}: "
            f"{count(posterior.n_draws, 'network')} from "
            f"{count(len(posterior.draws), 'chain')}, averaged."
        )

    @cached_property
    def rows(self) -> pd.DataFrame | None:
        """Rows among which surprising ones are looked for."""
        return None if self.data is None else thin_rows(self.data, _MOST_ROWS)

    @cached_property
    def replicates(self) -> list[Any]:
        """Synthetic tables to compare with."""
        return draw_tables(self.model, self.data, _TABLES)

    @cached_property
    def _typical_rows(self) -> pd.DataFrame:
        rows = self.joint.sample(_TYPICAL, random_state=0)
        return as_frame(rows, self.model.schema_)

    def upper_quarter(self, name: Hashable) -> float:
        """Value that about a quarter of rows exceed."""
        return float(self._typical_rows[name].quantile(0.75))

    @cached_property
    def strength(self) -> pd.DataFrame:
        """How strongly columns depend on each other."""
        return self.joint.dependence_strength()

    @cached_property
    def strongest_pairs(self) -> list[tuple[Hashable, Hashable, float]]:
        """Pairs of columns, those that depend on each other most first."""
        values = self.strength.to_numpy()
        names = list(self.strength.columns)
        first, second = np.triu_indices(len(names), 1)
        order = np.argsort(-values[first, second], kind="stable")
        return [(names[first[k]], names[second[k]], values[first[k], second[k]]) for k in order]
