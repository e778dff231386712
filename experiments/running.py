"""What all experiments share: options, time limits, cases that run once, failures that are told."""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import os
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pandas as pd
from results import Case, Result, Scores, Store, usable_cores

from bayesspn import BayesianSPN, InfiniteSPN, RegionGraph

HERE = Path(__file__).resolve().parent

#: Seconds that a whole experiment has with ``--quick``.
QUICK_SECONDS = 600.0


@dataclass(frozen=True)
class Options:
    """What the command line said.

    Attributes
    ----------
    data : Path or None
        Folder of the data sets; None downloads what is public.
    results : Path
        Folder of the files of results.
    names : tuple of str
        Data sets.
    seconds : float
        Seconds of every method on a data set.
    quick : bool
    seed : int
    rivals : Path
        Folder of the rivals' environments.
    methods : tuple of str
        Methods to run; empty for all.
    jobs : int
        Data sets that run side by side, each on one core.
    again : bool
        Whether cases that have a result are run again; the newest counts.
    """

    data: Path | None
    results: Path
    names: tuple[str, ...]
    seconds: float
    quick: bool
    seed: int
    rivals: Path
    methods: tuple[str, ...]
    jobs: int
    again: bool = False

    def wants(self, method: str) -> bool:
        """Whether a method is to be run."""
        return not self.methods or method in self.methods

    def store(self, experiment: str) -> Store:
        """The file of an experiment; quick runs have their own."""
        return Store(self.results / f"{experiment}{'-quick' if self.quick else ''}.jsonl")


