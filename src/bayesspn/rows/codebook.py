"""What all rows of a table share: codes of values, and how statistics are scaled to integers.

A column with few distinct values is *tabulated*: cells are codes, a leaf's log density is looked up
in a table made once per sweep, and only cells that differ from the column's commonest code are
stored ("missing" is a code like any other, with log density 0). Other columns are *dense*: their
values stay as they are.

Statistics are accumulated as integers: T(x) is scaled by a power of two, chosen per statistic so
that the whole table's sum uses 62 bits. Integer sums do not depend on their order, and they are
finer than sums in double precision.

A `Codebook` is made from a `Digest` and from `count_totals`. Both are small and add up over any
split of the rows, so that no machine needs to hold the table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayesspn.arrays import Array, IntArray
from bayesspn.leaves.columns import Column, Leaves

#: A column is tabulated if it has few distinct values, absolutely or per row.
_ALWAYS_TABULATED = 64
_MOST_TABULATED = 2048
_ROWS_PER_VALUE = 4

#: Bits that the largest statistic of a column gets when totals are counted.
_TOTAL_BITS = 30


@dataclass(frozen=True, eq=False)
class Codebook:
    """What all blocks of a table share.

    Attributes
    ----------
    leaves : Leaves
    values : tuple of ndarray
        Distinct values of each tabulated column, in the order of the codes; the code after the last
        means missing. Empty for dense columns.
    reference : ndarray of shape (columns,)
        Code of each tabulated column that blocks leave out.
    occurring : ndarray of bool of shape (features,)
        Whether any cell has the feature, a column with a code; columns follow each other.
    exponents : tuple of ndarray of shape (g, slots)
        Power of two by which each slot's statistic is scaled, per leaf group.
    """

    leaves: Leaves
    values: tuple[Array, ...]
    reference: IntArray
    occurring: NDArray[np.bool_]
    exponents: tuple[IntArray, ...]

    @cached_property
    def tabulated(self) -> IntArray:
        """Indices of the tabulated columns."""
        return np.array([d for d, v in enumerate(self.values) if v.size], dtype=np.int64)

    @cached_property
    def dense(self) -> IntArray:
        """Indices of the dense columns."""
        return np.array([d for d, v in enumerate(self.values) if not v.size], dtype=np.int64)

    @cached_property
    def feature_base(self) -> IntArray:
        """First feature of each column, and the number of features: (columns + 1,)."""
        widths = [v.size + 1 if v.size else 0 for v in self.values]
        return np.concatenate([[0], np.cumsum(widths)]).astype(np.int64)

    @cached_property
    def widths(self) -> IntArray:
        """Codes of each column that occur or are the reference; (columns,), 0 for dense columns."""
        counted = np.concatenate([[0], np.cumsum(self._counted)])
        return np.diff(counted[self.feature_base])

    @cached_property
    def _counted(self) -> NDArray[np.bool_]:
        counted = self.occurring.copy()
        counted[(self.feature_base[:-1] + self.reference)[self.tabulated]] = True
        return counted

    @cached_property
    def feature_rank(self) -> NDArray[np.int32]:
        """Rank of each feature's code in its column: reference, others that occur; (features,)."""
        column = np.repeat(np.arange(len(self.values)), np.diff(self.feature_base))
        codes = np.arange(len(column)) - self.feature_base[column]
        other = codes != self.reference[column]
        order = np.lexsort((codes, ~self._counted, other, column))
        rank = np.empty(len(column), dtype=np.int32)
        rank[order] = np.arange(len(column)) - self.feature_base[column]
        return rank

    @cached_property
    def rank_feature(self) -> NDArray[np.int32]:
        """Feature of each rank, column after column: the inverse of ``feature_rank``."""
        base = np.repeat(self.feature_base[:-1], np.diff(self.feature_base))
        features = np.empty(self.feature_base[-1], dtype=np.int32)
        features[base + self.feature_rank] = np.arange(self.feature_base[-1])
        return features

    @cached_property
    def units(self) -> tuple[Array, ...]:
        """What one of every slot's scaled statistic stands for, per leaf group: (g, slots)."""
        return tuple(np.ldexp(1.0, -exponents) for exponents in self.exponents)

    def scaled_statistics(self, column: int, number: int, values: Array) -> IntArray:
        """Integer statistics of values, NaN giving zeros; shape (values, slots)."""
        group, position = self.leaves.places[column][number]
        missing = np.isnan(values)
        safe = np.where(missing, 1.0, values)
        statistics, _ = self.leaves.columns[column].features(number, safe)
        if not self.leaves.groups[group].family.one_hot:
            statistics = np.concatenate([np.ones((len(values), 1)), statistics], axis=1)
        statistics[missing] = 0.0
        with np.errstate(over="ignore"):
            scaled = np.rint(np.ldexp(statistics, self.exponents[group][position]))
        # values that stand in a table but occur nowhere may be beyond all that were scaled for
        return np.clip(scaled, -(2.0**62), 2.0**62).astype(np.int64)


class Values(NamedTuple):
    """Distinct observed values of a column, ascending, and how often each occurs."""

    distinct: Array
    counts: IntArray


