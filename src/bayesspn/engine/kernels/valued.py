"""Columns whose leaves are not plain categories: log densities of values, and their statistics.

A leaf of such a column is a mixture over likelihood families. Every (column, family) pair is a
*member*, of one of the forms below, with an array of parameters (parameters, paths × leaves): the
first is a constant that is added, log mixing weight included. All logarithms are binary.

========= =========================================== ===============================
form      log density of a value                      parameters after the first
========= =========================================== ===============================
NATURAL   h + Σ_t T_t η_t                             η_1, η_2, …
STUDENT   h − e log₂(b + c (T_1 − m)²) + limit        m, c, b, e, limit
LOMAX     h − e log₂(b + T_1) + limit                 b, e, limit
NEGATIVE  negative binomial mass of a count T_1       a, log₂(1 + 1/b), log₂(1 + b)
BETA      geometric mass of T_1 with a beta prior     a, b
========= =========================================== ===============================

h is the log base measure of the value, and T are its statistics.
"""
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import math

import numba as nb
import numpy as np

from bayesspn.engine.kernels import vectors as vec
from bayesspn.engine.kernels.leaf_values import exp2
from bayesspn.engine.kernels.vectors import LANES
from bayesspn.numerics.random_numbers import fill_uniforms
from bayesspn.numerics.special_functions import (
    log_gamma_scalar,
    log_gammainc_scalar,
    log_rising_scalar,
)

NATURAL, STUDENT, LOMAX, NEGATIVE, BETA = 0, 1, 2, 3, 4

_LOG2E = 1.4426950408889634
_TWO_LOG2E = 2.885390081777927

#: Bits of a double: where its exponent begins, and what √2 has for a mantissa.
_EXPONENT = np.int64(52)
_ONE = np.int64(0x3FF0000000000000)
_ROOT = np.int64(0x3FE6A09E667F3BCD)  # √½
_MANTISSA = np.int64(0x000FFFFFFFFFFFFF)


@nb.njit(cache=True, forceinline=True)
def _log2_one_plus(x):
    """log₂(1 + x) for x in [0, 1], to single precision: a series in x / (2 + x)."""
    t = vec.divide(x, vec.add(x, vec.splat(np.float32(2.0))))
    square = vec.multiply(t, t)
    series = vec.splat(np.float32(_TWO_LOG2E / 13.0))
    series = vec.multiply_add(series, square, vec.splat(np.float32(_TWO_LOG2E / 11.0)))
    series = vec.multiply_add(series, square, vec.splat(np.float32(_TWO_LOG2E / 9.0)))
    series = vec.multiply_add(series, square, vec.splat(np.float32(_TWO_LOG2E / 7.0)))
    series = vec.multiply_add(series, square, vec.splat(np.float32(_TWO_LOG2E / 5.0)))
    series = vec.multiply_add(series, square, vec.splat(np.float32(_TWO_LOG2E / 3.0)))
    series = vec.multiply_add(series, square, vec.splat(np.float32(_TWO_LOG2E)))
    return vec.multiply(series, t)


@nb.njit(cache=True, forceinline=True)
def _add_exponentials(total, other, gap, size):
    """Replace ``total`` by log₂(2^total + 2^other); ``gap`` is as long as full vectors are."""
    for i in range(size):
        gap[i] = -abs(total[i] - other[i])
        total[i] = max(total[i], other[i])
    for strip in range(0, size, LANES):
        vec.store(gap, strip, _log2_one_plus(exp2(vec.load(gap, strip))))
    for i in range(size):
        total[i] += gap[i]


@nb.njit(cache=True)
def _replace_by_log2(x, bits, size):
    """Binary logarithms of positive normal numbers, to ten digits; ``bits`` are those of ``x``.

    The series of the inverse hyperbolic tangent, after numbers were brought between √½ and √2.
    """
    for i in range(size):
        exponent = (bits[i] - _ROOT) >> _EXPONENT
        bits[i] = bits[i] - (exponent << _EXPONENT)
        t = (x[i] - 1.0) / (x[i] + 1.0)
        square = t * t
        series = 1.0 / 13.0
        series = series * square + 1.0 / 11.0
        series = series * square + 1.0 / 9.0
        series = series * square + 1.0 / 7.0
        series = series * square + 1.0 / 5.0
        series = series * square + 1.0 / 3.0
        series = series * square + 1.0
        x[i] = _TWO_LOG2E * t * series + np.float64(exponent)


