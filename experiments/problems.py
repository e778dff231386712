"""What the experiments learn from and are tested on, in the form that every method gets.

Training rows are train and valid together. Discrete columns hold codes 0, 1, …; continuous columns
are in their original units, either as recorded or *resolved*.

A recorded value x of a continuous column stands for all values that would have been recorded as x.
Densities at recorded values reward whoever puts the narrowest spike on a value that occurs
thousands of times, and say little about the table. So every continuous column has a resolution δ,
and the resolved table has x + δu in place of x, with u uniform on (0, 1), drawn once for all
methods. No density can then gain more than log 1/δ on a spike, whatever its leaves are, and the
mean log density of resolved rows is a lower bound on the log probability of the recorded ones,
divided by the δs. It needs nothing of a method but a density.

δ is the tenth percentile of the gaps between neighbouring values of the training rows: for nearly
all columns the step in which they were recorded, and not the accident that two values are closer
than that. Zeros that were moved to 1e-6 upstream are moved back first.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from public_data import BINARY_NAMES, load_binary, load_mixed

from bayesspn.arrays import Array
from bayesspn.tables import ColumnSchema, Schema
from bayesspn.tables.infer import families_by_sign

#: What upstream wrote in place of 0.
_MOVED_ZERO = 1e-6

_GAPS_BELOW = 0.1
_DIGITS = 2

#: Places after the point to which values are compared: beyond them is rounding.
_PLACES = 9


@dataclass(frozen=True, eq=False)
class Problem:
    """A table to learn from and one to be tested on.

    Attributes
    ----------
    name : str
    train, valid, test : ndarray of shape (rows, columns)
        NaN is a missing cell.
    schema : Schema
    categories : tuple of int
        Number of categories of every column, 0 if it is continuous.
    resolutions : tuple of float
        δ of every column, 0 if it is discrete.
    """

    name: str
    train: Array
    valid: Array
    test: Array
    schema: Schema
    categories: tuple[int, ...]
    resolutions: tuple[float, ...]

    @property
    def training(self) -> Array:
        """Rows of train and valid."""
        return np.concatenate([self.train, self.valid])

    @property
    def continuous(self) -> list[int]:
        """Positions of the continuous columns."""
        return [column for column, count in enumerate(self.categories) if not count]


def load_problem(name: str, folder: Path | None, *, resolved: bool = False) -> Problem:
    """Load a data set by its name."""
    if name in BINARY_NAMES:
        return _binary(name, folder)
    return _mixed(name, folder, resolved)


def _binary(name: str, folder: Path | None) -> Problem:
    data = load_binary(name, folder=folder)
    train, valid, test = (part.astype(np.float64) for part in (data.train, data.valid, data.test))
    columns = train.shape[1]
    schema = Schema(
        tuple(
            ColumnSchema(f"x{column}", "category", ("bernoulli",), (0, 1))
            for column in range(columns)
        )
    )
    return Problem(name, train, valid, test, schema, (2,) * columns, (0.0,) * columns)


def _mixed(name: str, folder: Path | None, resolved: bool) -> Problem:
    data = load_mixed(name, folder=folder)
    categories = tuple(len(column.categories) for column in data.schema)
    restored = [restore_zeros(part, categories) for part in (data.train, data.valid, data.test)]
    training = np.concatenate(restored[:2])
    resolutions = tuple(
        0.0 if count else find_resolution(training[:, column])
        for column, count in enumerate(categories)
    )
    parts = [data.train, data.valid, data.test]
    if resolved:
        seed = zlib.crc32(name.encode())
        parts = [
            resolve(part, resolutions, np.random.default_rng([seed, number]))
            for number, part in enumerate(restored)
        ]
    schema = _describe(data.schema, np.concatenate(parts[:2]), resolutions, resolved)
    train, valid, test = parts
    return Problem(name, train, valid, test, schema, categories, resolutions)


def restore_zeros(table: Array, categories: tuple[int, ...]) -> Array:
    """Continuous columns with 0 where upstream had put 1e-6."""
    moved = (np.abs(table - _MOVED_ZERO) < 1e-12) & (np.array(categories) == 0)
    return np.where(moved, 0.0, table)


def find_resolution(values: Array) -> float:
    """The tenth percentile of the gaps between neighbouring values.

    Examples
    --------
    >>> find_resolution(np.array([0.1, 0.2, 0.2, 0.3, 0.4, np.nan]))
    0.1
    """
    distinct = np.unique(np.round(values[~np.isnan(values)], _PLACES))
    if len(distinct) < 2:
        return 1.0
    gap = float(np.quantile(np.diff(distinct), _GAPS_BELOW))
    return float(f"{gap:.{_DIGITS}g}")


def resolve(table: Array, resolutions: tuple[float, ...], rng: np.random.Generator) -> Array:
    """Spread every cell of a column over (0, δ) above its value; δ = 0 leaves it alone."""
    spread = np.array(resolutions)
    # (0, 1): values that are not negative become positive
    return np.where(spread > 0, table + spread * (1.0 - rng.random(table.shape)), table)


def _describe(
    schema: Schema, training: Array, resolutions: tuple[float, ...], resolved: bool
) -> Schema:
    """Continuous columns with the likelihood families that suit their signs, and δ if resolved."""
    for column, resolution in enumerate(resolutions):
        if resolution:
            cells = training[:, column]
            schema = schema.replace(
                schema.names[column],
                families=families_by_sign(cells[~np.isnan(cells)]),
                resolution=resolution if resolved else None,
            )
    return schema
