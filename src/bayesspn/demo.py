"""A first look: learn scikit-learn's wine table, with holes in it, and ask questions.

Run it with ``make demo`` or ``python -m bayesspn.demo``.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from sklearn.datasets import load_wine
from tqdm import tqdm

from bayesspn.arrays import Array
from bayesspn.graphs import RegionGraph
from bayesspn.inference.chains import Chain, run_chain, start_chain
from bayesspn.inference.sweep import SweepInfo
from bayesspn.leaves.columns import Leaves, describe_column
from bayesspn.model.generative import Model
from bayesspn.numerics.random_numbers import Key
from bayesspn.prediction.posterior import Posterior, merge_chains
from bayesspn.rows.encoded import encode_rows

CHAINS = 4
BURN_IN = 300
DRAWS = 50
THIN = 6
HELD_OUT = 40
MISSING = 0.1


def load_table() -> tuple[list[str], Array]:
    """Thirteen measurements of 178 wines and the cultivar each was made from."""
    wine = load_wine()
    names = [*wine.feature_names, "cultivar"]
    return names, np.column_stack([wine.data, wine.target]).astype(np.float64)


def build_model(names: list[str], X: Array, graph: RegionGraph) -> Model:
    """Real columns mix Gaussian and log-normal leaves; the cultivar is a category."""
    columns = [
        describe_column(
            name,
            X[:, d],
            "categorical" if name == "cultivar" else ("gaussian", "lognormal"),
        )
        for d, name in enumerate(names)
    ]
    return Model(graph, Leaves(tuple(columns)))


def fit(model: Model, X: Array, chains: int = CHAINS) -> list[Chain]:
    """Run several chains with one progress bar."""
    rows = encode_rows(model.leaves, X)
    done = []
    total = chains * (BURN_IN + DRAWS * THIN)
    with tqdm(total=total, desc="sampling", unit="sweep", file=sys.stderr) as bar:

        def show(_: int, info: SweepInfo) -> None:
            bar.update()
            bar.set_postfix_str(f"log-likelihood {info.log_likelihood:.2f}", refresh=False)

        for number in range(chains):
            start = start_chain(Key(seed=0, chain=number), model, rows)
            done.append(
                run_chain(start, rows, burn_in=BURN_IN, draws=DRAWS, thin=THIN, on_sweep=show)
            )
    return done


def interval(values: Array) -> str:
    """Mean and 90 % credible interval of a quantity over the draws."""
    low, high = np.quantile(values, [0.05, 0.95])
    return f"{values.mean():.2f}  (90 % interval {low:.2f} to {high:.2f})"


def class_probabilities(posterior: Posterior, evidence: Array, column: int) -> Array:
    """P(column = k | evidence) under networks from the posterior; shape (draws, categories)."""
    categories = posterior.model.leaves.columns[column].n_categories
    queries = np.tile(evidence, (categories, 1))
    queries[:, column] = np.arange(categories)
    joint = np.exp(posterior.score_draws(queries, seed=0))
    return joint / joint.sum(axis=1, keepdims=True)


def ask(names: list[str], posterior: Posterior) -> None:
    """Exact conditional questions, each with the posterior's own uncertainty."""
    cultivar = names.index("cultivar")
    for given in ({}, {"alcohol": 13.8}, {"alcohol": 13.8, "proline": 1100.0}):
        evidence = np.full(len(names), np.nan)
        for name, value in given.items():
            evidence[names.index(name)] = value
        probability = class_probabilities(posterior, evidence, cultivar)[:, 0]
        condition = ", ".join(f"{name} = {value:g}" for name, value in given.items())
        question = f"P(cultivar = 0 | {condition})" if given else "P(cultivar = 0)"
        print(f"  {question:55s} {interval(probability)}")
    evidence = np.full((4000, len(names)), np.nan)
    evidence[:, cultivar] = 2
    color = posterior.complete(evidence, seed=1)[:, names.index("color_intensity")]
    low, middle, high = np.quantile(color, [0.05, 0.5, 0.95])
    print(f"  {'color_intensity given cultivar = 2':55s} median {middle:.1f}, 90 % in ", end="")
    print(f"{low:.1f} to {high:.1f}")


def predict_cultivar(names: list[str], posterior: Posterior, test: Array) -> float:
    """Accuracy of the most probable cultivar of held-out wines with holes."""
    cultivar = names.index("cultivar")
    scores = []
    for k in range(posterior.model.leaves.columns[cultivar].n_categories):
        guess = test.copy()
        guess[:, cultivar] = k
        scores.append(posterior.score_samples(guess))
    return float((np.argmax(scores, axis=0) == test[:, cultivar]).mean())


def main() -> None:
    """Fit, score, ask."""
    begin = time.perf_counter()
    names, X = load_table()
    rng = np.random.default_rng(0)
    X = X[rng.permutation(len(X))]
    holes = rng.random(X.shape) < MISSING
    holes[:, names.index("cultivar")] = False
    X[holes] = np.nan
    training, test = X[HELD_OUT:], X[:HELD_OUT]
    print(
        f"scikit-learn's wine table: {len(training)} rows to learn from, {HELD_OUT} held out, "
        f"{len(names)} columns, {holes.mean():.0%} of the cells missing\n"
    )
    graph = RegionGraph(depth=2, partitions=(8, 1), sums=8, leaves=8, products="shared")
    print(graph, end="\n\n")
    print("The first run on a machine compiles the engine, which takes about a minute.", flush=True)
    model = build_model(names, training, graph)
    chains = fit(model, training)
    posterior = merge_chains(chains)
    score = posterior.score_samples(test)

    plain = build_model(names, training, RegionGraph(depth=0, leaves=1))
    independent = merge_chains(fit(plain, training, chains=1)).score_samples(test)
    print(f"\nheld-out log-likelihood per row, {posterior.n_draws} draws of {CHAINS} chains")
    print(f"  sum-product network    {score.mean():8.2f} ± {score.std() / HELD_OUT**0.5:.2f}")
    print(f"  independent columns    {independent.mean():8.2f}")
    for number, chain in enumerate(chains):
        single = merge_chains([chain]).score_samples(test).mean()
        print(f"  chain {number} alone          {single:8.2f}")
    print(f"\ncultivar of held-out wines: {predict_cultivar(names, posterior, test):.0%} right")
    print("\nexact conditional queries")
    ask(names, posterior)
    alpha = np.mean([state.hyper.alpha for draws in posterior.draws for state in draws], axis=0)
    beta = np.mean([state.hyper.beta[0] for draws in posterior.draws for state in draws])
    print(
        f"\nlearned concentrations: alpha {np.round(alpha, 3).tolist()} by level, beta {beta:.2f}"
    )
    print(f"{time.perf_counter() - begin:.0f} s in all")


if __name__ == "__main__":
    main()
