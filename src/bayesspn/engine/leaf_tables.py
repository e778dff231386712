"""Tables of leaf log densities, made once per circuit for tabulated columns, once per block else.

The kernels work in powers of two, so the tables hold binary logarithms.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bayesspn.arrays import Array, IntArray
from bayesspn.engine.features import (
    NO_SINGLE,
    LeafForms,
    dense_values,
    is_plain,
    keep,
    tabulated_values,
    valued_columns,
)
from bayesspn.engine.kernels.layout import DenseColumns, LeafTables
from bayesspn.engine.kernels.reference_codes import relate_to_references
from bayesspn.engine.kernels.valued import fill_tabulated
from bayesspn.model.circuit import Circuit
from bayesspn.rows.codebook import Codebook
from bayesspn.rows.encoded import RowBlock

_LOG2E = 1.4426950408889634

#: Binary logarithm of what is as good as nothing, but can be calculated with.
_NOTHING = -1e30


@dataclass(frozen=True, eq=False)
class CircuitTables:
    """Binary log densities of the leaves of a circuit on a dictionary.

    Attributes
    ----------
    constant : ndarray of shape (leaf regions, width)
        Log value of every leaf for a row of reference codes.
    deviations : ndarray of shape (features, paths, width)
        What another code adds to that.
    feature_column : ndarray of shape (features,)
    tabulated_forms : LeafForms or None
        Leaves of the tabulated columns that are not plain categories.
    """

    circuit: Circuit
    codebook: Codebook
    constant: Array
    deviations: Array
    feature_column: NDArray[np.int32]
    tabulated_forms: LeafForms | None

    def without_dense(self) -> LeafTables:
        """The tables without any dense column."""
        nothing = np.empty(0, dtype=np.int64)
        graph = self.circuit.graph
        dense = DenseColumns(
            nothing,
            nothing,
            np.zeros(1, dtype=np.int64),
            np.empty((0, 0, 1)),
            np.empty((0, 0, 4), dtype=np.int32),
            nothing,
            np.empty((0, 3, 1)),
            NO_SINGLE,
            1.0,
            np.empty((0, graph.n_paths * graph.leaves), dtype=np.int32),
        )
        return self._arrange(dense)

    def with_block(self, block: RowBlock) -> LeafTables:
        """The tables with the dense columns of a block."""
        columns = valued_columns(self.codebook, dense=True)
        if not len(columns.columns):
            return self.without_dense()
        forms = self.dense_forms
        values = dense_values(self.codebook, block)
        dense = DenseColumns(
            columns.columns,
            values.first[:-1],
            columns.first_member,
            values.features,
            values.spans,
            forms.forms,
            forms.parameters,
            forms.single() if self.constant.dtype == np.float32 else NO_SINGLE,
            forms.power,
            forms.places,
        )
        return self._arrange(dense)

    @cached_property
    def dense_forms(self) -> LeafForms:
        """Leaves of the dense columns."""
        return valued_columns(self.codebook, dense=True).forms(self.circuit.densities)

    def _arrange(self, dense: DenseColumns) -> LeafTables:
        return LeafTables(
            self.constant,
            self.deviations,
            self.feature_column,
            self.circuit.scope.leaf_regions,
            dense,
        )


def tabulate(
    circuit: Circuit, codebook: Codebook, width: int, dtype: type[np.floating]
) -> CircuitTables:
    """Tabulate the leaf densities of a circuit.

    Leaves are padded to ``width``; ``dtype`` is the precision of leaf sums.
    """
    graph, leaves = circuit.graph, codebook.leaves
    base = codebook.feature_base
    logs = np.zeros((base[-1], graph.n_paths, graph.leaves))
    for g, group in enumerate(leaves.groups):
        if group.family.one_hot:
            plain = _plain_members(codebook, g)
            probabilities = circuit.densities.log_probabilities(g)
            if len(plain) < len(group):
                probabilities = probabilities[plain]
            features = base[group.columns[plain]][:, None] + np.arange(group.n_statistics)
            logs[features] = _LOG2E * np.moveaxis(probabilities, -1, 1)
    others = valued_columns(codebook, dense=False)
    forms = None
    if len(others.columns):
        found = tabulated_values(codebook)
        forms = others.forms(circuit.densities)
        fill_tabulated(
            found.first,
            base[others.columns],
            others.first_member,
            found.features,
            found.spans,
            forms.forms,
            forms.parameters,
            forms.power,
            forms.places,
            logs,
        )
    constant = np.full((graph.n_leaf_regions, width), _NOTHING, dtype=dtype)
    deviations = np.empty((*logs.shape[:2], width), dtype=dtype)
    relate_to_references(
        logs,
        base,
        codebook.tabulated,
        codebook.reference,
        circuit.scope.leaf_regions,
        constant,
        deviations,
    )
    return CircuitTables(circuit, codebook, constant, deviations, _feature_columns(codebook), forms)


def _feature_columns(codebook: Codebook) -> NDArray[np.int32]:
    """Column of every feature; shape (features,)."""

    def make() -> NDArray[np.int32]:
        widths = np.diff(codebook.feature_base)[codebook.tabulated]
        return np.repeat(codebook.tabulated, widths).astype(np.int32)

    columns: NDArray[np.int32] = keep(codebook, ("feature columns",), make)
    return columns


def _plain_members(codebook: Codebook, g: int) -> IntArray:
    """Members of a one-hot group that are plain categories."""

    def make() -> IntArray:
        columns = codebook.leaves.groups[g].columns
        return np.flatnonzero([is_plain(codebook, int(d)) for d in columns])

    return keep(codebook, ("plain", g), make)
