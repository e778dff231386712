"""What the benchmarks share: data sets, a clock, the peak of memory, Markdown tables."""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bayesspn.arrays import Array
from bayesspn.graphs import RegionGraph
from bayesspn.leaves.columns import Column, Leaves, describe_column


@dataclass(frozen=True, eq=False)
class Table:
    """A data set.

    Attributes
    ----------
    training : ndarray of shape (rows, columns)
        Rows of train and valid.
    test : ndarray of shape (test rows, columns)
    leaves : Leaves
        Columns, described from the training rows.
    """

    training: Array
    test: Array
    leaves: Leaves


def add_data_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--data",
        type=Path,
        default=os.environ.get("BAYESSPN_DATA"),
        help="folder that holds debd/NAME.npz and het/NAME.npz (BAYESSPN_DATA does the same)",
    )


def data_folder(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> Path:
    if arguments.data is None:
        parser.error("give the folder of the data sets with --data or BAYESSPN_DATA")
    return Path(arguments.data)


def load(folder: Path, name: str) -> Table:
    kind = "debd" if (folder / "debd" / f"{name}.npz").is_file() else "het"
    path = folder / kind / f"{name}.npz"
    if not path.is_file():
        sys.exit(f"{path} does not exist: give the folder with --data or BAYESSPN_DATA")
    with np.load(path) as parts:
        X = np.concatenate([parts["train"], parts["valid"]]).astype(np.float64)
        test = parts["test"].astype(np.float64)
    if kind == "debd":
        return Table(X, test, binary_leaves(X))
    described = json.loads(path.with_suffix(".json").read_text())["columns"]
    columns = [describe_mixed(entry, X[:, d]) for d, entry in enumerate(described)]
    return Table(X, test, Leaves(tuple(columns)))


def binary_leaves(X: Array) -> Leaves:
    return Leaves(tuple(describe_column(f"x{d}", X[:, d], "bernoulli") for d in range(X.shape[1])))


def describe_mixed(entry: dict[str, object], values: Array) -> Column:
    name = str(entry["name"])
    if entry["meta_type"] == "discrete":
        few = np.nanmax(values) < 5
        return describe_column(name, values, "categorical" if few else ("categorical", "poisson"))
    positive = np.nanmin(values) > 0
    return describe_column(name, values, ("gaussian", "lognormal" if positive else "exponential"))


def shared(partitions: tuple[int, ...], states: int) -> RegionGraph:
    """A graph with shared products, K = I = ``states``, and one partition count per level."""
    return RegionGraph(len(partitions), partitions, sums=states, leaves=states, products="shared")


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


def peak_memory() -> int:
    """Most bytes that this process ever held."""
    status = Path("/proc/self/status")
    if status.is_file():
        # getrusage would also count what the parent held when it started this process
        kilobytes = next(line for line in status.read_text().splitlines() if "VmHWM" in line)
        return int(kilobytes.split()[1]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def print_table(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> None:
    """Print a Markdown table, the first column to the left and the others to the right."""
    print("| " + " | ".join(heads) + " |")
    print("|---|" + "---:|" * (len(heads) - 1))
    for line in lines:
        print("| " + " | ".join(line) + " |")
    print(flush=True)
