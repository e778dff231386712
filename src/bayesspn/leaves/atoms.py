"""Atoms: point masses at recurring values, beside the densities of a continuous column.

Zeros, round numbers, the few values of a rating: values that recur far more often than a density
can say. The family is categorical over these values; the probability of each is spread evenly over
the interval that it stands for, so that it has a density like the other families of the column and
is learned beside them in the mixture over likelihood models.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesspn.arrays import Array
from bayesspn.leaves.categorical import Categorical, log_mean
from bayesspn.leaves.grid_detection import step_noise
from bayesspn.leaves.grids import MOST_NOISE

#: Most atoms of a column; every leaf keeps a count of each.
_MOST_ATOMS = 30

#: Columns with so few values, which occur twice each on average, have an atom at every one.
_FEW_VALUES = 20

#: Other values are atoms if they occur so often, have so large a share, and occur so many times as
#: often as a value of their neighbourhood does on average, of so many steps to each side.
_FEWEST = 8
_LEAST_SHARE = 0.02
_TIMES = 4.0
_NEIGHBOURHOOD = 10.0


def find_atoms(distinct: Array, counts: Array, step: float) -> Array:
    """Values that recur far more often than those around them; shape (atoms,), ascending.

    Parameters
    ----------
    distinct, counts : ndarray of shape (values,)
        Different values, ascending, and how often each occurs.
    step : float
        Precision to which they are recorded. Where it is 0, not known, or near the precision of the
        floats there are no atoms.

    Examples
    --------
    >>> values = 0.25 * np.arange(30)
    >>> find_atoms(values, np.array([60] + 29 * [1]), step=0.25)
    array([0.])
    """
    total = counts.sum()
    if not step or not len(distinct) or step_noise(distinct, step) > MOST_NOISE:
        return np.empty(0)
    if len(distinct) <= _FEW_VALUES and 2 * len(distinct) <= total:
        return np.array(distinct)
    with np.errstate(over="ignore"):  # neighbourhoods of the largest numbers have no end
        width = _NEIGHBOURHOOD * step
        below = np.searchsorted(distinct, distinct - width, side="left")
        above = np.searchsorted(distinct, distinct + width, side="right")
    upto = np.concatenate([[0.0], np.cumsum(counts)])
    around = (upto[above] - upto[below] - counts) / (2 * _NEIGHBOURHOOD)
    often = (counts >= max(_FEWEST, _LEAST_SHARE * total)) & (counts >= _TIMES * around)
    chosen = np.flatnonzero(often)
    chosen = chosen[np.argsort(-counts[chosen], kind="stable")][:_MOST_ATOMS]
    return np.array(distinct[np.sort(chosen)])


def has_heaps(distinct: Array, counts: NDArray[Any]) -> bool:
    """Whether some counts above 0 recur far more often than both of their neighbours.

    Six, twelve and twenty-four months, round numbers: no distribution of counts has such heaps.

    Parameters
    ----------
    distinct, counts : ndarray of shape (values,)
        Different whole numbers, ascending, and how often each occurs.

    Examples
    --------
    >>> has_heaps(np.array([0.0, 6.0, 12.0, 24.0]), np.full(4, 25))
    True
    >>> has_heaps(np.array([0.0, 1.0, 2.0, 3.0]), np.array([60, 25, 10, 5]))
    False
    """
    beside = np.zeros(len(counts))
    adjacent = np.diff(distinct) == 1
    beside[1:] = np.where(adjacent, counts[:-1], 0)
    beside[:-1] = np.maximum(beside[:-1], np.where(adjacent, counts[1:], 0))
    often = (counts >= max(_FEWEST, _LEAST_SHARE * counts.sum())) & (counts >= _TIMES * beside)
    return bool((often & (distinct > 0)).any())


class Atoms(Categorical):
    """Values within δ/2 of one of K atoms a_k, with density p_k / δ there.

    T = indicator vector, η = log probabilities, prior Dirichlet; ``constants`` is (a_1 … a_K, δ).
    """

    name = "atoms"
    measure = "continuous"
    coded = False

    def invalid(self, values: Array, n_categories: int) -> NDArray[np.bool_]:
        # what is off all atoms has no base measure: which these are is the column's constants'
        return ~np.isfinite(values)

    def constants(
        self, values: Array, counts: Array, resolution: float, n_categories: int
    ) -> Array:
        atoms = find_atoms(values, counts, resolution)
        if not atoms.size:
            atoms = values[[int(counts.argmax())]]
        return np.append(atoms, resolution or 1.0)

    def statistics(self, values: Array, constants: Array) -> Array:
        return (_places(values, constants)[:, None] == np.arange(len(constants) - 1)) * 1.0

    def log_base(self, values: Array, constants: Array) -> Array:
        return np.where(_places(values, constants) < 0, -np.inf, -np.log(constants[-1]))

    def prior_center(self, gamma: float, constants: Array) -> Array:
        return np.full(len(constants) - 1, np.log(gamma))

    def prior_spread(self, constants: Array) -> Array:
        return np.ones(len(constants) - 1)

    def draw_values(self, rng: np.random.Generator, eta: Array, constants: Array) -> Array:
        atoms = constants[:-1][super().draw_values(rng, eta, constants).astype(np.int64)]
        return atoms + constants[-1] * (rng.random(atoms.shape) - 0.5)

    def draw_between(
        self, rng: np.random.Generator, eta: Array, low: Array, high: Array, constants: Array
    ) -> Array:
        first, last = _overlaps(low, high, constants)
        upto = np.cumsum(np.exp(eta) * np.maximum(last - first, 0.0), axis=-1)
        level = rng.random(np.shape(low)) * upto[..., -1]
        place = (level[..., None] >= upto[..., :-1]).sum(axis=-1)[..., None]
        start, end = (np.take_along_axis(ends, place, axis=-1)[..., 0] for ends in (first, last))
        return start + rng.random(start.shape) * (end - start)

    def log_mass(
        self, eta: Array, low: Array | float, high: Array | float, constants: Array
    ) -> Array:
        first, last = _overlaps(low, high, constants)
        with np.errstate(divide="ignore"):
            inside = eta + np.log(np.maximum(last - first, 0.0) / constants[-1])
        return np.minimum(np.logaddexp.reduce(inside, axis=-1), 0.0)

    def log_mass_predictive(
        self, hyper: Array, low: Array | float, high: Array | float, constants: Array
    ) -> Array:
        return self.log_mass(log_mean(hyper), low, high, constants)

    def moments(
        self, eta: Array, low: Array | float, high: Array | float, constants: Array
    ) -> Array:
        first, last = _overlaps(low, high, constants)
        density = np.exp(eta) * np.maximum(last - first, 0.0) / constants[-1]
        powers = (1.0, 0.5 * (first + last), (first**2 + first * last + last**2) / 3.0)
        return np.stack([(density * power).sum(axis=-1) for power in powers])

    def moments_predictive(
        self, hyper: Array, low: Array | float, high: Array | float, constants: Array
    ) -> Array:
        return self.moments(log_mean(hyper), low, high, constants)


def _places(values: Array, constants: Array) -> NDArray[np.int64]:
    """Which atom's interval each value is in, −1 for none; shape (values,)."""
    atoms, step = constants[:-1], constants[-1]
    places = np.searchsorted(atoms[:-1] + 0.5 * np.diff(atoms), values, side="right")
    # a value that is recorded with few decimals may be off by the rounding of the last
    near = np.abs(values - atoms[places]) <= 0.5 * step * (1.0 + 1e-9)
    return np.where(near, places, -1)


def _overlaps(low: Array | float, high: Array | float, constants: Array) -> tuple[Array, Array]:
    """Ends of what atoms' intervals have in common with others; shape (..., atoms) each."""
    atoms, half = constants[:-1], 0.5 * constants[-1]
    first = np.clip(np.asarray(low)[..., None], atoms - half, atoms + half)
    last = np.clip(np.asarray(high)[..., None], atoms - half, atoms + half)
    return first, last
