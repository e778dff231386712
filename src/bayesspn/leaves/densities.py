"""Leaf densities of a circuit, for all leaves in scope of a column at once.

`DrawnLeaves` holds drawn parameters θ and mixing weights ω: what the row pass conditions on.
`PredictiveLeaves` holds posterior hyper-parameters: what a draw predicts with (θ, ω integrated
out). Arrays have axes (…, path, leaf); see `bayesspn.scopes` for paths.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from bayesspn.leaves.columns import Leaves
from bayesspn.leaves.family import Array

Index = NDArray[np.int64]


class NaturalForm(NamedTuple):
    """Log density of model m less log h: ``constant[m] + Σ_t T_t eta[m, t]``.

    Attributes
    ----------
    constant : ndarray of shape (models, paths, leaves)
        Log mixing weight less log partition.
    eta : ndarray of shape (models, t, paths, leaves)
        Natural parameters, zeros where a model has fewer statistics than others.
    """

    constant: Array
    eta: Array


class LeafDensities(Protocol):
    """Log densities of single likelihood models, and the log weights that mix them."""

    @property
    def leaves(self) -> Leaves:
        """The columns."""

    @property
    def log_mixing(self) -> Array:
        """Log ω of the mixed columns; shape (mixed columns, models, paths, leaves)."""

    def log_probabilities(self, group: int) -> Array:
        """Log probabilities of a one-hot group; shape (g, paths, leaves, categories)."""

    def log_model_density(self, column: int, model: int, values: Array) -> Array:
        """Log density of one likelihood model; shape (values, paths, leaves)."""

    def natural(self, column: int) -> NaturalForm | None:
        """The column's leaves as exponential families, if they are."""

    def draw_values(
        self, rng: np.random.Generator, column: int, model: int, path: Index, leaf: Index
    ) -> Array:
        """Draw one value of a column from a likelihood model of each (path, leaf) pair."""


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
    log_mixing : ndarray of shape (mixed columns, models, paths, leaves)
    """

    leaves: Leaves
    eta: tuple[Array, ...]
    log_partition: tuple[Array, ...]
    log_mixing: Array

    def log_probabilities(self, group: int) -> Array:
        """Log probabilities of a one-hot group; shape (g, paths, leaves, categories)."""
        return self.eta[group]

    def log_model_density(self, column: int, model: int, values: Array) -> Array:
        """Log density of one likelihood model; shape (values, paths, leaves)."""
        group, position = self.leaves.places[column][model]
        statistics, log_base = self.leaves.columns[column].features(model, values)
        eta = self.eta[group][position]
        density = log_base[:, None, None] - self.log_partition[group][position]
        if self.leaves.groups[group].family.one_hot:
            return density + np.moveaxis(eta, -1, 0)[statistics.argmax(axis=1)]
        # term by term: a matrix product may round differently for blocks of different sizes
        for k in range(statistics.shape[1]):
            density += statistics[:, k, None, None] * eta[..., k]
        return density

    def natural(self, column: int) -> NaturalForm | None:
        """The column's leaves as exponential families."""
        places = self.leaves.places[column]
        constant = np.stack([-self.log_partition[group][position] for group, position in places])
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
        self, rng: np.random.Generator, column: int, model: int, path: Index, leaf: Index
    ) -> Array:
        """Draw one value of a column from a likelihood model of each (path, leaf) pair."""
        group, position = self.leaves.places[column][model]
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
    log_mixing : ndarray of shape (mixed columns, models, paths, leaves)
        Log posterior means of ω.
    """

    leaves: Leaves
    hyper: tuple[Array, ...]
    log_mixing: Array

    def log_probabilities(self, group: int) -> Array:
        """Log probabilities of a one-hot group; shape (g, paths, leaves, categories)."""
        hyper = self.hyper[group]
        return np.log(hyper) - np.log(hyper.sum(axis=-1, keepdims=True))

    def log_model_density(self, column: int, model: int, values: Array) -> Array:
        """Log density of one likelihood model; shape (values, paths, leaves)."""
        group, position = self.leaves.places[column][model]
        features = self.leaves.columns[column].features(model, values)
        family = self.leaves.groups[group].family
        return np.moveaxis(family.log_predictive(self.hyper[group][position], *features), -1, 0)

    def natural(self, column: int) -> NaturalForm | None:
        """None: an integral over exponential families is not one of them."""
        return None

    def draw_values(
        self, rng: np.random.Generator, column: int, model: int, path: Index, leaf: Index
    ) -> Array:
        """Draw one value of a column from a likelihood model of each (path, leaf) pair."""
        group, position = self.leaves.places[column][model]
        hyper = self.hyper[group][position][path, leaf]
        described = self.leaves.groups[group]
        return described.family.draw_predictive(rng, hyper, described.constants[position])


def log_model_parts(densities: LeafDensities, column: int, values: Array) -> Array:
    """Log ω + log density of each model of a column; shape (values, models, paths, leaves)."""
    models = len(densities.leaves.columns[column].families)
    parts = np.stack(
        [densities.log_model_density(column, m, values) for m in range(models)], axis=1
    )
    if models > 1:
        member = int(np.searchsorted(densities.leaves.mixed, column))
        parts += densities.log_mixing[member, :models]
    return parts


def log_density(densities: LeafDensities, column: int, values: Array) -> Array:
    """Log density of a column's leaves, summed over likelihood models; (values, paths, leaves)."""
    parts = log_model_parts(densities, column, values)
    total = parts[:, 0]
    for m in range(1, parts.shape[1]):
        total = np.logaddexp(total, parts[:, m])
    return total
