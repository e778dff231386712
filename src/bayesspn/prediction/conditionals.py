"""What all circuits of a posterior say given values, or sets of values, of some columns.

`ConditionalCircuits` of the predictive circuits give the answer to a question; those of circuits
with drawn parameters give its uncertainty, draw by draw.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bayesspn.arrays import Array
from bayesspn.prediction.cells import CELLS, cut_cells
from bayesspn.prediction.mixtures import (
    EVERYTHING,
    Mixtures,
    mixtures_of_draws,
    mixtures_of_rows,
)
from bayesspn.prediction.passes import Evaluation, evaluate
from bayesspn.prediction.stacked import StackedCircuits
from bayesspn.prediction.value_sets import Given, ValueSet

#: The mode is sought among all whole numbers if they are few, else around the highest leaves.
_MOST_WHOLE = 4096
_MOST_PEAKS = 48


class ImpossibleGiven(ValueError):
    """What is given has probability zero.

    Attributes
    ----------
    columns : tuple of int
        Positions of the columns to blame.
    """

    def __init__(self, columns: tuple[int, ...]) -> None:
        super().__init__(f"what is given on columns {columns} has probability zero")
        self.columns = columns


@dataclass(frozen=True, eq=False)
class ConditionalCircuits:
    """Networks, and what is known.

    Parameters
    ----------
    circuits : StackedCircuits
    given : dict of int to float or ValueSet
        What is known of some columns.
    """

    circuits: StackedCircuits
    given: Given

    @cached_property
    def evaluation(self) -> Evaluation:
        """Values of all nodes under what is given."""
        return self._evaluate(self.given)

    def _evaluate(self, given: Given) -> Evaluation:
        return evaluate(self.circuits, *split_given(self.circuits, given))

    @property
    def log_probability(self) -> Array:
        """Log probability or density of what is given, under every draw; (draws,)."""
        return self.evaluation.log_probability[:, 0]

    @cached_property
    def weights_of_draws(self) -> Array:
        """Weight of every draw under what is given; (draws,).

        Raises
        ------
        ImpossibleGiven
            If no draw gives it a positive probability.
        """
        log_probability = self.log_probability
        top = log_probability.max()
        if np.isneginf(top):
            raise ImpossibleGiven(self._blame())
        weights = np.exp(log_probability - top)
        return weights / weights.sum()

    def _blame(self) -> tuple[int, ...]:
        """Smallest part of what is given that is impossible, one column if there is one."""
        for column, value in self.given.items():
            if self._impossible({column: value}):
                return (column,)
        blamed = dict(self.given)
        for column in self.given:
            without = {other: value for other, value in blamed.items() if other != column}
            if self._impossible(without):
                blamed = without
        return tuple(blamed)

    def _impossible(self, given: Given) -> bool:
        return bool(np.isneginf(self._evaluate(given).log_probability).all())

    def log_joint(self, event: Given) -> Array:
        """Log probability of what is given and the event together, under every draw; (draws,)."""
        joint = dict(self.given)
        for column, wanted in event.items():
            known = joint.get(column)
            both = wanted if known is None else _both(known, wanted)
            if both is None or (isinstance(both, ValueSet) and both.empty):
                return np.full(self.circuits.n_draws, -np.inf)
            joint[column] = both
        return self._evaluate(joint).log_probability[:, 0]

    def probability(self, event: Given) -> Array:
        """Probability of an event under every draw; NaN where what is given is impossible."""
        with np.errstate(invalid="ignore"):
            return np.exp(self.log_joint(event) - self.log_probability)

    @cached_property
    def _visits(self) -> Array:
        """Probability that a leaf is visited; (draws, leaf regions, leaves)."""
        return self.evaluation.visits()[:, :, 0]

    def leaf_weights(self, column: int) -> Array:
        """Weights of a column's leaves under every draw; (draws, paths, leaves)."""
        draws = np.arange(self.circuits.n_draws)[:, None]
        return self._visits[draws, self.circuits.leaf_regions[:, column]]

    def known(self, column: int) -> ValueSet:
        """Set that a column is known to lie in, if that is all that is known of it."""
        value = self.given.get(column, EVERYTHING)
        return value if isinstance(value, ValueSet) else EVERYTHING

    def exact(self, column: int) -> float | None:
        """Value that a column is known to have."""
        value = self.given.get(column)
        return None if isinstance(value, ValueSet) else value

    def _all_weights(self, column: int) -> Array:
        """Weights of a column's leaves over all draws; (draws, paths, leaves)."""
        return self.weights_of_draws[:, None, None] * self.leaf_weights(column)

    def mixture(self, column: int, negligible: float = 1e-10) -> Mixtures:
        """Distribution of a column over all draws; one row. See `mixtures_of_rows`."""
        weights, known = self._all_weights(column), self.known(column)
        return mixtures_of_rows(self.circuits, column, weights[None], known, negligible)

    def mixtures(self, column: int) -> Mixtures:
        """Distribution of a column under every draw that allows what is given."""
        weights = self.leaf_weights(column)
        return mixtures_of_draws(self.circuits, column, weights, self.known(column))

    def quantile(self, column: int, level: float) -> float:
        """Quantile of a column over all draws."""
        exact = self.exact(column)
        if exact is not None:
            return exact
        if self.known(column) is not EVERYTHING:
            return float(self.mixture(column).quantile(np.array([level]))[0])
        # first the cell, by tabulated probabilities; then within the cell
        weights = self._all_weights(column)
        low, high = ConditionalCircuits(self.circuits, {}).cells(column)
        masses = self.circuits.masses(column, low, high)
        upper = np.cumsum(np.einsum("cdpi,dpi->c", masses, weights, optimize=True))
        cell = min(int(np.searchsorted(upper, level)), len(low) - 1)
        below = upper[cell - 1] if cell else 0.0
        inside = ValueSet.of([(low[cell], high[cell])])
        weights = masses[cell] * weights
        share = min((level - below) / weights.sum(), 1.0)
        mixture = mixtures_of_rows(self.circuits, column, weights[None] / weights.sum(), inside)
        return float(mixture.quantile(np.array([share]))[0])

    def mode(self, column: int) -> float:
        """Most probable value of a column over all draws."""
        exact = self.exact(column)
        if exact is not None:
            return exact
        starts = self._mode_starts(column)
        rough = self.mixture(column, negligible=1e-4)
        order = np.argsort(-rough.log_density(starts)[0])
        near = starts[np.sort(order[: min(3, len(order))])]
        best = [k for k in range(len(starts)) if starts[k] in near]
        around = sorted({k + shift for k in best for shift in (-1, 0, 1)} & set(range(len(starts))))
        return self.mixture(column, negligible=1e-8).mode(starts[around])

    def _mode_starts(self, column: int) -> Array:
        """Ascending values among which, or next to which, the mode is; (values,)."""
        described, known = self.circuits.leaves.columns[column], self.known(column)
        low, high = described.plausible
        low, high = max(low, known.low[0]), min(high, known.high[-1])
        if low > high:  # nothing but what is known
            low = high = known.low[0] if np.isfinite(known.low[0]) else known.high[-1]
        if described.discrete and high - low <= _MOST_WHOLE:
            values = np.arange(np.ceil(low), np.floor(high) + 1)
            return values[known.contains(values)]
        whole, first, second = self.circuits.moments(column, ValueSet.of([described.plausible]))
        mean = np.divide(first, whole, out=np.full_like(whole, low), where=whole > 0)
        square = np.divide(second, whole, out=np.full_like(whole, low**2), where=whole > 0)
        spread = np.sqrt(np.maximum(square - mean**2, 0.0))
        finest = max(described.resolution / 4, 1e-9 * (high - low), np.finfo(float).tiny)
        height = (self._all_weights(column) * whole / np.maximum(spread, finest)).ravel()
        peaks = np.argsort(-height)[:_MOST_PEAKS]
        values = (
            mean.ravel()[peaks] + np.array([[-2], [-1], [-0.3], [0], [0.3]]) * spread.ravel()[peaks]
        )
        ends = [*known.low, *known.high, *described.observed, low, high, *described.atoms]
        values = np.concatenate([values.ravel(), [end for end in ends if np.isfinite(end)]])
        values = np.unique(np.clip(np.rint(values) if described.discrete else values, low, high))
        return values[known.contains(values)]

    def cells(self, column: int, cells: int = CELLS) -> tuple[Array, Array]:
        """Ends of cells that a column is divided into; see `cut_cells`."""

        def cut() -> Array:
            return np.stack(cut_cells(self.circuits, column, self.leaf_weights(column), cells))

        if self.given:
            low, high = cut()
        else:
            low, high = self.circuits.remember((column, "cells", cells), cut)
        return low, high

    def cell_masses(self, column: int, low: Array, high: Array) -> Array:
        """Probability of a column's cells under every draw; (cells, draws)."""
        exact = self.exact(column)
        if exact is not None:
            # cells share their ends: the first that reaches up to the value holds it
            inside = np.arange(len(high)) == np.argmax(high >= exact)
            return np.repeat(inside[:, None].astype(np.float64), self.circuits.n_draws, axis=1)
        masses = self.leaf_masses(column, low, high)
        return np.einsum("cdpi,dpi->cd", masses, self.leaf_weights(column), optimize=True)

    def leaf_masses(self, column: int, low: Array, high: Array) -> Array:
        """Probability of cells under every leaf, given what is known of the column itself.

        Shape (cells, draws, paths, leaves).
        """
        known = self.known(column)
        if known is EVERYTHING:
            return self.circuits.masses(column, low, high)
        whole = np.exp(self.circuits.log_mass(column, known))
        masses = np.zeros((len(low), *whole.shape))
        discrete = self.circuits.leaves.columns[column].discrete
        everything = None
        for cell, ends in enumerate(zip(low, high, strict=True)):
            part = known.intersect(ValueSet.of([ends]))
            if part.empty or not (discrete or (part.high > part.low).any()):
                continue  # a point, where closed intervals touch, has no probability
            if (part.low[0], part.high[0]) == ends:
                # tabulated for all cells, which many questions share
                if everything is None:
                    everything = self.circuits.masses(column, low, high)
                masses[cell] = everything[cell]
            else:
                masses[cell] = np.exp(self.circuits.log_mass(column, part))
        return np.divide(masses, whole, out=np.zeros_like(masses), where=whole > 0)

    def moments(self, column: int) -> Array:
        """E[x^k] for k = 0, 1, 2 within the column's plausible range, by draw; (3, draws)."""
        within = ValueSet.of([self.circuits.leaves.columns[column].plausible])
        weights, known = self.leaf_weights(column), self.known(column)
        if known is EVERYTHING:
            return (self.circuits.moments(column, within) * weights).sum(axis=(2, 3))
        whole = np.exp(self.circuits.log_mass(column, known))
        weights = np.divide(weights, whole, out=np.zeros_like(whole), where=whole > 0)
        # outside of the range there is nothing but what is known
        both = known.intersect(within)
        moments = self.circuits.moments(column, known if both.empty else both)
        return (moments * weights).sum(axis=(2, 3))


def split_given(circuits: StackedCircuits, given: Given) -> tuple[Array, dict[int, Array]]:
    """What is given, as `evaluate` takes it: exact values (1, columns), and factors of columns."""
    exact = np.full((1, len(circuits.leaves.columns)), np.nan)
    factors = {}
    for column, value in given.items():
        if isinstance(value, ValueSet):
            factors[column] = circuits.log_mass(column, value)[None]
        else:
            exact[0, column] = value
    return exact, factors


def _both(known: float | ValueSet, wanted: float | ValueSet) -> float | ValueSet | None:
    """What remains if a value is in two sets; None if nothing does."""
    if isinstance(known, ValueSet) and isinstance(wanted, ValueSet):
        return known.intersect(wanted)
    if isinstance(known, ValueSet):
        return wanted if known.contains(np.array(wanted)) else None
    if isinstance(wanted, ValueSet):
        return known if wanted.contains(np.array(known)) else None
    return known if known == wanted else None
