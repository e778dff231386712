"""Table 2 of the paper: test log-likelihoods of the 12 heterogeneous data sets.

    python experiments/table2.py [--quick] [--data FOLDER] [--only NAME] [--seconds-per-set S]

Scores are log probabilities of discrete columns and log densities, in original units, of continuous
ones. Tables are resolved: see ``problems.py`` for what that is and why. Our columns:

- ``wide``: graphs and choice as in Table 1, mixtures over likelihood families in the leaves;
- ``infinite``: an infinite mixture of networks;
- ``abda``: one graph whose structure stays as it was at the start of the chain, found by pairwise
  dependence, all else being sampled: Bayesian inference of parameters and likelihood families given
  a structure, which is what ABDA does;
- ``recorded``: as ``wide``, on the table as recorded, with densities at recorded values. The paper,
  ABDA and MSPN report these; where values recur, they measure spikes, and are shown for comparison
  only.

The mean over the continuous columns alone is kept, too: scikit-learn's mixture models these only.
"""

from __future__ import annotations

import dataclasses
import time

import candidates
import numpy as np
from problems import Problem, load_problem
from public_data import MIXED_NAMES
from results import Case
from running import Options, Outcome, Session, as_scores, parse_options, run_sets
from timed_fits import Fit, Settings, choose_by_validation, fit_for

#: 12 times this, two data sets at a time, is 2 hours and 24 minutes.
SECONDS_PER_SET = 1440.0

#: Shares of a data set's seconds; what is compared with another has as much as that one.
SHARES = {"wide": 0.3, "infinite": 0.2, "abda": 0.3, "recorded": 0.2}

#: Share of a method's seconds that goes into the choice of its graph.
CHOICE = 0.25


def run_method(problem: Problem, method: str, seconds: float, seed: int, draws: int) -> Outcome:
    """Choose a graph where there is a choice, sample, and score."""
    begin = time.perf_counter()
    details: dict[str, object] = {"resolutions": list(problem.resolutions)}
    graphs = graphs_for(problem, method)
    settings = graphs[0]
    if len(graphs) > 1:
        settings, details["valid_scores"] = choose_by_validation(
            CHOICE * seconds, graphs, problem.schema, problem.train, problem.valid, seed=seed
        )
    choice = time.perf_counter() - begin
    fit = fit_for(
        seconds - choice,
        settings,
        problem.schema,
        problem.training,
        seed=seed,
        draws=draws,
    )
    begin = time.perf_counter()
    each = fit.score_chains(problem.test)
    scores = np.logaddexp.reduce(each, axis=0) - np.log(len(each))
    details |= {
        "settings": settings.describe(),
        "sweeps": list(fit.sweeps),
        "chain_means": [float(mean) for mean in each.mean(axis=1)],
        "continuous_mean": _score_continuous(fit, problem),
    }
    spent = {"choice": choice, "fit": fit.seconds, "score": time.perf_counter() - begin}
    return Outcome(spent, as_scores(scores), details=details)


def graphs_for(problem: Problem, method: str) -> list[Settings]:
    """Graphs that a method chooses from."""
    shape = problem.training.shape
    if method == "infinite":
        return [candidates.infinite_graph(*shape)]
    if method == "abda":
        return [dataclasses.replace(candidates.wide_graph(*shape), fixed=True)]
    return candidates.wide_candidates(*shape)


def _score_continuous(fit: Fit, problem: Problem) -> float | None:
    """Mean score of the continuous columns, the others summed out; None if there are none."""
    if not problem.continuous:
        return None
    rows = np.full_like(problem.test, np.nan)
    rows[:, problem.continuous] = problem.test[:, problem.continuous]
    return float(fit.posterior.thinned.score_samples(rows).mean())


def run_set(name: str, options: Options, session: Session) -> None:
    """Run what is missing of a data set."""
    for method, share in SHARES.items():
        if options.wants(method):
            problem = load_problem(name, options.data, resolved=method != "recorded")
            seconds = share * options.seconds
            graphs = [settings.name for settings in graphs_for(problem, method)]
            configuration = {"seconds": seconds, "graphs": graphs}
            case = Case("table2", name, method, options.seed, configuration)
            session.attempt(case, run_method, problem, method, seconds, options.seed, options.draws)


if __name__ == "__main__":
    given = parse_options("Run Table 2.", MIXED_NAMES, SECONDS_PER_SET)
    run_sets("table2", given.names, run_set, given)
