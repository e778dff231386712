"""Leaf densities of a circuit, for all leaves in scope of a column at once.

`DrawnLeaves` holds drawn parameters θ and mixing weights ω: what the row pass conditions on.
`PredictiveLeaves` holds posterior hyper-parameters: what a draw predicts with (θ, ω integrated
out). Arrays have axes (…, path, leaf); see `bayesspn.scopes` for paths.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from bayesspn.arrays import Array
from bayesspn.leaves.columns import Leaves

Index = NDArray[np.int64]


class NaturalForm(NamedTuple):
    """Log density of model m: ``constant[m] + power (log h + Σ_t T_t eta[m, t])``.

    Attributes
    ----------
    constant : ndarray of shape (families, paths, leaves)
        Log mixing weight less log partition, to the power of the densities.
    eta : ndarray of shape (families, t, paths, leaves)
        Natural parameters, zeros where a model has fewer statistics than others.
    """

    constant: Array
    eta: Array


class LeafDensities(Protocol):
    """Log densities of single likelihood families, and the log weights that mix them."""

    @property
    def leaves(self) -> Leaves:
        """The columns."""

    @property
    def log_mixing(self) -> Array:
        """Log ω of the mixed columns; shape (mixed columns, families, paths, leaves)."""

    @property
    def power(self) -> float:
        """Power to which the densities of likelihood families are raised; 1 but in tempering."""

    def log_probabilities(self, group: int) -> Array:
        """Log probabilities of a one-hot group; shape (g, paths, leaves, categories)."""

    def log_family_density(self, column: int, number: int, values: Array) -> Array:
        """Log density of one likelihood family; shape (values, paths, leaves)."""

    def log_family_mass(self, column: int, number: int, low: Array, high: Array) -> Array:
        """Log probability of low ≤ x ≤ high, which broadcast against (paths, leaves)."""

    def family_moments(self, column: int, number: int, low: Array, high: Array) -> Array:
        """E[x^k; low ≤ x ≤ high] for k = 0, 1, 2; shape (3, …, paths, leaves)."""

    def select(self, column: int, path: Index, leaf: Index) -> Self:
        """Leaves of one column at (path, leaf) pairs: each on a path of its own, one leaf there."""

    def on_paths(self, paths: slice | Index) -> Self:
        """The leaves on some of the paths."""

    def natural(self, column: int) -> NaturalForm | None:
        """The column's leaves as exponential families, if they are."""

    def draw_values(
        self, rng: np.random.Generator, column: int, number: int, path: Index, leaf: Index
    ) -> Array:
        """Draw one value of a column from a likelihood family of each (path, leaf) pair."""


