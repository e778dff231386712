"""The move θ, ω | z, s, y, x: leaf parameters and mixing weights of the leaves in scope."""
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numba as nb
import numpy as np

from bayesspn.arrays import Array
from bayesspn.engine.row_sums import Statistics
from bayesspn.inference.state import (
    State,
    counts_and_totals,
    family_counts,
    mixing_concentration,
)
from bayesspn.leaves.columns import Leaves
from bayesspn.leaves.conjugate import (
    MOST_HYPER,
    ONE_HOT,
    draw_natural,
    fill_hyper,
    fill_posterior,
)
from bayesspn.leaves.densities import DrawnLeaves, PredictiveLeaves
from bayesspn.model.generative import Hyper
from bayesspn.numerics.streams import Randomness, as_stream, fork, log_gamma_variate
from bayesspn.numerics.threads import run_tasks

#: Fewer leaves of columns than this are not worth a thread.
_LEAVES_PER_TASK = 8192

#: Where the streams of mixing weights begin, behind those of all columns.
_MIXING = 1 << 48


def posterior_hyper(leaves: Leaves, hyper: Hyper, statistics: Statistics) -> list[Array]:
    """Hyper-parameters of θ given the statistics; one array (g, paths, leaves, h) per group."""
    return [
        group.family.posterior(group.hyper(phi), *counts_and_totals(group, slots))
        for group, phi, slots in zip(leaves.groups, hyper.phi, statistics, strict=True)
    ]


def draw_leaf_parameters(
    random: Randomness, leaves: Leaves, state: State, power: float = 1.0
) -> DrawnLeaves:
    """Draw θ and ω of every leaf in scope from their conjugate posteriors.

    With a ``power``, densities of cells are raised to it: θ sees that share of every cell.
    """
    stream = as_stream(random)
    eta, log_partition = [], []
    for g, (group, slots) in enumerate(zip(leaves.groups, state.statistics, strict=True)):
        shape = slots.shape[:3]
        natural, partition = np.empty((*shape, group.n_statistics)), np.empty(shape)
        run_tasks(
            _draw_group,
            slots[..., 0].size // _LEAVES_PER_TASK,
            group.family.kind,
            stream,
            g << 40,
            state.hyper.phi[g],
            group.constants,
            slots,
            power,
            natural,
            partition,
        )
        eta.append(natural)
        log_partition.append(partition)
    concentration = _mixing_posterior(leaves, state)
    log_mixing = np.empty(concentration.shape)
    _draw_mixing(stream, concentration, log_mixing)
    return DrawnLeaves(leaves, tuple(eta), tuple(log_partition), log_mixing, power)


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _draw_group(
    task, tasks, kind, stream, first, phi, constants, statistics, power, eta, log_partition
):
    """Draw the parameters of all members (g, paths, leaves, …) of a leaf group."""
    members, paths, leaves, slots = statistics.shape
    own = np.empty(4, dtype=np.uint64)
    size = slots if kind == ONE_HOT else MOST_HYPER
    prior, posterior, totals = np.empty(size), np.empty(size), np.empty(slots)
    for member in range(task, members, tasks):
        fork(stream, first + member, own)
        fill_hyper(kind, phi[member], constants[member], prior)
        for q in range(paths):
            for i in range(leaves):
                if kind == ONE_HOT:
                    for k in range(slots):
                        posterior[k] = prior[k] + power * statistics[member, q, i, k]
                else:
                    for k in range(1, slots):
                        totals[k - 1] = power * statistics[member, q, i, k]
                    n = power * statistics[member, q, i, 0]
                    fill_posterior(kind, prior, n, totals, posterior)
                drawn = draw_natural(kind, own, posterior, eta[member, q, i])
                log_partition[member, q, i] = drawn


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _draw_mixing(stream, concentration, out):
    """Draw log ω (mixed columns, families, paths, leaves); −inf where a column has fewer."""
    columns, families, paths, leaves = concentration.shape
    own = np.empty(4, dtype=np.uint64)
    for column in range(columns):
        fork(stream, _MIXING + column, own)
        for q in range(paths):
            for i in range(leaves):
                largest = -np.inf
                for m in range(families):
                    value = -np.inf
                    if concentration[column, m, q, i] > 0.0:
                        value = log_gamma_variate(own, concentration[column, m, q, i])
                    out[column, m, q, i] = value
                    largest = max(largest, value)
                total = 0.0
                for m in range(families):
                    total += np.exp(out[column, m, q, i] - largest)
                for m in range(families):
                    out[column, m, q, i] -= largest + np.log(total)


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
