"""Environments of rivals: one folder each, made when it is needed, with pinned versions.

    python -m rivals.environments FOLDER NAME ...

makes some of them beforehand.
"""

from __future__ import annotations

import fcntl
import subprocess
import sys
from pathlib import Path

#: Packages of every environment. What they bring along is pinned where a version is known to work.
PACKAGES = {
    "spflow": ("spflow==1.1.0", "torch==2.15.0", "numpy==2.4.6"),
    "deeprob": (
        "deeprob-kit==1.1.0",
        "torch==2.15.0",
        "scikit-learn==1.9.1",
        "scipy==1.17.1",
        "numpy==2.4.6",
    ),
    "lace": ("pylace==0.10.1", "polars==1.44.2", "pandas==2.3.3", "numpy==2.4.6"),
    "pomegranate": ("pomegranate==1.1.2", "torch==2.15.0", "numpy==2.4.6"),
}

#: The environment of bayesspn itself, for rivals that it depends on anyway.
OWN = "own"

_MOST_SECONDS = 1800.0


class RivalEnvironmentError(RuntimeError):
    """An environment that cannot be made; the message is pip's last lines."""


def python_of(folder: Path, name: str) -> Path:
    """The interpreter of an environment; makes the environment if it is not there."""
    if name == OWN:
        return Path(sys.executable)
    python = folder / name / "bin" / "python"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another process may be making it right now
        if not python.is_file() or not (folder / name / ".ready").is_file():
            _make(folder / name, PACKAGES[name])
    return python


def _commands(folder: Path, packages: tuple[str, ...]) -> list[list[str]]:
    python = str(folder / "bin" / "python")
    return [
        [sys.executable, "-m", "venv", str(folder)],
        [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages],
    ]


def _make(folder: Path, packages: tuple[str, ...]) -> None:
    for command in _commands(folder, packages):
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=_MOST_SECONDS
        )
        if done.returncode:
            told = " / ".join(done.stderr.strip().splitlines()[-3:])
            raise RivalEnvironmentError(f"the environment {folder.name} cannot be made: {told}")
    (folder / ".ready").touch()


if __name__ == "__main__":
    for name in sys.argv[2:]:
        print(python_of(Path(sys.argv[1]), name))