@dataclass(frozen=True, eq=False)
class DrawnLeaves:
    """Leaves with drawn parameters.

    Attributes
    ----------
    leaves : Leaves
    eta : tuple of ndarray of shape (g, paths, leaves, t)
        Natural parameters η(θ), per leaf group.
    log_partition : tuple of ndarray of shape (g, paths, leaves)
        A(θ).
    log_mixing : ndarray of shape (mixed columns, families, paths, leaves)
    power : float, default=1.0
        Power to which the densities of likelihood families are raised, as tempering needs; mixing
        weights stay as they are.
    """

    leaves: Leaves
    eta: tuple[Array, ...]
    log_partition: tuple[Array, ...]
    log_mixing: Array
    power: float = 1.0

    def log_probabilities(self, group: int) -> Array:
        """Log probabilities of a one-hot group; shape (g, paths, leaves, categories)."""
        return self.eta[group] if self.power == 1.0 else self.power * self.eta[group]

    def log_family_density(self, column: int, number: int, values: Array) -> Array:
        """Log density of one likelihood family; shape (values, paths, leaves)."""
        group, position = self.leaves.places[column][number]
        statistics, log_base = self.leaves.columns[column].features(number, values)
        eta = self.eta[group][position]
        density = log_base[:, None, None] - self.log_partition[group][position]
        if self.leaves.groups[group].family.one_hot:
            density = density + np.moveaxis(eta, -1, 0)[statistics.argmax(axis=1)]
        else:
            # term by term: a matrix product may round differently for blocks of different sizes
            for k in range(statistics.shape[1]):
                density += statistics[:, k, None, None] * eta[..., k]
        return density if self.power == 1.0 else self.power * density

    def log_family_mass(self, column: int, number: int, low: Array, high: Array) -> Array:
        """Log probability of low ≤ x ≤ high, which broadcast against (paths, leaves)."""
        group, position = self.leaves.places[column][number]
        described = self.leaves.groups[group]
        eta, constants = self.eta[group][position], described.constants[position]
        return described.family.log_mass(eta, low, high, constants)

    def draw_between(
        self,
        rng: np.random.Generator,
        column: int,
        number: int,
        pairs: tuple[Index, Index],
        low: Array,
        high: Array,
    ) -> Array:
        """Draw low ≤ x ≤ high from a likelihood family of each (path, leaf) pair; (pairs,)."""
        group, position = self.leaves.places[column][number]
        described = self.leaves.groups[group]
        eta, constants = self.eta[group][position][pairs], described.constants[position]
        return described.family.draw_between(rng, eta, low, high, constants)

    def family_moments(self, column: int, number: int, low: Array, high: Array) -> Array:
        """E[x^k; low ≤ x ≤ high] for k = 0, 1, 2; shape (3, …, paths, leaves)."""
        group, position = self.leaves.places[column][number]
        described = self.leaves.groups[group]
        eta, constants = self.eta[group][position], described.constants[position]
        return described.family.moments(eta, low, high, constants)

    def select(self, column: int, path: Index, leaf: Index) -> DrawnLeaves:
        """Leaves of one column at (path, leaf) pairs: each on a path of its own, one leaf there."""
        alone = Leaves((self.leaves.columns[column],))
        eta = _select(self.leaves, alone, column, self.eta, path, leaf)
        log_partition = _select(self.leaves, alone, column, self.log_partition, path, leaf)
        mixing = _select_mixing(self.leaves, column, self.log_mixing, path, leaf)
        return DrawnLeaves(alone, eta, log_partition, mixing, self.power)

    def on_paths(self, paths: slice | Index) -> DrawnLeaves:
        """The leaves on some of the paths."""
        eta = tuple(group[:, paths] for group in self.eta)
        log_partition = tuple(group[:, paths] for group in self.log_partition)
        mixing = self.log_mixing[:, :, paths]
        return DrawnLeaves(self.leaves, eta, log_partition, mixing, self.power)

    def natural(self, column: int) -> NaturalForm | None:
        """The column's leaves as exponential families."""
        places = self.leaves.places[column]
        constant = np.stack(
            [-self.power * self.log_partition[group][position] for group, position in places]
        )
        if len(places) > 1:
            member = int(np.searchsorted(self.leaves.mixed, column))
            constant += self.log_mixing[member, : len(places)]
        most = max(self.eta[group].shape[-1] for group, _ in places)
        eta = np.zeros((len(places), most, *constant.shape[1:]))
        for m, (group, position) in enumerate(places):
            natural = np.moveaxis(self.eta[group][position], -1, 0)
            eta[m, : len(natural)] = natural
        return NaturalForm(constant, eta)

    def draw_values(
        self, rng: np.random.Generator, column: int, number: int, path: Index, leaf: Index
    ) -> Array:
        """Draw one value of a column from a likelihood family of each (path, leaf) pair."""
        group, position = self.leaves.places[column][number]
        eta = self.eta[group][position][path, leaf]
        described = self.leaves.groups[group]
        return described.family.draw_values(rng, eta, described.constants[position])


