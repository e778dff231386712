"""How fast are the tables most people have? Small, mixed and continuous ones, with defaults.

Eight tables, generated or bundled with scikit-learn: 400 sweeps of the default model. Shown are
the median of the first twenty, of all, and of the slowest twenty in a row, since states that chains
live in may cost more than those they start in; and the slowest single sweep, which may load code.
For iris, wine and breast cancer: seconds to a fitted model and rows × circuits scored per second,
beside scikit-learn's `BayesianGaussianMixture` (numbers alone, ten components) and Lace (if its
environment can be made). CPU time of one thread.

    python bench/small.py [--before PATH/TO/OLD/src] [--rivals FOLDER] [NAME ...]

``--before`` (or BEFORE) names the sources of another version, measured in the same run.
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

import numpy as np
from small_measures import TABLES
from workbench import print_table

HERE = Path(__file__).resolve().parent
EXPERIMENTS = HERE.parent / "experiments"
FITTED = ("iris", "wine", "breast cancer")
ONE_THREAD = dict.fromkeys(
    ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"), "1"
)


def measure(
    name: str, what: str, source: Path | None = None, python: str = sys.executable
) -> dict[str, Any] | None:
    """What `bench/small_measures.py` prints; None if it fails, after its last line."""
    paths = [str(EXPERIMENTS)] if source is None else [str(source), str(EXPERIMENTS)]
    if inherited := os.environ.get("PYTHONPATH"):
        paths.append(inherited)
    command = [python, str(HERE / "small_measures.py"), name, what]
    with tempfile.TemporaryDirectory() as folder:
        if python != sys.executable:  # it may lack scikit-learn, which some tables come from
            command.append(str(Path(folder) / "table.npz"))
            np.savez(command[-1], **TABLES[name]())
        done = subprocess.run(
            command,
            env=os.environ | ONE_THREAD | {"PYTHONPATH": os.pathsep.join(paths)},
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        print(f"{what} of {name} failed: {done.stderr.strip().splitlines()[-1:]}")
        return None
    measured: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return measured


def show_sweeps(names: list[str], versions: dict[str, Path | None]) -> None:
    lines = []
    for name in names:
        for version, source in versions.items():
            measured = measure(name, "sweeps", source)
            if measured is None:
                continue
            ms = np.array(measured["sweeps"])
            blocks = np.median(ms.reshape(-1, 20), axis=1)
            rows, columns = measured["shape"]
            cells = (blocks[0], np.median(ms), blocks.max(), ms.max(), blocks.max() / blocks[0])
            shown = f"{name}, {rows:,} × {columns}"
            lines.append((shown, version, *(f"{cell:.2f}" for cell in cells)))
    print("Milliseconds per sweep and chain, default model\n")
    print_table(
        ("table", "version", "first", "median", "slowest", "single", "slowest / first"), lines
    )


def show_fits(names: list[str], versions: dict[str, Path | None], lace: str | None) -> None:
    rivals: dict[str, tuple[str, Path | None, str]] = {
        f"bayesspn, {version}": ("fit", source, sys.executable)
        for version, source in versions.items()
    }
    rivals["BayesianGaussianMixture"] = ("mixture", None, sys.executable)
    if lace is not None:
        rivals["Lace"] = ("lace", None, lace)
    lines = []
    for name in names:
        for rival, (what, source, python) in rivals.items():
            measured = measure(name, what, source, python)
            if measured is None:
                continue
            circuits = measured["rows"] * measured["draws"]
            sweep = ""
            if "sweeps" in measured:
                sweep = f"{1e3 * measured['fit'] / measured['sweeps']:.2f}"
            lines.append(
                (
                    name, rival, f"{measured['fit']:.2f}", sweep, f"{measured['draws']:,}",
                    f"{measured['first score']:.3f}", f"{circuits / measured['score']:,.0f}",
                )
            )  # fmt: skip
    print("A fitted model with defaults, and scores of its rows; CPU seconds\n")
    heads = ("table", "model", "fit", "ms per sweep and chain", "circuits")
    print_table((*heads, "first score", "rows × circuits per s"), lines)


def lace_python(folder: Path) -> str | None:
    """The interpreter of Lace's environment, made if need be."""
    sys.path.insert(0, str(EXPERIMENTS))
    from rivals.environments import RivalEnvironmentError, python_of

    try:
        return str(python_of(folder, "lace"))
    except (RivalEnvironmentError, subprocess.TimeoutExpired) as error:
        print(f"without Lace: {error}")
        return None


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure small tables with defaults.")
    parser.add_argument("names", nargs="*", choices=[[], *TABLES], help="tables, all if none")
    parser.add_argument("--before", type=Path, default=os.environ.get("BEFORE") or None)
    parser.add_argument("--rivals", type=Path, default=HERE.parent / ".rivals")
    arguments = parser.parse_args()
    names = arguments.names or list(TABLES)
    versions: dict[str, Path | None] = {"now": None}
    if arguments.before is not None:
        versions = {"before": Path(arguments.before).resolve(), "now": None}
    show_sweeps(names, versions)
    fitted = [name for name in names if name in FITTED]
    if fitted:
        show_fits(fitted, versions, lace_python(arguments.rivals))


if __name__ == "__main__":
    main()
