"""From a schema to the model, the leaves of every column, and back."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bayesspn.arrays import Array
from bayesspn.leaves.columns import DEFAULT_GAMMA, Column, Leaves, describe_column
from bayesspn.tables.cells import TableError, shorten
from bayesspn.tables.schema import ColumnSchema, Schema

#: Squares of numbers of this size, and sums of these, are neither infinite nor zero.
_LARGEST, _SMALLEST = 1e150, 1e-150


def describe_columns(
    schema: Schema, values: Array, gamma: float | None = None, recorded: Array | None = None
) -> Leaves:
    """Describe the leaves of all columns.

    Parameters
    ----------
    schema : Schema
    values : ndarray of shape (rows, columns)
        The encoded table to learn from, NaN where a cell is missing.
    gamma : float, default=None
        Strength of the leaf priors of columns whose schema leaves it open.
    recorded : ndarray of shape (cells, columns), default=None
        The rows before weights repeated them, off which grids and atoms are read.

    Examples
    --------
    >>> import numpy as np
    >>> schema = Schema((ColumnSchema("age", "integer"),))
    >>> describe_columns(schema, np.array([[31.0], [45.0]])).columns[0].resolution
    1.0
    """
    usual = DEFAULT_GAMMA if gamma is None else gamma
    described = []
    for j, column in enumerate(schema):
        once = None if recorded is None else recorded[:, j]
        described.append(_describe(column, values[:, j], usual, once))
    return Leaves(tuple(described))


def with_grids(schema: Schema, leaves: Leaves) -> Schema:
    """The schema with the values of continuous columns that were read off the data.

    Examples
    --------
    >>> schema, values = Schema((ColumnSchema("size", "real"),)), np.array([[1.5], [2.0]])
    >>> with_grids(schema, describe_columns(schema, values))["size"].resolution
    0.5
    """
    columns = []
    for column, described in zip(schema, leaves.columns, strict=True):
        if column.continuous:
            grid = described.grid
            # without any grid the smallest gap says nothing of how values are recorded
            found = grid.origin is not None or grid.values or grid.atoms
            column = replace(
                column,
                resolution=grid.step if found and grid.step else column.resolution,
                origin=grid.origin,
                values=grid.values,
                atoms=grid.atoms,
                low=grid.low if np.isfinite(grid.low) else None,
                high=grid.high if np.isfinite(grid.high) else None,
            )
        columns.append(column)
    return Schema(tuple(columns))


def _describe(column: ColumnSchema, values: Array, usual: float, recorded: Array | None) -> Column:
    _check_size(column, values)
    _check_bounds(column, values)
    # moments have no natural beginning, least of all 1970
    lowest, highest = (-np.inf, np.inf) if column.kind == "datetime" else (None, None)
    return describe_column(
        str(column.name),
        values,
        column.families,
        n_categories=len(column.categories) or None,
        resolution=column.resolution,
        grid=column.grid if column.values or column.atoms else None,
        low=lowest if column.low is None else column.low,
        high=highest if column.high is None else column.high,
        shares=not column.timed,  # a second is no whole that parts of it add up to
        gamma=usual if column.gamma is None else column.gamma,
        recorded=recorded,
    )


def _check_bounds(column: ColumnSchema, values: Array) -> None:
    """Check that no value is beyond the smallest and largest that the schema names."""
    for field, bound, sign in (("low", column.low, -1.0), ("high", column.high, 1.0)):
        if bound is None:
            continue
        beyond = np.flatnonzero(sign * values > sign * bound)
        if beyond.size:
            raise TableError(
                f"column {shorten(column.name)}, row {beyond[0]}: {values[beyond[0]]:g} is beyond "
                f"{field}={bound:g} of its schema; correct one of them, or make the cell missing"
            )


def _check_size(column: ColumnSchema, values: Array) -> None:
    """Check that a column's values are of a size that can be computed with."""
    sizes = np.abs(values[~np.isnan(values)])
    if not sizes.size:
        return
    _check_largest(column, values)
    if 0 < sizes.max() < _SMALLEST:
        raise TableError(
            f"column {shorten(column.name)}: its largest value, {sizes.max():g}, is below "
            f"{_SMALLEST:g}, where squares vanish; rescale the column"
        )


def check_largest(schema: Schema, values: Array) -> None:
    """Check that no value (rows, columns) of a table, or of a part of it, is too large."""
    for j, column in enumerate(schema):
        _check_largest(column, values[:, j])


def _check_largest(column: ColumnSchema, values: Array) -> None:
    beyond = np.flatnonzero(np.abs(values) > _LARGEST)
    if beyond.size:
        row = int(beyond[0])
        raise TableError(
            f"column {shorten(column.name)}, row {row}: {values[row]:g} is beyond {_LARGEST:g}, "
            "where squares overflow; rescale the column, or make the cell missing if the value "
            "stands for one"
        )
