"""Top-down sampling: draw the missing cells of rows from a circuit, given the observed ones."""

from __future__ import annotations

import numpy as np

from bayesspn.arrays import Array, IntArray
from bayesspn.engine import compiled
from bayesspn.engine.oracle import decode_trees
from bayesspn.engine.row_sums import Address
from bayesspn.leaves.densities import draw_cells
from bayesspn.model.circuit import Circuit
from bayesspn.rows.encoded import encode_rows


def complete_rows(
    rng: np.random.Generator, circuit: Circuit, X: Array, address: Address
) -> tuple[Array, IntArray]:
    """Draw the missing cells of every row from their joint conditional.

    Parameters
    ----------
    rng : numpy.random.Generator
        For the cells' values.
    circuit : Circuit
    X : ndarray of shape (rows, columns)
        NaN marks the cells to draw.
    address : Address
        For the induced trees.

    Returns
    -------
    completed : ndarray of shape (rows, columns)
    edges : ndarray of shape (rows, visited sums)
        The induced trees z behind the drawn cells.
    """
    edges, _ = compiled.draw_trees(circuit, encode_rows(circuit.densities.leaves, X), address)
    _, regions, nodes = decode_trees(circuit.graph, edges)
    completed = X.copy()
    for d in range(X.shape[1]):
        missing = np.flatnonzero(np.isnan(X[:, d]))
        if missing.size:
            # exactly one visited leaf has the column in its scope
            same = regions[missing, :, None] == circuit.scope.leaf_regions[d]
            _, leaf, path = np.nonzero(same)
            node = nodes[missing, leaf]
            completed[missing, d] = draw_cells(rng, circuit.densities, d, path, node)
    return completed, edges