@dataclass(frozen=True, eq=False)
class PredictiveLeaves:
    """Leaves with parameters integrated out.

    Attributes
    ----------
    leaves : Leaves
    hyper : tuple of ndarray of shape (g, paths, leaves, h)
        Hyper-parameters of the posterior of θ, per leaf group.
    log_mixing : ndarray of shape (mixed columns, families, paths, leaves)
        Log posterior means of ω.
    """

    leaves: Leaves
    hyper: tuple[Array, ...]
    log_mixing: Array

    @property
    def power(self) -> float:
        """1: there is nothing to temper once parameters are integrated out."""
        return 1.0

    def log_probabilities(self, group: int) -> Array:
        """Log probabilities of a one-hot group; shape (g, paths, leaves, categories)."""
        hyper = self.hyper[group]
        return np.log(hyper) - np.log(hyper.sum(axis=-1, keepdims=True))

    def log_family_density(self, column: int, number: int, values: Array) -> Array:
        """Log density of one likelihood family; shape (values, paths, leaves)."""
        group, position = self.leaves.places[column][number]
        features = self.leaves.columns[column].features(number, values)
        family = self.leaves.groups[group].family
        return np.moveaxis(family.log_predictive(self.hyper[group][position], *features), -1, 0)

    def log_family_mass(self, column: int, number: int, low: Array, high: Array) -> Array:
        """Log probability of low ≤ x ≤ high, which broadcast against (paths, leaves)."""
        group, position = self.leaves.places[column][number]
        described = self.leaves.groups[group]
        hyper, constants = self.hyper[group][position], described.constants[position]
        return described.family.log_mass_predictive(hyper, low, high, constants)

    def family_moments(self, column: int, number: int, low: Array, high: Array) -> Array:
        """E[x^k; low ≤ x ≤ high] for k = 0, 1, 2; shape (3, …, paths, leaves)."""
        group, position = self.leaves.places[column][number]
        described = self.leaves.groups[group]
        hyper, constants = self.hyper[group][position], described.constants[position]
        return described.family.moments_predictive(hyper, low, high, constants)

    def select(self, column: int, path: Index, leaf: Index) -> PredictiveLeaves:
        """Leaves of one column at (path, leaf) pairs: each on a path of its own, one leaf there."""
        alone = Leaves((self.leaves.columns[column],))
        hyper = _select(self.leaves, alone, column, self.hyper, path, leaf)
        mixing = _select_mixing(self.leaves, column, self.log_mixing, path, leaf)
        return PredictiveLeaves(alone, hyper, mixing)

    def on_paths(self, paths: slice | Index) -> PredictiveLeaves:
        """The leaves on some of the paths."""
        hyper = tuple(group[:, paths] for group in self.hyper)
        return PredictiveLeaves(self.leaves, hyper, self.log_mixing[:, :, paths])

    def natural(self, column: int) -> NaturalForm | None:
        """None: an integral over exponential families is not one of them."""
        return None

    def draw_values(
        self, rng: np.random.Generator, column: int, number: int, path: Index, leaf: Index
    ) -> Array:
        """Draw one value of a column from a likelihood family of each (path, leaf) pair."""
        group, position = self.leaves.places[column][number]
        hyper = self.hyper[group][position][path, leaf]
        described = self.leaves.groups[group]
        return described.family.draw_predictive(rng, hyper, described.constants[position])


def _select(
    leaves: Leaves, alone: Leaves, column: int, arrays: tuple[Array, ...], path: Index, leaf: Index
) -> tuple[Array, ...]:
    """Arrays (1, pairs, 1, …) per leaf group of a column that stands alone."""
    chosen: dict[int, Array] = {}
    for (new, _), (group, position) in zip(alone.places[0], leaves.places[column], strict=True):
        chosen[new] = arrays[group][position][path, leaf][None, :, None]
    return tuple(chosen[group] for group in range(len(chosen)))


def _select_mixing(
    leaves: Leaves, column: int, log_mixing: Array, path: Index, leaf: Index
) -> Array:
    families = len(leaves.columns[column].families)
    if families == 1:
        return np.zeros((0, 1, len(path), 1))
    member = int(np.searchsorted(leaves.mixed, column))
    return log_mixing[member][:families, path, leaf][None, :, :, None]


def _log_mixing(densities: LeafDensities, column: int) -> Array:
    """Log ω of a column; shape (families, paths, leaves), or (1, 1, 1) for a single model."""
    families = len(densities.leaves.columns[column].families)
    if families == 1:
        return np.zeros((1, 1, 1))
    member = int(np.searchsorted(densities.leaves.mixed, column))
    return densities.log_mixing[member, :families]


