"""What `bench/small.py` measures, in a process of its own: one table, printed as JSON.

    python bench/small_measures.py NAME sweeps|fit|mixture|lace [FILE]

FILE holds the table's columns, for environments that cannot make it.
Only the public names of bayesspn are used, so that an older version, by PYTHONPATH, runs as well.
All figures are CPU seconds of one thread, which hardly depend on what else a machine does.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

SWEEPS = 400

#: Held by Lace: states are its chains. Its documentation's examples run 1,000 steps or fewer.
LACE_STATES, LACE_STEPS = 8, 1_000


def _clusters(rows: int, count: int, seed: int) -> tuple[np.random.Generator, Any]:
    rng = np.random.default_rng(seed)
    return rng, rng.integers(count, size=rows)


def _bundled(name: str) -> dict[str, Any]:
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{name}")()
    columns: dict[str, Any] = {f"x{d}": bunch.data[:, d] for d in range(bunch.data.shape[1])}
    return columns | {"class": np.array([f"c{k}" for k in bunch.target])}


def _binary() -> dict[str, Any]:
    from sklearn.datasets import load_digits

    pixels = load_digits().data
    return {f"x{d}": pixels[:, d] > 7 for d in range(pixels.shape[1]) if pixels[:, d].max() > 7}


def _counts() -> dict[str, Any]:
    from sklearn.datasets import load_digits

    pixels = load_digits().data.astype(int)
    return {f"x{d}": pixels[:, d] for d in range(0, pixels.shape[1], 2) if np.ptp(pixels[:, d]) > 1}


def _categorical() -> dict[str, Any]:
    rng, cluster = _clusters(2_000, 6, 0)
    words = np.array(["a", "b", "c", "d", "e"])
    chances = rng.dirichlet(np.full(5, 0.4), size=(12, 6))
    draws = [[rng.choice(5, p=chances[d, k]) for k in cluster] for d in range(12)]
    return {f"x{d}": words[codes] for d, codes in enumerate(draws)}


def _mixed() -> dict[str, Any]:
    rng, cluster = _clusters(2_000, 5, 1)
    columns: dict[str, Any] = {}
    for d in range(4):
        columns[f"real{d}"] = (rng.normal(size=5)[cluster] * 2 + rng.normal(size=2_000)).round(2)
        columns[f"positive{d}"] = np.exp(
            rng.normal(size=5)[cluster] + 0.4 * rng.normal(size=2_000)
        ).round(3)
        columns[f"count{d}"] = rng.poisson(rng.gamma(2.0, 3.0, size=5)[cluster]).astype(float)
        columns[f"word{d}"] = np.array(["u", "v", "w"], dtype=object)[
            (cluster + (rng.random(2_000) < 0.2)) % 3
        ]
    for cells in columns.values():
        cells[rng.random(2_000) < 0.1] = None if cells.dtype == object else np.nan
    return columns


def _wide() -> dict[str, Any]:
    rng, cluster = _clusters(1_000, 8, 2)
    chances = rng.beta(0.2, 3.0, size=(8, 500))
    ones = rng.random((1_000, 500)) < chances[cluster]
    return {f"x{d}": ones[:, d] for d in range(500) if 0 < ones[:, d].sum() < 1_000}


TABLES: dict[str, Callable[[], dict[str, Any]]] = {
    "iris": lambda: _bundled("iris"),
    "wine": lambda: _bundled("wine"),
    "breast cancer": lambda: _bundled("breast_cancer"),
    "binary": _binary,
    "counts": _counts,
    "categorical": _categorical,
    "mixed": _mixed,
    "wide": _wide,
}


def time_sweeps(columns: dict[str, Any]) -> dict[str, Any]:
    """Milliseconds of 400 sweeps of the default model."""
    import pandas as pd

    from bayesspn import BayesianSPN, Key, encode_rows, run_chain, start_chain, tables

    table = pd.DataFrame(columns)
    short = BayesianSPN(chains=1, burn_in=0, draws=1, random_state=0).fit(table)
    model = short.posterior_.model
    rows = encode_rows(model.leaves, tables.encode(table, short.schema_))
    chain = start_chain(Key(0), model, rows)
    ends = [time.process_time()]
    run_chain(
        chain, rows, burn_in=SWEEPS, draws=0, on_sweep=lambda *_: ends.append(time.process_time())
    )
    return {"shape": table.shape, "sweeps": (1e3 * np.diff(ends)).tolist()}


def time_fit(columns: dict[str, Any]) -> dict[str, Any]:
    """Seconds of a default fit, and of scoring the rows that it was given."""
    import pandas as pd

    from bayesspn import BayesianSPN

    table = pd.DataFrame(columns)
    BayesianSPN(chains=1, burn_in=0, draws=1, random_state=0).fit(table).score_samples(table)
    begin = time.process_time()
    model = BayesianSPN(random_state=0).fit(table)
    fitted = time.process_time() - begin
    draws, chains = model.posterior_.n_draws, len(model.posterior_.draws)
    sweeps = int(np.asarray(model.trace_).size)
    return {
        "fit": fitted, "sweeps": sweeps, "chains": chains, "draws": draws,
        **_time_scores(lambda: model.score_samples(table), len(table)),
    }  # fmt: skip


def time_mixture(columns: dict[str, Any]) -> dict[str, Any]:
    """The same of scikit-learn's variational mixture, on standardised numbers alone."""
    from sklearn.mixture import BayesianGaussianMixture

    real = [cells for cells in columns.values() if cells.dtype.kind == "f"]
    X = np.column_stack(real)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    begin = time.process_time()
    mixture = BayesianGaussianMixture(n_components=10, max_iter=1_000, random_state=0).fit(X)
    fitted = time.process_time() - begin
    return {"fit": fitted, "draws": 1, **_time_scores(lambda: mixture.score_samples(X), len(X))}


def time_lace(columns: dict[str, Any]) -> dict[str, Any]:
    """The same of Lace."""
    from lace import Engine
    from rivals.lace_states import as_frame, describe

    coded, categories = [], []
    for cells in columns.values():
        names, codes = np.unique(cells, return_inverse=True)
        real = cells.dtype.kind == "f"
        coded.append(cells if real else codes.astype(float))
        categories.append(0 if real else len(names))
    X = np.column_stack(coded)
    frame = as_frame(X, tuple(categories), True)
    begin = time.process_time()
    codebook = describe(frame, tuple(categories))
    engine = Engine.from_df(frame, codebook=codebook, n_states=LACE_STATES, rng_seed=0)
    engine.update(LACE_STEPS, quiet=True)
    fitted = time.process_time() - begin
    rows = as_frame(X, tuple(categories), False)
    return {
        "fit": fitted, "draws": LACE_STATES, **_time_scores(lambda: engine.logp(rows), len(X)),
    }  # fmt: skip


def _time_scores(score: Callable[[], object], rows: int) -> dict[str, Any]:
    """Seconds of scoring: the first time, and the best of three."""
    seconds = []
    for _ in range(4):
        begin = time.process_time()
        score()
        seconds.append(time.process_time() - begin)
    return {"first score": seconds[0], "score": min(seconds), "rows": rows}


MEASURES = {"sweeps": time_sweeps, "fit": time_fit, "mixture": time_mixture, "lace": time_lace}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    table = dict(np.load(sys.argv[3])) if len(sys.argv) > 3 else TABLES[sys.argv[1]]()
    print(json.dumps(MEASURES[sys.argv[2]](table)))
