"""Classes and numbers predicted by default, beside the methods that everyone tries first.

    python experiments/supervised.py [--data FOLDER] [--only NAME] [--seconds 20] [--seeds 3]

``SPNClassifier(time_limit=20, n_jobs=1)`` and ``SPNRegressor`` likewise, beside ridge or logistic
regression, a random forest and gradient boosting, none of them tuned: scikit-learn's tables,
Friedman's functions and, with ``--data``, the heterogeneous sets that have a target; complete, and
with 30 % of the feature cells missing in training and test rows. Lines are appended to
``results/supervised.jsonl``; a stopped run goes on. At the end, tables of all that is there are
printed.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from running import warm_up
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.metrics import accuracy_score, log_loss, r2_score, root_mean_squared_error
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from supervised_tables import Kind, Split, sources, splits
from threadpoolctl import threadpool_limits

from bayesspn import SPNClassifier, SPNRegressor

RESULTS = Path(__file__).parent / "results" / "supervised.jsonl"

Line = dict[str, Any]

#: Makes an estimator of a kind of target, a seed and a time limit.
Maker = Callable[[Kind, int, float], Any]

#: Measures by kind: the first one, of which less is better, decides.
MEASURES: dict[Kind, tuple[str, str]] = {
    "class": ("log_loss", "accuracy"),
    "number": ("rmse", "r2"),
}

#: Times the measure of a linear method up to which ours is not behind it.
BEHIND = 1.02

#: Probabilities are at least this: a forest says 0, and one such row would decide the log loss.
_LEAST = 1e-6


def ours(kind: Kind, seed: int, seconds: float) -> Any:
    """The plain call, but for a time limit and one thread."""
    maker = SPNClassifier if kind == "class" else SPNRegressor
    return maker(time_limit=seconds, n_jobs=1, random_state=seed)


def linear(kind: Kind, _seed: int, _seconds: float) -> Any:
    """Logistic regression, or ridge regression that chooses its penalty."""
    if kind == "class":
        return make_pipeline(_prepare(), LogisticRegression(max_iter=2_000))
    return make_pipeline(_prepare(), RidgeCV(np.logspace(-3, 3, 13)))


def forest(kind: Kind, seed: int, _seconds: float) -> Any:
    """A random forest of scikit-learn's default size."""
    maker = RandomForestClassifier if kind == "class" else RandomForestRegressor
    return make_pipeline(_prepare(), maker(random_state=seed))


def boosting(kind: Kind, seed: int, _seconds: float) -> Any:
    """Gradient boosting of histograms, to which missing cells and categories are nothing new."""
    maker = HistGradientBoostingClassifier if kind == "class" else HistGradientBoostingRegressor
    return maker(categorical_features="from_dtype", random_state=seed)


#: By the names that lines have; ours has the time limit, the others end by themselves.
METHODS: dict[str, Maker] = {
    "ours": ours,
    "linear": linear,
    "forest": forest,
    "boosting": boosting,
}


def _prepare() -> Any:
    """Numbers standardised, categories one-hot, holes filled and indicated."""
    numbers = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    categories = make_pipeline(
        SimpleImputer(strategy="most_frequent", add_indicator=True),
        OneHotEncoder(handle_unknown="ignore"),
    )
    return make_column_transformer(
        (numbers, make_column_selector(dtype_include="number")),
        (categories, make_column_selector(dtype_include="category")),
    )


def judge(model: Any, split: Split) -> dict[str, float]:
    """Both measures of a fitted model on the test rows."""
    if split.kind == "number":
        found = model.predict(split.test)
        return {
            "rmse": float(root_mean_squared_error(split.test_target, found)),
            "r2": float(r2_score(split.test_target, found)),
        }
    # classes that no training row has are nothing that can be learned
    known = split.test_target.isin(model.classes_)
    target = split.test_target[known]
    shares = np.maximum(model.predict_proba(split.test[known]), _LEAST)
    shares /= shares.sum(axis=1, keepdims=True)
    return {
        "log_loss": float(log_loss(target, shares, labels=model.classes_)),
        "accuracy": float(accuracy_score(target, model.classes_[shares.argmax(axis=1)])),
    }


def run(split: Split, method: str, seed: int, seconds: float) -> Line:
    """Fit and judge a method; one that fails has an error in place of measures."""
    begin = time.perf_counter()
    try:
        # threads of boosting wait for each other on cores that are busy, minutes for 100 rows
        with warnings.catch_warnings(), threadpool_limits(1):
            warnings.simplefilter("ignore")
            model = METHODS[method](split.kind, seed, seconds)
            model.fit(split.training, split.training_target)
            fitted = time.perf_counter()
            found: Line = judge(model, split)
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}
    spent = {"fit": fitted - begin, "predict": time.perf_counter() - fitted}
    return found | {"seconds": {name: round(value, 2) for name, value in spent.items()}}


def describe(
    name: str, method: str, missing: float, seed: int, seconds: float
) -> dict[str, str | float | None]:
    """What decides a line; only ours has a limit, so that others are not run again for another."""
    limit = seconds if method == "ours" else None
    return {"data": name, "missing": missing, "method": method, "seed": seed, "limit": limit}