class Digest(NamedTuple):
    """What a dictionary needs to know of rows.

    Attributes
    ----------
    rows : int
    values : tuple of Values or None
        Of every column; None if there are too many for any table.
    peaks : tuple of ndarray of int of shape (g, slots)
        Powers of two that no statistic reaches, per leaf group.
    """

    rows: int
    values: tuple[Values | None, ...]
    peaks: tuple[IntArray, ...]


def digest_rows(leaves: Leaves, X: Array) -> Digest:
    """Digest of rows (rows, columns)."""
    values: list[Values | None] = []
    for d, column in enumerate(leaves.columns):
        distinct, counts = np.unique(X[~np.isnan(X[:, d]), d], return_counts=True)
        many = distinct.size > _MOST_TABULATED and not _one_hot(column)
        values.append(None if many else Values(distinct, counts))
    peaks = tuple(np.zeros((len(group), group.n_slots), dtype=np.int64) for group in leaves.groups)
    for g, position, magnitude in _magnitudes(leaves, X):
        peaks[g][position] = np.frexp(magnitude.max(axis=0, initial=0.0))[1]
    return Digest(len(X), tuple(values), peaks)


def merge_digests(digests: Sequence[Digest]) -> Digest:
    """Digest of all rows, from those of its parts."""
    rows, values, peaks = zip(*digests, strict=True)
    return Digest(
        sum(rows),
        tuple(_merge_values(parts) for parts in zip(*values, strict=True)),
        tuple(np.max(parts, axis=0) for parts in zip(*peaks, strict=True)),
    )


def _merge_values(parts: Sequence[Values | None]) -> Values | None:
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    distinct, place = np.unique(
        np.concatenate([part.distinct for part in known]), return_inverse=True
    )
    counts = np.zeros(len(distinct), dtype=np.int64)
    np.add.at(counts, place, np.concatenate([part.counts for part in known]))
    return Values(distinct, counts)


def count_totals(leaves: Leaves, X: Array, peaks: tuple[IntArray, ...]) -> tuple[IntArray, ...]:
    """Sums of |T| over rows in units of the peaks' smallest bits, rounded up; (g, slots) each."""
    totals = tuple(np.zeros_like(peak) for peak in peaks)
    for g, position, magnitude in _magnitudes(leaves, X):
        scaled = np.ceil(np.ldexp(magnitude, _TOTAL_BITS - peaks[g][position]))
        totals[g][position] = scaled.astype(np.int64).sum(axis=0)
    return totals


def _magnitudes(leaves: Leaves, X: Array) -> Iterator[tuple[int, int, Array]]:
    """Every member of a leaf group that is scaled, and its |T|, (observed rows, slots)."""
    for g, group in enumerate(leaves.groups):
        if group.family.one_hot:
            continue
        for position, (d, m) in enumerate(zip(group.columns, group.family_numbers, strict=True)):
            observed = X[~np.isnan(X[:, d]), d]
            statistics, _ = leaves.columns[d].features(int(m), observed)
            # the first slot counts rows and is not scaled
            yield g, position, np.pad(np.abs(statistics), ((0, 0), (1, 0)))


def build_codebook(leaves: Leaves, digest: Digest, totals: tuple[IntArray, ...]) -> Codebook:
    """Dictionary of the rows that were digested."""
    few = max(_ALWAYS_TABULATED, min(_MOST_TABULATED, digest.rows // _ROWS_PER_VALUE))
    values: list[Array] = []
    reference = np.zeros(len(leaves.columns), dtype=np.int64)
    occurring = [np.empty(0, dtype=bool)]
    for d, (column, known) in enumerate(zip(leaves.columns, digest.values, strict=True)):
        if known is None or (known.distinct.size > few and not _one_hot(column)):
            values.append(np.empty(0))
            continue
        distinct = known.distinct
        if len(column.families) == 1 and column.likelihoods[0].one_hot:
            # codes are the categories themselves, also those that do not occur here
            distinct = np.union1d(np.arange(float(column.n_categories)), distinct)
        if distinct.size == 0:
            distinct = np.ones(1)
        counts = np.zeros(distinct.size + 1, dtype=np.int64)
        counts[np.searchsorted(distinct, known.distinct)] = known.counts
        counts[-1] = digest.rows - known.counts.sum()
        values.append(distinct)
        occurring.append(counts > 0)
        # commonest code with a positive density: the reference's log density must be finite
        possible = np.append(supported(column, distinct), True)
        reference[d] = int(np.where(possible, counts, -1).argmax())
    exponents = []
    for group, peak, total in zip(leaves.groups, digest.peaks, totals, strict=True):
        # sums of |T| stay below 2^61
        power = peak - _TOTAL_BITS + np.frexp(np.maximum(total, 1).astype(np.float64))[1]
        exponent = np.zeros((len(group), group.n_slots), dtype=np.int64)
        if not group.family.one_hot:
            exponent[:, 1:] = (61 - power)[:, 1:]
        exponents.append(exponent)
    return Codebook(leaves, tuple(values), reference, np.concatenate(occurring), tuple(exponents))


def supported(column: Column, values: Array) -> NDArray[np.bool_]:
    """Whether values have a positive density under one of the column's families."""
    possible = np.zeros(len(values), dtype=bool)
    for m in range(len(column.families)):
        possible |= np.isfinite(column.features(m, values)[1])
    return possible


def _one_hot(column: Column) -> bool:
    return any(family.one_hot and family.measure == "discrete" for family in column.likelihoods)
