"""Leaf statistics of drawn trees, and the draw of likelihood families that some of them need."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesspn.arrays import IntArray
from bayesspn.engine.features import (
    LeafForms,
    ValuedColumns,
    Values,
    dense_codes,
    dense_values,
    has_few_slots,
    keep,
    tabulated_codes,
    tabulated_values,
    valued_columns,
)
from bayesspn.engine.kernels import accumulate, cell_statistics
from bayesspn.engine.kernels.cell_statistics import FEW_SLOTS
from bayesspn.engine.leaf_tables import CircuitTables
from bayesspn.engine.row_sums import Address
from bayesspn.graphs import RegionGraph
from bayesspn.leaves.columns import Leaves
from bayesspn.model.circuit import Circuit
from bayesspn.numerics.threads import run_tasks
from bayesspn.rows.codebook import Codebook
from bayesspn.rows.encoded import RowBlock

#: Fewer rows, or fewer statistics, are not worth a thread.
_ROWS_PER_TASK = 1024
_SLOTS_PER_TASK = 2**18


class Accumulator:
    """Adds up leaf statistics block by block.

    Parameters
    ----------
    circuit : Circuit
        What the trees were drawn from.
    codebook : Codebook
        What the blocks share.
    tables : CircuitTables
        Leaves of the circuit.
    """

    def __init__(self, circuit: Circuit, codebook: Codebook, tables: CircuitTables) -> None:
        self.tables = tables
        self.codebook = codebook
        self.graph = circuit.graph
        nodes = self.graph.n_leaf_regions * self.graph.leaves
        self.visits = np.zeros(nodes, dtype=np.int64)
        leaves = self.codebook.leaves
        self.totals, self._flat, self._first = _empty_totals(leaves, nodes)
        self._turns = _visiting_turns(self.graph)
        self.missing = [
            np.zeros((len(group) if group.family.one_hot else 0, nodes), dtype=np.int32)
            for group in leaves.groups
        ]
        self.leaf_regions = circuit.scope.leaf_regions
        self._members = one_hot_members(codebook)

    def add(self, block: RowBlock, leaf_nodes: NDArray[np.int32], address: Address) -> None:
        """Add the rows of a block, given the leaves that their trees visit."""
        visits = self._list_visits(block, leaf_nodes)
        accumulate.count_visits(self.visits, visits)
        for g, (plain, _) in self._members.items():
            if plain.size:
                self._count_categories(g, plain, block, visits)
        for dense, values, codes in (
            (False, tabulated_values(self.codebook), tabulated_codes(self.codebook, block)),
            (True, dense_values(self.codebook, block), dense_codes(block)),
        ):
            columns = valued_columns(self.codebook, dense)
            if len(columns.columns):
                forms = self.tables.dense_forms if dense else self.tables.tabulated_forms
                assert forms is not None
                self._add_valued(columns, values, codes, forms, block, leaf_nodes, visits, address)

    def _add_valued(
        self,
        columns: ValuedColumns,
        values: Values,
        codes: NDArray[np.int32],
        forms: LeafForms,
        block: RowBlock,
        leaf_nodes: NDArray[np.int32],
        visits: accumulate.Visits,
        address: Address,
    ) -> None:
        """Add the cells of columns that are not plain categories, to families that are drawn."""
        groups, positions = columns.members
        few = columns.few_slots
        each = np.where(few, FEW_SLOTS, columns.n_slots) * len(self.visits)
        first = self._first[groups] + positions * each
        run_tasks(
            cell_statistics.add_statistics,
            len(columns.columns) if block.n_rows >= _ROWS_PER_TASK else 1,
            columns.columns,
            codes,
            values.first,
            columns.first_member,
            values.features,
            values.spans,
            *forms,
            values.scaled,
            first,
            few,
            self._flat,
            leaf_nodes,
            len(self.visits),
            self.leaf_regions,
            self._turns,
            block.copy_start,
            block.copy_ids,
            visits,
            address.words,
            np.uint32(address.sweep),
            self.graph.n_visited_sums,
        )

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

    def finish(self) -> list[NDArray[np.int64]]:
        """Add what the reference codes, which blocks leave out, contribute."""
        for g, group in enumerate(self.codebook.leaves.groups):
            if has_few_slots(group):
                self._part_slots(g)
            elif group.family.one_hot:
                plain, owned = self._members[g]
                if plain.size:
                    self._add_references(g, plain)
                if owned.size:  # a categorical family among others
                    size = self.totals[g].size
                    wide = self._flat[self._first[g] : self._first[g] + size]
                    self.totals[g][owned] = wide.reshape(self.totals[g].shape)[owned]
        return self.totals

    def _part_slots(self, g: int) -> None:
        members, _, nodes = self.totals[g].shape
        together = self._flat[self._first[g] :][: members * nodes * FEW_SLOTS]
        most = together.size // _SLOTS_PER_TASK
        shape = (members, nodes, FEW_SLOTS)
        run_tasks(cell_statistics.part_slots, most, together.reshape(shape), self.totals[g])

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


def one_hot_members(codebook: Codebook) -> dict[int, tuple[IntArray, IntArray]]:
    """Of every one-hot leaf group, members of plain columns and those of mixed ones."""

    def make() -> dict[int, tuple[IntArray, IntArray]]:
        leaves = codebook.leaves
        return {
            g: (np.setdiff1d(np.arange(len(group)), mixed), mixed)
            for g, (group, (mixed, _)) in enumerate(
                zip(leaves.groups, leaves.mixed_members, strict=True)
            )
            if group.family.one_hot
        }

    members: dict[int, tuple[IntArray, IntArray]] = keep(codebook, ("one-hot",), make)
    return members


def _empty_totals(
    leaves: Leaves, nodes: int
) -> tuple[list[NDArray[Any]], NDArray[np.int64], IntArray]:
    """Totals (g, slots, leaf nodes) of every group, and those in 64 bits as one flat array.

    Categories of plain columns are counted in 32 bits. Of families with few slots, and of
    categorical families of mixed columns, the flat array holds the totals until all rows are added;
    other groups are views of it.
    """
    sizes = []
    for g, group in enumerate(leaves.groups):
        slots = FEW_SLOTS if has_few_slots(group) else group.n_slots
        needed = not group.family.one_hot or leaves.mixed_members[g][0].size
        sizes.append(len(group) * slots * nodes if needed else 0)
    first = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    flat = np.zeros(first[-1], dtype=np.int64)
    totals: list[NDArray[Any]] = []
    for g, group in enumerate(leaves.groups):
        shape = (len(group), group.n_slots, nodes)
        if group.family.one_hot:
            totals.append(np.zeros(shape, dtype=np.int32))
        elif has_few_slots(group):
            totals.append(np.empty(shape, dtype=np.int64))
        else:
            totals.append(flat[first[g] : first[g + 1]].reshape(shape))
    return totals, flat, first[:-1]


@lru_cache(maxsize=64)
def _visiting_turns(graph: RegionGraph) -> NDArray[np.int32]:
    """Which of the leaves that a tree visits is of a leaf region; shape (leaf regions,)."""
    turns = np.zeros(1, dtype=np.int32)
    for branching in graph.branching:  # children of a region's partitions come in the same order
        among = np.arange(graph.children, dtype=np.int32)
        turns = np.add.outer(np.repeat(graph.children * turns, branching), among).ravel()
    return turns.astype(np.int32)
