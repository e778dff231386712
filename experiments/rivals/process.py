"""Running a rival in its environment, on one core and within its time."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rivals.environments import python_of
from rivals.exchange import Task, read_reports, write_task

_EXPERIMENTS = Path(__file__).resolve().parent.parent

#: Beyond its time limit, a rival has this many times the limit, and these seconds, to come to an
#: end: most cannot be told to stop.
_GRACE = 0.5
_STARTUP = 30.0

#: Some libraries start threads of their own whatever they are told.
_ON_ONE_CORE = """
import os, sys
os.sched_setaffinity(0, [int(sys.argv[1])])
os.execv(sys.argv[2], sys.argv[2:])
"""

_ONE_THREAD = {
    f"{name}_THREADS": "1"
    for name in ("OMP_NUM", "MKL_NUM", "OPENBLAS_NUM", "RAYON_NUM", "POLARS_MAX")
}


@dataclass(frozen=True, eq=False)
class RivalRun:
    """What a rival did.

    Attributes
    ----------
    reports : list of (ndarray of shape (test rows,), dict)
        Scores and what belongs to them, in the order in which they came.
    versions : dict of str to str
    error : str
        Why it failed; empty if it came to its end.
    stopped : bool
        Whether it was stopped because its time was up.
    seconds : float
        Wall-clock time of the process.
    """

    reports: list[tuple[Any, dict[str, Any]]]
    versions: dict[str, str]
    error: str
    stopped: bool
    seconds: float


def run_rival(environments: Path, environment: str, module: str, task: Task) -> RivalRun:
    """Run a rival's module on a task."""
    python = python_of(environments, environment)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_task(folder / "task.npz", task)
        command = [str(python), "-m", f"rivals.{module}", str(folder / "task.npz"), name]
        if hasattr(os, "sched_getaffinity"):
            core = max(os.sched_getaffinity(0))
            command = [sys.executable, "-c", _ON_ONE_CORE, str(core), *command]
        paths = os.pathsep.join(filter(None, [str(_EXPERIMENTS), os.environ.get("PYTHONPATH")]))
        begin = time.perf_counter()
        with (folder / "errors").open("wb") as errors:
            process = subprocess.Popen(
                command,
                cwd=name,
                env=os.environ | _ONE_THREAD | {"PYTHONPATH": paths},
                stdout=subprocess.DEVNULL,
                stderr=errors,
                start_new_session=True,
            )
            stopped = _wait(process, (1 + _GRACE) * task.seconds + _STARTUP)
        seconds = time.perf_counter() - begin
        versions = folder / "versions.json"
        told = (folder / "errors").read_text(errors="replace").strip().splitlines()
        error = ""
        if stopped:
            error = f"stopped after {seconds:.0f} s"
        elif process.returncode:
            error = told[-1] if told else f"exit code {process.returncode}"
        return RivalRun(
            read_reports(folder),
            json.loads(versions.read_text()) if versions.is_file() else {},
            error,
            stopped,
            seconds,
        )


def _wait(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Wait for a process, and stop it with all its children if it takes longer; whether it did."""
    try:
        process.wait(seconds)
    except BaseException as error:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if not isinstance(error, subprocess.TimeoutExpired):
            raise
        return True
    return False
