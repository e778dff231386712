"""Detection of grids: from the values of a column to how they were recorded, and what is possible.

The step is the smallest gap that is no rounding noise; values that recur are atoms, and ends where
values pile up are those of the scale. What a grid then means is told in `bayesspn.leaves.grids`.
"""

from __future__ import annotations

import math

import numpy as np

from bayesspn.arrays import Array
from bayesspn.leaves.grids import (
    EPSILON,
    LARGEST_WHOLE,
    MOST_DECIMALS,
    MOST_NOISE,
    TOLERANCE,
    Grid,
)

#: Gaps below this share of a column's range are taken for rounding noise.
_SMALLEST_GAP = 1e-9

#: Share of the values that may be off a grid: 9.899999 among hundredths.
_MOST_OFF = 0.02

#: Share of a number by which one of single precision that is written with 15 digits may be off.
_WRITTEN = 1e-14

_LARGEST_HALF = float(np.finfo(float).max) / 2

#: Irregular values are a grid if they are at most so many and occur so often on average.
_MOST_VALUES = 100
_FEWEST_EACH = 3

#: Different whole numbers that share a step not by chance: a factor of 2 in one case of 500.
_FEWEST_STEPS = 10

#: So few values of a regular grid may end where they are common.
_FEW_VALUES = 20

#: A scale of many values was cut off where the last one is so many times as frequent as so many
#: values beside it are on average.
_CUT = 8.0
_BESIDE = 10

#: Values of a column without a grid recur if they occur so often, and have so large a share.
_FEWEST_OF_ATOM = 5
_LEAST_SHARE = 0.01


def read_grid(
    distinct: Array,
    counts: Array,
    *,
    step: float | None = None,
    low: float | None = None,
    high: float | None = None,
    shares: bool = True,
) -> Grid:
    """Find the grid of a column, and the values possible.

    Positive values stay positive, from the smallest positive value on the grid; values from 0 on
    stay there, and shares, fractions between 0 and 1, up to 1. Few values end where they are
    common, as ratings from 1 to 5 do, and many where the last one recurs and those beside it do
    not, as incomes of "100,000 or more" do. Numbers of single precision, 0.30000001192092896, are
    taken for the decimals that they are printed with, if these are a grid.

    Parameters
    ----------
    distinct, counts : ndarray of shape (values,)
        Different values, ascending, and how often each occurs.
    step : float, default=None
        Precision, if it is known.
    low, high : float, default=None
        Smallest and largest value possible, if these are known.
    shares : bool, default=True
        Whether fractions between 0 and 1 may be shares: those of a second are not.

    Examples
    --------
    >>> read_grid(np.array([0.5, 1.0, 2.5]), np.array([3, 4, 1]))
    Grid(step=0.5, origin=0.0, values=(), atoms=(), low=0.5, high=inf)
    >>> read_grid(np.float32([0.3, 0.7, 1.1, 2.2]).astype(float), np.ones(4)).step
    0.1
    """
    stated = step is not None
    step, origin, values = _find_values(distinct, counts, step)
    if values:
        ends = min(values[0], float(distinct[0])), max(values[-1], float(distinct[-1]))
        return Grid(step, None, values, low=ends[0], high=ends[1])
    often = counts >= max(_FEWEST_OF_ATOM, _LEAST_SHARE * counts.sum())
    atoms = tuple(distinct[often].tolist()) if origin is None and not stated else ()
    first, last = float(distinct[0]), float(distinct[-1])
    whole = step == 1.0 and origin == 0.0
    piled = _piled_ends(counts, origin is not None)
    if low is None and piled[0]:
        low = first
    if high is None and piled[1]:
        high = last
    if low is None:
        low = -math.inf if first < 0 else 0.0 if first == 0 else _least(first, step, origin)
    if high is None:
        high = 1.0 if shares and first >= 0 and last <= 1 and not whole else math.inf
    return Grid(step, origin, (), atoms, low, high)


def _piled_ends(counts: Array, regular: bool) -> tuple[bool, bool]:
    """Whether values end where they are common, as ratings from 1 to 5 do, or where they are cut.

    Values that thin out towards an end may go on beyond it. Where there are many, nothing but a
    scale that ends there makes the last one recur so much more often than those beside it.
    """
    if regular and 2 <= len(counts) <= _FEW_VALUES and counts.sum() >= _FEWEST_EACH * len(counts):
        common = 0.5 * counts.sum() / len(counts)
        return bool(counts[0] >= common), bool(counts[-1] >= common)
    if len(counts) <= _FEW_VALUES:
        return False, False
    recurring = max(_FEWEST_OF_ATOM, _LEAST_SHARE * counts.sum())
    ends = []
    for end, *beside in (counts[: _BESIDE + 1], counts[: -_BESIDE - 2 : -1]):
        ends.append(bool(end >= max(recurring, _CUT * np.mean(beside))))
    return ends[0], ends[1]


def _least(first: float, step: float, origin: float | None) -> float:
    """The smallest positive value of a grid whose smallest value seen is positive."""
    if not step:
        return first
    if origin is None:
        return min(first, step)
    rest = origin - step * math.floor(origin / step)
    least = rest if rest > TOLERANCE * step else step
    return min(first, float(Grid(step, origin).nearest(np.array([least]))[0]))


