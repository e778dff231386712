"""What a question is put to: a posterior, the columns that are asked about, and what is known."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import pandas as pd

from bayesspn.arrays import Array
from bayesspn.prediction.cells import CELLS, even_cells
from bayesspn.prediction.conditionals import ConditionalCircuits, ImpossibleGiven
from bayesspn.prediction.posterior import Posterior
from bayesspn.prediction.value_sets import Given, ValueSet
from bayesspn.questions.event_values import MissingNotModelled
from bayesspn.questions.events import QuestionError, read_any, read_event, read_given, read_question
from bayesspn.tables import Schema, as_recorded, decode
from bayesspn.tables.cells import shorten
from bayesspn.tables.encoding import encode_some, forget_constants
from bayesspn.tables.schema import ColumnSchema

#: What is known, as users give it.
#: Seconds beyond which lengths of time have no microseconds, and beyond which there are none.
_SHORT, _LONGEST = 1e9, 1e18

Condition = str | Mapping[Hashable, Any] | None


@dataclass(frozen=True, eq=False)
class View:
    """A posterior, the columns asked about and what is known of any column.

    Attributes
    ----------
    posterior : Posterior
    schema : Schema
        Of all columns.
    library : str
        Library of the tables that are given back.
    columns : tuple of int
        Positions of the columns asked about.
    given : dict of int to float or ValueSet
    handle_unknown : {"error", "warn", "ignore"}, default="warn"
        What is done about categories of tables that were not learned from.
    """

    posterior: Posterior
    schema: Schema
    library: str
    columns: tuple[int, ...]
    given: Given = field(default_factory=dict)
    handle_unknown: str = "warn"

    @cached_property
    def shown(self) -> Schema:
        """Schema of the columns asked about."""
        return Schema(tuple(self.schema.columns[column] for column in self.columns))

    def position(self, name: Hashable) -> int:
        """Position of a column that can be asked about."""
        return self.columns[self.shown.position(name)]

    def positions(self, names: Iterable[Hashable] | None) -> list[int]:
        """Positions of columns; all for None."""
        if names is None:
            return list(self.columns)
        if isinstance(names, str) or (isinstance(names, tuple) and names in self.shown):
            return [self.position(names)]  # one name by itself: its letters are no columns
        return [self.position(name) for name in names]

    def event(self, event: str | Mapping[Hashable, Any]) -> dict[int, ValueSet]:
        """Read an event; columns by position."""
        with self._other_columns():
            return self._wanted(read_event(event, self.shown))

    def question(self, text: str) -> tuple[dict[int, ValueSet], View]:
        """Read an event and, after a bar, more that is given; columns by position."""
        with self._other_columns():
            event, given = read_question(text, self.shown)
        return self._wanted(event), self._add_given(given)

    def alternatives(self, text: str) -> tuple[list[dict[int, ValueSet]], View]:
        """Read an event that may have alternatives and, after a bar, more that is given."""
        with self._other_columns():
            events, given = read_any(text, self.shown)
        return [self._wanted(event) for event in events], self._add_given(given)

    @contextlib.contextmanager
    def _other_columns(self) -> Iterator[None]:
        """Say so if what is asked for is in the model, but not among the columns of this view."""
        try:
            yield
        except MissingNotModelled as error:
            name = self.shown.names[error.position]
            indicator = self.schema.indicator(name)
            if indicator is None:
                raise
            raise QuestionError(
                f"whether {shorten(name)} is missing is not among the columns of this marginal, "
                f"but in the model; name {shorten(self.schema.names[indicator])} as well"
            ) from None

    def _wanted(self, event: dict[int, ValueSet]) -> dict[int, ValueSet]:
        return {self.columns[place]: self._whole(place, values) for place, values in event.items()}

    def _whole(self, place: int, values: ValueSet) -> ValueSet:
        if self.constant(self.columns[place]) and not values.empty:
            return ValueSet.of([(0.0, 1.0)])
        return values

    def constant(self, column: int) -> bool:
        """Whether a column has one category; the model's second one stands for the first, too."""
        return len(self.schema.columns[column].categories) == 1

    def cells(
        self, conditional: ConditionalCircuits, column: int, cells: int = CELLS
    ) -> tuple[Array, Array]:
        """Ends of cells that a column is divided into; see `ConditionalCircuits.cells`."""
        if self.constant(column):
            return np.array([0.0]), np.array([1.0])
        return conditional.cells(column, cells)

    def even_cells(self, column: int, cells: int) -> tuple[Array, Array]:
        """Ends of cells of equal width; see `bayesspn.prediction.cells.even_cells`."""
        low, high = self.cells(ConditionalCircuits(self.posterior.predictive, {}), column)
        described = self.posterior.model.leaves.columns[column]
        if described.n_categories:
            return low, high
        finite = np.concatenate([low, high])
        finite = finite[np.isfinite(finite)]
        if not finite.size:  # a single cell holds everything
            finite = np.array(described.observed)
        return even_cells(described, (float(finite.min()), float(finite.max())), cells)

    def knowing(self, given: str | Mapping[Hashable, Any] | None) -> View:
        """This view with more that is given.

        Raises
        ------
        QuestionError
            If it contradicts what is given already.
        """
        return self._add_given(read_given(given, self.shown))

    def _add_given(self, more: Mapping[int, float | ValueSet]) -> View:
        if not more:
            return self
        given = dict(self.given)
        for place, value in more.items():
            column = self.columns[place]
            if self.constant(column):
                continue  # which is known anyway
            both = value
            if column in given:
                both = _combine(given[column], value, self.schema.columns[column])
            given[column] = both
        return replace(self, given=given)

    def of_columns(self, names: Iterable[Hashable]) -> View:
        """This view with some of its columns."""
        positions = tuple(self.positions(names))
        if not positions:
            raise QuestionError("name at least one column")
        if len(set(positions)) < len(positions):
            raise QuestionError("a column is named twice")
        return replace(self, columns=positions)

    @cached_property
    def conditional(self) -> ConditionalCircuits:
        """What is given, put to the predictive networks: gives answers."""
        return self._inquire(ConditionalCircuits(self.posterior.predictive, self.given))

    @cached_property
    def drawn_conditional(self) -> ConditionalCircuits:
        """What is given, put to networks with drawn parameters: gives intervals."""
        return self._inquire(ConditionalCircuits(self.posterior.drawn, self.given))

    def _inquire(self, conditional: ConditionalCircuits) -> ConditionalCircuits:
        try:
            conditional.weights_of_draws  # noqa: B018
        except ImpossibleGiven as error:
            raise QuestionError(self._explain(error)) from None
        return conditional

    def _explain(self, error: ImpossibleGiven) -> str:
        pieces = [self.describe(column) for column in error.columns]
        if len(pieces) == 1:
            return (
                f"what is given, {pieces[0]}, has probability zero under the model, whatever else "
                "is known; change it or leave it out"
            )
        return (
            f"what is given, {' and '.join(pieces)}, has probability zero under the model, "
            "together but not alone; change one of them or leave it out"
        )

    def describe(self, column: int) -> str:
        """What is known of a column, in words."""
        described, known = self.schema.columns[column], self.given[column]
        name = shorten(described.name)
        if not isinstance(known, ValueSet):
            return f"{name} = {show(decode_value(known, described))}"
        if described.coded:
            values = np.arange(float(len(described.categories) or 2))
            inside = values[known.contains(values)]
            return f"{name} in {[decode_value(float(value), described) for value in inside]}"
        ends = zip(known.low, known.high, strict=True)
        return f"{name} in " + " or ".join(f"[{low:g}, {high:g}]" for low, high in ends)

    def encode(self, X: Any) -> Array:
        """Encode a table of the columns asked about; absent columns are missing; (rows, all)."""
        part = encode_some(X, self.shown, self.handle_unknown)
        values = np.full((len(part), len(self.schema)), np.nan)
        values[:, list(self.columns)] = part
        return values

    def encode_evidence(self, X: Any) -> Array:
        """The same without cells of constant columns, which say nothing; (rows, all)."""
        return forget_constants(self.encode(X), self.schema)


