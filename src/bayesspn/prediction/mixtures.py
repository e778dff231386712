"""Distributions of one column as mixtures of leaves: probabilities, quantiles, modes, values.

A `Mixtures` holds several distributions at once, one per row: of one case under every draw, or of
several cases, which differ in what is given.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.optimize.elementwise import find_root

from bayesspn.arrays import Array
from bayesspn.leaves.columns import Column
from bayesspn.leaves.densities import LeafDensities, log_density, log_mass
from bayesspn.prediction.stacked import StackedCircuits
from bayesspn.prediction.value_sets import ValueSet

#: Precision of quantiles as a share of the column's range, and in probability.
_PRECISION = 1e-12

#: Share of a number within which there are hardly any others.
_ROUNDING = 16 * np.finfo(float).eps

#: Quantiles end here: floats twice as far apart still have a finite distance.
_LARGEST = 0.5 * np.finfo(float).max

EVERYTHING = ValueSet.of([(-np.inf, np.inf)])

#: Peaks among which the mode is looked for, and how much lower a start next to one may be.
_PEAKS = 6
_NEARLY = 0.5


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
    within: ValueSet = EVERYTHING

    @property
    def column(self) -> Column:
        """The column."""
        return self.densities.leaves.columns[0]

    @cached_property
    def cut_weights(self) -> Array:
        """Weights over the probability of the set, so that cut leaves count fully."""
        if self.within is EVERYTHING:
            return self.weights
        mass = self._component_mass(np.full(len(self.weights), np.inf))
        return np.divide(self.weights, mass, out=np.zeros_like(mass), where=mass > 0)

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
        return (self.cut_weights * self._component_mass(values)).sum(axis=1)

    def log_density(self, values: Array) -> Array:
        """Log density, or mass, of values; (rows, values)."""
        logs = log_density(self.densities, 0, values)[:, :, 0].T
        logs = logs.reshape(*self.weights.shape, len(values))
        logs[:, :, ~self.within.contains(values)] = -np.inf
        with np.errstate(divide="ignore"):
            log_weights = np.log(self.cut_weights)
        return np.asarray(np.logaddexp.reduce(logs + log_weights[:, :, None], axis=1))

    def quantile(self, levels: Array) -> Array:
        """Smallest value with at least the given probability up to it, one per row; (rows,)."""
        low, high = self._bracket(levels)
        if self.column.discrete:
            return self._whole_quantile(levels, low, high)

        def excess(values: Array, rows: NDArray[np.int64]) -> Array:
            everywhere = high.copy()
            everywhere[rows] = values
            return (self.cdf(everywhere) - levels)[rows]

        tolerances = {"xatol": _PRECISION * _width(self.column), "fatol": _PRECISION}
        found = find_root(
            excess, (low, high), args=(np.arange(len(levels)),), tolerances=tolerances
        )
        # without a change of sign all of the probability is at the end
        return np.where(np.isfinite(found.x), found.x, high)

    def _whole_quantile(self, levels: Array, low: Array, high: Array) -> Array:
        """The same for whole numbers, by halving."""
        while (high - low > np.maximum(0.5, _ROUNDING * high)).any():
            middle = np.floor(0.5 * (low + high))
            enough = self.cdf(middle) >= levels
            high = np.where(enough, middle, high)
            # a value that is too small rules itself out
            low = np.where(enough, low, np.minimum(middle + 1, high))
        return high

    def _bracket(self, levels: Array) -> tuple[Array, Array]:
        """Ends between which the quantiles lie; widened until they do."""
        column = self.column
        bottom, top = self.within.low[0], self.within.high[-1]
        if column.discrete:
            bottom = max(np.ceil(bottom), 0.0)
            top = min(top, column.n_categories - 1.0) if column.n_categories else np.floor(top)
        if np.isfinite([bottom, top]).all():
            return np.full(len(levels), bottom), np.full(len(levels), top)
        bottom, top = np.clip([bottom, top], -_LARGEST, _LARGEST)
        step = np.full(len(levels), max(_width(column), 1.0 if column.discrete else 0.0))
        start, end = column.observed
        low = np.clip(np.full(len(levels), start), bottom, top)
        high = np.clip(np.full(len(levels), end), bottom, top)
        while True:
            short = (self.cdf(high) < levels) & (high < top)
            far = (self.cdf(low) >= levels) & (low > bottom)
            if not (short | far).any():
                return low, high
            # an end that was not far enough is the other end of what is left
            low, high = (
                np.where(far, np.maximum(low - step, bottom), np.where(short, high, low)),
                np.where(short, np.minimum(high + step, top), np.where(far, low, high)),
            )
            step = 4.0 * np.minimum(step, 0.25 * _LARGEST)

    def mode(self, starts: Array) -> float:
        """Most probable value of the first row.

        Parameters
        ----------
        starts : ndarray of shape (values,)
            Values among which, or next to which, the mode is.
        """
        starts = np.unique(starts)
        starts = starts[self.within.contains(starts)]
        logs = self.log_density(starts)[0]
        best = int(logs.argmax())
        if self.column.discrete:
            return float(starts[best])
        # peaks between starts may be a little higher than the best of these is
        walled = np.concatenate([[-np.inf], logs, [-np.inf]])
        peaks = np.flatnonzero((logs >= walled[:-2]) & (logs >= walled[2:]))
        peaks = peaks[np.argsort(-logs[peaks], kind="stable")][:_PEAKS]
        value, highest = float(starts[best]), float(logs[best])
        for peak in peaks[logs[peaks] > highest - _NEARLY]:
            low, high = starts[max(peak - 1, 0)], starts[min(peak + 1, len(starts) - 1)]
            found = minimize_scalar(
                lambda x: -self.log_density(np.array([x]))[0, 0],
                bounds=(low, high),
                method="bounded",
                options={"xatol": 1e-7 * (high - low)},
            )
            if -found.fun > highest:
                value, highest = float(found.x), -float(found.fun)
        return value


def mixtures_of_rows(
    circuits: StackedCircuits,
    column: int,
    leaf_weights: Array,
    within: ValueSet = EVERYTHING,
    negligible: float = 1e-10,
) -> Mixtures:
    """Distribution of a column over all draws together, for every row of weights.

    Parameters
    ----------
    circuits : StackedCircuits
    column : int
    leaf_weights : ndarray of shape (rows, draws, paths, leaves)
        Adds up to 1 for every row.
    within : ValueSet, default=every value
        What is known of the column itself.
    negligible : float, default=1e-10
        Total weight of the components that are left out.
    """
    rows, _, _, leaves = leaf_weights.shape
    flat = leaf_weights.reshape(rows, -1)
    most = flat.max(axis=0)
    order = np.argsort(most)
    kept = np.sort(order[np.cumsum(most[order]) > negligible])
    weights = flat[:, kept]
    weights = weights / weights.sum(axis=1, keepdims=True)
    path, leaf = np.divmod(np.tile(kept, rows), leaves)
    return Mixtures(weights, circuits.densities.select(column, path, leaf), within)


def mixtures_of_draws(
    circuits: StackedCircuits, column: int, leaf_weights: Array, within: ValueSet = EVERYTHING
) -> Mixtures:
    """Distribution of a column under every draw whose weights are not all zero.

    Parameters
    ----------
    circuits : StackedCircuits
    column : int
    leaf_weights : ndarray of shape (draws, paths, leaves)
    within : ValueSet, default=every value
        What is known of the column itself.
    """
    draws, paths, leaves = leaf_weights.shape
    flat = leaf_weights.reshape(draws, paths * leaves)
    possible = flat.sum(axis=1) > 0
    path, leaf = np.divmod(np.flatnonzero(np.repeat(possible, paths * leaves)), leaves)
    densities = circuits.densities.select(column, path, leaf)
    return Mixtures(flat[possible], densities, within)


def _width(column: Column) -> float:
    low, high = column.plausible
    return high - low
