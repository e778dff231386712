"""Score over time on one core: ours and, from their runs, the rivals'.

    python experiments/cost.py [--quick] [--data FOLDER] [--only NAME] [--seconds-per-set S]

Chains of one graph take turns, and the test rows are scored with the draws so far at times that lie
further and further apart. Time counts from the encoding of the rows; compilation, which happens
once per machine, does not count, nor does scoring, for the rivals neither. The graph follows from
the shape of the table by rule, not from any score. Rivals' times are those of ``rival_runs.py``.
"""

from __future__ import annotations

import time

import candidates
import numpy as np
from problems import Problem, load_problem
from results import Case
from running import Options, Outcome, Session, as_scores, parse_options, run_sets
from timed_fits import Settings, TimedChain, build_model

from bayesspn import Key, Posterior, encode_rows
from bayesspn.datasets import BINARY_NAMES
from bayesspn.engine.shards import LocalShards

#: 20 times this is an hour and forty minutes of one core.
SECONDS_PER_SET = 300.0

FIRST = 1.0
RATIO = 1.5
CHAINS = {"one chain": 1, "four chains": 4}


def graph_for(problem: Problem) -> Settings:
    """The graph, by the shape of the table."""
    return candidates.wide_graph(*problem.training.shape)


def run_method(problem: Problem, method: str, seconds: float, seed: int) -> Outcome:
    """Let chains take turns, and score now and then."""
    settings = graph_for(problem)
    begin = time.perf_counter()
    model = build_model(settings, problem.schema, problem.training)
    shards = LocalShards(encode_rows(model.leaves, problem.training))
    preparing = time.perf_counter() - begin
    chains: list[TimedChain] = []
    checkpoints: list[tuple[float, float]] = []
    scoring, due = 0.0, min(FIRST, seconds)
    scores = np.empty(0)
    while True:
        for number in range(CHAINS[method]):
            if number == len(chains):
                chains.append(TimedChain(model, shards, Key(seed, number)))
            chains[number].run(max(0.0, due - preparing) / CHAINS[method])
        spent = preparing + sum(chain.seconds for chain in chains)
        begin = time.perf_counter()
        posterior = Posterior(model, tuple(chain.draws() for chain in chains))
        scores = posterior.score_samples(problem.test)
        scoring += time.perf_counter() - begin
        checkpoints.append((round(spent, 3), float(scores.mean())))
        if due >= seconds:
            break
        due = min(seconds, max(RATIO * due, spent))
    details = {"settings": settings.describe(), "sweeps": [chain.sweeps for chain in chains]}
    return Outcome(
        {"fit": checkpoints[-1][0], "score": scoring},
        as_scores(scores),
        details=details,
        checkpoints=checkpoints,
    )


def run_set(name: str, options: Options, session: Session) -> None:
    """Run what is missing of a data set."""
    problem = load_problem(name, options.data)
    for method in CHAINS:
        if options.wants(method):
            seconds = options.seconds / len(CHAINS)
            configuration = {"seconds": seconds, "graph": graph_for(problem).name}
            case = Case("cost", name, method, options.seed, configuration)
            session.attempt(case, run_method, problem, method, seconds, options.seed)


if __name__ == "__main__":
    given = parse_options("Run the cost study.", BINARY_NAMES, SECONDS_PER_SET)
    run_sets("cost", given.names, run_set, given)
