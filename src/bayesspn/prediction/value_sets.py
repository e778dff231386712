"""Sets of values of one column, and what is given, made of them.

Everything is in encoded units: positions of categories, counts, seconds, numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayesspn.arrays import Array


@dataclass(frozen=True, eq=False)
class ValueSet:
    """A union of closed intervals, disjoint and ascending; no intervals make the empty set.

    A discrete value is an interval of length zero. Use `ValueSet.of`, which puts intervals in
    order.

    Attributes
    ----------
    low, high : ndarray of shape (intervals,)
        Ends of the intervals; the outermost may be infinite.

    Examples
    --------
    >>> adults = ValueSet.of([(18.0, np.inf)])
    >>> adults.intersect(ValueSet.of([(0.0, 20.0), (30.0, 40.0)]))
    ValueSet([18, 20] ∪ [30, 40])
    """

    low: Array
    high: Array

    @classmethod
    def of(cls, intervals: Iterable[tuple[float, float]]) -> ValueSet:
        """The union of intervals in any order; those that end before they begin are left out."""
        merged: list[list[float]] = []
        for low, high in sorted((low, high) for low, high in intervals if low <= high):
            if merged and low <= merged[-1][1]:
                merged[-1][1] = max(high, merged[-1][1])
            else:
                merged.append([low, high])
        ends = np.array(merged, dtype=np.float64).reshape(-1, 2)
        return cls(ends[:, 0], ends[:, 1])

    @property
    def empty(self) -> bool:
        """Whether no value is in the set."""
        return not self.low.size

    def intersect(self, other: ValueSet) -> ValueSet:
        """Values in both sets."""
        return ValueSet.of(
            (max(a, c), min(b, d))
            for a, b in zip(self.low, self.high, strict=True)
            for c, d in zip(other.low, other.high, strict=True)
        )

    def contains(self, values: Array) -> NDArray[np.bool_]:
        """Whether each value is in the set."""
        cells = np.asarray(values, dtype=np.float64)[..., None]
        return np.asarray(((cells >= self.low) & (cells <= self.high)).any(axis=-1))

    def __repr__(self) -> str:
        ends = zip(self.low, self.high, strict=True)
        shown = [f"{{{a:g}}}" if a == b else f"[{a:g}, {b:g}]" for a, b in ends]
        return f"ValueSet({' ∪ '.join(shown) or 'empty'})"


#: What is known of some columns, by position: an exact value, or a set that holds the value.
Given = Mapping[int, float | ValueSet]


def include_exclude(
    alternatives: Sequence[Mapping[int, ValueSet]],
) -> list[tuple[int, dict[int, ValueSet]]]:
    """Signs and conjunctions that add up to the union of several conjunctions.

    Parameters
    ----------
    alternatives : sequence of dict of int to ValueSet
        By column. Those of one and the same column alone are joined first.

    Returns
    -------
    list of (1 or -1, dict of int to ValueSet)
        Conjunctions that cannot hold are left out.

    Examples
    --------
    >>> low, high = ValueSet.of([(0.0, 1.0)]), ValueSet.of([(3.0, 4.0)])
    >>> include_exclude([{0: low}, {0: high}])
    [(1, {0: ValueSet([0, 1] ∪ [3, 4])})]
    >>> [sign for sign, _ in include_exclude([{0: low}, {1: high}])]
    [1, 1, -1]
    """
    joined: dict[int, ValueSet] = {}
    others: list[dict[int, ValueSet]] = []
    for event in alternatives:
        if len(event) != 1:
            others.append(dict(event))
            continue
        [(column, values)] = event.items()
        known = joined.get(column)
        both = values if known is None else _join(known, values)
        joined[column] = both
    events = [*({column: values} for column, values in joined.items()), *others]
    terms: list[tuple[int, dict[int, ValueSet]]] = []
    for event in events:
        more = [(-sign, _conjunction(term, event)) for sign, term in terms]
        terms += [(1, event), *((sign, term) for sign, term in more if term is not None)]
    return [(sign, term) for sign, term in terms if not any(v.empty for v in term.values())]


def _join(one: ValueSet, other: ValueSet) -> ValueSet:
    ends = [*zip(one.low, one.high, strict=True), *zip(other.low, other.high, strict=True)]
    return ValueSet.of([(float(low), float(high)) for low, high in ends])


def _conjunction(
    one: Mapping[int, ValueSet], other: Mapping[int, ValueSet]
) -> dict[int, ValueSet] | None:
    both = dict(one)
    for column, values in other.items():
        known = both.get(column)
        both[column] = values if known is None else known.intersect(values)
        if both[column].empty:
            return None
    return both
