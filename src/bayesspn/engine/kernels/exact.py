"""The slow, always right evaluation and draw of one row: double precision, log domain."""

from __future__ import annotations

import numba as nb
import numpy as np


@nb.njit(cache=True)
def product_value(values, child, nodes, children, shared, e):
    """Log value of product e of a partition whose children's nodes start at ``child``."""
    total = 0.0
    if shared:
        for c in range(children):
            total += values[child + c * nodes + e]
        return total
    for c in range(children - 1, -1, -1):
        total += values[child + c * nodes + e % nodes]
        e //= nodes
    return total


@nb.njit(cache=True)
def evaluate_row(values, leaf_log, log_weights, geometry):
    """Log values of all nodes into ``values``, level after level; returns the root's."""
    levels = geometry.branching.shape[0]
    base = geometry.value_base[levels]
    leaves = geometry.nodes[levels]
    for region in range(geometry.regions[levels]):
        for i in range(leaves):
            values[base + region * leaves + i] = leaf_log[region, i]
    for level in range(levels - 1, -1, -1):
        for region in range(geometry.regions[level]):
            for s in range(geometry.nodes[level]):
                values[geometry.value_base[level] + region * geometry.nodes[level] + s] = (
                    _sum_value(values, log_weights, geometry, level, region, s)
                )
    return values[0]


@nb.njit(cache=True)
def _sum_value(values, log_weights, geometry, level, region, s):
    branching = geometry.branching[level]
    products = geometry.products[level]
    nodes = geometry.nodes[level + 1]
    children = geometry.children
    start = geometry.weight_base[level]
    start += (region * geometry.nodes[level] + s) * branching * products
    largest = -np.inf
    total = 0.0
    for j in range(branching):
        child = geometry.value_base[level + 1] + (region * branching + j) * children * nodes
        for e in range(products):
            term = log_weights[start + j * products + e] + product_value(
                values, child, nodes, children, geometry.shared, e
            )
            if term > largest:
                total = total * np.exp(largest - term) + 1.0
                largest = term
            elif term > -np.inf:
                total += np.exp(term - largest)
    return largest + np.log(total) if total > 0.0 else -np.inf


@nb.njit(cache=True)
def draw_edge(values, log_weights, geometry, level, region, s, u):
    """Draw a child edge (partition · products + product) of a sum by inversion."""
    branching = geometry.branching[level]
    products = geometry.products[level]
    nodes = geometry.nodes[level + 1]
    children = geometry.children
    start = geometry.weight_base[level]
    start += (region * geometry.nodes[level] + s) * branching * products
    value = values[geometry.value_base[level] + region * geometry.nodes[level] + s]
    chosen = 0
    cumulative = 0.0
    for j in range(branching):
        child = geometry.value_base[level + 1] + (region * branching + j) * children * nodes
        for e in range(products):
            term = log_weights[start + j * products + e] + product_value(
                values, child, nodes, children, geometry.shared, e
            )
            if term > -np.inf:
                chosen = j * products + e
                cumulative += np.exp(term - value)
                if u < cumulative:
                    return chosen
    return chosen
