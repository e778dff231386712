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

#: Most decimals that values are taken to be recorded to.
MOST_DECIMALS = 9

#: Share of a step within which a value is on the grid.
TOLERANCE = 1e-6

#: Share of a step that rounding may take before values are no longer on a grid.
MOST_NOISE = 1e-3

#: Whole numbers beyond which floats have no halves to cut at.
LARGEST_WHOLE = 2.0**52

EPSILON = float(np.finfo(float).eps)
_SINGLE_EPSILON = float(np.finfo(np.float32).eps)


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
        for decimals in range(MOST_DECIMALS + 1):
            ends = np.array([self.step, self.origin or 0.0]) * 10.0**decimals
            if ends[0] >= 0.5 and (np.abs(ends - np.rint(ends)) <= TOLERANCE).all():
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
        return np.where(np.abs(steps) < LARGEST_WHOLE, rounded, values)

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
        if abs(steps) >= LARGEST_WHOLE or abs(steps - round(steps)) <= self._noise(value):
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
        return TOLERANCE + max(4.0 * EPSILON * size / self.step, self._single_noise(size))

    def _single_noise(self, size: float) -> float:
        """Share of the step that single precision may take of numbers of a size."""
        return min(MOST_NOISE, _SINGLE_EPSILON * size / self.step) if self.step else 0.0

    @cached_property
    def _near(self) -> float:
        """Share of the step within which a value is one of the irregular ones."""
        return TOLERANCE + self._single_noise(max(map(abs, self.values)))

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
        fine = np.abs(steps) < LARGEST_WHOLE
        return np.where(fine, origin + self.step * (steps + 0.5), values)
