"""Soft evidence: a distribution over the values of a column is given, instead of a value.

By Jeffrey's rule an answer is then the average of the answers given each of the values, with the
probabilities that were given as weights: beliefs about that column are replaced, and what it says
about others stays as it was.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from itertools import combinations
from typing import Any

import numpy as np

from bayesspn.prediction.value_sets import ValueSet
from bayesspn.questions.events import QuestionError, read_given
from bayesspn.questions.views import View
from bayesspn.tables.cells import shorten

#: Combinations of values that are averaged over at most.
_MOST_PARTS = 256

#: Probabilities may add up to 1 with this error.
_ROUNDING = 1e-6


def is_soft(given: Any) -> bool:
    """Whether what is given has distributions in place of values."""
    return isinstance(given, Mapping) and any(isinstance(v, Mapping) for v in given.values())


def soft_views(view: View, given: Mapping[Hashable, Any]) -> list[tuple[float, View]]:
    """Weights, and views of everything that is given with one value for each distribution.

    Parameters
    ----------
    view : View
    given : mapping of column names to values, or to mappings of values to probabilities
        Values, or ranges, of a distribution exclude each other.
    """
    parts: list[tuple[float, dict[Hashable, Any]]] = [(1.0, {})]
    for name, value in given.items():
        if not isinstance(value, Mapping):
            parts = [(weight, {**known, name: value}) for weight, known in parts]
            continue
        shares = _check_shares(name, value)
        _check_apart(view, name, shares)
        parts = [
            (weight * share, {**known, name: one})
            for weight, known in parts
            for one, share in shares.items()
        ]
        if len(parts) > _MOST_PARTS:
            raise QuestionError(
                f"distributions of what is given have {len(parts):,} combinations of values, more "
                f"than {_MOST_PARTS}; give fewer of them, or ranges (low, high) in place of values"
            )
    return [(weight, view.knowing(known)) for weight, known in parts]


def _check_shares(name: Hashable, shares: Mapping[Any, Any]) -> dict[Any, float]:
    """Values that have a probability, and how large it is."""
    try:
        numbers = np.array([float(share) for share in shares.values()])
    except (TypeError, ValueError):
        numbers = np.array([np.nan])
    right = numbers.size and bool(((numbers >= 0) & (numbers <= 1)).all())
    if not right or abs(numbers.sum() - 1) > _ROUNDING:
        raise QuestionError(
            f"column {shorten(name)}: {shorten(dict(shares))} is no distribution; give values and "
            "their probabilities, which add up to 1"
        )
    numbers = numbers / numbers.sum()  # rounded ones may be off by a millionth
    return {value: float(share) for value, share in zip(shares, numbers, strict=True) if share > 0}


def _check_apart(view: View, name: Hashable, shares: Mapping[Any, float]) -> None:
    """Check that no value is in two of the values or ranges that have a probability."""
    seen: list[tuple[Any, int, ValueSet]] = []
    for value in shares:
        for place, known in read_given({name: value}, view.shown).items():
            here = known if isinstance(known, ValueSet) else ValueSet.of([(known, known)])
            seen.append((value, place, here))
    for (one, place, here), (other, _, there) in combinations(seen, 2):
        both = here.intersect(there)
        # ranges of a column without a grid may meet in an end, which has no probability
        continuous = view.shown.columns[place].continuous
        if not both.empty and (not continuous or _has_width(here, there, both)):
            raise QuestionError(
                f"column {shorten(name)}: {shorten(one)} and {shorten(other)} of what is given "
                "have values in common; give values or ranges that exclude each other"
            )


def _has_width(one: ValueSet, other: ValueSet, both: ValueSet) -> bool:
    """Whether sets of a continuous column have more in common than ends of their ranges."""
    single = any((values.low == values.high).all() for values in (one, other))
    return single or bool((both.high > both.low).any())
