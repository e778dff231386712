"""Sets of values: an algebra of unions of closed intervals."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bayesspn.prediction.value_sets import ValueSet

#: Few different ends, so that intervals touch, overlap and shrink to points, and any others.
ENDS = st.one_of(
    st.integers(-4, 4).map(float),
    st.sampled_from([-math.inf, math.inf, -0.0, 5e-324, 1.7e308]),
    st.floats(allow_nan=False),
)
INTERVALS = st.lists(st.tuples(ENDS, ENDS), max_size=7)
SETS = INTERVALS.map(ValueSet.of)


def pairs(values: ValueSet) -> list[tuple[float, float]]:
    return list(zip(values.low.tolist(), values.high.tolist(), strict=True))


def probes(*intervals: list[tuple[float, float]]) -> list[float]:
    """Ends of intervals, and what lies just beside them."""
    ends = [end for some in intervals for interval in some for end in interval]
    beside = [math.nextafter(end, side) for end in ends for side in (-math.inf, math.inf)]
    return [*ends, *beside, 0.0, math.nan]


def holds(intervals: list[tuple[float, float]], value: float) -> bool:
    return any(low <= value <= high for low, high in intervals)


@given(INTERVALS, st.lists(st.floats(), max_size=5))
def test_a_set_holds_what_one_of_its_intervals_holds(intervals, others):
    values = [*probes(intervals), *others]
    held = ValueSet.of(intervals).contains(np.array(values))
    assert held.tolist() == [holds(intervals, value) for value in values]
    assert ValueSet.of(intervals).empty == (not held.any())


@given(INTERVALS)
def test_membership_keeps_the_shape_of_what_is_asked(intervals):
    values = np.array(probes(intervals))
    values = np.stack([values, values[::-1]])
    held = ValueSet.of(intervals).contains(values)
    assert held.shape == values.shape
    assert held.dtype == bool
    assert held[1].tolist() == held[0, ::-1].tolist()


@given(st.data(), INTERVALS)
def test_a_set_does_not_depend_on_the_order_of_its_intervals(data, intervals):
    shuffled = data.draw(st.permutations(intervals))
    assert pairs(ValueSet.of(shuffled)) == pairs(ValueSet.of(intervals))
    assert pairs(ValueSet.of([*intervals, *shuffled])) == pairs(ValueSet.of(intervals))


@given(SETS)
def test_intervals_of_a_set_are_apart_and_ascending(values):
    assert (values.low <= values.high).all()
    assert (values.high[:-1] < values.low[1:]).all()
    assert pairs(ValueSet.of(pairs(values))) == pairs(values)


@given(INTERVALS, INTERVALS)
def test_an_intersection_holds_what_both_sets_hold(left, right):
    both = ValueSet.of(left).intersect(ValueSet.of(right))
    values = probes(left, right)
    expected = [holds(left, value) and holds(right, value) for value in values]
    assert both.contains(np.array(values)).tolist() == expected
    assert both.empty == (not any(expected))


@given(SETS, SETS, SETS)
def test_intersections_commute_associate_and_repeat_without_effect(a, b, c):
    assert pairs(a.intersect(b)) == pairs(b.intersect(a))
    assert pairs(a.intersect(b).intersect(c)) == pairs(a.intersect(b.intersect(c)))
    assert pairs(a.intersect(a)) == pairs(a)
    assert pairs(a.intersect(b).intersect(b)) == pairs(a.intersect(b))


@given(SETS)
def test_everything_and_nothing_are_the_neutral_sets(values):
    everything, nothing = ValueSet.of([(-math.inf, math.inf)]), ValueSet.of([])
    assert pairs(values.intersect(everything)) == pairs(values)
    assert values.intersect(nothing).empty
