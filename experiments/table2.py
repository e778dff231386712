"""Table 2 of the paper: test log-likelihoods of the 12 heterogeneous data sets.

    python experiments/table2.py [--quick] [--data FOLDER] [--only NAME] [--method NAME]
                                 [--seconds S] [--seed N]

Scores are log probabilities of discrete columns and log densities, in original units, of continuous
ones. Tables are resolved: see ``problems.py`` for what that is and why. All learn from train and
valid rows, on one core, and have the same seconds:

- ``ours``: the plain call, ``BayesianSPN(time_limit=S)``;
- ``infinite``: ``InfiniteSPN(time_limit=S)``;
- ``abda``: our model with its structure held fixed, see ``abda.py``;
- ``recorded``: the plain call on the table as recorded, with densities at recorded values. The
  paper, ABDA and MSPN report these; where values recur, they measure spikes, and are shown for
  comparison only.

The mean over the continuous columns alone is kept, too: scikit-learn's mixture models these only.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from abda import fit_fixed
from library_fits import fit_rows, make_estimator, score_chains
from problems import Problem, load_problem
from public_data import MIXED_NAMES
from results import Case
from running import Options, Outcome, Session, as_scores, parse_options, run_sets

from bayesspn import BayesianSPN, InfiniteSPN
from bayesspn.arrays import Array

SECONDS = 60.0

#: What a line of results names as the call of a method.
METHODS = {
    "ours": "BayesianSPN",
    "infinite": "InfiniteSPN",
    "abda": "structure fixed",
    "recorded": "BayesianSPN, as recorded",
}


def run_method(problem: Problem, method: str, seconds: float, seed: int) -> Outcome:
    """Sample and score."""
    if method == "abda":
        outcome, score = _run_abda(problem, seconds, seed)
    else:
        kind = InfiniteSPN if method == "infinite" else BayesianSPN
        fit = fit_rows(make_estimator(problem, seconds, seed, kind), problem.training)
        outcome, score = fit.score_test(problem.test), fit.score
    outcome.details["resolutions"] = list(problem.resolutions)
    outcome.details["continuous_mean"] = score_continuous(score, problem)
    return outcome


def _run_abda(
    problem: Problem, seconds: float, seed: int
) -> tuple[Outcome, Callable[[Array], Array]]:
    begin = time.perf_counter()
    posterior = fit_fixed(problem, seconds, seed)
    fitted = time.perf_counter()
    scores = posterior.score_samples(problem.test)
    spent = {"fit": fitted - begin, "score": time.perf_counter() - fitted}
    means = score_chains(posterior, problem.test).mean(axis=1)
    details: dict[str, object] = {"chain_means": [float(mean) for mean in means]}
    return Outcome(spent, as_scores(scores), details=details), posterior.score_samples


def score_continuous(score: Callable[[Array], Array], problem: Problem) -> float | None:
    """Mean score of the continuous columns, the others summed out; None if there are none."""
    if not problem.continuous:
        return None
    rows = np.full_like(problem.test, np.nan)
    rows[:, problem.continuous] = problem.test[:, problem.continuous]
    return float(score(rows).mean())


def run_set(name: str, options: Options, session: Session) -> None:
    """Run what is missing of a data set."""
    for method, call in METHODS.items():
        if options.wants(method):
            problem = load_problem(name, options.data, resolved=method != "recorded")
            configuration = {"seconds": options.seconds, "call": call}
            case = Case("table2", name, method, options.seed, configuration)
            session.attempt(case, run_method, problem, method, options.seconds, options.seed)


if __name__ == "__main__":
    given = parse_options("Run Table 2.", MIXED_NAMES, tuple(METHODS), SECONDS)
    per_set = given.seconds * sum(map(given.wants, METHODS))
    run_sets("table2", given.names, run_set, given, per_set)
