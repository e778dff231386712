"""The move φ | z, s, y, x: coordinates of the leaf priors, with θ integrated out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesspn.arrays import Array
from bayesspn.engine.row_sums import Statistics
from bayesspn.inference.slice_sampling import draw_slices
from bayesspn.inference.state import counts_and_totals
from bayesspn.leaves.columns import LeafGroup
from bayesspn.model.generative import Model

#: Share of a group's members that is updated in a sweep, and the least number of them.
_SHARE = 0.1
_AT_LEAST = 4


def draw_leaf_priors(
    rng: np.random.Generator,
    model: Model,
    phi: tuple[Array, ...],
    statistics: Statistics,
    power: float = 1.0,
) -> tuple[Array, ...]:
    """Update one random coordinate of φ for a random subset of every group.

    The choice of members and coordinates does not look at the state, so each update is a Gibbs
    step; over a few sweeps all are visited, at a small share of a sweep's cost.
    """
    if not model.learn_leaf_priors:
        return phi
    return tuple(
        _draw_group(rng, group, values, slots, power)
        for group, values, slots in zip(model.leaves.groups, phi, statistics, strict=True)
    )


def _draw_group(
    rng: np.random.Generator, group: LeafGroup, phi: Array, slots: NDArray[Any], power: float
) -> Array:
    size = min(len(group), max(_AT_LEAST, int(_SHARE * len(group))))
    members = rng.choice(len(group), size=size, replace=False)
    coordinate = rng.integers(phi.shape[1], size=size)
    center = group.center[members, coordinate]
    spread = group.spread[members, coordinate]
    n, totals = counts_and_totals(group, slots[members], power)
    constants = group.constants[members]

    def log_density(x: Array) -> Array:
        moved = phi[members]
        moved[np.arange(size), coordinate] = x
        hyper = group.family.hyper(moved, constants)[:, None, None, :]
        evidence = group.family.log_marginal(hyper, n, totals).sum(axis=(1, 2))
        return evidence - 0.5 * ((x - center) / spread) ** 2

    updated = phi.copy()
    updated[members, coordinate] = draw_slices(
        rng, phi[members, coordinate], log_density, 0.5 * spread
    )
    return updated
