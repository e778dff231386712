"""Table 1 of the paper: test log-likelihoods of the 20 binary data sets.

    python experiments/table1.py [--quick] [--data FOLDER] [--only NAME] [--method NAME]
                                 [--seconds S] [--seed N]

Every method has one core and the same seconds on every data set:

- ``paper``: the paper's own graphs and priors on train rows, as in the paper; the graph with the
  highest evidence on them, then one chain;
- ``ours``: the plain call, ``BayesianSPN(time_limit=S)``, on train and valid rows;
- ``ours_train``: the same on train rows only;
- ``infinite``: ``InfiniteSPN(time_limit=S)`` on train and valid rows.

Test rows are used once, for the scores. Rivals are run by ``experiments/rival_runs.py``.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from library_fits import fit_rows, make_estimator
from paper_system import EVIDENCE, EVIDENCE_CELLS, PRIORS, choose_by_evidence, paper_grid
from problems import Problem, load_problem
from public_data import BINARY_NAMES
from results import Case
from running import Options, Outcome, Session, parse_options, run_sets

from bayesspn import BayesianSPN, InfiniteSPN

SECONDS = 600.0

#: Share of the seconds of the paper's system that goes into the choice of its graph.
CHOICE = 0.75


def run_paper(problem: Problem, seconds: float, seed: int) -> Outcome:
    """The paper's grid by evidence, one chain, both on train rows."""
    chosen = choose_by_evidence(CHOICE * seconds, paper_grid(), problem, seed)
    rest = max(seconds - chosen.seconds, (1 - CHOICE) * seconds)
    estimator = make_estimator(problem, rest, seed, graph=chosen.graph, chains=1, **PRIORS)
    outcome = fit_rows(estimator, problem.train).score_test(problem.test)
    outcome.seconds["choice"] = chosen.seconds
    outcome.details.update(evidence=chosen.evidence, evidence_rows=chosen.rows)
    return outcome


def run_plain(
    kind: type[BayesianSPN], train_only: bool, problem: Problem, seconds: float, seed: int
) -> Outcome:
    """An estimator that is told nothing but its seconds."""
    rows = problem.train if train_only else problem.training
    return fit_rows(make_estimator(problem, seconds, seed, kind), rows).score_test(problem.test)


#: How a method is run, and its call, which a line of results names.
METHODS: dict[str, tuple[Any, str]] = {
    "paper": (run_paper, "BayesianSPN(graph, priors of the paper, chains=1), train rows"),
    "ours": (partial(run_plain, BayesianSPN, False), "BayesianSPN"),
    "ours_train": (partial(run_plain, BayesianSPN, True), "BayesianSPN, train rows"),
    "infinite": (partial(run_plain, InfiniteSPN, False), "InfiniteSPN"),
}


def configure(method: str, seconds: float) -> dict[str, object]:
    """What decides the outcome beside data set, method and seed; a change of it is another case."""
    configuration: dict[str, object] = {"seconds": seconds, "call": METHODS[method][1]}
    if method == "paper":
        configuration["evidence"] = {"share": CHOICE, "cells": EVIDENCE_CELLS, **EVIDENCE}
    return configuration


def run_set(name: str, options: Options, session: Session) -> None:
    """Run what is missing of a data set."""
    problem = load_problem(name, options.data)
    for method, (action, _) in METHODS.items():
        if options.wants(method):
            case = Case("table1", name, method, options.seed, configure(method, options.seconds))
            session.attempt(case, action, problem, options.seconds, options.seed)


if __name__ == "__main__":
    given = parse_options("Run Table 1.", BINARY_NAMES, tuple(METHODS), SECONDS)
    per_set = given.seconds * sum(map(given.wants, METHODS))
    run_sets("table1", given.names, run_set, given, per_set)
