"""Table 1 of the paper: test log-likelihoods of the 20 binary data sets.

    python experiments/table1.py [--quick] [--data FOLDER] [--only NAME] [--seconds-per-set S]

Every data set has one core and a time limit, shared by our three columns:

- ``paper``: the paper's own graphs and priors; the graph with the highest evidence on a sample of
  the training rows, then one chain;
- ``wide``: our wider class with learned priors; the graph that scores valid rows best after a short
  chain on train rows, then as many chains on all training rows as there is time for, averaged;
- ``infinite``: an infinite mixture of networks, its graph by the shape of the table.

Test rows are used once, for the scores. Rivals are run by ``experiments/rival_runs.py``.
"""

from __future__ import annotations

import time

import candidates
import numpy as np
from problems import Problem, load_problem
from public_data import BINARY_NAMES
from results import Case
from running import Options, Outcome, Session, as_scores, parse_options, run_sets
from timed_fits import Settings, choose_by_validation, fit_for

#: One night: 20 times this, two data sets at a time, is 8 hours and 20 minutes.
SECONDS_PER_SET = 3000.0

#: Shares of a data set's seconds.
SHARES = {"paper": 0.2, "wide": 0.6, "infinite": 0.2}

#: Share of a method's seconds that goes into the choice of its graph.
CHOICE = {"paper": 0.75, "wide": 0.25}

#: Chains of a method; what there is time for, if None.
CHAINS = {"paper": 1, "wide": None, "infinite": 2}
QUICK_CHAINS = {"paper": 1, "wide": 2, "infinite": 1}


def run_paper(problem: Problem, seconds: float, options: Options) -> Outcome:
    """The paper's grid by evidence, one chain."""
    chosen = candidates.choose_by_evidence(
        CHOICE["paper"] * seconds,
        candidates.paper_grid(),
        problem.schema,
        problem.training,
        options.seed,
    )
    rest = max(seconds - chosen.seconds, (1 - CHOICE["paper"]) * seconds)
    details: dict[str, object] = {"evidence": chosen.evidence, "evidence_rows": chosen.rows}
    return _fit(problem, rest, "paper", chosen.settings, options, chosen.seconds, details)


def run_wide(problem: Problem, seconds: float, options: Options) -> Outcome:
    """The wider class by valid rows, several chains; quick runs have no time for a choice."""
    begin = time.perf_counter()
    shape = problem.training.shape
    settings, scores = candidates.wide_graph(*shape), dict[str, float]()
    if not options.quick:
        settings, scores = choose_by_validation(
            CHOICE["wide"] * seconds,
            candidates.wide_candidates(*shape),
            problem.schema,
            problem.train,
            problem.valid,
            seed=options.seed,
        )
    choice = time.perf_counter() - begin
    details: dict[str, object] = {"valid_scores": scores}
    return _fit(problem, seconds - choice, "wide", settings, options, choice, details)


def run_infinite(problem: Problem, seconds: float, options: Options) -> Outcome:
    """An infinite mixture."""
    settings = candidates.infinite_graph(*problem.training.shape)
    return _fit(problem, seconds, "infinite", settings, options, 0.0, {})


METHODS = {"paper": run_paper, "wide": run_wide, "infinite": run_infinite}


def _fit(
    problem: Problem,
    seconds: float,
    method: str,
    settings: Settings,
    options: Options,
    choice: float,
    details: dict[str, object],
) -> Outcome:
    fit = fit_for(
        seconds,
        settings,
        problem.schema,
        problem.training,
        chains=_chains(method, options),
        seed=options.seed,
        draws=options.draws,
    )
    begin = time.perf_counter()
    each = fit.score_chains(problem.test)
    scores = np.logaddexp.reduce(each, axis=0) - np.log(len(each))
    details |= {
        "settings": settings.describe(),
        "sweeps": list(fit.sweeps),
        "draws": [len(draws) for draws in fit.posterior.draws],
        "chain_means": [float(mean) for mean in each.mean(axis=1)],
    }
    spent = {"choice": choice, "fit": fit.seconds, "score": time.perf_counter() - begin}
    return Outcome(spent, as_scores(scores), details=details)


def _chains(method: str, options: Options) -> int | None:
    return (QUICK_CHAINS if options.quick else CHAINS)[method]


def configure(problem: Problem, method: str, seconds: float, options: Options) -> dict[str, object]:
    """What decides the outcome beside data set, method and seed; a change of it is another case."""
    graphs = {
        "paper": candidates.paper_grid(),
        "wide": candidates.wide_candidates(*problem.training.shape),
        "infinite": [candidates.infinite_graph(*problem.training.shape)],
    }[method]
    configuration: dict[str, object] = {
        "seconds": seconds,
        "chains": _chains(method, options),
        "graphs": [settings.name for settings in graphs],
    }
    if method == "paper":
        configuration["evidence"] = {"cells": candidates.EVIDENCE_CELLS, **candidates.EVIDENCE}
    return configuration


def run_set(name: str, options: Options, session: Session) -> None:
    """Run what is missing of a data set."""
    problem = load_problem(name, options.data)
    for method, action in METHODS.items():
        if options.wants(method):
            seconds = SHARES[method] * options.seconds
            configuration = configure(problem, method, seconds, options)
            case = Case("table1", name, method, options.seed, configuration)
            session.attempt(case, action, problem, seconds, options)


if __name__ == "__main__":
    given = parse_options("Run Table 1.", BINARY_NAMES, SECONDS_PER_SET)
    run_sets("table1", given.names, run_set, given)
