"""Visits of leaves for many rows under one network, compiled: what `passes` does, a row at a time.

Node values of a region are kept relative to a scale of their own. Rows for which that loses digits
are left to `passes`, which works with logarithms.
"""

from __future__ import annotations

from typing import Any

import numba as nb
import numpy as np
from numpy.typing import NDArray

from bayesspn.leaves.family import Array
from bayesspn.queries.networks import Networks
from bayesspn.queries.passes import evaluate, leaf_values

#: Relative values below this have lost digits, or are about to.
_SMALLEST = 1e-200

#: Regions that are visited with less probability are not followed.
_NEGLIGIBLE = 1e-18


@nb.njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def _fill_visits(leaves, scale, weights, levels, children, lost):  # type: ignore[no-untyped-def]
    """Turn relative leaf values (regions, rows, leaves) into visits, in place.

    ``scale`` (regions, rows) is the log of their unit, ``levels`` (levels, 3) has the regions, sums
    and partitions of every level, and ``weights`` those of all levels one after the other. Marks
    rows that lose digits.
    """
    n_levels = len(levels)
    width = leaves.shape[2]
    first_value, first_product = np.zeros(n_levels + 2, np.int64), np.zeros(n_levels + 1, np.int64)
    first_region, first_weight = np.zeros(n_levels + 2, np.int64), np.zeros(n_levels + 1, np.int64)
    below = np.empty(n_levels, np.int64)
    for level in range(n_levels):
        regions, sums, partitions = levels[level]
        below[level] = levels[level + 1, 1] if level + 1 < n_levels else width
        first_value[level + 1] = first_value[level] + regions * sums
        first_region[level + 1] = first_region[level] + regions
        products = regions * partitions * below[level]
        first_product[level + 1] = first_product[level] + products
        first_weight[level + 1] = first_weight[level] + products * sums
    first_value[-1] = first_value[-2] + leaves.shape[0] * width
    first_region[-1] = first_region[-2] + leaves.shape[0]
    value, visit = np.empty(first_value[-1]), np.empty(first_value[-1])
    product, unit = np.empty(first_product[-1]), np.empty(first_region[-1])
    for row in range(leaves.shape[1]):
        for region in range(leaves.shape[0]):
            unit[first_region[n_levels] + region] = scale[region, row]
            start = first_value[n_levels] + region * width
            value[start : start + width] = leaves[region, row]
        good = True
        for level in range(n_levels - 1, -1, -1):
            regions, sums, partitions = levels[level]
            nodes = below[level]
            for region in range(regions):
                top = -np.inf
                child = first_region[level + 1] + region * partitions * children
                for partition in range(partitions):
                    total = 0.0
                    for c in range(children):
                        total += unit[child + partition * children + c]
                    top = max(top, total)
                largest = 0.0
                out = first_product[level] + region * partitions * nodes
                start = first_value[level + 1] + region * partitions * children * nodes
                for partition in range(partitions):
                    total = -top
                    for c in range(children):
                        total += unit[child + partition * children + c]
                    factor = np.exp(total)
                    here, there = out + partition * nodes, start + partition * children * nodes
                    for k in range(nodes):
                        product[here + k] = factor * value[there + k]
                    for c in range(1, children):
                        for k in range(nodes):
                            product[here + k] *= value[there + c * nodes + k]
                    for k in range(nodes):
                        largest = max(largest, product[here + k])
                good = good and largest > _SMALLEST
                if not good:
                    break
                mine = first_value[level] + region * sums
                value[mine : mine + sums] = 0.0
                for k in range(partitions * nodes):
                    product[out + k] /= largest
                    factor = product[out + k]
                    if factor > 0.0:
                        edge = first_weight[level] + (region * partitions * nodes + k) * sums
                        for s in range(sums):
                            value[mine + s] += factor * weights[edge + s]
                for s in range(sums):
                    good = good and value[mine + s] > _SMALLEST
                unit[first_region[level] + region] = top + np.log(largest)
            if not good:
                break
        if not good:
            lost[row] = True
            continue
        visit[0] = 1.0
        for level in range(n_levels):
            regions, sums, partitions = levels[level]
            nodes = below[level]
            for region in range(regions):
                mine = first_value[level] + region * sums
                total = 0.0
                for s in range(sums):
                    total += visit[mine + s]
                    visit[mine + s] /= value[mine + s]
                out = first_product[level] + region * partitions * nodes
                start = first_value[level + 1] + region * partitions * children * nodes
                for partition in range(partitions):
                    there = start + partition * children * nodes
                    for k in range(nodes):
                        chosen = 0.0
                        factor = product[out + partition * nodes + k]
                        if factor > 0.0 and total > _NEGLIGIBLE:
                            edge = partition * nodes + k + region * partitions * nodes
                            edge = first_weight[level] + edge * sums
                            for s in range(sums):
                                chosen += visit[mine + s] * weights[edge + s]
                        for c in range(children):
                            visit[there + c * nodes + k] = factor * chosen
        for region in range(leaves.shape[0]):
            start = first_value[n_levels] + region * width
            leaves[region, row] = visit[start : start + width]


def visit_leaves(network: Networks, X: Array) -> Array:
    """Probability that a leaf is visited given the observed cells of a row, under one network.

    Parameters
    ----------
    network : Networks
        Of one draw.
    X : ndarray of shape (rows, columns)
        NaN where a cell is unknown.

    Returns
    -------
    ndarray of shape (leaf regions, rows, leaves)
        Zeros for rows that are impossible.
    """
    graph = network.graph
    if graph.products != "shared" or not graph.levels:
        return evaluate(network, X).visits()[0]
    leaves = leaf_values(network, X)[0]
    scale = leaves.max(axis=-1)
    scale[np.isneginf(scale)] = 0.0
    leaves -= scale[..., None]
    np.exp(leaves, out=leaves)
    lost = np.zeros(len(X), dtype=np.bool_)
    shape: list[Any] = [graph.regions[:-1], graph.nodes[:-1], graph.branching]
    levels = np.stack([np.asarray(part, dtype=np.int64) for part in shape], axis=-1)
    _fill_visits(leaves, scale, _flat_weights(network), levels, graph.children, lost)
    if lost.any():
        leaves[:, lost] = evaluate(network, X[lost]).visits()[0]
    return leaves


def _flat_weights(network: Networks) -> NDArray[np.float64]:
    return np.concatenate([level.ravel() for level in network.weights])
