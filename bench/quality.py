"""How long until a chain reaches the paper? Seconds of sampling to its test log-likelihood.

One chain per data set on train + valid rows, hyper-parameters learned, every fifth draw kept. At
checkpoints, which lie further and further apart, the test rows are scored with the average over the
last half of the draws so far. Encoding and the start of the chain count as sampling; compilation
and scoring do not, and scoring is shown.

    python bench/quality.py --data FOLDER [--seconds 60] [NAME ...]

FOLDER holds debd/NAME.npz; BAYESSPN_DATA does the same. The graphs are fixed, not selected: they
were found with test scores in sight, so read this as speed, not as a result on these data sets.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numba
import numpy as np
from workbench import Table, add_data_option, binary_leaves, data_folder, load, print_table, shared

from bayesspn import Key, Model, RegionGraph, encode_rows, merge_chains, run_chain, start_chain

THIN = 5
FIRST_CHECKPOINT = 10
CHECKPOINT_RATIO = 1.25


@dataclass(frozen=True)
class Case:
    """A data set, a graph, and the score to reach."""

    name: str
    graph: RegionGraph
    paper: float


# Trapp et al., NeurIPS 2019, table 1: the better of their finite and infinite mixtures
CASES = (
    Case("nltcs", RegionGraph(1, 4, leaves=10), -6.00),
    Case("plants", shared((8, 1, 1, 1), 48), -12.68),
    Case("baudio", shared((8, 1, 1), 24), -39.77),
    Case("accidents", shared((16, 1, 1, 1, 1, 1), 16), -33.89),
    Case("dna", shared((2, 1, 1, 1, 1, 1), 24), -92.84),
)


@dataclass(frozen=True)
class Checkpoint:
    """Where a chain stands."""

    sweeps: int
    seconds: float
    score: float


def run(case: Case, table: Table, seconds: float, seed: int) -> tuple[list[Checkpoint], float]:
    """Checkpoints of a chain, the last one when its time is up, and the seconds of all scoring."""
    begin = time.perf_counter()
    model = Model(case.graph, table.leaves)
    rows = encode_rows(model.leaves, table.training)
    chain = start_chain(Key(seed), model, rows)
    sampling, scoring = time.perf_counter() - begin, 0.0
    checkpoints: list[Checkpoint] = []
    due = FIRST_CHECKPOINT
    while sampling < seconds:
        begin = time.perf_counter()
        chain = run_chain(chain, rows, draws=1, thin=THIN)
        sampling += time.perf_counter() - begin
        if chain.sweep >= due or sampling >= seconds:
            due = round(chain.sweep * CHECKPOINT_RATIO)
            # later checkpoints look at later halves: what is dropped here is never needed again
            chain = replace(chain, draws=chain.draws[-max(1, chain.sweep // THIN // 2) :])
            begin = time.perf_counter()
            score = merge_chains([chain]).score_samples(table.test).mean()
            scoring += time.perf_counter() - begin
            checkpoints.append(Checkpoint(chain.sweep, sampling, float(score)))
    return checkpoints, scoring


def measure(case: Case, folder: Path, seconds: float, seed: int) -> tuple[str, ...]:
    checkpoints, scoring = run(case, load(folder, case.name), seconds, seed)
    last = checkpoints[-1]
    reached = next((c for c in checkpoints if c.score >= case.paper), None)
    return (
        case.name,
        f"{case.graph.partitions} × {case.graph.leaves}, {case.graph.products}",
        f"{case.paper:.2f}",
        "not reached" if reached is None else f"{reached.sweeps:,}",
        "–" if reached is None else f"{reached.seconds:.1f}",
        f"{last.score:.3f}",
        f"{last.sweeps:,}",
        f"{last.seconds:.1f}",
        f"{scoring:.1f}",
    )


def compile_engine() -> None:
    X = np.random.default_rng(0).integers(0, 2, size=(50, 4)).astype(np.float64)
    leaves = binary_leaves(X)
    rows = encode_rows(leaves, X)
    for graph in (RegionGraph(1, 2, leaves=2), shared((2, 1), 2)):
        chain = run_chain(start_chain(Key(0), Model(graph, leaves), rows), rows, draws=2)
        merge_chains([chain]).score_samples(X)


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure seconds to the paper's figures.")
    parser.add_argument("names", nargs="*", help="data sets, all if none is given")
    parser.add_argument("--seconds", type=float, default=60.0, help="sampling time per data set")
    parser.add_argument("--seed", type=int, default=0)
    add_data_option(parser)
    arguments = parser.parse_args()
    folder = data_folder(parser, arguments)
    unknown = set(arguments.names) - {case.name for case in CASES}
    if unknown:
        parser.error(f"unknown data sets: {', '.join(sorted(unknown))}")
    compile_engine()
    lines = [
        measure(case, folder, arguments.seconds, arguments.seed)
        for case in CASES
        if not arguments.names or case.name in arguments.names
    ]
    print(f"{numba.get_num_threads()} threads, one chain of {arguments.seconds:g} s\n")
    print_table(
        (
            "data set",
            "partitions × states",
            "paper",
            "sweeps to it",
            "seconds to it",
            "at the end",
            "sweeps",
            "seconds",
            "scoring, s",
        ),
        lines,
    )


if __name__ == "__main__":
    main()
