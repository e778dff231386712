"""Rivals on the data sets of Tables 1 and 2, each on one core and within a time limit.

    python experiments/rival_runs.py [--quick] [--data FOLDER] [--only NAME] [--method RIVAL]
                                     [--seconds S]

Rivals get the same rows as ours: train and valid to learn from, test to be scored once. They run
with the settings in ``rivals/``, without tuning. One that cannot be installed, fails or gives
scores that are not finite has a result that says so. Results go to the files of the tables.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
from problems import Problem, load_problem
from public_data import BINARY_NAMES, MIXED_NAMES
from results import Case
from rivals.exchange import Task
from rivals.process import run_rival
from rivals.registry import RIVALS, Rival
from running import Options, Outcome, Session, as_scores, parse_options, run_sets

#: Quick runs: rivals take seconds to start, and most cannot be told to stop.
QUICK_NAMES = ("nltcs", "plants", "dna", "abalone", "wine")

#: Of every rival on a data set.
SECONDS = 300.0


def run_one(
    problem: Problem, rival: Rival, seconds: float, seed: int, environments: Path
) -> Outcome:
    """Run a rival on a problem."""
    task = Task(problem.training, problem.test, problem.categories, seconds, seed, rival.setting)
    run = run_rival(environments, rival.environment, rival.module, task)
    # an ensemble of another size is learned anew: its own time counts
    checkpoints = [
        (float(details.get("alone", details["seconds"])), float(np.mean(scores)))
        for scores, details in run.reports
        if np.isfinite(scores).all()
    ]
    spent = {"process": run.seconds}
    details: dict[str, object] = {"setting": rival.setting, "stopped": run.stopped}
    if run.reports and (run.stopped or not run.error):
        scores, last = run.reports[-1]
        spent |= {"fit": float(last.get("alone", last["seconds"])), "score": last["scoring"]}
        details |= {"last": last}
        return Outcome(
            spent,
            as_scores(scores),
            details=details,
            checkpoints=checkpoints,
            versions=run.versions,
        )
    return Outcome(spent, error=run.error or "no scores", details=details, versions=run.versions)


def rivals_for(binary: bool) -> dict[str, Rival]:
    """Those that run on a kind of table."""
    return {
        name: rival for name, rival in RIVALS.items() if (rival.binary if binary else rival.mixed)
    }


def run_set(experiment: str, name: str, options: Options, session: Session) -> None:
    """Run what is missing of a data set."""
    rivals = rivals_for(experiment == "table1")
    problem = load_problem(name, options.data, resolved=True)
    for method, rival in rivals.items():
        applies = problem.continuous or not rival.part
        if options.wants(method) and applies:
            seconds = options.seconds
            configuration = {"seconds": seconds, "setting": rival.setting}
            case = Case(experiment, name, method, options.seed, configuration)
            session.attempt(case, run_one, problem, rival, seconds, options.seed, options.rivals)


def run(options: Options) -> None:
    """Run what is missing, first all binary data sets and then the heterogeneous ones."""
    for experiment, names in (("table1", BINARY_NAMES), ("table2", MIXED_NAMES)):
        wanted = [name for name in options.names if name in names]
        if wanted:
            rivals = sum(map(options.wants, rivals_for(experiment == "table1")))
            per_set = rivals * options.seconds
            run_sets(experiment, wanted, partial(run_set, experiment), options, per_set)


if __name__ == "__main__":
    everything = (*BINARY_NAMES, *MIXED_NAMES)
    run(parse_options("Run rivals.", everything, tuple(RIVALS), SECONDS, quick_names=QUICK_NAMES))
