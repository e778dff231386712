"""Sums over drawn trees: visits and leaf statistics."""

from __future__ import annotations

from typing import NamedTuple

import numba as nb
import numpy as np

from bayesspn.engine.kernels import vectors as vec


class Visits(NamedTuple):
    """Which leaves the copies of every row visit, and how often.

    The visits of row n are elements ``first[n]`` … ``first[n] + count[n] − 1``.
    """

    first: np.ndarray  # int64 (rows,)
    count: np.ndarray  # int64 (rows,)
    nodes: np.ndarray  # int32, visited leaves
    times: np.ndarray  # int32, how often; empty if always once


@nb.njit(cache=True, nogil=True, error_model="numpy")
def list_visits(task, tasks, visits, leaf_nodes, copy_start, n_nodes):
    """Count equal visits of a row's copies together; ``leaf_nodes`` (copies, visited leaves).

    Fills ``visits.count``, ``visits.nodes`` and ``visits.times``.
    """
    rows = copy_start.shape[0] - 1
    leaves = leaf_nodes.shape[1]
    first, count, nodes, times = visits.first, visits.count, visits.nodes, visits.times
    place = np.full(n_nodes, -1, dtype=np.int64)
    for row in range(task, rows, tasks):
        end = first[row]
        for copy in range(copy_start[row], copy_start[row + 1]):
            for leaf in range(leaves):
                node = leaf_nodes[copy, leaf]
                # places of earlier rows lie before this row's
                if place[node] < first[row]:
                    place[node] = end
                    nodes[end] = node
                    times[end] = 0
                    end += 1
                times[place[node]] += 1
        count[row] = end - first[row]


@nb.njit(cache=True, nogil=True, error_model="numpy")
def count_visits(totals, visits):
    """Add the visits of every leaf to ``totals`` (leaf nodes,)."""
    for row in range(visits.first.shape[0]):
        for k in range(visits.first[row], visits.first[row] + visits.count[row]):
            times = visits.times[k] if visits.times.shape[0] > 0 else 1
            totals[visits.nodes[k]] += times


@nb.njit(cache=True, nogil=True, error_model="numpy")
def count_categories(
    task, tasks, totals, missing, columns, column_start, column_rows, column_codes, visits
):
    """Count the stored cells of one-hot columns.

    ``totals`` (members, codes, leaf nodes) is added to at every code but the reference's, and
    ``missing`` (members, leaf nodes) where cells are missing.
    """
    members, codes = totals.shape[:2]
    first, count = visits.first, visits.count
    nodes, times = visits.nodes, visits.times
    several = times.shape[0] > 0
    for member in range(task, members, tasks):
        column = columns[member]
        for cell in range(column_start[column], column_start[column + 1]):
            row, code = column_rows[cell], column_codes[cell]
            target = totals[member, code] if code < codes else missing[member]
            if several:
                for k in range(first[row], first[row] + count[row]):
                    target[np.uint32(vec.get(nodes, k))] += vec.get(times, k)
            else:
                for k in range(first[row], first[row] + count[row]):
                    target[np.uint32(vec.get(nodes, k))] += 1


@nb.njit(cache=True, nogil=True, error_model="numpy")
def add_references(task, tasks, totals, missing, visits, references):
    """Count the cells of the reference codes: what is left of ``visits`` (leaf nodes,)."""
    members, codes, nodes = totals.shape
    for member in range(task, members, tasks):
        reference = references[member]
        if reference == codes:  # missing cells, whose statistics are nothing
            continue
        target = totals[member, reference]
        for node in range(nodes):
            target[node] = visits[node] - missing[member, node]
        for code in range(codes):
            if code != reference:
                for node in range(nodes):
                    target[node] -= totals[member, code, node]
