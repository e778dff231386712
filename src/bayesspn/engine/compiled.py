"""The compiled row pass: the same answers as `bayesspn.engine.oracle`, at the hardware's speed."""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from bayesspn.engine.circuit import Address, Circuit, RowSums, empty_statistics
from bayesspn.engine.kernels import accumulate
from bayesspn.engine.kernels.assign import assign_rows
from bayesspn.engine.kernels.evaluate import tabulate_patterns
from bayesspn.engine.kernels.layout import Geometry
from bayesspn.engine.patterns import lay_out_patterns
from bayesspn.engine.tables import CircuitTables, model_parts, tabulate
from bayesspn.graphs import RegionGraph
from bayesspn.leaves.family import Array
from bayesspn.rows import EncodedRows, RowBlock

_NO_ADDRESS = Address((np.uint32(0), np.uint32(0)), 0)


class BlockResult(NamedTuple):
    """What a program says about the copies of a block's rows.

    Attributes
    ----------
    edges : ndarray of shape (copies, visited sums)
        Drawn trees; empty if nothing was drawn.
    leaf_nodes : ndarray of shape (copies, visited leaves)
        Leaves that the trees visit.
    scores : ndarray of shape (copies,)
        Log densities.
    """

    edges: NDArray[np.int32]
    leaf_nodes: NDArray[np.int32]
    scores: Array


class Program:
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
        graph = circuit.graph
        self.circuit = circuit
        self.geometry = lay_out(graph)
        self.tables: CircuitTables = tabulate(circuit, rows.dictionary, dtype)
        self.log_weights = np.concatenate([w.ravel() for w in circuit.log_weights])
        self.weights_down = np.exp(self.log_weights).astype(np.float32)
        self.weights_up = np.concatenate(
            [np.exp(w).transpose(0, 2, 3, 1).ravel() for w in circuit.log_weights]
        ).astype(np.float32)

        n_rows = sum(block.n_rows for block in rows.blocks)
        self.patterns = lay_out_patterns(self.geometry, circuit.scope, rows.dictionary, n_rows)
        tabulate_patterns(
            self.geometry, self.tables.without_block(), self.patterns, self.weights_up
        )
        self.counts = np.zeros((numba.get_num_threads(), graph.n_weights), dtype=np.int64)

    def run(self, block: RowBlock, address: Address | None) -> BlockResult:
        """Evaluate a block and, given an address, draw trees and count their edges."""
        draw = address is not None
        words, sweep = address or _NO_ADDRESS
        copies = len(block.copy_ids) if draw else 0
        edges = np.empty((copies, self.circuit.graph.n_visited_sums), dtype=np.int32)
        leaf_nodes = np.empty((copies, self.circuit.graph.n_visited_leaves), dtype=np.int32)
        scores = np.empty(block.n_rows)
        assign_rows(
            self.geometry,
            self.tables.for_block(block),
            self.patterns,
            block.row_start,
            block.row_features,
            block.copy_start,
            block.copy_ids,
            self.weights_up,
            self.weights_down,
            self.log_weights,
            words,
            np.uint32(sweep),
            draw,
            edges,
            leaf_nodes,
            self.counts,
            scores,
        )
        return BlockResult(edges, leaf_nodes, np.repeat(scores, np.diff(block.copy_start)))

    def edge_counts(self) -> tuple[NDArray[np.int64], ...]:
        """Edges chosen so far; one array (regions, sums, partitions, products) per level."""
        shapes = self.circuit.graph.weight_shapes
        ends = np.cumsum([int(np.prod(shape)) for shape in shapes])
        parts = np.split(self.counts.sum(axis=0), ends[:-1])
        return tuple(part.reshape(shape) for part, shape in zip(parts, shapes, strict=True))


