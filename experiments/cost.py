"""Score over time on one core: ours and, from their runs, the rivals'.

    python experiments/cost.py [--quick] [--data FOLDER] [--only NAME] [--seconds-per-set S]

Chains of one graph run one after the other, and the test rows are scored with the draws so far at
times that lie further and further apart: with those of the first chain at first, then with those of
more and more. Time counts from the encoding of the rows; compilation, which happens once per
machine, does not count, nor does scoring, for the rivals neither. The graph follows from the shape
of the table by rule, not from any score. Rivals' times are those of ``rival_runs.py``.
"""

from __future__ import annotations

import time

import candidates
from problems import Problem, load_problem
from public_data import BINARY_NAMES
from results import Case
from running import Options, Outcome, Session, as_scores, parse_options, run_sets
from timed_fits import Settings, TimedChain, build_model

from bayesspn import Key, Posterior, encode_rows
from bayesspn.engine.shards import LocalShards
from bayesspn.tables import encode

#: 20 times this is an hour and forty minutes of one core.
SECONDS_PER_SET = 300.0

FIRST = 1.0
RATIO = 1.5

#: Sweeps of a chain before the next one starts, and those from which on its draws count.
SWEEPS = 100
COUNTED = 40

METHOD = "chains in turn"


def graph_for(problem: Problem) -> Settings:
    """The graph, by the shape of the table."""
    return candidates.wide_graph(*problem.training.shape)


def run_method(problem: Problem, seconds: float, seed: int) -> Outcome:
    """Run chain after chain, and score now and then."""
    settings = graph_for(problem)
    begin = time.perf_counter()
    values = encode(problem.training, problem.schema)
    model = build_model(settings, problem.schema, values)
    shards = LocalShards(encode_rows(model.leaves, values))
    preparing = time.perf_counter() - begin
    chains = [TimedChain(model, shards, Key(seed, 0))]
    checkpoints: list[tuple[float, float]] = []
    scoring, due = 0.0, min(FIRST, seconds)
    while True:
        spent = preparing + sum(chain.seconds for chain in chains)
        while spent < due or not chains[0].sweeps:
            if chains[-1].sweeps >= SWEEPS:
                chains.append(TimedChain(model, shards, Key(seed, len(chains))))
            chains[-1].run(chains[-1].seconds + 1e-9)
            spent = preparing + sum(chain.seconds for chain in chains)
        begin = time.perf_counter()
        counted = [chain for chain in chains if chain is chains[0] or chain.sweeps >= COUNTED]
        posterior = Posterior(model, tuple(chain.draws() for chain in counted))
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
    graph = graph_for(problem).name
    configuration = {"seconds": options.seconds, "graph": graph, "sweeps": SWEEPS}
    case = Case("cost", name, METHOD, options.seed, configuration)
    session.attempt(case, run_method, problem, options.seconds, options.seed)


if __name__ == "__main__":
    given = parse_options("Run the cost study.", BINARY_NAMES, SECONDS_PER_SET)
    run_sets("cost", given.names, run_set, given)
