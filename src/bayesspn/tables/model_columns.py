"""From a schema to the model: the leaves of every column."""

from __future__ import annotations

import numpy as np

from bayesspn.leaves.columns import DEFAULT_GAMMA, Column, Leaves, describe_column
from bayesspn.leaves.family import Array
from bayesspn.tables.cells import TableError, shorten
from bayesspn.tables.schema import ColumnSchema, Schema

#: Largest number that can be learned from: squares of such numbers, and sums of these, are finite.
_LARGEST = 1e150


def model_columns(schema: Schema, values: Array) -> Leaves:
    """Describe the leaves of all columns.

    Parameters
    ----------
    schema : Schema
    values : ndarray of shape (rows, columns)
        The encoded table to learn from, NaN where a cell is missing.

    Examples
    --------
    >>> import numpy as np
    >>> schema = Schema((ColumnSchema("age", "integer"),))
    >>> model_columns(schema, np.array([[31.0], [45.0]])).columns[0].resolution
    1.0
    """
    return Leaves(tuple(_describe(column, values[:, j]) for j, column in enumerate(schema)))


def _describe(column: ColumnSchema, values: Array) -> Column:
    huge = np.flatnonzero(np.abs(values) > _LARGEST)
    if huge.size:
        raise TableError(
            f"column {shorten(column.name)}, row {huge[0]}: {values[huge[0]]:g} is beyond "
            f"{_LARGEST:g}, where squares overflow; rescale the column, or make the cell missing if "
            "the value stands for one"
        )
    return describe_column(
        str(column.name),
        values,
        column.families,
        n_categories=len(column.categories) or None,
        resolution=column.resolution,
        gamma=DEFAULT_GAMMA if column.gamma is None else column.gamma,
    )
