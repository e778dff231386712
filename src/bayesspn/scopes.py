"""The scope function ψ, encoded by the discrete variables y (paper, section 3.1).

``y[P, d]`` says to which child of partition P dimension d goes, if it reaches P. Any y induces a
complete and decomposable network. Because every region hands each of its dimensions to all of its
partitions, every dimension reaches exactly ``graph.n_paths`` leaf regions, one per choice of
partitions: whatever belongs to a (dimension, leaf region in scope) pair is a dense array with axes
(dimension, path).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numba as nb
import numpy as np
from numpy.typing import NDArray

from bayesspn.graphs import RegionGraph


@dataclass(frozen=True, eq=False)
class Scope:
    """A scope function: one child choice per partition and dimension.

    Parameters
    ----------
    graph : RegionGraph
        The graph that the scope belongs to.
    y : tuple of ndarray of shape (partitions of the level, dimensions)
        Child choices, integers in [0, children). Entries of dimensions that do not reach a
        partition have no meaning.

    Examples
    --------
    >>> graph = RegionGraph(depth=1, partitions=2)
    >>> scope = Scope(graph, (np.array([[0, 0, 1], [1, 0, 1]]),))
    >>> scope.leaf_regions.tolist()
    [[0, 3], [0, 2], [1, 3]]
    """

    graph: RegionGraph
    y: tuple[NDArray[np.int8], ...]

    def __post_init__(self) -> None:
        graph = self.graph
        if len(self.y) != graph.levels:
            raise ValueError(f"y must have one array per level ({graph.levels}), got {len(self.y)}")
        dimensions = self.y[0].shape[-1]
        checked = []
        for level, choice in enumerate(self.y):
            if not np.issubdtype(choice.dtype, np.integer):
                raise ValueError(f"y[{level}] must hold integers, got {choice.dtype}")
            expected = (graph.regions[level] * graph.branching[level], dimensions)
            if choice.shape != expected:
                raise ValueError(f"y[{level}] must have shape {expected}, got {choice.shape}")
            bad = np.argwhere((choice < 0) | (choice >= graph.children))
            if bad.size:
                partition, dimension = bad[0]
                raise ValueError(
                    f"y[{level}][{partition}, {dimension}] is {choice[partition, dimension]}, but "
                    f"a partition has children 0 to {graph.children - 1}"
                )
            checked.append(np.ascontiguousarray(choice, dtype=np.int8))
        object.__setattr__(self, "y", tuple(checked))

    @classmethod
    def trusted(cls, graph: RegionGraph, y: tuple[NDArray[np.int8], ...]) -> Scope:
        """A scope whose choices are known to be right, as those that the sampler draws."""
        scope = object.__new__(cls)
        object.__setattr__(scope, "graph", graph)
        object.__setattr__(scope, "y", y)
        return scope

    @property
    def n_dimensions(self) -> int:
        """Number of dimensions (columns)."""
        return int(self.y[0].shape[1])

    @cached_property
    def reached_regions(self) -> tuple[NDArray[np.int32], ...]:
        """Regions that each dimension reaches, per level: arrays (dimensions, paths so far)."""
        reached = [np.zeros((self.n_dimensions, 1), dtype=np.int32)]
        for branching, choice in zip(self.graph.branching, self.y, strict=True):
            reached.append(_reach(reached[-1], choice, branching, self.graph.children))
        return tuple(reached)

    @property
    def leaf_regions(self) -> NDArray[np.int32]:
        """Leaf region of every dimension and path; shape (dimensions, paths)."""
        return self.reached_regions[-1]

    @cached_property
    def region_scopes(self) -> tuple[NDArray[np.bool_], ...]:
        """The induced ψ of every region (and so of its nodes), per level: (regions, dimensions)."""
        scopes = []
        for regions, reached in zip(self.graph.regions, self.reached_regions, strict=True):
            member = np.zeros((regions, self.n_dimensions), dtype=bool)
            member[reached, np.arange(self.n_dimensions)[:, None]] = True
            scopes.append(member)
        return tuple(scopes)

    @cached_property
    def partition_counts(self) -> NDArray[np.int64]:
        """Dimensions that each partition sends to each child, level after level.

        Shape (partitions of all levels, children).
        """
        counts = [
            np.bincount(reached.ravel(), minlength=regions)
            for regions, reached in zip(
                self.graph.regions[1:], self.reached_regions[1:], strict=True
            )
        ]
        return np.concatenate(counts).reshape(-1, self.graph.children)


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _reach(reached, choice, branching, children):  # type: ignore[no-untyped-def]
    """Regions that dimensions reach a level below, from those of a level (dimensions, paths)."""
    dimensions, paths = reached.shape
    below = np.empty((dimensions, paths * branching), dtype=np.int32)
    for d in range(dimensions):
        for q in range(paths):
            for j in range(branching):
                partition = reached[d, q] * branching + j
                below[d, q * branching + j] = partition * children + choice[partition, d]
    return below


def check_scopes(graph: RegionGraph, region_scopes: tuple[NDArray[np.bool_], ...]) -> None:
    """Check that region scopes make every sum complete and every product decomposable.

    Parameters
    ----------
    graph : RegionGraph
    region_scopes : tuple of ndarray of bool of shape (regions of the level, dimensions)

    Raises
    ------
    ValueError
        Naming the first partition whose children overlap or do not cover its region.
    """
    if not region_scopes[0].all():
        missing = int(np.flatnonzero(~region_scopes[0][0])[0])
        raise ValueError(f"the root's scope lacks dimension {missing}")
    for level in range(graph.levels):
        children = region_scopes[level + 1].reshape(
            graph.regions[level], graph.branching[level], graph.children, -1
        )
        times = children.sum(axis=2)
        parent = region_scopes[level][:, None, :]
        for problem, bad in (
            ("is not decomposable: its children share", times > 1),
            ("is not complete: its children lack", (times == 0) & parent),
            ("is not complete: its children add", (times > 0) & ~parent),
        ):
            if bad.any():
                region, partition, dimension = np.argwhere(bad)[0]
                raise ValueError(
                    f"partition {partition} of region {region} at level {level} {problem} "
                    f"dimension {dimension}"
                )


def draw_prior_scope(
    rng: np.random.Generator, graph: RegionGraph, n_dimensions: int, beta: float
) -> Scope:
    """Draw v_P ~ Dirichlet(β) and y[P, d] ~ Categorical(v_P) for every partition and dimension."""
    y = []
    for level in range(graph.levels):
        partitions = graph.regions[level] * graph.branching[level]
        v = rng.dirichlet(np.full(graph.children, beta), size=partitions)
        u = rng.random((partitions, n_dimensions))
        choice = (u[:, :, None] >= np.cumsum(v, axis=1)[:, None, :-1]).sum(axis=2)
        y.append(choice.astype(np.int8))
    return Scope(graph, tuple(y))
