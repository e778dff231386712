"""Counter-based random numbers: every variate has an address, so nothing depends on order.

A chain is a `Key`. Row-level uniforms are Philox-4x32-10 outputs addressed by (sweep, row, slot):
they are the same however rows are grouped, split over threads or sent to other machines. Global
draws (weights, leaf parameters, scopes) take a NumPy generator addressed by (sweep, stream).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from typing import Any

import numba as nb
import numpy as np
from numpy.typing import NDArray

from bayesspn.numerics.streams import RandomStream, start_stream

_ROUNDS = 10
_MULTIPLY_0 = 0xD2511F53
_MULTIPLY_1 = 0xCD9E8D57
_WEYL_0 = 0x9E3779B9
_WEYL_1 = 0xBB67AE85
_MASK = 0xFFFFFFFF

#: Seeds of chains are below this.
LARGEST_SEED = 2**31 - 1

#: Distance between the seeds of a chain and of what it tries before it begins.
_ASIDE = 2**48


class Stream(IntEnum):
    """What a generator is used for within a sweep; each use has a stream of its own."""

    START = 0
    WEIGHTS = 1
    LEAVES = 2
    SCOPES = 3
    CONCENTRATIONS = 4
    LEAF_PRIORS = 5
    COMPONENTS = 6
    ROWS = 7
    EXCHANGES = 8
    FIXED_ROWS = 9
    SHARES = 10


@dataclass(frozen=True)
class Key:
    """The address space of one chain.

    Parameters
    ----------
    seed : int
        A non-negative seed shared by all chains of a run.
    chain : int, default=0
        The chain's number.
    """

    seed: int
    chain: int = 0

    def aside(self, number: int) -> Key:
        """The key of a run that this chain makes before it begins; numbers count from 0."""
        return Key(self.seed + (number + 1) * _ASIDE, self.chain)

    def generator(self, sweep: int, stream: Stream) -> np.random.Generator:
        """NumPy generator of one stream in one sweep."""
        address = (self.chain, int(stream), sweep)
        # half the time of NumPy's Philox for the gamma variates, most of what is drawn here
        return np.random.Generator(
            np.random.SFC64(np.random.SeedSequence(self.seed, spawn_key=address))
        )

    def stream(self, sweep: int, stream: Stream) -> RandomStream:
        """What compiled moves draw from in one sweep; shape (4,)."""
        return start_stream(self.seed, self.chain, sweep, int(stream))

    def words(self, *streams: Stream) -> tuple[np.uint32, np.uint32]:
        """Key words of the row-level uniforms: of the row pass, or of another stream's rows."""
        return _find_words(self.seed, (self.chain, *(int(stream) for stream in streams)))


@lru_cache(maxsize=1024)
def _find_words(seed: int, address: tuple[int, ...]) -> tuple[np.uint32, np.uint32]:
    sequence = np.random.SeedSequence(seed, spawn_key=address)
    low, high = sequence.generate_state(2, np.uint32)
    return np.uint32(low), np.uint32(high)


def draw_seed(random_state: Any) -> int:
    """Draw a seed as scikit-learn does: an int gives always the same, None never."""
    from sklearn.utils import check_random_state  # slow to import

    return int(check_random_state(random_state).randint(LARGEST_SEED))


def row_uniforms(
    words: tuple[np.uint32, np.uint32], sweep: int, rows: NDArray[np.int64], slots: int
) -> NDArray[np.float64]:
    """Uniforms in (0, 1) for the given rows; shape (rows, slots)."""
    result = np.empty((len(rows), 4 * -(-slots // 4)))
    for block in range(result.shape[1] // 4):
        low = rows.astype(np.uint64) & np.uint64(_MASK)
        high = rows.astype(np.uint64) >> np.uint64(32)
        third = np.full(len(rows), block, dtype=np.uint64)
        fourth = np.full(len(rows), sweep, dtype=np.uint64)
        counter = (low, high, third, fourth)
        key = (int(words[0]), int(words[1]))
        for _ in range(_ROUNDS):
            first = counter[0] * np.uint64(_MULTIPLY_0)
            second = counter[2] * np.uint64(_MULTIPLY_1)
            counter = (
                (second >> np.uint64(32)) ^ counter[1] ^ np.uint64(key[0]),
                second & np.uint64(_MASK),
                (first >> np.uint64(32)) ^ counter[3] ^ np.uint64(key[1]),
                first & np.uint64(_MASK),
            )
            key = ((key[0] + _WEYL_0) & _MASK, (key[1] + _WEYL_1) & _MASK)
        for lane in range(4):
            result[:, 4 * block + lane] = (counter[lane].astype(np.float64) + 0.5) * 2.0**-32
    return result[:, :slots]


@nb.njit(cache=True, inline="always")
def philox(row, block, sweep, key_0, key_1):  # type: ignore[no-untyped-def]
    """Four 32-bit outputs of Philox-4x32-10, as unsigned 64-bit numbers."""
    mask = np.uint64(_MASK)
    shift = np.uint64(32)
    c0 = np.uint64(row) & mask
    c1 = np.uint64(row) >> shift
    c2 = np.uint64(block)
    c3 = np.uint64(sweep)
    k0 = np.uint64(key_0)
    k1 = np.uint64(key_1)
    for _ in range(_ROUNDS):
        first = c0 * np.uint64(_MULTIPLY_0)
        second = c2 * np.uint64(_MULTIPLY_1)
        c0 = (second >> shift) ^ c1 ^ k0
        c1 = second & mask
        c2 = (first >> shift) ^ c3 ^ k1
        c3 = first & mask
        k0 = (k0 + np.uint64(_WEYL_0)) & mask
        k1 = (k1 + np.uint64(_WEYL_1)) & mask
    return c0, c1, c2, c3


@nb.njit(cache=True)
def fill_uniforms(out, row, sweep, key_0, key_1, first_slot, last_slot):  # type: ignore[no-untyped-def]
    """Write the row's uniforms of slots first_slot … last_slot − 1 to ``out[0:]``."""
    scale = 2.0**-32
    slot = first_slot
    while slot < last_slot:
        outputs = philox(row, slot >> 2, sweep, key_0, key_1)
        for lane in range(slot & 3, 4):
            if slot < last_slot:
                out[slot - first_slot] = (np.float64(outputs[lane]) + 0.5) * scale
                slot += 1
