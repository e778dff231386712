"""Schemas: what each column of a table is and how it is modelled, to read, edit and keep.

A `ColumnSchema` says what the values of a column mean (its kind), which likelihood families compete
for it, and how to give values back in the type they came in. A `Schema` is one of these per column.
It is learned by `bayesspn.tables.infer_schema`, printed as a table, changed with `Schema.replace`
or written by hand, as Python or as a file (see `bayesspn.tables.schema_files`).

========== ======================================================= ============================
kind       values                                                  modelled as
========== ======================================================= ============================
binary     False, True                                             0, 1
category   one of the categories                                   position of the category
count      0, 1, 2 …                                               themselves, discrete
integer    whole numbers                                           themselves, continuous
real       numbers                                                 themselves, continuous
datetime   moments                                                 seconds since 1970-01-01 UTC
duration   lengths of time                                         seconds
========== ======================================================= ============================
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bayesspn.leaves import FAMILIES
from bayesspn.leaves.grids import Grid
from bayesspn.tables.cells import Scalar, shorten, suggest
from bayesspn.tables.dtypes import DEFAULT_DTYPES, suits_kind
from bayesspn.tables.frames import check_names

#: Likelihood families of each kind that suit any values of that kind.
DEFAULT_FAMILIES: dict[str, tuple[str, ...]] = {
    "binary": ("bernoulli",),
    "category": ("categorical",),
    "count": ("poisson", "geometric"),
    "integer": ("gaussian",),
    "real": ("gaussian",),
    "datetime": ("gaussian",),
    "duration": ("gaussian",),
}

#: Those of three or more categories that are ordered.
ORDERED_FAMILIES = ("categorical", "binomial")

#: Most categories that a leaf can keep counts for.
MOST_CATEGORIES = 10_000


class SchemaError(ValueError):
    """A schema that does not make sense; the message names column, field, value and fix."""


def suitable_families(kind: str) -> tuple[str, ...]:
    """Names of the likelihood families that a kind of column can use.

    Examples
    --------
    >>> suitable_families("count")
    ('geometric', 'poisson')
    """

    def suits(name: str) -> bool:
        family = FAMILIES[name]
        if kind in ("binary", "category"):
            return family.coded and (family.one_hot or kind == "category")
        if kind == "count":
            return family.measure == "discrete" and not family.coded
        return family.measure == "continuous"

    return tuple(name for name in sorted(FAMILIES) if suits(name))


@dataclass(frozen=True)
class ColumnSchema:
    """What one column is and how it is modelled.

    Parameters
    ----------
    name : str, int or tuple of these
        The column's name.
    kind : {"binary", "category", "count", "integer", "real", "datetime", "duration"}
        What the values mean.
    families : tuple of str, default=()
        Likelihood families; several compete. Those that suit any values of the kind if empty.
    categories : tuple of str, int, float or bool, default=()
        The values that a category can take, in order.
    ordered : bool, default=False
        Whether the order of the categories means something: comparisons and quantiles then go by
        it, and binomial leaves, which take neighbours for alike, compete with categorical ones.
    resolution : float, default=None
        Precision to which values are recorded, in their units (seconds for times). None reads it
        off the data; integers are recorded to 1.
    origin : float, default=None
        One of the recorded values, if all of them are whole steps of the ``resolution`` apart.
        None reads it off the data.
    values : tuple of float, default=()
        All recorded values of a column of numbers, if these are few and irregular; read off the
        data if empty.
    atoms : tuple of float, default=()
        Values that recur, such as 0, in a column of numbers most of which do not; read off the
        data if empty.
    low, high : float, default=None
        Smallest and largest value possible, in the units of ``resolution``. None goes by the data:
        positive numbers stay positive, numbers from 0 on stay there, shares stay between 0 and 1.
    gamma : float, default=None
        Strength of the leaf priors in pseudo-observations; None leaves it to the model.
    dtype : str, default=None
        Type in which values are given back, as NumPy and pandas spell it; None chooses by kind.
    indicates : str, int or tuple of these, default=None
        Another column: this one, which is binary and not in the table, says whether the cell of
        that one is missing. See `Schema.model_missing`.

    Examples
    --------
    >>> ColumnSchema("age", "integer").families
    ('gaussian',)
    """

    name: Hashable
    kind: str
    families: tuple[str, ...] = ()
    categories: tuple[Scalar, ...] = ()
    ordered: bool = False
    resolution: float | None = None
    gamma: float | None = None
    dtype: str | None = None
    origin: float | None = None
    values: tuple[float, ...] = ()
    atoms: tuple[float, ...] = ()
    low: float | None = None
    high: float | None = None
    indicates: Hashable | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.kind, str) or self.kind not in DEFAULT_FAMILIES:
            raise self._wrong("kind", f"use one of {', '.join(DEFAULT_FAMILIES)}")
        if self.indicates is not None and self.kind != "binary":
            raise self._wrong("kind", "a column that indicates missing cells is binary")
        self._check_families()
        self._check_categories()
        if not isinstance(self.ordered, bool):
            raise self._wrong("ordered", "use true or false")
        if self.kind == "integer" and self.resolution is None:
            object.__setattr__(self, "resolution", 1.0)
        self._check_number("resolution", zero=True)
        self._check_number("gamma", zero=False)
        self._check_grid()
        if self.dtype is not None and not (
            isinstance(self.dtype, str) and suits_kind(self.dtype, self.kind)
        ):
            raise self._wrong(
                "dtype",
                f"use a type for a {self.kind} column, such as {DEFAULT_DTYPES[self.kind]!r}, or "
                "leave it out",
            )

    @property
    def coded(self) -> bool:
        """Whether values are positions in a list: categories, or false and true."""
        return self.kind in ("category", "binary")

    @property
    def whole(self) -> bool:
        """Whether values are whole numbers."""
        return self.kind in ("count", "integer")

    @property
    def timed(self) -> bool:
        """Whether values are moments or lengths of time, in seconds."""
        return self.kind in ("datetime", "duration")

    @property
    def continuous(self) -> bool:
        """Whether values are modelled by densities, and recorded values stand for intervals."""
        return not self.coded and self.kind != "count"

    @cached_property
    def grid(self) -> Grid:
        """Which values are recorded, as far as it is known, of a continuous column."""
        origin = self.origin
        if origin is None and self.kind != "real":
            origin = 0.0  # whole numbers, and times as calendars divide them
        return Grid(
            self.resolution or 0.0,
            origin if self.resolution else None,
            self.values,
            self.atoms,
            -np.inf if self.low is None else self.low,
            np.inf if self.high is None else self.high,
        )

    def _wrong(self, field: str, fix: str) -> SchemaError:
        value = shorten(getattr(self, field))
        return SchemaError(f"column {shorten(self.name)}: {field} is {value}; {fix}")

    def _check_families(self) -> None:
        if not isinstance(self.families, list | tuple) or not all(
            isinstance(family, str) for family in self.families
        ):
            raise self._wrong("families", "use a list of names, such as ['gaussian']")
        ordered = self.ordered and self.kind == "category" and len(self.categories) > 2
        default = ORDERED_FAMILIES if ordered else DEFAULT_FAMILIES[self.kind]
        families = tuple(self.families) or default
        suitable = suitable_families(self.kind)
        if len(set(families)) < len(families) or not set(families) <= set(suitable):
            raise self._wrong(
                "families", f"a {self.kind} column takes one or more of {', '.join(suitable)}"
            )
        if families == ("atoms",):
            raise self._wrong("families", "atoms need a density beside them: add gaussian")
        object.__setattr__(self, "families", families)

    def _check_categories(self) -> None:
        if not isinstance(self.categories, list | tuple):
            raise self._wrong("categories", "use a list of values, such as ['no', 'yes']")
        categories = tuple(self.categories)
        object.__setattr__(self, "categories", categories)
        if (self.kind == "category") != bool(categories):
            if self.kind == "category":
                raise self._wrong("categories", "list the values that the column can take")
            raise self._wrong("categories", f"a {self.kind} column has none: leave it out")
        for category in categories:
            number = isinstance(category, int | float) and abs(category) < np.inf
            if not number and not isinstance(category, str):
                raise self._wrong(
                    "categories", f"{shorten(category)} must be text, a number, true or false"
                )
        if len(set(categories)) < len(categories):
            twice = next(c for i, c in enumerate(categories) if c in categories[:i])
            raise self._wrong("categories", f"{shorten(twice)} occurs twice: remove one")
        if len(categories) > MOST_CATEGORIES:
            raise SchemaError(
                f"column {shorten(self.name)} has {len(categories):,} categories, more than the "
                f"{MOST_CATEGORIES:,} that can be modelled; drop it or merge rare categories"
            )
        if "bernoulli" in self.families and len(categories) not in (0, 2):
            raise self._wrong("families", "bernoulli needs exactly two categories")

    def _check_grid(self) -> None:
        for field in ("values", "atoms"):
            if not isinstance(getattr(self, field), list | tuple):
                raise self._wrong(field, "use a list of numbers, such as [0, 2.5, 10]")
            numbers = tuple(self._finite(field, value) for value in getattr(self, field))
            object.__setattr__(self, field, numbers)
            if list(numbers) != sorted(set(numbers)):
                raise self._wrong(field, "list different numbers in ascending order")
        for field in ("origin", "low", "high"):
            if getattr(self, field) is not None:
                object.__setattr__(self, field, self._finite(field, getattr(self, field)))
        for field in ("origin", "values", "atoms", "low", "high"):
            if not self.continuous and getattr(self, field) not in (None, ()):
                raise self._wrong(field, f"a {self.kind} column has none: leave it out")
        if self.low is not None and self.high is not None and self.low > self.high:
            raise self._wrong("low", f"high is {self.high:g}, below it: swap them")

    def _finite(self, field: str, value: Any) -> float:
        number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
        if not number or not np.isfinite(value):
            raise self._wrong(field, "use finite numbers, or leave it out")
        return float(value)

    def _check_number(self, field: str, zero: bool) -> None:
        value = getattr(self, field)
        if value is None:
            return
        number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
        if not number or not np.isfinite(value) or value < 0 or (value == 0 and not zero):
            fix = "use a number from 0 on" if zero else "use a number above 0"
            raise self._wrong(field, f"{fix}, or leave it out")
        object.__setattr__(self, field, float(value))


@dataclass(frozen=True, repr=False)
class Schema:
    """What every column of a table is and how it is modelled.

    Parameters
    ----------
    columns : tuple of ColumnSchema
        In the order of the table.

    Examples
    --------
    >>> schema = Schema((
    ...     ColumnSchema("age", "integer", families=("gaussian", "lognormal")),
    ...     ColumnSchema("answer", "category", categories=("no", "yes")),
    ... ))
    >>> schema
    Schema of 2 columns
    name    kind      families             values         dtype
    age     integer   gaussian, lognormal  recorded to 1  -
    answer  category  categorical          no, yes        -
    >>> schema.replace("age", families=("gaussian",))["age"].families
    ('gaussian',)
    """

    columns: tuple[ColumnSchema, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        if not self.columns:
            raise SchemaError("a schema needs at least one column")
        for position, column in enumerate(self.columns):
            if not isinstance(column, ColumnSchema):
                raise SchemaError(
                    f"columns[{position}] is {shorten(column)}; use a ColumnSchema for each column"
                )
        check_names(self.names)
        self._check_indicators()

    def _check_indicators(self) -> None:
        indicated = [column.indicates for column in self.columns if column.indicates is not None]
        recorded = [column.name for column in self.columns if column.indicates is None]
        for name in indicated:
            # a part of a schema may have lost the column itself
            if indicated.count(name) > 1 or (name in self.names and name not in recorded):
                raise SchemaError(
                    f"indicates is {shorten(name)} twice, or an indicator itself; have one "
                    "indicator of missing cells for a column"
                )

    @property
    def recorded(self) -> tuple[Hashable, ...]:
        """Names of the columns that tables have: all but indicators of missing cells."""
        return tuple(column.name for column in self.columns if column.indicates is None)

    def indicator(self, name: Hashable) -> int | None:
        """Position of the column that says whether cells of another are missing, if there is one.

        Examples
        --------
        >>> schema = Schema((ColumnSchema("pay", "real"),)).model_missing("pay")
        >>> schema.indicator("pay")
        1
        """
        found = [k for k, column in enumerate(self.columns) if column.indicates == name]
        return found[0] if found and name is not None else None

    def model_missing(self, *names: Hashable) -> Schema:
        """Copy in which it is part of the model whether cells of some columns are missing.

        For cells that are missing *because* of what they would hold, or of what other cells hold,
        such as incomes that the rich keep to themselves. Each of the columns gets another beside
        it, binary, that says whether its cell is missing. Tables do not have it: it is read off
        the cells. Rows that lack the cell are then rows of which that is known, when they are
        learned from, scored or filled in; ``pay is missing`` can be asked and be given; and new
        rows have holes.

        Parameters
        ----------
        *names : str, int or tuple of these
            Columns; all that can be missing are not a good choice, each costs a column.

        Examples
        --------
        >>> Schema((ColumnSchema("pay", "real"),)).model_missing("pay")
        Schema of 2 columns
        name            kind    families   values  dtype
        pay             real    gaussian   -       -
        pay is missing  binary  bernoulli  of pay  bool
        """
        columns = list(self.columns)
        given: tuple[Any, ...] = names
        for several in given:
            if isinstance(several, list | set):
                listed = ", ".join(repr(name) for name in several)
                raise SchemaError(
                    f"model_missing takes names one by one, got a {type(several).__name__}: write "
                    f"model_missing({listed}), or a star before it"
                )
        for name in dict.fromkeys(names):
            if self.columns[self.position(name)].indicates is not None:
                raise SchemaError(f"column {shorten(name)} is never missing; leave it out")
            if self.indicator(name) is None:
                title = f"{name} is missing"
                while title in [column.name for column in columns]:
                    title += "_"
                columns.append(ColumnSchema(title, "binary", dtype="bool", indicates=name))
        return Schema(tuple(columns))

    @property
    def names(self) -> tuple[Hashable, ...]:
        """Names of the columns."""
        return tuple(column.name for column in self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def __iter__(self) -> Iterator[ColumnSchema]:
        return iter(self.columns)

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __getitem__(self, name: Hashable) -> ColumnSchema:
        return self.columns[self.position(name)]

    def position(self, name: Hashable) -> int:
        """Position of a column by its name."""
        if name not in self.names:
            raise SchemaError(
                f"there is no column {shorten(name)}; {suggest(name, self.names)}"
                f"{list_some(self.names)}"
            )
        return self.names.index(name)

    def replace(self, name: Hashable, /, **changes: Any) -> Schema:
        """Copy with some fields of one column changed.

        A new kind brings its own defaults for families, categories, resolution and the values
        possible unless these are given, too, and drops a type that it cannot have. The indicator of
        missing cells of a column that gets another name is then about that name.

        Parameters
        ----------
        name : str, int or tuple of these
            The column.
        **changes
            New values of the fields of its `ColumnSchema`.
        """
        position = self.position(name)
        known = [field.name for field in dataclasses.fields(ColumnSchema)]
        for field in changes:
            if field not in known:
                raise SchemaError(
                    f"column {shorten(name)} has no field {field!r}; the fields are "
                    f"{', '.join(known)}"
                )
        old = self.columns[position]
        if changes.get("kind", old.kind) != old.kind:
            changes = {
                "families": (),
                "categories": (),
                "ordered": False,
                "resolution": None,
                "origin": None,
                "values": (),
                "atoms": (),
                "low": None,
                "high": None,
                "indicates": None,
                "dtype": _keep_dtype(old.dtype, changes["kind"]),
            } | changes
        columns = list(self.columns)
        columns[position] = dataclasses.replace(old, **changes)
        indicator, name = self.indicator(old.name), columns[position].name
        if indicator is not None and indicator != position:
            columns[indicator] = dataclasses.replace(columns[indicator], indicates=name)
        return Schema(tuple(columns))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the schema to a file that can be read and edited by hand (JSON)."""
        from bayesspn.tables.schema_files import save_schema

        save_schema(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Schema:
        """Read a schema from a file."""
        from bayesspn.tables.schema_files import load_schema

        return load_schema(path)

    def __repr__(self) -> str:
        header = ("name", "kind", "families", "values", "dtype")
        rows = [header, *map(_summary, self.columns)]
        widths = [max(len(row[k]) for row in rows) for k in range(len(header))]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ]
        plural = "" if len(self) == 1 else "s"
        return "\n".join([f"Schema of {len(self)} column{plural}", *lines])

    def _repr_html_(self) -> str:
        from bayesspn.notebooks import html_table

        header = ("name", "kind", "families", "values", "dtype")
        return html_table(header, map(_summary, self.columns), f"Schema of {len(self)} columns")