@nb.njit(cache=True)
def _fill_natural(out, parameters, log_base, statistics, size):
    for i in range(size):
        out[i] = parameters[0, i] + log_base
    for t in range(statistics.shape[0]):
        x = statistics[t]
        if x != 0.0:
            for i in range(size):
                out[i] += x * parameters[1 + t, i]


@nb.njit(cache=True)
def _add_limits(out, inner, parameters, power, limit, size):
    """What upper limits on precisions add, to leaves that feel them."""
    for i in range(size):
        a, x = parameters[power, i], inner[i] * parameters[limit, i]
        if x < a + 12.0 * math.sqrt(a) + 60.0:
            out[i] += _LOG2E * log_gammainc_scalar(a, x)


@nb.njit(cache=True)
def _fill_student(out, parameters, log_base, x, inner, logs, bits, size):
    limited = False
    for i in range(size):
        distance = x - parameters[1, i]
        inner[i] = parameters[3, i] + parameters[2, i] * distance * distance
        logs[i] = inner[i]
        limited |= parameters[5, i] < np.inf
    _replace_by_log2(logs, bits, size)
    for i in range(size):
        out[i] = parameters[0, i] + log_base - parameters[4, i] * logs[i]
    if limited:
        _add_limits(out, inner, parameters, 4, 5, size)


@nb.njit(cache=True)
def _fill_lomax(out, parameters, log_base, x, inner, logs, bits, size):
    limited = False
    for i in range(size):
        inner[i] = parameters[1, i] + x
        logs[i] = inner[i]
        limited |= parameters[3, i] < np.inf
    _replace_by_log2(logs, bits, size)
    for i in range(size):
        out[i] = parameters[0, i] + log_base - parameters[2, i] * logs[i]
    if limited:
        _add_limits(out, inner, parameters, 2, 3, size)


@nb.njit(cache=True)
def _fill_counts(form, out, parameters, x, size):
    """Masses of a count with a gamma or a beta prior, as quotients that keep their digits."""
    for i in range(size):
        a, b = parameters[1, i], parameters[2, i]
        if form == NEGATIVE:
            mass = log_rising_scalar(x + 1.0, a) - math.log(x + a) - log_gamma_scalar(a)
            out[i] = parameters[0, i] + _LOG2E * mass - a * b - x * parameters[3, i]
        else:
            mass = math.log(a) + log_rising_scalar(b, x) - log_rising_scalar(a + b, x + 1.0)
            out[i] = parameters[0, i] + _LOG2E * mass


@nb.njit(cache=True)
def _fill_member(form, out, parameters, features, power, inner, logs, bits, size):
    log_base = power * features[0]
    if form == NATURAL:
        _fill_natural(out, parameters, log_base, features[1:], size)
    elif form == STUDENT:
        _fill_student(out, parameters, log_base, features[1], inner, logs, bits, size)
    elif form == LOMAX:
        _fill_lomax(out, parameters, log_base, features[1], inner, logs, bits, size)
    else:
        _fill_counts(form, out, parameters, features[1], size)


