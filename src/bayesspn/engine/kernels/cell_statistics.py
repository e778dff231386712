"""Columns whose leaves are not plain categories: families of cells, and statistics of leaves.

A cell belongs to the family that is drawn for it in the leaf that has its column in scope; its
statistics count for every leaf that its row visits, since the column may move there.
"""
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numba as nb
import numpy as np

from bayesspn.engine.kernels import vectors as vec
from bayesspn.engine.kernels.valued import QUADRATIC
from bayesspn.numerics.random_numbers import fill_uniforms

#: Slots of a family with few of them, which lie side by side for every leaf: `vectors.add_four`.
FEW_SLOTS = 4

#: Copies of rows whose uniforms are drawn together.
_COPIES = 256


@nb.njit(cache=True, forceinline=True, error_model="numpy")
def choose_family(logs, families, u):
    """Draw a family in proportion to 2^logs."""
    if families == 2 and logs[0] > -np.inf:
        return 0 if u < 1.0 / (1.0 + np.exp2(logs[1] - logs[0])) else 1
    largest = -np.inf
    for m in range(families):
        largest = max(largest, logs[m])
    total = 0.0
    for m in range(families):
        logs[m] = np.exp2(logs[m] - largest)
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


@nb.njit(cache=True, nogil=True, error_model="numpy")
def add_statistics(
    task, tasks, columns, codes, first_value, first_member, features, spans, forms, parameters,
    power, places, leaves, scaled, first_total, few, totals, leaf_nodes, n_nodes, leaf_regions,
    turns, copy_start, copy_ids, visits, key, sweep, first_slot,
):  # fmt: skip
    """Draw the families of mixed columns' cells, and add cells to the leaves their rows visit.

    Parameters
    ----------
    task, tasks : int
        Of so many tasks, which run side by side and share the columns, this one.
    columns : int64 array of shape (columns,)
        Numbers of the columns in the table, ascending.
    codes : int32 array of shape (columns, rows)
        Values of the block's rows, counted within the column; −1 where missing.
    scaled : int64 array of shape (families, values, slots)
        Integer statistics; at least `FEW_SLOTS` of them.
    first_total : int64 array of shape (members,)
        Where the totals of a member begin.
    few : bool array of shape (members,)
        Whether a member's totals are (leaf nodes, FEW_SLOTS); else (slots, leaf nodes).
    totals : int64 array
        Added to.
    leaf_nodes : int32 array of shape (copies, visited leaves)
    n_nodes : int
        Leaf nodes of all regions.
    leaf_regions : int32 array of shape (columns of the table, paths)
    turns : int32 array of shape (leaf regions,)
        Which of the leaves that a tree visits is of this region, if any is.
    visits : Visits
        What the copies of every row visit, for columns with one family.
    first_slot : int
        Slot of the first column's uniform.

    The rest is as in `bayesspn.engine.kernels.valued.fill_column`.
    """
    wanted = columns.shape[0]
    begin, end = task * wanted // tasks, (task + 1) * wanted // tasks
    if begin == end:
        return
    rows = copy_start.shape[0] - 1
    logs = np.empty(features.shape[0])
    first_uniform = first_slot + columns[begin]
    uniforms = np.empty((_COPIES, columns[end - 1] - columns[begin] + 1))
    mixed = first_member[end] - first_member[begin] > end - begin
    first = 0
    while first < rows:
        # rows with as many copies as uniforms are drawn together, neighbouring columns' at once
        last = first + 1
        while last < rows and copy_start[last + 1] - copy_start[first] <= _COPIES:
            last += 1
        start = copy_start[first]
        if mixed:
            for copy in range(start, min(copy_start[last], start + _COPIES)):
                fill_uniforms(
                    uniforms[copy - start], copy_ids[copy], sweep, key[0], key[1], first_uniform,
                    first_uniform + uniforms.shape[1],
                )  # fmt: skip
        for k in range(begin, end):
            member, families = first_member[k], first_member[k + 1] - first_member[k]
            if families == 1:
                _add_alone(
                    codes[k], first, last, first_value[k], scaled[0], spans[0],
                    first_total[member], few[member], totals, n_nodes, visits,
                )  # fmt: skip
                continue
            at_uniform = columns[k] - columns[begin]
            for row in range(first, last):
                if codes[k, row] < 0:
                    continue
                value = first_value[k] + codes[k, row]
                for copy in range(copy_start[row], copy_start[row + 1]):
                    if copy - start >= _COPIES:  # a row with more copies than are drawn together
                        slot = first_slot + columns[k]
                        fill_uniforms(
                            logs[:1], copy_ids[copy], sweep, key[0], key[1], slot, slot + 1
                        )
                        u = logs[0]
                    else:
                        u = uniforms[copy - start, at_uniform]
                    at = _find_leaf(leaf_nodes, copy, leaf_regions, columns[k], turns, leaves)
                    at = places[k, at]
                    for m in range(families):
                        log = parameters[member + m, 0, at] + power * features[m, value, 0]
                        if forms[member + m] == QUADRATIC:
                            distance = features[m, value, 1] - parameters[member + m, 1, at]
                            log -= parameters[member + m, 2, at] * distance * distance
                        else:
                            for t in range(spans[m, value, 0], spans[m, value, 1]):
                                log += features[m, value, t] * parameters[member + m, t, at]
                        logs[m] = log
                    m = choose_family(logs, families, u)
                    base = first_total[member + m]
                    if few[member + m]:
                        _add_few(totals, base, scaled, m, value, leaf_nodes, copy)
                        continue
                    begun, ended = spans[m, value, 2], spans[m, value, 3]
                    for visited in range(leaf_nodes.shape[1]):
                        node = base + leaf_nodes[copy, visited]
                        for slot in range(begun, ended):
                            totals[node + slot * n_nodes] += scaled[m, value, slot]
        first = last


