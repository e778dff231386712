"""Probabilities of cells of a column under mixtures of its leaves, one mixture for every row."""

from __future__ import annotations

import numba as nb


@nb.njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract"})
def mix_cells(task, tasks, weights, table, block, masses):
    """Masses of the cells of one block per row.

    Parameters
    ----------
    task, tasks : int
        Of so many tasks, which run side by side and share the rows, this one.
    weights : float64 array of shape (draws, rows, leaves)
    table : float64 array of shape (draws, blocks, cells, leaves)
    block : int64 array of shape (rows,)
    masses : float64 array of shape (rows, cells)
        Receives the masses.
    """
    rows, cells = masses.shape
    for row in range(rows * task // tasks, rows * (task + 1) // tasks):
        for cell in range(cells):
            masses[row, cell] = 0.0
        for draw in range(weights.shape[0]):
            for cell in range(cells):
                total = 0.0
                for leaf in range(weights.shape[2]):
                    total += weights[draw, row, leaf] * table[draw, block[row], cell, leaf]
                masses[row, cell] += total
