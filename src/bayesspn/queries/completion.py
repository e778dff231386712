"""The most probable completion of a row: the values of several columns that go together best.

Finding the best of all completions is NP-hard in sum-product networks. Coordinate ascent from
several starts, each step of which is an exact conditional mode, ends where no single column can be
improved.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bayesspn.leaves.family import Array
from bayesspn.queries.inquiry import Inquiry
from bayesspn.queries.passes import evaluate
from bayesspn.queries.sampling import draw_rows
from bayesspn.queries.sets import ValueSet

_DRAWN_STARTS = 64
_CLIMBED_STARTS = 3
_MOST_ROUNDS = 20


def most_probable(inquiry: Inquiry, columns: Sequence[int]) -> Array:
    """Values of columns whose joint density given the evidence is the largest found.

    Parameters
    ----------
    inquiry : Inquiry
        Of the predictive networks.
    columns : sequence of int
        Columns to fill in; what is known of them as a set is kept to.

    Returns
    -------
    ndarray of shape (columns,)
    """
    apart = np.array([inquiry.mode(column) for column in columns])
    if len(columns) == 1:
        return apart
    drawn = draw_rows(np.random.default_rng(0), inquiry, _DRAWN_STARTS)[:, list(columns)]
    starts = np.concatenate([apart[None], drawn])
    order = np.argsort(-_log_joint(inquiry, columns, starts), kind="stable")
    climbed = [_climb(inquiry, columns, starts[k]) for k in order[:_CLIMBED_STARTS]]
    return max(climbed, key=lambda found: found[1])[0]


def _climb(inquiry: Inquiry, columns: Sequence[int], start: Array) -> tuple[Array, float]:
    """Improve one column after the other until none can be improved."""
    values, best = start.copy(), float(_log_joint(inquiry, columns, start[None])[0])
    for _ in range(_MOST_ROUNDS):
        before = best
        for k, column in enumerate(columns):
            others = {c: float(v) for c, v in zip(columns, values, strict=True) if c != column}
            given = Inquiry(inquiry.networks, {**inquiry.evidence, **others})
            changed = values.copy()
            changed[k] = given.mode(column)
            score = float(_log_joint(inquiry, columns, changed[None])[0])
            if score > best:
                values, best = changed, score
        if best <= before + 1e-9:
            break
    return values, best


def _log_joint(inquiry: Inquiry, columns: Sequence[int], values: Array) -> Array:
    """Log density of values of the columns together with the evidence; (values,)."""
    networks = inquiry.networks
    X = np.full((len(values), len(networks.leaves.columns)), np.nan)
    factors = {}
    for column, known in inquiry.evidence.items():
        if not isinstance(known, ValueSet):
            X[:, column] = known
        elif column not in columns:
            factors[column] = networks.log_mass(column, known)[None]
    X[:, list(columns)] = values
    return np.logaddexp.reduce(evaluate(networks, X, factors).log_evidence, axis=0)
