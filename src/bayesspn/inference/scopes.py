"""The move y | z, s, x with θ, ω and v integrated out: each column's whole path set at once."""
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import math

import numba as nb
import numpy as np

from bayesspn.arrays import Array
from bayesspn.engine.kernels.marginals import categorical_log_marginals
from bayesspn.engine.row_sums import RowSums, Statistics
from bayesspn.leaves.columns import Leaves
from bayesspn.leaves.conjugate import (
    GAUSSIAN,
    MOST_HYPER,
    ONE_HOT,
    fill_hyper,
    fill_posterior,
    log_marginal,
    log_normaliser,
    log_one_hot_marginal,
)
from bayesspn.model.generative import Hyper
from bayesspn.numerics.special_functions import (
    log_gamma_scalar,
    log_gammainc_scalar,
    log_rising_scalar,
)
from bayesspn.numerics.streams import Randomness, as_stream, shuffle, uniform
from bayesspn.numerics.threads import run_tasks
from bayesspn.rows.codebook import Codebook
from bayesspn.scopes import Scope

#: Fewer marginal likelihoods than this are not worth a thread.
_LEAVES_PER_TASK = 4096

#: Numbers of cells for which logarithms of gamma functions are remembered.
_REMEMBERED = 1024


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
    log_marginals = np.zeros((len(leaves.columns), regions))
    for g, group in enumerate(leaves.groups):
        totals, marginal = sums.statistics[g], np.empty((len(group), regions))
        most = totals[:, 0].size // _LEAVES_PER_TASK
        if group.family.one_hot and power == 1.0:
            prior = np.exp(hyper.phi[g])
            run_tasks(categorical_log_marginals, max(1, most), marginal, prior, totals)
        else:
            units = power * codebook.units[g]
            kind = group.family.kind
            run_tasks(
                _fill_log_marginals, most, kind, hyper.phi[g], group.constants, totals, units,
                marginal,
            )  # fmt: skip
        log_marginals[group.columns] += marginal
    if leaves.mixed.size:
        counts = _count_families(leaves, sums.statistics)
        own = np.empty((len(leaves.mixed), regions))
        _fill_mixing_marginals(counts, hyper.mixing, leaves.mixed_families, own)
        log_marginals[leaves.mixed] += own
    return log_marginals


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _fill_log_marginals(task, tasks, kind, phi, constants, totals, units, out):
    """Marginal likelihoods (g, regions) from totals (g, slots, regions, leaves).

    A statistic is its total times the unit of its slot; ``units`` (g, slots).
    """
    members, slots, regions, leaves = totals.shape
    size = slots if kind == ONE_HOT else MOST_HYPER
    prior, work, cells = np.empty(size), np.empty(size), np.empty(slots)
    known = np.empty(_REMEMBERED)
    for member in range(task, members, tasks):
        fill_hyper(kind, phi[member], constants[member], prior)
        strength = prior.sum()
        log_prior = 0.0 if kind == ONE_HOT else log_normaliser(kind, prior)
        known[:] = np.nan
        for region in range(regions):
            value = 0.0
            for leaf in range(leaves):
                if kind == ONE_HOT:
                    for k in range(slots):
                        cells[k] = units[member, k] * totals[member, k, region, leaf]
                    value += log_one_hot_marginal(prior, strength, cells)
                elif totals[member, 0, region, leaf] > 0:
                    n = units[member, 0] * totals[member, 0, region, leaf]
                    for k in range(1, slots):
                        cells[k - 1] = units[member, k] * totals[member, k, region, leaf]
                    if kind == GAUSSIAN:
                        number = totals[member, 0, region, leaf]
                        value += _gaussian_marginal(prior, log_prior, n, cells, work, known, number)
                    else:
                        value += log_marginal(kind, prior, log_prior, n, cells, work)
            out[member, region] = value


