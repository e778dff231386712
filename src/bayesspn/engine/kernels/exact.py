"""The slow, always right evaluation and draw of one row: double precision, log domain."""

from __future__ import annotations

import numba as nb
import numpy as np

#: exp(−60) times any number of edges does not change a double that is 1 or more.
_NOTHING = 60.0


@nb.njit(cache=True, nogil=True, error_model="numpy")
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


@nb.njit(cache=True, nogil=True, error_model="numpy")
def evaluate_row(values, leaf_log, log_weights, geometry):
    """Log values of all nodes into ``values``, level after level; returns the root's."""
    # taken out of the tuple once: see `upward`
    branching, products, nodes = geometry.branching, geometry.products, geometry.nodes
    regions, value_base, weight_base = geometry.regions, geometry.value_base, geometry.weight_base
    children, shared = geometry.children, geometry.shared
    levels = branching.shape[0]
    base, leaves = value_base[levels], nodes[levels]
    for region in range(regions[levels]):
        for i in range(leaves):
            values[base + region * leaves + i] = leaf_log[region, i]
    terms = np.empty((branching * products).max())
    for level in range(levels - 1, -1, -1):
        below, sums = nodes[level + 1], nodes[level]
        edges = branching[level] * products[level]
        for region in range(regions[level]):
            for j in range(branching[level]):
                child = value_base[level + 1] + (region * branching[level] + j) * children * below
                for e in range(products[level]):
                    value = product_value(values, child, below, children, shared, e)
                    terms[j * products[level] + e] = value
            for s in range(sums):
                start = weight_base[level] + (region * sums + s) * edges
                value = _add_terms(terms, log_weights, start, edges)
                values[value_base[level] + region * sums + s] = value
    return values[0]


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _add_terms(terms, log_weights, start, edges):
    """Log of Σ_e exp(log_weights[start + e] + terms[e])."""
    largest = -np.inf
    for e in range(edges):
        largest = max(largest, log_weights[start + e] + terms[e])
    if largest == -np.inf:
        return largest
    total = 0.0
    for e in range(edges):
        term = log_weights[start + e] + terms[e] - largest
        if term > -_NOTHING:
            total += np.exp(term)
    return largest + np.log(total)


@nb.njit(cache=True, nogil=True, error_model="numpy")
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