class Viewed(ABC):
    """Whatever can be asked: it says what questions are put to."""

    @abstractmethod
    def _view(self) -> View:
        """What questions are put to."""


def _combine(
    known: float | ValueSet, new: float | ValueSet, column: ColumnSchema
) -> float | ValueSet:
    old_set = known if isinstance(known, ValueSet) else ValueSet.of([(known, known)])
    new_set = new if isinstance(new, ValueSet) else ValueSet.of([(new, new)])
    both = old_set.intersect(new_set)
    if both.empty:
        raise QuestionError(f"column {shorten(column.name)}: it contradicts what is given already")
    if not isinstance(known, ValueSet):
        return known
    return new if not isinstance(new, ValueSet) else both


def decode_value(value: float, column: ColumnSchema) -> Any:
    """One encoded value as the user knows it: a category, a whole number, a time."""
    alone = Schema((column,))
    cell = decode(np.array([[value]]), alone, "pandas").iloc[0, 0]
    return cell.item() if isinstance(cell, np.generic) else cell


def recorded_value(value: float, column: ColumnSchema) -> Any:
    """One value of a column's density as the user knows it, rounded to how it is recorded."""
    return decode_value(float(as_recorded(np.array([[value]]), Schema((column,)))[0, 0]), column)


def category_values(column: ColumnSchema) -> tuple[Any, ...]:
    """Categories, or truth values, as the user knows them."""
    return _category_values(column, tuple(map(type, column.categories)))


@lru_cache(maxsize=1024)
def _category_values(column: ColumnSchema, types: tuple[type, ...]) -> tuple[Any, ...]:
    """The same, remembered; by types as well, since 0, 0.0 and False are equal."""
    codes = np.arange(float(len(column.categories) or 2))
    cells = decode(codes[:, None], Schema((column,)), "pandas").iloc[:, 0].tolist()
    return tuple(cell.item() if isinstance(cell, np.generic) else cell for cell in cells)


def decode_number(value: float, column: ColumnSchema) -> Any:
    """A number that need not occur in the column, such as a mean: a float or a time."""
    if column.timed:
        return decode_value(value, column)
    return float(value)


def decode_error(error: float, column: ColumnSchema) -> Any:
    """An error of a number of the column: a float, or how long it is."""
    if not column.timed:
        return float(error)
    if not error < _LONGEST:
        return pd.NaT
    if error < _SHORT:
        return pd.Timedelta(round(error * 1e6), unit="us")
    return pd.Timedelta(np.timedelta64(round(error), "s"))


def show(value: Any) -> str:
    """A value in a message."""
    return repr(value) if isinstance(value, str | int | float) else str(value)
