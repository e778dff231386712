"""The oracle: the row pass in plain NumPy, in the log domain, as close to the maths as it gets.

Everything faster is tested against this. It uses the same random numbers as the compiled engine:
uniform v of a row picks the edge of its v-th visited sum by inversion, in the order
(partition, node of child 1, …, node of child C), and one more uniform per column picks s.
"""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp

from bayesspn.arrays import Array, IntArray
from bayesspn.engine.row_sums import Address, RowSums, Statistics, empty_statistics, fixed_point
from bayesspn.graphs import RegionGraph
from bayesspn.leaves.densities import log_density, log_family_parts
from bayesspn.model.circuit import Circuit
from bayesspn.numerics.random_numbers import row_uniforms
from bayesspn.rows.codebook import Codebook
from bayesspn.rows.encoded import EncodedRows


def leaf_values(circuit: Circuit, X: Array) -> Array:
    """Log value of every leaf; shape (rows, leaf regions, leaves). Missing cells contribute 0."""
    graph, scope = circuit.graph, circuit.scope
    values = np.zeros((len(X), graph.n_leaf_regions, graph.leaves))
    for d in range(X.shape[1]):
        observed = ~np.isnan(X[:, d])
        density = log_density(circuit.densities, d, X[observed, d])
        for q, region in enumerate(scope.leaf_regions[d]):
            values[observed, region] += density[:, q]
    return values


def product_values(graph: RegionGraph, level: int, below: Array) -> Array:
    """Log value of every product of a level; shape (rows, regions, partitions, products).

    ``below`` holds the values of the next level's nodes, shape (rows, regions, nodes).
    """
    rows = len(below)
    nodes = graph.nodes[level + 1]
    parts = below.reshape(rows, graph.regions[level], graph.branching[level], -1, nodes)
    if graph.products == "shared":
        return parts.sum(axis=3)
    products = parts[..., 0, :]
    for c in range(1, graph.children):
        products = products[..., :, None] + parts[..., c, None, :]
        products = products.reshape(*products.shape[:3], -1)
    return products


def evaluate(circuit: Circuit, X: Array) -> tuple[list[Array], list[Array]]:
    """Log values of all nodes and products, one array per level."""
    return propagate(circuit, leaf_values(circuit, X))


def propagate(circuit: Circuit, at_leaves: Array) -> tuple[list[Array], list[Array]]:
    """Log values of all nodes and products given those of leaves (rows, leaf regions, leaves)."""
    graph = circuit.graph
    values = [at_leaves]
    products: list[Array] = []
    for level in reversed(range(graph.levels)):
        terms = product_values(graph, level, values[0])
        products.insert(0, terms)
        weighted = circuit.log_weights[level] + terms[:, :, None]
        values.insert(0, logsumexp(weighted, axis=(-2, -1)))
    return values, products


def log_likelihood(circuit: Circuit, X: Array) -> Array:
    """Log density of every row; NaN cells are marginalised. Shape (rows,)."""
    values, _ = evaluate(circuit, X)
    return values[0][:, 0, 0]


def draw_trees(circuit: Circuit, X: Array, row_ids: IntArray, address: Address) -> IntArray:
    """Draw z of the visited sums of every row; shape (rows, visited sums)."""
    return _draw_edges(circuit, evaluate(circuit, X)[1], row_ids, address)


def _draw_edges(
    circuit: Circuit, products: list[Array], row_ids: IntArray, address: Address
) -> IntArray:
    graph = circuit.graph
    uniforms = row_uniforms(address.words, address.sweep, row_ids, graph.n_visited_sums)
    edges = np.empty((len(row_ids), graph.n_visited_sums), dtype=np.int64)
    rows = np.arange(len(row_ids))
    visited = [(np.zeros(len(row_ids), dtype=np.int64), np.zeros(len(row_ids), dtype=np.int64))]
    v = 0
    for level in range(graph.levels):
        below = []
        for region, node in visited:
            terms = circuit.log_weights[level][region, node] + products[level][rows, region]
            terms = terms.reshape(len(row_ids), -1)
            cumulative = np.cumsum(np.exp(terms - terms.max(axis=1, keepdims=True)), axis=1)
            threshold = uniforms[:, v] * cumulative[:, -1]
            edges[:, v] = (threshold[:, None] >= cumulative).sum(axis=1)
            below.extend(children_of(graph, level, region, edges[:, v]))
            v += 1
        visited = below
    return edges


