"""Columns: what each dimension of the table is, and the likelihood families that its leaves mix.

A `Column` fixes the measure, the candidate families and their scale. `Leaves` arranges all
(column, family) pairs into groups of equal shape, so that every step of the sampler handles all
columns of a kind at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bayesspn.arrays import Array, BoolArray, IntArray
from bayesspn.leaves import FAMILIES, Family
from bayesspn.leaves.grid_detection import read_grid
from bayesspn.leaves.grids import Grid

#: Prior strength of the leaves in pseudo-observations: Beta(½, ½) and the like.
DEFAULT_GAMMA = 0.5

#: Sums and squares of numbers up to this are finite.
_LARGEST = 1e150

#: More categories than this are a mistake: every leaf keeps a count for each.
_MOST_CATEGORIES = 10_000


@dataclass(frozen=True, eq=False)
class Column:
    """One dimension of the table.

    Use `describe_column`, which reads scale, categories and resolution off the data.

    Parameters
    ----------
    name : str
        The column's name, used in messages.
    families : tuple of str
        Candidate likelihood families; a leaf mixes over them if there are several.
    n_categories : int
        Number of categories; 0 for families without any.
    grid : Grid
        Which values a continuous column is recorded as, and the smallest and largest possible.
    constants : tuple of ndarray
        Scale constants, one array per family.
    observed : tuple of float
        Smallest and largest value seen.
    gamma : float
        Strength of the leaf priors, in pseudo-observations.
    """

    name: str
    families: tuple[str, ...]
    n_categories: int
    grid: Grid
    constants: tuple[Array, ...]
    observed: tuple[float, float]
    gamma: float = DEFAULT_GAMMA

    @property
    def discrete(self) -> bool:
        """Whether the column has probability masses rather than densities."""
        return self.likelihoods[0].measure == "discrete"

    @property
    def resolution(self) -> float:
        """Precision δ to which continuous values are recorded; 0 if unlimited or discrete."""
        return self.grid.step

    @property
    def likelihoods(self) -> tuple[Family, ...]:
        """The candidate families themselves."""
        return tuple(FAMILIES[name] for name in self.families)

    @property
    def plausible(self) -> tuple[float, float]:
        """Range to which expectations are limited: what was seen, and as much again on each side.

        Leaves have heavy tails once their parameters are integrated out; a log-normal one has no
        mean at all.
        """
        low, high = self.observed
        if self.n_categories:
            return 0.0, self.n_categories - 1.0
        width = (high - low) or abs(high) or 1.0
        positive = all(family.invalid(np.array([-1.0]), 0)[0] for family in self.likelihoods)
        least = 0.0 if positive else -_LARGEST
        return max(low - width, least), min(high + width, _LARGEST)

    @property
    def atoms(self) -> Array:
        """Values with point masses, ascending; shape (atoms,)."""
        if "atoms" not in self.families:
            return np.empty(0)
        return self.constants[self.families.index("atoms")][:-1]

    def features(self, number: int, values: Array) -> tuple[Array, Array]:
        """Statistics T (values, t) and log base measure h (values,), −inf off the support."""
        family, constants = self.likelihoods[number], self.constants[number]
        invalid = family.invalid(values, self.n_categories)
        safe = np.where(invalid, 1.0, values)
        statistics = family.statistics(safe, constants)
        statistics[invalid] = 0.0
        return statistics, np.where(invalid, -np.inf, family.log_base(safe, constants))


def describe_column(
    name: str,
    values: Array,
    families: str | Sequence[str],
    *,
    n_categories: int | None = None,
    resolution: float | None = None,
    grid: Grid | None = None,
    low: float | None = None,
    high: float | None = None,
    shares: bool = True,
    gamma: float = DEFAULT_GAMMA,
    recorded: Array | None = None,
) -> Column:
    """Describe a column from its values.

    Parameters
    ----------
    name : str
    values : ndarray of shape (rows,)
        NaN marks missing cells.
    families : str or sequence of str
        Candidate likelihood families, all discrete or all continuous.
    n_categories : int, default=None
        Number of categories; one more than the largest value if not given.
    resolution : float, default=None
        Precision of continuous values; read off the values if not given.
    grid : Grid, default=None
        Which values are recorded; read off the values if not given, see `read_grid`.
    low, high : float, default=None
        Smallest and largest value possible; read off the values if not given.
    shares : bool, default=True
        Whether fractions between 0 and 1 may be shares, which do not exceed 1.
    gamma : float, default=0.5
        Strength of the leaf priors, in pseudo-observations.
    recorded : ndarray of shape (cells,), default=None
        The values as often as they were recorded, if weights repeated rows: which values recur, and
        so the grid and the atoms, is read off these.

    Examples
    --------
    >>> column = describe_column("length", np.array([1.5, 2.0, np.nan, 4.0]), "gaussian")
    >>> column.resolution
    0.5
    """
    names = (families,) if isinstance(families, str) else tuple(families)
    _check_families(name, names)
    likelihoods = [FAMILIES[family_name] for family_name in names]
    if not np.isfinite(gamma) or gamma <= 0:
        raise ValueError(f"column {name!r}: gamma must be positive and finite, got {gamma!r}")
    values = np.asarray(values, dtype=np.float64)
    distinct, counts = np.unique(values[~np.isnan(values)], return_counts=True)
    if distinct.size == 0:
        raise ValueError(f"column {name!r} has no observed value; drop it")
    if np.isinf(distinct).any():
        infinite = distinct[np.isinf(distinct)][0]
        raise ValueError(f"column {name!r}: value {infinite:g} is infinite; use NaN for missing")
    categories = 0
    if any(family.coded for family in likelihoods):
        categories = _count_categories(name, distinct, n_categories)
    for family in likelihoods:
        outside = family.invalid(distinct, categories)
        if outside.any():
            raise ValueError(
                f"column {name!r}: value {distinct[outside][0]:g} is outside the support of the "
                f"{family.name} family"
            )
    if resolution is not None and not 0 <= resolution < np.inf:
        raise ValueError(
            f"column {name!r}: resolution must be finite and not negative, got {resolution!r}"
        )
    times = weights = counts.astype(np.float64)
    if recorded is not None:
        times = _count_recorded(distinct, recorded)
    if likelihoods[0].measure == "discrete":
        grid = Grid()
    elif grid is None:
        grid = read_grid(distinct, times, step=resolution, low=low, high=high, shares=shares)
    constants = tuple(
        family.constants(
            distinct, times if family.name == "atoms" else weights, grid.step, categories
        )
        for family in likelihoods
    )
    observed = (float(distinct[0]) + 0.0, float(distinct[-1]) + 0.0)  # no negative zero
    return Column(name, names, categories, grid, constants, observed, gamma)


def continue_column(before: Column, now: Column) -> Column:
    """A column described anew, in the units of the same column before.

    The statistics that leaves have gathered and the priors learned for families of both stay what
    they are. What values are recorded as, how fine they are, and atoms are those now.

    Examples
    --------
    >>> before = describe_column("x", np.array([1.5, 2.0, 4.0]), "gaussian")
    >>> now = describe_column("x", np.array([1.5, 2.0, 8.25]), "gaussian")
    >>> both = continue_column(before, now)
    >>> both.resolution, bool(both.constants[0][1] == before.constants[0][1])
    (0.25, True)
    """
    constants = list(now.constants)
    for number, family in enumerate(now.likelihoods):
        if family.name in before.families:
            like = before.constants[before.families.index(family.name)]
            constants[number] = family.rescale(constants[number], like)
    return replace(now, constants=tuple(constants))


def _count_recorded(distinct: Array, recorded: Array) -> Array:
    """How often each of the distinct values was recorded; the shape of ``distinct``."""
    cells = recorded[~np.isnan(recorded)]
    places = np.minimum(np.searchsorted(distinct, cells), len(distinct) - 1)
    # rows that are looked at may be some of those recorded
    known = distinct[places] == cells
    return np.bincount(places[known], minlength=len(distinct)).astype(np.float64)


def widen_ranges(leaves: Leaves, X: Array) -> Leaves:
    """The same leaves, whose columns have seen the values of X (rows, columns) as well."""
    columns = []
    for column, values in zip(leaves.columns, X.T, strict=True):
        low, high = column.observed
        seen = values[~np.isnan(values)]
        observed = (float(seen.min(initial=low)), float(seen.max(initial=high)))
        columns.append(replace(column, observed=observed, grid=column.grid.holding(*observed)))
    return Leaves(tuple(columns))


def _check_families(name: str, families: tuple[str, ...]) -> None:
    if not families or len(set(families)) != len(families):
        raise ValueError(f"column {name!r}: families must be one or more different names")
    for family in families:
        if family not in FAMILIES:
            raise ValueError(
                f"column {name!r}: unknown family {family!r}; known are {sorted(FAMILIES)}"
            )
    if families == ("atoms",):
        raise ValueError(f"column {name!r}: atoms need a density beside them, such as gaussian")
    if len({FAMILIES[family].measure for family in families}) > 1:
        raise ValueError(
            f"column {name!r}: {', '.join(families)} mix probability masses and densities; "
            "a column is either discrete or continuous"
        )


def _count_categories(name: str, distinct: Array, given: int | None) -> int:
    if given is not None and (given < 1 or given != int(given)):
        raise ValueError(f"column {name!r}: n_categories must be a count, got {given!r}")
    categories = max(2, given or int(distinct[-1]) + 1)
    if categories > _MOST_CATEGORIES:
        raise ValueError(
            f"column {name!r}: value {distinct[-1]:g} would need {categories:,} categories, "
            f"more than {_MOST_CATEGORIES:,}; use a family of counts"
        )
    return categories


@dataclass(frozen=True, eq=False)
class LeafGroup:
    """All (column, model) pairs of one family and shape.

    Attributes
    ----------
    family : Family
    columns : ndarray of shape (g,)
        The column of each member.
    family_numbers : ndarray of shape (g,)
        The position of the family among the column's families.
    constants : ndarray of shape (g, c)
    center, spread : ndarray of shape (g, f)
        Hyper-prior of the prior's coordinates φ: independent normals.
    n_statistics : int
        Length t of T.
    """

    family: Family
    columns: NDArray[np.int64]
    family_numbers: IntArray
    constants: Array
    center: Array
    spread: Array
    n_statistics: int

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def n_slots(self) -> int:
        """Integer slots per member and leaf: the count n comes first unless T is one-hot."""
        return self.n_statistics if self.family.one_hot else 1 + self.n_statistics

    def hyper(self, phi: Array) -> Array:
        """Hyper-parameters at φ of shape (g, f), ready to broadcast over (path, leaf)."""
        return self.family.hyper(phi, self.constants)[:, None, None, :]


@dataclass(frozen=True, eq=False)
class Leaves:
    """The leaf models of all columns.

    Parameters
    ----------
    columns : tuple of Column
    """

    columns: tuple[Column, ...]

    def __post_init__(self) -> None:
        if not self.columns:
            raise ValueError("a model needs at least one column")

    @cached_property
    def groups(self) -> tuple[LeafGroup, ...]:
        """(column, model) pairs grouped by family and number of statistics."""
        members: dict[tuple[str, int], list[tuple[int, int]]] = {}
        for d, column in enumerate(self.columns):
            for m, family in enumerate(column.likelihoods):
                # atoms are the column's own, categories the codes of all
                width = (column.n_categories or len(column.constants[m])) if family.one_hot else 0
                members.setdefault((family.name, width), []).append((d, m))
        return tuple(self._group(name, pairs) for (name, _), pairs in sorted(members.items()))

    def _group(self, name: str, pairs: list[tuple[int, int]]) -> LeafGroup:
        family = FAMILIES[name]
        chosen = [(self.columns[d], self.columns[d].constants[m]) for d, m in pairs]
        return LeafGroup(
            family=family,
            columns=np.array([d for d, _ in pairs]),
            family_numbers=np.array([m for _, m in pairs]),
            constants=np.stack([constants for _, constants in chosen]),
            center=np.stack([family.prior_center(c.gamma, k) for c, k in chosen]),
            spread=np.stack([family.prior_spread(k) for _, k in chosen]),
            n_statistics=family.statistics(np.ones(1), chosen[0][1]).shape[1],
        )

    @cached_property
    def places(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        """For every column and model: (group, position in the group)."""
        places: list[dict[int, tuple[int, int]]] = [{} for _ in self.columns]
        for g, group in enumerate(self.groups):
            for position, (d, m) in enumerate(
                zip(group.columns, group.family_numbers, strict=True)
            ):
                places[d][int(m)] = (g, position)
        return tuple(tuple(entry[m] for m in range(len(entry))) for entry in places)

    @cached_property
    def mixed(self) -> NDArray[np.int64]:
        """Columns whose leaves mix over several likelihood families."""
        return np.array([d for d, c in enumerate(self.columns) if len(c.families) > 1], dtype=int)

    @cached_property
    def mixed_members(self) -> tuple[tuple[IntArray, IntArray], ...]:
        """Members of every leaf group that belong to mixed columns, and which of these."""
        found = []
        for group in self.groups:
            members = np.flatnonzero(np.isin(group.columns, self.mixed)).astype(np.int64)
            found.append((members, np.searchsorted(self.mixed, group.columns[members])))
        return tuple(found)

    @cached_property
    def mixed_families(self) -> BoolArray:
        """Whether a mixed column has so many families; shape (mixed columns, families)."""
        present = [len(self.columns[d].families) for d in self.mixed]
        return np.arange(self.max_families) < np.array(present, dtype=int)[:, None]

    @cached_property
    def max_families(self) -> int:
        """Largest number of likelihood families of a column."""
        return max(len(column.families) for column in self.columns)
