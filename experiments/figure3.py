"""Figure 3 of the paper: test log-likelihoods when cells of training rows are missing.

    python experiments/figure3.py [--quick] [--data FOLDER] [--only NAME] [--method NAME]
                                  [--seconds S] [--extended]

20, 40, 60 or 80 % of the training rows lose half of their cells, completely at random; test rows
are complete. Every method gets the same rows with the same holes. ``--extended`` runs all 20 data
sets, and, as a second kind of holes, every cell missing with probability 10, 30, 50, 70 or 90 %.

- ``paper``: the paper's graph and priors for this study, one chain, missing cells summed out;
- ``ours``: the plain call, ``BayesianSPN(time_limit=S)``;
- ``learnspn``: LearnSPN with missing cells left out of every count;
- ``learnspn_knn``: the same LearnSPN on rows filled in by scikit-learn's ``KNNImputer``, rounded.

All data sets are run with the first seed, then all with the next: a stopped run has whole seeds.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from library_fits import fit_rows, make_estimator
from paper_system import MISSING_GRAPH, PRIORS
from problems import Problem, load_problem
from public_data import BINARY_NAMES
from results import Case
from rival_runs import run_one
from rivals.registry import Rival
from running import Options, Outcome, Session, parse_options, run_sets, time_limit
from sklearn.impute import KNNImputer

from bayesspn.arrays import Array

NAMES = ("tmovie", "cwebkb", "bbc")
ROW_SHARES = (0.2, 0.4, 0.6, 0.8)
CELL_SHARES = (0.1, 0.3, 0.5, 0.7, 0.9)
SEEDS = 3

#: Quick runs: imputation takes its time, whatever the limit.
QUICK_SEEDS = 1
QUICK_SHARES = (0.2, 0.8)

NEIGHBOURS = 5

#: Rows that neighbours are looked for among, at most: the paper's three data sets have fewer.
DONORS = 6_000

#: Imputation takes what it takes, up to this.
IMPUTATION_SECONDS = 900.0

#: Of every method, for every share of holes and seed.
SECONDS = 60.0

#: What ours are told beside their seconds, and their calls, which a line of results names.
_PARAMETERS: dict[str, dict[str, Any]] = {
    "paper": {"graph": MISSING_GRAPH, "chains": 1, **PRIORS},
    "ours": {},
}
_CALLS = {"paper": "BayesianSPN(graph and priors of the paper, chains=1)", "ours": "BayesianSPN"}
_LEARNSPN = {
    "learnspn": Rival("LearnSPN", "deeprob", "deeprob_circuits", {"method": "gaps"}),
    "learnspn_knn": Rival("LearnSPN, imputed", "deeprob", "deeprob_circuits", {"method": "gaps"}),
}
METHODS = (*_PARAMETERS, *_LEARNSPN)


def punch_holes(table: Array, kind: str, share: float, seed: int) -> Array:
    """Lose cells completely at random.

    Parameters
    ----------
    table : ndarray of shape (rows, columns)
    kind : {"rows", "cells"}
        ``"rows"``: a share of the rows loses half of its cells. ``"cells"``: every cell is lost
        with a probability.
    share : float
    seed : int
    """
    rng = np.random.default_rng([seed, round(100 * share), kind == "cells"])
    rows, columns = table.shape
    lost = np.zeros(table.shape, dtype=bool)
    if kind == "cells":
        lost = rng.random(table.shape) < share
    else:
        chosen = rng.choice(rows, round(share * rows), replace=False)
        ranks = rng.random((len(chosen), columns)).argsort(axis=1)
        lost[chosen] = ranks < columns // 2
    return np.where(lost, np.nan, table)


def run_method(
    problem: Problem, holes: Array, method: str, seconds: float, seed: int, options: Options
) -> Outcome:
    """Learn from rows with holes and score complete ones."""
    if method in _LEARNSPN:
        return _run_learnspn(problem, holes, method, seconds, seed, options)
    estimator = make_estimator(problem, seconds, seed, **_PARAMETERS[method])
    return fit_rows(estimator, holes).score_test(problem.test)


def _run_learnspn(
    problem: Problem, holes: Array, method: str, seconds: float, seed: int, options: Options
) -> Outcome:
    begin = time.perf_counter()
    if method == "learnspn_knn":
        try:
            with time_limit(IMPUTATION_SECONDS):
                holes = impute(holes, seed)
        except TimeoutError:
            spent = {"imputation": time.perf_counter() - begin}
            return Outcome(spent, error=f"imputation took more than {IMPUTATION_SECONDS:.0f} s")
    filling = time.perf_counter() - begin
    table = Problem(
        problem.name,
        holes,
        holes[:0],
        problem.test,
        problem.schema,
        problem.categories,
        problem.resolutions,
    )
    outcome = run_one(table, _LEARNSPN[method], seconds, seed, options.rivals)
    outcome.seconds["imputation"] = filling
    return outcome


def impute(holes: Array, seed: int) -> Array:
    """Fill holes of a binary table with what most of the nearest rows have there.

    Neighbours come from a sample of the rows, if there are many.
    """
    donors = np.random.default_rng(seed).permutation(len(holes))[:DONORS]
    imputer = KNNImputer(n_neighbors=NEIGHBOURS, keep_empty_features=True)
    imputer.fit(holes[np.sort(donors)])
    filled: Array = np.round(imputer.transform(holes))
    return filled


def kinds(quick: bool, extended: bool) -> Iterator[tuple[str, float]]:
    """Kinds of holes with their shares."""
    yield from (("rows", share) for share in (QUICK_SHARES if quick else ROW_SHARES))
    if extended:
        yield from (("cells", share) for share in CELL_SHARES)


def run_set(seed: int, extended: bool, name: str, options: Options, session: Session) -> None:
    """Run what is missing of a data set and seed."""
    problem = load_problem(name, options.data)
    for kind, share in kinds(options.quick, extended):
        holes = punch_holes(problem.training, kind, share, seed)
        for method in METHODS:
            if options.wants(method):
                configuration = {"seconds": options.seconds, "kind": kind, "share": share}
                if method in _CALLS:
                    configuration["call"] = _CALLS[method]
                case = Case("figure3", name, method, seed, configuration)
                arguments = (problem, holes, method, options.seconds, seed, options)
                session.attempt(case, run_method, *arguments)


if __name__ == "__main__":
    everything = "--extended" in sys.argv
    if everything:
        sys.argv.remove("--extended")
    names = BINARY_NAMES if everything else NAMES
    quick_cases = len(QUICK_SHARES) * QUICK_SEEDS
    given = parse_options("Run Figure 3.", names, METHODS, SECONDS, cases=quick_cases)
    cases = len(list(kinds(given.quick, everything))) * sum(map(given.wants, METHODS))
    for number in range(QUICK_SEEDS if given.quick else SEEDS):
        each = partial(run_set, given.seed + number, everything)
        run_sets("figure3", given.names, each, given, cases * given.seconds)
