"""Encoded rows: the table as the row pass reads it, in independent blocks.

A column with few distinct values is *tabulated*: cells are codes, a leaf's log density is looked up
in a table made once per sweep, and only cells that differ from the column's commonest code are
stored ("missing" is a code like any other, with log density 0). Other columns are *dense*: their
values stay in the block. Blocks share one `Dictionary` and nothing else, so they can be processed
in any order, by any thread or machine.

Statistics are accumulated as integers: T(x) is scaled by a power of two, chosen per statistic so
that the whole table's sum uses 62 bits. Integer sums do not depend on their order, and they are
finer than sums in double precision.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bayesspn.leaves.columns import Column, Leaves
from bayesspn.leaves.family import Array

IntArray = NDArray[np.int64]

#: Distinct rows per block: bounds the working memory of a row pass.
BLOCK_ROWS = 16_384

#: A column is tabulated if it has few distinct values, absolutely or per row.
_ALWAYS_TABULATED = 64
_MOST_TABULATED = 2048
_ROWS_PER_VALUE = 4


@dataclass(frozen=True, eq=False)
class Dictionary:
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

    def scaled_statistics(self, column: int, model: int, values: Array) -> IntArray:
        """Integer statistics of values, NaN giving zeros; shape (values, slots)."""
        group, position = self.leaves.places[column][model]
        missing = np.isnan(values)
        safe = np.where(missing, 1.0, values)
        statistics, _ = self.leaves.columns[column].features(model, safe)
        if not self.leaves.groups[group].family.one_hot:
            statistics = np.concatenate([np.ones((len(values), 1)), statistics], axis=1)
        statistics[missing] = 0.0
        scaled = np.ldexp(statistics, self.exponents[group][position])
        return np.rint(scaled).astype(np.int64)


@dataclass(frozen=True, eq=False)
class RowBlock:
    """Distinct rows and where they occur.

    Attributes
    ----------
    row_start, row_features : ndarray of shape (rows + 1,), (cells,)
        Row-wise lists of the features (column and code) that are not the reference code.
    column_start, column_rows, column_codes : ndarray of shape (columns + 1,), (cells,), (cells,)
        The same cells column by column.
    copy_start, copy_ids : ndarray of shape (rows + 1,), (copies,)
        Row numbers in the table of every distinct row.
    dense : ndarray of shape (dense columns, rows)
        Values of the dense columns, NaN where missing.
    """

    row_start: IntArray
    row_features: NDArray[np.int32]
    column_start: IntArray
    column_rows: NDArray[np.int32]
    column_codes: NDArray[np.int32]
    copy_start: IntArray
    copy_ids: IntArray
    dense: Array

    @property
    def n_rows(self) -> int:
        """Number of distinct rows."""
        return len(self.row_start) - 1

    def codes(self, dictionary: Dictionary, column: int) -> NDArray[np.int32]:
        """Codes of a tabulated column; shape (rows,)."""
        codes = np.full(self.n_rows, dictionary.reference[column], dtype=np.int32)
        cells = slice(self.column_start[column], self.column_start[column + 1])
        codes[self.column_rows[cells]] = self.column_codes[cells]
        return codes

    def values(self, dictionary: Dictionary) -> Array:
        """Values in the user's units, NaN where missing; shape (rows, columns)."""
        values = np.empty((self.n_rows, len(dictionary.values)))
        for d in dictionary.tabulated:
            with_missing = np.append(dictionary.values[d], np.nan)
            values[:, d] = with_missing[self.codes(dictionary, int(d))]
        values[:, dictionary.dense] = self.dense.T
        return values


