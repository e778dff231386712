"""Grids: which values a continuous column is recorded as, and what each of them stands for.

Leaves are densities on the real line, and tables hold rounded values. A recorded value stands for
the interval of everything that is rounded to it, the smallest and the largest possible one also for
everything beyond. Whatever is said of recorded values, equality, order or a range, is a statement
about where these intervals meet, so that all answers agree:

===================== ===================================================================
grid                  recorded values
===================== ===================================================================
origin and step       origin + k · step: cents, half points, whole numbers, days
values                a few irregular ones, which recur: 17.5, 22, 27, 32
atoms                 some that recur, most often 0, among others that hardly do
a step alone          any; each stands for an interval as wide as the step
nothing               any, each for itself: a single one has no probability
===================== ===================================================================
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from bayesspn.arrays import Array, BoolArray

#: Gaps below this share of a column's range are taken for rounding noise.
_SMALLEST_GAP = 1e-9

#: Most decimals that values are taken to be recorded to.
_MOST_DECIMALS = 9

#: Share of a step within which a value is on the grid.
_TOLERANCE = 1e-6

#: Share of a step that rounding may take before values are no longer on a grid.
MOST_NOISE = 1e-3

#: Whole numbers beyond which floats have no halves to cut at.
_LARGEST_WHOLE = 2.0**52

#: Share of the values that may be off a grid: 9.899999 among hundredths.
_MOST_OFF = 0.02

_EPSILON = float(np.finfo(float).eps)
_SINGLE_EPSILON = float(np.finfo(np.float32).eps)

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


@dataclass(frozen=True)
class Grid:
    """The recorded values of a continuous column.

    Parameters
    ----------
    step : float, default=0.0
        Precision δ to which values are recorded; 0 if unlimited.
    origin : float, default=None
        A value such that all recorded ones are whole multiples of the step away from it; None if
        there is no such value.
    values : tuple of float, default=()
        All recorded values, ascending, if these are few and irregular.
    atoms : tuple of float, default=()
        Values, ascending, that recur among many that do not; only these stand for an interval.
    low, high : float, default=∓inf
        Smallest and largest value possible. What a density has beyond belongs to these.

    Examples
    --------
    >>> baths = Grid(step=0.5, origin=0.0, low=0.5)
    >>> baths.nearest(np.array([-3.0, 1.7, 2.2])).tolist()
    [0.5, 1.5, 2.0]
    >>> baths.split(2.0, strict=True), baths.split(2.3, strict=True)  # below 2, below 2.3
    ((1.75, 1.75), (2.25, 2.25))
    """

    step: float = 0.0
    origin: float | None = None
    values: tuple[float, ...] = ()
    atoms: tuple[float, ...] = ()
    low: float = -math.inf
    high: float = math.inf

    @cached_property
    def _decimals(self) -> int | None:
        """Decimals that the values of a regular grid have, if they have few."""
        for decimals in range(_MOST_DECIMALS + 1):
            ends = np.array([self.step, self.origin or 0.0]) * 10.0**decimals
            if ends[0] >= 0.5 and (np.abs(ends - np.rint(ends)) <= _TOLERANCE).all():
                return decimals
        return None

    @cached_property
    def _cuts(self) -> Array:
        """Where the intervals of irregular values meet."""
        values = np.array(self.values)
        return values[:-1] + 0.5 * np.diff(values)

    def nearest(self, values: Array) -> Array:
        """What values are recorded as; the shape of ``values``, NaN where they are."""
        rounded = np.array(values, dtype=np.float64)
        known = ~np.isnan(rounded)
        if self.values:
            places = np.searchsorted(self._cuts, rounded[known], side="right")
            rounded[known] = np.array(self.values)[places]
        elif self.step and self.origin is not None:
            rounded = self._round(rounded)
        for atom in self.atoms:
            rounded[np.abs(rounded - atom) <= 0.5 * self.step] = atom
        return np.clip(rounded, self.low, self.high)

    def holds(self, values: Array) -> BoolArray:
        """Whether values are recorded ones, possible or not; the shape of ``values``.

        Where nothing is known of how values are recorded, all of them are.

        Examples
        --------
        >>> Grid(step=0.5, origin=0.0).holds(np.array([1.5, 2.25])).tolist()
        [True, False]
        """
        if self.values:
            listed = np.array(self.values)
            places = np.searchsorted(self._cuts, values, side="right")
            return np.abs(listed[places] - values) <= self._near * self.step
        if not self.step or self.origin is None:
            return np.ones(np.shape(values), dtype=bool)
        noise = self._noise(float(np.abs(values).max(initial=0.0)))
        return np.abs(self._round(values) - values) <= noise * self.step

    def _round(self, values: Array) -> Array:
        origin = self.origin or 0.0
        with np.errstate(over="ignore", invalid="ignore"):
            steps = np.floor((values - origin) / self.step + 0.5)
            rounded = origin + self.step * steps
        if self._decimals is not None:
            # the float that is printed with so few decimals, not a neighbour of it
            rounded = np.round(rounded, self._decimals)
        return np.where(np.abs(steps) < _LARGEST_WHOLE, rounded, values)

    def split(self, value: float, strict: bool) -> tuple[float, float]:
        """Where densities are cut to tell recorded values below a value from all others.

        Parameters
        ----------
        value : float
        strict : bool
            Whether the value itself is among the others rather than below.

        Returns
        -------
        below, above : float
            End of what is recorded below and start of what is not, between which there is nothing;
            −inf if nothing is recorded below, inf if everything is.
        """
        if value <= self.low if strict else value < self.low:
            return -math.inf, -math.inf
        if value > self.high if strict else value >= self.high:
            return math.inf, math.inf
        if self.values:
            return self._split_values(value, strict)
        if not self.step or self.atoms:
            return self._split_reals(value, strict)
        if self.origin is None:
            return self._beside(value, strict)
        steps = (value - self.origin) / self.step
        if abs(steps) >= _LARGEST_WHOLE or abs(steps - round(steps)) <= self._noise(value):
            return self._beside(value, strict)
        cut = self.origin + self.step * (math.floor(steps) + 0.5)
        return cut, cut

    @cached_property
    def ends(self) -> tuple[float, float]:
        """Where what is recorded as the smallest value ends, and as the largest begins.

        Examples
        --------
        >>> Grid(step=1.0, origin=0.0, low=1.0, high=5.0).ends
        (1.5, 4.5)
        >>> Grid(low=0.0).ends
        (0.0, inf)
        """
        first = self.split(self.low, strict=False)[0] if math.isfinite(self.low) else -math.inf
        last = self.split(self.high, strict=True)[1] if math.isfinite(self.high) else math.inf
        return first, max(first, last)

    def _split_reals(self, value: float, strict: bool) -> tuple[float, float]:
        for atom in self.atoms:
            if abs(value - atom) <= 0.5 * self.step:
                below = value <= atom if strict else value < atom
                return (atom - 0.5 * self.step if below else atom + 0.5 * self.step,) * 2
        beside = math.nextafter(value, -math.inf if strict else math.inf)
        return (beside, value) if strict else (value, beside)

    def _noise(self, value: float) -> float:
        """Share of the step by which a value on the grid may be off, none for whole numbers."""
        origin = self.origin or 0.0
        if float(self.step).is_integer() and float(origin).is_integer():
            return 0.0
        size = abs(value) + abs(origin)
        return _TOLERANCE + max(4.0 * _EPSILON * size / self.step, self._single_noise(size))

    def _single_noise(self, size: float) -> float:
        """Share of the step that single precision may take of numbers of a size."""
        return min(MOST_NOISE, _SINGLE_EPSILON * size / self.step) if self.step else 0.0

    @cached_property
    def _near(self) -> float:
        """Share of the step within which a value is one of the irregular ones."""
        return _TOLERANCE + self._single_noise(max(map(abs, self.values)))

    def _split_values(self, value: float, strict: bool) -> tuple[float, float]:
        nearest = min(self.values, key=lambda recorded: abs(recorded - value))
        if abs(nearest - value) <= self._near * self.step:
            value = nearest
        place = int(np.searchsorted(self.values, value, side="left" if strict else "right"))
        ends = np.concatenate([[-math.inf], self._cuts, [math.inf]])
        return float(ends[place]), float(ends[place])

    def _beside(self, value: float, strict: bool) -> tuple[float, float]:
        """The end of a value's own interval; floats without halves are told apart themselves."""
        cut = value - 0.5 * self.step if strict else value + 0.5 * self.step
        beside = math.nextafter(value, -math.inf if strict else math.inf)
        other = min(value - self.step, beside) if strict else max(value + self.step, beside)
        if min(value, other) < cut < max(value, other):
            return cut, cut
        return (other, value) if strict else (value, other)

    def interval(self, value: float) -> tuple[float, float] | None:
        """Everything that is recorded as a value; None if nothing is."""
        low, high = self.split(value, strict=True)[1], self.split(value, strict=False)[0]
        return (low, high) if low < high or (low == value == high and self.step) else None

    @property
    def single(self) -> bool:
        """Whether every single value has a probability."""
        return bool(self.values or (self.step and not self.atoms))

    def holding(self, low: float, high: float) -> Grid:
        """The same grid with values from ``low`` to ``high`` possible."""
        if self.values:
            values = tuple(sorted({*self.values, low, high}))
            return replace(self, values=values, low=low, high=high)
        return replace(self, low=min(self.low, low), high=max(self.high, high))

    def cut_near(self, values: Array) -> Array:
        """Ends of intervals next to values, so that no interval is cut; the shape of ``values``."""
        if self.values:
            if not self._cuts.size:
                return np.array(values, dtype=np.float64)
            places = np.searchsorted(self._cuts, values)
            return self._cuts[np.minimum(places, len(self._cuts) - 1)]
        if not self.step or self.origin is None:
            cuts = np.array(values, dtype=np.float64)
            for atom in self.atoms:
                cuts[np.abs(cuts - atom) < 0.5 * self.step] = atom + 0.5 * self.step
            return cuts
        origin = self.origin
        with np.errstate(over="ignore"):
            steps = np.floor((values - origin) / self.step)
        # so far out that steps are no longer told apart, anything is recorded
        fine = np.abs(steps) < _LARGEST_WHOLE
        return np.where(fine, origin + self.step * (steps + 0.5), values)


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
    least = rest if rest > _TOLERANCE * step else step
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
    off = np.abs(steps - np.rint(steps)) > _TOLERANCE * (1 + 1e-3 * steps) + noise
    if off.mean() <= _MOST_OFF:
        start = float(distinct[0]) / width
        centred = abs(start - round(start)) <= _TOLERANCE + noise
        return width, 0.0 if centred else float(distinct[0]), ()
    return None if step is None else (step, None, ())


def step_noise(distinct: Array, width: float) -> float:
    """Share of a step that the floats' own rounding may take; none of whole numbers."""
    largest = float(np.abs(distinct).max())
    if largest < _LARGEST_WHOLE and width.is_integer() and not np.any(distinct % 1):
        return 0.0
    return 4.0 * _EPSILON * largest / width


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
    for decimals in range(_MOST_DECIMALS + 1):
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
    rounding = 4 * _EPSILON * np.maximum(np.abs(halves[1:]), np.abs(halves[:-1]))
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
    if len(distinct) < _FEWEST_STEPS or np.abs(distinct).max() >= _LARGEST_WHOLE:
        return 1.0
    return float(np.gcd.reduce(np.diff(distinct).astype(np.int64)))