def children_of(
    graph: RegionGraph, level: int, region: IntArray, edge: IntArray
) -> list[tuple[IntArray, IntArray]]:
    """(region, node) of every child of the product that an edge leads to."""
    j, product = np.divmod(edge, graph.n_products[level])
    partition = region * graph.branching[level] + j
    children = []
    for c in range(graph.children):
        node = product
        if graph.products == "cross":
            nodes = graph.nodes[level + 1]
            node = product // nodes ** (graph.children - 1 - c) % nodes
        children.append((partition * graph.children + c, node))
    return children


def decode_trees(
    graph: RegionGraph, edges: IntArray
) -> tuple[tuple[IntArray, ...], IntArray, IntArray]:
    """Edge counts per level, and the (region, leaf) pairs visited: two arrays (rows, leaves)."""
    counts = [np.zeros(shape, dtype=np.int64) for shape in graph.weight_shapes]
    visited = [(np.zeros(len(edges), dtype=np.int64), np.zeros(len(edges), dtype=np.int64))]
    v = 0
    for level in range(graph.levels):
        below = []
        for region, node in visited:
            j, product = np.divmod(edges[:, v], graph.n_products[level])
            np.add.at(counts[level], (region, node, j, product), 1)
            below.extend(children_of(graph, level, region, edges[:, v]))
            v += 1
        visited = below
    regions = np.stack([region for region, _ in visited], axis=1)
    nodes = np.stack([node for _, node in visited], axis=1)
    return tuple(counts), regions, nodes


def draw_cell_families(
    circuit: Circuit,
    X: Array,
    regions: IntArray,
    nodes: IntArray,
    row_ids: IntArray,
    address: Address,
) -> IntArray:
    """Draw the likelihood family s of every cell; shape (rows, columns), −1 where missing."""
    graph, leaves = circuit.graph, circuit.densities.leaves
    slots = graph.n_visited_sums + X.shape[1]
    uniforms = row_uniforms(address.words, address.sweep, row_ids, slots)
    families = np.where(np.isnan(X), -1, 0)
    for d in leaves.mixed:
        observed = np.flatnonzero(families[:, d] >= 0)
        # exactly one visited leaf has the column in its scope
        same = regions[observed, :, None] == circuit.scope.leaf_regions[d]
        hit, leaf, path = np.nonzero(same)
        parts = log_family_parts(circuit.densities, int(d), X[observed, d])
        terms = parts[hit, :, path, nodes[observed[hit], leaf]]
        cumulative = np.cumsum(np.exp(terms - terms.max(axis=1, keepdims=True)), axis=1)
        u = uniforms[observed, graph.n_visited_sums + d] * cumulative[:, -1]
        families[observed, d] = (u[:, None] >= cumulative).sum(axis=1)
    return families


def row_pass(circuit: Circuit, rows: EncodedRows, address: Address) -> RowSums:
    """Draw z and s for every row and add up counts and statistics; see `RowSums`."""
    X, row_ids = _expand(rows)
    values, products = evaluate(circuit, X)
    edges = _draw_edges(circuit, products, row_ids, address)
    counts, regions, nodes = decode_trees(circuit.graph, edges)
    families = draw_cell_families(circuit, X, regions, nodes, row_ids, address)
    statistics = add_statistics(circuit.graph, rows.codebook, X, families, regions, nodes)
    return RowSums(counts, statistics, fixed_point(values[0][:, 0, 0]))


def add_statistics(
    graph: RegionGraph,
    codebook: Codebook,
    X: Array,
    families: IntArray,
    regions: IntArray,
    nodes: IntArray,
) -> Statistics:
    """Add up the statistics of every cell in all leaves that its row visits."""
    statistics = empty_statistics(graph, codebook.leaves)
    for d, places in enumerate(codebook.leaves.places):
        for m, (group, position) in enumerate(places):
            owned = families[:, d] == m
            scaled = codebook.scaled_statistics(d, m, X[owned, d])
            for leaf in range(regions.shape[1]):
                where = (slice(None), regions[owned, leaf], nodes[owned, leaf])
                np.add.at(statistics[group][position], where, scaled.T)  # type: ignore[arg-type]
    return tuple(statistics)


def _expand(rows: EncodedRows) -> tuple[Array, IntArray]:
    """All rows with their numbers, sorted by number."""
    values = [
        np.repeat(block.values(rows.codebook), np.diff(block.copy_start), axis=0)
        for block in rows.blocks
    ]
    row_ids, order = rows.sorted_ids
    return np.concatenate(values)[order], row_ids
