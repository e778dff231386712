"""Pairwise dependence of columns of any kind, and the informed start of a scope function.

The start splits the columns recursively into groups that depend on each other, at random where
dependence does not decide. It only saves burn-in: the chain is exact from any start.
"""

from __future__ import annotations

import numba as nb
import numpy as np
from numpy.typing import NDArray

from bayesspn.arrays import Array
from bayesspn.graphs import RegionGraph
from bayesspn.scopes import Scope

#: Numeric columns with more values than this are cut at quantiles.
_MOST_BINS = 8

#: Share of the columns that one side of a split may get.
_LARGEST_SHARE = 0.75

_REFINEMENTS = 4


def pairwise_dependence(X: Array) -> Array:
    """Mutual information of every pair of columns over the smaller of their entropies.

    Parameters
    ----------
    X : ndarray of shape (rows, columns)
        NaN marks missing cells; a pair is judged by the rows where both are observed.

    Returns
    -------
    ndarray of shape (columns, columns)
        Values in [0, 1], zero on the diagonal and for pairs never seen together.
    """
    bins = [_bin(X[:, d]) for d in range(X.shape[1])]
    owner = np.repeat(np.arange(len(bins)), [b.shape[1] for b in bins])
    indicators = np.concatenate(bins, axis=1).astype(np.float32)
    joint = (indicators.T @ indicators).astype(np.float64)
    starts = np.searchsorted(owner, np.arange(len(bins)))
    pairs = np.add.reduceat(np.add.reduceat(joint, starts, axis=0), starts, axis=1)
    # margins of each bin over the rows where the other column is observed
    margin = np.add.reduceat(joint, starts, axis=1)
    total = np.maximum(pairs, 1.0)
    sum_joint = _reduce_pairs(_x_log_x(joint), starts)
    sum_margin = np.add.reduceat(_x_log_x(margin), starts, axis=0)
    entropy = np.log(total) - sum_margin / total
    information = sum_joint / total - (sum_margin + sum_margin.T) / total + np.log(total)
    # a table with r × s cells has about (r−1)(s−1)/2n nats of information by chance
    sizes = np.array([b.shape[1] for b in bins], dtype=float)
    chance = np.outer(sizes - 1, sizes - 1) / (2 * total)
    smaller = np.minimum(entropy, entropy.T)
    result = np.clip((information - chance) / np.maximum(smaller, 1e-3), 0.0, 1.0)
    result[pairs == 0] = 0.0
    np.fill_diagonal(result, 0.0)
    return result


def _bin(column: Array) -> NDArray[np.bool_]:
    """Indicator of each bin, False everywhere for missing cells; shape (rows, bins)."""
    observed = ~np.isnan(column)
    distinct = np.unique(column[observed])
    if distinct.size == 0:
        return np.zeros((len(column), 1), dtype=bool)
    if distinct.size > _MOST_BINS:
        inner = np.quantile(column[observed], np.arange(1, _MOST_BINS) / _MOST_BINS)
        # a cut at the maximum would put a column that piles up there into a single bin
        cuts = np.unique(np.minimum(inner, distinct[-2]))
        codes = np.searchsorted(cuts, column, side="left")
        distinct = np.unique(codes[observed])
        return (codes[:, None] == distinct) & observed[:, None]
    return column[:, None] == distinct


def _x_log_x(x: Array) -> Array:
    return x * np.log(np.maximum(x, 1.0))


def _reduce_pairs(values: Array, starts: NDArray[np.int64]) -> Array:
    return np.asarray(np.add.reduceat(np.add.reduceat(values, starts, axis=0), starts, axis=1))


def draw_informed_scope(rng: np.random.Generator, graph: RegionGraph, dependence: Array) -> Scope:
    """Draw a scope that keeps dependent columns together.

    Parameters
    ----------
    rng : numpy.random.Generator
        Chains with different generators get different starts.
    graph : RegionGraph
    dependence : ndarray of shape (columns, columns)
        From `pairwise_dependence`.
    """
    columns = len(dependence)
    scopes = [np.arange(columns)]
    y = []
    for level in range(graph.levels):
        branching, children = graph.branching[level], graph.children
        choice = np.zeros((graph.regions[level] * branching, columns), dtype=np.int8)
        below: list[NDArray[np.int64]] = []
        for region, members in enumerate(scopes):
            for j in range(branching):
                side = split_columns(rng, dependence[np.ix_(members, members)], children)
                choice[region * branching + j, members] = side
                below.extend(members[side == c] for c in range(children))
        y.append(choice)
        scopes = below
    return Scope(graph, tuple(y))


def split_columns(rng: np.random.Generator, dependence: Array, sides: int) -> NDArray[np.int64]:
    """Split columns into groups of high mutual dependence, at random; shape (columns,).

    Starts from random seeds and moves each column to the side it depends on most, no side growing
    beyond a fixed share.
    """
    columns = len(dependence)
    if sides == 1:
        return np.zeros(columns, dtype=np.int64)
    if columns <= sides:
        return rng.permutation(sides)[:columns]
    seeds = rng.choice(columns, size=sides, replace=False)
    largest = max(int(np.ceil(_LARGEST_SHARE * columns)), -(-columns // sides))
    affinity = dependence[:, seeds]
    side = np.zeros(columns, dtype=np.int64)
    for _ in range(_REFINEMENTS):
        # a little noise decides between sides that a column does not depend on
        noisy = affinity * rng.uniform(0.8, 1.25, affinity.shape)
        noisy += 1e-6 * rng.random(affinity.shape)
        side = _assign_within(noisy, largest)
        member = (side[:, None] == np.arange(sides)).astype(np.float64)
        affinity = (dependence @ member) / np.maximum(member.sum(axis=0) - member, 1)
    return side


def _assign_within(affinity: Array, largest: int) -> NDArray[np.int64]:
    """Give every column its preferred side, strongest preferences first, sides limited in size."""
    ordered = np.sort(affinity, axis=1)
    strength = (ordered[:, -1] - ordered[:, -2]) / (ordered[:, -1] + 1e-12)
    return _assign_in_order(affinity, np.argsort(-strength), largest)


@nb.njit(cache=True, nogil=True)
def _assign_in_order(affinity, order, largest):  # type: ignore[no-untyped-def]
    columns, sides = affinity.shape
    room = np.full(sides, largest)
    side = np.empty(columns, dtype=np.int64)
    for column in order:
        best = -1
        for s in range(sides):
            if room[s] > 0 and (best < 0 or affinity[column, s] > affinity[column, best]):
                best = s
        side[column] = best
        room[best] -= 1
    return side
