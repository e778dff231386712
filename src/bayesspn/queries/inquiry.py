"""One piece of evidence, put to all networks: what each of them says about the rest.

An `Inquiry` of the predictive networks gives the answer; one of networks with drawn parameters
gives its uncertainty, draw by draw.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bayesspn.leaves.family import Array
from bayesspn.queries.grids import CELLS, cut_cells
from bayesspn.queries.mixtures import Mixtures, mixtures_of_draws, mixtures_of_rows
from bayesspn.queries.networks import Networks
from bayesspn.queries.passes import Evaluation, evaluate
from bayesspn.queries.sets import Evidence, ValueSet


class ImpossibleEvidence(ValueError):
    """Evidence that has probability zero.

    Attributes
    ----------
    columns : tuple of int
        Positions of the columns to blame.
    """

    def __init__(self, columns: tuple[int, ...]) -> None:
        super().__init__(f"the evidence on columns {columns} has probability zero")
        self.columns = columns


@dataclass(frozen=True, eq=False)
class Inquiry:
    """Networks, and what is known.

    Parameters
    ----------
    networks : Networks
    evidence : dict of int to float or ValueSet
        What is known of some columns.
    """

    networks: Networks
    evidence: Evidence

    @cached_property
    def evaluation(self) -> Evaluation:
        """Values of all nodes given the evidence."""
        return self._evaluate(self.evidence)

    def _evaluate(self, evidence: Evidence) -> Evaluation:
        return evaluate(self.networks, *split_evidence(self.networks, evidence))

    @property
    def log_evidence(self) -> Array:
        """Log probability or density of the evidence under every draw; (draws,)."""
        return self.evaluation.log_evidence[:, 0]

    @cached_property
    def draw_weights(self) -> Array:
        """Weight of every draw given the evidence; (draws,).

        Raises
        ------
        ImpossibleEvidence
            If no draw gives the evidence a positive probability.
        """
        log_evidence = self.log_evidence
        top = log_evidence.max()
        if np.isneginf(top):
            raise ImpossibleEvidence(self._blame())
        weights = np.exp(log_evidence - top)
        return weights / weights.sum()

    def _blame(self) -> tuple[int, ...]:
        """Smallest part of the evidence that is found to be impossible, one column if possible."""
        for column, value in self.evidence.items():
            if self._impossible({column: value}):
                return (column,)
        blamed = dict(self.evidence)
        for column in self.evidence:
            without = {other: value for other, value in blamed.items() if other != column}
            if self._impossible(without):
                blamed = without
        return tuple(blamed)

    def _impossible(self, evidence: Evidence) -> bool:
        return bool(np.isneginf(self._evaluate(evidence).log_evidence).all())

    def log_joint(self, event: Evidence) -> Array:
        """Log probability of evidence and event together, under every draw; (draws,)."""
        joint = dict(self.evidence)
        for column, wanted in event.items():
            known = joint.get(column)
            both = wanted if known is None else _both(known, wanted)
            if both is None or (isinstance(both, ValueSet) and both.empty):
                return np.full(self.networks.n_draws, -np.inf)
            joint[column] = both
        return self._evaluate(joint).log_evidence[:, 0]

    def probability(self, event: Evidence) -> Array:
        """Probability of an event under every draw; NaN where the evidence is impossible."""
        with np.errstate(invalid="ignore"):
            return np.exp(self.log_joint(event) - self.log_evidence)

    @cached_property
    def _visits(self) -> Array:
        """Probability that a leaf is visited; (draws, leaf regions, leaves)."""
        return self.evaluation.visits()[:, :, 0]

    def leaf_weights(self, column: int) -> Array:
        """Weights of a column's leaves under every draw; (draws, paths, leaves)."""
        draws = np.arange(self.networks.n_draws)[:, None]
        return self._visits[draws, self.networks.leaf_regions[:, column]]

    def known(self, column: int) -> ValueSet | None:
        """Set that a column is known to lie in, if that is all that is known of it."""
        value = self.evidence.get(column)
        return value if isinstance(value, ValueSet) else None

    def exact(self, column: int) -> float | None:
        """Value that a column is known to have."""
        value = self.evidence.get(column)
        return None if isinstance(value, ValueSet) else value

    def mixture(self, column: int) -> Mixtures:
        """Distribution of a column over all draws; one row."""
        weights = self.draw_weights[:, None, None] * self.leaf_weights(column)
        return mixtures_of_rows(self.networks, column, weights[None], self.known(column))

    def mixtures(self, column: int) -> Mixtures:
        """Distribution of a column under every draw that allows the evidence."""
        weights = self.leaf_weights(column)
        return mixtures_of_draws(self.networks, column, weights, self.known(column))

    def cells(self, column: int, cells: int = CELLS) -> tuple[Array, Array]:
        """Ends of cells that a column is divided into; see `cut_cells`."""
        return cut_cells(self.networks, column, self.leaf_weights(column), cells)

    def cell_masses(self, column: int, low: Array, high: Array) -> Array:
        """Probability of a column's cells under every draw; (cells, draws)."""
        masses = self.leaf_masses(column, low, high)
        return np.einsum("cdpi,dpi->cd", masses, self.leaf_weights(column), optimize=True)

    def leaf_masses(self, column: int, low: Array, high: Array) -> Array:
        """Probability of cells under every leaf, given what is known of the column itself.

        Shape (cells, draws, paths, leaves).
        """
        known, exact = self.known(column), self.exact(column)
        if exact is not None:
            # cells share their ends: the first that reaches up to the value holds it
            own = np.arange(len(high)) == np.argmax(high >= exact)
            shape = (len(high), *self.leaf_weights(column).shape)
            return np.broadcast_to(own[:, None, None, None], shape).astype(np.float64)
        if known is None:
            return self.networks.masses(column, low, high)
        whole = np.exp(self.networks.log_mass(column, known))
        parts = [known.intersect(ValueSet.of([ends])) for ends in zip(low, high, strict=True)]
        masses = np.stack([np.exp(self.networks.log_mass(column, part)) for part in parts])
        return np.divide(masses, whole, out=np.zeros_like(masses), where=whole > 0)

    def moments(self, column: int) -> Array:
        """E[x^k] for k = 0, 1, 2 within the column's plausible range, by draw; (3, draws)."""
        within = ValueSet.of([self.networks.leaves.columns[column].plausible])
        weights, known, exact = self.leaf_weights(column), self.known(column), self.exact(column)
        if exact is not None:
            powers = np.array([1.0, exact, exact * exact])
            return powers[:, None] * weights.sum(axis=(1, 2))
        if known is None:
            return (self.networks.moments(column, within) * weights).sum(axis=(2, 3))
        whole = np.exp(self.networks.log_mass(column, known))
        weights = np.divide(weights, whole, out=np.zeros_like(whole), where=whole > 0)
        # outside of the range there is nothing but what is known
        both = known.intersect(within)
        moments = self.networks.moments(column, known if both.empty else both)
        return (moments * weights).sum(axis=(2, 3))


def split_evidence(networks: Networks, evidence: Evidence) -> tuple[Array, dict[int, Array]]:
    """Evidence as `evaluate` takes it: exact values (1, columns), and factors of columns."""
    exact = np.full((1, len(networks.leaves.columns)), np.nan)
    factors = {}
    for column, value in evidence.items():
        if isinstance(value, ValueSet):
            factors[column] = networks.log_mass(column, value)[None]
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