def parse_options(
    description: str,
    names: Sequence[str],
    methods: Sequence[str],
    seconds: float,
    arguments: Sequence[str] | None = None,
    *,
    quick_names: Sequence[str] = (),
    cases: int = 1,
) -> Options:
    """Read the command line.

    Parameters
    ----------
    description : str
    names : sequence of str
        Data sets that there are.
    methods : sequence of str
        Methods that there are.
    seconds : float
        Seconds of every method on a data set, on one core, unless the command line says otherwise.
    arguments : sequence of str, default=None
        In place of the command line.
    quick_names : sequence of str, default=()
        Data sets of quick runs, all if empty.
    cases : int, default=1
        How often quick runs run a method on a data set.
    """
    parser = argparse.ArgumentParser(description=description)
    add = parser.add_argument
    add("--data", type=Path, help="folder of the data sets (BAYESSPN_DATA does the same)")
    add("--results", type=Path, default=HERE / "results", help="folder of the results")
    add("--only", action="append", metavar="NAME", choices=names, help="a data set; repeatable")
    add("--method", action="append", metavar="NAME", choices=methods, help="a method; repeatable")
    add("--seconds", type=float, help=f"of every method on a data set; default {seconds:g}")
    add("--quick", action="store_true", help="a rough table in ten minutes")
    add("--seed", type=int, default=0)
    add("--again", action="store_true", help="also what has a result: the newest one counts")
    add(
        "--jobs",
        type=int,
        default=len(usable_cores()),
        help="data sets side by side, on a core each",
    )
    add(
        "--rivals",
        type=Path,
        default=os.environ.get("RIVALS") or HERE.parent / ".rivals",
        help="folder of the rivals' environments (RIVALS does the same)",
    )
    given = parser.parse_args(arguments)
    usual = quick_names if given.quick and quick_names else names
    chosen = tuple(name for name in names if name in (given.only or usual))
    quick = QUICK_SECONDS * min(given.jobs, len(usual)) / (len(usual) * len(methods) * cases)
    limit = given.seconds or (round(quick, 1) if given.quick else seconds)
    return Options(
        data=given.data,
        results=given.results,
        names=chosen,
        seconds=limit,
        quick=given.quick,
        seed=given.seed,
        rivals=Path(given.rivals),
        methods=tuple(given.method or ()),
        jobs=given.jobs,
        again=given.again,
    )


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a method gives back; see `results.Result`."""

    seconds: dict[str, float]
    scores: Scores | None = None
    error: str = ""
    details: dict[str, Any] = field(default_factory=dict)
    checkpoints: list[tuple[float, float]] = field(default_factory=list)
    versions: dict[str, str] | None = None


class Session:
    """Runs the cases of an experiment that have no result yet, and counts them.

    Parameters
    ----------
    store : Store
    again : bool, default=False
        Whether those that have one are run again.
    """

    def __init__(self, store: Store, again: bool = False) -> None:
        self._store, self._done = store, set() if again else store.done()
        self.ran = self.failed = self.skipped = 0

    def attempt(self, case: Case, action: Callable[..., Outcome], *arguments: Any) -> None:
        """Run a case, by calling the action, unless it has a result; a failure is a result."""
        title = f"{case.data}, {case.method}, seed {case.seed}"
        if case.key in self._done:
            self.skipped += 1
            return
        begin = time.perf_counter()
        try:
            outcome = check_scores(action(*arguments))
        except Exception as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            reason = f"{type(error).__name__}: {error} ({Path(last.filename).name}:{last.lineno})"
            outcome = Outcome({"fit": time.perf_counter() - begin}, error=reason)
        fields = {name: getattr(outcome, name) for name in Outcome.__dataclass_fields__}
        if fields["versions"] is None:
            del fields["versions"]
        fields["seconds"] = {name: round(value, 3) for name, value in outcome.seconds.items()}
        result = Result(case, **fields)
        self._store.add(result)
        self._done.add(case.key)
        self.ran += 1
        self.failed += bool(result.error)
        told = result.error or f"{result.mean:.4f}"
        say(f"{title}: {told} ({spell_seconds(time.perf_counter() - begin)})")


#: Runs the cases of one data set.
RunSet = Callable[[str, Options, Session], None]


def run_sets(
    experiment: str, names: Sequence[str], run_set: RunSet, options: Options, per_set: float
) -> tuple[int, int, int]:
    """Run what is missing of every data set, several sets side by side, each on one core.

    ``per_set`` is what the time limits of a data set add up to, in seconds.

    Returns
    -------
    ran, failed, skipped : int
        Numbers of cases.
    """
    store, begin = options.store(experiment), time.perf_counter()
    jobs = min(options.jobs, len(names))
    planned = per_set * -(-len(names) // jobs)
    say(f"results go to {store.path}; {len(store.done())} are there")
    say(f"time limits add up to {spell_seconds(planned)} at most, without what is there already")
    warm_up()
    work = partial(_run_set, run_set, store, options)
    if jobs == 1:
        counts = [work(name) for name in names]
    else:
        spawn = multiprocessing.get_context("spawn")
        cores = spawn.SimpleQueue()
        for core in usable_cores():
            cores.put(core)
        with ProcessPoolExecutor(jobs, spawn, _start_worker, (cores,)) as pool:
            counts = list(pool.map(work, names))
    ran, failed, skipped = (sum(numbers) for numbers in zip(*counts, strict=True))
    total = spell_seconds(time.perf_counter() - begin)
    say(f"{ran} run ({failed} failed), {skipped} there already; {total} in all")
    return ran, failed, skipped


def _start_worker(cores: Any) -> None:
    """Keep this process, and the rivals that it starts, on a core of its own, where that works."""
    if hasattr(os, "sched_setaffinity") and not cores.empty():
        os.sched_setaffinity(0, {cores.get()})
    warm_up()


def _run_set(run_set: RunSet, store: Store, options: Options, name: str) -> tuple[int, int, int]:
    numba.set_num_threads(1)
    session = Session(store, options.again)
    run_set(name, options, session)
    return session.ran, session.failed, session.skipped


def check_scores(outcome: Outcome) -> Outcome:
    """Refuse scores that are not finite: a mean of them would say nothing."""
    if outcome.scores is not None:
        wrong = int((~np.isfinite(outcome.scores)).sum())
        if wrong:
            raise ValueError(f"{wrong} of {len(outcome.scores)} test rows have no finite score")
    return outcome


def as_scores(scores: Any) -> Scores:
    """Scores as they are kept."""
    return np.asarray(scores, dtype=np.float32)


def warm_up() -> None:
    """Compile the engine, or load it from disk, so that no time limit has to pay for it."""
    rng = np.random.default_rng(0)
    binary = pd.DataFrame(rng.integers(0, 2, size=(60, 4)).astype(bool)).add_prefix("x")
    mixed = binary.assign(size=rng.gamma(2.0, size=60), kind=rng.choice(list("abc"), 60))
    short: dict[str, Any] = {"chains": 2, "burn_in": 4, "draws": 2, "n_jobs": 1, "random_state": 0}
    graphs = [
        RegionGraph(1, 2, sums=2, leaves=2, products=products) for products in ("cross", "shared")
    ]
    estimators = [BayesianSPN(graph=graph, **short) for graph in graphs]
    for table in (binary, mixed):
        for estimator in (*estimators, InfiniteSPN(**short)):
            with warnings.catch_warnings(action="ignore"):
                estimator.fit(table).score_samples(table)


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise TimeoutError in this block after so many seconds; in the main thread only."""

    def give_up(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, give_up)
    # again after a second, in case that the first one came where errors are ignored
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
    try:
        yield
    except SystemError as error:
        # what becomes of it in the midst of calls to compiled code
        cause = error.__cause__
        while isinstance(cause, SystemError):
            cause = cause.__cause__
        if isinstance(cause, TimeoutError):
            raise TimeoutError from error
        raise
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def say(text: str) -> None:
    """Tell whoever watches."""
    print(text, file=sys.stderr, flush=True)


def spell_seconds(seconds: float) -> str:
    """Seconds as people write them.

    Examples
    --------
    >>> spell_seconds(12.34), spell_seconds(754), spell_seconds(7_300)
    ('12.3 s', '12 min 34 s', '2 h 1 min')
    """
    if seconds < 100:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 100:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"
