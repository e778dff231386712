"""Answers about single columns: averages over draws, their spread, values as users know them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from bayesspn.arrays import Array
from bayesspn.prediction.conditionals import ConditionalCircuits
from bayesspn.prediction.value_sets import ValueSet
from bayesspn.questions.events import QuestionError
from bayesspn.questions.views import (
    Answer,
    View,
    category_values,
    decode_number,
    decode_value,
    recorded_value,
)
from bayesspn.tables import as_recorded, decode
from bayesspn.tables.cells import shorten
from bayesspn.tables.schema import ColumnSchema


def average_draws(
    view: View, ask: Callable[[ConditionalCircuits], Array], interval: float | None
) -> Any:
    """Average what networks say, draws last, by their weight; with a spread if wanted."""
    conditional = view.conditional
    weights = conditional.weights_of_draws
    said = ask(conditional)
    value = np.asarray(np.where(weights > 0, said, 0.0) @ weights)
    if interval is None:
        return value if value.ndim else float(value)
    low, high = spread_draws(np.moveaxis(ask(view.drawn_conditional), -1, 0), interval)
    if value.ndim:
        return Answer(value, low, high)
    return Answer(float(value), float(low), float(high))


def spread_draws(values: Array, interval: float) -> tuple[Any, Any]:
    """Equal-tailed interval of the values of draws, the first axis."""
    number = isinstance(interval, int | float | np.number) and not isinstance(interval, bool)
    if not number or not 0 < interval < 1:
        raise QuestionError(f"interval must lie between 0 and 1, such as 0.9, got {interval!r}")
    possible = values[~np.isnan(values).reshape(len(values), -1).any(axis=1)]
    levels = [(1 - interval) / 2, (1 + interval) / 2]
    # of these quantiles an interval holds one more draw, or the truth, with just this probability
    with np.errstate(invalid="ignore"):
        low, high = np.quantile(possible, levels, axis=0, method="weibull")
    if not np.isneginf(possible).any():
        return low, high
    # between minus infinity and anything there is nothing to interpolate
    below = np.quantile(possible, levels, axis=0, method="lower")
    return np.where(np.isnan(low), below[0], low), np.where(np.isnan(high), below[1], high)


def several(columns: Any) -> bool:
    """Whether several columns are asked about, rather than one."""
    return columns is None or isinstance(columns, list | set | np.ndarray | pd.Index)


def is_exact(view: View, position: int) -> bool:
    """Whether the value of a column is given."""
    known = view.given.get(position)
    return known is not None and not isinstance(known, ValueSet)


def is_number(column: ColumnSchema) -> bool:
    """Whether it makes sense to average a column."""
    return column.kind != "category" or all(isinstance(c, int | float) for c in column.categories)


def _category_values(column: ColumnSchema) -> Array:
    values = np.array([float(category) for category in column.categories])
    # a constant column has a second code, which stands for the first
    return values if len(values) > 1 else np.repeat(values, 2)


def expected_value(view: View, position: int, interval: float | None) -> Any:
    """Expected value of one column, with an interval if wanted."""
    column = view.schema.columns[position]
    if not is_number(column):
        raise QuestionError(
            f"column {shorten(column.name)} has categories, which have no mean; ask for a "
            "probability or the mode"
        )
    if column.kind == "category":
        values = _category_values(column)
        codes = np.arange(float(len(values)))

        def weigh(conditional: ConditionalCircuits) -> Array:
            return np.asarray(values @ conditional.cell_masses(position, codes, codes))

        return average_draws(view, weigh, interval)
    if is_exact(view, position):
        exact = decode_number(float(view.given[position]), column)  # type: ignore[arg-type]
        return exact if interval is None else Answer(exact, exact, exact)
    whole, first, _ = view.conditional.moments(position) @ view.conditional.weights_of_draws
    value = decode_number(_within_range(view, position, first / whole), column)
    if interval is None:
        return value
    parts = view.drawn_conditional.moments(position)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = _within_range(view, position, parts[1] / parts[0])
    low, high = (decode_number(end, column) for end in spread_draws(means, interval))
    return Answer(value, low, high)


def _within_range(view: View, position: int, means: Any) -> Any:
    """Means of a column's plausible range lie in it, rounding around huge numbers aside."""
    if position in view.given:
        return means
    return np.clip(means, *view.posterior.model.leaves.columns[position].plausible)


