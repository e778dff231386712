"""Region graphs: the computational graph G of a sum-product network, before any scope.

A region graph is a rooted tree in which regions and partitions alternate (paper, section 3). Ours
are regular within a level, so a graph is described by a handful of numbers and every level of the
network is one array. Level ``l`` holds ``regions[l]`` regions; region ``r`` of level ``l`` owns the
partitions ``r * partitions[l] + j``, and partition ``p`` owns the regions ``p * children + c`` of
level ``l + 1``. The regions of the last level are the leaf regions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

from bayesspn.numerics.checks import check_whole

Products = Literal["cross", "shared"]

#: Graphs with more weights than this do not fit into a sensible amount of memory.
MAX_WEIGHTS = 10**9

#: Child choices are stored in 8 bits.
MAX_CHILDREN = 127


@dataclass(frozen=True)
class RegionGraph:
    """A tree-shaped region graph that is regular within each level.

    Parameters
    ----------
    depth : int
        Levels of partitions. Depth 0 is a plain mixture of ``leaves`` fully factorised leaves.
    partitions : int or sequence of int, default=1
        Partitions per region (the paper's J): one number for every level, or one per level.
    children : int, default=2
        Child regions per partition (the paper's C), at least 2.
    sums : int, default=5
        Sum nodes per inner region (the paper's K).
    leaves : int, default=5
        Leaves per leaf region (the paper's I).
    products : {"cross", "shared"}, default="cross"
        ``"cross"``: a partition has one product for every tuple of nodes of its children (the
        paper). ``"shared"``: product k multiplies node k of every child.

    Examples
    --------
    >>> graph = RegionGraph(depth=2, partitions=(3, 1), sums=4, leaves=4, products="shared")
    >>> graph.regions
    (1, 6, 12)
    >>> print(graph)
    region graph: depth 2, shared products, 12 leaf regions, 108 weights
    root       1 region  ×  1 sum    3 partitions × 4 products
    ├ level 1    6 regions ×  4 sums   1 partition × 4 products
    └ leaves    12 regions ×  4 leaves
    """

    depth: int
    partitions: int | Sequence[int] = 1
    children: int = 2
    sums: int = 5
    leaves: int = 5
    products: Products = "cross"

    def __post_init__(self) -> None:
        check_whole("depth", self.depth, 0)
        # a depth-0 graph is stored with one child, and may be rebuilt from its fields
        check_whole("children", self.children, 2 if self.depth else 1)
        if self.children > MAX_CHILDREN:
            raise ValueError(f"children must be at most {MAX_CHILDREN}, got {self.children}")
        check_whole("sums", self.sums, 1)
        check_whole("leaves", self.leaves, 1)
        if self.products not in get_args(Products):
            raise ValueError(f"products must be 'cross' or 'shared', got {self.products!r}")
        if isinstance(self.partitions, Iterable):
            partitions = tuple(self.partitions)
        else:
            partitions = (self.partitions,) * self.depth
        if self.depth == 0 and partitions == (1,):
            partitions = ()
        if len(partitions) != self.depth:
            raise ValueError(
                f"partitions must be one number or one per level: depth is {self.depth}, "
                f"got {len(partitions)} numbers {partitions}"
            )
        for level, count in enumerate(partitions):
            check_whole(f"partitions[{level}]", count, 1)
        # A depth-0 graph is stored as one partition with a single child region, the leaf region:
        # its product is the identity, and nothing downstream needs a special case.
        if self.depth == 0:
            partitions = (1,)
            object.__setattr__(self, "children", 1)
        object.__setattr__(self, "partitions", tuple(int(count) for count in partitions))
        for name in ("depth", "children", "sums", "leaves"):
            # Python's integers do not overflow when weights are counted
            object.__setattr__(self, name, int(getattr(self, name)))
        if self.n_weights > MAX_WEIGHTS:
            raise ValueError(
                f"this graph has {self.n_weights:.3g} sum weights, more than the {MAX_WEIGHTS:.0e} "
                "that can be handled: lower depth, partitions, sums or leaves, "
                "or use products='shared'"
            )

    @property
    def levels(self) -> int:
        """Number of partition levels as stored (1 for a depth-0 graph)."""
        return len(self.branching)

    @property
    def branching(self) -> tuple[int, ...]:
        """Partitions per region, one number per level."""
        assert isinstance(self.partitions, tuple)
        return self.partitions

    @cached_property
    def regions(self) -> tuple[int, ...]:
        """Number of regions of every level, leaf regions last: ``levels + 1`` numbers."""
        counts = [1]
        for count in self.branching:
            counts.append(counts[-1] * count * self.children)
        return tuple(counts)

    @cached_property
    def nodes(self) -> tuple[int, ...]:
        """Nodes per region of every level: 1 at the root, K inside, I at the leaf regions."""
        return (1, *(self.sums,) * (self.levels - 1), self.leaves)

    @cached_property
    def n_products(self) -> tuple[int, ...]:
        """Products per partition of every level."""
        if self.products == "shared":
            return self.nodes[1:]
        return tuple(count**self.children for count in self.nodes[1:])

    @cached_property
    def weight_shapes(self) -> tuple[tuple[int, int, int, int], ...]:
        """Shape of each level's weights: (regions, sums, partitions, products)."""
        return tuple(
            (self.regions[level], self.nodes[level], self.branching[level], self.n_products[level])
            for level in range(self.levels)
        )

    @property
    def n_weights(self) -> int:
        """Total number of sum weights."""
        total = 0
        for regions, sums, partitions, products in self.weight_shapes:
            total += regions * sums * partitions * products
        return total

    @property
    def n_leaf_regions(self) -> int:
        """Number of leaf regions."""
        return self.regions[-1]

    @cached_property
    def n_paths(self) -> int:
        """Leaf regions that each dimension reaches: one for every choice of partitions."""
        total = 1
        for count in self.branching:
            total *= count
        return total

    @cached_property
    def n_visited_sums(self) -> int:
        """Sum nodes of an induced tree: ``sum(children ** level)``."""
        return sum(self.children**level for level in range(self.levels))

    @property
    def n_visited_leaves(self) -> int:
        """Leaves of an induced tree: ``children ** levels``."""
        return int(self.children**self.levels)

    def __str__(self) -> str:
        lines = [
            f"region graph: depth {self.depth}, {self.products} products, "
            f"{_count(self.n_leaf_regions, 'leaf region')}, {_count(self.n_weights, 'weight')}"
        ]
        for level, shape in enumerate(self.weight_shapes):
            name = "root   " if level == 0 else f"├ level {level}"
            regions, sums, partitions, products = shape
            lines.append(
                f"{name} {_count(regions, 'region', 4)} × {_count(sums, 'sum', 2)}   "
                f"{_count(partitions, 'partition')} × {_count(products, 'product')}"
            )
        lines.append(
            f"└ leaves  {_count(self.n_leaf_regions, 'region', 4)} × "
            f"{_count(self.leaves, 'leaf', 2).replace('leafs', 'leaves')}"
        )
        return "\n".join(lines)


def _count(number: int, noun: str, width: int = 0) -> str:
    plural = "s" if number != 1 else (" " if width else "")
    return f"{number:>{width},} {noun}{plural}"
