"""Recovery: how far a default fit is from a distribution that is known.

    python experiments/recovery.py [--rows 100 --rows 1000] [--only NAME] [--seeds 2]
                                   [--rivals FOLDER --seconds 60]

Tables are drawn from known distributions; the distance is the Kullback-Leibler divergence from the
truth, in nats per row, estimated on 2,000 fresh rows. Beside the default fit: a plain mixture
(``RegionGraph(0, leaves=32)`` of the same package), and scikit-learn's Bayesian Gaussian mixture
where all columns are continuous. With ``--rivals``, also LearnSPN and MSPN of deeprob-kit and Lace,
in environments that are made in that folder when they are first needed; each is given up after a
time limit. A table is printed; no figure depends on data of anyone else.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
from rivals.environments import RivalEnvironmentError
from rivals.exchange import Task
from rivals.process import run_rival
from rivals.registry import RIVALS
from scipy.special import logsumexp
from scipy.stats import multivariate_normal, norm
from sklearn.mixture import BayesianGaussianMixture

from bayesspn import BayesianSPN, RegionGraph, SPNRegressor
from bayesspn.arrays import Array, IntArray

FRESH = 2_000

#: Those of the registry that run, each where the registry says that it can.
BESIDE = ("learnspn", "mspn", "lace")

Density = Callable[[pd.DataFrame], Array]


@dataclass(frozen=True)
class Truth:
    """A distribution: draws, and log densities of them."""

    draw: Callable[[np.random.Generator, int], pd.DataFrame]
    log_density: Density
    continuous: bool = True


def designs() -> Truth:
    """Five columns name one of 22 designs; the sixth determines the seventh by a smooth curve."""
    rng = np.random.default_rng(22)
    shapes = rng.normal(size=(22, 5)).round(2)
    steep = rng.uniform(6.0, 9.0, 22)
    noise = 0.3

    def curve(design: IntArray, speed: Array) -> Array:
        return 100.0 * steep[design] * speed**4

    def draw(rng: np.random.Generator, rows: int) -> pd.DataFrame:
        design, speed = rng.integers(22, size=rows), rng.uniform(0.1, 0.5, rows)
        drag = curve(design, speed) + rng.normal(0, noise, rows)
        shape = shapes[design] + rng.normal(0, 0.01, (rows, 5))
        names = [*(f"shape{k}" for k in range(5)), "speed", "drag"]
        return pd.DataFrame(np.column_stack([shape, speed, drag]), columns=names)

    def log_density(table: pd.DataFrame) -> Array:
        values = table.to_numpy()
        parts = norm.logpdf(values[:, None, :5], shapes, 0.01).sum(axis=2)
        mean = curve(np.arange(22), values[:, 5:6])
        parts = parts + norm.logpdf(values[:, 6:7], mean, noise)
        return np.asarray(logsumexp(parts, axis=1) - np.log(22) - np.log(0.4))

    return Truth(draw, log_density)


def groups() -> Truth:
    """Four independent groups of three columns, each a mixture of four clusters."""
    centres = np.random.default_rng(4).normal(0, 3, (4, 4, 3))

    def draw(rng: np.random.Generator, rows: int) -> pd.DataFrame:
        chosen = [centres[g, rng.integers(4, size=rows)] for g in range(4)]
        return pd.DataFrame(np.hstack(chosen) + rng.normal(size=(rows, 12)), columns=_names(12))

    def log_density(table: pd.DataFrame) -> Array:
        values = table.to_numpy().reshape(-1, 4, 1, 3)
        parts = norm.logpdf(values, centres[None]).sum(axis=3)
        return np.asarray((logsumexp(parts, axis=2) - np.log(4)).sum(axis=1))

    return Truth(draw, log_density)


def gaussians() -> Truth:
    """Six correlated Gaussian columns."""
    factor = np.random.default_rng(6).normal(size=(6, 6))
    law = multivariate_normal(np.zeros(6), factor @ factor.T)

    def draw(rng: np.random.Generator, rows: int) -> pd.DataFrame:
        return pd.DataFrame(rng.normal(size=(rows, 6)) @ factor.T, columns=_names(6))

    return Truth(draw, lambda table: np.asarray(law.logpdf(table.to_numpy())))


def rings() -> Truth:
    """Two rings in two columns, a checkerboard in two others."""

    def draw(rng: np.random.Generator, rows: int) -> pd.DataFrame:
        angle, radius = rng.uniform(0, 2 * np.pi, rows), rng.choice([1.0, 2.0], rows)
        radius = radius + rng.normal(0, 0.1, rows)
        first = rng.integers(4, size=rows)
        second = 2 * rng.integers(2, size=rows) + first % 2
        board = np.column_stack([first, second]) + rng.random((rows, 2))
        values = np.column_stack([radius * np.cos(angle), radius * np.sin(angle), board])
        return pd.DataFrame(values, columns=_names(4))

    def log_density(table: pd.DataFrame) -> Array:
        values = table.to_numpy()
        radius = np.hypot(values[:, 0], values[:, 1])
        ring = logsumexp(norm.logpdf(radius[:, None], [1.0, 2.0], 0.1), axis=1) - np.log(2)
        return np.asarray(ring - np.log(2 * np.pi * radius) - np.log(8))

    return Truth(draw, log_density)


def tree() -> Truth:
    """A tree of 100 binary columns, each flipped from its parent with probability 0.15."""
    parents = [
        0,
        *(int(np.random.default_rng(d).integers(max(0, d - 5), d)) for d in range(1, 100)),
    ]

    def draw(rng: np.random.Generator, rows: int) -> pd.DataFrame:
        values = np.zeros((rows, 100), dtype=np.int64)
        values[:, 0] = rng.integers(2, size=rows)
        for column in range(1, 100):
            values[:, column] = values[:, parents[column]] ^ (rng.random(rows) < 0.15)
        return pd.DataFrame(values, columns=_names(100))

    def log_density(table: pd.DataFrame) -> Array:
        values = table.to_numpy()
        flipped = np.asarray(values[:, 1:] != values[:, parents[1:]])
        logs = np.choose(flipped.astype(np.int64), [np.log(0.85), np.log(0.15)])
        return np.asarray(np.sum(logs, axis=1) - np.log(2))

    return Truth(draw, log_density, continuous=False)


def mixed() -> Truth:
    """Three kinds of rows with a number, a count and a category each."""
    centre, rate = np.array([0.0, 4.0, 8.0]), np.array([1.0, 5.0, 15.0])
    colours = np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6]])

    def draw(rng: np.random.Generator, rows: int) -> pd.DataFrame:
        kind = rng.integers(3, size=rows)
        chosen = (rng.random((rows, 1)) > np.cumsum(colours[kind], axis=1)).sum(axis=1)
        return pd.DataFrame(
            {
                "size": centre[kind] + rng.normal(size=rows),
                "visits": rng.poisson(rate[kind]),
                "colour": np.array(["red", "green", "blue"])[np.minimum(chosen, 2)],
            }
        )

    def log_density(table: pd.DataFrame) -> Array:
        from scipy.stats import poisson

        colour = table["colour"].map({"red": 0, "green": 1, "blue": 2}).to_numpy()
        parts = norm.logpdf(table["size"].to_numpy()[:, None], centre)
        parts = parts + poisson.logpmf(table["visits"].to_numpy()[:, None], rate)
        parts = parts + np.log(colours[:, colour]).T
        return np.asarray(logsumexp(parts, axis=1) - np.log(3))

    return Truth(draw, log_density, continuous=False)


TRUTHS = {f.__name__: f for f in (designs, groups, gaussians, rings, tree, mixed)}


def _names(columns: int) -> list[str]:
    return [f"x{column}" for column in range(columns)]


def draw_tables(truth: Truth, rows: int, seed: int) -> tuple[pd.DataFrame, pd.DataFrame, float]:
    """Rows to learn from, fresh rows, and the mean log density of the latter by the truth."""
    rng = np.random.default_rng([seed, rows])
    table, fresh = truth.draw(rng, rows), truth.draw(rng, FRESH)
    return table, fresh, float(truth.log_density(fresh).mean())


def distances(truth: Truth, rows: int, seed: int) -> dict[str, float]:
    """Divergence from the truth by method, and seconds of the default fit."""
    table, fresh, true = draw_tables(truth, rows, seed)
    begin = time.perf_counter()
    ours = BayesianSPN(random_state=seed).fit(table)
    seconds = time.perf_counter() - begin
    plain = BayesianSPN(graph=RegionGraph(0, leaves=32), random_state=seed).fit(table)
    found = {"default": true - ours.score(fresh), "mixture": true - plain.score(fresh)}
    if truth.continuous:
        gmm = BayesianGaussianMixture(
            n_components=min(32, rows // 4), max_iter=500, random_state=seed
        )
        found["sklearn"] = true - gmm.fit(table).score(fresh)
    return found | {"seconds": seconds}


def encode(table: pd.DataFrame, fresh: pd.DataFrame) -> tuple[Array, Array, tuple[int, ...]]:
    """Training and fresh rows as rivals get them: numbers and codes, and numbers of categories.

    Tasks know categories and continuous columns only: counts are codes, and rivals are not told
    that neighbours are alike. Continuous columns have 0 categories.
    """
    both = pd.concat([table, fresh], ignore_index=True)
    categories = []
    for name in both:
        if not pd.api.types.is_numeric_dtype(both[name]):
            both[name] = pd.factorize(both[name], sort=True)[0]
        whole = pd.api.types.is_integer_dtype(both[name])
        categories.append(int(both[name].max()) + 1 if whole else 0)
    values = both.to_numpy(dtype=np.float64)
    return values[: len(table)], values[len(table) :], tuple(categories)


def rival_distance(name: str, task: Task, true: float, environments: Path) -> float | None:
    """Divergence of a rival's last scores; NaN if it failed, None if it does not apply."""
    rival = RIVALS[name]
    if not (rival.binary if task.binary else rival.mixed):
        return None
    task = replace(task, setting=rival.setting)
    try:
        run = run_rival(environments, rival.environment, rival.module, task)
    except RivalEnvironmentError as error:
        print(error, file=sys.stderr)
        return np.nan
    # one that was stopped has said something before; one that broke down has not
    if not run.reports or (run.error and not run.stopped):
        print(f"{name}: {run.error or 'no scores'}", file=sys.stderr)
        return np.nan
    return float(true - np.mean(run.reports[-1][0], dtype=np.float64))


