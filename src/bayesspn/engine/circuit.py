"""What the engine is given and what it returns.

A `Circuit` is one sum-product network (G, ψ, w, leaves). A row pass over a circuit draws z and s
for every row and returns `RowSums`: integers that add up over any split of the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayesspn.graphs import RegionGraph
from bayesspn.leaves.columns import Leaves
from bayesspn.leaves.densities import LeafDensities
from bayesspn.leaves.family import Array
from bayesspn.scopes import Scope


@dataclass(frozen=True, eq=False)
class Circuit:
    """A sum-product network.

    Attributes
    ----------
    scope : Scope
        The graph and its scope function.
    log_weights : tuple of ndarray of shape (regions, sums, partitions, products)
        Log sum weights of every level, normalised over the last two axes.
    densities : LeafDensities
    """

    scope: Scope
    log_weights: tuple[Array, ...]
    densities: LeafDensities

    @property
    def graph(self) -> RegionGraph:
        """The region graph."""
        return self.scope.graph


#: Statistics of leaves, one array per leaf group: int32 counts of categories, other slots int64 or,
#: once they are unscaled, float64.
Statistics = tuple[NDArray[Any], ...]


class Address(NamedTuple):
    """Where a row pass finds its random numbers: the chain's key words and the sweep."""

    words: tuple[np.uint32, np.uint32]
    sweep: int


class RowSums(NamedTuple):
    """What a row pass found out about its rows; additive over shards.

    Attributes
    ----------
    edge_counts : tuple of ndarray of int64 of shape (regions, sums, partitions, products)
        How often every edge was chosen, per level.
    statistics : tuple of ndarray of shape (g, slots, leaf regions, leaves)
        Scaled integer statistics of all rows that visit a leaf, per leaf group and for every
        column, in the leaf's scope or not.
    row_ids : ndarray of shape (rows,)
    log_likelihood : ndarray of shape (rows,)
        log p(x_n | w, θ, y) of each row in ``row_ids``.
    """

    edge_counts: tuple[NDArray[np.int64], ...]
    statistics: Statistics
    row_ids: NDArray[np.int64]
    log_likelihood: Array


def add_row_sums(shards: Sequence[RowSums]) -> RowSums:
    """Add the sums of several shards; rows end up sorted by their number."""
    row_ids = np.concatenate([shard.row_ids for shard in shards])
    order = np.argsort(row_ids)
    return RowSums(
        tuple(sum(parts[1:], start=parts[0].copy()) for parts in _by_array(shards, 0)),
        tuple(sum(parts[1:], start=parts[0].copy()) for parts in _by_array(shards, 1)),
        row_ids[order],
        np.concatenate([shard.log_likelihood for shard in shards])[order],
    )


def _by_array(shards: Sequence[RowSums], field: int) -> list[tuple[NDArray[Any], ...]]:
    return list(zip(*(shard[field] for shard in shards), strict=True))


def empty_statistics(graph: RegionGraph, leaves: Leaves) -> list[NDArray[Any]]:
    """Zero statistics of every leaf group; shape (g, slots, leaf regions, leaves)."""
    shape = (graph.n_leaf_regions, graph.leaves)
    return [
        np.zeros(
            (len(group), group.n_slots, *shape),
            dtype=np.int32 if group.family.one_hot else np.int64,
        )
        for group in leaves.groups
    ]
