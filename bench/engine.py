"""How fast is a sweep? Ratios to one matrix product of the data, measured in the same run.

For every case: the time of a sweep over the time of one float32 product of the data
(rows × columns) with a (columns × 1024) matrix, over the oracle's sweep, and where the time goes.

    python bench/engine.py --data FOLDER [NAME ...]

FOLDER holds debd/NAME.npz and het/NAME.npz; BAYESSPN_DATA does the same.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numba
import numpy as np

from bayesspn.engine import compiled, oracle
from bayesspn.engine.circuit import Address
from bayesspn.graphs import RegionGraph
from bayesspn.leaves.columns import Column, Leaves, describe_column
from bayesspn.leaves.family import Array
from bayesspn.model import Model
from bayesspn.randomness import Key, Stream
from bayesspn.rows import encode_rows
from bayesspn.sampling.chains import run_chain, start_chain
from bayesspn.sampling.scopes import draw_scopes, region_evidence
from bayesspn.sampling.state import statistics_in_scope
from bayesspn.sampling.sweep import draw_circuit, draw_hyper_parameters

WARM_UP = 30
SWEEPS = 20
ORACLE_ROWS = 256


@dataclass(frozen=True)
class Case:
    """A data set, a graph and the ratio to stay below (none if it is only shown)."""

    name: str
    graph: RegionGraph
    most: float | None


def shared(partitions: tuple[int, ...], states: int) -> RegionGraph:
    return RegionGraph(len(partitions), partitions, sums=states, leaves=states, products="shared")


CASES = (
    Case("plants", RegionGraph(1, 8, leaves=10), 0.25),
    Case("plants", RegionGraph(2, 4, sums=10, leaves=10), 1.0),
    Case("nltcs", RegionGraph(2, 4, sums=5, leaves=5), 0.5),
    Case("accidents", shared((16, 1, 1, 1, 1, 1), 16), 5.0),
    Case("c20ng", RegionGraph(1, 4, leaves=10), 0.25),
    Case("msnbc", RegionGraph(1, 4, leaves=10), 0.1),
    Case("adult", shared((8, 1), 16), None),
)


def load(folder: Path, name: str) -> tuple[Array, Leaves]:
    """Training rows (train + valid) and their columns."""
    kind = "debd" if (folder / "debd" / f"{name}.npz").is_file() else "het"
    path = folder / kind / f"{name}.npz"
    if not path.is_file():
        sys.exit(f"{path} does not exist: give the folder with --data or BAYESSPN_DATA")
    with np.load(path) as parts:
        X = np.concatenate([parts["train"], parts["valid"]]).astype(np.float64)
    if kind == "debd":
        columns = [describe_column(f"x{d}", X[:, d], "bernoulli") for d in range(X.shape[1])]
    else:
        described = json.loads(path.with_suffix(".json").read_text())["columns"]
        columns = [describe_mixed(entry, X[:, d]) for d, entry in enumerate(described)]
    return X, Leaves(tuple(columns))


def describe_mixed(entry: dict[str, object], values: Array) -> Column:
    name = str(entry["name"])
    if entry["meta_type"] == "discrete":
        few = np.nanmax(values) < 5
        return describe_column(name, values, "categorical" if few else ("categorical", "poisson"))
    positive = np.nanmin(values) > 0
    return describe_column(name, values, ("gaussian", "lognormal" if positive else "exponential"))


def clock(action: Callable[[], object], repeat: int) -> float:
    """Milliseconds per call, the best of three rounds."""
    action()
    rounds = []
    for _ in range(3):
        begin = time.perf_counter()
        for _ in range(repeat):
            action()
        rounds.append((time.perf_counter() - begin) / repeat)
    return 1e3 * min(rounds)


def measure(case: Case, folder: Path) -> None:
    X, leaves = load(folder, case.name)
    data = np.nan_to_num(X).astype(np.float32)
    factor = np.ones((X.shape[1], 1024), dtype=np.float32)
    product = clock(lambda: data @ factor, 3)
    model = Model(case.graph, leaves)
    rows = encode_rows(leaves, X)
    chain = run_chain(start_chain(Key(0), model, rows), rows, burn_in=WARM_UP, draws=0)
    begin = time.perf_counter()
    chain = run_chain(chain, rows, burn_in=SWEEPS, draws=0)
    sweep = 1e3 * (time.perf_counter() - begin) / SWEEPS
    key, state, t = chain.key, chain.state, chain.sweep
    circuit = draw_circuit(key, t, model, state)
    address = Address(key.words(), t)
    sums = compiled.row_pass(circuit, rows, address)
    evidence = region_evidence(rows.dictionary, state.hyper, sums)
    rng = key.generator(t, Stream.SCOPES)
    phases = {
        "parameters": clock(lambda: draw_circuit(key, t, model, state), 3),
        "row pass": clock(lambda: compiled.row_pass(circuit, rows, address), 3),
        "evidence": clock(lambda: region_evidence(rows.dictionary, state.hyper, sums), 3),
        "scopes": clock(lambda: draw_scopes(rng, state.scope, evidence, 1.0), 3)
        + clock(lambda: statistics_in_scope(rows.dictionary, state.scope, sums.statistics), 3),
        "hyper": clock(lambda: draw_hyper_parameters(key, t, model, state), 3),
    }
    few = encode_rows(leaves, X[:ORACLE_ROWS])
    slow = clock(lambda: oracle.row_pass(circuit, few, address), 1) * len(X) / ORACLE_ROWS
    verdict = ""
    if case.most is not None:
        verdict = f"at most {case.most}: {'yes' if sweep / product <= case.most else 'NO'}"
    print(
        f"{case.name:10s} depth {case.graph.depth} {case.graph.products:6s} sweep {sweep:8.1f} ms  "
        f"product {product:7.1f} ms  ratio {sweep / product:6.2f}  {verdict:15s} "
        f"oracle's row pass × {slow / phases['row pass']:.0f}"
    )
    print("           " + ", ".join(f"{name} {ms:.1f}" for name, ms in phases.items()), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure sweeps against one matrix product.")
    parser.add_argument("names", nargs="*", help="data sets, all if none is given")
    parser.add_argument("--data", type=Path, default=os.environ.get("BAYESSPN_DATA"))
    arguments = parser.parse_args()
    if arguments.data is None:
        parser.error("give the folder of the data sets with --data or BAYESSPN_DATA")
    print(f"{numba.get_num_threads()} threads")
    for case in CASES:
        if not arguments.names or case.name in arguments.names:
            measure(case, Path(arguments.data))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory {peak:.0f} MiB")


if __name__ == "__main__":
    main()
