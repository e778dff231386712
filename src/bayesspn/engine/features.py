"""Statistics of values, which do not change from sweep to sweep.

Those of tabulated columns are made once. Those of dense columns are kept for small blocks only,
where calculating them anew would take most of a sweep; for large tables they would need several
times the memory of the table itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from bayesspn.arrays import Array
from bayesspn.leaves.columns import Leaves
from bayesspn.rows.codebook import Codebook
from bayesspn.rows.encoded import RowBlock

#: Rows of a block whose features are kept: fewer than the full blocks of a large table have.
_MOST_ROWS = 8192

_kept: WeakKeyDictionary[Codebook | RowBlock, dict[tuple[Any, ...], Any]] = WeakKeyDictionary()


def _keep(owner: Codebook | RowBlock, key: tuple[Any, ...], make: Callable[[], Any]) -> Any:
    kept = _kept.setdefault(owner, {})
    if key not in kept:
        kept[key] = make()
    return kept[key]


def code_statistics(codebook: Codebook, column: int, number: int) -> NDArray[np.int64]:
    """Integer statistics of a tabulated column's codes, zeros for missing; (codes, slots)."""

    def make() -> NDArray[np.int64]:
        values = np.append(codebook.values[column], np.nan)
        return codebook.scaled_statistics(column, number, values)

    return _keep(codebook, (column, number), make)


def dense_statistics(
    codebook: Codebook, block: RowBlock, column: int, number: int
) -> NDArray[np.int64]:
    """Integer statistics of a dense column's cells, zeros for missing; (rows, slots)."""

    def make() -> NDArray[np.int64]:
        values = block.dense[int(np.searchsorted(codebook.dense, column))]
        return codebook.scaled_statistics(column, number, values)

    return _keep(block, ("scaled", column, number), make) if block.n_rows <= _MOST_ROWS else make()


def dense_features(
    codebook: Codebook,
    block: RowBlock,
    column: int,
    rows: slice = slice(None),
    power: float = 1.0,
) -> tuple[Array, Array]:
    """Log h (families, rows) and T (families, rows, t) of a dense column's cells; NaN for missing.

    Densities that are raised to a power have that many times the features.
    """
    log_base, statistics = _dense_features(codebook, block, column, rows)
    return (log_base, statistics) if power == 1.0 else (power * log_base, power * statistics)


def _dense_features(
    codebook: Codebook, block: RowBlock, column: int, rows: slice
) -> tuple[Array, Array]:
    values = block.dense[int(np.searchsorted(codebook.dense, column))]
    if block.n_rows > _MOST_ROWS:
        return _features_of_families(codebook.leaves, column, values[rows])

    def make() -> tuple[Array, Array]:
        return _features_of_families(codebook.leaves, column, values)

    log_base, statistics = _keep(block, ("features", column), make)
    return log_base[:, rows], statistics[:, rows]


def _features_of_families(leaves: Leaves, column: int, values: Array) -> tuple[Array, Array]:
    described = leaves.columns[column]
    missing = np.isnan(values)
    features = [
        described.features(m, np.where(missing, 1.0, values))
        for m in range(len(described.families))
    ]
    statistics = np.zeros((len(features), len(values), max(T.shape[1] for T, _ in features)))
    for m, (family_statistics, _) in enumerate(features):
        statistics[m, :, : family_statistics.shape[1]] = family_statistics
    log_base = np.stack([base for _, base in features])
    log_base[:, missing] = np.nan
    return log_base, statistics
