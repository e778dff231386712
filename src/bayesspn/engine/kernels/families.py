"""The draw of likelihood families: s of every cell of a mixed column, given the drawn trees."""

from __future__ import annotations

import numba as nb
import numpy as np

from bayesspn.numerics.random_numbers import fill_uniforms


@nb.njit(cache=True, forceinline=True)
def _find_leaf(edges, copy, geometry, y, y_base, column, n_columns):
    """Path and leaf of a column in a drawn tree: the visited leaf that has it in its scope."""
    children = geometry.children
    region, position, here, width, path, node = 0, 0, 0, 1, 0, 0
    for level in range(geometry.branching.shape[0]):
        nodes = geometry.nodes[level + 1]
        edge = edges[copy, here + position]
        j = edge // geometry.products[level]
        node = edge - j * geometry.products[level]
        partition = region * geometry.branching[level] + j
        child = y[y_base[level] + partition * n_columns + column]
        region = partition * children + child
        if not geometry.shared:
            for _ in range(children - 1 - child):
                node //= nodes
            node %= nodes
        path = path * geometry.branching[level] + j
        here += width
        width *= children
        position = position * children + child
    return path, node


@nb.njit(cache=True, forceinline=True)
def _choose(logs, families, u):
    """Draw a model in proportion to e^logs."""
    largest = -np.inf
    for m in range(families):
        largest = max(largest, logs[m])
    total = 0.0
    for m in range(families):
        logs[m] = np.exp(logs[m] - largest)
        total += logs[m]
    u *= total
    chosen = 0
    for m in range(families):
        if logs[m] > 0.0:
            chosen = m
            if u < logs[m]:
                break
            u -= logs[m]
    return chosen


@nb.njit(cache=True, nogil=True)
def draw_cell_families(
    task, tasks, choice, edges, geometry, y, y_base, column, n_columns, codes, log_parts,
    copy_start, copy_ids, key, sweep, slot,
):  # fmt: skip
    """Draw the families of a tabulated column.

    Parameters
    ----------
    task, tasks : int
        Of so many tasks, which run side by side and share the rows, this one.
    choice : int8 array of shape (copies,)
        Receives the model, or −1 where the cell is missing.
    y, y_base : int8 array, int64 array of shape (levels,)
        The scope's child choices, flattened level after level.
    codes : int32 array of shape (rows,)
        Code of every distinct row, or −1 if the cell is missing.
    log_parts : float64 array of shape (codes, families, paths, leaves)
        Log mixing weight plus log density of every model.
    slot : int
        Slot of this column's uniform.
    """
    families = log_parts.shape[1]
    uniform, logs = np.empty(1), np.empty(families)
    for row in range(task, codes.shape[0], tasks):
        for copy in range(copy_start[row], copy_start[row + 1]):
            choice[copy] = -1
            if codes[row] >= 0:
                path, node = _find_leaf(edges, copy, geometry, y, y_base, column, n_columns)
                for m in range(families):
                    logs[m] = log_parts[codes[row], m, path, node]
                fill_uniforms(uniform, copy_ids[copy], sweep, key[0], key[1], slot, slot + 1)
                choice[copy] = _choose(logs, families, uniform[0])


@nb.njit(cache=True, nogil=True)
def draw_dense_cell_families(
    task, tasks, choice, edges, geometry, y, y_base, column, n_columns, log_base, statistics,
    constant, eta, copy_start, copy_ids, key, sweep, slot,
):  # fmt: skip
    """Draw the families of a dense column, whose leaves are exponential families.

    ``log_base`` (families, rows), NaN where missing, ``statistics`` (families, rows, t) and
    ``constant``
    (families, paths, leaves) and ``eta`` (families, t, paths, leaves) as in `dense`, but in natural
    logarithms; the rest as in `draw_cell_families`.
    """
    families, rows, n_statistics = statistics.shape
    uniform, logs = np.empty(1), np.empty(families)
    for row in range(task, rows, tasks):
        for copy in range(copy_start[row], copy_start[row + 1]):
            choice[copy] = -1
            if not np.isnan(log_base[0, row]):
                path, node = _find_leaf(edges, copy, geometry, y, y_base, column, n_columns)
                for m in range(families):
                    logs[m] = log_base[m, row] + constant[m, path, node]
                    for t in range(n_statistics):
                        logs[m] += statistics[m, row, t] * eta[m, t, path, node]
                fill_uniforms(uniform, copy_ids[copy], sweep, key[0], key[1], slot, slot + 1)
                choice[copy] = _choose(logs, families, uniform[0])
