"""Explicit sum-product networks: nodes one can walk, check and evaluate one by one.

`expand` turns a predictive circuit of the engine into such a network and `average` joins several
under one root sum. Evaluation here shares no code with the engine beyond the leaf densities.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from bayesspn.arrays import Array
from bayesspn.leaves.columns import Leaves
from bayesspn.leaves.densities import PredictiveLeaves
from bayesspn.model.circuit import Circuit


@dataclass(frozen=True, eq=False)
class LeafNode:
    """A univariate distribution: a mixture over likelihood families, parameters integrated out.

    Attributes
    ----------
    column : int
    log_mixing : ndarray of shape (families,)
    hyper : tuple of ndarray of shape (h,)
        Posterior hyper-parameters, one array per model.
    """

    column: int
    log_mixing: Array
    hyper: tuple[Array, ...]

    def log_density(self, leaves: Leaves, values: Array) -> Array:
        """Log density of values; shape (values,)."""
        column = leaves.columns[self.column]
        parts = [
            self.log_mixing[m] + family.log_predictive(self.hyper[m], *column.features(m, values))
            for m, family in enumerate(column.likelihoods)
        ]
        return np.asarray(logsumexp(parts, axis=0))


@dataclass(frozen=True, eq=False)
class ProductNode:
    """A product over nodes with disjoint scopes; without children it is the constant 1."""

    children: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class SumNode:
    """A weighted sum over nodes with the same scope."""

    children: tuple[int, ...]
    log_weights: Array


Node = LeafNode | ProductNode | SumNode


@dataclass(frozen=True, eq=False)
class SPN:
    """A sum-product network.

    Attributes
    ----------
    leaves : Leaves
        The columns.
    nodes : tuple of LeafNode, ProductNode or SumNode
        Children come before their parents; the last node is the root.
    """

    leaves: Leaves
    nodes: tuple[Node, ...]

    def scopes(self) -> list[frozenset[int]]:
        """Scope of every node."""
        scopes: list[frozenset[int]] = []
        for node in self.nodes:
            if isinstance(node, LeafNode):
                scopes.append(frozenset([node.column]))
            else:
                scopes.append(frozenset().union(*(scopes[child] for child in node.children)))
        return scopes

    def check(self) -> None:
        """Check that every sum is complete and every product decomposable.

        Raises
        ------
        ValueError
            Naming the first node that is not.
        """
        for index, node in enumerate(self.nodes):
            if not isinstance(node, LeafNode) and any(child >= index for child in node.children):
                raise ValueError(f"node {index} comes before one of its children")
        scopes = self.scopes()
        for index, node in enumerate(self.nodes):
            if isinstance(node, LeafNode):
                continue
            if isinstance(node, ProductNode):
                if sum(len(scopes[child]) for child in node.children) != len(scopes[index]):
                    raise ValueError(f"product {index} is not decomposable")
            elif any(scopes[child] != scopes[index] for child in node.children):
                raise ValueError(f"sum {index} is not complete")

    def log_density(self, X: Array) -> Array:
        """Log density of rows; NaN cells are marginalised. Shape (rows,)."""
        values: list[Array] = []
        for node in self.nodes:
            if isinstance(node, LeafNode):
                cells = X[:, node.column]
                value = np.zeros(len(X))
                observed = ~np.isnan(cells)
                value[observed] = node.log_density(self.leaves, cells[observed])
            elif isinstance(node, ProductNode):
                value = sum((values[child] for child in node.children), start=np.zeros(len(X)))
            else:
                terms = np.stack([values[child] for child in node.children], axis=1)
                value = logsumexp(terms + node.log_weights, axis=1)
            values.append(value)
        return values[-1]

    def __str__(self) -> str:
        sums = sum(isinstance(node, SumNode) for node in self.nodes)
        products = sum(isinstance(node, ProductNode) for node in self.nodes)
        edges = sum(len(node.children) for node in self.nodes if not isinstance(node, LeafNode))
        return (
            f"sum-product network: {sums:,} sums, {products:,} products, "
            f"{len(self.nodes) - sums - products:,} leaves, {edges:,} edges"
        )


def expand(circuit: Circuit) -> SPN:
    """Write a predictive circuit out node by node."""
    graph = circuit.graph
    nodes: list[Node] = []
    below = _expand_leaves(circuit, nodes)
    for level in reversed(range(graph.levels)):
        here: list[list[int]] = []
        for region in range(graph.regions[level]):
            products: list[int] = []
            for j in range(graph.branching[level]):
                first = (region * graph.branching[level] + j) * graph.children
                parts = below[first : first + graph.children]
                products.extend(_multiply(parts, graph.products == "shared", nodes))
            sums = []
            for s in range(graph.nodes[level]):
                weights = circuit.log_weights[level][region, s].ravel()
                nodes.append(SumNode(tuple(products), weights))
                sums.append(len(nodes) - 1)
            here.append(sums)
        below = here
    return SPN(circuit.densities.leaves, tuple(nodes))


def _expand_leaves(circuit: Circuit, nodes: list[Node]) -> list[list[int]]:
    """Append every leaf as a product of univariate leaves; returns its nodes by region."""
    graph, densities = circuit.graph, circuit.densities
    assert isinstance(densities, PredictiveLeaves)
    leaves = densities.leaves
    in_scope: list[list[tuple[int, int]]] = [[] for _ in range(graph.n_leaf_regions)]
    for (d, q), region in np.ndenumerate(circuit.scope.leaf_regions):
        in_scope[region].append((d, q))
    below = []
    for members in in_scope:
        region_nodes = []
        for i in range(graph.leaves):
            factors = []
            for d, q in members:
                log_mixing = np.zeros(1)
                if len(leaves.places[d]) > 1:
                    member = int(np.searchsorted(leaves.mixed, d))
                    log_mixing = densities.log_mixing[member, :, q, i]
                hyper = tuple(densities.hyper[g][a][q, i] for g, a in leaves.places[d])
                nodes.append(LeafNode(d, log_mixing, hyper))
                factors.append(len(nodes) - 1)
            nodes.append(ProductNode(tuple(factors)))
            region_nodes.append(len(nodes) - 1)
        below.append(region_nodes)
    return below


def _multiply(parts: Sequence[Sequence[int]], shared: bool, nodes: list[Node]) -> list[int]:
    """Append the products of one partition, in the order of the weights."""
    tuples: list[tuple[int, ...]]
    if shared:
        tuples = list(zip(*parts, strict=True))
    else:
        tuples = [()]
        for part in parts:
            tuples = [(*head, node) for head in tuples for node in part]
    first = len(nodes)
    nodes.extend(ProductNode(children) for children in tuples)
    return list(range(first, len(nodes)))


def average(networks: Sequence[SPN]) -> SPN:
    """One network whose root sums the given ones with equal weights."""
    nodes: list[Node] = []
    roots = []
    for network in networks:
        shift = len(nodes)
        for node in network.nodes:
            if isinstance(node, SumNode):
                nodes.append(SumNode(tuple(c + shift for c in node.children), node.log_weights))
            elif isinstance(node, ProductNode):
                nodes.append(ProductNode(tuple(c + shift for c in node.children)))
            else:
                nodes.append(node)
        roots.append(len(nodes) - 1)
    nodes.append(SumNode(tuple(roots), np.full(len(roots), -np.log(len(roots)))))
    return SPN(networks[0].leaves, tuple(nodes))
