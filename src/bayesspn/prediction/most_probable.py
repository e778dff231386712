"""The most probable completion of a row: the values of several columns that go together best.

Finding the best of all completions is NP-hard in sum-product networks. Coordinate ascent from
several starts, each step of which is an exact conditional mode, ends where no single column can be
improved.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bayesspn.arrays import Array
from bayesspn.prediction.conditionals import ConditionalCircuits
from bayesspn.prediction.passes import evaluate
from bayesspn.prediction.sampling import draw_rows
from bayesspn.prediction.value_sets import ValueSet

_DRAWN_STARTS = 64
_CLIMBED_STARTS = 3
_MOST_ROUNDS = 20

#: Gains below this, in nats, are not worth another round.
_SMALLEST_GAIN = 1e-6

#: Draws that the way up is found with; the last steps take all of them.
_CLIMBING_DRAWS = 16


def most_probable(conditional: ConditionalCircuits, columns: Sequence[int]) -> Array:
    """Values of columns whose joint density under what is given is the largest found.

    Parameters
    ----------
    conditional : ConditionalCircuits
        Of the predictive networks.
    columns : sequence of int
        Columns to fill in; what is known of them as a set is kept to.

    Returns
    -------
    ndarray of shape (columns,)
    """
    if len(columns) == 1:
        return np.array([conditional.mode(columns[0])])
    step = -(-conditional.circuits.n_draws // _CLIMBING_DRAWS)
    some = ConditionalCircuits(conditional.circuits.some(slice(0, None, step)), conditional.given)
    starts = draw_rows(np.random.default_rng(0), some, _DRAWN_STARTS)[:, list(columns)]
    apart = np.array([[some.mode(column) for column in columns]])
    starts = np.concatenate([apart, starts])
    order = np.argsort(-_log_joint(some, columns, starts), kind="stable")
    climbed = [_climb(some, columns, starts[k]) for k in order[:_CLIMBED_STARTS]]
    best = climbed[int(_log_joint(conditional, columns, np.array(climbed)).argmax())]
    return best if step == 1 else _climb(conditional, columns, best)


def _climb(conditional: ConditionalCircuits, columns: Sequence[int], start: Array) -> Array:
    """Improve one column after the other until none can be improved."""
    values, best = start.copy(), float(_log_joint(conditional, columns, start[None])[0])
    settled = 0  # columns in a row that could not be improved
    for turn in range(_MOST_ROUNDS * len(columns)):
        k = turn % len(columns)
        others = {c: float(v) for c, v in zip(columns, values, strict=True) if c != columns[k]}
        changed = values.copy()
        changed[k] = ConditionalCircuits(
            conditional.circuits, {**conditional.given, **others}
        ).mode(columns[k])
        score = float(_log_joint(conditional, columns, changed[None])[0])
        settled += 1
        if score > best + _SMALLEST_GAIN:
            values, best, settled = changed, score, 1
        if settled >= len(columns):
            break
    return values


def _log_joint(conditional: ConditionalCircuits, columns: Sequence[int], values: Array) -> Array:
    """Log density of values of the columns together with what is given; (values,)."""
    circuits = conditional.circuits
    X = np.full((len(values), len(circuits.leaves.columns)), np.nan)
    factors = {}
    for column, known in conditional.given.items():
        if not isinstance(known, ValueSet):
            X[:, column] = known
        elif column not in columns:
            factors[column] = circuits.log_mass(column, known)[None]
    X[:, list(columns)] = values
    return np.logaddexp.reduce(evaluate(circuits, X, factors).log_probability, axis=0)
