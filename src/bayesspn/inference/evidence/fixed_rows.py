"""Rows that are pinned to trees, and how probable their pins are: the steps of `pinning`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from bayesspn.arrays import Array, IntArray
from bayesspn.engine import compiled
from bayesspn.engine.row_sums import Address, RowSums, from_fixed_point, subtract_row_sums
from bayesspn.inference.circuits import predictive_circuit
from bayesspn.inference.evidence.label_symmetry import Naming, log_named_probability
from bayesspn.inference.state import State, counts_and_totals, model_counts, statistics_in_scope
from bayesspn.leaves.columns import Leaves
from bayesspn.leaves.densities import DrawnLeaves
from bayesspn.model.circuit import Circuit
from bayesspn.model.generative import Model
from bayesspn.rows.encoded import EncodedRows


class Pins(NamedTuple):
    """Where rows are pinned to: what a network draws for them at an address."""

    circuit: Circuit
    address: Address

    def sums(self, rows: EncodedRows) -> RowSums:
        """Counts and statistics of rows at their pins."""
        return compiled.row_pass(self.circuit, rows, self.address)


class Moment(NamedTuple):
    """A chain at one sweep: the network it began with, and what came out."""

    circuit: Circuit
    address: Address
    sums: RowSums
    state: State


@dataclass(frozen=True)
class PlainStep:
    """Rows whose trees visit no nodes but those of rows that were pinned before."""

    rows: EncodedRows
    sums: RowSums

    def log_probability(self, moment: Moment, free: bool) -> float:
        """Log probability of the pins given the network."""
        pinned = log_pinned(moment.circuit, self.rows, self.sums)
        return pinned - from_fixed_point(compiled.fixed_log_likelihood(moment.circuit, self.rows))


@dataclass(frozen=True)
class NamingStep:
    """A row whose tree is the first to visit some nodes.

    Drawn parameters of a node that no other row visits come from their prior, and would hardly
    ever suit this row: they are integrated out, given the trees of all other rows.
    """

    model: Model
    rows: EncodedRows
    sums: RowSums
    edges: IntArray
    naming: Naming
    number: int

    def log_probability(self, moment: Moment, free: bool) -> float:
        """Log probability of the pin given other rows' trees and y, averaged over names.

        ``free`` says whether the row still is.
        """
        own = self.sums
        if free:
            own = compiled.row_pass(moment.circuit, self.rows, moment.address)
        others = subtract_row_sums(moment.sums, own)
        scope = moment.state.scope
        statistics = statistics_in_scope(self.rows.dictionary, scope, others.statistics)
        state = State(scope, moment.state.hyper, others.edge_counts, statistics)
        circuit = predictive_circuit(self.model, state)
        x = self.rows.values(self.rows.sorted_ids[0])[0]
        values, log_base = pinned_leaf_values(circuit, x, self.sums)
        pinned = log_named_probability(circuit, values, self.edges, self.naming, self.number)
        return pinned - log_base - float(compiled.log_likelihood(circuit, self._alone())[0])

    def _alone(self) -> EncodedRows:
        """The row as the first and only one."""
        block = self.rows.blocks[0]
        only = replace(block, copy_ids=np.zeros(1, dtype=np.int64))
        return EncodedRows(self.rows.dictionary, (only,))


Step = PlainStep | NamingStep


def log_pinned(circuit: Circuit, rows: EncodedRows, sums: RowSums) -> float:
    """Log density of pinned rows given a network, up to the base measures of their cells.

    These are the same on both parts of the path, and cancel.
    """
    densities = circuit.densities
    assert isinstance(densities, DrawnLeaves)
    total = 0.0
    for log_weights, counts in zip(circuit.log_weights, sums.edge_counts, strict=True):
        used = counts > 0
        total += float(log_weights[used] @ counts[used])
    statistics = statistics_in_scope(rows.dictionary, circuit.scope, sums.statistics)
    for g, group in enumerate(densities.leaves.groups):
        n, totals = counts_and_totals(group, statistics[g])
        total += float((totals * densities.eta[g]).sum() - (n * densities.log_partition[g]).sum())
    owned = model_counts(densities.leaves, statistics)
    some = owned > 0
    return total + float(densities.log_mixing[some] @ owned[some])


def pinned_leaf_values(circuit: Circuit, x: Array, sums: RowSums) -> tuple[Array, float]:
    """Log values (leaf regions, leaves) of all leaves for a row with its likelihood models pinned.

    Also the log base measures of its cells, which are part of these values.
    """
    densities, leaf_regions = circuit.densities, circuit.scope.leaf_regions
    leaves = densities.leaves
    values = np.zeros((circuit.graph.n_leaf_regions, circuit.graph.leaves))
    log_base = 0.0
    left = ~np.isnan(x)
    for g, group in enumerate(leaves.groups):
        here = np.flatnonzero(left[group.columns] & ~np.isin(group.columns, leaves.mixed))
        if group.family.one_hot and here.size:
            columns = group.columns[here]
            codes = x[columns].astype(np.int64)[:, None, None, None]
            density = np.take_along_axis(densities.log_probabilities(g)[here], codes, axis=-1)
            np.add.at(values, leaf_regions[columns], density[..., 0])
            left[columns] = False
    owned = _owned(leaves, sums)
    for column in np.flatnonzero(left).tolist():
        model, cell = 0, x[column : column + 1]
        if column in leaves.mixed:
            member = int(np.searchsorted(leaves.mixed, column))
            model = int(np.argmax(owned[member]))
            np.add.at(values, leaf_regions[column], densities.log_mixing[member, model])
        density = densities.log_model_density(column, model, cell)[0]
        np.add.at(values, leaf_regions[column], density)
        log_base += float(leaves.columns[column].features(model, cell)[1][0])
    return values, log_base


def _owned(leaves: Leaves, sums: RowSums) -> Array:
    """Cells of a row that each likelihood model owns; shape (mixed columns, models)."""
    everywhere = tuple(np.moveaxis(slots, 1, 3) for slots in sums.statistics)
    return model_counts(leaves, everywhere).sum(axis=(2, 3))
