"""The move θ, ω | z, s, y, x: leaf parameters and mixing weights of the leaves in scope."""

from __future__ import annotations

import numpy as np

from bayesspn.arrays import Array
from bayesspn.engine.row_sums import Statistics
from bayesspn.inference.state import State, counts_and_totals, family_counts, mixing_concentration
from bayesspn.leaves.columns import Leaves
from bayesspn.leaves.densities import DrawnLeaves, PredictiveLeaves
from bayesspn.model.generative import Hyper
from bayesspn.numerics.gamma_variates import draw_log_gamma


def posterior_hyper(
    leaves: Leaves, hyper: Hyper, statistics: Statistics, power: float = 1.0
) -> list[Array]:
    """Hyper-parameters of θ given the statistics; one array (g, paths, leaves, h) per group."""
    return [
        group.family.posterior(group.hyper(phi), *counts_and_totals(group, slots, power))
        for group, phi, slots in zip(leaves.groups, hyper.phi, statistics, strict=True)
    ]


def draw_leaf_parameters(
    rng: np.random.Generator, leaves: Leaves, state: State, power: float = 1.0
) -> DrawnLeaves:
    """Draw θ and ω of every leaf in scope from their conjugate posteriors.

    With a ``power``, densities of cells are raised to it: θ sees that share of every cell.
    """
    eta, log_partition = [], []
    posterior = posterior_hyper(leaves, state.hyper, state.statistics, power)
    for group, hyper in zip(leaves.groups, posterior, strict=True):
        drawn = group.family.draw_parameters(rng, hyper)
        eta.append(drawn[0])
        log_partition.append(drawn[1])
    concentration = _mixing_posterior(leaves, state)
    log_gamma = np.full(concentration.shape, -np.inf)
    present = concentration > 0
    log_gamma[present] = draw_log_gamma(rng, concentration[present])
    log_mixing = log_gamma - np.logaddexp.reduce(log_gamma, axis=1, keepdims=True)
    return DrawnLeaves(leaves, tuple(eta), tuple(log_partition), log_mixing, power)


def predictive_leaves(leaves: Leaves, state: State) -> PredictiveLeaves:
    """Leaves with θ and ω integrated out."""
    hyper = tuple(posterior_hyper(leaves, state.hyper, state.statistics))
    concentration = _mixing_posterior(leaves, state)
    with np.errstate(divide="ignore"):
        log_mean = np.log(concentration)
    return PredictiveLeaves(leaves, hyper, log_mean - np.log(concentration.sum(1, keepdims=True)))


def _mixing_posterior(leaves: Leaves, state: State) -> Array:
    counts = family_counts(leaves, state.statistics)
    prior = mixing_concentration(leaves, state.hyper.mixing)
    return counts + prior[:, :, None, None]
