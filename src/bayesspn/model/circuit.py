"""Circuits: sum-product networks (G, ψ, w, leaves) with one array per level of the region graph.

Drawn from a state of a chain they are what the row pass conditions on; with parameters integrated
out they are what a posterior draw predicts with.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesspn.arrays import Array
from bayesspn.graphs import RegionGraph
from bayesspn.leaves.densities import LeafDensities
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


def pad_circuit(circuit: Circuit, partitions: int) -> Circuit:
    """The same distribution with more partitions at the root, which are never chosen."""
    graph = circuit.graph
    total = graph.branching[0]
    if partitions == total:
        return circuit
    index = np.concatenate([np.arange(total), np.zeros(partitions - total, dtype=np.int64)])
    root, *below = circuit.log_weights
    root = take_blocks(root, 2, total, index)
    root[:, :, total:] = -np.inf
    padded = replace(graph, partitions=(partitions, *graph.branching[1:]))
    paths = np.arange(graph.n_paths).reshape(total, -1)[index].ravel()
    return Circuit(
        Scope(padded, tuple(take_blocks(choice, 0, total, index) for choice in circuit.scope.y)),
        (root, *(take_blocks(weights, 0, total, index) for weights in below)),
        circuit.densities.on_paths(paths),
    )


def take_blocks(
    array: NDArray[Any], axis: int, total: int, blocks: NDArray[np.int64]
) -> NDArray[Any]:
    """Take blocks along an axis that holds ``total`` of them, each as long as the others.

    What hangs below a partition of the root is a block of every array of a network.
    """
    before, after = array.shape[:axis], array.shape[axis + 1 :]
    length = array.shape[axis] // total
    chosen = array.reshape(*before, total, length, *after).take(blocks, axis=axis)
    return np.ascontiguousarray(chosen.reshape(*before, len(blocks) * length, *after))
