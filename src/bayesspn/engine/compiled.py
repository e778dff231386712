"""The compiled row pass: the same answers as `bayesspn.engine.oracle`, at the hardware's speed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from bayesspn.arrays import Array
from bayesspn.engine.accumulation import Accumulator
from bayesspn.engine.kernels import assign
from bayesspn.engine.kernels.assign import assign_rows, score_rows
from bayesspn.engine.kernels.layout import Entries, Geometry, Weights
from bayesspn.engine.kernels.patterns import plan_rows, tabulate_leaves, tabulate_regions
from bayesspn.engine.kernels.upward import LEAST_WEIGHT
from bayesspn.engine.kernels.vectors import LANES
from bayesspn.engine.leaf_tables import CircuitTables, tabulate
from bayesspn.engine.patterns import lay_out_patterns
from bayesspn.engine.row_sums import Address, RowSums, fixed_point
from bayesspn.graphs import RegionGraph
from bayesspn.model.circuit import Circuit
from bayesspn.numerics.compilation import announce_compilation
from bayesspn.numerics.threads import map_in_threads, run_tasks
from bayesspn.rows.encoded import EncodedRows, RowBlock


class BlockResult(NamedTuple):
    """What a program says about the copies of a block's rows.

    Attributes
    ----------
    edges : ndarray of shape (copies, visited sums)
        Drawn trees; without rows if they are not kept.
    leaf_nodes : ndarray of shape (copies, visited leaves)
        Leaves that the trees visit.
    scores : ndarray of shape (copies,)
        Log densities.
    """

    edges: NDArray[np.int32]
    leaf_nodes: NDArray[np.int32]
    scores: Array


class CompiledCircuit:
    """A circuit laid out for the kernels.

    Parameters
    ----------
    circuit : Circuit
    rows : EncodedRows
        The rows it will be run on; the leaf tables follow their dictionary.
    dtype : type
        Precision of leaf sums: single for sampling, double for scores.
    """

    def __init__(self, circuit: Circuit, rows: EncodedRows, dtype: type[np.floating]) -> None:
        announce_compilation(assign.__file__, "assign_rows")
        graph = circuit.graph
        self.circuit = circuit
        self.geometry = lay_out(graph)
        width = self.geometry.width
        self.tables: CircuitTables = tabulate(circuit, rows.codebook, width, dtype)
        self.weights = arrange_weights(circuit.log_weights, width)
        n_rows = sum(block.n_rows for block in rows.blocks)
        self.patterns = lay_out_patterns(self.geometry, circuit.scope, rows.codebook, n_rows)
        self.plan = plan_rows(self.geometry, circuit.scope.leaf_regions, self.patterns)
        tasks = numba.get_num_threads()
        tabulated = int(self.patterns.size.sum())
        each = len(self.plan.region) * self.plan.rows
        self.first_entry = tabulated + each * np.arange(tasks)
        n_entries = tabulated + each * tasks
        self.entries = Entries(
            np.zeros(n_entries * width, dtype=np.float32),
            np.zeros(n_entries * 2, dtype=np.float32),
            np.zeros(tabulated * graph.children, dtype=np.int32),
        )
        plain = self.tables.without_dense()
        tabulate_leaves(self.entries, self.geometry, plain, self.patterns)
        tabulate_regions(self.entries, self.geometry, self.patterns, self.plan, self.weights)
        self.counts = np.zeros((tasks, graph.n_weights), dtype=np.int64)

    def run(
        self, block: RowBlock, address: Address | None, *, keep_edges: bool = True
    ) -> BlockResult:
        """Evaluate a block and, given an address, draw trees and count their edges."""
        graph = self.circuit.graph
        copies = 0 if address is None else len(block.copy_ids)
        edges = np.empty((copies if keep_edges else 0, graph.n_visited_sums), dtype=np.int32)
        leaf_nodes = np.empty((copies, graph.n_visited_leaves), dtype=np.int32)
        scores = np.empty(block.n_rows)
        most = min(len(self.first_entry), -(-block.n_rows // self.plan.rows))
        arguments = (
            self.geometry,
            self.tables.with_block(block),
            self.entries,
            self.plan,
            self.patterns.feature_rank,
            self.first_entry,
            block.row_start,
            block.row_features,
            self.weights,
            scores,
        )
        if address is None:
            run_tasks(score_rows, most, *arguments)
        else:
            run_tasks(
                assign_rows,
                most,
                *arguments,
                block.copy_start,
                block.copy_ids,
                address.words,
                np.uint32(address.sweep),
                edges,
                leaf_nodes,
                self.counts,
            )
        return BlockResult(edges, leaf_nodes, np.repeat(scores, np.diff(block.copy_start)))

    def edge_counts(self) -> tuple[NDArray[np.int64], ...]:
        """Edges chosen so far; one array (regions, sums, partitions, products) per level."""
        shapes, first = self.circuit.graph.weight_shapes, self.geometry.weight_base
        counts = self.counts.sum(axis=0)
        return tuple(
            counts[first[level] : first[level + 1]].reshape(shape)
            for level, shape in enumerate(shapes)
        )


@lru_cache(maxsize=64)
def lay_out(graph: RegionGraph) -> Geometry:
    """Offsets of a graph's nodes, partitions and weights in flat arrays."""
    regions, nodes = np.array(graph.regions), np.array(graph.nodes)
    branching, products = np.array(graph.branching), np.array(graph.n_products)
    inner, sums = regions[:-1], nodes[:-1]
    width = LANES * -(-max(graph.nodes) // LANES)
    one_node = graph.products == "shared" or graph.children == 1
    outer = np.ones_like(products) if one_node else products // nodes[1:]
    return Geometry(
        regions,
        nodes,
        branching,
        products,
        _bases(regions * nodes)[:-1],
        _bases(regions)[:-1],
        _bases(np.where(branching > 1, inner * branching, 0)),
        _bases(inner * sums * branching * products),
        _bases(inner * branching * products * width),
        _bases(inner * sums * branching),
        outer,
        _bases(np.where(outer > 1, inner * sums * branching * outer, 0)),
        graph.children,
        graph.products == "shared",
        width,
    )


def arrange_weights(log_weights: tuple[Array, ...], width: int) -> Weights:
    """Weights in the orders in which the kernels read them."""
    log = np.concatenate([w.ravel() for w in log_weights])
    down = np.zeros(len(log) + LANES, dtype=np.float32)
    # in double precision: what is denormal in single is many times slower
    weights = np.exp(log)
    weights[weights < LEAST_WEIGHT] = 0.0
    down[: len(log)] = weights
    up = [np.zeros((*w.shape[:1], *w.shape[2:], width), np.float32) for w in log_weights]
    first = 0
    for padded, w in zip(up, log_weights, strict=True):
        level = weights[first : first + w.size].reshape(w.shape)
        padded[..., : w.shape[1]] = level.transpose(0, 2, 3, 1)
        first += w.size
    return Weights(np.concatenate([w.ravel() for w in up]), down, log)


def _bases(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(sizes)])


