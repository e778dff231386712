"""The generative model over structure and parameters (paper, section 3; see docs/notation.md).

A `Model` is the graph, the leaves and the priors; `Hyper` is one value of the hyper-parameters
(α, β, leaf priors and the concentrations of mixtures), `draw_hyper` draws it from its prior.

A model with a ``concentration`` is infinite: a Dirichlet process mixture whose components are whole
networks, each with a scope, weights and leaf parameters of its own (paper, section 4.2). Components
in use stand side by side in one network: its root has the partitions of all components' roots.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from bayesspn.arrays import Array
from bayesspn.graphs import RegionGraph
from bayesspn.leaves.columns import Leaves
from bayesspn.numerics.checks import check_positive


@dataclass(frozen=True)
class Learned:
    """A positive hyper-parameter with a log-normal prior, sampled with the rest.

    Parameters
    ----------
    median : float
        Median of the prior, and the starting value.
    spread : float
        Standard deviation of the logarithm.
    """

    median: float
    spread: float

    def __post_init__(self) -> None:
        for name in ("median", "spread"):
            check_positive(name, getattr(self, name))

    def log_density(self, log_value: Array) -> Array:
        """Log prior density of the logarithm, up to a constant."""
        return -0.5 * ((log_value - np.log(self.median)) / self.spread) ** 2

    def draw(self, rng: np.random.Generator, size: int) -> Array:
        """Draw from the prior; shape (size,)."""
        return self.median * np.exp(self.spread * rng.standard_normal(size))


Concentration = float | Learned


class Hyper(NamedTuple):
    """Values of the hyper-parameters.

    Attributes
    ----------
    alpha : ndarray of shape (levels,)
        Concentration of the sum weights, per edge and level.
    beta : ndarray of shape (1,)
        Concentration of the scope choices.
    mixing : ndarray of shape (mixed columns,)
        Concentration of the weights ω over likelihood families.
    phi : tuple of ndarray of shape (g, f)
        Coordinates of the leaf priors, per leaf group.
    concentration : ndarray of shape (1,) or (0,)
        Concentration of the Dirichlet process; empty in finite models.
    """

    alpha: Array
    beta: Array
    mixing: Array
    phi: tuple[Array, ...]
    concentration: Array


@dataclass(frozen=True, eq=False)
class Model:
    """A Bayesian sum-product network before any data.

    Parameters
    ----------
    graph : RegionGraph
    leaves : Leaves
    alpha : float or Learned
        Concentration of every sum's weights, per edge. A number fixes it.
    beta : float or Learned
        Concentration of every partition's child probabilities.
    mixing : float or Learned
        Concentration of the weights over likelihood families.
    learn_leaf_priors : bool, default=True
        Whether the leaf priors are sampled or stay at the columns' ``gamma``.
    concentration : float, Learned or None, default=None
        Of the Dirichlet process over networks, whose expected number grows with it; ``graph`` is
        then the graph of one of them. None is a single network.

    Examples
    --------
    >>> from bayesspn.leaves.columns import describe_column
    >>> column = describe_column("coin", np.array([0.0, 1.0, 1.0]), "bernoulli")
    >>> model = Model(RegionGraph(depth=0, leaves=2), Leaves((column,)), alpha=1.0)
    >>> start_hyper(model).alpha
    array([1.])
    """

    graph: RegionGraph
    leaves: Leaves
    alpha: Concentration = Learned(0.1, 1.5)
    beta: Concentration = Learned(1.0, 1.0)
    mixing: Concentration = Learned(0.3, 1.0)
    learn_leaf_priors: bool = True
    concentration: Concentration | None = None

    def __post_init__(self) -> None:
        for name in ("alpha", "beta", "mixing", "concentration"):
            value = getattr(self, name)
            if name == "concentration" and value is None:
                continue
            if not isinstance(value, Learned):
                check_positive(name, value)
        if self.infinite and self.graph.depth == 0:
            raise ValueError("the components of an infinite mixture need a depth of at least 1")

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.leaves.columns)

    @property
    def infinite(self) -> bool:
        """Whether this is a Dirichlet process mixture of networks."""
        return self.concentration is not None

    def joined_graph(self, components: int) -> RegionGraph:
        """Graph of several components side by side: the partitions of all roots under one."""
        if components == 1:
            return self.graph  # also the graph of depth 0, which has no partitions to multiply
        first, *below = self.graph.branching
        return replace(self.graph, partitions=(components * first, *below))

    def _sizes(self) -> tuple[tuple[Concentration, int], ...]:
        return (
            (self.alpha, self.graph.levels),
            (self.beta, 1),
            (self.mixing, len(self.leaves.mixed)),
            (1.0, 0) if self.concentration is None else (self.concentration, 1),
        )


def start_hyper(model: Model) -> Hyper:
    """The hyper-parameters that a chain starts from: fixed values, prior medians, φ centres."""
    alpha, beta, mixing, concentration = (
        np.full(size, value.median if isinstance(value, Learned) else value)
        for value, size in model._sizes()
    )
    phi = tuple(group.center for group in model.leaves.groups)
    return Hyper(alpha, beta, mixing, phi, concentration)


def draw_hyper(rng: np.random.Generator, model: Model) -> Hyper:
    """Draw the hyper-parameters from their prior."""
    alpha, beta, mixing, concentration = (
        value.draw(rng, size) if isinstance(value, Learned) else np.full(size, value)
        for value, size in model._sizes()
    )
    phi = tuple(
        group.center + group.spread * rng.standard_normal(group.center.shape)
        if model.learn_leaf_priors
        else group.center
        for group in model.leaves.groups
    )
    return Hyper(alpha, beta, mixing, phi, concentration)
