"""Score over time on one core: ours and, from their runs, the rivals'.

    python experiments/cost.py [--data FOLDER] [--only NAME] [--seconds LONGEST] [--seed N]

A point of ours is a plain call of its own, ``BayesianSPN(time_limit=b)`` on train and valid rows:
what somebody who has b seconds gets. The seconds that it took are what counts; compilation, which
happens once per machine, does not count, nor does scoring, for the rivals neither. Rivals' times
are those of ``rival_runs.py``.
"""

from __future__ import annotations

from library_fits import fit_rows, make_estimator
from problems import Problem, load_problem
from public_data import BINARY_NAMES
from results import Case
from running import Options, Outcome, Session, parse_options, run_sets

BUDGETS = (2.0, 5.0, 10.0, 20.0)

METHOD = "ours"


def run_method(problem: Problem, seconds: float, seed: int) -> Outcome:
    """A plain call, and when it had which score."""
    fit = fit_rows(make_estimator(problem, seconds, seed), problem.training)
    outcome = fit.score_test(problem.test)
    assert outcome.scores is not None
    outcome.checkpoints.append((round(fit.seconds, 3), float(outcome.scores.mean())))
    return outcome


def budgets(longest: float) -> list[float]:
    """Time limits up to one."""
    return [budget for budget in BUDGETS if budget <= longest]


def run_set(name: str, options: Options, session: Session) -> None:
    """Run what is missing of a data set."""
    problem = load_problem(name, options.data)
    for budget in budgets(options.seconds):
        configuration = {"seconds": budget, "call": "BayesianSPN"}
        case = Case("cost", name, METHOD, options.seed, configuration)
        session.attempt(case, run_method, problem, budget, options.seed)


if __name__ == "__main__":
    given = parse_options("Run the cost study.", BINARY_NAMES, (METHOD,), BUDGETS[-1])
    run_sets("cost", given.names, run_set, given, sum(budgets(given.seconds)))
