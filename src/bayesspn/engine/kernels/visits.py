"""Upward and downward passes of single rows: with which probability leaves of a column are visited.

In double precision. The values of a region's nodes are kept on a scale on which the largest is 1,
so that the passes multiply and add; a downward pass carries derivatives of the root, and goes along
the regions that the column reaches only. What falls below the smallest double is lost, and a bound
on what that can cost is carried upwards, as in `upward`: a row whose bound at the root is not
negligible is evaluated again in the log domain.
"""

from __future__ import annotations

from typing import NamedTuple

import numba as nb
import numpy as np

from bayesspn.engine.kernels import exact
from bayesspn.engine.kernels.vectors import flush_denormals, restore_denormals

#: Leaves below this share of the largest in their region are dropped, natural logarithm.
_DROPPED = -690.0

#: More than a region loses by that, and by products that vanish.
_LOST = 1e-299

#: Share of a row's density that may be lost.
_TOLERANCE = 1e-13


class Cells(NamedTuple):
    """What is known of rows: numbers of cells, and log densities of the leaves by these numbers."""

    numbers: np.ndarray  # int32 (rows, columns), −1 where nothing is known
    logs: np.ndarray  # float64 (numbers, paths, leaves)
    leaf_regions: np.ndarray  # int32 (columns, paths)


class SumWeights(NamedTuple):
    """Weights of one draw in the orders in which they are read, level after level."""

    up: np.ndarray  # float64, (region, partition, product, sum)
    down: np.ndarray  # float64, (region, sum, partition, product)
    log: np.ndarray  # float64, in the order of ``down``


class Passed(NamedTuple):
    """Arrays of one thread: what a row's passes leave behind."""

    leaf_log: np.ndarray  # (leaf regions, leaves)
    values: np.ndarray  # (nodes,) on their regions' scales, or logarithms
    scales: np.ndarray  # (regions,) logarithms; −inf where nothing is possible
    lacks: np.ndarray  # (regions,) what a node's value may lack
    largest: np.ndarray  # (regions,) sum, before it became 1
    shares: np.ndarray  # (partitions,) scale of a partition, as a share of its region's
    slopes: np.ndarray  # (nodes,) derivatives of the root, or probabilities of visits
    products: np.ndarray  # (most products of a region,)
    before: np.ndarray  # (most products of a partition,)
    after: np.ndarray  # (most products of a partition,)


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _make_arrays(geometry):
    levels = geometry.branching.shape[0]
    nodes = geometry.value_base[levels] + geometry.regions[levels] * geometry.nodes[levels]
    regions = geometry.regions.sum()
    each = geometry.products.max()
    return Passed(
        np.empty((geometry.regions[levels], geometry.nodes[levels])),
        np.empty(nodes),
        np.empty(regions),
        np.empty(regions),
        np.empty(regions),
        np.empty((geometry.regions[:-1] * geometry.branching).sum()),
        np.empty(nodes),
        np.empty((geometry.branching * geometry.products).max()),
        np.empty(each),
        np.empty(each),
    )


@nb.njit(cache=True, nogil=True, error_model="numpy")
def visit_leaves(task, tasks, geometry, cells, weights, on_path, regions, visits, scores):
    """Probabilities that the leaves of some regions are visited, given what is known of rows.

    Parameters
    ----------
    task, tasks : int
        Of so many tasks, which run side by side and share the rows, this one.
    geometry : Geometry
    cells : Cells
    weights : SumWeights
    on_path : bool array of shape (regions,)
        Regions of all levels that are among ``regions``, or above one of them.
    regions : int32 array of shape (paths,)
        Leaf regions.
    visits : float64 array of shape (rows, paths × leaves)
        Receives the probabilities; zeros for rows that are impossible.
    scores : float64 array of shape (rows,)
        Receives log densities.
    """
    before = flush_denormals()
    arrays = _make_arrays(geometry)
    rows = scores.shape[0]
    first, last = rows * task // tasks, rows * (task + 1) // tasks
    _visit_rows(first, last, arrays, geometry, cells, weights, on_path, regions, visits, scores)
    restore_denormals(before)


