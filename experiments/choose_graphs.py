"""Whether the evidence chooses good graphs, and learned priors match the best of a grid.

Every graph of a small grid gets its evidence, leave-one-out, the score of rows held out from a fit
to the others, and the score of test rows, which only judge the choices. Results are lines of JSON,
written as they come; a stopped run goes on.

    python experiments/choose_graphs.py large --data FOLDER    # train + valid; holds out valid
    python experiments/choose_graphs.py small --data FOLDER    # 50 to 500 rows; holds out 10 %
    python experiments/choose_graphs.py priors --data FOLDER   # 2,000 rows; test scores only
    python experiments/choose_graphs.py report                 # tables and the figure

FOLDER holds NAME.npz with uint8 arrays train, valid and test; BAYESSPN_DATA does the same.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from numpy.typing import NDArray
from problems import load_problem
from report_tables import markdown
from sklearn.exceptions import ConvergenceWarning
from tqdm import tqdm

from bayesspn import BayesianSPN
from bayesspn.arrays import Array
from bayesspn.numerics.threads import use_threads
from bayesspn.selection.select import leave_one_out

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "choose_graphs.jsonl"
FIGURE = HERE.parent / "docs" / "images" / "choose_graphs.svg"

LARGE = ("nltcs", "dna", "jester", "plants", "tmovie")
SMALL = ("nltcs", "plants", "jester", "dna")
SIZES = (50, 100, 200, 500)
PRIORS_ROWS = 2_000
SEEDS = range(3)

Graph = dict[str, Any]


def nodes(depth: int, partitions: Any, states: int, products: str = "shared") -> Graph:
    return {
        "depth": depth,
        "partitions": partitions,
        "sums": states,
        "leaves": states,
        "products": products,
    }


GRIDS: dict[str, dict[str, Graph]] = {
    "large": {
        "mixture of 16": nodes(0, "auto", 16),
        "depth 1, 4 partitions, cross 5": nodes(1, 4, 5, "cross"),
        "depth 1, 8 partitions, 8": nodes(1, 8, 8),
        "depth 2, 4 partitions, 12": nodes(2, (4, 1), 12),
        "depth 3, 4 partitions, 12": nodes(3, (4, 1, 1), 12),
    },
    "small": {
        "independent columns": nodes(0, "auto", 1),
        "mixture of 4": nodes(0, "auto", 4),
        "mixture of 12": nodes(0, "auto", 12),
        "depth 1, 4 partitions, 4": nodes(1, 4, 4),
        "depth 2, 4 partitions, 6": nodes(2, (4, 1), 6),
    },
    "priors": {"learned": nodes(1, 4, 8)}
    | {
        f"alpha {alpha}, gamma {gamma}": nodes(1, 4, 8) | {"alpha": alpha, "gamma": gamma}
        for alpha in (0.01, 0.05, 0.2, 1.0)
        for gamma in (0.1, 0.5, 2.0)
    },
}

EFFORT = {
    "large": {"runs": 3, "sweeps": 120, "burn_in": 120, "draws": 30, "thin": 4},
    "small": {"runs": 4, "sweeps": 160, "burn_in": 100, "draws": 30, "thin": 2},
    "priors": {"burn_in": 200, "draws": 40, "thin": 5},
}


class Case(NamedTuple):
    """One graph on one table."""

    study: str
    data: str
    rows: int
    seed: int
    graph: str


def list_cases(study: str, names: list[str]) -> list[Case]:
    if study == "large":
        chosen = [(name, 0, 0) for name in LARGE]
    elif study == "priors":
        chosen = [(name, PRIORS_ROWS, 0) for name in SMALL]
    else:
        chosen = [(name, rows, seed) for seed in SEEDS for rows in SIZES for name in SMALL]
    return [
        Case(study, name, rows, seed, graph)
        for name, rows, seed in chosen
        if not names or name in names
        for graph in GRIDS[study]
    ]


def split(case: Case, folder: Path | None) -> tuple[Array, NDArray[np.bool_], Array]:
    """Training rows, those of them to learn from when others are held out, and test rows."""
    problem = load_problem(case.data, folder)
    training, test = problem.training, problem.test
    if case.study == "large":
        return training, np.arange(len(training)) < len(problem.train), test
    rng = np.random.default_rng(case.seed)
    training = training[rng.permutation(len(training))[: case.rows]]
    return training, np.arange(case.rows) >= case.rows // 10, test


def run(case: Case, folder: Path | None) -> dict[str, Any]:
    use_threads(1)
    training, kept, test = split(case, folder)
    effort = EFFORT[case.study]
    model = BayesianSPN(
        **GRIDS[case.study][case.graph],
        chains=2,
        burn_in=effort["burn_in"],
        draws=effort["draws"],
        thin=effort["thin"],
        random_state=case.seed,
    )
    warnings.simplefilter("ignore", ConvergenceWarning)
    frame = pd.DataFrame(training, columns=[f"x{d}" for d in range(training.shape[1])]).astype(int)
    # a column without ones is a constant; the schema of all rows knows that it could have some
    schema = binary_schema(frame)
    model.set_params(schema=schema)
    tested = pd.DataFrame(test, columns=frame.columns).astype(int)
    if case.study == "priors":
        return {**case._asdict(), "n": len(frame), "test": model.fit(frame).score(tested)}
    begin = time.perf_counter()
    value, error = model.log_evidence(frame, runs=effort["runs"], sweeps=effort["sweeps"])
    measured = time.perf_counter()
    fitted = model.fit(frame)
    done = time.perf_counter()
    loo, loo_error, loo_bad = leave_one_out(fitted, frame)
    result = {
        **case._asdict(),
        "n": len(frame),
        "evidence": value,
        "standard_error": error,
        "loo": loo,
        "loo_error": loo_error,
        "loo_bad": loo_bad,
        "test": fitted.score(tested),
        "seconds_evidence": measured - begin,
        "seconds_fit": done - measured,
    }
    partly = model.fit(frame[kept])
    return result | {"held_out": partly.score(frame[~kept]), "test_partly": partly.score(tested)}


def binary_schema(frame: pd.DataFrame) -> Any:
    from bayesspn.tables import infer_schema

    both = pd.concat([frame, pd.DataFrame(0, index=[0], columns=frame.columns)])
    return infer_schema(pd.concat([both, pd.DataFrame(1, index=[0], columns=frame.columns)]))


def read_results() -> pd.DataFrame:
    if not RESULTS.is_file():
        return pd.DataFrame(columns=[*Case._fields])
    lines = RESULTS.read_text().splitlines()
    return pd.DataFrame([json.loads(line) for line in lines if line.endswith("}")])


def measure(study: str, folder: Path | None, names: list[str], n_jobs: int) -> None:
    known = {tuple(row) for row in read_results()[[*Case._fields]].itertuples(index=False)}
    left = [case for case in list_cases(study, names) if tuple(case) not in known]
    RESULTS.parent.mkdir(exist_ok=True)
    parallel = Parallel(n_jobs=n_jobs, batch_size=1, return_as="generator_unordered")
    with RESULTS.open("a") as file:
        for line in tqdm(parallel(delayed(run)(case, folder) for case in left), total=len(left)):
            file.write(json.dumps(line) + "\n")
            file.flush()


def choices(table: pd.DataFrame) -> pd.Series:
    """Test scores of the graphs that are chosen, and of the best there is."""
    by = {way: table.loc[table[way].idxmax()] for way in ("evidence", "loo", "held_out", "test")}
    return pd.Series(
        {
            "by evidence": by["evidence"]["test"],
            "by leave-one-out": by["loo"]["test"],
            # who chooses by rows held out may fit the chosen graph to all rows, or not
            "by held-out rows": by["held_out"]["test"],
            "without them": by["held_out"]["test_partly"],
            "best": by["test"]["test"],
        }
    )


def print_table(table: pd.DataFrame) -> None:
    lines = [
        [f"{cell:.3f}" if isinstance(cell, float) else str(cell) for cell in row]
        for row in table.itertuples(index=False)
    ]
    print(markdown([str(name) for name in table.columns], lines), end="\n\n")


def report() -> None:
    results = read_results()
    large = results[results["study"] == "large"]
    if len(large):
        shown = large.sort_values(["data", "test"])
        for name in ("evidence", "standard_error", "loo"):
            shown[name] /= shown["n"]
        columns = ["data", "graph", "evidence", "standard_error", "loo", "loo_bad", "held_out"]
        columns += ["test", "seconds_evidence", "seconds_fit"]
        print_table(shown[columns])
        chosen = large.groupby("data").apply(choices, include_groups=False)
        print_table(chosen.reset_index())
    small = results[results["study"] == "small"].groupby(["data", "rows", "seed"])
    complete = small.filter(lambda table: len(table) == len(GRIDS["small"]))
    if len(complete):
        tables = complete.groupby(["data", "rows", "seed"])
        chosen = tables.apply(choices, include_groups=False)
        regret = chosen.rsub(chosen["best"], axis=0).drop(columns="best")
        print_table(regret.groupby(["data", "rows"]).mean().reset_index())
        print_table(regret.mean().to_frame().T)
        draw(regret)
    priors = results[results["study"] == "priors"]
    if len(priors):
        means = priors.pivot_table(index="graph", columns="data", values="test")
        print_table(means.sort_values("nltcs", ascending=False).reset_index())


STYLES = {
    "by evidence": "o-C0",
    "by leave-one-out": "s--C2",
    "by held-out rows": "^-C1",
    "without them": "v:C3",
}


def draw(regret: pd.DataFrame) -> None:
    import matplotlib.pyplot as plt

    names = list(regret.index.unique("data"))
    figure, axes = plt.subplots(1, len(names), figsize=(3.1 * len(names), 3.1), squeeze=False)
    for ax, name in zip(axes[0], names, strict=True):
        for k, (way, style) in enumerate(STYLES.items()):
            groups = regret.loc[name][way].groupby("rows")
            mean, error = groups.mean(), groups.std() / np.sqrt(groups.size())
            beside = mean.index * 1.04 ** (k - 1.5)
            ax.errorbar(beside, mean, error, fmt=style, ms=4, lw=1, label=way)
        ax.set(xscale="log", title=name, xlabel="training rows")
        ax.set_xticks(SIZES, [str(size) for size in SIZES])
        ax.minorticks_off()
        ax.axhline(0, color="0.7", lw=0.8, zorder=0)
    axes[0, 0].set_ylabel("nats per test row lost to the best graph")
    axes[0, 0].legend(fontsize=7, frameon=False)
    figure.tight_layout()
    figure.savefig(FIGURE)
    print(FIGURE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("part", choices=["large", "small", "priors", "report"])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--data", type=Path, help="folder of the data sets")
    parser.add_argument("--jobs", type=int, default=-1)
    given = parser.parse_args()
    if given.part == "report":
        report()
    else:
        measure(given.part, given.data, given.names, given.jobs)


if __name__ == "__main__":
    main()
