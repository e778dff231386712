"""Questions put to every row of a table at once: the row's other cells are what is given.

The columns asked about count as unknown, whatever a row says of them, and so does what their cells
say elsewhere: that they are not missing. All rows are answered by the evenly spaced draws that
predictions use; rows that the model holds impossible get NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from bayesspn.arrays import Array
from bayesspn.prediction.leaf_visits import rows_together
from bayesspn.prediction.posterior import DRAWN_SEED, Posterior
from bayesspn.prediction.row_conditionals import RowConditionals
from bayesspn.prediction.value_sets import ValueSet, include_exclude
from bayesspn.questions.answers import is_exact, is_number
from bayesspn.questions.events import QuestionError
from bayesspn.questions.uncertainty import (
    Answer,
    certain,
    hold_error,
    monte_carlo_error,
    spread_draws,
)
from bayesspn.questions.views import View
from bayesspn.tables import Schema, decode
from bayesspn.tables.cells import shorten
from bayesspn.tables.schema import ColumnSchema

#: Rows that are answered together by the engine, which bounds memory.
_SCORED_TOGETHER = 16_384

#: Rows with every one of their categories that are scored together.
_CLASSES_TOGETHER = 32_768

#: What tables have, of whatever library, and conditions have not.
_TABLE_MARKS = ("__array__", "__dataframe__", "__arrow_c_stream__", "columns")


def is_table(given: object) -> bool:
    """Whether what is given is a table of rows rather than one condition.

    Examples
    --------
    >>> is_table("age > 3"), is_table({"age": 3}), is_table(pd.DataFrame({"age": [3]}))
    (False, False, True)
    """
    if given is None or isinstance(given, str | Mapping):
        return False
    rows = isinstance(given, list) and bool(given) and isinstance(given[0], list | dict)
    return rows or any(hasattr(given, mark) for mark in _TABLE_MARKS)


def _without_traces(view: View, values: Array, columns: Sequence[int]) -> Array:
    """Encoded rows (rows, all) without what cells of some columns say in other columns.

    A cell that is there says that it is not missing, and one of which that is asked says it, too.
    """
    schema, values = view.schema, values.copy()
    for column in columns:
        described = schema.columns[column]
        indicator = schema.indicator(described.name)
        if indicator is not None:
            values[values[:, indicator] == 0.0, indicator] = np.nan
        if described.indicates in schema:
            values[:, schema.position(described.indicates)] = np.nan
    return values


def _rows(view: View, values: Array) -> RowConditionals:
    return RowConditionals(view.posterior.thinned, values, view.given)


def row_probabilities(
    view: View, events: Sequence[Mapping[int, ValueSet]], X: Any, interval: float | None
) -> Any:
    """Probability that one of several events holds, for every row; (rows,), or an Answer."""
    return probabilities_of_rows(view, events, view.encode_evidence(X), interval)


def probabilities_of_rows(
    view: View, events: Sequence[Mapping[int, ValueSet]], values: Array, interval: float | None
) -> Any:
    """The same for encoded rows."""
    columns = tuple(dict.fromkeys(column for event in events for column in event))
    values = _without_traces(view, values, columns)
    terms = include_exclude(events)

    def ask(rows: RowConditionals) -> tuple[Array, Array]:
        return rows.log_any(terms, columns), rows.log_evidence(columns)

    return _answer(view, values, interval, ask, lambda ratio: np.minimum(ratio, 1.0))


def row_expectations(
    view: View, positions: Sequence[int], one: bool, X: Any, interval: float | None
) -> Any:
    """Expected values of columns for every row: (rows,) for one column, else a frame of them."""
    values = view.encode_evidence(X)
    answers = [_row_expectation(view, position, values, interval) for position in positions]
    if one:
        return answers[0]
    names = [view.schema.columns[position].name for position in positions]
    index = X.index if isinstance(X, pd.DataFrame) else None

    def frame(parts: Sequence[Any]) -> pd.DataFrame:
        return pd.DataFrame(dict(zip(names, parts, strict=True)), index=index)

    if interval is None:
        return frame(answers)
    names_of_parts = ("value", "low", "high", "error")
    return Answer(*(frame([getattr(one, part) for one in answers]) for part in names_of_parts))


def _row_expectation(view: View, position: int, values: Array, interval: float | None) -> Any:
    column = view.schema.columns[position]
    if not is_number(column):
        raise QuestionError(
            f"column {shorten(column.name)} has categories, which have no mean; ask for a "
            "probability or the mode"
        )
    categories = None
    if column.kind == "category":
        categories = np.array([float(category) for category in column.categories])
        if len(categories) == 1:  # a constant column has a second code, which means the same
            categories = np.repeat(categories, 2)
    if is_exact(view, position):
        known = float(view.given[position])  # type: ignore[arg-type]
        known = known if categories is None else float(categories[int(known)])
        exact = _numbers(np.full(len(values), known), column)
        return exact if interval is None else certain(exact)
    values = _without_traces(view, values, [position])
    ends = [np.zeros(2)]  # as long as there are no rows

    def ask(rows: RowConditionals) -> tuple[Array, Array]:
        above, whole, scale = rows.means(position, categories)
        ends[0] = scale
        return above, whole

    def finish(ratio: Array) -> Any:
        low, high = ends[0]
        return _numbers(low + (high - low) * np.minimum(ratio, 1.0), column)

    return _answer(view, values, interval, ask, finish, lambda: float(np.ptp(ends[0])))


def row_quantiles(view: View, position: int, levels: Array, X: Any, interval: float | None) -> Any:
    """Quantiles of a column for every row; (rows, levels), or an Answer of these."""
    column = view.schema.columns[position]
    found = quantiles_of_rows(view, position, levels, view.encode_evidence(X), interval)
    if column.continuous and not is_exact(view, position):  # what is given stays as it is
        found = tuple(column.grid.nearest(part) for part in found)
    return _encoded_answer(found, column)


def _encoded_answer(found: tuple[Array, ...], column: ColumnSchema) -> Any:
    if len(found) == 1:
        return _cells(found[0], column)
    value, low, high = found
    if column.kind == "category":
        low, high = np.floor(low), np.ceil(high)
    return Answer(*(_cells(part, column) for part in (value, low, high)))


def quantiles_of_rows(
    view: View, position: int, levels: Array, values: Array, interval: float | None
) -> tuple[Array, ...]:
    """Quantiles of encoded rows, in encoded units.

    Parameters
    ----------
    view : View
    position : int
    levels : ndarray of shape (levels,)
    values : ndarray of shape (rows, columns)
    interval : float or None

    Returns
    -------
    tuple of one or three ndarray of shape (rows, levels)
        Quantiles, and with an interval its ends. They are found among a thousand cells of the
        column and by straight lines within a cell.
    """
    _check_interval(interval)
    if is_exact(view, position):
        exact = np.full((len(values), len(levels)), float(view.given[position]))  # type: ignore[arg-type]
        return (exact,) if interval is None else (exact,) * 3
    values = _without_traces(view, values, [position])
    empty = np.empty((0, len(levels)))
    parts: list[tuple[Array, ...]] = [(empty,) if interval is None else (empty,) * 3]
    together = rows_together(view.posterior.thinned.predictive.graph, values.shape[1])
    for start in range(0, len(values), together):
        rows = _rows(view, values[start : start + together])
        part: tuple[Array, ...] = (rows.quantiles(position, levels),)
        if interval is not None:
            part += spread_rows(rows.with_drawn().quantiles_of_draws(position, levels), interval)
        parts.append(part)
    return tuple(np.concatenate(piece) for piece in zip(*parts, strict=True))


def _check_interval(interval: float | None) -> None:
    if interval is not None:
        spread_draws(np.zeros(1), interval)


def classes_of_rows(view: View, position: int, values: Array, interval: float | None) -> Any:
    """Probabilities of all categories of a column, for encoded rows.

    Parameters
    ----------
    view : View
        Nothing is given.
    position : int
    values : ndarray of shape (rows, columns)
    interval : float or None

    Returns
    -------
    ndarray of shape (rows, categories), or an Answer of these
        NaN for rows that the model holds impossible.
    """
    _check_interval(interval)
    posterior, codes = view.posterior.thinned, len(view.schema.columns[position].categories)
    empty = np.empty((0, codes))
    parts: list[tuple[Array, ...]] = [(empty,) * (1 if interval is None else 4)]
    for start in range(0, len(values), _CLASSES_TOGETHER // codes + 1):
        some = values[start : start + _CLASSES_TOGETHER // codes + 1]
        joint = _joint_scores(posterior, position, codes, some, None)
        whole = np.logaddexp.reduce(joint, axis=-1)
        value = _ratio(
            np.logaddexp.reduce(joint, axis=0), np.logaddexp.reduce(whole, axis=0)[:, None]
        )
        part: tuple[Array, ...] = (value,)
        if interval is not None:
            errors = [_errors(view, joint[..., code], whole) for code in range(codes)]
            drawn = _joint_scores(posterior, position, codes, some, DRAWN_SEED)
            said = _ratio(drawn, np.logaddexp.reduce(drawn, axis=-1)[..., None])
            error = np.stack(errors, axis=-1)
            low, high = hold_error(*spread_rows(said, interval), value, error)
            part += (np.maximum(low, 0.0), np.minimum(high, 1.0), error)
        parts.append(part)
    found: list[Any] = [np.concatenate(piece) for piece in zip(*parts, strict=True)]
    return found[0] if interval is None else Answer(*found)


def _joint_scores(
    posterior: Posterior, position: int, codes: int, values: Array, seed: int | None
) -> Array:
    """Log density of rows with every category of a column; (draws, rows, categories)."""
    filled = np.repeat(values, codes, axis=0)
    filled[:, position] = np.tile(np.arange(float(codes)), len(values))
    scores = posterior.score_draws(filled, seed)
    return scores.reshape(len(scores), len(values), codes)


def means_of_rows(view: View, position: int, values: Array) -> Array:
    """Expected values of a column of numbers, for encoded rows; NaN for impossible ones; (rows,).

    Nothing is given.
    """
    parts = [np.empty(0)]
    for start in range(0, len(values), _SCORED_TOGETHER):
        rows = _rows(view, values[start : start + _SCORED_TOGETHER])
        above, whole, (low, high) = rows.means(position)
        ratio = _ratio(np.logaddexp.reduce(above, axis=0), np.logaddexp.reduce(whole, axis=0))
        parts.append(low + (high - low) * np.minimum(ratio, 1.0))
    return np.concatenate(parts)


def _answer(
    view: View,
    values: Array,
    interval: float | None,
    ask: Callable[[RowConditionals], tuple[Array, Array]],
    finish: Callable[[Array], Any],
    unit: Callable[[], float] = lambda: 1.0,
) -> Any:
    """Ratios of two scores for every row: averaged over draws, and their spread if wanted.

    ``finish`` makes answers of ratios, whose errors are in multiples of ``unit``.
    """
    _check_interval(interval)
    parts: list[tuple[Array, ...]] = []
    for start in range(0, max(len(values), 1), _SCORED_TOGETHER):
        some = values[start : start + _SCORED_TOGETHER]
        if not len(some):
            parts.append((np.empty(0),) * (1 if interval is None else 4))
            break
        rows = _rows(view, some)
        above, below = ask(rows)
        part: tuple[Array, ...] = (
            _ratio(np.logaddexp.reduce(above, axis=0), np.logaddexp.reduce(below, axis=0)),
        )
        if interval is not None:
            error = _errors(view, above, below)
            ends = spread_rows(_ratio(*ask(rows.with_drawn())), interval)
            low, high = hold_error(*ends, part[0], error)
            part += (np.maximum(low, 0.0), high, error)
        parts.append(part)
    pieces = [np.concatenate(piece) for piece in zip(*parts, strict=True)]
    if interval is None:
        return finish(pieces[0])
    value, low, high = map(finish, pieces[:3])
    return Answer(value, low, high, unit() * pieces[3])


def _errors(view: View, above: Array, below: Array) -> Array:
    """Monte Carlo errors of averages of ratios; scores (draws, rows)."""
    with np.errstate(invalid="ignore"):
        weights = np.nan_to_num(np.exp(below - np.logaddexp.reduce(below, axis=0)))
    return monte_carlo_error(view.posterior.thinned, _ratio(above, below).T, weights.T)


def _ratio(log_above: Array, log_below: Array) -> Array:
    """NaN where nothing is possible."""
    with np.errstate(invalid="ignore"):
        return np.where(np.isneginf(log_below), np.nan, np.exp(log_above - log_below))


def spread_rows(values: Array, interval: float) -> tuple[Array, Array]:
    """Equal-tailed intervals of the values of draws, the first axis, for every row by itself.

    Draws under which a row is impossible have NaN, and are left out for that row.
    """
    _check_interval(interval)
    levels = [(1 - interval) / 2, (1 + interval) / 2]
    low, high = np.quantile(values, levels, axis=0, method="weibull")
    holes = np.isnan(values)
    some = holes.any(axis=0) & ~holes.all(axis=0)
    for place in zip(*np.nonzero(some), strict=True):
        each = values[(slice(None), *place)]
        low[place], high[place] = np.quantile(each[~np.isnan(each)], levels, method="weibull")
    return low, high


def _numbers(values: Array, column: ColumnSchema) -> Any:
    """Numbers that need not occur in the column, such as means: floats, or times."""
    return _cells(values, column) if column.timed else values


def _cells(values: Array, column: ColumnSchema) -> Any:
    """Encoded values as users know them, in an array of the same shape."""
    if not (column.timed or column.coded):
        return np.rint(values) + 0.0 if column.whole else values  # no negative zero
    shown = decode(values.reshape(-1, 1), Schema((column,)), "pandas").iloc[:, 0].to_numpy()
    return shown.reshape(values.shape)
