"""Top-down sampling: draw the missing cells of rows from a circuit, given the observed ones."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bayesspn.arrays import Array, IntArray
from bayesspn.engine import compiled
from bayesspn.engine.oracle import decode_trees
from bayesspn.engine.row_sums import Address
from bayesspn.leaves.densities import draw_cells
from bayesspn.model.circuit import Circuit
from bayesspn.rows.encoded import encode_rows

#: How often rows are drawn again that leave their columns' plausible ranges.
_MOST_TRIES = 20


class Completion(NamedTuple):
    """Rows without missing cells.

    Attributes
    ----------
    rows : ndarray of shape (rows, columns)
    edges : ndarray of shape (rows, visited sums)
        The induced trees z behind the drawn cells.
    log_densities : ndarray of shape (rows,)
        Of the observed cells; where it is −inf, the drawn ones mean nothing.
    """

    rows: Array
    edges: IntArray
    log_densities: Array


def complete_rows(
    rng: np.random.Generator, circuit: Circuit, X: Array, address: Address
) -> Completion:
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
    """
    edges, scores = compiled.draw_trees(circuit, encode_rows(circuit.densities.leaves, X), address)
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
    return Completion(completed, edges, scores)


def complete_plausibly(
    rng: np.random.Generator, circuit: Circuit, X: Array, address: Address
) -> Completion:
    """As `complete_rows`, with all drawn cells in their columns' plausible ranges.

    Leaves have heavy tails: now and then one would give a value far beyond anything that was ever
    seen. Rows with such a value are drawn again, so that what is given back is the conditional
    distribution cut down to the plausible ranges.
    """
    columns = circuit.densities.leaves.columns
    low, high = np.array([column.plausible for column in columns]).T
    done = complete_rows(rng, circuit, X, address)
    missing = np.isnan(X)
    for attempt in range(1, _MOST_TRIES):
        beyond = ((done.rows < low) | (done.rows > high)) & missing
        wanted = np.flatnonzero(beyond.any(axis=1))
        if not wanted.size:
            break
        again = Address(address.words, address.sweep + attempt)
        part = complete_rows(rng, circuit, X[wanted], again)
        done.rows[wanted], done.edges[wanted] = part.rows, part.edges
    np.copyto(done.rows, np.clip(done.rows, low, high), where=missing)
    return done
