"""The move y | z, s, x with θ, ω and v integrated out: each column's whole path set at once."""
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from typing import Any

import numba as nb
import numpy as np
from numpy.typing import NDArray

from bayesspn.arrays import Array
from bayesspn.engine.kernels.marginals import categorical_log_marginals
from bayesspn.engine.row_sums import RowSums
from bayesspn.inference.state import (
    counts_and_totals,
    family_counts,
    mixing_concentration,
    unscale,
)
from bayesspn.model.generative import Hyper
from bayesspn.numerics.special_functions import log_rising
from bayesspn.numerics.threads import run_tasks
from bayesspn.rows.codebook import Codebook
from bayesspn.scopes import Scope

#: Columns of a group whose evidence is computed together, to bound memory.
_CHUNK_CELLS = 2_000_000


def region_log_marginals(
    codebook: Codebook, hyper: Hyper, sums: RowSums, power: float = 1.0
) -> Array:
    """Log marginal likelihood m[R, d] of each column in each leaf region, in scope or not.

    With a ``power``, densities of cells are raised to it.

    Returns
    -------
    ndarray of shape (columns, leaf regions)
    """
    leaves = codebook.leaves
    regions = sums.statistics[0].shape[2]
    evidence = np.zeros((len(leaves.columns), regions))
    for g, group in enumerate(leaves.groups):
        prior = group.hyper(hyper.phi[g])
        if group.family.one_hot and power == 1.0:
            marginal = np.empty((len(group), regions))
            run_tasks(
                categorical_log_marginals, len(group), marginal, prior[:, 0, 0], sums.statistics[g]
            )
            evidence[group.columns] += marginal
            continue
        chunk = max(1, _CHUNK_CELLS // sums.statistics[g][0].size)
        for start in range(0, len(group), chunk):
            members = slice(start, start + chunk)
            slots = _unscaled(codebook, g, sums)[members]
            n, totals = counts_and_totals(group, slots, power)
            marginal = group.family.log_marginal(prior[members], n, totals).sum(axis=2)
            evidence[group.columns[members]] += marginal
    if leaves.mixed.size:
        evidence[leaves.mixed] += _mixing_log_marginals(codebook, hyper, sums)
    return evidence


def _unscaled(codebook: Codebook, g: int, sums: RowSums) -> NDArray[Any]:
    """Statistics of a group for every leaf region; shape (g, leaf regions, leaves, slots)."""
    return unscale(codebook, g, np.moveaxis(sums.statistics[g], 1, 3))


def _mixing_log_marginals(codebook: Codebook, hyper: Hyper, sums: RowSums) -> Array:
    leaves = codebook.leaves
    statistics = tuple(_unscaled(codebook, g, sums) for g in range(len(leaves.groups)))
    counts = family_counts(leaves, statistics)
    return log_dirichlet_multinomial(mixing_concentration(leaves, hyper.mixing), counts).sum(axis=2)


def log_dirichlet_multinomial(concentration: Array, counts: Array) -> Array:
    """Log evidence of counts (k, models, ...) under Dirichlet (k, models); shape (k, ...)."""
    shape = (*concentration.shape, *(1,) * (counts.ndim - 2))
    total = concentration.sum(axis=1).reshape(shape[:1] + shape[2:])
    return log_rising(concentration.reshape(shape), counts).sum(axis=1) - log_rising(
        total, counts.sum(axis=1)
    )


def draw_scopes(rng: np.random.Generator, scope: Scope, evidence: Array, beta: float) -> Scope:
    """Draw y, one column after the other in random order.

    Parameters
    ----------
    rng : numpy.random.Generator
    scope : Scope
        The current scope; partitions that a column does not reach keep their entries.
    evidence : ndarray of shape (columns, leaf regions)
        From `region_log_marginals`.
    beta : float
    """
    graph = scope.graph
    reached = 0
    paths = 1
    for branching in graph.branching:
        paths *= branching
        reached += paths
    columns = scope.n_dimensions
    y = np.concatenate([choice.ravel() for choice in scope.y])
    counts = np.concatenate(scope.partition_counts()).astype(np.float64)
    _draw_paths(
        y,
        counts,
        np.array(graph.branching),
        np.array(graph.regions),
        evidence,
        beta,
        rng.permutation(columns),
        rng.random((columns, reached)),
    )
    sizes = [choice.size for choice in scope.y]
    parts = np.split(y, np.cumsum(sizes)[:-1])
    return Scope(graph, tuple(part.reshape(-1, columns) for part in parts))


@nb.njit(cache=True)
def _draw_paths(y, counts, branching, regions, evidence, beta, order, uniforms):
    """Update y (partitions of all levels × columns, flat) and counts (partitions, children)."""
    levels = branching.shape[0]
    columns = evidence.shape[0]
    children = counts.shape[1]
    first_partition = np.zeros(levels + 1, dtype=np.int64)
    first_region = np.zeros(levels + 2, dtype=np.int64)
    for level in range(levels):
        first_partition[level + 1] = first_partition[level] + regions[level] * branching[level]
        first_region[level + 1] = first_region[level] + regions[level]
    up = np.empty(first_region[levels] + regions[levels])
    paths = 1
    for level in range(levels):
        paths *= branching[level]
    here = np.zeros(paths, dtype=np.int64)
    below = np.zeros(paths, dtype=np.int64)
    for d in order:
        _move_counts(y, counts, branching, first_partition, d, columns, children, here, below, -1.0)
        for region in range(regions[levels]):
            up[first_region[levels] + region] = evidence[d, region]
        for level in range(levels - 1, -1, -1):
            for region in range(regions[level]):
                total = 0.0
                for j in range(branching[level]):
                    partition = region * branching[level] + j
                    total += _log_choice(
                        counts, first_partition[level] + partition, beta,
                        up, first_region[level + 1] + partition * children, children,
                    )  # fmt: skip
                up[first_region[level] + region] = total
        here[0] = 0
        width = 1
        used = 0
        for level in range(levels):
            for k in range(width):
                for j in range(branching[level]):
                    partition = here[k] * branching[level] + j
                    row = first_partition[level] + partition
                    child = _draw_child(
                        counts, row, beta, up, first_region[level + 1] + partition * children,
                        children, uniforms[d, used],
                    )  # fmt: skip
                    used += 1
                    y[row * columns + d] = child
                    below[k * branching[level] + j] = partition * children + child
            width *= branching[level]
            here[:width] = below[:width]
        _move_counts(y, counts, branching, first_partition, d, columns, children, here, below, 1.0)


@nb.njit(cache=True)
def _move_counts(y, counts, branching, first_partition, d, columns, children, here, below, change):
    """Add ``change`` to the counts of every choice on the current paths of column d."""
    here[0] = 0
    width = 1
    for level in range(branching.shape[0]):
        for k in range(width):
            for j in range(branching[level]):
                partition = here[k] * branching[level] + j
                row = first_partition[level] + partition
                child = y[row * columns + d]
                counts[row, child] += change
                below[k * branching[level] + j] = partition * children + child
        width *= branching[level]
        here[:width] = below[:width]


@nb.njit(cache=True)
def _log_choice(counts, row, beta, up, child, children):
    """Log Σ_k π[P, k] exp f(R_k)."""
    total = 0.0
    largest = up[child]
    for k in range(children):
        total += beta + counts[row, k]
        largest = max(largest, up[child + k])
    value = 0.0
    for k in range(children):
        value += (beta + counts[row, k]) / total * np.exp(up[child + k] - largest)
    return largest + np.log(value)


@nb.njit(cache=True)
def _draw_child(counts, row, beta, up, child, children, u):
    """Draw k with probability proportional to π[P, k] exp f(R_k)."""
    largest = up[child]
    for k in range(1, children):
        largest = max(largest, up[child + k])
    total = 0.0
    for k in range(children):
        total += (beta + counts[row, k]) * np.exp(up[child + k] - largest)
    u *= total
    chosen = 0
    for k in range(children):
        part = (beta + counts[row, k]) * np.exp(up[child + k] - largest)
        if part > 0.0:
            chosen = k
            if u < part:
                break
            u -= part
    return chosen
