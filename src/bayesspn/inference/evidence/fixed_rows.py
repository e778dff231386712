"""Rows whose assignments are fixed, and how probable these are: the steps of `bridge_path`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from bayesspn.arrays import Array
from bayesspn.engine import compiled
from bayesspn.engine.row_sums import Address, RowSums, from_fixed_point, subtract_row_sums
from bayesspn.inference.circuits import predictive_circuit
from bayesspn.inference.evidence.label_symmetry import FixedLabels, log_label_averaged
from bayesspn.inference.state import State, counts_and_totals, family_counts, statistics_in_scope
from bayesspn.leaves.columns import Leaves
from bayesspn.leaves.densities import DrawnLeaves
from bayesspn.model.circuit import Circuit
from bayesspn.model.generative import Model
from bayesspn.rows.encoded import EncodedRows


class FixedAssignments(NamedTuple):
    """Where rows are fixed to: what a network draws for them at an address."""

    circuit: Circuit
    address: Address

    def sums(self, rows: EncodedRows) -> RowSums:
        """Counts and statistics of rows at their fixed assignments."""
        return compiled.row_pass(self.circuit, rows, self.address)


class PathDraw(NamedTuple):
    """A chain at one sweep: the network it began with, and what came out."""

    circuit: Circuit
    address: Address
    sums: RowSums
    state: State


@dataclass(frozen=True)
class RevisitStep:
    """Rows whose trees visit no nodes but those of rows that were fixed before."""

    rows: EncodedRows
    sums: RowSums

    def log_probability(self, draw: PathDraw, free: bool) -> float:
        """Log probability of the fixed assignments given the network."""
        fixed = log_fixed_density(draw.circuit, self.rows, self.sums)
        return fixed - from_fixed_point(compiled.fixed_log_likelihood(draw.circuit, self.rows))


@dataclass(frozen=True)
class FirstVisitStep:
    """A row whose tree is the first to fix some labels.

    Drawn parameters of a node that no other row visits come from their prior, and would hardly
    ever suit this row: they are integrated out, given the trees of all other rows.
    """

    model: Model
    rows: EncodedRows
    sums: RowSums
    labels: FixedLabels
    number: int

    def log_probability(self, draw: PathDraw, free: bool) -> float:
        """Log probability of its assignment given other rows' trees and y, averaged over labels.

        ``free`` says whether the row still is.
        """
        own = self.sums
        if free:
            own = compiled.row_pass(draw.circuit, self.rows, draw.address)
        others = subtract_row_sums(draw.sums, own)
        scope = draw.state.scope
        statistics = statistics_in_scope(self.rows.codebook, scope, others.statistics)
        state = State(scope, draw.state.hyper, others.edge_counts, statistics)
        circuit = predictive_circuit(self.model, state)
        x = self.rows.values(self.rows.sorted_ids[0])[0]
        values, log_base = fixed_leaf_values(circuit, x, self.sums)
        fixed = log_label_averaged(circuit, values, self.labels, self.number)
        return fixed - log_base - float(compiled.log_likelihood(circuit, self._alone())[0])

    def _alone(self) -> EncodedRows:
        """The row as the first and only one."""
        block = self.rows.blocks[0]
        only = replace(block, copy_ids=np.zeros(1, dtype=np.int64))
        return EncodedRows(self.rows.codebook, (only,))


Step = RevisitStep | FirstVisitStep


def log_fixed_density(circuit: Circuit, rows: EncodedRows, sums: RowSums) -> float:
    """Log density of fixed rows given a network, up to the base measures of their cells.

    These are the same on both parts of the path, and cancel.
    """
    densities = circuit.densities
    assert isinstance(densities, DrawnLeaves)
    total = 0.0
    for log_weights, counts in zip(circuit.log_weights, sums.edge_counts, strict=True):
        used = counts > 0
        total += float(log_weights[used] @ counts[used])
    statistics = statistics_in_scope(rows.codebook, circuit.scope, sums.statistics)
    for g, group in enumerate(densities.leaves.groups):
        n, totals = counts_and_totals(group, statistics[g])
        total += float((totals * densities.eta[g]).sum() - (n * densities.log_partition[g]).sum())
    owned = family_counts(densities.leaves, statistics)
    some = owned > 0
    return total + float(densities.log_mixing[some] @ owned[some])


def fixed_leaf_values(circuit: Circuit, x: Array, sums: RowSums) -> tuple[Array, float]:
    """Log values (leaf regions, leaves) of all leaves for a row, the families of its cells fixed.

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
        density = densities.log_family_density(column, model, cell)[0]
        np.add.at(values, leaf_regions[column], density)
        log_base += float(leaves.columns[column].features(model, cell)[1][0])
    return values, log_base


def _owned(leaves: Leaves, sums: RowSums) -> Array:
    """Cells of a row that each likelihood family owns; shape (mixed columns, models)."""
    everywhere = tuple(np.moveaxis(slots, 1, 3) for slots in sums.statistics)
    return family_counts(leaves, everywhere).sum(axis=(2, 3))
