"""Tables of leaf log densities, made once per circuit for tabulated columns, once per block else.

The kernels work in powers of two, so the tables hold binary logarithms.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayesspn.engine.circuit import Circuit
from bayesspn.engine.kernels.layout import LeafTables
from bayesspn.leaves.densities import log_density, log_model_parts
from bayesspn.leaves.family import Array
from bayesspn.rows import Dictionary, RowBlock

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
    """

    circuit: Circuit
    dictionary: Dictionary
    constant: Array
    deviations: Array
    feature_column: NDArray[np.int32]

    def for_block(self, block: RowBlock) -> LeafTables:
        """Add the dense columns of a block."""
        scope, dense_columns = self.circuit.scope, self.dictionary.dense
        graph = scope.graph
        shape = (len(dense_columns), block.n_rows, graph.n_paths, self.constant.shape[1])
        dense = np.zeros(shape, dtype=self.deviations.dtype)
        for k, d in enumerate(dense_columns):
            observed = np.flatnonzero(~np.isnan(block.dense[k]))
            values = block.dense[k, observed]
            log_value = log_density(self.circuit.densities, int(d), values)
            dense[k, observed, :, : graph.leaves] = _LOG2E * log_value
        return self._with_dense(dense, dense_columns)

    def without_block(self) -> LeafTables:
        """The tabulated columns alone."""
        nothing = np.zeros((0, 0, 0, 0), dtype=self.deviations.dtype)
        return self._with_dense(nothing, self.dictionary.dense[:0])

    def _with_dense(self, dense: Array, dense_columns: NDArray[np.int64]) -> LeafTables:
        return LeafTables(
            self.constant,
            self.deviations,
            self.feature_column,
            self.circuit.scope.leaf_regions,
            dense,
            dense_columns,
        )


def tabulate(
    circuit: Circuit, dictionary: Dictionary, width: int, dtype: type[np.floating]
) -> CircuitTables:
    """Tabulate the leaf densities of a circuit.

    Leaves are padded to ``width``; ``dtype`` is the precision of leaf sums.
    """
    graph, leaves = circuit.graph, dictionary.leaves
    base = dictionary.feature_base
    deviations = np.zeros((base[-1], graph.n_paths, graph.leaves))
    done = np.zeros(len(leaves.columns), dtype=bool)
    for g, group in enumerate(leaves.groups):
        if group.family.one_hot:
            plain = np.array([_is_plain(dictionary, int(d)) for d in group.columns], dtype=bool)
            probabilities = circuit.densities.log_probabilities(g)[plain]
            columns = group.columns[plain]
            features = base[columns][:, None] + np.arange(group.n_statistics)
            deviations[features] = np.moveaxis(probabilities, -1, 1)
            done[columns] = True
    for d in dictionary.tabulated[~done[dictionary.tabulated]]:
        deviations[base[d] : base[d + 1] - 1] = log_density(
            circuit.densities, int(d), dictionary.values[d]
        )
    deviations *= _LOG2E
    reference = deviations[base[dictionary.tabulated] + dictionary.reference[dictionary.tabulated]]
    constant = np.zeros((graph.n_leaf_regions, graph.leaves))
    np.add.at(constant, circuit.scope.leaf_regions[dictionary.tabulated], reference)
    widths = np.diff(base)[dictionary.tabulated]
    deviations -= np.repeat(reference, widths, axis=0)
    feature_column = np.repeat(dictionary.tabulated, widths).astype(np.int32)
    return CircuitTables(
        circuit,
        dictionary,
        _pad(constant, width, dtype, _NOTHING),
        _pad(deviations, width, dtype, 0.0),
        feature_column,
    )


def _pad(values: Array, width: int, dtype: type[np.floating], filling: float) -> Array:
    """Fill the last axis up to a width."""
    padded = np.full((*values.shape[:-1], width), filling, dtype=dtype)
    padded[..., : values.shape[-1]] = values
    return padded


def _is_plain(dictionary: Dictionary, column: int) -> bool:
    """Whether a column has one categorical model and no values beyond its categories."""
    described = dictionary.leaves.columns[column]
    return (
        len(described.families) == 1 and dictionary.values[column].size == described.constants[0][0]
    )


def model_parts(
    circuit: Circuit, dictionary: Dictionary, column: int, block: RowBlock
) -> tuple[NDArray[np.int32], Array]:
    """Codes (rows,) of a mixed column, −1 where missing, and log ω + log density of its codes.

    The second array has shape (codes, models, paths, leaves).
    """
    if dictionary.values[column].size:
        codes = block.codes(dictionary, column)
        codes[codes == dictionary.values[column].size] = -1
        values = dictionary.values[column]
    else:
        dense = block.dense[int(np.searchsorted(dictionary.dense, column))]
        codes = np.where(np.isnan(dense), -1, np.arange(block.n_rows)).astype(np.int32)
        values = np.where(np.isnan(dense), 1.0, dense)
    return codes, log_model_parts(circuit.densities, column, values)
