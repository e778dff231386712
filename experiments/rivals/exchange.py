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
from functools import partial
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


class EarlyStopping:
    """Learning by steps, for as long as rows that were held out get better.

    Parameters
    ----------
    task : Task
    reporter : Reporter
    """

    #: Share of the training rows that is held out.
    SHARE = 0.1

    #: Looks at held-out rows lie further and further apart, and so do reports.
    LOOKS, REPORTS = 1.2, 1.5

    #: Learning ends when nothing has got better for this share of the time so far.
    PATIENCE = 0.5
    LEAST_SECONDS = 10.0

    def __init__(self, task: Task, reporter: Reporter) -> None:
        self._task, self._reporter = task, reporter
        order = np.random.default_rng(task.seed).permutation(len(task.training))
        count = max(1, round(self.SHARE * len(order)))
        self.held_out, self.kept = order[:count], order[count:]

    def run(
        self,
        step: Callable[[], None],
        judge: Callable[[], float],
        snapshot: Callable[[], Any],
        score: Callable[[Any], Any],
    ) -> None:
        """Take steps until the time is up or nothing gets better; report the best so far.

        Parameters
        ----------
        step : callable
            Takes one step.
        judge : callable
            Mean log-likelihood of the held-out rows.
        snapshot : callable
            What `score` needs to know of the model as it is now.
        score : callable
            Log-likelihoods of the test rows, of a snapshot.
        """
        best, kept, when = -np.inf, None, 0.0
        look, report, steps = 0.5, 2.0, 0
        while True:
            step()
            steps += 1
            seconds = self._reporter.seconds
            late = seconds >= self._task.seconds
            if seconds >= look or late:
                reached = judge()
                if reached > best or kept is None:
                    best, kept, when = reached, snapshot(), seconds
                look = max(self.LOOKS * look, self._reporter.seconds)
            idle = seconds - when > max(self.PATIENCE * seconds, self.LEAST_SECONDS)
            if kept is not None and (seconds >= report or late or idle):
                self._reporter.report(partial(score, kept), steps=steps, held_out=float(best))
                report = max(self.REPORTS * report, self._reporter.seconds)
            if late or idle:
                return


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
