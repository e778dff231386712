"""The move φ | z, s, y, x: coordinates of the leaf priors, with θ integrated out."""
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from typing import Any

import numba as nb
import numpy as np
from numpy.typing import NDArray

from bayesspn.arrays import Array
from bayesspn.engine.row_sums import Statistics
from bayesspn.inference.slice_sampling import Target, draw_slice
from bayesspn.leaves.columns import LeafGroup
from bayesspn.model.generative import Model
from bayesspn.numerics.streams import Randomness, RandomStream, as_stream, fork, uniform
from bayesspn.numerics.threads import run_tasks

#: Share of a group's members that is updated in a sweep, and the least number of them.
_SHARE = 0.25
_AT_LEAST = 4

#: Fewer leaves of columns than this are not worth a thread.
_LEAVES_PER_TASK = 2048


def draw_leaf_priors(
    random: Randomness,
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
    run_tasks(
        _update_members,
        int(share * slots[..., 0].size) // _LEAVES_PER_TASK,
        group.family.kind,
        stream,
        g << 40,
        min(share, 1.0),
        group.center,
        group.spread,
        group.constants,
        slots.reshape(len(group), -1, slots.shape[-1]),
        power,
        updated,
    )
    return updated


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _update_members(
    task, tasks, kind, stream, first, share, center, spread, constants, statistics, power, phi
):
    """Update φ (g, f) of members that chance picks, given statistics (g, leaves, slots)."""
    own = np.empty(4, dtype=np.uint64)
    nothing = np.empty(0)
    members, coordinates = phi.shape
    cells = np.empty(statistics.shape[1:])
    for member in range(task, members, tasks):
        fork(stream, first + member, own)
        if uniform(own) >= share:
            continue
        k = int(coordinates * uniform(own))
        cells[:] = statistics[member]
        target = Target(
            kind, center[member, k], spread[member, k], nothing, nothing, nothing, nothing, 0.0,
            phi[member], constants[member], k, cells, power,
        )  # fmt: skip
        phi[member, k] = draw_slice(own, target, phi[member, k], 0.5 * spread[member, k])