def log_mass(densities: LeafDensities, column: int, low: Array, high: Array) -> Array:
    """Log probability that a column's leaves give to low ≤ x ≤ high.

    Parameters
    ----------
    densities : LeafDensities
    column : int
    low, high : ndarray
        Broadcast against (paths, leaves).

    Returns
    -------
    ndarray of shape (…, paths, leaves)
    """
    parts = [
        mixing + densities.log_family_mass(column, m, low, high)
        for m, mixing in enumerate(_log_mixing(densities, column))
    ]
    return reduce(np.logaddexp, parts)


def moments(densities: LeafDensities, column: int, low: Array, high: Array) -> Array:
    """E[x^k; low ≤ x ≤ high] of a column's leaves for k = 0, 1, 2; shape (3, …, paths, leaves)."""
    parts = [
        np.exp(mixing) * densities.family_moments(column, m, low, high)
        for m, mixing in enumerate(_log_mixing(densities, column))
    ]
    return reduce(np.add, parts)


def log_family_parts(densities: LeafDensities, column: int, values: Array) -> Array:
    """Log ω + log density of each model of a column; shape (values, families, paths, leaves)."""
    parts = [
        mixing + densities.log_family_density(column, m, values)
        for m, mixing in enumerate(_log_mixing(densities, column))
    ]
    return np.stack(parts, axis=1)


def log_density(densities: LeafDensities, column: int, values: Array) -> Array:
    """Log density of a column's leaves, summed over families; (values, paths, leaves)."""
    parts = log_family_parts(densities, column, values)
    total = parts[:, 0]
    for m in range(1, parts.shape[1]):
        total = np.logaddexp(total, parts[:, m])
    return total


def draw_cells(
    rng: np.random.Generator, densities: LeafDensities, column: int, path: Index, leaf: Index
) -> Array:
    """One value of a column for each (path, leaf) pair: the likelihood family, then the value."""
    log_mixing = _log_mixing(densities, column)
    number = np.zeros(len(path), dtype=np.int64)
    if len(log_mixing) > 1:
        number = _choose(rng, np.exp(log_mixing[:, path, leaf]))
    values = np.empty(len(path))
    for m in range(len(log_mixing)):
        own = np.flatnonzero(number == m)
        values[own] = densities.draw_values(rng, column, m, path[own], leaf[own])
    return values


def draw_cells_between(
    rng: np.random.Generator,
    densities: DrawnLeaves,
    column: int,
    pairs: tuple[Index, Index],
    low: Array,
    high: Array,
) -> Array:
    """One value of a column from low to high for each (path, leaf) pair; shape (pairs,).

    Parameters
    ----------
    rng : Generator
    densities : DrawnLeaves
    column : int
    pairs : tuple of two ndarray of shape (pairs,)
        Paths and leaves.
    low, high : ndarray of shape (pairs,)
        Finite ends, both included.
    """
    number = np.zeros(len(low), dtype=np.int64)
    families = len(densities.leaves.columns[column].families)
    if families > 1:
        alone = densities.select(column, *pairs)
        ends = low[:, None], high[:, None]
        masses = np.stack([alone.log_family_mass(0, m, *ends)[:, 0] for m in range(families)])
        logs = masses + _log_mixing(alone, 0)[:, :, 0]
        # an interval that no family can explain, by rounding, is left to any
        top = np.maximum(logs.max(axis=0), np.finfo(float).min)
        number = _choose(rng, np.exp(logs - top))
    values = np.empty(len(low))
    for m in range(families):
        own = np.flatnonzero(number == m)
        at = pairs[0][own], pairs[1][own]
        values[own] = densities.draw_between(rng, column, m, at, low[own], high[own])
    return values


def _choose(rng: np.random.Generator, weights: Array) -> Index:
    """Which family each pair takes, by weights (families, pairs); shape (pairs,)."""
    upto = np.cumsum(weights, axis=0)
    return np.asarray((rng.random(upto.shape[1]) * upto[-1] >= upto[:-1]).sum(axis=0))