def _keep_dtype(dtype: str | None, kind: str) -> str | None:
    return dtype if dtype is not None and suits_kind(dtype, kind) else None


def list_some(values: tuple[Hashable, ...], most: int = 8) -> str:
    """A sentence part that lists the first few known values.

    Examples
    --------
    >>> list_some(("a", "b", "c"), 2)
    "known are 'a', 'b', … (3 in all)"
    """
    listed = ", ".join(shorten(value, 30) for value in values[:most])
    return f"known are {listed}" + (f", … ({len(values)} in all)" if len(values) > most else "")


def _summary(column: ColumnSchema) -> tuple[str, ...]:
    values = ""
    if column.categories:
        shown = ", ".join(_cut(str(category), 15) for category in column.categories[:4])
        more = len(column.categories) - 4
        values = shown + (f", … {more} more" if more > 0 else "")
        values = values.replace(", ", " < ") if column.ordered else values
    elif column.continuous:
        values = _describe_grid(column)
    elif column.indicates is not None:
        values = f"of {_cut(str(column.indicates), 20)}"
    if column.gamma is not None:
        values = ", ".join(filter(None, [values, f"gamma {column.gamma:g}"]))
    return (
        _cut(str(column.name), 40),
        column.kind,
        ", ".join(column.families),
        values or "-",
        column.dtype or "-",
    )


def _describe_grid(column: ColumnSchema) -> str:
    if len(column.values) == 1:
        return f"always {column.values[0]:g}"
    if column.values:
        shown = ", ".join(f"{value:g}" for value in column.values[:4])
        return shown + (f", … {len(column.values) - 4} more" if len(column.values) > 4 else "")
    parts = [] if column.resolution is None else [f"recorded to {column.resolution:g}"]
    ends = [None if end is None else f"{end:g}" for end in (column.low, column.high)]
    if ends[0] is not None:
        parts.append(f"from {ends[0]}" + (f" to {ends[1]}" if ends[1] is not None else ""))
    elif ends[1] is not None:
        parts.append(f"up to {ends[1]}")
    return ", ".join(parts)


def _cut(text: str, length: int) -> str:
    # line breaks in names would break the table
    text = text if text.isprintable() and text else repr(text)
    return text if len(text) <= length else text[: length - 1] + "…"
