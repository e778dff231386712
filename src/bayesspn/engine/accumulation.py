"""Leaf statistics of drawn trees, and the draw of likelihood models that some of them need."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayesspn.engine.circuit import Address, Circuit, empty_statistics
from bayesspn.engine.kernels import accumulate
from bayesspn.engine.kernels.layout import Geometry
from bayesspn.engine.tables import model_parts
from bayesspn.rows import Dictionary, RowBlock


class Accumulator:
    """Adds up leaf statistics block by block.

    Parameters
    ----------
    circuit : Circuit
        What the trees were drawn from.
    geometry : Geometry
        Its graph, laid out for the kernels.
    dictionary : Dictionary
        What the blocks share.
    """

    def __init__(self, circuit: Circuit, geometry: Geometry, dictionary: Dictionary) -> None:
        self.circuit = circuit
        self.geometry = geometry
        self.dictionary = dictionary
        self.graph = circuit.graph
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
        self.y = np.concatenate([choice.ravel() for choice in circuit.scope.y])
        self.y_base = np.cumsum([0, *(choice.size for choice in circuit.scope.y)])
        mixed = np.zeros(len(leaves.columns), dtype=bool)
        mixed[leaves.mixed] = True
        self.mixed = mixed

    def add(
        self,
        block: RowBlock,
        edges: NDArray[np.int32],
        leaf_nodes: NDArray[np.int32],
        address: Address,
    ) -> None:
        """Add the rows of a block, given their trees and the leaves that these visit."""
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
        codes, parts = model_parts(self.circuit, self.dictionary, column, block)
        choice = np.empty(len(edges), dtype=np.int8)
        accumulate.draw_models(
            choice,
            edges,
            self.geometry,
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
