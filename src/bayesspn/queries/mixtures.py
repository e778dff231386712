"""Distributions of one column as mixtures of leaves: probabilities, quantiles, modes, values.

A `Mixtures` holds several distributions at once, one per row: of one piece of evidence under every
draw, or of several pieces of evidence.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bayesspn.leaves.columns import Column
from bayesspn.leaves.densities import LeafDensities, log_density, log_mass, moments
from bayesspn.leaves.family import Array
from bayesspn.queries.networks import Networks
from bayesspn.queries.sets import ValueSet

#: Components that together weigh less than this are left out.
_NEGLIGIBLE = 1e-12

#: Intervals are halved until they are this small a share of the column's range.
_PRECISION = 1e-12

#: Share of a number, and a number, below which there is hardly a float in between.
_ROUNDING, _SMALLEST = 16 * np.finfo(float).eps, 1e-322

#: Quantiles end here: floats twice as far apart still have a finite distance.
_LARGEST = 0.5 * np.finfo(float).max

#: Where the search for a mode starts: all whole numbers if they are few, else places of leaves.
_MOST_WHOLE = 4096
_MOST_STARTS = 256
_GOLDEN = 0.6180339887498949

_EVERYTHING = ValueSet.of([(-np.inf, np.inf)])


@dataclass(frozen=True, eq=False)
class Mixtures:
    """Distributions of one column.

    Parameters
    ----------
    weights : ndarray of shape (rows, components)
        Each row adds up to 1.
    densities : LeafDensities
        Leaves of the column, which stands alone; paths are (row, component) pairs, one leaf each.
    within : ValueSet, default=every value
        Set that the value is known to lie in; the leaves are cut down to it.
    """

    weights: Array
    densities: LeafDensities
    within: ValueSet = _EVERYTHING

    @property
    def column(self) -> Column:
        """The column."""
        return self.densities.leaves.columns[0]

    def _within_mass(self) -> Array:
        """Probability of the set under every component; (rows, components)."""
        return self._component_mass(np.full(len(self.weights), np.inf))

    def _component_mass(self, upper: Array) -> Array:
        """Probability of values in the set up to ``upper``, one per row; (rows, components)."""
        total = np.zeros(self.weights.size)
        ends = np.repeat(upper, self.weights.shape[1])[:, None]
        for low, high in zip(self.within.low, self.within.high, strict=True):
            logs = log_mass(self.densities, 0, np.full_like(ends, low), np.minimum(high, ends))
            total += np.exp(logs[:, 0])
        return total.reshape(self.weights.shape)

    def cdf(self, values: Array) -> Array:
        """Probability of at most the given value, one per row; (rows,)."""
        return (self._cut_weights * self._component_mass(values)).sum(axis=1)

    @cached_property
    def _cut_weights(self) -> Array:
        """Weights over the probability of the set, so that cut leaves count fully."""
        if self.within is _EVERYTHING:
            return self.weights
        mass = self._within_mass()
        return np.divide(self.weights, mass, out=np.zeros_like(mass), where=mass > 0)

    def log_density(self, values: Array) -> Array:
        """Log density, or mass, of values; (rows, values)."""
        logs = log_density(self.densities, 0, values)[:, :, 0].T
        logs = logs.reshape(*self.weights.shape, len(values))
        logs[:, :, ~self.within.contains(values)] = -np.inf
        with np.errstate(divide="ignore"):
            log_weights = np.log(self._cut_weights)
        return np.asarray(np.logaddexp.reduce(logs + log_weights[:, :, None], axis=1))

    def quantile(self, levels: Array) -> Array:
        """Smallest value with at least the given probability up to it, one per row; (rows,)."""
        low, high = self._bracket(levels)
        discrete = self.column.discrete
        finest = 0.5 if discrete else max(_PRECISION * _width(self.column), _SMALLEST)
        while ((high - low) > np.maximum(finest, _ROUNDING * np.abs(low))).any():
            middle = 0.5 * (low + high)
            if discrete:
                middle = np.floor(middle)
            enough = self.cdf(middle) >= levels
            high = np.where(enough, middle, high)
            # a discrete value that is too small rules itself out
            low = np.where(enough, low, np.minimum(middle + discrete, high))
        return high

    def _bracket(self, levels: Array) -> tuple[Array, Array]:
        """Ends between which the quantiles lie; widened until they do."""
        column = self.column
        bottom, top = np.clip([self.within.low[0], self.within.high[-1]], -_LARGEST, _LARGEST)
        if column.discrete:
            bottom = max(bottom, 0.0)
            top = min(top, column.n_categories - 1.0) if column.n_categories else top
        step = np.full(len(levels), max(_width(column), 1.0 if column.discrete else 0.0))
        start, end = column.observed
        low = np.clip(np.full(len(levels), start), bottom, top)
        high = np.clip(np.full(len(levels), end), bottom, top)
        while True:
            short = (self.cdf(high) < levels) & (high < top)
            far = (self.cdf(low) >= levels) & (low > bottom)
            if not (short | far).any():
                break
            # an end that was not far enough is the other end of what is left
            low, high = (
                np.where(far, np.maximum(low - step, bottom), np.where(short, high, low)),
                np.where(short, np.minimum(high + step, top), np.where(far, low, high)),
            )
            step = 4.0 * np.minimum(step, 0.25 * _LARGEST)
        return low, high

    def moments(self, within: ValueSet) -> Array:
        """E[x^k; x in the set] for k = 0, 1, 2; (3, rows)."""
        total = np.zeros((3, *self.weights.shape))
        cut = self.within.intersect(within)
        for low, high in zip(cut.low, cut.high, strict=True):
            part = moments(self.densities, 0, np.array(low), np.array(high))
            total += part[:, :, 0].reshape(total.shape)
        return (self._cut_weights * total).sum(axis=2)

    def mode(self) -> float:
        """Most probable value of the first row, found from the locations of all its leaves."""
        starts = self._starts()
        logs = self.log_density(starts)[0]
        best = int(logs.argmax())
        if self.column.discrete:
            return float(starts[best])
        gaps = starts[max(best - 1, 0)], starts[min(best + 1, len(starts) - 1)]
        return self._climb(*gaps, float(starts[best]), float(logs[best]))

    def _starts(self) -> Array:
        """Ascending values among which, or next to which, the mode is; (values,)."""
        column, within = self.column, self.within
        low, high = (
            max(within.low[0], column.plausible[0]),
            min(within.high[-1], column.plausible[1]),
        )
        if column.discrete and high - low <= _MOST_WHOLE:
            values = np.arange(np.ceil(low), np.floor(high) + 1)
        else:
            whole, first, second = moments(self.densities, 0, np.array(low), np.array(high))[..., 0]
            mean = np.divide(first, whole, out=np.full_like(whole, low), where=whole > 0)
            spread = np.sqrt(np.maximum(second * whole - first**2, 0)) / np.where(
                whole > 0, whole, 1
            )
            values = np.concatenate([mean + shift * spread for shift in (-2, -1, -0.3, 0, 0.3)])
            values = np.quantile(values, np.linspace(0, 1, _MOST_STARTS), method="nearest")
            ends = [*within.low, *within.high, *column.observed, low, high]
            values = np.concatenate([values, [end for end in ends if np.isfinite(end)]])
            values = np.clip(np.rint(values) if column.discrete else values, low, high)
        values = np.unique(values)
        return values[within.contains(values)]

    def _climb(self, low: float, high: float, best: float, log_best: float) -> float:
        """Golden-section search for a larger density between two values."""
        left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        log_left, log_right = self.log_density(np.array([left, right]))[0]
        finest = max(1e-9 * _width(self.column), _SMALLEST)
        while high - low > max(finest, _ROUNDING * abs(best)):
            if log_left >= log_right:
                high, right, log_right = right, left, log_left
                left = high - _GOLDEN * (high - low)
                log_left = float(self.log_density(np.array([left]))[0, 0])
            else:
                low, left, log_left = left, right, log_right
                right = low + _GOLDEN * (high - low)
                log_right = float(self.log_density(np.array([right]))[0, 0])
            value, log_value = (left, log_left) if log_left >= log_right else (right, log_right)
            if log_value > log_best:
                best, log_best = value, log_value
        return best


def mixtures_of_rows(
    networks: Networks, column: int, leaf_weights: Array, within: ValueSet | None = None
) -> Mixtures:
    """Distribution of a column over all draws together, for every row of weights.

    Components that hardly count in any row are left out.

    Parameters
    ----------
    networks : Networks
    column : int
    leaf_weights : ndarray of shape (rows, draws, paths, leaves)
        Adds up to 1 for every row.
    within : ValueSet, default=None
        What is known of the column itself.
    """
    rows, _, _, leaves = leaf_weights.shape
    flat = leaf_weights.reshape(rows, -1)
    most = flat.max(axis=0)
    order = np.argsort(most)
    kept = np.sort(order[np.cumsum(most[order]) > _NEGLIGIBLE])
    weights = flat[:, kept]
    weights = weights / weights.sum(axis=1, keepdims=True)
    path, leaf = np.divmod(np.tile(kept, rows), leaves)
    return Mixtures(weights, networks.densities.select(column, path, leaf), within or _EVERYTHING)


def mixtures_of_draws(
    networks: Networks, column: int, leaf_weights: Array, within: ValueSet | None = None
) -> Mixtures:
    """Distribution of a column under every draw whose weights are not all zero.

    Parameters
    ----------
    networks : Networks
    column : int
    leaf_weights : ndarray of shape (draws, paths, leaves)
    within : ValueSet, default=None
        What is known of the column itself.
    """
    draws, paths, leaves = leaf_weights.shape
    flat = leaf_weights.reshape(draws, paths * leaves)
    possible = flat.sum(axis=1) > 0
    path, leaf = np.divmod(np.flatnonzero(np.repeat(possible, paths * leaves)), leaves)
    densities = networks.densities.select(column, path, leaf)
    return Mixtures(flat[possible], densities, within or _EVERYTHING)


def _width(column: Column) -> float:
    low, high = column.plausible
    return high - low