@nb.njit(cache=True, forceinline=True, error_model="numpy")
def _gaussian_marginal(prior, log_prior, n, totals, work, known, number):
    """`log_marginal` of a Gaussian; what depends on the number of values alone is remembered."""
    fill_posterior(GAUSSIAN, prior, n, totals, work)
    kappa, a, b, limit = work[1], work[2], work[3], work[4]
    if number >= known.shape[0]:
        return log_normaliser(GAUSSIAN, work) - log_prior
    if np.isnan(known[number]):
        known[number] = log_gamma_scalar(a) - 0.5 * math.log(kappa) - log_prior
    value = known[number] - a * math.log(b)
    return value + log_gammainc_scalar(a, b * limit) if limit < np.inf else value


def _count_families(leaves: Leaves, statistics: Statistics) -> Array:
    """Cells that each family owns; (mixed columns, families, regions, leaves)."""
    counts = np.zeros((len(leaves.mixed), leaves.max_families, *statistics[0].shape[2:]))
    for group, (members, columns), totals in zip(
        leaves.groups, leaves.mixed_members, statistics, strict=True
    ):
        if members.size:
            n = totals[members].sum(axis=1) if group.family.one_hot else totals[members, 0]
            counts[columns, group.family_numbers[members]] = n
    return counts


@nb.njit(cache=True, forceinline=True, error_model="numpy")
def _remembered_rising(known, x, count):
    number = int(count)
    if number >= known.shape[0] or number != count:
        return log_rising_scalar(x, count)
    if np.isnan(known[number]):
        known[number] = log_rising_scalar(x, count)
    return known[number]


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _fill_mixing_marginals(counts, mixing, present, out):
    """Log probability of who owns the cells of a column in a region; (mixed columns, regions)."""
    columns, _, regions, leaves = counts.shape
    parts, wholes = np.empty(_REMEMBERED), np.empty(_REMEMBERED)
    for column in range(columns):
        concentration, several = mixing[column], present[column].sum()
        parts[:] = np.nan
        wholes[:] = np.nan
        for region in range(regions):
            value = 0.0
            for leaf in range(leaves):
                n = 0.0
                for m in range(several):
                    count = counts[column, m, region, leaf]
                    if count > 0.0:
                        value += _remembered_rising(parts, concentration, count)
                        n += count
                if n > 0.0:
                    value -= _remembered_rising(wholes, several * concentration, n)
            out[column, region] = value


def draw_scopes(random: Randomness, scope: Scope, log_marginals: Array, beta: float) -> Scope:
    """Draw y, one column after the other in random order.

    Parameters
    ----------
    random : stream or numpy.random.Generator
    scope : Scope
        The current scope; partitions that a column does not reach keep their entries.
    log_marginals : ndarray of shape (columns, leaf regions)
        From `region_log_marginals`.
    beta : float
    """
    graph = scope.graph
    columns = scope.n_dimensions
    y = np.concatenate([choice.ravel() for choice in scope.y])
    counts = scope.partition_counts.astype(np.float64)
    branching, regions = np.array(graph.branching), np.array(graph.regions)
    _draw_paths(as_stream(random), y, counts, branching, regions, log_marginals, beta)
    ends = np.cumsum([choice.size for choice in scope.y])[:-1]
    return Scope.trusted(graph, tuple(part.reshape(-1, columns) for part in np.split(y, ends)))


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _draw_paths(stream, y, counts, branching, regions, log_marginals, beta):
    """Update y (partitions of all levels × columns, flat) and counts (partitions, children)."""
    levels = branching.shape[0]
    columns = log_marginals.shape[0]
    order = np.arange(columns)
    shuffle(stream, order)
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
            up[first_region[levels] + region] = log_marginals[d, region]
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
        for level in range(levels):
            for k in range(width):
                for j in range(branching[level]):
                    partition = here[k] * branching[level] + j
                    row = first_partition[level] + partition
                    child = _draw_child(
                        counts, row, beta, up, first_region[level + 1] + partition * children,
                        children, uniform(stream),
                    )  # fmt: skip
                    y[row * columns + d] = child
                    below[k * branching[level] + j] = partition * children + child
            width *= branching[level]
            here[:width] = below[:width]
        _move_counts(y, counts, branching, first_partition, d, columns, children, here, below, 1.0)


@nb.njit(cache=True, nogil=True, error_model="numpy")
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


@nb.njit(cache=True, nogil=True, error_model="numpy")
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


@nb.njit(cache=True, nogil=True, error_model="numpy")
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