@dataclass(frozen=True, eq=False)
class EncodedRows:
    """A table, or a shard of one: blocks of rows with their dictionary."""

    dictionary: Dictionary
    blocks: tuple[RowBlock, ...]
    n_rows: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_rows", sum(len(block.copy_ids) for block in self.blocks))

    @cached_property
    def sorted_ids(self) -> tuple[IntArray, IntArray]:
        """All row numbers in order, and where each stands among the blocks' copies."""
        ids = np.concatenate([block.copy_ids for block in self.blocks])
        order = np.argsort(ids)
        return ids[order], order

    def split(self, shards: int) -> tuple[EncodedRows, ...]:
        """Distribute the blocks over shards."""
        return tuple(
            EncodedRows(self.dictionary, self.blocks[shard::shards]) for shard in range(shards)
        )


def encode_rows(leaves: Leaves, X: Array, *, block_rows: int = BLOCK_ROWS) -> EncodedRows:
    """Encode a table.

    Parameters
    ----------
    leaves : Leaves
        Describes the columns.
    X : ndarray of shape (rows, columns)
        Values, NaN where missing. Row numbers are positions in X.
    block_rows : int
        Distinct rows per block.
    """
    X = check_values(leaves, X)
    codes, dictionary = _build_dictionary(leaves, X)
    rows = len(X)
    if dictionary.dense.size or rows == 0:
        first, copy_ids = np.arange(rows), np.arange(rows)
        multiplicity = np.ones(rows, dtype=np.int64)
    else:
        first, inverse, multiplicity = _distinct_rows(codes)
        copy_ids = np.argsort(inverse, kind="stable")
    copy_end = np.concatenate([[0], np.cumsum(multiplicity)])
    blocks = []
    for start in range(0, len(first), block_rows):
        stop = min(start + block_rows, len(first))
        chosen = first[start:stop]
        blocks.append(
            _build_block(
                dictionary,
                codes[chosen],
                X[chosen][:, dictionary.dense],
                copy_end[start : stop + 1] - copy_end[start],
                copy_ids[copy_end[start] : copy_end[stop]],
            )
        )
    return EncodedRows(dictionary, tuple(blocks))


def check_values(leaves: Leaves, X: Array) -> Array:
    """Check the shape of a table and that its values are finite or missing."""
    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2 or X.shape[1] != len(leaves.columns):
        raise ValueError(f"expected rows × {len(leaves.columns)} columns, got shape {X.shape}")
    infinite = np.argwhere(np.isinf(X))
    if infinite.size:
        row, column = infinite[0]
        raise ValueError(
            f"column {leaves.columns[column].name!r}, row {row}: the value is infinite; "
            "use NaN for a missing cell"
        )
    return X


def check_support(rows: EncodedRows) -> None:
    """Check that every value has a positive density under one of its column's families.

    Scores of impossible values are −inf, which is an answer; rows to learn from must be possible.
    """
    dictionary = rows.dictionary
    for d, column in enumerate(dictionary.leaves.columns):
        parts = [dictionary.values[d]]
        if not parts[0].size:
            k = int(np.searchsorted(dictionary.dense, d))
            parts = [block.dense[k][~np.isnan(block.dense[k])] for block in rows.blocks]
        for values in parts:
            impossible = values[~_supported(column, values)]
            if impossible.size:
                raise ValueError(
                    f"column {column.name!r}: value {impossible[0]:g} is outside the support of "
                    f"{' and '.join(column.families)}"
                )


def _supported(column: Column, values: Array) -> NDArray[np.bool_]:
    supported = np.zeros(len(values), dtype=bool)
    for m in range(len(column.families)):
        supported |= np.isfinite(column.features(m, values)[1])
    return supported


