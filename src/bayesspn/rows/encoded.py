"""Encoded rows: the table as the row pass reads it, in independent blocks.

Blocks share one `Codebook` and nothing else, so they can be processed in any order, by any thread
or machine.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bayesspn.arrays import Array, IntArray
from bayesspn.leaves.columns import Leaves
from bayesspn.rows.codebook import (
    Codebook,
    build_codebook,
    count_totals,
    digest_rows,
    supported,
)

#: Distinct rows per block: bounds the working memory of a row pass.
BLOCK_ROWS = 16_384


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

    def codes(self, codebook: Codebook, column: int) -> NDArray[np.int32]:
        """Codes of a tabulated column; shape (rows,)."""
        codes = np.full(self.n_rows, codebook.reference[column], dtype=np.int32)
        cells = slice(self.column_start[column], self.column_start[column + 1])
        codes[self.column_rows[cells]] = self.column_codes[cells]
        return codes

    def take(self, wanted: NDArray[np.bool_]) -> RowBlock:
        """The copies whose row numbers are wanted (row numbers,)."""
        copies = wanted[self.copy_ids]
        before = np.concatenate([[0], np.cumsum(copies)])[self.copy_start]
        kept = np.diff(before) > 0
        number = np.cumsum(kept) - 1
        of_row = np.repeat(kept, np.diff(self.row_start))
        of_column = kept[self.column_rows]
        column_end = np.concatenate([[0], np.cumsum(of_column)])
        return RowBlock(
            row_start=np.concatenate([[0], np.cumsum(np.diff(self.row_start)[kept])]),
            row_features=self.row_features[of_row],
            column_start=column_end[self.column_start],
            column_rows=number[self.column_rows[of_column]].astype(np.int32),
            column_codes=self.column_codes[of_column],
            copy_start=np.concatenate([[0], before[1:][kept]]),
            copy_ids=self.copy_ids[copies],
            dense=np.ascontiguousarray(self.dense[:, kept]),
        )

    def values(self, codebook: Codebook, rows: IntArray | slice = slice(None)) -> Array:
        """Values of rows in the user's units, NaN where missing; shape (rows, columns)."""
        dense = self.dense[:, rows].T
        values = np.empty((len(dense), len(codebook.values)))
        for d in codebook.tabulated:
            with_missing = np.append(codebook.values[d], np.nan)
            values[:, d] = with_missing[self.codes(codebook, int(d))[rows]]
        values[:, codebook.dense] = dense
        return values


@dataclass(frozen=True, eq=False)
class EncodedRows:
    """A table, or a shard of one: blocks of rows with their dictionary."""

    codebook: Codebook
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

    def values(self, row_ids: IntArray) -> Array:
        """Values of the rows with these numbers, NaN where missing; shape (row_ids, columns)."""
        ids, order = self.sorted_ids
        copies = order[np.searchsorted(ids, row_ids)]
        starts = np.cumsum([0, *(len(block.copy_ids) for block in self.blocks)])
        values = np.empty((len(row_ids), len(self.codebook.values)))
        for block, first, end in zip(self.blocks, starts[:-1], starts[1:], strict=True):
            here = (copies >= first) & (copies < end)
            if here.any():
                distinct = np.searchsorted(block.copy_start, copies[here] - first, side="right") - 1
                values[here] = block.values(self.codebook, distinct)
        return values

    def take(self, wanted: NDArray[np.bool_]) -> EncodedRows:
        """The rows whose numbers are wanted (row numbers,); they keep their numbers."""
        blocks = (block.take(wanted) for block in self.blocks)
        return EncodedRows(self.codebook, tuple(block for block in blocks if block.n_rows))

    def split(self, shards: int) -> tuple[EncodedRows, ...]:
        """Distribute the blocks over shards."""
        return tuple(
            EncodedRows(self.codebook, self.blocks[shard::shards]) for shard in range(shards)
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
    digest = digest_rows(leaves, X)
    codebook = build_codebook(leaves, digest, count_totals(leaves, X, digest.peaks))
    return encode_shard(codebook, X, np.arange(len(X)), block_rows=block_rows)


def encode_shard(
    codebook: Codebook, X: Array, row_ids: IntArray, *, block_rows: int = BLOCK_ROWS
) -> EncodedRows:
    """Encode rows of a table whose dictionary is known.

    Parameters
    ----------
    codebook : Codebook
        Of the whole table.
    X : ndarray of shape (rows, columns)
        Values, NaN where missing.
    row_ids : ndarray of shape (rows,)
        Numbers of the rows in the table.
    block_rows : int
        Distinct rows per block.
    """
    codes = _encode_cells(codebook, X)
    rows = len(X)
    if codebook.dense.size or rows == 0:
        first, copies = np.arange(rows), np.arange(rows)
        multiplicity = np.ones(rows, dtype=np.int64)
    else:
        first, inverse, multiplicity = _distinct_rows(codes)
        copies = np.argsort(inverse, kind="stable")
    copy_end = np.concatenate([[0], np.cumsum(multiplicity)])
    blocks = []
    for start in range(0, len(first), block_rows):
        stop = min(start + block_rows, len(first))
        chosen = first[start:stop]
        blocks.append(
            _build_block(
                codebook,
                codes[chosen],
                X[chosen][:, codebook.dense],
                copy_end[start : stop + 1] - copy_end[start],
                row_ids[copies[copy_end[start] : copy_end[stop]]],
            )
        )
    return EncodedRows(codebook, tuple(blocks))


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
    codebook = rows.codebook
    for d, column in enumerate(codebook.leaves.columns):
        parts = [codebook.values[d]]
        if not parts[0].size:
            k = int(np.searchsorted(codebook.dense, d))
            parts = [block.dense[k][~np.isnan(block.dense[k])] for block in rows.blocks]
        for values in parts:
            impossible = values[~supported(column, values)]
            if impossible.size:
                raise ValueError(
                    f"column {column.name!r}: value {impossible[0]:g} is outside the support of "
                    f"{' and '.join(column.families)}"
                )


def _encode_cells(codebook: Codebook, X: Array) -> NDArray[np.int32]:
    """Codes of all cells of the tabulated columns; shape of X."""
    codes = np.zeros(X.shape, dtype=np.int32)
    for d in codebook.tabulated:
        distinct, observed = codebook.values[d], ~np.isnan(X[:, d])
        cells = np.where(observed, X[:, d], distinct[0])
        found = np.minimum(np.searchsorted(distinct, cells), distinct.size - 1)
        if (distinct[found] != cells).any():
            unknown = cells[distinct[found] != cells][0]
            name = codebook.leaves.columns[d].name
            raise ValueError(f"column {name!r}: value {unknown:g} is not in the dictionary")
        codes[:, d] = np.where(observed, found, distinct.size)
    return codes


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
    codebook: Codebook,
    codes: NDArray[np.int32],
    dense: Array,
    copy_start: IntArray,
    copy_ids: IntArray,
) -> RowBlock:
    differs = codes != codebook.reference.astype(np.int32)
    differs[:, codebook.dense] = False
    row, column = np.nonzero(differs)
    features = codebook.feature_base[column] + codes[row, column]
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