def lay_out(graph: RegionGraph) -> Geometry:
    """Offsets of a graph's nodes, partitions and weights in flat arrays."""
    regions, nodes = np.array(graph.regions), np.array(graph.nodes)
    branching, products = np.array(graph.branching), np.array(graph.n_products)
    inner, sums = regions[:-1], nodes[:-1]
    return Geometry(
        regions,
        nodes,
        branching,
        products,
        _bases(regions * nodes)[:-1],
        _bases(regions)[:-1],
        _bases(inner * branching),
        _bases(np.where(branching > 1, inner * branching * sums, 0)),
        _bases(inner * sums * branching * products),
        graph.children,
        graph.products == "shared",
    )


def _bases(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(sizes)])


def log_likelihood(circuit: Circuit, rows: EncodedRows) -> Array:
    """Log density of every row, by row number; missing cells are marginalised. Shape (rows,)."""
    program = Program(circuit, rows, np.float64)
    scores = np.empty(rows.n_rows)
    for block in rows.blocks:
        scores[block.copy_ids] = program.run(block, None).scores
    return scores


def draw_trees(
    circuit: Circuit, rows: EncodedRows, address: Address
) -> tuple[NDArray[np.int64], Array]:
    """Induced tree (rows, visited sums) and log density of every row, by row number."""
    program = Program(circuit, rows, np.float64)
    edges = np.empty((rows.n_rows, circuit.graph.n_visited_sums), dtype=np.int64)
    scores = np.empty(rows.n_rows)
    for block in rows.blocks:
        result = program.run(block, address)
        edges[block.copy_ids] = result.edges
        scores[block.copy_ids] = result.scores
    return edges, scores


def row_pass(circuit: Circuit, rows: EncodedRows, address: Address) -> RowSums:
    """Draw z and s for every row and add up counts and statistics; see `RowSums`."""
    graph, leaves = circuit.graph, rows.dictionary.leaves
    program = Program(circuit, rows, np.float32)
    sums = _Accumulator(program, rows)
    scores = []
    for block in rows.blocks:
        result = program.run(block, address)
        sums.add(block, result, address)
        scores.append(result.scores)
    row_ids, order = rows.sorted_ids
    shape = (graph.n_leaf_regions, graph.leaves)
    return RowSums(
        program.edge_counts(),
        tuple(
            np.ascontiguousarray(total[:, : group.n_slots]).reshape(
                len(group), group.n_slots, *shape
            )
            for group, total in zip(leaves.groups, sums.finish(), strict=True)
        ),
        row_ids,
        np.concatenate(scores)[order],
    )