@nb.njit(cache=True, forceinline=True, error_model="numpy")
def _find_leaf(leaf_nodes, copy, leaf_regions, column, turns, leaves):
    """Path · leaves + leaf of the visited leaf that has a column in its scope."""
    for path in range(leaf_regions.shape[1]):
        region = leaf_regions[column, path]
        leaf = leaf_nodes[copy, turns[region]] - region * leaves
        if 0 <= leaf < leaves:
            return path * leaves + leaf
    return -1


@nb.njit(cache=True, forceinline=True, error_model="numpy")
def _add_few(totals, base, scaled, m, value, leaf_nodes, copy):
    """Add a cell's statistics to those of visited leaves, all slots of a leaf at once."""
    start = (m * scaled.shape[1] + value) * scaled.shape[2]
    first, count = copy * leaf_nodes.shape[1], leaf_nodes.shape[1]
    for visit in range(first, first + count):
        node = np.int64(vec.get(leaf_nodes, visit))
        vec.add_four(totals, base + FEW_SLOTS * node, scaled, start)


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _add_alone(codes, first, last, first_value, scaled, spans, base, few, totals, n_nodes, visits):
    """Add the cells of a column with one family."""
    several = visits.times.shape[0] > 0
    leaf, apart = (FEW_SLOTS, 1) if few else (1, n_nodes)
    for row in range(first, last):
        if codes[row] < 0:
            continue
        value = first_value + codes[row]
        for visit in range(visits.first[row], visits.first[row] + visits.count[row]):
            times = visits.times[visit] if several else 1
            node = base + leaf * np.int64(visits.nodes[visit])
            for slot in range(spans[value, 2], spans[value, 3]):
                totals[node + slot * apart] += times * scaled[value, slot]


@nb.njit(cache=True, nogil=True, error_model="numpy")
def part_slots(task, tasks, together, totals):
    """From totals of `FEW_SLOTS` side by side (members, leaf nodes, slots) to one array per slot.

    ``totals`` (members, slots, leaf nodes) receives them.
    """
    members, slots, nodes = totals.shape
    for member in range(task, members, tasks):
        for slot in range(slots):
            for node in range(nodes):
                totals[member, slot, node] = together[member, node, slot]