def column_quantile(view: View, position: int, level: float, interval: float | None) -> Any:
    """Quantile of one column, with an interval if wanted."""
    column = view.schema.columns[position]
    value = _recorded(view, position, view.conditional.quantile(position, level))
    if interval is None:
        return value
    if is_exact(view, position):
        return Answer(value, value, value)
    mixtures = view.drawn_conditional.mixtures(position)
    each = mixtures.quantile(np.full(len(mixtures.weights), level))
    low, high = spread_draws(each, interval)
    if column.kind == "category":
        low, high = np.floor(low), np.ceil(high)
    return Answer(value, recorded_value(float(low), column), recorded_value(float(high), column))


def _recorded(view: View, position: int, value: float) -> Any:
    """A value as it is recorded; one that is given stays as it is."""
    column = view.schema.columns[position]
    return (decode_value if is_exact(view, position) else recorded_value)(value, column)


def column_mode(view: View, position: int, interval: float | None) -> Any:
    """Most probable value of one column; with an interval, its probability as well."""
    found = view.conditional.mode(position)
    value = _recorded(view, position, found)
    if interval is None:
        return value
    if is_exact(view, position):
        return value, Answer(1.0, 1.0, 1.0)
    density = float(np.exp(view.conditional.mixture(position).log_density(np.array([found]))[0, 0]))
    each = np.exp(view.drawn_conditional.mixtures(position).log_density(np.array([found]))[:, 0])
    return value, Answer(density, *map(float, spread_draws(each, interval)))


def give_back(view: View, rows: Array) -> Any:
    """Encoded rows as a table of the columns asked about, recorded as what is given allows."""
    recorded = as_recorded(rows, view.schema)
    for position, known in view.given.items():
        allowed = known if isinstance(known, ValueSet) else ValueSet.of([(known, known)])
        kept = allowed.contains(recorded[:, position])
        recorded[:, position] = np.where(kept, recorded[:, position], rows[:, position])
    return decode(recorded[:, list(view.columns)], view.shown, view.library)


def answers_frame(
    view: View, positions: list[int], answers: list[Any], interval: float | None
) -> pd.DataFrame:
    """Answers for several columns as a frame."""
    names = [view.schema.columns[position].name for position in positions]
    if interval is None:
        return pd.DataFrame({"value": pd.Series(answers, index=names)})
    return pd.DataFrame(
        {
            part: pd.Series([answer[k] for answer in answers], index=names)
            for k, part in enumerate(Answer._fields)
        }
    )


def even_distribution(
    view: View, position: int, cells: int, interval: float | None
) -> pd.DataFrame:
    """Distribution of one column over its categories, or over cells of equal width."""
    low, high = view.even_cells(position, cells)

    def ask(conditional: ConditionalCircuits) -> Array:
        return conditional.cell_masses(position, low, high)

    answer = average_draws(view, ask, interval)
    return cells_frame(view, position, (low, high), answer, interval)


def cells_frame(
    view: View, position: int, cells: tuple[Array, Array], answer: Any, interval: float | None
) -> pd.DataFrame:
    """Probabilities of a column's cells as a frame."""
    parts = {"probability": answer}
    if interval is not None:
        parts = {"probability": answer.value, "low": answer.low, "high": answer.high}
    ends = _ends(view, position, cells)
    count = len(next(iter(ends.values())))
    return pd.DataFrame(ends | {name: part[:count] for name, part in parts.items()})


def ends_frame(view: View, position: int, cells: tuple[Array, Array]) -> pd.DataFrame:
    """A column's cells as a frame: categories, or where they begin and end."""
    return pd.DataFrame(_ends(view, position, cells))


def _ends(view: View, position: int, cells: tuple[Array, Array]) -> dict[str, Any]:
    column = view.schema.columns[position]
    if column.coded:
        return {"value": list(category_values(column))}
    ends = dict(zip(("from", "to"), cells, strict=True))
    if column.timed:
        return {name: _times(view, position, end) for name, end in ends.items()}
    return ends


def _times(view: View, position: int, seconds: Array) -> Any:
    column = view.schema.columns[position]
    values = np.where(np.isfinite(seconds), seconds, np.nan)
    return decode(values[:, None], type(view.schema)((column,)), "pandas").iloc[:, 0]
