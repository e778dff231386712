"""How does the cost grow? Time per sweep against the size of table and graph, and peak memory.

Binary tables from a latent-class model, so that rows differ; shared products. One thing varies at a
time around the base case: 10,000 rows × 150 columns, a fifth of the cells set, K = I = 16, depth 3
with 8 partitions at the root and one below. Set bits vary at 1,000 columns.

Memory: peak of a fit over the bytes of the encoded rows plus those of the draws kept. Each fit runs
in its own process, and the peak of one that only imports and compiles is taken off; "fit" starts
from encoded rows, "encode + fit" from a float64 table, which counts.

    python bench/growth.py [--cells N] [--plot FILE.svg] [PART ...]

PART is rows, columns, states, depth, bits or memory, all if none is given.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import pickle
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import numba
import numpy as np
from workbench import binary_leaves, peak_memory, print_table, shared

from bayesspn import (
    Chain,
    EncodedRows,
    Key,
    Leaves,
    Model,
    describe_column,
    encode_rows,
    run_chain,
    start_chain,
)
from bayesspn.arrays import Array
from bayesspn.inference.sweep import SweepInfo

CLASSES = 32
ROOT_PARTITIONS = 8
WARM_UP = 5
LEAST_SWEEPS = 5
LEAST_SECONDS = 1.0
FIT = shared((ROOT_PARTITIONS, 1, 1), 16)
FIT_BURN_IN = 5
FIT_DRAWS = 20
MOST_MEMORY = 10.0


@dataclass(frozen=True)
class Case:
    """A simulated table and a graph."""

    rows: int = 10_000
    columns: int = 150
    density: float = 0.2
    states: int = 16
    depth: int = 3


@dataclass(frozen=True)
class Part:
    """Cases in which one thing varies.

    Attributes
    ----------
    title : str
    cases : tuple of (float, Case)
        What varies, and the case.
    per : {"cell", "set bit"}
        What the time is divided by.
    """

    title: str
    cases: tuple[tuple[float, Case], ...]
    per: Literal["cell", "set bit"] = "cell"


@dataclass
class Curve:
    """Measured points of a part."""

    title: str
    sizes: list[float] = field(default_factory=list)
    milliseconds: list[float] = field(default_factory=list)


BASE = Case()
PARTS = {
    "rows": Part(
        "rows", tuple((n, replace(BASE, rows=n)) for n in (1_000, 10_000, 100_000, 1_000_000))
    ),
    "columns": Part(
        "columns", tuple((d, replace(BASE, columns=d)) for d in (10, 50, 150, 500, 1_500))
    ),
    "states": Part("K = I", tuple((k, replace(BASE, states=k)) for k in (4, 8, 16, 32, 64))),
    "depth": Part("depth", tuple((n, replace(BASE, depth=n)) for n in range(1, 7))),
    "bits": Part(
        "set bits per row",
        tuple(
            (1_000 * share, replace(BASE, columns=1_000, density=share))
            for share in (0.01, 0.02, 0.05, 0.2, 0.5)
        ),
        per="set bit",
    ),
}


def simulate(case: Case, seed: int = 0) -> Array:
    """Rows of a latent-class model whose cells are set with the wanted density on average."""
    rng = np.random.default_rng(seed)
    # Beta with this mean: classes differ, no column is constant
    chances = rng.beta(2 * case.density, 2 * (1 - case.density), size=(CLASSES, case.columns))
    chances = np.clip(chances, 0.1 * case.density, 1 - 0.1 * case.density).astype(np.float32)
    X = np.empty((case.rows, case.columns))
    for start in range(0, case.rows, 10_000):
        part = X[start : start + 10_000]
        classes = rng.integers(CLASSES, size=len(part))
        part[:] = rng.random(part.shape, dtype=np.float32) < chances[classes]
    return X


def time_sweep(chain: Chain, rows: EncodedRows) -> float:
    """Milliseconds per sweep: the median after a few sweeps."""
    stamps: list[float] = []

    def stamp(_: int, info: SweepInfo) -> None:
        stamps.append(time.perf_counter())

    chain = run_chain(chain, rows, burn_in=WARM_UP, draws=0)
    begin = time.perf_counter()
    while len(stamps) < LEAST_SWEEPS or stamps[-1] - begin < LEAST_SECONDS:
        stamps.append(time.perf_counter())
        chain = run_chain(chain, rows, burn_in=LEAST_SWEEPS, draws=0, on_sweep=stamp)
    return 1e3 * float(np.median(np.diff(stamps)))


def measure(part: Part, most_cells: int) -> Curve:
    curve, lines = Curve(part.title), []
    for size, case in part.cases:
        if case.rows * case.columns > most_cells:
            continue
        X = simulate(case)
        cells, bits = X.size, int(X.sum())
        leaves = binary_leaves(X)
        rows = encode_rows(leaves, X)
        del X
        partitions = (ROOT_PARTITIONS,) + (1,) * (case.depth - 1)
        model = Model(shared(partitions, case.states), leaves)
        ms = time_sweep(start_chain(Key(0), model, rows), rows)
        growth = [""] * 2
        if curve.sizes:
            growth = [f"{size / curve.sizes[-1]:.2f}", f"{ms / curve.milliseconds[-1]:.2f}"]
        each = 1e6 * ms / (cells if part.per == "cell" else bits)
        lines.append((f"{size:,g}", f"{ms:,.2f}", f"{each:.3f}", *growth))
        curve.sizes.append(size)
        curve.milliseconds.append(ms)
    print_table((part.title, "ms per sweep", f"ns per {part.per}", "size ×", "time ×"), lines)
    return curve


def mixed_table(rows: int, seed: int = 0) -> tuple[Array, Leaves]:
    """Five columns of each of four kinds, tied by latent classes."""
    rng = np.random.default_rng(seed)
    classes = rng.integers(CLASSES, size=rows)
    columns, described = [], []
    for number in range(5):
        level = rng.normal(size=CLASSES)[classes]
        for kind, values in {
            "gaussian": rng.normal(level, 0.5),
            "lognormal": np.exp(rng.normal(level, 0.5)),
            "poisson": rng.poisson(np.exp(level)).astype(np.float64),
            "categorical": np.clip(np.rint(level + rng.normal(size=rows)), -3, 3) + 3,
        }.items():
            columns.append(values)
            described.append(describe_column(f"{kind} {number}", values, kind))
    return np.column_stack(columns), Leaves(tuple(described))


def memory_table(name: str) -> tuple[Array, Leaves]:
    match name:
        case "plants-like":
            X = simulate(Case(rows=20_000, columns=70))
        case "wide and sparse":
            X = simulate(Case(rows=10_000, columns=1_000, density=0.02))
        case "mixed":
            return mixed_table(20_000)
        case _:
            raise ValueError(f"no table named {name!r}")
    return X, binary_leaves(X)


def array_bytes(thing: object) -> int:
    """Bytes of all arrays inside tuples and dataclasses."""
    if isinstance(thing, np.ndarray):
        return thing.nbytes
    if isinstance(thing, tuple | list):
        return sum(array_bytes(part) for part in thing)
    if dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        return sum(array_bytes(getattr(thing, f.name)) for f in dataclasses.fields(thing))
    return 0


def fit(rows: EncodedRows) -> Chain:
    model = Model(FIT, rows.codebook.leaves)
    return run_chain(start_chain(Key(0), model, rows), rows, burn_in=FIT_BURN_IN, draws=FIT_DRAWS)


def run_child(path: str) -> None:
    """Print the peak of a process that fits, and the bytes of its rows and of what it keeps.

    Without a path it only compiles.
    """
    few, leaves = mixed_table(200)
    fit(encode_rows(leaves, few))
    ones = simulate(Case(rows=200, columns=5))
    fit(encode_rows(binary_leaves(ones), ones))
    kept = table = 0
    if path:
        with open(path, "rb") as file:
            given = pickle.load(file)
        rows = given if isinstance(given, EncodedRows) else encode_rows(*given)
        del given
        table = array_bytes(rows)
        kept = array_bytes(fit(rows).draws)
    print(json.dumps({"peak": peak_memory(), "table": table, "draws": kept}))


def peak_of(path: Path | str) -> dict[str, int]:
    command = [sys.executable, __file__, "--child", str(path)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return dict(json.loads(done.stdout))


def measure_memory() -> None:
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        encoded, table = Path(folder) / "encoded.pickle", Path(folder) / "table.pickle"
        peak_of("")  # compiles, if anything has to be
        nothing = peak_of("")["peak"]
        for name in ("plants-like", "wide and sparse", "mixed"):
            X, leaves = memory_table(name)
            table.write_bytes(pickle.dumps((leaves, X), protocol=5))
            encoded.write_bytes(pickle.dumps(encode_rows(leaves, X), protocol=5))
            fitted, whole = (peak_of(path) for path in (encoded, table))
            held = fitted["table"] + fitted["draws"]
            ratios = [(run["peak"] - nothing) / held for run in (fitted, whole)]
            sizes = (X.nbytes, fitted["table"], fitted["draws"], fitted["peak"] - nothing)
            lines.append(
                (
                    f"{name}, {X.shape[0]:,} × {X.shape[1]:,}",
                    *(f"{size / 2**20:.1f}" for size in sizes),
                    *(f"{ratio:.1f}" for ratio in ratios),
                )
            )
    print(f"Peak memory over encoded rows + draws (less than {MOST_MEMORY:g} wanted):\n")
    heads = ("float64 table, MiB", "encoded", "draws", "peak of the fit", "fit", "encode + fit")
    print_table(("table", *heads), lines)


def plot(curves: Sequence[Curve], path: Path) -> None:
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        sys.exit("--plot needs matplotlib: python -m pip install matplotlib")
    figure, axes = plt.subplots(1, len(curves), figsize=(2.6 * len(curves), 2.6), squeeze=False)
    for axis, curve in zip(axes[0], curves, strict=True):
        sizes, ms = np.array(curve.sizes), np.array(curve.milliseconds)
        axis.loglog(sizes, ms, marker="o", color="tab:blue", clip_on=False)
        axis.loglog(sizes, ms[-1] * sizes / sizes[-1], color="0.7", linestyle=":", zorder=0)
        axis.set_xlabel(curve.title)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0][0].set_ylabel("ms per sweep")
    figure.suptitle("Time per sweep; dotted: in proportion", fontsize="medium")
    figure.tight_layout()
    figure.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure how time and memory grow.")
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join((*PARTS, "memory")))
    parser.add_argument("--cells", type=int, default=10**9, help="leave out larger tables")
    parser.add_argument("--plot", type=Path, help="draw the curves into this file")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child is not None:
        run_child(arguments.child)
        return
    unknown = set(arguments.parts) - {*PARTS, "memory"}
    if unknown:
        parser.error(f"unknown parts: {', '.join(sorted(unknown))}")
    print(f"{numba.get_num_threads()} threads; base case: {BASE}\n")
    wanted = arguments.parts or [*PARTS, "memory"]
    curves = [measure(PARTS[name], arguments.cells) for name in PARTS if name in wanted]
    drawn = [curve for curve in curves if curve.sizes]
    if arguments.plot and drawn:
        plot(drawn, arguments.plot)
    if "memory" in wanted:
        measure_memory()


if __name__ == "__main__":
    main()
