"""A first look: learn scikit-learn's wine table, with holes in it, and ask questions.

Run it with ``make demo``, ``bayesspn demo`` or ``python -m bayesspn.demo``.
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np
import pandas as pd
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning

from bayesspn import BayesianSPN, RegionGraph
from bayesspn.questions.wording import describe_agreement

HELD_OUT = 40
MISSING = 0.1

QUESTIONS = (
    "cultivar = 0",
    "cultivar = 0 | alcohol = 13.8",
    "cultivar = 0 | alcohol = 13.8, proline = 1100",
    "color_intensity > 6 | cultivar = 2",
)


def load_table() -> pd.DataFrame:
    """Thirteen measurements of 178 wines and the cultivar each was made from, with holes."""
    table = load_wine(as_frame=True).frame.rename(columns={"target": "cultivar"})
    rng = np.random.default_rng(0)
    table = table.iloc[rng.permutation(len(table))].reset_index(drop=True)
    holes = rng.random(table.shape) < MISSING
    holes[:, table.columns.get_loc("cultivar")] = False
    return table.mask(holes).astype({"cultivar": int})


def predict_cultivar(model: BayesianSPN, test: pd.DataFrame) -> float:
    """Share of held-out wines, holes and all, whose most probable cultivar is the right one."""
    cultivars = sorted(test["cultivar"].unique())
    scores = [model.score_samples(test.assign(cultivar=cultivar)) for cultivar in cultivars]
    best = np.take(cultivars, np.argmax(scores, axis=0))
    return float((best == test["cultivar"]).mean())


def compile_engine(half: str) -> None:
    """Compile what fitting needs, or what scoring needs; later runs find it on disk."""
    table = load_table()[:20]
    if half == "fit":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            BayesianSPN(chains=1, burn_in=1, draws=1, random_state=0).fit(table)
        return
    from bayesspn.engine.compiled import log_likelihood
    from bayesspn.inference.circuits import predictive_circuit
    from bayesspn.inference.prior import prior_state
    from bayesspn.model.generative import start_hyper
    from bayesspn.selection.building import Priors, TableModels
    from bayesspn.tables.infer import encode_table

    schema, values, _ = encode_table(table)
    model, rows = TableModels(schema, values).model(RegionGraph(1), Priors())
    state = prior_state(np.random.default_rng(0), model, start_hyper(model))
    log_likelihood(predictive_circuit(model, state), rows)


def main() -> None:
    """Fit, score, ask."""
    begin = time.perf_counter()
    table = load_table()
    training, test = table[HELD_OUT:], table[:HELD_OUT]
    print(
        f"scikit-learn's wine table: {len(training)} rows to learn from, {HELD_OUT} held out, "
        f"{MISSING:.0%} of the cells missing\n"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # said in words below
        model = BayesianSPN(n_jobs=-1, progress=True, random_state=0).fit(training)
        apart = BayesianSPN(graph=RegionGraph(0, leaves=1), random_state=0).fit(training)
    print(model.schema_, model.graph_, describe_agreement(model), sep="\n\n", end="\n\n")
    print("held-out log density per row")
    print(f"  sum-product networks  {model.score(test):8.2f}")
    print(f"  independent columns   {apart.score(test):8.2f}")
    print(f"\ncultivar of held-out wines: {predict_cultivar(model, test):.0%} right\n")
    print("questions, with 90 % credible intervals")
    for question in QUESTIONS:
        value, low, high = model.probability(question, interval=0.9)
        print(f"  P({question})".ljust(56) + f"{value:.2f}  ({low:.2f} to {high:.2f})")
    middle = model.quantile("color_intensity", [0.05, 0.5, 0.95], given="cultivar = 2")
    low, median, high = middle
    print("  color_intensity given cultivar = 2".ljust(56), end="")
    print(f"median {median:.1f}, 90 % in {low:.1f} to {high:.1f}")
    print("\nsynthetic wines")
    columns = ["alcohol", "color_intensity", "proline", "cultivar"]
    print(model.sample(4, random_state=0)[columns].to_string(index=False))
    print(f"\n{time.perf_counter() - begin:.0f} s in all")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--compile"]:
        compile_engine(sys.argv[2])
    else:
        main()
