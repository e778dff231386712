"""Columns whose leaves are not plain categories, as flat arrays for the kernels.

`ValuedColumns` are some columns of a codebook with their (column, family) members; `Values` are
distinct values of these columns with their statistics, which do not change from sweep to sweep.
Those of tabulated columns are made once for a codebook, those of dense columns once for a block if
they are few; else they would need several times the memory of the table itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from bayesspn.arrays import Array, IntArray
from bayesspn.engine.kernels.cell_statistics import FEW_SLOTS
from bayesspn.engine.kernels.valued import (
    BETA,
    BINOMIAL,
    LINEAR,
    LOMAX,
    NATURAL,
    NEGATIVE,
    QUADRATIC,
    STUDENT,
)
from bayesspn.engine.kernels.vectors import LANES
from bayesspn.leaves import conjugate
from bayesspn.leaves.columns import LeafGroup, Leaves
from bayesspn.leaves.densities import DrawnLeaves, LeafDensities, PredictiveLeaves
from bayesspn.numerics.special_functions import log_gamma, log_gammainc
from bayesspn.rows.codebook import Codebook
from bayesspn.rows.encoded import RowBlock

_LOG2E = 1.4426950408889634

#: What is made of a block is kept if it has so few rows, fewer than the full blocks of a large
#: table have, or if it is so few numbers.
_FEW_ROWS = 8192
_FEW_NUMBERS = 2**19

#: Most parameters of a predictive leaf; see `bayesspn.engine.kernels.valued`.
_PREDICTIVE = 6

_kept: WeakKeyDictionary[Any, dict[tuple[Any, ...], Any]] = WeakKeyDictionary()


def keep(owner: Any, key: tuple[Any, ...], make: Callable[[], Any]) -> Any:
    """What was made before for an owner, as long as that is there, or is made now."""
    kept = _kept.setdefault(owner, {})
    if key not in kept:
        kept[key] = make()
    return kept[key]


class LeafForms(NamedTuple):
    """Leaves of valued columns, as the kernels read them.

    Attributes
    ----------
    forms : ndarray of shape (members,)
    parameters : ndarray of shape (members, parameters, different leaves)
        In binary logarithms, raised to the densities' power.
    power : float
    places : ndarray of shape (columns, paths × leaves)
        Which of a column's different leaves every leaf is: those without rows are all alike once
        parameters are integrated out.
    leaves : int
        Leaves per region.
    """

    forms: IntArray
    parameters: Array
    power: float
    places: NDArray[np.int32]
    leaves: int

    def single(self) -> NDArray[np.float32]:
        """Parameters of linear and quadratic forms in single precision, leaves padded."""
        members, width, size = self.parameters.shape
        padded = np.zeros((members, width, LANES * (-(-size // LANES))), dtype=np.float32)
        padded[:, :, :size] = self.parameters
        padded[self.forms == QUADRATIC, 2] *= -1.0
        return padded


NO_SINGLE = np.empty((0, 0, 0), dtype=np.float32)

#: Natural parameters times statistics of one sign, for which single precision will do, are linear
#: forms; those of counts cancel against the base measure.
_NATURAL_FORMS = {
    conjugate.GAUSSIAN: QUADRATIC,
    conjugate.ONE_HOT: LINEAR,
    conjugate.EXPONENTIAL: LINEAR,
}


class Values(NamedTuple):
    """Values of valued columns.

    Attributes
    ----------
    first : ndarray of shape (columns + 1,)
        Where the values of a column begin.
    features : ndarray of shape (families, values, 1 + statistics)
        Binary log base measure, NaN for missing values, −inf off the support; then T.
    scaled : ndarray of shape (families, values, slots)
        Integer statistics, zeros for missing values.
    spans : ndarray of shape (families, values, 4)
        Where those of T, counted as in ``features``, begin and end that are not 0; then the same
        of ``scaled``. Of many categories or atoms a value has one.
    """

    first: IntArray
    features: Array
    scaled: IntArray
    spans: NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class ValuedColumns:
    """Some columns of a table and their members.

    Attributes
    ----------
    leaves : Leaves
    columns : ndarray of shape (columns,)
    """

    leaves: Leaves
    columns: IntArray

    @cached_property
    def first_member(self) -> IntArray:
        """Where the members of a column begin; shape (columns + 1,)."""
        counts = [len(self.leaves.columns[d].families) for d in self.columns]
        return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)

    @cached_property
    def members(self) -> tuple[IntArray, IntArray]:
        """Leaf group and position of every member; shape (members,) each."""
        places = [place for d in self.columns for place in self.leaves.places[d]]
        pairs = np.array(places, dtype=np.int64).reshape(-1, 2)
        return np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1])

    @cached_property
    def by_group(self) -> tuple[tuple[int, IntArray, IntArray], ...]:
        """For every leaf group with members: the group, the members, and their positions."""
        groups, positions = self.members
        return tuple(
            (int(g), np.flatnonzero(groups == g), positions[groups == g]) for g in np.unique(groups)
        )

    @cached_property
    def mixed_members(self) -> tuple[IntArray, IntArray, IntArray]:
        """Members of mixed columns, the columns' numbers among these, and the family's number."""
        found = [
            (self.first_member[k] + m, int(np.searchsorted(self.leaves.mixed, d)), m)
            for k, d in enumerate(self.columns)
            if len(self.leaves.columns[d].families) > 1
            for m in range(len(self.leaves.columns[d].families))
        ]
        table = np.array(found, dtype=np.int64).reshape(-1, 3)
        return table[:, 0].copy(), table[:, 1].copy(), table[:, 2].copy()

    @cached_property
    def n_statistics(self) -> int:
        """Most statistics of a member."""
        groups = self.leaves.groups
        return max((groups[g].n_statistics for g, _, _ in self.by_group), default=0)

    @cached_property
    def n_slots(self) -> IntArray:
        """Integer slots of every member; shape (members,)."""
        return np.array([self.leaves.groups[g].n_slots for g in self.members[0]], dtype=np.int64)

    @cached_property
    def few_slots(self) -> NDArray[np.bool_]:
        """Whether the slots of a member lie side by side; shape (members,)."""
        return np.array([has_few_slots(self.leaves.groups[g]) for g in self.members[0]], dtype=bool)

    def values(self, codebook: Codebook, each: list[Array]) -> Values:
        """Features of values, an array for each column."""
        first = np.concatenate([[0], np.cumsum([len(cells) for cells in each])]).astype(np.int64)
        families = max(np.diff(self.first_member), default=0)
        features = np.full((families, first[-1], 1 + self.n_statistics), 0.0)
        features[:, :, 0] = -np.inf
        most = max((FEW_SLOTS, *self.n_slots))
        scaled = np.zeros((families, first[-1], most), dtype=np.int64)
        spans = np.zeros((families, first[-1], 4), dtype=np.int32)
        for k, (d, cells) in enumerate(zip(self.columns, each, strict=True)):
            here = slice(first[k], first[k + 1])
            missing = np.isnan(cells)
            safe = np.where(missing, 1.0, cells)
            described = self.leaves.columns[d]
            for m in range(len(described.families)):
                statistics, log_base = described.features(m, safe)
                features[m, here, 0] = np.where(missing, np.nan, _LOG2E * log_base)
                features[m, here, 1 : 1 + statistics.shape[1]] = statistics
                slots = codebook.scaled_statistics(int(d), m, cells)
                scaled[m, here, : slots.shape[1]] = slots
                spans[m, here, :2] = 1 + _find_spans(statistics)
                spans[m, here, 2:] = _find_spans(slots)
        return Values(first, features, scaled, spans)

    def forms(self, densities: LeafDensities) -> LeafForms:
        """Leaves of these columns, parameters drawn or integrated out."""
        if isinstance(densities, DrawnLeaves):
            return self._natural_forms(densities)
        assert isinstance(densities, PredictiveLeaves)
        return self._predictive_forms(densities)

    def _natural_forms(self, densities: DrawnLeaves) -> LeafForms:
        paths, leaves = densities.log_partition[0].shape[1:]
        count = len(self.members[0])
        parameters = np.zeros((count, max(3, 1 + self.n_statistics), paths * leaves))
        scale = _LOG2E * densities.power
        for g, members, positions in self.by_group:
            eta = densities.eta[g][positions].reshape(len(members), paths * leaves, -1)
            if self.leaves.groups[g].family.kind == conjugate.GAUSSIAN:
                precision = -2.0 * eta[:, :, 1]
                parameters[members, 0] = 0.5 * scale * np.log(precision)
                parameters[members, 1] = eta[:, :, 0] / precision
                parameters[members, 2] = 0.5 * scale * precision
                continue
            parameters[members, 1 : 1 + eta.shape[2]] = scale * eta.transpose(0, 2, 1)
            partition = densities.log_partition[g][positions]
            parameters[members, 0] = -scale * partition.reshape(len(members), -1)
        self._add_mixing(parameters, densities.log_mixing)
        places = self._all_places(paths * leaves)
        return LeafForms(self.natural_kinds, parameters, densities.power, places, leaves)

    @cached_property
    def natural_kinds(self) -> IntArray:
        """Form of every member's leaves with drawn parameters; shape (members,)."""
        kinds = [self.leaves.groups[g].family.kind for g in self.members[0]]
        return np.array([_NATURAL_FORMS.get(kind, NATURAL) for kind in kinds], dtype=np.int64)

    def _all_places(self, size: int) -> NDArray[np.int32]:
        """Places of leaves that all differ; shape (columns, leaves)."""

        def make() -> NDArray[np.int32]:
            return np.tile(np.arange(size, dtype=np.int32), (len(self.columns), 1))

        places: NDArray[np.int32] = keep(self, ("places", size), make)
        return places

    def _add_mixing(self, parameters: Array, log_mixing: Array) -> None:
        members, columns, numbers = self.mixed_members
        if members.size:
            flat = log_mixing[columns, numbers].reshape(len(members), -1)
            parameters[members, 0] += _LOG2E * flat

    def _predictive_forms(self, densities: PredictiveLeaves) -> LeafForms:
        paths, leaves = densities.hyper[0].shape[1:3]
        count = len(self.members[0])
        width = max(_PREDICTIVE, 1 + self.n_statistics)
        parameters = np.zeros((count, width, paths * leaves))
        forms = np.empty(count, dtype=np.int64)
        for g, members, positions in self.by_group:
            family = self.leaves.groups[g].family
            hyper = densities.hyper[g][positions]
            hyper = hyper.reshape(len(members), paths * leaves, -1).transpose(2, 0, 1)
            forms[members] = _PREDICTIVE_FORMS[family.kind]
            filled = _fill_predictive(family.kind, hyper)
            parameters[members, : len(filled)] = np.stack(filled, axis=1)
        self._add_mixing(parameters, densities.log_mixing)
        parameters, places = self._merge_alike(parameters)
        return LeafForms(forms, parameters, 1.0, places, leaves)

    def _merge_alike(self, parameters: Array) -> tuple[Array, NDArray[np.int32]]:
        """Parameters of different leaves only, and which of them every leaf is."""
        size = parameters.shape[2]
        places = np.empty((len(self.columns), size), dtype=np.int32)
        chosen = np.zeros((len(self.columns), size), dtype=np.int64)
        most = 0
        for k in range(len(self.columns)):
            own = parameters[self.first_member[k] : self.first_member[k + 1]]
            flat = own.reshape(-1, size)
            # leaves with equal constants are alike as a rule, and it is checked
            _, first, inverse = np.unique(flat[0], return_index=True, return_inverse=True)
            if not np.array_equal(flat[:, first[inverse]], flat):
                first, inverse = np.arange(size), np.arange(size)
            places[k], chosen[k, : len(first)] = inverse, first
            most = max(most, len(first))
        columns = np.repeat(np.arange(len(self.columns)), np.diff(self.first_member))
        index = chosen[columns, :most][:, None]
        return np.take_along_axis(parameters, index, axis=2), places


