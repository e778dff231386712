"""How far do shards carry? Time, bytes moved and memory per process against the number of rows.

Simulated tables of 50 mixed columns with 10 % of the cells missing: ten each of real numbers,
positive numbers (Gaussian or log-normal), counts (Poisson or geometric), categories and truth
values. Every worker makes its own rows, so that the table is never in one place. Each case runs in
processes of its own: in process with two threads, or on Ray with two workers of one thread each.

    python bench/scaling.py [--rows N ...] [--engine local|ray ...] [--auto]

With --auto the graph is the one that estimators choose for very large tables of so many columns.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import logging
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from workbench import print_table, shared

from bayesspn import Key, Leaves, Model, describe_column, start_chain
from bayesspn.arrays import Array
from bayesspn.cluster.shards import WorkerShards
from bayesspn.cluster.workers import LocalWorkers, Workers
from bayesspn.engine.row_sums import Address, RowSums, add_row_sums
from bayesspn.engine.shards import Shards
from bayesspn.graphs import RegionGraph
from bayesspn.inference.chains import GrowingChain
from bayesspn.model.circuit import Circuit
from bayesspn.selection.defaults import choose_graph
from bayesspn.tables.partitions import divide_rows

COLUMNS_PER_KIND = 10
CLASSES = 32
MISSING = 0.1
CHUNK = 65_536
GRAPH = shared((4, 1, 1), 16)
AUTO_GRAPH = choose_graph(10**9, 50)
WORKERS = 2
SWEEPS = 5
MOST_SECONDS = 240.0
KINDS: tuple[tuple[str, ...], ...] = (
    ("gaussian",),
    ("gaussian", "lognormal"),
    ("poisson", "geometric"),
    ("categorical",),
    ("bernoulli",),
)


def simulate_chunk(number: int) -> Array:
    """Rows ``number * CHUNK`` and on, from latent classes; (CHUNK, 50)."""
    levels = np.random.default_rng(0).normal(size=(COLUMNS_PER_KIND, CLASSES))
    rng = np.random.default_rng((1, number))
    classes = rng.integers(CLASSES, size=CHUNK)
    values = np.empty((CHUNK, len(KINDS) * COLUMNS_PER_KIND))
    for place, of_class in enumerate(levels):
        level = of_class[classes]
        first = place * len(KINDS)
        values[:, first] = rng.normal(level, 0.5)
        values[:, first + 1] = np.exp(rng.normal(level, 0.5))
        values[:, first + 2] = rng.poisson(np.exp(level))
        values[:, first + 3] = np.clip(np.rint(level + rng.normal(size=CHUNK)), -3, 3) + 3
        values[:, first + 4] = rng.random(CHUNK) < 1 / (1 + np.exp(-3 * level))
    values[rng.random(values.shape, dtype=np.float32) < MISSING] = np.nan
    return values


@dataclass(frozen=True)
class SimulatedSource:
    """Rows ``first`` to ``end − 1`` of the endless simulated table."""

    first: int
    end: int

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.end - self.first

    def pieces(self) -> Iterator[Array]:
        """The rows, chunk by chunk."""
        for number in range(self.first // CHUNK, -(-self.end // CHUNK)):
            low, high = self.first - number * CHUNK, self.end - number * CHUNK
            yield simulate_chunk(number)[max(low, 0) : high].copy()


def describe() -> Leaves:
    sample = simulate_chunk(0)
    return Leaves(
        tuple(
            describe_column(f"x{d}", sample[:, d], KINDS[d % len(KINDS)])
            for d in range(sample.shape[1])
        )
    )


class Watched:
    """Shards whose row passes are timed."""

    def __init__(self, shards: Shards) -> None:
        self._shards = shards
        self.codebook, self.n_rows = shards.codebook, shards.n_rows
        self.values, self.draw_ids = shards.values, shards.draw_ids
        self.cell_hashes = shards.cell_hashes
        self.log_likelihood, self.sampled = shards.log_likelihood, shards.sampled
        self.seconds: list[float] = []
        self.sums: RowSums | None = None

    def row_pass(self, circuit: Circuit, address: Address) -> RowSums:
        """Draw z and s for every row and add up what they say."""
        begin = time.perf_counter()
        self.sums = self._shards.row_pass(circuit, address)
        self.seconds.append(time.perf_counter() - begin)
        return self.sums


def peak_of_process(pid: int) -> int:
    """Most bytes that a process ever held."""
    status = Path(f"/proc/{pid}/status").read_text().splitlines()
    return 1024 * int(next(line for line in status if "VmHWM" in line).split()[1])


def processor_time(pid: int) -> float:
    """Seconds that the threads of a process have computed: what others take does not count."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def array_bytes(thing: object) -> int:
    """Bytes of all arrays inside tuples and dataclasses."""
    if isinstance(thing, np.ndarray):
        return thing.nbytes
    if isinstance(thing, tuple):
        return sum(map(array_bytes, thing))
    if dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        return sum(array_bytes(getattr(thing, f.name)) for f in dataclasses.fields(thing))
    return 0


