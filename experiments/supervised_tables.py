"""Tables with a target: features as a frame, split into training and test rows, and holes in them.

Numbers are float64 and categories are pandas' own, so that every method sees which are which and a
missing cell is the missing value of either.

The heterogeneous data sets come without their binary columns, which takes the classes of most of
them away (adult's income, crx, german, breast, …). Those that keep an evident target are here.
Their discrete features are codes whose order is not known: categories, for all methods.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from problems import Problem, load_problem
from sklearn import datasets
from sklearn.model_selection import train_test_split

Kind = Literal["class", "number"]

#: Rows that are drawn per seed, at most.
MOST_ROWS = 1_000

_FRIEDMAN_ROWS = 400

#: Share of the rows that are test rows.
_TEST = 1 / 3

#: Noise of Friedman's three functions, as usual since Breiman (1996).
_FRIEDMAN_NOISE = {"friedman1": 1.0, "friedman2": 125.0, "friedman3": 0.1}

#: Targets of scikit-learn's tables, and of how many rows is learned.
_BUNDLED: dict[str, tuple[str, Kind, int]] = {
    "iris": ("target", "class", MOST_ROWS),
    "wine": ("target", "class", MOST_ROWS),
    "breast_cancer": ("target", "class", MOST_ROWS),
    "digits": ("target", "class", 500),
    "diabetes": ("target", "number", MOST_ROWS),
    "linnerud": ("Weight", "number", MOST_ROWS),
}

#: Targets of the heterogeneous data sets; numbers are those whose codes are in order.
_MIXED: dict[str, tuple[str, Kind]] = {
    "abalone": ("Rings", "number"),
    "chess": ("DepthOfWin", "class"),
    "dermatology": ("class", "class"),
    "student": ("G3", "number"),
    "wine": ("quality", "number"),
}


@dataclass(frozen=True, eq=False)
class Split:
    """Rows to learn from and rows to be judged by.

    Attributes
    ----------
    kind : {"class", "number"}
        What the target is.
    training, test : DataFrame of shape (rows, features)
    training_target, test_target : Series of shape (rows,)
    """

    kind: Kind
    training: pd.DataFrame
    training_target: pd.Series
    test: pd.DataFrame
    test_target: pd.Series


#: A split of a table, by seed.
Source = Callable[[int], Split]


def sources(folder: Path | None) -> dict[str, Source]:
    """Tables by name; those of a folder are left out without one."""
    found: dict[str, Source] = {
        name: partial(_split_bundled, name, *about) for name, about in _BUNDLED.items()
    }
    found |= {name: partial(_draw_friedman, name) for name in _FRIEDMAN_NOISE}
    if folder is not None:
        found |= {
            f"{name} (mixed)": partial(_split_mixed, name, folder, *about)
            for name, about in _MIXED.items()
        }
    return found


def _split_bundled(name: str, target: str, kind: Kind, most: int, seed: int) -> Split:
    bunch = getattr(datasets, f"load_{name}")(as_frame=True)
    others = [other for other in bunch.frame if other in bunch.target and other != target]
    return split(bunch.frame.drop(columns=others), target, kind, seed, most)


def _draw_friedman(name: str, seed: int) -> Split:
    make = getattr(datasets, f"make_{name}")
    rows = _FRIEDMAN_ROWS + MOST_ROWS
    values, target = make(n_samples=rows, noise=_FRIEDMAN_NOISE[name], random_state=seed)
    frame = pd.DataFrame(values, columns=[f"x{column}" for column in range(values.shape[1])])
    numbers = pd.Series(target, name="target")
    begin, end = slice(_FRIEDMAN_ROWS), slice(_FRIEDMAN_ROWS, None)
    return Split("number", frame[begin], numbers[begin], frame[end], numbers[end])


def _split_mixed(name: str, folder: Path, target: str, kind: Kind, seed: int) -> Split:
    return split(as_frame(load_problem(name, folder), target), target, kind, seed)


def as_frame(problem: Problem, target: str) -> pd.DataFrame:
    """All rows of a problem: discrete features are categories, the target's codes stay numbers."""
    values = np.concatenate([problem.training, problem.test])
    columns = {}
    for column, cells, count in zip(problem.schema, values.T, problem.categories, strict=True):
        coded = count and column.name != target
        columns[column.name] = _as_categories(cells) if coded else cells
    return pd.DataFrame(columns).dropna(subset=target)


def _as_categories(cells: Any) -> pd.Series:
    """Codes as categories named by text, which nothing can take for numbers."""
    texts = [None if np.isnan(code) else str(int(code)) for code in cells]
    return pd.Series(pd.Categorical(texts))


def split(table: pd.DataFrame, target: str, kind: Kind, seed: int, most: int = MOST_ROWS) -> Split:
    """Split a table into training and test rows at random.

    Parameters
    ----------
    table : DataFrame
        Numbers and pandas' categories, and the target.
    target : str
    kind : {"class", "number"}
    seed : int
    most : int, default=1000
        Training rows at most; there are at most 1,000 test rows.
    """
    numbers = [name for name in table if not isinstance(table[name].dtype, pd.CategoricalDtype)]
    table = table.astype(dict.fromkeys(numbers, np.float64))
    features, values = table.drop(columns=target), table[target]
    if kind == "class":
        # text: a class is not a number
        values = "class " + values.astype(int).astype(str)
    parts = train_test_split(features, values, test_size=_TEST, random_state=seed)
    training, test, training_target, test_target = (part.reset_index(drop=True) for part in parts)
    rows, judged = slice(most), slice(MOST_ROWS)
    return Split(kind, training[rows], training_target[rows], test[judged], test_target[judged])


def make_holes(whole: Split, share: float, seed: int) -> Split:
    """Take a share of the feature cells away at random, in training and in test rows."""
    rng = np.random.default_rng([seed, 30])
    training, test = (_mask(rng, part, share) for part in (whole.training, whole.test))
    return replace(whole, training=training, test=test)


def _mask(rng: np.random.Generator, features: pd.DataFrame, share: float) -> pd.DataFrame:
    return features.mask(rng.random(features.shape) < share)


def splits(whole: Split, seed: int) -> Iterator[tuple[float, Split]]:
    """The split as it is and with 30 % of its cells missing, each with the share missing."""
    yield 0.0, whole
    yield 0.3, make_holes(whole, 0.3, seed)