def has_few_slots(group: LeafGroup) -> bool:
    """Whether kernels add up the slots of a leaf side by side."""
    return not group.family.one_hot and group.n_slots <= FEW_SLOTS


def _find_spans(cells: NDArray[Any]) -> IntArray:
    """Where the numbers of every row that are not 0 begin and end; (rows, 2)."""
    some = cells != 0
    begin = some.argmax(axis=1)
    end = cells.shape[1] - some[:, ::-1].argmax(axis=1)
    return np.stack([begin, np.where(some.any(axis=1), end, begin)], axis=1)


_PREDICTIVE_FORMS = {
    conjugate.ONE_HOT: NATURAL,
    conjugate.GAUSSIAN: STUDENT,
    conjugate.EXPONENTIAL: LOMAX,
    conjugate.POISSON: NEGATIVE,
    conjugate.GEOMETRIC: BETA,
    conjugate.BINOMIAL: BINOMIAL,
}


def _fill_predictive(kind: int, hyper: Array) -> list[Array]:
    """Parameters of predictive leaves from posterior hyper-parameters (h, members, leaves)."""
    if kind == conjugate.ONE_HOT:
        logs = _LOG2E * (np.log(hyper) - np.log(hyper.sum(axis=0)))
        return [np.zeros(hyper.shape[1:]), *logs]
    if kind == conjugate.GAUSSIAN:
        m, kappa, a, b, limit = hyper
        normaliser = log_gamma(a) - a * np.log(b) - 0.5 * np.log(kappa)
        constant = log_gamma(a + 0.5) - 0.5 * np.log(kappa + 1.0) - normaliser
        constant = constant - _log_limit(a, b, limit)
        felt = _felt_limit(a + 0.5, b, limit)
        return [_LOG2E * constant, m, 0.5 * kappa / (kappa + 1.0), b, a + 0.5, felt]
    if kind == conjugate.EXPONENTIAL:
        a, b, limit = hyper
        constant = np.log(a) + a * np.log(b) - _log_limit(a, b, limit)
        return [_LOG2E * constant, b, a + 1.0, _felt_limit(a + 1.0, b, limit)]
    if kind == conjugate.POISSON:
        a, b = hyper
        return [np.zeros(a.shape), a, _LOG2E * np.log1p(1.0 / b), _LOG2E * np.log1p(b)]
    return [np.zeros(hyper.shape[1:]), *hyper]


