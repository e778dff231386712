"""Who fills in missing cells best? `SPNImputer` beside the imputers of scikit-learn.

Cells of whole tables are hidden by fixed masks, completely at random, and each imputer fills in the
table that is left. Scored are the hidden cells that are not the masks' validation cells, as

- NRMSE of real columns: root mean square error of the column's cells over the standard deviation of
  the whole column (hidden cells included), averaged over columns;
- accuracy of discrete columns: share of the column's cells that are right, averaged over columns.

Ours also gives the mean log-likelihood of the hidden cells of a row, together, given its observed
cells, which the others cannot.

    python bench/imputation.py --data FOLDER [--validation] [--ours] [--set sums=32 ...] [NAME ...]

FOLDER holds het/NAME.npz, NAME.masks.npz, NAME.json; BAYESSPN_DATA does the same. ``--validation``
scores the validation cells instead: settings are to be chosen with these.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray
from scipy.special import logsumexp
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer
from workbench import add_data_option, data_folder, print_table

from bayesspn import SPNImputer
from bayesspn.arrays import Array
from bayesspn.tables import ColumnSchema, Schema
from bayesspn.tables.infer import families_by_sign

NAMES = ("abalone", "wine", "german", "adult")
MASKS = ("p0.1_s1111", "p0.5_s1111")
SEED = 1

#: Sampling. Chains disagree, so an average over many is better than one over many draws of few, and
#: filling in goes through every draw.
SAMPLING = {"chains": 8, "burn_in": 100, "draws": 2, "thin": 15}

#: What differs from this and from the default graph, chosen with validation cells; wine and adult
#: have fewer chains for the time they take.
SETTINGS = {
    "abalone": {"sums": 40, "chains": 12},
    "wine": {"sums": 64, "chains": 4},
    "german": {"chains": 12},
    "adult": {"chains": 4, "burn_in": 70},
}

BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Task:
    """A table with hidden cells.

    Attributes
    ----------
    X : ndarray of shape (rows, columns)
        The whole table; NaN where a value was never recorded.
    hidden, validation : ndarray of bool of shape (rows, columns)
        Cells that no imputer sees, and those of them that settings may be chosen with.
    categories : tuple of int
        Number of categories of a discrete column, 0 for a real one.
    names : tuple of str
        Names of the columns.
    """

    X: Array
    hidden: BoolArray
    validation: BoolArray
    categories: tuple[int, ...]
    names: tuple[str, ...]

    @property
    def visible(self) -> Array:
        """What imputers see."""
        return np.where(self.hidden, np.nan, self.X)

    @property
    def discrete(self) -> BoolArray:
        return np.array(self.categories) > 0


def load_task(folder: Path, name: str, mask: str) -> Task:
    path = folder / "het" / f"{name}.npz"
    if not path.is_file():
        sys.exit(f"{path} does not exist: give the folder with --data or BAYESSPN_DATA")
    with np.load(path) as parts:
        X = parts["full"].astype(np.float64)
    with np.load(path.with_suffix(".masks.npz")) as masks:
        hidden, validation = (
            np.unpackbits(masks[f"{mask}_{kind}"])[: X.size].reshape(X.shape).astype(bool)
            for kind in ("full", "val")
        )
    columns = json.loads(path.with_suffix(".json").read_text())["columns"]
    categories = tuple(
        column["n_categories"] if column["meta_type"] == "discrete" else 0 for column in columns
    )
    return Task(X, hidden, validation, categories, tuple(column["name"] for column in columns))


def score(task: Task, filled: Array, cells: BoolArray) -> tuple[float, float]:
    """NRMSE of real cells and accuracy of discrete ones, averaged over columns."""
    cells = cells & ~np.isnan(task.X)
    errors, shares = [], []
    for d, discrete in enumerate(task.discrete):
        truth, guess = task.X[cells[:, d], d], filled[cells[:, d], d]
        if discrete:
            shares.append(np.mean(truth == guess))
        else:
            errors.append(np.sqrt(np.mean((truth - guess) ** 2)) / np.nanstd(task.X[:, d]))
    return float(np.mean(errors)), float(np.mean(shares))


# The imputers -------------------------------------------------------------------------------------


def fill_constant(task: Task) -> Array:
    """Mean of real columns, most frequent value of discrete ones."""
    seen = task.visible
    fills = []
    for d, discrete in enumerate(task.discrete):
        values, counts = np.unique(seen[~np.isnan(seen[:, d]), d], return_counts=True)
        fills.append(values[counts.argmax()] if discrete else np.nanmean(seen[:, d]))
    return np.where(np.isnan(seen), np.array(fills), seen)


def fill_codes(task: Task, imputer: Any) -> Array:
    """Fill in codes as numbers, rounded to the nearest; real columns standardised."""
    seen = task.visible
    shift = np.where(task.discrete, 0.0, np.nanmean(seen, axis=0))
    scale = np.where(task.discrete, 1.0, np.nanstd(seen, axis=0))
    filled = imputer.fit_transform((seen - shift) / scale) * scale + shift
    codes = np.clip(np.round(filled), 0, np.array(task.categories) - 1)
    return np.where(np.isnan(seen), np.where(task.discrete, codes, filled), seen)


def fill_one_hot(task: Task, imputer: Any) -> Array:
    """Fill in indicators of categories; the largest wins; real columns standardised."""
    seen = task.visible
    shift, scale = np.nanmean(seen, axis=0), np.nanstd(seen, axis=0)
    blocks, values = [], []
    for d, discrete in enumerate(task.discrete):
        column = seen[:, d]
        values.append(np.unique(column[~np.isnan(column)]))
        if discrete:
            block = (column[:, None] == values[d]).astype(np.float64)
            blocks.append(np.where(np.isnan(column)[:, None], np.nan, block))
        else:
            blocks.append(((column - shift[d]) / scale[d])[:, None])
    whole = imputer.fit_transform(np.concatenate(blocks, axis=1))
    parts = np.split(whole, np.cumsum([block.shape[1] for block in blocks])[:-1], axis=1)
    filled = np.column_stack(
        [
            values[d][part.argmax(axis=1)] if task.discrete[d] else part[:, 0] * scale[d] + shift[d]
            for d, part in enumerate(parts)
        ]
    )
    return np.where(np.isnan(seen), filled, seen)


def _trees() -> IterativeImputer:
    trees = ExtraTreesRegressor(n_estimators=30, random_state=SEED, n_jobs=-1)
    return IterativeImputer(trees, random_state=SEED)


@dataclass(frozen=True)
class Rival:
    """An imputer to beat, and the largest tasks that it is run on.

    Attributes
    ----------
    fill : callable
        From a task to its filled table.
    cells : float
        Most cells of a table; larger ones take too long.
    """

    fill: Callable[[Task], Array]
    cells: float = np.inf


#: Most cells of tables for imputers that do not scale.
_SMALL = 200_000

RIVALS = {
    "mean / mode": Rival(fill_constant),
    "KNN k=10, distance, one-hot": Rival(
        lambda task: fill_one_hot(task, KNNImputer(n_neighbors=10, weights="distance"))
    ),
    "KNN k=20, uniform, one-hot": Rival(
        lambda task: fill_one_hot(task, KNNImputer(n_neighbors=20)), _SMALL
    ),
    "Iterative BayesianRidge, codes": Rival(
        lambda task: fill_codes(task, IterativeImputer(random_state=SEED))
    ),
    "Iterative BayesianRidge, one-hot": Rival(
        lambda task: fill_one_hot(task, IterativeImputer(random_state=SEED)), _SMALL
    ),
    "Iterative ExtraTrees(30), codes": Rival(lambda task: fill_codes(task, _trees())),
}

#: Nearest neighbours compare all pairs of rows, and with half hidden every row of adult asks.
_SKIPPED = {("adult", "p0.5_s1111", "KNN k=10, distance, one-hot")}


def choose_schema(task: Task) -> Schema:
    """Discrete columns as categories (all codes that can occur), others as real by their sign."""
    seen = task.visible
    columns = []
    for d, (name, n_categories) in enumerate(zip(task.names, task.categories, strict=True)):
        if n_categories:
            columns.append(ColumnSchema(name, "category", categories=tuple(range(n_categories))))
        else:
            families = families_by_sign(seen[~np.isnan(seen[:, d]), d])
            columns.append(ColumnSchema(name, "real", families))
    return Schema(tuple(columns))


@dataclass(frozen=True)
class Ours:
    """What `SPNImputer` did: filled table, seconds to fit and fill, held-out log-likelihood."""

    filled: Array
    seconds: float
    log_likelihood: float
    model: SPNImputer


def fill_ours(task: Task, cells: BoolArray, parameters: dict[str, Any]) -> Ours:
    seen = task.visible
    begin = time.perf_counter()
    model = SPNImputer(schema=choose_schema(task), n_jobs=-1, random_state=SEED, **parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that chains disagree shows in R-hat
        filled = np.asarray(model.fit_transform(seen), dtype=np.float64)
    seconds = time.perf_counter() - begin
    rows = (cells & ~np.isnan(task.X)).any(axis=1)
    both = np.where(task.hidden & ~cells, np.nan, task.X)[rows]
    # the posterior knows the observed cells of these rows, so all draws count the same
    gains = model.posterior_.score_draws(both) - model.posterior_.score_draws(seen[rows])
    averages = logsumexp(gains, axis=0) - np.log(len(gains))
    return Ours(filled, seconds, float(averages.mean()), model)


# The table ----------------------------------------------------------------------------------------


def measure(
    folder: Path, name: str, mask: str, arguments: argparse.Namespace
) -> tuple[list[tuple[str, ...]], int, int]:
    """Lines of one task, the figures in which ours is better than every rival, and their number."""
    task = load_task(folder, name, mask)
    cells = task.validation if arguments.validation else task.hidden & ~task.validation
    scores: dict[str, tuple[float, float, float]] = {}
    for title, rival in RIVALS.items():
        if arguments.ours or task.X.size > rival.cells or (name, mask, title) in _SKIPPED:
            continue
        begin = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # iterative imputers say that they did not converge
            filled = rival.fill(task)
        scores[title] = (*score(task, filled, cells), time.perf_counter() - begin)
    parameters = SAMPLING | SETTINGS.get(name, {}) | dict(arguments.set or ())
    ours = fill_ours(task, cells, parameters)
    error, accuracy = score(task, ours.filled, cells)
    case = f"{name} {mask[1:4]}"
    lines: list[tuple[str, ...]] = []
    least = min((error for error, _, _ in scores.values()), default=np.nan)
    most = max((accuracy for _, accuracy, _ in scores.values()), default=np.nan)
    for title, (rival_error, rival_accuracy, seconds) in scores.items():
        lines.append(
            (
                case,
                title,
                _mark(rival_error, rival_error == least),
                _mark(rival_accuracy, rival_accuracy == most),
                f"{seconds:.1f}",
                "–",
            )
        )
    lines.append(
        (
            case,
            "SPNImputer",
            _mark(error, error < least),
            _mark(accuracy, accuracy > most),
            f"{ours.seconds:.1f}",
            f"{ours.log_likelihood:.3f}",
        )
    )
    graph = ours.model.graph_
    print(
        f"{case}: ours {error:.4f} ({_sample_removal(error < least)} {least:.4f}), "
        f"{accuracy:.4f} ({_sample_removal(accuracy > most)} {most:.4f}); {graph.partitions} × "
        f"{graph.leaves}, R-hat {ours.model.rhat_:.2f}, log-likelihood {ours.log_likelihood:.3f}, "
        f"{ours.seconds:.0f} s",
        file=sys.stderr,
        flush=True,
    )
    return lines, int(error < least) + int(accuracy > most), 2


def _mark(value: float, best: bool) -> str:
    return f"**{value:.3f}**" if best else f"{value:.3f}"


def _sample_removal(better: bool) -> str:
    return "better than" if better else "no better than"


def parse_setting(text: str) -> tuple[str, Any]:
    name, _, value = text.partition("=")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Compare imputers on hidden cells.")
    parser.add_argument("names", nargs="*", help="data sets, all if none is given")
    parser.add_argument("--masks", nargs="+", default=MASKS, help="names of the masks")
    parser.add_argument("--validation", action="store_true", help="score the validation cells")
    parser.add_argument("--ours", action="store_true", help="leave the rivals out")
    parser.add_argument(
        "--set", action="append", type=parse_setting, help="a parameter of SPNImputer, NAME=VALUE"
    )
    add_data_option(parser)
    arguments = parser.parse_args(argv)
    folder = data_folder(parser, arguments)
    lines: list[tuple[str, ...]] = []
    better = figures = 0
    for name in arguments.names or NAMES:
        for mask in arguments.masks:
            more, wins, count = measure(folder, name, mask, arguments)
            lines += more
            better += wins
            figures += count
    print(f"scikit-learn {sklearn.__version__}, NumPy {np.__version__}, seed {SEED}\n")
    heads = ("table, hidden", "imputer", "NRMSE", "accuracy", "seconds", "log-likelihood")
    print_table(heads, lines)
    if not arguments.ours:
        print(f"SPNImputer is better than every rival in {better} of {figures} figures.")


if __name__ == "__main__":
    main()
