"""How fast are rows scored? Against SPFlow's log-likelihood, measured in the same run.

A short chain on plants gives the draws. `Posterior.score_samples` is timed on the test rows for all
draws and for one, everything included (encoding, circuits, averaging); next to it one circuit on
encoded rows. SPFlow's circuits are of about the same number of edges, and each rival is shown at
its best batch size: RAT-SPN and linsum are the same circuit as ours, einsum has cross products, and
LearnSPN is as large as it gets in seconds of learning. An edge is one input of one node: every
weight of a sum, every child of a product, and every column of a factorised leaf. As edges differ a
little (a lot for LearnSPN), ratios compare rows × edges per second.

    python bench/scoring.py --data FOLDER [--rival-python PATH]

FOLDER holds debd/plants.npz; BAYESSPN_DATA does the same. `make bench-scoring` makes a virtual
environment .rivals/spflow with SPFlow, which is used unless PATH names another interpreter.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numba
import numpy as np
from workbench import Table, add_data_option, clock, data_folder, load, print_table, shared

from bayesspn import (
    Key,
    Model,
    Posterior,
    RegionGraph,
    encode_rows,
    merge_chains,
    run_chain,
    start_chain,
)
from bayesspn.engine import compiled

HERE = Path(__file__).resolve().parent
LEAST_RATIO = 20.0
PARTITIONS = (8, 1, 1, 1)
BURN_IN = 20


def count_edges(graph: RegionGraph, columns: int) -> int:
    """Inputs of all sums, products and factorised leaves."""
    in_leaves = columns * graph.n_paths * graph.leaves
    in_products = sum(
        regions * partitions * products * graph.children
        for regions, _, partitions, products in graph.weight_shapes
    )
    return graph.n_weights + in_products + in_leaves


def time_rival(python: Path, table: Table, graph: RegionGraph, threads: int) -> list[Any]:
    """SPFlow's circuits with the same number of edges: what `bench/spflow_scoring.py` prints."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npz"
        np.savez(path, train=table.training.astype(np.uint8), test=table.test.astype(np.uint8))
        command = [str(python), str(HERE / "spflow_scoring.py"), str(path)]
        command += ["--edges", str(count_edges(graph, table.test.shape[1]))]
        command += ["--depth", str(graph.depth), "--repetitions", str(graph.n_paths)]
        command += ["--threads", str(threads)]
        paths = os.environ | {"PYTHONPATH": str(HERE.parent / "experiments")}
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=paths)
    return list(json.loads(done.stdout))


def time_ours(table: Table, graph: RegionGraph, draws: int) -> dict[str, float]:
    """Microseconds per row and draw."""
    model = Model(graph, table.leaves)
    rows = encode_rows(model.leaves, table.training)
    chain = start_chain(Key(0), model, rows)
    posterior = merge_chains([run_chain(chain, rows, burn_in=BURN_IN, draws=draws)])
    single = Posterior(model, ((posterior.draws[0][-1],),))
    test, circuit = encode_rows(model.leaves, table.test), next(single.circuits())
    times = {
        f"score_samples, {draws} draws": clock(lambda: posterior.score_samples(table.test), 1)
        / draws,
        "score_samples, 1 draw": clock(lambda: single.score_samples(table.test), 5),
        "one circuit, encoded rows": clock(lambda: compiled.log_likelihood(circuit, test), 5),
    }
    return {name: 1e3 * ms / len(table.test) for name, ms in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure scoring against SPFlow.")
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--states", type=int, default=48, help="sums and leaves per region")
    parser.add_argument("--threads", type=int, default=2, help="of both sides")
    parser.add_argument(
        "--rival-python", type=Path, default=HERE.parent / ".rivals" / "spflow" / "bin" / "python"
    )
    add_data_option(parser)
    arguments = parser.parse_args()
    folder = data_folder(parser, arguments)
    if not arguments.rival_python.is_file():
        sys.exit(
            f"{arguments.rival_python} does not exist: run `make bench-scoring`, "
            "or name an interpreter that has SPFlow with --rival-python"
        )
    threads = min(arguments.threads, numba.get_num_threads())
    numba.set_num_threads(threads)
    table, graph = load(folder, "plants"), shared(PARTITIONS, arguments.states)
    edges = count_edges(graph, table.test.shape[1])
    ours = time_ours(table, graph, arguments.draws)
    rivals = time_rival(arguments.rival_python, table, graph, threads)

    print(f"plants, {len(table.test):,} test rows, {edges:,} edges, {threads} threads\n\n{graph}\n")
    lines = []
    for name, us in ours.items():
        draws = arguments.draws if name.endswith("draws") else 1
        rates = (f"{1e6 / us:,.0f}", f"{1e6 / us / draws:,.0f}")
        lines.append((f"bayesspn, {name}", f"{edges:,}", "", f"{us:.2f}", *rates))
    for rival in rivals:
        us = 1e6 * rival["seconds_per_row"]
        rates = (f"{1e6 / us:,.0f}", f"{1e6 / us:,.0f}")
        batch = f"{rival['batch']:,}"
        name = f"SPFlow, {rival['circuit']}"
        lines.append((name, f"{rival['edges']:,}", batch, f"{us:.2f}", *rates))
    print_table(
        ("", "edges", "batch", "µs per row and circuit", "rows × circuits per s", "rows per s"),
        lines,
    )
    print(f"Times faster per row and edge (at least {LEAST_RATIO:g} wanted):\n")
    print_table(
        ("against", *ours),
        [
            (
                rival["circuit"],
                *(
                    f"{1e6 * rival['seconds_per_row'] / rival['edges'] / us * edges:.1f}"
                    for us in ours.values()
                ),
            )
            for rival in rivals
        ],
    )


if __name__ == "__main__":
    main()