def _felt_limit(a: Array, b: Array, limit: Array) -> Array:
    """Limits, infinite for leaves that no value makes feel them: log P(a, x) is 0 for large x."""
    with np.errstate(over="ignore"):
        return np.where(b * limit < a + 7.0 * np.sqrt(a) + 25.0, limit, np.inf)


def _log_limit(a: Array, b: Array, limit: Array) -> Array:
    with np.errstate(over="ignore"):
        return log_gammainc(a, b * limit)


def valued_columns(codebook: Codebook, dense: bool) -> ValuedColumns:
    """The dense columns, or the tabulated ones that are not plain categories."""

    def make() -> ValuedColumns:
        chosen = codebook.dense if dense else codebook.tabulated
        kept = [d for d in chosen if not is_plain(codebook, int(d))]
        return ValuedColumns(codebook.leaves, np.array(kept, dtype=np.int64))

    return keep(codebook, ("columns", dense), make)


def is_plain(codebook: Codebook, column: int) -> bool:
    """Whether a column has one categorical family and no values beyond its categories."""
    described = codebook.leaves.columns[column]
    return (
        len(described.families) == 1
        and described.likelihoods[0].one_hot
        and codebook.values[column].size == described.constants[0][0]
    )


def tabulated_values(codebook: Codebook) -> Values:
    """Values of the tabulated columns that are not plain categories."""

    def make() -> Values:
        columns = valued_columns(codebook, dense=False)
        return columns.values(codebook, [codebook.values[d] for d in columns.columns])

    return keep(codebook, ("values",), make)