@nb.njit(cache=True, nogil=True)
def fill_leaf_logs(
    task, tasks, first_value, first_member, targets, features, forms, parameters, power, leaves, out
):
    """Log densities of values under all leaves of their columns.

    Parameters
    ----------
    task, tasks : int
        Of so many tasks, which run side by side and share the values, this one.
    first_value, first_member : int64 arrays of shape (columns + 1,)
        Values and members of every column.
    targets : int64 array of shape (values,)
        Where results go.
    features : float64 array of shape (families, values, 1 + statistics)
        Log base measure, −inf off the support, NaN for missing values; then T.
    forms : int64 array of shape (members,)
    parameters : float64 array of shape (members, parameters, paths × leaves)
    power : float
        To which densities are raised; parameters are already.
    leaves : int
        Leaves per region.
    out : array of shape (targets, paths, at least leaves)
        Receives the result: 0 for missing values, −inf off all supports.
    """
    size = parameters.shape[2]
    padded = LANES * (-(-size // LANES))
    total, other, inner, logs = np.empty(size), np.empty(size), np.empty(size), np.empty(size)
    bits = logs.view(np.int64)
    gap = np.zeros(padded, dtype=np.float32)
    paths = size // leaves
    for column in range(first_value.shape[0] - 1):
        begin, count = first_value[column], first_value[column + 1] - first_value[column]
        members = first_member[column + 1] - first_member[column]
        for value in range(begin + task * count // tasks, begin + (task + 1) * count // tasks):
            target = out[targets[value]]
            if np.isnan(features[0, value, 0]):
                target[:] = 0.0
                continue
            found = False
            for m in range(members):
                if features[m, value, 0] == -np.inf:
                    continue
                member = first_member[column] + m
                part = other if found else total
                _fill_member(
                    forms[member], part, parameters[member], features[m, value], power, inner,
                    logs, bits, size,
                )  # fmt: skip
                if found:
                    _add_exponentials(total, other, gap, size)
                found = True
            if not found:
                total[:] = -np.inf
            for q in range(paths):
                for i in range(leaves):
                    target[q, i] = total[q * leaves + i]


@nb.njit(cache=True, forceinline=True)
def find_leaf(edges, copy, geometry, y, y_base, column, n_columns):
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
def choose_family(logs, families, u):
    """Draw a family in proportion to 2^logs."""
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


@nb.njit(cache=True, nogil=True)
def add_statistics(
    task, tasks, columns, codes, first_value, first_member, features, parameters, power, leaves,
    scaled, slots, first_total, totals, edges, leaf_nodes, n_nodes, geometry, y, y_base, n_columns,
    copy_start, copy_ids, visits, key, sweep, first_slot,
):  # fmt: skip
    """Draw the families of mixed columns' cells, and add cells to the leaves their rows visit.

    Parameters
    ----------
    task, tasks : int
        Of so many tasks, which run side by side and share the columns, this one.
    columns : int64 array of shape (columns,)
        Numbers of the columns in the table.
    codes : int32 array of shape (columns, rows)
        Values of the block's rows, counted within the column; −1 where missing.
    scaled : int64 array of shape (families, values, slots)
        Integer statistics.
    slots, first_total : int64 arrays of shape (members,)
        Statistics of a member, and where its totals (slots, leaf nodes) begin.
    totals : int64 array
        Added to.
    edges, leaf_nodes : int32 arrays of shape (copies, visited sums), (copies, visited leaves)
    n_nodes : int
        Leaf nodes of all regions.
    y, y_base : int8 array, int64 array of shape (levels,)
        The scope's child choices, flattened level after level.
    visits : Visits
        What the copies of every row visit, for columns with one family.
    first_slot : int
        Slot of the first column's uniform.

    The rest is as in `fill_leaf_logs`.
    """
    uniform, logs = np.empty(1), np.empty(features.shape[0])
    rows = copy_start.shape[0] - 1
    several = visits.times.shape[0] > 0
    for k in range(task, columns.shape[0], tasks):
        member, families = first_member[k], first_member[k + 1] - first_member[k]
        for row in range(rows):
            if codes[k, row] < 0:
                continue
            value = first_value[k] + codes[k, row]
            if families == 1:
                first = first_total[member]
                for visit in range(visits.first[row], visits.first[row] + visits.count[row]):
                    times = visits.times[visit] if several else 1
                    node = visits.nodes[visit]
                    for slot in range(slots[member]):
                        totals[first + slot * n_nodes + node] += times * scaled[0, value, slot]
                continue
            for copy in range(copy_start[row], copy_start[row + 1]):
                path, leaf = find_leaf(edges, copy, geometry, y, y_base, columns[k], n_columns)
                at = path * leaves + leaf
                for m in range(families):
                    logs[m] = parameters[member + m, 0, at] + power * features[m, value, 0]
                    for t in range(1, features.shape[2]):
                        logs[m] += features[m, value, t] * parameters[member + m, t, at]
                slot = first_slot + columns[k]
                fill_uniforms(uniform, copy_ids[copy], sweep, key[0], key[1], slot, slot + 1)
                m = choose_family(logs, families, uniform[0])
                first = first_total[member + m]
                for leaf in range(leaf_nodes.shape[1]):
                    node = leaf_nodes[copy, leaf]
                    for slot in range(slots[member + m]):
                        totals[first + slot * n_nodes + node] += scaled[m, value, slot]
