"""A fingerprint of a table's cells that adds up over any split of its rows."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from bayesspn.rows.encoded import EncodedRows

HashArray = NDArray[np.uint64]


def hash_columns(rows: EncodedRows) -> HashArray:
    """Sum modulo 2^64 of a hash of every (row number, value), per column; shape (columns,).

    However rows are divided, stored or ordered, the sums over all parts are the same.
    """
    codebook = rows.codebook
    totals = np.zeros(len(codebook.values), dtype=np.uint64)
    for block in rows.blocks:
        copies = np.repeat(np.arange(block.n_rows), np.diff(block.copy_start))
        numbers = _mix(block.copy_ids.astype(np.uint64))
        for d, distinct in enumerate(codebook.values):
            if distinct.size:
                values = np.append(distinct, np.nan)[block.codes(codebook, d)]
            else:
                values = block.dense[np.searchsorted(codebook.dense, d)]
            # equal values as equal bits: one NaN, one zero
            values = np.where(np.isnan(values), np.nan, values + 0.0)
            bits = _mix(values.view(np.uint64))[copies]
            # as an array: it may overflow, which is what modulo means
            totals[d : d + 1] += _mix(bits + numbers).sum(dtype=np.uint64)
    return totals


def combine_hashes(totals: HashArray) -> str:
    """One text for the sums of all columns."""
    return hashlib.sha256(totals.astype("<u8").tobytes()).hexdigest()


def _mix(words: HashArray) -> HashArray:
    """Spread every bit of a word over all of them (the finaliser of SplitMix64)."""
    words = words + np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
