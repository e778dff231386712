"""The state of a chain between sweeps, which is also what a posterior draw keeps.

Rows enter the posterior only through how often each edge was chosen and through the sufficient
statistics of the leaves in scope; weights w, leaf parameters θ and mixing weights ω are drawn from
their conditionals when the next row pass needs them, and integrated out for prediction.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray

from bayesspn.arrays import Array
from bayesspn.engine.row_sums import Statistics
from bayesspn.leaves.columns import LeafGroup, Leaves
from bayesspn.model.generative import Hyper
from bayesspn.rows.codebook import Codebook
from bayesspn.scopes import Scope


class State(NamedTuple):
    """Scope, hyper-parameters, and what the assignments z and s add up to.

    Attributes
    ----------
    scope : Scope
    hyper : Hyper
    edge_counts : tuple of ndarray of int64 of shape (regions, sums, partitions, products)
        Chosen edges, per level.
    statistics : tuple of ndarray of shape (g, paths, leaves, slots)
        Statistics of the leaves in scope, per leaf group: category counts, or n and ΣT.
    """

    scope: Scope
    hyper: Hyper
    edge_counts: tuple[NDArray[np.int64], ...]
    statistics: Statistics


def counts_and_totals(
    group: LeafGroup, statistics: NDArray[Any], power: float = 1.0
) -> tuple[Array, Array]:
    """Split slots (..., slots) into the count n (...) and the totals ΣT (..., t).

    Cells whose densities are raised to a power count as much.
    """
    if group.family.one_hot:
        totals = statistics.astype(np.float64)
        n = totals.sum(axis=-1)
    else:
        n, totals = statistics[..., 0], statistics[..., 1:]
    return (n, totals) if power == 1.0 else (power * n, power * totals)


def statistics_in_scope(codebook: Codebook, scope: Scope, statistics: Statistics) -> Statistics:
    """Pick each column's own leaf regions out of (g, slots, leaf regions, leaves), unscaled."""
    chosen: list[NDArray[Any]] = []
    for g, group in enumerate(codebook.leaves.groups):
        _, slots, _, leaves = statistics[g].shape
        regions = scope.leaf_regions[group.columns]
        shape = (len(group), regions.shape[1], leaves, slots)
        if group.family.one_hot:
            counts = np.empty(shape, dtype=np.int32)
            _pick(statistics[g], regions, np.ones((len(group), slots), dtype=np.int32), counts)
            chosen.append(counts)
        else:
            unscaled = np.empty(shape)
            _pick(statistics[g], regions, codebook.units[g], unscaled)
            chosen.append(unscaled)
    return tuple(chosen)


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _pick(totals, regions, units, out):  # type: ignore[no-untyped-def]
    """Totals (g, slots, regions, leaves) of some regions (g, paths), in units of their slots."""
    members, slots, _, leaves = totals.shape
    for member in range(members):
        for q in range(regions.shape[1]):
            region = regions[member, q]
            for i in range(leaves):
                for slot in range(slots):
                    value = totals[member, slot, region, i]
                    out[member, q, i, slot] = units[member, slot] * value


def unscale(codebook: Codebook, group: int, scaled: NDArray[Any]) -> NDArray[Any]:
    """Undo the integer scaling of statistics (g, ..., slots) of a leaf group."""
    if codebook.leaves.groups[group].family.one_hot:
        return np.ascontiguousarray(scaled, dtype=np.int32)
    exponents = codebook.exponents[group]
    shape = (len(exponents), *(1,) * (scaled.ndim - 2), exponents.shape[1])
    unscaled = np.ldexp(scaled.astype(np.float64), -exponents.reshape(shape))
    # sums depend on how memory lies: as it would after a file or another process
    return np.ascontiguousarray(unscaled)


def family_counts(leaves: Leaves, statistics: Statistics) -> Array:
    """Cells that each family owns, (mixed columns, families, ...) from (g, ..., slots)."""
    shape = statistics[0].shape[1:-1]
    counts = np.zeros((len(leaves.mixed), leaves.max_families, *shape))
    for group, (members, columns), slots in zip(
        leaves.groups, leaves.mixed_members, statistics, strict=True
    ):
        if members.size:
            n = slots[members].sum(axis=-1) if group.family.one_hot else slots[members, ..., 0]
            counts[columns, group.family_numbers[members]] = n
    return counts


def mixing_concentration(leaves: Leaves, mixing: Array) -> Array:
    """Dirichlet parameters of ω, 0 where a column has fewer families; (mixed columns, families)."""
    return np.where(leaves.mixed_families, mixing[:, None], 0.0)