class _Accumulator:
    """Adds up counts and statistics block by block."""

    def __init__(self, program: Program, rows: EncodedRows) -> None:
        self.program = program
        self.dictionary = rows.dictionary
        self.graph = program.circuit.graph
        nodes = self.graph.n_leaf_regions * self.graph.leaves
        self.visits = np.zeros(nodes, dtype=np.int64)
        leaves = self.dictionary.leaves
        # one-hot groups get a slot more, for the code "missing"
        self.totals = [
            np.concatenate([zero, zero[:, :1]], axis=1).reshape(len(zero), -1, nodes)
            if group.family.one_hot
            else zero.reshape(len(zero), -1, nodes)
            for group, zero in zip(leaves.groups, empty_statistics(self.graph, leaves), strict=True)
        ]
        self.y = np.concatenate([choice.ravel() for choice in program.circuit.scope.y])
        self.y_base = _bases(np.array([choice.size for choice in program.circuit.scope.y]))
        mixed = np.zeros(len(leaves.columns), dtype=bool)
        mixed[leaves.mixed] = True
        self.mixed = mixed

    def add(self, block: RowBlock, result: BlockResult, address: Address) -> None:
        edges, leaf_nodes = result.edges, result.leaf_nodes
        accumulate.count_visits(self.visits, leaf_nodes)
        for g, group in enumerate(self.dictionary.leaves.groups):
            plain = ~self.mixed[group.columns]
            if group.family.one_hot and plain.any():
                self._count_categories(g, np.flatnonzero(plain), block, leaf_nodes)
            elif not group.family.one_hot:
                for position in np.flatnonzero(plain):
                    self._add_column(g, int(position), block, leaf_nodes)
        for d in self.dictionary.leaves.mixed:
            self._add_mixed(int(d), block, edges, leaf_nodes, address)

    def _count_categories(
        self,
        g: int,
        members: NDArray[np.int64],
        block: RowBlock,
        leaf_nodes: NDArray[np.int32],
    ) -> None:
        group = self.dictionary.leaves.groups[g]
        every = len(members) == len(group)
        totals = self.totals[g] if every else self.totals[g][members]
        accumulate.count_categories(
            totals,
            group.columns[members],
            block.column_start,
            block.column_rows,
            block.column_codes,
            block.copy_start,
            leaf_nodes,
        )
        if not every:
            self.totals[g][members] = totals

    def _add_column(
        self, g: int, position: int, block: RowBlock, leaf_nodes: NDArray[np.int32]
    ) -> None:
        """Add the cells of a column with one likelihood model."""
        column = int(self.dictionary.leaves.groups[g].columns[position])
        totals = self.totals[g][position]
        if self.dictionary.values[column].size:
            # what the code adds to the reference's statistics, which every visit gets in `finish`
            scaled = self._code_statistics(column, 0)
            cells = slice(block.column_start[column], block.column_start[column + 1])
            rows = block.column_rows[cells]
            codes = block.column_codes[cells]
            statistics = scaled[codes] - scaled[self.dictionary.reference[column]]
        else:
            k = int(np.searchsorted(self.dictionary.dense, column))
            rows = np.arange(block.n_rows, dtype=np.int32)
            statistics = self.dictionary.scaled_statistics(column, 0, block.dense[k])
        accumulate.add_statistics(totals, rows, statistics, block.copy_start, leaf_nodes)

    def _code_statistics(self, column: int, model: int) -> NDArray[np.int64]:
        values = np.append(self.dictionary.values[column], np.nan)
        return self.dictionary.scaled_statistics(column, model, values)

    def _add_mixed(
        self,
        column: int,
        block: RowBlock,
        edges: NDArray[np.int32],
        leaf_nodes: NDArray[np.int32],
        address: Address,
    ) -> None:
        """Draw the likelihood model of every cell of a column and add the cells to it."""
        codes, parts = model_parts(self.program.circuit, self.dictionary, column, block)
        choice = np.empty(len(edges), dtype=np.int8)
        accumulate.draw_models(
            choice,
            edges,
            self.program.geometry,
            self.y,
            self.y_base,
            column,
            len(self.mixed),
            codes,
            parts,
            block.copy_start,
            block.copy_ids,
            address.words,
            np.uint32(address.sweep),
            self.graph.n_visited_sums + column,
        )
        for m, (g, position) in enumerate(self.dictionary.leaves.places[column]):
            if self.dictionary.leaves.groups[g].family.one_hot:
                # columns with a categorical model are always tabulated, by whole numbers
                accumulate.count_model_categories(
                    self.totals[g][position],
                    m,
                    choice,
                    codes,
                    self.dictionary.values[column].astype(np.int64),
                    block.copy_start,
                    leaf_nodes,
                )
                continue
            if self.dictionary.values[column].size:
                statistics = self._code_statistics(column, m)
            else:
                k = int(np.searchsorted(self.dictionary.dense, column))
                statistics = self.dictionary.scaled_statistics(column, m, block.dense[k])
            accumulate.add_model_statistics(
                self.totals[g][position],
                m,
                choice,
                codes,
                statistics,
                block.copy_start,
                leaf_nodes,
            )

    def finish(self) -> list[NDArray[np.int64]]:
        """Add what the reference codes, which blocks leave out, contribute."""
        for g, group in enumerate(self.dictionary.leaves.groups):
            for position, column in enumerate(group.columns):
                if self.mixed[column] or not self.dictionary.values[column].size:
                    continue
                totals = self.totals[g][position]
                reference = int(self.dictionary.reference[column])
                if group.family.one_hot:
                    totals[reference] = 0
                    totals[reference] = self.visits - totals.sum(axis=0)
                else:
                    scaled = self._code_statistics(int(column), 0)[reference]
                    totals += scaled[:, None] * self.visits
        return self.totals
