"""Leaf statistics of drawn trees, and the draw of likelihood families that some of them need."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayesspn.arrays import Array
from bayesspn.engine.features import code_statistics, dense_features, dense_statistics
from bayesspn.engine.kernels import accumulate, families
from bayesspn.engine.kernels.layout import Geometry
from bayesspn.engine.row_sums import Address, empty_statistics
from bayesspn.leaves.densities import log_family_parts
from bayesspn.model.circuit import Circuit
from bayesspn.numerics.threads import run_tasks
from bayesspn.rows.codebook import Codebook
from bayesspn.rows.encoded import RowBlock

#: Fewer rows are not worth a thread.
_ROWS_PER_TASK = 1024


class Accumulator:
    """Adds up leaf statistics block by block.

    Parameters
    ----------
    circuit : Circuit
        What the trees were drawn from.
    geometry : Geometry
        Its graph, laid out for the kernels.
    codebook : Codebook
        What the blocks share.
    """

    def __init__(self, circuit: Circuit, geometry: Geometry, codebook: Codebook) -> None:
        self.circuit = circuit
        self.geometry = geometry
        self.codebook = codebook
        self.graph = circuit.graph
        nodes = self.graph.n_leaf_regions * self.graph.leaves
        self.visits = np.zeros(nodes, dtype=np.int64)
        leaves = self.codebook.leaves
        self.totals = [
            zero.reshape(*zero.shape[:2], nodes) for zero in empty_statistics(self.graph, leaves)
        ]
        self.missing = [
            np.zeros((len(group) if group.family.one_hot else 0, nodes), dtype=np.int32)
            for group in leaves.groups
        ]
        self.y = np.concatenate([choice.ravel() for choice in circuit.scope.y])
        self.y_base = np.cumsum([0, *(choice.size for choice in circuit.scope.y)])
        mixed = np.zeros(len(leaves.columns), dtype=bool)
        mixed[leaves.mixed] = True
        self.mixed = mixed
        self._parts: dict[int, Array] = {}

    def add(
        self,
        block: RowBlock,
        edges: NDArray[np.int32],
        leaf_nodes: NDArray[np.int32],
        address: Address,
    ) -> None:
        """Add the rows of a block, given their trees and the leaves that these visit."""
        visits = self._list_visits(block, leaf_nodes)
        accumulate.count_visits(self.visits, visits)
        for g, group in enumerate(self.codebook.leaves.groups):
            plain = ~self.mixed[group.columns]
            if group.family.one_hot and plain.any():
                self._count_categories(g, np.flatnonzero(plain), block, visits)
            elif not group.family.one_hot:
                for position in np.flatnonzero(plain):
                    self._add_column(g, int(position), block, visits)
        for d in self.codebook.leaves.mixed:
            self._add_mixed(int(d), block, edges, leaf_nodes, address)

    def _list_visits(self, block: RowBlock, leaf_nodes: NDArray[np.int32]) -> accumulate.Visits:
        copies, leaves = leaf_nodes.shape
        if copies > block.n_rows:
            visits = accumulate.Visits(
                leaves * block.copy_start[:-1],
                np.zeros(block.n_rows, dtype=np.int64),
                np.empty(copies * leaves, dtype=np.int32),
                np.empty(copies * leaves, dtype=np.int32),
            )
            run_tasks(
                accumulate.list_visits,
                block.n_rows // _ROWS_PER_TASK,
                visits,
                leaf_nodes,
                block.copy_start,
                len(self.visits),
            )
            return visits
        return accumulate.Visits(
            leaves * np.arange(copies),
            np.full(copies, leaves),
            leaf_nodes.ravel(),
            np.empty(0, dtype=np.int32),
        )

    def _count_categories(
        self, g: int, members: NDArray[np.int64], block: RowBlock, visits: accumulate.Visits
    ) -> None:
        group = self.codebook.leaves.groups[g]
        every = len(members) == len(group)
        totals = self.totals[g] if every else self.totals[g][members]
        missing = self.missing[g] if every else self.missing[g][members]
        run_tasks(
            accumulate.count_categories,
            len(members) if block.n_rows >= _ROWS_PER_TASK else 1,
            totals,
            missing,
            group.columns[members],
            block.column_start,
            block.column_rows,
            block.column_codes,
            visits,
        )
        if not every:
            self.totals[g][members] = totals
            self.missing[g][members] = missing

    def _add_column(
        self, g: int, position: int, block: RowBlock, visits: accumulate.Visits
    ) -> None:
        """Add the cells of a column with one likelihood family."""
        column = int(self.codebook.leaves.groups[g].columns[position])
        totals = self.totals[g][position]
        if self.codebook.values[column].size:
            # what the code adds to the reference's statistics, which every visit gets in `finish`
            scaled = code_statistics(self.codebook, column, 0)
            cells = slice(block.column_start[column], block.column_start[column + 1])
            rows = block.column_rows[cells]
            codes = block.column_codes[cells]
            statistics = scaled[codes] - scaled[self.codebook.reference[column]]
        else:
            rows = np.arange(block.n_rows, dtype=np.int32)
            statistics = dense_statistics(self.codebook, block, column, 0)
        accumulate.add_statistics(totals, rows, statistics, visits)

    def _add_mixed(
        self,
        column: int,
        block: RowBlock,
        edges: NDArray[np.int32],
        leaf_nodes: NDArray[np.int32],
        address: Address,
    ) -> None:
        """Draw the likelihood family of every cell of a column and add the cells to it."""
        choice = np.empty(len(edges), dtype=np.int8)
        where = (choice, edges, self.geometry, self.y, self.y_base, column, len(self.mixed))
        random = (
            block.copy_start,
            block.copy_ids,
            address.words,
            np.uint32(address.sweep),
            self.graph.n_visited_sums + column,
        )
        most = block.n_rows // _ROWS_PER_TASK
        tabulated = self.codebook.values[column]
        if tabulated.size:
            codes = block.codes(self.codebook, column)
            codes[codes == tabulated.size] = -1
            run_tasks(
                families.draw_cell_families,
                most,
                *where,
                codes,
                self._family_parts(column),
                *random,
            )
        else:
            values = block.dense[int(np.searchsorted(self.codebook.dense, column))]
            codes = np.where(np.isnan(values), -1, np.arange(block.n_rows)).astype(np.int32)
            power = self.circuit.densities.power
            features = dense_features(self.codebook, block, column, power=power)
            natural = self.circuit.densities.natural(column)
            assert natural is not None, "rows are assigned with drawn parameters"
            run_tasks(families.draw_dense_cell_families, most, *where, *features, *natural, *random)
        for m, (g, position) in enumerate(self.codebook.leaves.places[column]):
            totals = self.totals[g][position]
            chosen = (m, choice, codes)
            if self.codebook.leaves.groups[g].family.one_hot:
                # columns with a categorical model are always tabulated, by whole numbers
                categories = tabulated.astype(np.int64)
                accumulate.count_family_categories(
                    totals, *chosen, categories, block.copy_start, leaf_nodes
                )
                continue
            if tabulated.size:
                statistics = code_statistics(self.codebook, column, m)
            else:
                statistics = dense_statistics(self.codebook, block, column, m)
            accumulate.add_family_statistics(
                totals, *chosen, statistics, block.copy_start, leaf_nodes
            )

    def _family_parts(self, column: int) -> Array:
        """Log ω + log density of a column's codes; shape (codes, families, paths, leaves)."""
        if column not in self._parts:
            self._parts[column] = log_family_parts(
                self.circuit.densities, column, self.codebook.values[column]
            )
        return self._parts[column]

    def finish(self) -> list[NDArray[np.int64]]:
        """Add what the reference codes, which blocks leave out, contribute."""
        for g, group in enumerate(self.codebook.leaves.groups):
            plain = np.flatnonzero(~self.mixed[group.columns])
            if group.family.one_hot:
                self._add_references(g, plain)
                continue
            for position in plain:
                column = int(group.columns[position])
                if self.codebook.values[column].size:
                    reference = int(self.codebook.reference[column])
                    scaled = code_statistics(self.codebook, column, 0)[reference]
                    self.totals[g][position] += scaled[:, None] * self.visits
        return self.totals

    def _add_references(self, g: int, members: NDArray[np.int64]) -> None:
        group = self.codebook.leaves.groups[g]
        every = len(members) == len(group)
        totals = self.totals[g] if every else self.totals[g][members]
        run_tasks(
            accumulate.add_references,
            len(members),
            totals,
            self.missing[g][members],
            self.visits,
            self.codebook.reference[group.columns[members]],
        )
        if not every:
            self.totals[g][members] = totals
