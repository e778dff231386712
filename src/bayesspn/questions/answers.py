"""Answers about single columns: averages over draws, their spread, values as users know them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from bayesspn.arrays import Array
from bayesspn.prediction.conditionals import ConditionalCircuits
from bayesspn.prediction.value_sets import ValueSet
from bayesspn.questions.events import QuestionError
from bayesspn.questions.uncertainty import (
    Answer,
    certain,
    effective_draws,
    hold_error,
    monte_carlo_error,
    spread_draws,
)
from bayesspn.questions.views import (
    View,
    category_values,
    decode_error,
    decode_number,
    decode_value,
    recorded_value,
)
from bayesspn.tables import as_recorded, decode
from bayesspn.tables.cells import shorten
from bayesspn.tables.schema import ColumnSchema


def average_draws(
    view: View,
    ask: Callable[[ConditionalCircuits], Array],
    interval: float | None,
    *,
    expectation: bool = False,
) -> Any:
    """Average what networks say, draws last, by their weight; with a spread if wanted.

    What they say are probabilities, unless it is an ``expectation``.
    """
    return average_views([(1.0, view)], ask, interval, expectation=expectation)


def average_views(
    views: Sequence[tuple[float, View]],
    ask: Callable[[ConditionalCircuits], Array],
    interval: float | None,
    *,
    expectation: bool = False,
) -> Any:
    """The same, averaged over views by their weights as well."""
    value: Array = np.asarray(0.0)
    error: Array = np.asarray(0.0)
    effective = np.inf
    for share, view in views:
        weights, said = view.conditional.weights_of_draws, ask(view.conditional)
        value = value + share * np.asarray(np.where(weights > 0, said, 0.0) @ weights)
        # chains that are wrong about one view may be about all
        error = error + share * monte_carlo_error(view.posterior, said, weights)
        effective = min(effective, effective_draws(weights))
    if not expectation:  # sums of probabilities may be rounded beyond
        value = np.clip(value, 0.0, 1.0)
    if interval is None:
        return value if value.ndim else float(value)
    drawn = sum(share * ask(view.drawn_conditional) for share, view in views)
    low, high = spread_draws(np.moveaxis(np.asarray(drawn), -1, 0), interval)
    low, high = hold_error(low, high, value, error)
    if not expectation:
        low, high = np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)
    if value.ndim:
        return Answer(value, low, high, error, effective)
    return Answer(float(value), float(low), float(high), float(error), effective)


def several(columns: Any) -> bool:
    """Whether several columns are asked about, rather than one."""
    return columns is None or isinstance(columns, list | set | np.ndarray | pd.Index)


def read_levels(q: Any) -> Array:
    """Levels of quantiles, (levels,); they lie between 0 and 1."""
    try:
        levels = np.atleast_1d(np.asarray(q, dtype=np.float64))
    except (TypeError, ValueError):
        levels = np.array([np.nan])
    if levels.ndim != 1 or not ((levels > 0) & (levels < 1)).all():
        raise QuestionError(f"q must lie between 0 and 1, such as 0.5, got {shorten(q)}")
    return levels


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


def expected_value(
    views: Sequence[tuple[float, View]], position: int, interval: float | None
) -> Any:
    """Expected value of one column, averaged over views, with an interval if wanted."""
    view = views[0][1]
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

        return average_views(views, weigh, interval, expectation=True)
    parts = [(share, *_mean(view, position)) for share, view in views]
    mean = float(sum(share * value for share, value, _ in parts))
    value = decode_number(mean, column)
    if interval is None:
        return value
    if all(is_exact(view, position) for _, view in views):
        return certain(value)
    error = sum(share * each for share, _, each in parts)
    means = sum(share * _drawn_means(view, position) for share, view in views)
    ends = hold_error(*spread_draws(np.asarray(means), interval), mean, error)
    low, high = (decode_number(float(end), column) for end in ends)
    effective = min(effective_draws(view.conditional.weights_of_draws) for _, view in views)
    return Answer(value, low, high, decode_error(float(error), column), effective)


def _mean(view: View, position: int) -> tuple[float, float]:
    """Mean of a column of numbers, and its Monte Carlo error."""
    if is_exact(view, position):
        return float(view.given[position]), 0.0  # type: ignore[arg-type]
    weights = view.conditional.weights_of_draws
    moments = view.conditional.moments(position)
    whole, first, _ = moments @ weights
    mean = float(_within_range(view, position, first / whole))
    # of a ratio of averages, by what each draw adds to it
    said = mean + (moments[1] - mean * moments[0]) / whole
    return mean, float(monte_carlo_error(view.posterior, said, weights))


def _drawn_means(view: View, position: int) -> Array:
    """Mean of a column of numbers under every network with drawn parameters; (draws,)."""
    if is_exact(view, position):
        exact: float = view.given[position]  # type: ignore[assignment]
        return np.full(view.posterior.n_draws, exact)
    moments = view.drawn_conditional.moments(position)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(_within_range(view, position, moments[1] / moments[0]))


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
        return certain(value)
    mixtures = view.drawn_conditional.mixtures(position)
    each = mixtures.quantile(np.full(len(mixtures.weights), level))
    low, high = spread_draws(each, interval)
    if column.kind == "category":
        low, high = np.floor(low), np.ceil(high)
    ends = recorded_value(float(low), column), recorded_value(float(high), column)
    error = decode_error(float(monte_carlo_error(view.posterior, each)), column)
    return Answer(value, *ends, error, effective_draws(view.conditional.weights_of_draws))


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
        return value, certain(1.0)
    density = float(np.exp(view.conditional.mixture(position).log_density(np.array([found]))[0, 0]))
    each = np.exp(view.drawn_conditional.mixtures(position).log_density(np.array([found]))[:, 0])
    error = float(monte_carlo_error(view.posterior, each))
    effective = effective_draws(view.conditional.weights_of_draws)
    low, high = spread_draws(each, interval)
    return value, Answer(density, float(low), float(high), error, effective)


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
            part: pd.Series([getattr(answer, part) for answer in answers], index=names)
            for part in ("value", "low", "high", "error")
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
        parts["error"] = answer.error
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