def start_workers(engine: str) -> tuple[Workers, list[int]]:
    """Workers, and the processes that hold rows."""
    if engine == "local":
        return LocalWorkers(1), [os.getpid()]
    import ray

    from bayesspn.cluster.ray_workers import RayWorkers

    ray.init(
        "local",
        num_cpus=WORKERS,
        object_store_memory=200_000_000,
        include_dashboard=False,
        log_to_driver=False,
        logging_level=logging.ERROR,
    )
    workers = RayWorkers(WORKERS, WORKERS)
    return workers, workers.pids()


def run_child(rows: int, engine: str, graph: RegionGraph) -> None:
    """Print what a chain on so many rows takes."""
    leaves = describe()
    model = Model(graph, leaves)
    workers, pids = start_workers(engine)
    # compiled code is loaded before anything is timed
    few = divide_rows(1_000, len(workers))
    workers.call("read", [(SimulatedSource(*span),) for span in few])
    warm = WorkerShards(workers, leaves, [end for _, end in few])
    GrowingChain(start_chain(Key(0), model, warm), warm, burn_in=0, thin=1).step()
    peaks_before = [peak_of_process(pid) for pid in pids]

    begin = time.perf_counter()
    spans = divide_rows(rows, len(workers))
    workers.call("read", [(SimulatedSource(*span),) for span in spans])
    shards = WorkerShards(workers, leaves, [end for _, end in spans])
    loaded = time.perf_counter() - begin
    watched = Watched(shards)
    chain = GrowingChain(start_chain(Key(0), model, watched), watched, burn_in=10**9, thin=1)
    chain.step()  # the first sweep has few, equal components
    moved = shards.bytes_moved
    computed = sum(map(processor_time, pids))
    seconds: list[float] = []
    while len(seconds) < SWEEPS and (len(seconds) < 2 or sum(seconds) < MOST_SECONDS):
        begin = time.perf_counter()
        chain.step()
        seconds.append(time.perf_counter() - begin)
    computed = sum(map(processor_time, pids)) - computed
    assert watched.sums is not None
    begin = time.perf_counter()
    add_row_sums([watched.sums] * 8)
    adding = (time.perf_counter() - begin) / 8
    result: dict[str, Any] = {
        "loaded": loaded,
        "sweep": float(np.median(seconds)),
        "computed": computed / len(seconds),
        "row_pass": float(np.median(watched.seconds[1:])),
        "moved": (shards.bytes_moved - moved) / len(seconds) if engine == "ray" else 0,
        "sums": array_bytes(watched.sums),
        "adding": adding,
        "driver": peak_of_process(os.getpid()),
        "workers": [peak_of_process(pid) for pid in pids],
        "before": peaks_before,
    }
    if isinstance(workers, LocalWorkers):
        result["encoded"] = array_bytes(workers.workers[0].rows.blocks)
    workers.close()
    print(json.dumps(result), flush=True)


def measure(rows: int, engine: str, auto: bool) -> dict[str, Any]:
    command = [sys.executable, __file__, "--child", str(rows), engine, *["--auto"] * auto]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def mebibytes(size: float) -> str:
    return f"{size / 2**20:,.1f}" if size < 2**24 else f"{size / 2**20:,.0f}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure how time and memory grow with rows.")
    parser.add_argument("--rows", type=int, nargs="+", default=[10**4, 10**5, 10**6, 10**7])
    parser.add_argument("--engine", nargs="+", choices=("local", "ray"), default=["local", "ray"])
    parser.add_argument("--auto", action="store_true", help="the graph of large tables")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        graph = AUTO_GRAPH if arguments.auto else GRAPH
        run_child(int(arguments.child[0]), arguments.child[1], graph)
        return
    lines, terms = [], []
    for engine in arguments.engine:
        for rows in arguments.rows:
            found = measure(rows, engine, arguments.auto)
            grown = max(found["workers"]) - max(found["before"])
            lines.append(
                (
                    engine,
                    f"{rows:,}",
                    f"{found['sweep']:.3f}",
                    f"{1e6 * found['sweep'] / rows:.2f}",
                    f"{1e6 * found['computed'] / rows:.2f}",
                    mebibytes(found["moved"]) if engine == "ray" else "–",
                    mebibytes(found["driver"]),
                    mebibytes(max(found["workers"])) if engine == "ray" else "–",
                    f"{grown * len(found['workers']) / rows:,.0f}",
                )
            )
            terms.append(
                (
                    engine,
                    f"{rows:,}",
                    f"{found['loaded']:.1f}",
                    f"{1e3 * (found['sweep'] - found['row_pass']):.0f}",
                    mebibytes(found["sums"]),
                    f"{1e3 * found['adding']:.1f}",
                    f"{found['encoded'] / rows:,.0f}" if engine == "local" else "–",
                )
            )
            print(engine, rows, found, file=sys.stderr, flush=True)
    heads = ("s per sweep", "µs per row", "computed, µs per row", "MiB moved per sweep")
    more = ("peak of the driver, MiB", "of a worker", "bytes per row")
    print_table(("engine", "rows", *heads, *more), lines)
    heads = ("read and encode, s", "rest of the sweep, ms", "sums, MiB", "adding a shard's, ms")
    print_table(("engine", "rows", *heads, "encoded, bytes per row"), terms)


if __name__ == "__main__":
    main()