# on its own: where the arrays are made, the compiler does not know that they never change
@nb.njit(cache=True, nogil=True, error_model="numpy")
def _visit_rows(
    first_row, last_row, arrays, geometry, cells, weights, on_path, regions, visits, scores
):
    """Rows from ``first_row`` to before ``last_row``."""
    levels = geometry.branching.shape[0]
    leaves, base = geometry.nodes[levels], geometry.value_base[levels]
    values, slopes = arrays.values, arrays.slopes
    for row in range(first_row, last_row):
        _add_cells(arrays.leaf_log, cells, row)
        scaled = _evaluate_scaled(arrays, geometry, weights.up)
        if scaled:
            score = arrays.scales[0]
        else:
            score = exact.evaluate_row(values, arrays.leaf_log, weights.log, geometry)
        scores[row] = score
        if score == -np.inf:
            visits[row] = 0.0
            continue
        _descend(arrays, geometry, weights, on_path, scaled)
        for q in range(regions.shape[0]):
            first = base + regions[q] * leaves
            for i in range(leaves):
                value = values[first + i] if scaled else 1.0
                visits[row, q * leaves + i] = slopes[first + i] * value


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _add_cells(leaf_log, cells, row):
    """Log values of all leaves for a row."""
    numbers, logs, leaf_regions = cells.numbers, cells.logs, cells.leaf_regions
    leaf_log[:] = 0.0
    for column in range(numbers.shape[1]):
        number = numbers[row, column]
        if number >= 0:
            for q in range(leaf_regions.shape[1]):
                region = leaf_regions[column, q]
                for i in range(leaf_log.shape[1]):
                    leaf_log[region, i] += logs[number, q, i]


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _evaluate_scaled(arrays, geometry, weights):
    """Values of all nodes, on scales; whether they can be relied upon."""
    # taken out of the tuple once: see `upward`
    values, scales, lacks = arrays.values, arrays.scales, arrays.lacks
    leaf_log = arrays.leaf_log
    levels = geometry.branching.shape[0]
    leaves, base = geometry.nodes[levels], geometry.value_base[levels]
    for region in range(geometry.regions[levels]):
        number = geometry.region_base[levels] + region
        scales[number] = _scale_leaves(values, base + region * leaves, leaf_log, region)
        lacks[number] = _LOST
    shares, largest, products = arrays.shares, arrays.largest, arrays.products
    children, shared = geometry.children, geometry.shared
    first_partition = shares.shape[0]
    for level in range(levels - 1, -1, -1):
        branching, each = geometry.branching[level], geometry.products[level]
        sums, nodes = geometry.nodes[level], geometry.nodes[level + 1]
        value_base, child_base = geometry.value_base[level], geometry.value_base[level + 1]
        region_base, below_base = geometry.region_base[level], geometry.region_base[level + 1]
        weight_base, edges = geometry.weight_base[level], branching * each
        regions = geometry.regions[level]
        first_partition -= regions * branching
        for region in range(regions):
            first, below = value_base + region * sums, region * branching * children
            partition, number = first_partition + region * branching, region_base + region
            top = _share_scales(shares, partition, branching, scales, below_base + below, children)
            lost = _lose(shares, partition, branching, lacks, below_base + below, children)
            if lost < 0.0:
                return False
            _fill_products(
                products, shares, partition, branching, each, values, child_base + below * nodes,
                nodes, children, shared,
            )  # fmt: skip
            most = _add_weighted(
                values, first, sums, products, edges, weights, weight_base + region * sums * edges
            )
            largest[number] = most
            scales[number] = top + np.log(most)
            lacks[number] = (lost + _LOST) / most
    return scales[0] == -np.inf or lacks[0] < _TOLERANCE * values[0]


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _scale_leaves(values, first, logs, region):
    """Write exp(logs) on a scale, whose logarithm is returned."""
    top = -np.inf
    for i in range(logs.shape[1]):
        top = max(top, logs[region, i])
    for i in range(logs.shape[1]):
        below = logs[region, i] - top  # NaN if nothing is possible
        values[first + i] = np.exp(below) if below > _DROPPED else 0.0
    return top


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _share_scales(shares, partition, branching, scales, child, children):
    """Scales of a region's partitions as shares of the largest, whose logarithm is returned."""
    top = -np.inf
    for j in range(branching):
        scale = 0.0
        for c in range(children):
            scale += scales[child + j * children + c]
        shares[partition + j] = scale
        top = max(top, scale)
    for j in range(branching):
        below = shares[partition + j] - top  # NaN if nothing is possible
        shares[partition + j] = np.exp(below) if below > _DROPPED else 0.0
    return top


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _lose(shares, partition, branching, lacks, child, children):
    """What products of a region may lack, or −1 if it has no bound."""
    lost = 0.0
    for j in range(branching):
        lack = 0.0
        for c in range(children):
            lack += lacks[child + j * children + c]
        if not lack < 1.0:
            return -1.0
        # values are at most 1, so that a product lacks at most Π (1 + lack) − 1
        lost = max(lost, shares[partition + j] * lack / (1.0 - lack))
    return lost


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _fill_products(
    products, shares, partition, branching, each, values, child, nodes, children, shared
):
    """Products of a region, on the scale of the largest partition."""
    for j in range(branching):
        share, at = shares[partition + j], child + j * children * nodes
        if shared:
            for e in range(each):
                products[j * each + e] = share * values[at + e]
            for c in range(1, children):
                for e in range(each):
                    products[j * each + e] *= values[at + c * nodes + e]
        else:
            _multiply(products, j * each, share, values, at, nodes, 0, children)


