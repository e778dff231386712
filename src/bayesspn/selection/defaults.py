"""What "auto" means: a region graph for a table of a given size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from bayesspn.graphs import RegionGraph

#: Partitions of the root; further down one each, since the root's already differ. The components of
#: an infinite mixture have fewer, as there are several of them.
_ROOT_PARTITIONS = 8
_COMPONENT_PARTITIONS = 2

_MOST_LEVELS = 5

#: Nodes per region for tables with at least so many rows.
_STATES = ((0, 4), (200, 6), (1_000, 8), (3_000, 12), (10_000, 16), (100_000, 24))


def choose_graph(
    rows: int,
    columns: int,
    *,
    depth: int | str = "auto",
    partitions: int | Sequence[int] | str = "auto",
    children: int | str = "auto",
    sums: int | str = "auto",
    leaves: int | str = "auto",
    products: str = "auto",
    infinite: bool = False,
) -> RegionGraph:
    """The region graph of a table, or of what is "auto" of it.

    More columns get a deeper graph, down to leaf regions of a few columns each; more rows get more
    nodes per region. Products are shared: deep graphs of cross products have too many weights. The
    graph of an infinite mixture is that of a component, which has at least one partition.

    Examples
    --------
    >>> choose_graph(150, 5)
    RegionGraph(depth=1, partitions=(8,), children=2, sums=4, leaves=4, products='shared')
    >>> choose_graph(20_000, 60, depth=2).partitions
    (8, 1)
    >>> choose_graph(100, 1).depth
    0
    """
    levels: Any = depth
    if depth == "auto":
        levels = min(_MOST_LEVELS, max(1, math.ceil(math.log2(columns)) - 2))
        levels = levels if columns > 1 or infinite else 0
    count: Any = partitions
    if partitions == "auto":
        first = _COMPONENT_PARTITIONS if infinite else _ROOT_PARTITIONS
        count = (first, *(1,) * (levels - 1)) if levels else ()
    states = max(states for least, states in _STATES if rows >= least)
    inner: Any = leaves if sums == "auto" and leaves != "auto" else sums
    inner = states if inner == "auto" else inner
    outer: Any = inner if leaves == "auto" else leaves
    kind: Any = "shared" if products == "auto" else products
    split: Any = 2 if children == "auto" else children
    return RegionGraph(levels, count, split, inner, outer, kind)
