"""The cache of compiled code follows the sources."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from bayesspn.numerics.compilation import drop_stale_code

CALLEE = "import numba as nb\n\n@nb.njit(cache=True)\ndef one():\n    return {value}\n"
CALLER = (
    "import numba as nb\nfrom pathlib import Path\n"
    "from bayesspn.numerics.compilation import drop_stale_code\n"
    "dropped = drop_stale_code(Path(__file__).parent)\n"
    "from callee import one\n\n"
    "@nb.njit(cache=True)\ndef two():\n    return one() + one()\n\n"
    "print(two(), dropped, sum(two.stats.cache_hits.values()))\n"
)


SWEEP = """
import hashlib
import numpy as np
from bayesspn import (
    Key, Leaves, Model, RegionGraph, describe_column, encode_rows, merge_chains, run_chain,
    start_chain,
)
X = np.random.default_rng(0).integers(0, 2, size=(60, 4)).astype(float)
leaves = Leaves(tuple(describe_column(f"x{d}", X[:, d], "bernoulli") for d in range(4)))
model = Model(RegionGraph(1, 2, leaves=3), leaves)
rows = encode_rows(leaves, X)
chain = run_chain(start_chain(Key(0), model, rows), rows, draws=1)
print(hashlib.sha256(merge_chains([chain]).score_samples(X).tobytes()).hexdigest())
"""


def run(folder, environment):
    done = subprocess.run(
        [sys.executable, "caller.py"],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


@pytest.mark.parametrize("elsewhere", [False, True])
def test_code_is_compiled_again_when_a_function_it_calls_changes(tmp_path, elsewhere):
    environment = {"NUMBA_CACHE_DIR": str(tmp_path / "cache") if elsewhere else ""}
    (tmp_path / "callee.py").write_text(CALLEE.format(value=1))
    (tmp_path / "caller.py").write_text(CALLER)
    assert run(tmp_path, environment) == ["2", "True", "0"]
    assert run(tmp_path, environment) == ["2", "False", "1"]
    (tmp_path / "callee.py").write_text(CALLEE.format(value=5))
    assert run(tmp_path, environment) == ["10", "True", "0"]


def test_a_folder_that_cannot_be_written_is_left_alone(tmp_path, monkeypatch):
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    package = tmp_path / "package"
    package.mkdir()
    (package / "a.py").write_text("")
    (package / "__pycache__").write_text("a file where a folder should be")
    assert drop_stale_code(package) is False


@pytest.mark.long
def test_processes_that_start_together_share_an_empty_cache(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "NUMBA_NUM_THREADS": "1"}

    def start():
        return subprocess.Popen(
            [sys.executable, "-c", SWEEP],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def finish(process):
        out, err = process.communicate(timeout=1200)
        assert process.returncode == 0, err
        return out

    results = [finish(process) for process in [start() for _ in range(4)]]
    assert len(set(results)) == 1
    written = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nb[ic]")}
    assert written
    assert finish(start()) == results[0]
    assert written == {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nb[ic]")}
