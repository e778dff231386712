"""The components of an infinite mixture side by side: adding, keeping and rearranging them.

Several components form one network whose root has the partitions of all components' roots
(`Model.joined_graph`). What hangs below a root partition is a *block*: its choices y, its edges and
its leaves. Blocks follow each other along one axis of every array, component after component, so
that components are added and dropped, and blocks rearranged, by indexing that axis. A finite model
is one component.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesspn.arrays import Array, IntArray
from bayesspn.engine.row_sums import RowSums, Statistics, empty_statistics
from bayesspn.inference.state import State
from bayesspn.model.circuit import take_blocks
from bayesspn.model.generative import Model
from bayesspn.scopes import Scope

#: Axes of blocks: of edge counts at the root, and of statistics in scope or of all regions.
_ROOT_AXIS = 2
_PATH_AXIS = 1
_REGION_AXIS = 2


def count_components(model: Model, scope: Scope) -> int:
    """Number of components that stand side by side."""
    return scope.graph.branching[0] // model.graph.branching[0]


def by_component(model: Model, at_root: NDArray[Any]) -> NDArray[Any]:
    """The root's edges (1, 1, partitions, products) as (components, 1, partitions, products)."""
    return at_root.reshape(-1, *model.graph.weight_shapes[0][1:])


def component_edges(
    model: Model, edge_counts: tuple[NDArray[np.int64], ...]
) -> tuple[NDArray[np.int64], ...]:
    """Edge counts in which every component has a root of its own."""
    return by_component(model, edge_counts[0]), *edge_counts[1:]


def component_sizes(model: Model, edge_counts: tuple[NDArray[np.int64], ...]) -> IntArray:
    """Rows of every component; shape (components,)."""
    return np.asarray(by_component(model, edge_counts[0]).sum(axis=(1, 2, 3)))


def join_weights(log_weights: tuple[Array, ...], log_shares: Array) -> tuple[Array, ...]:
    """Log weights of the joined network, from those of components and the components' log shares.

    Parameters
    ----------
    log_weights : tuple of ndarray
        The first of shape (components, 1, partitions, products), the others as in a `Circuit`.
    log_shares : ndarray of shape (components,)
    """
    root = log_weights[0] + log_shares[:, None, None, None]
    return root.reshape(1, 1, -1, root.shape[3]), *log_weights[1:]


def add_components(model: Model, state: State, y: tuple[NDArray[np.int8], ...]) -> State:
    """Append components without rows.

    Parameters
    ----------
    model : Model
    state : State
    y : tuple of ndarray of shape (partitions of the level in all new components, columns)
        Their choices.
    """
    added = model.joined_graph(len(y[0]) // model.graph.branching[0])
    counts = [np.zeros(shape, dtype=np.int64) for shape in added.weight_shapes]
    statistics = tuple(
        np.concatenate([kept, np.zeros((len(kept), added.n_paths, *kept.shape[2:]), kept.dtype)], 1)
        for kept in state.statistics
    )
    return State(
        add_to_scope(model, state.scope, y),
        state.hyper,
        _join_levels(state.edge_counts, tuple(counts)),
        statistics,
    )


def add_to_sums(model: Model, sums: RowSums, more: int) -> RowSums:
    """Append components without rows to what a row pass found."""
    added = model.joined_graph(more)
    counts = tuple(np.zeros(shape, dtype=np.int64) for shape in added.weight_shapes)
    empty = empty_statistics(added, model.leaves)
    statistics = tuple(
        np.concatenate([kept, none], axis=_REGION_AXIS)
        for kept, none in zip(sums.statistics, empty, strict=True)
    )
    return sums._replace(edge_counts=_join_levels(sums.edge_counts, counts), statistics=statistics)


def add_to_scope(model: Model, scope: Scope, y: tuple[NDArray[np.int8], ...]) -> Scope:
    """Append the choices of further components."""
    more = len(y[0]) // model.graph.branching[0]
    graph = model.joined_graph(count_components(model, scope) + more)
    return Scope(graph, tuple(np.concatenate(parts) for parts in zip(scope.y, y, strict=True)))


def blocks_of(model: Model, components: IntArray) -> IntArray:
    """Blocks of components, in order."""
    first = model.graph.branching[0]
    return (components[:, None] * first + np.arange(first)).ravel()


def take_from_state(model: Model, state: State, blocks: IntArray) -> State:
    """The state with these blocks in this order; whole components' worth of them."""
    return State(
        take_from_scope(model, state.scope, blocks),
        state.hyper,
        _take_levels(state.scope, state.edge_counts, blocks),
        _take_statistics(state.scope, state.statistics, blocks, _PATH_AXIS),
    )


def take_from_sums(scope: Scope, sums: RowSums, blocks: IntArray) -> RowSums:
    """Sums of a row pass over ``scope`` with these blocks in this order."""
    return sums._replace(
        edge_counts=_take_levels(scope, sums.edge_counts, blocks),
        statistics=_take_statistics(scope, sums.statistics, blocks, _REGION_AXIS),
    )


def take_from_scope(model: Model, scope: Scope, blocks: IntArray) -> Scope:
    """The scope with these blocks in this order."""
    graph = model.joined_graph(len(blocks) // model.graph.branching[0])
    total = scope.graph.branching[0]
    return Scope(graph, tuple(take_blocks(choice, 0, total, blocks) for choice in scope.y))


def _join_levels(
    kept: tuple[NDArray[Any], ...], more: tuple[NDArray[Any], ...]
) -> tuple[NDArray[Any], ...]:
    return tuple(
        np.concatenate(parts, axis=0 if level else _ROOT_AXIS)
        for level, parts in enumerate(zip(kept, more, strict=True))
    )


def _take_levels(
    scope: Scope, arrays: tuple[NDArray[Any], ...], blocks: IntArray
) -> tuple[NDArray[Any], ...]:
    total = scope.graph.branching[0]
    return tuple(
        take_blocks(array, 0 if level else _ROOT_AXIS, total, blocks)
        for level, array in enumerate(arrays)
    )


def _take_statistics(
    scope: Scope, statistics: Statistics, blocks: IntArray, axis: int
) -> Statistics:
    total = scope.graph.branching[0]
    return tuple(take_blocks(array, axis, total, blocks) for array in statistics)
