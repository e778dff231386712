"""The move φ | z, s, y, x: coordinates of the leaf priors, with θ integrated out.

Leaves without rows, and those that are about to be found, are drawn from these priors, so that
rows move no faster than φ does: of most tables every coordinate is updated in every sweep.
"""
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from typing import Any

import numba as nb
import numpy as np
from numpy.typing import NDArray

from bayesspn.arrays import Array
from bayesspn.engine.row_sums import Statistics
from bayesspn.inference.slice_sampling import (
    concentration_target,
    count_distinct,
    draw_slice,
    family_target,
)
from bayesspn.leaves.columns import LeafGroup
from bayesspn.leaves.conjugate import GAUSSIAN
from bayesspn.model.generative import Model
from bayesspn.numerics.streams import Randomness, RandomStream, as_stream, fork, uniform
from bayesspn.numerics.threads import run_tasks

#: Share of a group's members that is updated in a sweep, and the least number of them.
_SHARE = 0.25
_AT_LEAST = 32

#: Fewer leaves of columns than this are not worth a thread.
_LEAVES_PER_TASK = 2048


def draw_leaf_priors(
    random: Randomness,
    model: Model,
    phi: tuple[Array, ...],
    statistics: Statistics,
    power: float = 1.0,
) -> tuple[Array, ...]:
    """Update φ of all members of small groups, and of a random subset of large ones.

    The choice of members does not look at the state, so each update is a Gibbs step.
    """
    if not model.learn_leaf_priors:
        return phi
    stream = as_stream(random)
    return tuple(
        _draw_group(stream, g, group, values, slots, power)
        for g, (group, values, slots) in enumerate(
            zip(model.leaves.groups, phi, statistics, strict=True)
        )
    )


def _draw_group(
    stream: RandomStream, g: int, group: LeafGroup, phi: Array, slots: NDArray[Any], power: float
) -> Array:
    updated = phi.copy()
    share = max(_SHARE, _AT_LEAST / len(group))
    most = int(min(share, 1.0) * slots[..., 0].size) // _LEAVES_PER_TASK
    statistics = slots.reshape(len(group), -1, slots.shape[-1])
    shared = (stream, g << 40, share, group.center, group.spread, statistics, power, updated)
    if group.family.one_hot:
        run_tasks(_update_one_hot, most, *shared)
    else:
        run_tasks(_update_members, most, *shared, group.family.kind, group.constants)
    return updated


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _update_members(
    task, tasks, stream, first, share, center, spread, statistics, power, phi, kind, constants
):
    """Update φ (g, f) of members that chance picks, given statistics (g, leaves, slots)."""
    own = np.empty(4, dtype=np.uint64)
    for member in range(task, phi.shape[0], tasks):
        fork(stream, first + member, own)
        if uniform(own) >= share:
            continue
        leaves = _gather_leaves(kind, statistics[member], power)
        for k in range(phi.shape[1]):
            target = family_target(
                kind, center[member, k], spread[member, k], phi[member], constants[member], k,
                leaves,
            )  # fmt: skip
            phi[member, k] = draw_slice(own, target, phi[member, k], 0.5 * spread[member, k])


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _update_one_hot(task, tasks, stream, first, share, center, spread, statistics, power, phi):
    """The same for members of one-hot families, whose statistics are counts of categories."""
    own = np.empty(4, dtype=np.uint64)
    for member in range(task, phi.shape[0], tasks):
        fork(stream, first + member, own)
        if uniform(own) < share:
            _update_categories(
                own, center[member], spread[member], statistics[member], power, phi[member]
            )


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _gather_leaves(kind, statistics, power):
    """Leaves with values among (leaves, slots), as a family's `Target` wants them."""
    leaves, slots = statistics.shape
    gathered = np.empty((leaves, slots))
    used = 0
    for leaf in range(leaves):
        if statistics[leaf, 0] > 0:
            for k in range(slots):
                gathered[used, k] = power * statistics[leaf, k]
            if kind == GAUSSIAN:
                total, mean = gathered[used, 1], gathered[used, 1] / gathered[used, 0]
                gathered[used, 1] = mean
                gathered[used, 2] = max(gathered[used, 2] - total * mean, 0.0)
            used += 1
    return gathered[:used]


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _update_categories(stream, center, spread, statistics, power, phi):
    """Multiply all concentrations exp(φ) of a Dirichlet prior, then update one of them.

    Counts of leaves are (leaves, categories). The factor moves them together where there are many:
    one after the other, each would be held back by the others.
    """
    categories = phi.shape[0]
    counts = statistics.astype(np.float64)
    totals, total_times = count_distinct(power * counts.sum(axis=1))
    most = np.count_nonzero(counts)
    distinct, times, base = np.empty(most), np.empty(most), np.empty(most)
    first = np.zeros(categories + 1, dtype=np.int64)
    for k in range(categories):
        values, often = count_distinct(power * counts[:, k])
        end = first[k] + values.shape[0]
        distinct[first[k] : end] = values
        times[first[k] : end] = often
        base[first[k] : end] = np.exp(phi[k])
        first[k + 1] = end
    used = first[categories]
    # the priors of all φ, along the line on which they move together
    precision = (1.0 / spread**2).sum()
    middle = ((center - phi) / spread**2).sum() / precision
    target = concentration_target(
        middle, 1.0 / np.sqrt(precision), distinct[:used], times[:used], base[:used],
        totals, total_times, 0.0, np.exp(phi).sum(),
    )  # fmt: skip
    phi += draw_slice(stream, target, 0.0, 0.5)
    k = int(categories * uniform(stream))
    here = slice(first[k], first[k + 1])
    rest = np.exp(phi[:k]).sum() + np.exp(phi[k + 1 :]).sum()
    target = concentration_target(
        center[k], spread[k], distinct[here], times[here], np.ones(first[k + 1] - first[k]),
        totals, total_times, rest, 1.0,
    )  # fmt: skip
    phi[k] = draw_slice(stream, target, phi[k], 0.5 * spread[k])
