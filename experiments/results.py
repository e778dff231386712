"""Results of experiments as lines of JSON: appended as they come, so that a stopped run continues.

A line is one `Result`: what was run (experiment, data set, method, seed, configuration), how it
went (seconds, versions, machine), and the log-likelihood of every test row, as float32, compressed.
Runs that failed are lines, too, with the error. Nothing is ever changed or deleted.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import platform
import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float32]

_OURS = ("bayesspn", "numba", "numpy", "scikit-learn")


@dataclass(frozen=True)
class Case:
    """Something to run once.

    Attributes
    ----------
    experiment : str
        Such as "table1".
    data : str
        Name of the data set.
    method : str
        Such as "ours".
    seed : int
    configuration : dict
        Everything else that decides what comes out, in JSON's types; also the time limit.
    """

    experiment: str
    data: str
    method: str
    seed: int
    configuration: dict[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """The same for equal cases, also when read back from a file."""
        return json.dumps(asdict(self), sort_keys=True)


@dataclass(frozen=True, eq=False)
class Result:
    """What came out of a case.

    Attributes
    ----------
    case : Case
    seconds : dict of str to float
        By what they were spent on, such as "fit" and "score".
    scores : ndarray of shape (test rows,), or None
        Log-likelihood of every test row; None if the run failed.
    error : str
        Why it failed; empty if it did not.
    details : dict
        Whatever else is worth keeping: graph, sweeps, components, evidence of graphs.
    checkpoints : list of (float, float)
        Seconds and mean score on the way.
    versions : dict of str to str
    machine : dict
    finished : str
        When, in UTC.
    """

    case: Case
    seconds: dict[str, float]
    scores: Scores | None = None
    error: str = ""
    details: dict[str, Any] = field(default_factory=dict)
    checkpoints: list[tuple[float, float]] = field(default_factory=list)
    versions: dict[str, str] = field(default_factory=lambda: installed_versions(_OURS))
    machine: dict[str, Any] = field(default_factory=lambda: describe_machine())
    finished: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))

    @property
    def mean(self) -> float:
        """Mean score; NaN if the run failed."""
        return float("nan") if self.scores is None else float(self.scores.mean(dtype=np.float64))


def installed_versions(names: tuple[str, ...]) -> dict[str, str]:
    """Versions of installed packages; those that are not installed are left out."""
    found = {"python": platform.python_version()}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def describe_machine() -> dict[str, Any]:
    """Cores that this process may use, and the processor."""
    cores = len(usable_cores())
    return {"cores": cores, "processor": _processor(), "load": round(os.getloadavg()[0], 1)}


def usable_cores() -> list[int]:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def encode_scores(scores: Scores) -> str:
    """Float32, compressed, as text."""
    return base64.b64encode(zlib.compress(scores.astype("<f4").tobytes(), 9)).decode()


def decode_scores(text: str) -> Scores:
    """What `encode_scores` was given."""
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype="<f4").astype(np.float32)


def to_line(result: Result) -> str:
    """A result as a line of JSON, without the line's end."""
    fields: dict[str, Any] = asdict(result.case)
    fields["mean"] = None if result.scores is None else round(result.mean, 6)
    for name in ("seconds", "error", "details", "checkpoints", "versions", "machine", "finished"):
        fields[name] = getattr(result, name)
    fields["scores"] = None if result.scores is None else encode_scores(result.scores)
    return json.dumps(fields, allow_nan=False)


def from_line(line: str) -> Result:
    """The result that a line holds."""
    fields = json.loads(line)
    case = Case(**{name: fields.pop(name) for name in Case.__dataclass_fields__})
    del fields["mean"]
    text = fields.pop("scores")
    scores = None if text is None else decode_scores(text)
    fields["checkpoints"] = [(seconds, mean) for seconds, mean in fields["checkpoints"]]
    return Result(case, scores=scores, **fields)


class Store:
    """A file of results that several processes may add to.

    Parameters
    ----------
    path : Path
        The file; it and its folder are created when something is added.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def __iter__(self) -> Iterator[Result]:
        if not self.path.is_file():
            return
        with self.path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if not line.endswith("\n"):
                    return  # of a process that was killed while it wrote
                try:
                    yield from_line(line)
                except (ValueError, KeyError, TypeError, zlib.error) as error:
                    raise ValueError(
                        f"{self.path}, line {number} is not a result ({error}): remove it"
                    ) from error

    def done(self) -> set[str]:
        """Keys of the cases that have been run, also of those that failed."""
        return {result.case.key for result in self}

    def add(self, result: Result) -> None:
        """Append a result; it is on disk when this returns."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        line = (to_line(result) + "\n").encode()
        with self.path.open("a+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            _cut_unfinished(file)
            file.write(line)
            file.flush()
            os.fsync(file.fileno())


def _cut_unfinished(file: BinaryIO) -> None:
    """Drop a last line that was never finished: appending would spoil the next one, too."""
    end = file.seek(0, os.SEEK_END)
    if end:
        file.seek(end - 1)
        if file.read(1) != b"\n":
            file.seek(0)
            file.truncate(file.read().rfind(b"\n") + 1)
