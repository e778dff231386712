"""Smaller networks with the same distribution: what is equal is kept once.

Leaves that no row has visited are all alike, and so are the sums and products above them. Written
out node by node, most of a learned network is such copies.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from bayesspn.arrays import Array
from bayesspn.model.explicit import SPN, LeafNode, Node, ProductNode, SumNode

Key = tuple[object, ...]


def simplify(network: SPN, least_weight: float = 0.0) -> SPN:
    """The same distribution with as few nodes as are left when equal ones are merged.

    Equal leaves, products and sums become one node, products of products one product, weights of
    edges to the same node one weight; sums and products of a single node are that node.

    Parameters
    ----------
    network : SPN
    least_weight : float, default=0.0
        Edges of sums that weigh less are left out, and what is left is scaled to add up to 1. This
        changes the distribution: rows that no training row was like lose most.

    Examples
    --------
    >>> from bayesspn.examples import fitted_patients
    >>> network = fitted_patients().posterior_.as_spn(draws=2)
    >>> smaller = simplify(network)
    >>> len(smaller.nodes) < len(network.nodes) / 2
    True
    >>> row = np.array([[40.0, np.nan, 70.0, 1.0, 2.0]])
    >>> bool(np.isclose(smaller.log_density(row), network.log_density(row)).all())
    True
    """
    if not 0.0 <= least_weight < 1.0:
        raise ValueError(f"least_weight must be at least 0 and below 1, got {least_weight!r}")
    merged = _Merged(np.log(least_weight) if least_weight else -np.inf)
    for node in network.nodes:
        merged.add(node)
    return SPN(network.leaves, _reachable(merged.nodes, merged.places[-1]))


@dataclass
class _Merged:
    """Nodes met so far, equal ones once.

    Attributes
    ----------
    least : float
        Log weight below which edges are left out.
    nodes : list of Node
    places : list of int
        For every node of the network that is read, which of ``nodes`` it is.
    """

    least: float
    nodes: list[Node] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    _known: dict[Key, int] = field(default_factory=dict)

    def add(self, node: Node) -> None:
        """Read the next node, whose children were read before."""
        if isinstance(node, LeafNode):
            parts = (node.log_mixing, *node.hyper)
            place = self._place(("leaf", node.column, *(p.tobytes() for p in parts)), node)
        elif isinstance(node, ProductNode):
            place = self._multiply([self.places[child] for child in node.children])
        else:
            place = self._sum([self.places[child] for child in node.children], node.log_weights)
        self.places.append(place)

    def _multiply(self, children: list[int]) -> int:
        factors: list[int] = []
        for child in children:
            node = self.nodes[child]
            factors += node.children if isinstance(node, ProductNode) else [child]
        if len(factors) == 1:
            return factors[0]
        ordered = tuple(sorted(factors))
        return self._place(("product", *ordered), ProductNode(ordered))

    def _sum(self, children: list[int], log_weights: Array) -> int:
        different, which = np.unique(children, return_inverse=True)
        added = np.full(len(different), -np.inf)
        np.logaddexp.at(added, which, log_weights)
        # the heaviest edge stays, whatever the limit
        kept = (added >= min(self.least, added.max())) & (added > -np.inf)
        if not kept.all():
            different, added = different[kept], added[kept]
            added = added - np.logaddexp.reduce(added)
        if len(different) == 1:
            return int(different[0])
        node = SumNode(tuple(different.tolist()), added)
        return self._place(("sum", *node.children, added.tobytes()), node)

    def _place(self, key: Key, node: Node) -> int:
        place = self._known.setdefault(key, len(self.nodes))
        if place == len(self.nodes):
            self.nodes.append(node)
        return place


def _reachable(nodes: list[Node], root: int) -> tuple[Node, ...]:
    """The nodes below a root, the root last."""
    wanted = np.zeros(len(nodes), dtype=bool)
    wanted[root] = True
    for place in range(root, -1, -1):
        node = nodes[place]
        if wanted[place] and not isinstance(node, LeafNode):
            wanted[list(node.children)] = True
    number = np.cumsum(wanted) - 1
    kept: list[Node] = []
    for place in np.flatnonzero(wanted).tolist():
        node = nodes[place]
        if isinstance(node, LeafNode):
            kept.append(node)
            continue
        children = tuple(int(number[child]) for child in node.children)
        if isinstance(node, ProductNode):
            kept.append(ProductNode(children))
        else:
            kept.append(SumNode(children, node.log_weights))
    return tuple(kept)