def rival_distances(
    truth: Truth, rows: int, seed: int, environments: Path, seconds: float
) -> dict[str, float]:
    """Divergences of the rivals that apply, learned from the same rows as ours."""
    table, fresh, true = draw_tables(truth, rows, seed)
    task = Task(*encode(table, fresh), seconds, seed, {})
    found = {name: rival_distance(name, task, true, environments) for name in BESIDE}
    return {name: distance for name, distance in found.items() if distance is not None}


def write_row(name: str, rows: int, mean: dict[str, float], beside: tuple[str, ...]) -> str:
    """A row of the table in Markdown."""
    cells = [_write(mean.get(method)) for method in ("default", "mixture", "sklearn", *beside)]
    return f"| {name} | {rows} | {' | '.join(cells)} | {mean['seconds']:.1f} |"


def _write(distance: float | None) -> str:
    """A divergence; ∞ if a fresh row has no density, and "–" where a method does not apply."""
    if distance is None:
        return "–"
    if np.isnan(distance):
        return "failed"
    return "∞" if np.isinf(distance) else f"{distance:.3f}"


def print_table(options: argparse.Namespace) -> None:
    """Print a row per truth and number of rows, as they come."""
    beside = BESIDE if options.rivals else ()
    titles = ("default fit", "plain mixture", "scikit-learn", *(RIVALS[n].title for n in beside))
    print(f"| truth | rows | {' | '.join(titles)} | seconds |")
    print(f"|---|---:|{'---:|' * len(titles)}---:|")
    for name in options.only or TRUTHS:
        for rows in options.rows or (100, 300, 1_000, 3_000):
            each = []
            for seed in range(options.seeds):
                found = distances(TRUTHS[name](), rows, seed)
                if options.rivals:
                    found |= rival_distances(
                        TRUTHS[name](), rows, seed, options.rivals, options.seconds
                    )
                each.append(found)
            mean = pd.DataFrame(each).mean(skipna=False).to_dict()
            print(write_row(name, rows, mean, beside), flush=True)


def main() -> None:
    """Print a table of divergences."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, action="append", default=None)
    parser.add_argument("--only", action="append", default=None)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--rivals", type=Path, help="folder of the rivals' environments")
    parser.add_argument("--seconds", type=float, default=60.0, help="time limit of a rival")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print_table(options)
    truth = designs()
    table = truth.draw(np.random.default_rng(1), 277 + FRESH)
    learned, fresh = table[:277], table[277:]
    model = SPNRegressor(random_state=0).fit(learned.drop(columns="drag"), learned["drag"])
    print(f"\ndesigns, 277 rows: R² {model.score(fresh.drop(columns='drag'), fresh['drag']):.4f}")


if __name__ == "__main__":
    main()