Found = tuple[float, float | None, tuple[float, ...]]


def _find_values(distinct: Array, counts: Array, step: float | None) -> Found:
    """Step, origin and list of the recorded values."""
    found = _regular(distinct, step)
    if found is None or (found[1] is None and not found[2]):
        printed = _as_printed(distinct)
        if printed is not None:
            other = _regular(printed, step) or _irregular(printed, counts)
            if other[1] is not None or other[2]:
                return other
    return found or _irregular(distinct, counts)


def _as_printed(distinct: Array) -> Array | None:
    """The decimals that numbers of single precision are printed with; None if some are no such."""
    with np.errstate(over="ignore", under="ignore"):
        single = distinct.astype(np.float32)
    if np.any(np.abs(single - distinct) > _WRITTEN * np.abs(distinct)):
        return None
    return np.array([float(str(value)) for value in single])


def _regular(distinct: Array, step: float | None) -> Found | None:
    """Step and origin, if all values are on a grid whose step is their smallest gap, or given."""
    if step is None and len(distinct) == 1:
        return 0.0, None, (float(distinct[0]),)
    width = _exact_gap(distinct) if step is None else step
    if not width:
        return width, None, ()
    steps = (distinct / 2 - distinct[0] / 2) / (width / 2)  # huge values would overflow
    noise = step_noise(distinct, width)
    if noise > MOST_NOISE:
        return None if step is None else (step, None, ())
    off = np.abs(steps - np.rint(steps)) > TOLERANCE * (1 + 1e-3 * steps) + noise
    if off.mean() <= _MOST_OFF:
        start = float(distinct[0]) / width
        centred = abs(start - round(start)) <= TOLERANCE + noise
        return width, 0.0 if centred else float(distinct[0]), ()
    return None if step is None else (step, None, ())


def step_noise(distinct: Array, width: float) -> float:
    """Share of a step that the floats' own rounding may take; none of whole numbers."""
    largest = float(np.abs(distinct).max())
    if largest < LARGEST_WHOLE and width.is_integer() and not np.any(distinct % 1):
        return 0.0
    return 4.0 * EPSILON * largest / width


def _irregular(distinct: Array, counts: Array) -> Found:
    """The grid of values whose smallest gap is not a step from each to the next."""
    gap = _exact_gap(distinct)
    if len(distinct) <= _MOST_VALUES and counts.sum() >= _FEWEST_EACH * len(distinct):
        return gap, None, tuple(distinct.tolist())
    decimals = _count_decimals(distinct)
    if decimals is None:
        return gap, None, ()
    units = np.rint(distinct * 10.0**decimals).astype(np.int64)
    divisor = int(np.gcd.reduce(np.diff(units))) / 10.0**decimals
    found = _regular(distinct, divisor)
    return found if found is not None else (gap, None, ())


def _count_decimals(distinct: Array) -> int | None:
    """Decimals that all values have, None if these are many."""
    for decimals in range(MOST_DECIMALS + 1):
        if np.abs(distinct).max() >= 2.0**46 / 10.0**decimals:  # beyond, they are floats' own noise
            return None
        units = distinct * 10.0**decimals
        if (np.abs(units - np.rint(units)) > 1e-4).mean() <= _MOST_OFF:
            return decimals
    return None


def _exact_gap(distinct: Array) -> float:
    """The smallest gap, as the float that is printed with as few decimals as the values have."""
    gap = smallest_gap(distinct)
    decimals = _count_decimals(distinct)
    rounded = gap if decimals is None else round(gap, decimals)
    return rounded if rounded > 0 else gap


def smallest_gap(distinct: Array) -> float:
    """Smallest gap between sorted distinct values, rounding noise aside; 0 without any gap."""
    halves = distinct / 2  # the range of huge values would overflow
    # a tenth of the values on each side may be far out, 999999999 among shares
    aside = len(halves) // 10
    noise = _SMALLEST_GAP * (halves[len(halves) - 1 - aside] - halves[aside])
    rounding = 4 * EPSILON * np.maximum(np.abs(halves[1:]), np.abs(halves[:-1]))
    gaps = np.diff(halves)
    gaps = 2 * np.minimum(gaps[gaps > np.maximum(noise, rounding)], _LARGEST_HALF)
    return float(gaps.min()) if gaps.size else 0.0


def whole_step(distinct: Array) -> float:
    """The largest step that whole numbers are all multiples of, apart from where they begin.

    Few numbers may share one by chance: these are taken to be recorded to 1.

    Examples
    --------
    >>> whole_step(100.0 * np.arange(3, 40, 4))
    400.0
    >>> whole_step(np.array([0.0, 6.0, 12.0, 24.0]))
    1.0
    """
    if len(distinct) < _FEWEST_STEPS or np.abs(distinct).max() >= LARGEST_WHOLE:
        return 1.0
    return float(np.gcd.reduce(np.diff(distinct).astype(np.int64)))
