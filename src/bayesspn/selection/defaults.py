"""What "auto" means: region graphs that suit a table of a given size.

A fit compares several of them on the table itself (`bayesspn.selection.race`), since what
suits it depends on how its columns hang together: many shallow mixtures, few deep hierarchies, all
pairs of products where few columns interact closely.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from bayesspn.graphs import RegionGraph

#: Partitions of the root; further down one each, since the root's already differ. The components of
#: an infinite mixture have fewer, as there are several of them.
_ROOT_PARTITIONS = 4
_COMPONENT_PARTITIONS = 2

_MOST_LEVELS = 6

#: Nodes per region for tables with at least so many rows.
_STATES = ((0, 6), (150, 8), (500, 16), (20_000, 24))

#: Nodes per region of cross products, whose number they are squared in.
_CROSS_STATES = 8

#: Components of a plain mixture, in nodes per region.
_MIXTURE = 2


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

    More columns get a deeper graph, down to leaf regions of single columns; more rows get more
    nodes per region. Products are shared: deep graphs of cross products have too many weights. The
    graph of an infinite mixture is that of a component, which has at least one partition.

    Examples
    --------
    >>> choose_graph(150, 5)
    RegionGraph(depth=3, partitions=(4, 1, 1), children=2, sums=8, leaves=8, products='shared')
    >>> choose_graph(20_000, 60, depth=2).partitions
    (4, 1)
    >>> choose_graph(100, 1).depth
    0
    """
    levels: Any = depth
    if depth == "auto":
        levels = min(_MOST_LEVELS, math.ceil(math.log2(columns)))
        levels = max(levels, 1 if columns > 1 or infinite else 0)
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


def default_graphs(rows: int, columns: int, *, target: bool = False) -> tuple[RegionGraph, ...]:
    """Graphs that a fit compares: deep and shallow, few and many partitions and nodes.

    If one column is the ``target``, cross products of a single level are among them: between it and
    any other column there is one sum. They learn quickly and not as much, which a comparison of
    whole rows by short chains does not see.

    Examples
    --------
    >>> for graph in default_graphs(1_000, 10):
    ...     print(graph.depth, graph.branching, graph.sums, graph.products)
    4 (4, 1, 1, 1) 16 shared
    4 (1, 1, 1, 1) 32 shared
    4 (8, 1, 1, 1) 16 shared
    4 (4, 1, 1, 1) 32 shared
    2 (8, 1) 16 shared
    2 (4, 1) 8 cross
    """
    usual = choose_graph(rows, columns)
    depth, states = usual.depth, usual.leaves
    if columns == 1:
        return (usual, RegionGraph(0, leaves=_MIXTURE * states))

    def shared(first: int, levels: int, nodes: int) -> RegionGraph:
        return choose_graph(
            rows, columns, depth=levels, partitions=(first,) + (1,) * (levels - 1), sums=nodes
        )

    def crossed(first: int, levels: int) -> RegionGraph:
        return choose_graph(
            rows,
            columns,
            depth=levels,
            partitions=(first,) + (1,) * (levels - 1),
            sums=min(_CROSS_STATES, states),
            products="cross",
        )

    graphs = [
        usual,
        shared(1, depth, 2 * states),
        shared(8, depth, states),
        shared(4, depth, 2 * states),
        shared(8, max(1, depth - 2), states),
        crossed(4, min(2, depth)),
    ]
    if target:
        graphs.append(crossed(8, 1))
    return tuple(dict.fromkeys(graphs))
