"""What a row pass is given and what it returns: the engine's contract.

A row pass over a circuit draws z and s for every row and returns `RowSums`: integers that add up
over any split of the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayesspn.arrays import Array
from bayesspn.graphs import RegionGraph
from bayesspn.leaves.columns import Leaves

#: Fixed-point units per nat, and the largest score that counts in full.
_UNITS = 2.0**20
_LARGEST_SCORE = 1e12

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
    fixed_log_likelihood : int
        Σ_n log p(x_n | w, θ, y) in units of 2^−20 nats, each row rounded; see `fixed_point`.
    """

    edge_counts: tuple[NDArray[np.int64], ...]
    statistics: Statistics
    fixed_log_likelihood: int

    @property
    def log_likelihood(self) -> float:
        """Sum over the rows of log p(x_n | w, θ, y)."""
        return from_fixed_point(self.fixed_log_likelihood)


def fixed_point(scores: Array) -> int:
    """Sum of log densities as an integer, which does not depend on the order of the rows.

    Rows that no network should have to explain, beyond a million million nats, count as that much.
    """
    units = np.rint(_UNITS * np.clip(scores, -_LARGEST_SCORE, _LARGEST_SCORE)).astype(np.int64)
    largest = int(np.abs(units).max(initial=0))
    return int(units.sum()) if largest * len(units) < 2**62 else sum(units.tolist())


def from_fixed_point(total: int) -> float:
    """The sum that `fixed_point` gave as an integer."""
    return total / _UNITS


def add_row_sums(shards: Sequence[RowSums]) -> RowSums:
    """Add the sums of several shards."""
    edge_counts, statistics, scores = zip(*shards, strict=True)
    return RowSums(_add_arrays(edge_counts), _add_arrays(statistics), sum(scores))


def subtract_row_sums(whole: RowSums, part: RowSums) -> RowSums:
    """The sums of all rows but those of a part."""
    return RowSums(
        tuple(a - b for a, b in zip(whole.edge_counts, part.edge_counts, strict=True)),
        tuple(a - b for a, b in zip(whole.statistics, part.statistics, strict=True)),
        whole.fixed_log_likelihood - part.fixed_log_likelihood,
    )


def _add_arrays(shards: Sequence[tuple[NDArray[Any], ...]]) -> tuple[NDArray[Any], ...]:
    return tuple(sum(parts[1:], start=parts[0].copy()) for parts in zip(*shards, strict=True))


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
