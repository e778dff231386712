"""LearnSPN for binary rows with missing cells: deeprob-kit's, with counts of observed cells only.

The library refuses missing cells, and its LearnSPN takes functions: the independence test counts
pairs of observed cells, leaves count observed cells, and k-means sees the column's mean where a
cell is missing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from deeprob.spn.algorithms.structure import prune
from deeprob.spn.learning.learnspn import learn_spn
from deeprob.spn.structure.leaf import Bernoulli
from deeprob.spn.structure.node import Product
from scipy.sparse.csgraph import connected_components
from sklearn.cluster import KMeans

#: 0.1 % point of χ² with one degree of freedom; the LearnSPN paper tests at 0.0015.
DEPENDENT = 10.83

MIN_ROWS = 256


def learn_with_gaps(training: Any, alpha: float, seed: int) -> Any:
    """Learn a circuit from zeros, ones and NaN.

    Parameters
    ----------
    training : ndarray of shape (rows, columns)
    alpha : float
        Laplace smoothing of leaves.
    seed : int
    """
    columns = training.shape[1]
    circuit = learn_spn(
        training.astype(np.float32),
        [Bernoulli] * columns,
        [[0, 1]] * columns,
        learn_leaf=learn_leaf,
        split_rows=split_rows,
        split_cols=split_columns,
        learn_leaf_kwargs={"alpha": alpha},
        min_rows_slice=MIN_ROWS,
        random_state=seed,
        verbose=False,
    )
    return prune(circuit, copy=False)


def learn_leaf(data: Any, _: Any, domains: Any, scope: Any, alpha: float, **__: Any) -> Any:
    """Independent Bernoullis of the observed cells."""
    ones, seen = np.nansum(data, axis=0), (~np.isnan(data)).sum(axis=0)
    chances = (ones + alpha) / (seen + 2 * alpha)
    leaves = [Bernoulli(column, p=float(p)) for column, p in zip(scope, chances, strict=True)]
    return leaves[0] if len(leaves) == 1 else Product(list(scope), children=leaves)


def split_columns(data: Any, *_: Any) -> Any:
    """Groups of dependent columns by G-tests on the rows in which both are observed."""
    cells = [(data == value).astype(np.float64) for value in (0, 1)]
    observed = {(a, b): cells[a].T @ cells[b] for a in (0, 1) for b in (0, 1)}
    total = sum(observed.values())
    statistic = np.zeros_like(total)
    for (a, b), count in observed.items():
        expected = (count + observed[a, 1 - b]) * (count + observed[1 - a, b])
        with np.errstate(divide="ignore", invalid="ignore"):
            term = 2 * count * np.log(count * total / expected)
        statistic += np.where(count > 0, term, 0.0)
    return connected_components(statistic > DEPENDENT, directed=False)[1]


def split_rows(data: Any, _: Any, __: Any, random_state: Any) -> Any:
    """Two clusters of rows."""
    with np.errstate(invalid="ignore"):
        means = np.nan_to_num(np.nansum(data, axis=0) / (~np.isnan(data)).sum(axis=0), nan=0.5)
    filled = np.where(np.isnan(data), means, data)
    return KMeans(2, n_init=3, random_state=random_state).fit_predict(filled)
