"""The plain call: what a user gets without a parameter but a time limit.

    python experiments/plain_call.py [--data FOLDER] [--only NAME] [--seconds 60] [--seeds 3]

``BayesianSPN(time_limit=60, n_jobs=1)`` on train and valid rows of the 20 binary and 12 mixed data
sets (the latter with stated resolution, as in Table 2), scored on test rows that went into no
choice. Lines are appended to ``results/plain_call.jsonl``; a stopped run goes on. At the end, a
table of all that is there is printed; `RESULTS.md` has the figures of runs that had longer.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from problems import load_problem
from public_data import BINARY_NAMES, MIXED_NAMES
from sklearn.exceptions import ConvergenceWarning

from bayesspn import BayesianSPN
from bayesspn.tables import decode

RESULTS = Path(__file__).parent / "results" / "plain_call.jsonl"


def run(name: str, seed: int, seconds: float, folder: Path | None) -> dict[str, Any]:
    """Fit and score one data set."""
    problem = load_problem(name, folder, resolved=True)
    training, test = (
        decode(rows, problem.schema, "pandas") for rows in (problem.training, problem.test)
    )
    begin = time.perf_counter()
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always", ConvergenceWarning)
        model = BayesianSPN(
            schema=problem.schema, time_limit=seconds, n_jobs=1, random_state=seed
        ).fit(training)
    fitted = time.perf_counter()
    scores = model.score_samples(test)
    plan = model.plan_
    assert plan is not None
    shape = "·".join(map(str, plan.graph.branching))
    return {
        "data": name,
        "seed": seed,
        "limit": seconds,
        "score": float(np.mean(scores)),
        "fit_seconds": round(fitted - begin, 1),
        "score_seconds": round(time.perf_counter() - fitted, 1),
        "graph": f"{shape} × {plan.graph.sums} {plan.graph.products}",
        "starts": list(plan.warm_up.starts),
        "chains": plan.chains,
        "burn_in": plan.burn_in,
        "draws": plan.draws,
        "warned": any(issubclass(one.category, ConvergenceWarning) for one in raised),
    }


def read() -> list[dict[str, Any]]:
    """Lines so far."""
    if not RESULTS.exists():
        return []
    return [json.loads(line) for line in RESULTS.read_text().splitlines()]


def tabulate(lines: list[dict[str, Any]]) -> str:
    """A table in Markdown: mean over seeds, and what was done."""
    grouped = defaultdict(list)
    for line in lines:
        grouped[line["limit"], line["data"]].append(line)
    rows = [
        "| limit | data set | seeds | test score | graph of the first | chains | warned |",
        "|---:|---|---:|---:|---|---:|---:|",
    ]
    for (limit, name), found in sorted(grouped.items()):
        scores = [line["score"] for line in found]
        spread = f" ± {np.std(scores, ddof=1):.3f}" if len(scores) > 1 else ""
        first = found[0]
        rows.append(
            f"| {limit:g} s | {name} | {len(found)} | {np.mean(scores):.3f}{spread} "
            f"| {first['graph']} | {first['chains']} | {sum(line['warned'] for line in found)} |"
        )
    return "\n".join(rows)


def main() -> None:
    """Run what is missing, print what is there."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=None)
    parser.add_argument("--only", action="append", default=None)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    names = options.only or [*BINARY_NAMES, *MIXED_NAMES]
    done = {(line["data"], line["seed"], line["limit"]) for line in read()}
    for seed in range(options.seeds):
        for name in names:
            if (name, seed, options.seconds) in done:
                continue
            line = run(name, seed, options.seconds, options.data)
            print(json.dumps(line), flush=True)
            with RESULTS.open("a") as file:
                file.write(json.dumps(line) + "\n")
    print(tabulate(read()))


if __name__ == "__main__":
    main()
