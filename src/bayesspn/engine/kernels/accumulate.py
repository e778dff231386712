"""Sums over drawn trees: visits, likelihood models and leaf statistics."""

from __future__ import annotations

import numba as nb
import numpy as np

from bayesspn.randomness import fill_uniforms


@nb.njit(cache=True)
def count_visits(visits, leaf_nodes):
    """Add the visits of every leaf; ``leaf_nodes`` (copies, visited leaves)."""
    for copy in range(leaf_nodes.shape[0]):
        for leaf in range(leaf_nodes.shape[1]):
            visits[leaf_nodes[copy, leaf]] += 1


@nb.njit(cache=True, parallel=True)
def count_categories(
    totals, columns, column_start, column_rows, column_codes, copy_start, leaf_nodes
):
    """Count the stored cells of one-hot columns.

    ``totals`` (members, codes, leaf nodes) is added to at every code but the reference's.
    """
    for member in nb.prange(columns.shape[0]):
        column = columns[member]
        for cell in range(column_start[column], column_start[column + 1]):
            row, code = column_rows[cell], column_codes[cell]
            for copy in range(copy_start[row], copy_start[row + 1]):
                for leaf in range(leaf_nodes.shape[1]):
                    totals[member, code, leaf_nodes[copy, leaf]] += 1


@nb.njit(cache=True)
def add_statistics(totals, rows, statistics, copy_start, leaf_nodes):
    """Add the statistics of the k-th listed row to the leaves its copies visit.

    ``totals`` (slots, leaf nodes), ``rows`` (cells,), ``statistics`` (cells, slots).
    """
    for cell in range(rows.shape[0]):
        row = rows[cell]
        for copy in range(copy_start[row], copy_start[row + 1]):
            for leaf in range(leaf_nodes.shape[1]):
                for slot in range(statistics.shape[1]):
                    totals[slot, leaf_nodes[copy, leaf]] += statistics[cell, slot]


@nb.njit(cache=True, parallel=True)
def draw_models(
    choice, edges, geometry, y, y_base, column, n_columns, codes, log_parts, copy_start, copy_ids,
    key, sweep, slot,
):  # fmt: skip
    """Draw the likelihood model s of one column's cells, given the drawn trees.

    Parameters
    ----------
    choice : int8 array of shape (copies,)
        Receives the model, or −1 where the cell is missing.
    y, y_base : int8 array, int64 array of shape (levels,)
        The scope's child choices, flattened level after level.
    codes : int32 array of shape (rows,)
        Row of ``log_parts`` for every distinct row, or −1 if the cell is missing.
    log_parts : float64 array of shape (codes, models, paths, leaves)
        Log mixing weight plus log density of every model.
    slot : int
        Slot of this column's uniform.
    """
    levels = geometry.branching.shape[0]
    children = geometry.children
    models = log_parts.shape[1]
    for row in nb.prange(codes.shape[0]):
        code = codes[row]
        uniform = np.empty(1, dtype=np.float64)
        for copy in range(copy_start[row], copy_start[row + 1]):
            if code < 0:
                choice[copy] = -1
                continue
            region = 0
            position = 0
            here = 0
            width = 1
            path = 0
            node = 0
            for level in range(levels):
                nodes = geometry.nodes[level + 1]
                edge = edges[copy, here + position]
                j = edge // geometry.products[level]
                product = edge - j * geometry.products[level]
                partition = region * geometry.branching[level] + j
                child = y[y_base[level] + partition * n_columns + column]
                region = partition * children + child
                node = product
                if not geometry.shared:
                    for _ in range(children - 1 - child):
                        node //= nodes
                    node %= nodes
                path = path * geometry.branching[level] + j
                here += width
                width *= children
                position = position * children + child
            fill_uniforms(uniform, copy_ids[copy], sweep, key[0], key[1], slot, slot + 1)
            largest = -np.inf
            for m in range(models):
                largest = max(largest, log_parts[code, m, path, node])
            total = 0.0
            for m in range(models):
                total += np.exp(log_parts[code, m, path, node] - largest)
            u = uniform[0] * total
            chosen = 0
            for m in range(models):
                part = np.exp(log_parts[code, m, path, node] - largest)
                if part > 0.0:
                    chosen = m
                    if u < part:
                        break
                    u -= part
            choice[copy] = chosen


@nb.njit(cache=True)
def count_model_categories(totals, model, choice, codes, categories, copy_start, leaf_nodes):
    """Count the categories of the cells that a categorical model owns.

    ``totals`` (categories, leaf nodes), ``codes`` (rows,), ``categories`` (codes,).
    """
    for row in range(codes.shape[0]):
        for copy in range(copy_start[row], copy_start[row + 1]):
            if choice[copy] == model:
                for leaf in range(leaf_nodes.shape[1]):
                    totals[categories[codes[row]], leaf_nodes[copy, leaf]] += 1


@nb.njit(cache=True)
def add_model_statistics(totals, model, choice, codes, statistics, copy_start, leaf_nodes):
    """Add the statistics of the cells that a likelihood model owns.

    ``totals`` (slots, leaf nodes), ``codes`` (rows,), ``statistics`` (codes, slots).
    """
    for row in range(codes.shape[0]):
        for copy in range(copy_start[row], copy_start[row + 1]):
            if choice[copy] == model:
                for leaf in range(leaf_nodes.shape[1]):
                    for slot in range(statistics.shape[1]):
                        totals[slot, leaf_nodes[copy, leaf]] += statistics[codes[row], slot]
