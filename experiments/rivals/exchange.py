"""Files between an experiment and a rival's process: a task in, scores and versions out.

Runs in every environment: NumPy is all it needs.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class Task:
    """What a rival is to do.

    Attributes
    ----------
    training : ndarray of shape (rows, columns)
        Codes of discrete columns, numbers of continuous ones; NaN is a missing cell.
    test : ndarray of shape (test rows, columns)
    categories : tuple of int
        Number of categories of every column, 0 if it is continuous.
    seconds : float
        Time limit for learning.
    seed : int
    setting : dict
        What the rival is to be, such as "method" and sizes.
    """

    training: Any
    test: Any
    categories: tuple[int, ...]
    seconds: float
    seed: int
    setting: dict[str, Any]

    @property
    def binary(self) -> bool:
        """Whether all columns hold zeros and ones."""
        return all(count == 2 for count in self.categories)

    def filled(self) -> Any:
        """Training rows with missing cells filled by the column's mean or most frequent code.

        For rivals that cannot learn from rows with missing cells.
        """
        table = self.training.copy()
        for column, count in enumerate(self.categories):
            missing = np.isnan(table[:, column])
            if missing.any():
                seen = table[~missing, column]
                codes = np.bincount(seen.astype(int)) if count else None
                table[missing, column] = seen.mean() if codes is None else codes.argmax()
        return table


def write_task(path: Path, task: Task) -> None:
    """Write a task to a file."""
    rest = {
        "categories": task.categories,
        "seconds": task.seconds,
        "seed": task.seed,
        "setting": task.setting,
    }
    np.savez(path, training=task.training, test=task.test, rest=np.array(json.dumps(rest)))


def read_task(path: Path) -> Task:
    """Read what `write_task` wrote."""
    with np.load(path) as arrays:
        rest = json.loads(str(arrays["rest"]))
        rest["categories"] = tuple(rest["categories"])
        return Task(arrays["training"], arrays["test"], **rest)


class Reporter:
    """Writes scores as they come, so that a rival that is stopped has said something.

    Parameters
    ----------
    folder : Path
        Where the files go.
    packages : tuple of str
        Packages whose versions are worth telling.

    Attributes
    ----------
    correction : float
        Added to every score: of rivals that learn from columns in other units.
    """

    def __init__(self, folder: Path, packages: tuple[str, ...]) -> None:
        self.correction = 0.0
        self._folder, self._count = folder, 0
        self._begin, self._scoring = time.perf_counter(), 0.0
        versions = {"python": sys.version.split()[0]}
        for name in packages:
            try:
                versions[name] = version(name)
            except PackageNotFoundError:
                continue
        (folder / "versions.json").write_text(json.dumps(versions))

    @property
    def seconds(self) -> float:
        """Seconds of learning so far."""
        return time.perf_counter() - self._begin - self._scoring

    def report(self, score: Callable[[], Any], **details: Any) -> None:
        """Score the test rows and write down when; scoring does not count as learning.

        Parameters
        ----------
        score : callable
            Gives the log-likelihood of every test row.
        **details
            What belongs to these scores, such as steps or components.
        """
        seconds = self.seconds
        begin = time.perf_counter()
        scores = (np.asarray(score()).reshape(-1) + self.correction).astype(np.float32)
        scoring = time.perf_counter() - begin
        details |= {"seconds": seconds, "scoring": scoring}
        target = self._folder / f"scores-{self._count:04d}.npz"
        hidden = target.with_name(f".{target.name}")
        np.savez(hidden, scores=scores, details=np.array(json.dumps(details)))
        os.replace(hidden, target)
        self._count += 1
        self._scoring += time.perf_counter() - begin


def read_reports(folder: Path) -> list[tuple[Any, dict[str, Any]]]:
    """Scores and details in the order in which they were written."""
    reports = []
    for path in sorted(folder.glob("scores-*.npz")):
        with np.load(path) as arrays:
            reports.append((arrays["scores"], json.loads(str(arrays["details"]))))
    return reports


def serve(learn: Callable[[Task, Reporter], None], packages: tuple[str, ...]) -> None:
    """Do the task that the command line names: ``python -m rivals.MODULE TASK FOLDER``."""
    task, folder = read_task(Path(sys.argv[1])), Path(sys.argv[2])
    # some libraries draw from the global generator
    np.random.seed(task.seed)  # noqa: NPY002
    learn(task, Reporter(folder, packages))