def dense_values(codebook: Codebook, block: RowBlock) -> Values:
    """Values of the dense columns of a block."""
    columns = valued_columns(codebook, dense=True)

    def make() -> Values:
        return columns.values(codebook, list(block.dense))

    families = int(max(np.diff(columns.first_member), default=0))
    each = families * (2 * columns.n_statistics + 6)
    return _keep_few(block, "values", block.dense.size * each, make)


def tabulated_codes(codebook: Codebook, block: RowBlock) -> NDArray[np.int32]:
    """Codes of the tabulated columns that are not plain, −1 where missing; (columns, rows)."""
    columns = valued_columns(codebook, dense=False).columns

    def make() -> NDArray[np.int32]:
        codes = np.empty((len(columns), block.n_rows), dtype=np.int32)
        for k, d in enumerate(columns):
            codes[k] = block.codes(codebook, int(d))
            codes[k, codes[k] == codebook.values[d].size] = -1
        return codes

    return _keep_few(block, "codes", len(columns) * block.n_rows, make)


def dense_codes(block: RowBlock) -> NDArray[np.int32]:
    """Every cell of a dense column is a value of its own: the rows, −1 where missing."""

    def make() -> NDArray[np.int32]:
        rows = np.arange(block.n_rows, dtype=np.int32)
        return np.where(np.isnan(block.dense), np.int32(-1), rows)

    return _keep_few(block, "dense codes", block.dense.size, make)


def _keep_few(block: RowBlock, key: str, numbers: int, make: Callable[[], Any]) -> Any:
    """What is made of a block, kept if it is not much."""
    few = block.n_rows <= _FEW_ROWS or numbers <= _FEW_NUMBERS
    return keep(block, (key,), make) if few else make()