def _build_dictionary(leaves: Leaves, X: Array) -> tuple[NDArray[np.int32], Dictionary]:
    rows, columns = X.shape
    codes = np.zeros((rows, columns), dtype=np.int32)
    values: list[Array] = []
    reference = np.zeros(columns, dtype=np.int64)
    for d, column in enumerate(leaves.columns):
        observed = ~np.isnan(X[:, d])
        distinct = np.unique(X[observed, d])
        if len(column.families) == 1 and column.models[0].one_hot:
            # codes are the categories themselves, also those that do not occur here
            distinct = np.union1d(np.arange(float(column.n_categories)), distinct)
        few = max(_ALWAYS_TABULATED, min(_MOST_TABULATED, rows // _ROWS_PER_VALUE))
        if distinct.size > few and not any(family.one_hot for family in column.models):
            values.append(np.empty(0))
            continue
        if distinct.size == 0:
            distinct = np.ones(1)
        values.append(distinct)
        codes[:, d] = np.searchsorted(distinct, np.where(observed, X[:, d], distinct[0]))
        codes[~observed, d] = distinct.size
        reference[d] = _choose_reference(column, distinct, codes[:, d])
    occurring = [
        np.bincount(codes[:, d], minlength=distinct.size + 1) > 0
        for d, distinct in enumerate(values)
        if distinct.size
    ]
    dictionary = Dictionary(
        leaves,
        tuple(values),
        reference,
        np.concatenate([*occurring, np.empty(0, dtype=bool)]),
        tuple(_exponents(leaves, X)),
    )
    return codes, dictionary


def _choose_reference(column: Column, distinct: Array, codes: NDArray[np.int32]) -> int:
    """Commonest code with a positive density; the reference's log density must be finite."""
    counts = np.bincount(codes, minlength=distinct.size + 1)
    supported = np.append(_supported(column, distinct), True)
    return int(np.where(supported, counts, -1).argmax())


def _exponents(leaves: Leaves, X: Array) -> list[IntArray]:
    """Largest powers of two that keep every sum of |T| over the table below 2^62."""
    exponents = [np.zeros((len(group), group.n_slots), dtype=np.int64) for group in leaves.groups]
    for g, group in enumerate(leaves.groups):
        if group.family.one_hot:
            continue
        for position, (d, m) in enumerate(zip(group.columns, group.models, strict=True)):
            observed = X[~np.isnan(X[:, d]), d]
            statistics, _ = leaves.columns[d].features(int(m), observed)
            total = np.abs(statistics).sum(axis=0)
            _, power = np.frexp(np.where(total > 0, total, 1.0))
            exponents[g][position, 1:] = 61 - power
    return exponents


def _distinct_rows(codes: NDArray[np.int32]) -> tuple[IntArray, IntArray, IntArray]:
    packed = np.ascontiguousarray(codes.astype(np.min_scalar_type(int(codes.max(initial=0)))))
    as_bytes = packed.view(np.dtype((np.void, packed.dtype.itemsize * packed.shape[1]))).ravel()
    _, first, inverse, counts = np.unique(
        as_bytes, return_index=True, return_inverse=True, return_counts=True
    )
    # keep the table's order of first occurrence, so that neighbours stay neighbours
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return first[order], rank[inverse.ravel()], counts[order]


def _build_block(
    dictionary: Dictionary,
    codes: NDArray[np.int32],
    dense: Array,
    copy_start: IntArray,
    copy_ids: IntArray,
) -> RowBlock:
    differs = codes != dictionary.reference.astype(np.int32)
    differs[:, dictionary.dense] = False
    row, column = np.nonzero(differs)
    features = dictionary.feature_base[column] + codes[row, column]
    by_column, column_rows = np.nonzero(differs.T)
    return RowBlock(
        row_start=_starts(row, len(codes)),
        row_features=features.astype(np.int32),
        column_start=_starts(by_column, codes.shape[1]),
        column_rows=column_rows.astype(np.int32),
        column_codes=codes[column_rows, by_column].astype(np.int32),
        copy_start=np.ascontiguousarray(copy_start, dtype=np.int64),
        copy_ids=np.ascontiguousarray(copy_ids, dtype=np.int64),
        dense=np.ascontiguousarray(dense.T),
    )


def _starts(sorted_index: IntArray, length: int) -> IntArray:
    return np.concatenate([[0], np.cumsum(np.bincount(sorted_index, minlength=length))]).astype(
        np.int64
    )
