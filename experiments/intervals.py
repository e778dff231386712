"""Intervals and known truths, where categories are many and rows are few: do they hold them.

Tables of 50 to 200 rows are drawn from mixtures whose probabilities are known: a few kinds of rows,
columns of 2 to 15 categories. The plain call learns each, and is asked about cells of random rows,
alone or given one or two other cells. 90 % intervals should hold 90 % of the true probabilities;
shrinkage of rare categories and small groups shows as a bias towards what is usual.

    python experiments/intervals.py [--tables 12] [--rows 50 100 200]
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd

from bayesspn import BayesianSPN
from bayesspn.arrays import Array

_CATEGORIES = (2, 3, 5, 8, 12, 15)
_QUESTIONS = 40

#: Edges of the groups of true probabilities that are reported apart.
_EDGES = (0.0, 0.05, 0.3, 0.6, 1.0)


class Truth(NamedTuple):
    """A mixture of products of categories.

    Attributes
    ----------
    shares : ndarray of shape (kinds,)
    probabilities : tuple of ndarray of shape (kinds, categories)
        One array per column.
    """

    shares: Array
    probabilities: tuple[Array, ...]

    def sample(self, rng: np.random.Generator, rows: int) -> pd.DataFrame:
        """Draw a table; categories are words."""
        kinds = rng.choice(len(self.shares), size=rows, p=self.shares)
        columns = {}
        for d, chances in enumerate(self.probabilities):
            codes = [rng.choice(chances.shape[1], p=chances[kind]) for kind in kinds]
            columns[f"x{d}"] = [f"c{code}" for code in codes]
        return pd.DataFrame(columns)

    def probability(self, asked: tuple[int, int], given: list[tuple[int, int]]) -> float:
        """Probability that a column has a category, given categories of others."""
        weights = self.shares.copy()
        for column, code in given:
            weights = weights * self.probabilities[column][:, code]
        column, code = asked
        return float(weights @ self.probabilities[column][:, code] / weights.sum())


def draw_truth(rng: np.random.Generator) -> Truth:
    """A mixture of three to six kinds of rows."""
    kinds = int(rng.integers(3, 7))
    return Truth(
        rng.dirichlet(np.full(kinds, 2.0)),
        tuple(rng.dirichlet(np.full(size, 0.4), size=kinds) for size in _CATEGORIES),
    )


def examine(rng: np.random.Generator, rows: int, seed: int) -> Iterator[dict[str, float]]:
    """Fit a table and compare its answers with the truth."""
    truth = draw_truth(rng)
    table = truth.sample(rng, rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = BayesianSPN(random_state=seed).fit(table)
    constant = {name for name in table if table[name].nunique() == 1}
    for _ in range(_QUESTIONS):
        row = table.iloc[rng.integers(rows)]
        chosen = rng.permutation(len(_CATEGORIES))[: rng.integers(1, 4)]
        cells = [(int(d), int(row.iloc[d][1:])) for d in chosen if f"x{d}" not in constant]
        if not cells:
            continue
        (column, code), given = cells[0], cells[1:]
        answer = model.probability(
            f"x{column} = c{code}", given={f"x{d}": f"c{k}" for d, k in given}, interval=0.9
        )
        true = truth.probability((column, code), given)
        yield {
            "rows": rows,
            "true": true,
            "held": answer.low <= true <= answer.high,
            "bias": answer.value - true,
            "width": answer.high - answer.low,
        }


def main() -> None:
    """Print coverage and bias by the number of rows, and by the true probability."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=int, default=12, help="tables of every size")
    parser.add_argument("--rows", type=int, nargs="*", default=[50, 100, 200])
    options = parser.parse_args()
    found = [
        answer
        for rows in options.rows
        for number in range(options.tables)
        for answer in examine(np.random.default_rng([rows, number]), rows, number)
    ]
    frame = pd.DataFrame(found)
    frame["probability"] = pd.cut(frame["true"], _EDGES)
    what = {"questions": ("held", "size"), "held": ("held", "mean"), "bias": ("bias", "mean"),
            "width": ("width", "mean")}  # fmt: skip
    for by in ("rows", "probability"):
        print(frame.groupby(by, observed=True).agg(**what).round(3).to_string(), "\n")
    print(f"held {frame['held'].mean():.3f} of {len(frame)} answers")


if __name__ == "__main__":
    main()
