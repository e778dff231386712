"""One interface for every leaf likelihood: an exponential family with its conjugate prior.

A family writes its density as ``log p(x | θ) = h(x) + η(θ)·T(x) − A(θ)``. With a conjugate prior
whose hyper-parameters are ``hyper``, everything the model needs follows from T, h, the posterior
hyper-parameters and the prior's log normaliser log Z (DESIGN: paper, section 3.2):

* marginal likelihood of n values: ``log Z(posterior) − log Z(prior)`` (+ Σ h),
* predictive density of one value: the same with one value more.

All functions broadcast over leading axes. Values enter in the user's units; each family rescales
them by per-column ``constants`` and carries the Jacobian in h, so densities are in those units.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from bayesspn.arrays import Array

Measure = Literal["discrete", "continuous"]

#: Halvings after which two floats that are far apart are next to each other.
_HALVINGS = 64


class Family(ABC):
    """A likelihood family for one column, with its conjugate prior.

    Attributes
    ----------
    name : str
        The name used in schemas.
    measure : {"discrete", "continuous"}
        Whether the family gives probability masses or densities. A column never mixes the two.
    one_hot : bool
        Whether T(x) is an indicator vector over the column's categories.
    coded : bool
        Whether values are codes of the column's categories.
    kind : int
        Which of the conjugate families of `bayesspn.leaves.conjugate` it is.
    """

    name: ClassVar[str]
    measure: ClassVar[Measure]
    one_hot: ClassVar[bool] = False
    coded: ClassVar[bool] = False
    kind: ClassVar[int]

    @abstractmethod
    def invalid(self, values: Array, n_categories: int) -> NDArray[np.bool_]:
        """Mark the values outside the support; shape (values,)."""

    @abstractmethod
    def constants(
        self, values: Array, counts: Array, resolution: float, n_categories: int
    ) -> Array:
        """Scale of a column, from its distinct values and how often each occurs; shape (c,)."""

    def rescale(self, constants: Array, like: Array) -> Array:
        """Constants in the units of others of the same column, so that statistics mean the same.

        Parameters
        ----------
        constants : ndarray of shape (c,)
            Of values that are recorded otherwise than before.
        like : ndarray of shape (c,)
            Before.
        """
        return constants

    @abstractmethod
    def statistics(self, values: Array, constants: Array) -> Array:
        """Sufficient statistics T of ``values``; shape (values, t)."""

    @abstractmethod
    def log_base(self, values: Array, constants: Array) -> Array:
        """Log base measure h of ``values``; shape (values,)."""

    @abstractmethod
    def prior_center(self, gamma: float, constants: Array) -> Array:
        """Prior as unconstrained coordinates φ, for ``gamma`` pseudo-observations; shape (f,)."""

    @abstractmethod
    def prior_spread(self, constants: Array) -> Array:
        """Standard deviation of each coordinate of φ under the hyper-prior; shape (f,)."""

    @abstractmethod
    def hyper(self, phi: Array, constants: Array) -> Array:
        """Hyper-parameters of the conjugate prior at φ; shapes (..., f) to (..., h)."""

    @abstractmethod
    def posterior(self, hyper: Array, n: Array, totals: Array) -> Array:
        """Hyper-parameters after n values whose statistics add up to ``totals`` (..., t)."""

    @abstractmethod
    def log_normaliser(self, hyper: Array) -> Array:
        """Log Z of the conjugate prior, up to a constant of the family; shape (...)."""

    @abstractmethod
    def draw_parameters(self, rng: np.random.Generator, hyper: Array) -> tuple[Array, Array]:
        """Draw θ; returns η of shape (..., t) and A of shape (...)."""

    @abstractmethod
    def draw_values(self, rng: np.random.Generator, eta: Array, constants: Array) -> Array:
        """Draw one value for each η; shape (...)."""

    def draw_between(
        self, rng: np.random.Generator, eta: Array, low: Array, high: Array, constants: Array
    ) -> Array:
        """Draw one value from low to high for each η, also where they are hardly probable.

        This inverts the distribution function by halving; families that can do better override it.

        Parameters
        ----------
        rng : Generator
        eta : ndarray of shape (..., t)
            Natural parameters.
        low, high : ndarray of shape (...)
            Finite ends in the user's units, both included.
        constants : ndarray of shape (c,)

        Returns
        -------
        ndarray of shape (...)
        """
        whole = self.measure == "discrete"
        share = np.log(1.0 - rng.random(np.shape(low)))  # of numbers above 0
        wanted = share + self.log_mass(eta, low, high, constants)
        start, end = (np.ceil(low), np.floor(high)) if whole else (low, high)
        for _ in range(_HALVINGS):
            middle = start + 0.5 * (end - start)
            middle = np.floor(middle) if whole else middle
            enough = self.log_mass(eta, low, middle, constants) >= wanted
            # a count that is too small rules itself out
            above = np.minimum(middle + 1.0, end) if whole else middle
            start, end = np.where(enough, start, above), np.where(enough, middle, end)
            if (start >= end).all():
                break
        return end

    @abstractmethod
    def log_mass(
        self, eta: Array, low: Array | float, high: Array | float, constants: Array
    ) -> Array:
        """Log probability of low <= x <= high, parameters given.

        Accurate in the tails, where the probability itself would underflow; −inf where an interval
        holds nothing of the support, as a single point of a continuous family does.

        Parameters
        ----------
        eta : ndarray of shape (..., t)
            Natural parameters.
        low, high : float or ndarray
            Ends of the interval in the user's units, perhaps infinite, both included. Their shape
            broadcasts with the leading axes of ``eta``.
        constants : ndarray of shape (c,)

        Returns
        -------
        ndarray of the broadcast shape
        """

    @abstractmethod
    def log_mass_predictive(
        self, hyper: Array, low: Array | float, high: Array | float, constants: Array
    ) -> Array:
        """Log probability of low <= x <= high, parameters integrated out.

        As `log_mass`, with hyper-parameters of shape (..., h).
        """

    @abstractmethod
    def moments(
        self, eta: Array, low: Array | float, high: Array | float, constants: Array
    ) -> Array:
        """E[x^k; low <= x <= high] for k = 0, 1, 2, parameters given; shape (3, ...).

        The arguments are those of `log_mass`; k = 0 is the probability itself.
        """

    @abstractmethod
    def moments_predictive(
        self, hyper: Array, low: Array | float, high: Array | float, constants: Array
    ) -> Array:
        """E[x^k; low <= x <= high] for k = 0, 1, 2, parameters integrated out; shape (3, ...).

        Heavy tails have no moments: over an unbounded interval the result is infinite where the
        integral diverges (+inf for a mean that is not defined).
        """

    def log_marginal(self, hyper: Array, n: Array, totals: Array) -> Array:
        """Log marginal likelihood of n values without the base measure; shape (...)."""
        return self.log_normaliser(self.posterior(hyper, n, totals)) - self.log_normaliser(hyper)

    def log_predictive(self, hyper: Array, statistics: Array, log_base: Array) -> Array:
        """Log predictive density of values; hyper (..., h), values (v,) give (..., v)."""
        after = self.posterior(
            hyper[..., None, :],
            np.ones(len(statistics)),
            np.broadcast_to(statistics, statistics.shape),
        )
        return self.log_normaliser(after) - self.log_normaliser(hyper)[..., None] + log_base

    def draw_predictive(self, rng: np.random.Generator, hyper: Array, constants: Array) -> Array:
        """Draw one new value for each hyper-parameter vector; shape (...)."""
        eta, _ = self.draw_parameters(rng, hyper)
        return self.draw_values(rng, eta, constants)
