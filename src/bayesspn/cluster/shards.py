"""`WorkerShards`: rows held by workers, to the sampler as good as rows of its own."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import numpy as np

from bayesspn.arrays import Array, IntArray
from bayesspn.cluster.messages import pack_circuit
from bayesspn.cluster.worker import add_totals
from bayesspn.cluster.workers import Workers, call_alike
from bayesspn.engine.row_sums import Address, RowSums, add_row_sums, from_fixed_point
from bayesspn.engine.shards import choose_rows
from bayesspn.leaves.columns import Leaves
from bayesspn.model.circuit import Circuit
from bayesspn.rows.codebook import Codebook, build_codebook, merge_digests
from bayesspn.rows.fingerprints import HashArray

#: Categories are counted in 32 bits.
MOST_ROWS = 2**31 - 1


def encode_shards(workers: Workers, leaves: Leaves) -> Codebook:
    """Let workers who have read their rows encode them; the dictionary of the whole table."""
    columns = workers.broadcast(leaves)
    digest = merge_digests(call_alike(workers, "digest", columns))
    if digest.rows > MOST_ROWS:
        raise ValueError(
            f"the table has {digest.rows:,} rows, more than the {MOST_ROWS:,} that counts of "
            "categories can hold; learn from fewer of them"
        )
    totals = add_totals(call_alike(workers, "count", columns, digest.peaks))
    codebook = build_codebook(leaves, digest, totals)
    call_alike(workers, "encode", workers.broadcast(codebook), keep=True)
    return codebook


class WorkerShards:
    """Rows that workers hold; see `bayesspn.engine.shards.Shards`.

    Parameters
    ----------
    workers : Workers
        Who have read their rows.
    leaves : Leaves
        Describe the columns.
    ends : sequence of int
        The number after the last row of every worker.

    Attributes
    ----------
    bytes_moved : int
        Bytes of circuits sent and sums received so far.
    """

    def __init__(self, workers: Workers, leaves: Leaves, ends: Sequence[int]) -> None:
        self._workers = workers
        self._ends = np.asarray(ends)
        self._dictionary = encode_shards(workers, leaves)
        self._share = 1.0
        self._sampled_rows: int | None = None
        self.bytes_moved = 0

    @property
    def codebook(self) -> Codebook:
        """What the rows share."""
        return self._dictionary

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self._ends[-1]) if self._sampled_rows is None else self._sampled_rows

    def sampled(self, rows: int) -> WorkerShards:
        """About so many of the rows, the same for any split; they keep their numbers."""
        some = copy.copy(self)
        some._share = rows / self.n_rows
        some._sampled_rows = sum(call_alike(self._workers, "count_sampled", some._share))
        return some

    def row_pass(self, circuit: Circuit, address: Address) -> RowSums:
        """Draw z and s for every row and add up what they say."""
        message = pack_circuit(circuit)
        sent = self._workers.broadcast(message)
        parts = call_alike(self._workers, "row_pass", sent, address, self._share)
        total = add_row_sums(parts)
        arrays = (*total.edge_counts, *total.statistics)
        received = sum(array.nbytes for array in arrays)
        self.bytes_moved += len(parts) * (len(message) + received)
        return total

    def log_likelihood(self, circuit: Circuit) -> float:
        """Sum of the log densities of all rows."""
        message = self._workers.broadcast(pack_circuit(circuit))
        return from_fixed_point(
            sum(call_alike(self._workers, "log_likelihood", message, self._share))
        )

    def values(self, row_ids: IntArray) -> Array:
        """Values of some rows, NaN where missing; shape (row_ids, columns)."""
        holder = np.searchsorted(self._ends, row_ids, side="right")
        wanted = [(row_ids[holder == shard],) for shard in range(len(self._workers))]
        values = np.empty((len(row_ids), len(self._dictionary.values)))
        for shard, part in enumerate(self._workers.call("values", wanted)):
            values[holder == shard] = part
        return values

    def draw_ids(self, rng: np.random.Generator, most: int) -> IntArray:
        """Numbers of so many different rows, or of all if there are fewer; shape (rows,)."""
        places = rng.choice(self.n_rows, size=min(most, self.n_rows), replace=False)
        if self._sampled_rows is None:
            return places
        return np.flatnonzero(choose_rows(np.arange(self._ends[-1]), self._share))[places]

    def cell_hashes(self) -> HashArray:
        """Hash of the cells of every column, whoever holds them; shape (columns,)."""
        return np.sum(call_alike(self._workers, "hash"), axis=0, dtype=np.uint64)