def read(path: Path) -> list[Line]:
    """Lines so far."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines()]


def run_missing(
    path: Path, names: list[str], folder: Path | None, seeds: int, seconds: float
) -> None:
    """Append a line for everything that has none."""
    tables = sources(folder)
    done = {_key(line) for line in read(path)}
    for seed in range(seeds):
        for name in names:
            for missing, split in splits(tables[name](seed), seed):
                for method in METHODS:
                    case = describe(name, method, missing, seed, seconds)
                    if _key(case) not in done:
                        size = {"kind": split.kind, "rows": split.training.shape[0]}
                        _append(path, case | size | run(split, method, seed, seconds))


def _key(line: Line) -> tuple[Any, ...]:
    return tuple(line[name] for name in ("data", "missing", "method", "seed", "limit"))


def _append(path: Path, line: Line) -> None:
    text = json.dumps(line)
    print(text, flush=True)
    with path.open("a") as file:
        file.write(text + "\n")


def tabulate(lines: list[Line]) -> str:
    """Tables in Markdown, of classes and of numbers for every limit, and how often ours is behind.

    Cells are means over seeds of both measures, the second in brackets; "failed" if a seed did.
    """
    limits = sorted({line["limit"] for line in lines if line["limit"] is not None})
    parts = []
    for limit in limits:
        chosen = _beside(lines, limit)
        for kind, (first, second) in MEASURES.items():
            rows = [line for line in chosen if line["kind"] == kind]
            if rows:
                parts.append(f"### {first} ({second}), {limit:g} s\n\n{_tabulate(rows, kind)}")
    return "\n\n".join(parts)


def _beside(lines: list[Line], limit: float) -> list[Line]:
    """Ours with a limit, and the others on the same splits."""
    mine = [line for line in lines if line["limit"] == limit]
    same = {_split_of(line) for line in mine}
    others = [line for line in lines if line["limit"] is None and _split_of(line) in same]
    return mine + others


def _split_of(line: Line) -> tuple[Any, ...]:
    return line["data"], line["missing"], line["seed"]


def _tabulate(lines: list[Line], kind: Kind) -> str:
    """A row per table and share missing, a column per method, best in bold."""
    rows = [
        f"| table | missing | seeds | {' | '.join(METHODS)} | ours / linear |",
        f"|---|---:|---:|{'---:|' * len(METHODS)}---:|",
    ]
    ratios = []
    for name, missing in dict.fromkeys((line["data"], line["missing"]) for line in lines):
        here = [line for line in lines if (line["data"], line["missing"]) == (name, missing)]
        found = {method: _mean(here, method, MEASURES[kind]) for method in METHODS}
        best = min((means[0] for means in found.values() if means), default=None)
        cells = [_write(here, method, means, best) for method, means in found.items()]
        seeds = len({line["seed"] for line in here})
        ratios.append(_ratio(found["ours"], found["linear"]))
        ratio = "–" if np.isnan(ratios[-1]) else f"{ratios[-1]:.2f}"
        rows.append(f"| {name} | {missing:.0%} | {seeds} | {' | '.join(cells)} | {ratio} |")
    reached = sum(ratio <= BEHIND for ratio in ratios)
    count = f"{reached} of {len(ratios)} are not behind linear by more than {BEHIND - 1:.0%}."
    return "\n".join([*rows, "", count])


def _mean(lines: list[Line], method: str, measures: tuple[str, str]) -> tuple[float, ...]:
    """Means of a method over seeds; empty if there are none or one of them failed."""
    mine = [line for line in lines if line["method"] == method]
    if not mine or any("error" in line for line in mine):
        return ()
    return tuple(float(np.mean([line[measure] for line in mine])) for measure in measures)


def _write(lines: list[Line], method: str, means: tuple[float, ...], best: float | None) -> str:
    if not means:
        return "failed" if any(line["method"] == method for line in lines) else "–"
    first = f"**{means[0]:.3f}**" if means[0] == best else f"{means[0]:.3f}"
    return f"{first} ({means[1]:.2f})"


def _ratio(found: tuple[float, ...], beside: tuple[float, ...]) -> float:
    return found[0] / beside[0] if found and beside else np.nan


def main() -> None:
    """Run what is missing, print what is there."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder of the heterogeneous data sets")
    parser.add_argument("--only", action="append", help="a table, by its name in the results")
    parser.add_argument("--seconds", type=float, default=20.0, help="time limit of ours")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--results", type=Path, default=RESULTS, help="file of lines")
    options = parser.parse_args()
    tables = list(sources(options.data))
    names = options.only or tables
    if unknown := set(names) - set(tables):
        parser.error(f"there is no {', '.join(sorted(unknown))}; use {', '.join(tables)}")
    warm_up()
    run_missing(options.results, names, options.data, options.seeds, options.seconds)
    print(tabulate(read(options.results)))


if __name__ == "__main__":
    main()
