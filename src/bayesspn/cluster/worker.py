"""A worker: the one who holds a shard. It runs in this process or in one of its own, anywhere."""

from __future__ import annotations

import os
from typing import NamedTuple

import numpy as np

from bayesspn.arrays import Array, IntArray
from bayesspn.cluster.messages import unpack_circuit
from bayesspn.engine import compiled
from bayesspn.engine.row_sums import Address, RowSums
from bayesspn.engine.shards import choose_rows
from bayesspn.leaves.columns import Leaves
from bayesspn.model.circuit import Circuit
from bayesspn.numerics.threads import use_threads
from bayesspn.rows.codebook import (
    Codebook,
    Digest,
    count_totals,
    digest_rows,
    merge_digests,
)
from bayesspn.rows.encoded import EncodedRows, RowBlock, check_support, encode_shard
from bayesspn.rows.fingerprints import HashArray, hash_columns
from bayesspn.tables.sources import ParquetSource, Source
from bayesspn.tables.surveys import ColumnSurvey


class Extremes(NamedTuple):
    """Smallest and largest value of every column, NaN without any; shape (columns,) each."""

    lowest: Array
    highest: Array


class ShardWorker:
    """Holds a shard and answers questions about it, all of which are sums over rows.

    The order of calls is ``read``, ``digest``, ``count``, ``encode``; then ``row_pass``, ``values``
    and ``hash`` as often as wanted. Only ``read`` and ``encode`` change anything. Values are kept
    until they are encoded, piece by piece, so that the table is in memory about once.

    Parameters
    ----------
    threads : int, default=None
        Threads of the row pass; None leaves them as they are.
    """

    def __init__(self, threads: int | None = None) -> None:
        self._threads = threads
        self._first = 0
        self._pieces: list[Array] = []
        self._rows: EncodedRows | None = None
        self._samples: dict[float, EncodedRows] = {}

    @property
    def rows(self) -> EncodedRows:
        """The encoded shard."""
        assert self._rows is not None
        return self._rows

    def sampled(self, share: float) -> EncodedRows:
        """The encoded shard, or a share of its rows."""
        if share >= 1.0:
            return self.rows
        if share not in self._samples:
            # rows are numbered one after the other: shards are stretches of the table
            wanted = np.zeros(self._first + self.rows.n_rows, dtype=bool)
            ids = np.arange(self._first, len(wanted))
            wanted[ids] = choose_rows(ids, share)
            self._samples[share] = self.rows.take(wanted)
        return self._samples[share]

    def count_sampled(self, share: float) -> int:
        """Number of rows in a share of the shard."""
        return self.sampled(share).n_rows

    def survey(self, source: ParquetSource) -> tuple[ColumnSurvey, ...]:
        """Survey of every column of rows to come."""
        return source.survey()

    def read(self, source: Source) -> Extremes:
        """Read the shard."""
        self._first = source.first
        self._pieces = list(source.pieces())
        return merge_extremes([_find_extremes(piece) for piece in self._pieces])

    def sample(self, row_ids: IntArray) -> Array:
        """Values of rows before they are encoded; shape (row_ids, columns)."""
        ends = self._first + np.cumsum([len(piece) for piece in self._pieces])
        chosen = np.searchsorted(ends, row_ids, side="right")
        begins = ends - [len(piece) for piece in self._pieces]
        parts = [piece[row_ids[chosen == k] - begins[k]] for k, piece in enumerate(self._pieces)]
        return np.concatenate(parts)

    def digest(self, leaves: Leaves) -> Digest:
        """What a dictionary needs to know of the shard."""
        return merge_digests([digest_rows(leaves, piece) for piece in self._pieces])

    def count(self, leaves: Leaves, peaks: tuple[IntArray, ...]) -> tuple[IntArray, ...]:
        """Totals of the shard, in units of the whole table's peaks."""
        return add_totals([count_totals(leaves, piece, peaks) for piece in self._pieces])

    def encode(self, codebook: Codebook) -> int:
        """Encode the shard; the number of its rows."""
        blocks: list[RowBlock] = []
        first = self._first
        self._pieces.reverse()
        while self._pieces:
            piece = self._pieces.pop()
            rows = encode_shard(codebook, piece, np.arange(first, first + len(piece)))
            check_support(rows)
            blocks.extend(rows.blocks)
            first += len(piece)
        self._rows = EncodedRows(codebook, tuple(blocks))
        return self._rows.n_rows

    def row_pass(self, message: bytes, address: Address, share: float = 1.0) -> RowSums:
        """Draw z and s for every row, or a share of them, and add up what they say."""
        return compiled.row_pass(self._unpack(message), self.sampled(share), address)

    def log_likelihood(self, message: bytes, share: float = 1.0) -> int:
        """Sum of the log densities of all rows, or a share of them, in fixed point."""
        return compiled.fixed_log_likelihood(self._unpack(message), self.sampled(share))

    def _unpack(self, message: bytes) -> Circuit:
        if self._threads is not None:
            use_threads(self._threads)
        return unpack_circuit(message, self.rows.codebook.leaves)

    def values(self, row_ids: IntArray) -> Array:
        """Values of rows, NaN where missing; shape (row_ids, columns)."""
        return self.rows.values(row_ids)

    def hash(self) -> HashArray:
        """Hash of the cells of every column; see `hash_columns`."""
        return hash_columns(self.rows)

    def pid(self) -> int:
        """Number of the process."""
        return os.getpid()


def _find_extremes(values: Array) -> Extremes:
    return Extremes(np.fmin.reduce(values), np.fmax.reduce(values))


def merge_extremes(parts: list[Extremes]) -> Extremes:
    """Extremes of all rows, from those of their parts."""
    lowest, highest = zip(*parts, strict=True)
    return Extremes(np.fmin.reduce(lowest), np.fmax.reduce(highest))


def add_totals(parts: list[tuple[IntArray, ...]]) -> tuple[IntArray, ...]:
    """Totals of all rows, from those of their parts."""
    return tuple(np.sum(arrays, axis=0) for arrays in zip(*parts, strict=True))
