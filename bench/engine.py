"""How fast is a sweep? Ratios to one matrix product of the data, measured in the same run.

For every case: the time of a sweep over the time of one float32 product of the data
(rows × columns) with a (columns × 1024) matrix, over the oracle's sweep, and where the time goes.

    python bench/engine.py --data FOLDER [NAME ...]

FOLDER holds debd/NAME.npz and het/NAME.npz; BAYESSPN_DATA does the same.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from pathlib import Path

import numba
import numpy as np
from workbench import add_data_option, clock, data_folder, load, peak_memory, shared

from bayesspn.engine import compiled, oracle
from bayesspn.engine.row_sums import Address
from bayesspn.graphs import RegionGraph
from bayesspn.inference.chains import run_chain, run_chains, start_chain
from bayesspn.inference.circuits import draw_circuit
from bayesspn.inference.scopes import draw_scopes, region_log_marginals
from bayesspn.inference.state import statistics_in_scope
from bayesspn.inference.sweep import draw_hyper_parameters
from bayesspn.model.generative import Model
from bayesspn.numerics.random_numbers import Key, Stream
from bayesspn.rows.encoded import encode_rows

WARM_UP = 30
SWEEPS = 20
ORACLE_ROWS = 256


@dataclass(frozen=True)
class Case:
    """A data set, a graph and the ratio to stay below (none if it is only shown)."""

    name: str
    graph: RegionGraph
    most: float | None


CASES = (
    Case("plants", RegionGraph(1, 8, leaves=10), 0.25),
    Case("plants", RegionGraph(2, 4, sums=10, leaves=10), 1.0),
    Case("nltcs", RegionGraph(2, 4, sums=5, leaves=5), 0.5),
    Case("accidents", shared((16, 1, 1, 1, 1, 1), 16), 5.0),
    Case("c20ng", RegionGraph(1, 4, leaves=10), 0.25),
    Case("msnbc", RegionGraph(1, 4, leaves=10), 0.1),
    Case("adult", shared((8, 1), 16), None),
)


def measure(case: Case, folder: Path) -> None:
    table = load(folder, case.name)
    X, leaves = table.training, table.leaves
    data = np.nan_to_num(X).astype(np.float32)
    factor = np.ones((X.shape[1], 1024), dtype=np.float32)
    product = clock(lambda: data @ factor, 3)
    model = Model(case.graph, leaves)
    rows = encode_rows(leaves, X)
    chain = run_chain(start_chain(Key(0), model, rows), rows, burn_in=WARM_UP, draws=0)
    rounds = []
    for _ in range(3):  # the best of three, as for everything else here
        begin = time.perf_counter()
        chain = run_chain(chain, rows, burn_in=SWEEPS, draws=0)
        rounds.append(1e3 * (time.perf_counter() - begin) / SWEEPS)
    sweep = min(rounds)
    key, state, t = chain.key, chain.state, chain.sweep
    circuit = draw_circuit(key, t, model, state)
    address = Address(key.words(), t)
    sums = compiled.row_pass(circuit, rows, address)
    evidence = region_log_marginals(rows.codebook, state.hyper, sums)
    rng = key.generator(t, Stream.SCOPES)
    phases = {
        "parameters": clock(lambda: draw_circuit(key, t, model, state), 3),
        "row pass": clock(lambda: compiled.row_pass(circuit, rows, address), 3),
        "evidence": clock(lambda: region_log_marginals(rows.codebook, state.hyper, sums), 3),
        "scopes": clock(lambda: draw_scopes(rng, state.scope, evidence, 1.0), 3)
        + clock(lambda: statistics_in_scope(rows.codebook, state.scope, sums.statistics), 3),
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


def compare_chains(folder: Path) -> None:
    """Two chains side by side, a core each, against one after the other on two threads."""
    table = load(folder, "plants")
    model = Model(shared((8, 1, 1, 1), 16), table.leaves)
    rows = encode_rows(model.leaves, table.training)
    chains = [start_chain(Key(0, number), model, rows) for number in range(2)]
    run_chains(chains, rows, draws=1, n_jobs=2)  # starts the processes
    begin = time.perf_counter()
    run_chains(chains, rows, burn_in=10 * SWEEPS, draws=1, n_jobs=2)
    together = time.perf_counter() - begin
    begin = time.perf_counter()
    for chain in chains:
        run_chain(chain, rows, burn_in=10 * SWEEPS, draws=1)
    in_turn = time.perf_counter() - begin
    print(
        f"two chains on plants: side by side {together:.1f} s, in turn on "
        f"{numba.get_num_threads()} threads {in_turn:.1f} s, ratio {together / in_turn:.2f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure sweeps against one matrix product.")
    parser.add_argument("names", nargs="*", help="data sets, all if none is given")
    add_data_option(parser)
    arguments = parser.parse_args()
    folder = data_folder(parser, arguments)
    print(f"{numba.get_num_threads()} threads")
    for case in CASES:
        if not arguments.names or case.name in arguments.names:
            measure(case, folder)
    if not arguments.names:
        compare_chains(folder)
    print(f"peak memory {peak_memory() / 2**20:.0f} MiB")


if __name__ == "__main__":
    main()