def log_likelihood(circuit: Circuit, rows: EncodedRows) -> Array:
    """Log density of every row, by row number; missing cells are marginalised. Shape (rows,)."""
    program = CompiledCircuit(circuit, rows, np.float64)
    scores = np.empty(rows.n_rows)
    for block in rows.blocks:
        scores[block.copy_ids] = program.run(block, None).scores
    return scores


def log_likelihoods(circuits: Iterable[Circuit], rows: EncodedRows) -> Iterator[Array]:
    """Log density of every row under one circuit after the other; shape (rows,) each.

    Circuits are evaluated side by side, each by one thread: laying one out for the kernels, which
    takes as long as some thousand rows, cannot be divided.
    """
    return map_in_threads(lambda circuit: log_likelihood(circuit, rows), circuits)


def fixed_log_likelihood(circuit: Circuit, rows: EncodedRows) -> int:
    """Sum of the log densities of all rows, in fixed point: shards add up; see `fixed_point`."""
    program = CompiledCircuit(circuit, rows, np.float64)
    return sum(fixed_point(program.run(block, None).scores) for block in rows.blocks)


def draw_trees(
    circuit: Circuit,
    rows: EncodedRows,
    address: Address,
    dtype: type[np.floating] = np.float64,
) -> tuple[NDArray[np.int64], Array]:
    """Induced tree (rows, visited sums) and log density of every row, by row number.

    In single precision they are the trees that `row_pass` draws.
    """
    program = CompiledCircuit(circuit, rows, dtype)
    edges = np.empty((rows.n_rows, circuit.graph.n_visited_sums), dtype=np.int64)
    scores = np.empty(rows.n_rows)
    for block in rows.blocks:
        result = program.run(block, address)
        edges[block.copy_ids] = result.edges
        scores[block.copy_ids] = result.scores
    return edges, scores


def row_pass(circuit: Circuit, rows: EncodedRows, address: Address) -> RowSums:
    """Draw z and s for every row and add up counts and statistics; see `RowSums`."""
    graph = circuit.graph
    program = CompiledCircuit(circuit, rows, np.float32)
    sums = Accumulator(circuit, rows.codebook, program.tables)
    total = 0
    for block in rows.blocks:
        result = program.run(block, address, keep_edges=False)
        sums.add(block, result.leaf_nodes, address)
        total += fixed_point(result.scores)
    shape = (graph.n_leaf_regions, graph.leaves)
    return RowSums(
        program.edge_counts(),
        tuple(total.reshape(*total.shape[:2], *shape) for total in sums.finish()),
        total,
    )