@nb.njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract"})
def _add_weighted(values, first, sums, products, edges, weights, start):
    """Sums of weighted products, divided by the largest, which is returned."""
    if sums == 1:
        total = 0.0
        for e in range(edges):
            total += weights[start + e] * products[e]
        values[first] = total
    else:
        for s in range(sums):
            values[first + s] = 0.0
        # four at a time: sums are read and written less often
        for e in range(0, edges - edges % 4, 4):
            a, b, c, d = products[e], products[e + 1], products[e + 2], products[e + 3]
            at = start + e * sums
            for s in range(sums):
                values[first + s] += (
                    a * weights[at + s]
                    + b * weights[at + sums + s]
                    + c * weights[at + 2 * sums + s]
                    + d * weights[at + 3 * sums + s]
                )
        for e in range(edges - edges % 4, edges):
            for s in range(sums):
                values[first + s] += products[e] * weights[start + e * sums + s]
    most = 0.0
    for s in range(sums):
        most = max(most, values[first + s])
    most = most if most > 0.0 else 1.0
    for s in range(sums):
        values[first + s] /= most
    return most


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _multiply(out, at, factor, values, child, nodes, first, last):
    """Products of all tuples of nodes of the children from ``first`` to before ``last``."""
    out[at] = factor
    count = 1
    for c in range(first, last):
        # from the end, as the tuples of fewer children are overwritten
        for b in range(count - 1, -1, -1):
            factor = out[at + b]
            for k in range(nodes - 1, -1, -1):
                out[at + b * nodes + k] = factor * values[child + c * nodes + k]
        count *= nodes
    return count


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _descend(arrays, geometry, weights, on_path, scaled):
    """From the root to the leaves on the paths: derivatives, or visits if values are logarithms."""
    slopes = arrays.slopes
    slopes[0] = 1.0
    partition = 0
    for level in range(geometry.branching.shape[0]):
        branching = geometry.branching[level]
        for region in range(geometry.regions[level]):
            if on_path[geometry.region_base[level] + region]:
                if scaled:
                    _slope_products(arrays, geometry, weights.down, level, region)
                else:
                    _choose_products(arrays, geometry, weights.log, level, region)
                for j in range(branching):
                    share = arrays.shares[partition + j] if scaled else 1.0
                    _slope_children(arrays, geometry, level, region, j, on_path, scaled, share)
            partition += branching


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _slope_products(arrays, geometry, weights, level, region):
    """Derivatives of the root by the products of a region."""
    products, slopes = arrays.products, arrays.slopes
    sums, edges = geometry.nodes[level], geometry.branching[level] * geometry.products[level]
    products[:edges] = 0.0
    most = arrays.largest[geometry.region_base[level] + region]
    for s in range(sums):
        slope = slopes[geometry.value_base[level] + region * sums + s] / most
        start = geometry.weight_base[level] + (region * sums + s) * edges
        if slope > 0.0:
            for e in range(edges):
                products[e] += slope * weights[start + e]


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _choose_products(arrays, geometry, log_weights, level, region):
    """Probabilities that the products of a region are chosen, in the log domain."""
    values, products = arrays.values, arrays.products
    sums, each, nodes = geometry.nodes[level], geometry.products[level], geometry.nodes[level + 1]
    branching, children = geometry.branching[level], geometry.children
    edges = branching * each
    for e in range(edges):
        below = (region * branching + e // each) * children * nodes
        child = geometry.value_base[level + 1] + below
        term = exact.product_value(values, child, nodes, children, geometry.shared, e % each)
        chosen = 0.0
        for s in range(sums):
            node = geometry.value_base[level] + region * sums + s
            weight = log_weights[geometry.weight_base[level] + (region * sums + s) * edges + e]
            if arrays.slopes[node] > 0.0 and term > -np.inf and weight > -np.inf:
                chosen += arrays.slopes[node] * np.exp(weight + term - values[node])
        products[e] = chosen


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _slope_children(arrays, geometry, level, region, j, on_path, scaled, share):
    """From the products of a partition to the nodes of its children on the paths.

    Derivatives by products become derivatives by nodes: times the values of the other children,
    which are left out if products have probabilities already.
    """
    values, before, after = arrays.values, arrays.before, arrays.after
    nodes, children = geometry.nodes[level + 1], geometry.children
    below = (region * geometry.branching[level] + j) * children
    child = geometry.value_base[level + 1] + below * nodes
    first = j * geometry.products[level]
    for c in range(children):
        if not on_path[geometry.region_base[level + 1] + below + c]:
            continue
        if geometry.shared:
            for k in range(nodes):
                rest = share
                for other in range(children):
                    if scaled and other != c:
                        rest *= values[child + other * nodes + k]
                arrays.slopes[child + c * nodes + k] = rest * arrays.products[first + k]
        else:
            n_before = _multiply(before, 0, share, values, child, nodes, 0, c)
            n_after = _multiply(after, 0, 1.0, values, child, nodes, c + 1, children)
            if not scaled:
                before[:n_before] = 1.0
                after[:n_after] = 1.0
            _add_tuples(arrays, child + c * nodes, first, nodes, n_before, n_after)


@nb.njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract"})
def _add_tuples(arrays, target, first, nodes, n_before, n_after):
    """Sum products, times factors of the children before and after one, by the node of that."""
    products, before, after, slopes = arrays.products, arrays.before, arrays.after, arrays.slopes
    for k in range(nodes):
        slopes[target + k] = 0.0
    for b in range(n_before):
        for k in range(nodes):
            start = first + (b * nodes + k) * n_after
            total = 0.0
            for a in range(n_after):
                total += products[start + a] * after[a]
            slopes[target + k] += before[b] * total
