"""Tables of leaf log densities, made once per circuit for tabulated columns, once per block else.

The kernels work in powers of two, so the tables hold binary logarithms.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayesspn.arrays import Array
from bayesspn.engine.features import dense_features
from bayesspn.engine.kernels.dense import fill_dense
from bayesspn.engine.kernels.layout import LeafTables
from bayesspn.leaves.densities import NaturalForm, log_density
from bayesspn.model.circuit import Circuit
from bayesspn.numerics.threads import run_tasks
from bayesspn.rows.codebook import Codebook
from bayesspn.rows.encoded import RowBlock

_LOG2E = 1.4426950408889634

#: Leaf values of dense columns that are held at a time, and the least number of rows.
_MOST_VALUES = 1_000_000
_LEAST_ROWS = 256

#: Fewer rows are not worth a thread.
_ROWS_PER_TASK = 1024

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
    codebook: Codebook
    constant: Array
    deviations: Array
    feature_column: NDArray[np.int32]

    @property
    def rows_together(self) -> int:
        """Rows whose dense columns are evaluated together: bounds the memory for them."""
        values = len(self.codebook.dense) * self.circuit.graph.n_paths * self.constant.shape[1]
        return max(_LEAST_ROWS, _MOST_VALUES // max(1, values))

    def without_dense(self) -> LeafTables:
        """The tables without any dense column."""
        shape = (0, 0, self.circuit.graph.n_paths, self.constant.shape[1])
        return self._arrange(np.zeros(shape, dtype=self.deviations.dtype))

    def with_dense(self, block: RowBlock, rows: slice) -> LeafTables:
        """The tables with the dense columns of some rows of a block."""
        graph = self.circuit.graph
        values = block.dense[:, rows]
        shape = (*values.shape, graph.n_paths, self.constant.shape[1])
        dense = np.zeros(shape, dtype=self.deviations.dtype)
        for out, d, cells in zip(dense, self.codebook.dense, values, strict=True):
            natural = self.circuit.densities.natural(int(d))
            if natural is not None:
                power = self.circuit.densities.power
                features = dense_features(self.codebook, block, int(d), rows, power)
                self._fill_natural(out, features, natural)
                continue
            observed = np.flatnonzero(~np.isnan(cells))
            log_value = log_density(self.circuit.densities, int(d), cells[observed])
            out[observed, :, : graph.leaves] = _LOG2E * log_value
        return self._arrange(dense)

    def _arrange(self, dense: Array) -> LeafTables:
        columns = self.codebook.dense[: len(dense)]
        return LeafTables(
            self.constant,
            self.deviations,
            self.feature_column,
            self.circuit.scope.leaf_regions,
            dense,
            columns,
        )

    def _fill_natural(
        self, out: Array, features: tuple[Array, Array], natural: NaturalForm
    ) -> None:
        """Log densities (rows, paths, width) of a dense column under exponential families."""
        width = out.shape[-1]
        log_base, statistics = features
        run_tasks(
            fill_dense,
            len(out) // _ROWS_PER_TASK,
            out,
            _LOG2E * log_base,
            np.ascontiguousarray(statistics),
            _pad(_LOG2E * natural.constant, width, np.float64, 0.0),
            _pad(_LOG2E * natural.eta, width, np.float64, 0.0),
        )


def tabulate(
    circuit: Circuit, codebook: Codebook, width: int, dtype: type[np.floating]
) -> CircuitTables:
    """Tabulate the leaf densities of a circuit.

    Leaves are padded to ``width``; ``dtype`` is the precision of leaf sums.
    """
    graph, leaves = circuit.graph, codebook.leaves
    base = codebook.feature_base
    deviations = np.zeros((base[-1], graph.n_paths, graph.leaves))
    done = np.zeros(len(leaves.columns), dtype=bool)
    for g, group in enumerate(leaves.groups):
        if group.family.one_hot:
            plain = np.array([_is_plain(codebook, int(d)) for d in group.columns], dtype=bool)
            probabilities = circuit.densities.log_probabilities(g)[plain]
            columns = group.columns[plain]
            features = base[columns][:, None] + np.arange(group.n_statistics)
            deviations[features] = np.moveaxis(probabilities, -1, 1)
            done[columns] = True
    for d in codebook.tabulated[~done[codebook.tabulated]]:
        deviations[base[d] : base[d + 1] - 1] = log_density(
            circuit.densities, int(d), codebook.values[d]
        )
    deviations *= _LOG2E
    reference = deviations[base[codebook.tabulated] + codebook.reference[codebook.tabulated]]
    constant = np.zeros((graph.n_leaf_regions, graph.leaves))
    np.add.at(constant, circuit.scope.leaf_regions[codebook.tabulated], reference)
    widths = np.diff(base)[codebook.tabulated]
    deviations -= np.repeat(reference, widths, axis=0)
    feature_column = np.repeat(codebook.tabulated, widths).astype(np.int32)
    return CircuitTables(
        circuit,
        codebook,
        _pad(constant, width, dtype, _NOTHING),
        _pad(deviations, width, dtype, 0.0),
        feature_column,
    )


def _pad(values: Array, width: int, dtype: type[np.floating], filling: float) -> Array:
    """Fill the last axis up to a width."""
    padded = np.full((*values.shape[:-1], width), filling, dtype=dtype)
    padded[..., : values.shape[-1]] = values
    return padded


def _is_plain(codebook: Codebook, column: int) -> bool:
    """Whether a column has one categorical model and no values beyond its categories."""
    described = codebook.leaves.columns[column]
    return (
        len(described.families) == 1 and codebook.values[column].size == described.constants[0][0]
    )
