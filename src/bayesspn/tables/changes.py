"""Schemas of tables that have changed: columns stay what they were, as far as their cells allow it.

Which values a column is recorded as (`bayesspn.leaves.grids`) was read off the cells that there
were. Cells that are recorded otherwise would have no probability, so it is read again where there
are any; what the user's schema says of it stays.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np

from bayesspn.arrays import Array, IntArray
from bayesspn.leaves.grid_detection import read_grid
from bayesspn.tables.cells import Cells, TableError
from bayesspn.tables.encoding import encode_cells
from bayesspn.tables.frames import open_table
from bayesspn.tables.infer import families_by_sign, infer_columns, read_values
from bayesspn.tables.schema import ColumnSchema, Schema
from bayesspn.tables.surveys import survey_cells
from bayesspn.tables.times import step_of_seconds


class ContinuedSchema(NamedTuple):
    """Schema of a changed table, and where its columns come from.

    Attributes
    ----------
    schema : Schema
    sources : tuple of int or None
        For every column, the position of the same column before; None if it is described anew.
    """

    schema: Schema
    sources: tuple[int | None, ...]


def continue_schema(table: Any, known: Schema, stated: Schema | None = None) -> ContinuedSchema:
    """Schema of a changed table: known columns stay what they were if their cells allow it.

    Parameters
    ----------
    table : array or frame of shape (rows, columns)
    known : Schema
        Of the table before.
    stated : Schema, default=None
        What the user says of columns, which is not read off their cells.

    Examples
    --------
    >>> import pandas as pd
    >>> from bayesspn.tables import infer_schema
    >>> known = infer_schema(pd.DataFrame({"city": ["Rome", "Oslo"], "size": [1.5, 2.25]}))
    >>> edited = pd.DataFrame({"open": [True], "city": ["Rome"]})
    >>> schema, sources = continue_schema(edited, known)
    >>> schema
    Schema of 2 columns
    name  kind      families     values      dtype
    open  binary    bernoulli    -           bool
    city  category  categorical  Oslo, Rome  str
    >>> sources
    (None, 0)
    """
    opened = open_table(table)
    if not opened.named and len(opened.names) != len(known.recorded):
        raise TableError(
            f"X has {len(opened.names)} features, but the model has {len(known.recorded)}: columns "
            "can be added and dropped if they have names, as in a data frame"
        )
    # indicators are read off the cells that they are about, if these are there
    indicators = [column for column in known if column.indicates in opened.names]
    names = [name for name in opened.names if name not in {column.name for column in indicators}]
    kept: dict[Hashable, ColumnSchema] = {}
    surveys = []
    for name in names:
        cells = opened.read(opened.names.index(name))
        values = _suitable_values(cells, known[name]) if name in known.recorded else None
        if values is None:
            surveys.append(survey_cells(read_values(cells)))
        else:
            kept[name] = _with_suitable_grid(known[name], values, stated)
    sources = {name: known.position(name) for name in kept}
    if surveys:
        kept |= {column.name: column for column in infer_columns(surveys)}
    sources |= {column.name: known.position(column.name) for column in indicators}
    schema = Schema((*(kept[name] for name in names), *indicators))
    return ContinuedSchema(schema, tuple(sources.get(name) for name in schema.names))


def continue_grids(known: Schema, values: Array, stated: Schema | None = None) -> Schema:
    """The schema of a table that has grown, whose cells may be recorded otherwise.

    Parameters
    ----------
    known : Schema
        Of the table before.
    values : ndarray of shape (rows, columns)
        The whole table now, encoded.
    stated : Schema, default=None
        What the user says of columns.

    Examples
    --------
    >>> known = Schema((ColumnSchema("size", "real", resolution=0.5, origin=0.0),))
    >>> continue_grids(known, np.array([[1.5], [2.0]])) == known
    True
    >>> continue_grids(known, np.array([[1.5], [2.25]]))["size"].resolution is None
    True
    """
    return Schema(
        tuple(_with_suitable_grid(column, values[:, j], stated) for j, column in enumerate(known))
    )


def _suitable_values(cells: Cells, column: ColumnSchema) -> Array | None:
    """Encoded cells (rows,), if they are values of a column as it was described."""
    try:
        values = encode_cells(cells, column)
    except TableError:
        return None
    seen = values[~np.isnan(values)]
    above = column.low is None or (seen >= column.low).all()
    within = above and (column.high is None or (seen <= column.high).all())
    return values if within else None


def _with_suitable_grid(column: ColumnSchema, values: Array, stated: Schema | None) -> ColumnSchema:
    """The column; what it is recorded as is left to be read again if its cells are off it."""
    distinct, counts = np.unique(values[~np.isnan(values)], return_counts=True)
    if not column.continuous or not distinct.size:
        return column
    said = stated[column.name] if stated is not None and column.name in stated else None
    if said is not None and said.kind != column.kind:
        said = None  # of cells that were there before
    if _suits_grid(column, distinct, counts, None if said is None else said.resolution):
        return column
    if said is not None:
        fields = ("resolution", "origin", "values", "atoms", "low", "high")
        return dataclasses.replace(column, **{field: getattr(said, field) for field in fields})
    families = column.families
    if column.kind == "real" and "atoms" not in families and "atoms" in families_by_sign(values):
        families = (*families, "atoms")
    return dataclasses.replace(
        column,
        families=families,
        resolution=step_of_seconds(distinct) if column.timed else None,
        origin=None,
        values=(),
        atoms=(),
        low=None,
        high=None,
    )


def _suits_grid(
    column: ColumnSchema, distinct: Array, counts: IntArray, step: float | None
) -> bool:
    """Whether different values, ascending, are recorded as the column's grid says."""
    grid = column.grid
    if grid.values or grid.origin is not None:
        return bool(grid.holds(distinct).all())
    found = read_grid(distinct, counts.astype(np.float64), step=step)
    return found.origin is None and not found.values and set(found.atoms) <= set(grid.atoms)
