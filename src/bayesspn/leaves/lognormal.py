"""Log-normal likelihood: the Gaussian family on log x."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayesspn.arrays import Array
from bayesspn.leaves.gaussian import Gaussian, mean_deviation
from bayesspn.leaves.intervals.normal import lognormal_moments
from bayesspn.leaves.intervals.quadrature import LOGNORMAL

_LARGEST_LOG = 700.0

#: Coarsest resolution of log x, whose square is finite; nothing differs by that much.
_COARSEST = 1e100


class LogNormal(Gaussian):
    """Positive values whose logarithm is Gaussian.

    A resolution δ of x is δ/x in log x; the coarsest of these, at the smallest value seen, sets the
    floor, so that no leaf gets narrower than the recording anywhere in the column. A column with
    values much closer to zero than its resolution is not log-normal to begin with.
    """

    name = "lognormal"
    _tails = LOGNORMAL

    def invalid(self, values: Array, n_categories: int) -> NDArray[np.bool_]:
        return ~(np.isfinite(values) & (values > 0))

    def prior_center(self, gamma: float, constants: Array) -> Array:
        # twice the shape of Gaussian leaves: tails that are fair for log x are absurd for x
        m, kappa, a, b = super().prior_center(gamma, constants)
        return np.array([m, kappa, a + np.log(2.0), b + np.log(2.0)])

    def _forward(self, values: Array) -> Array:
        return np.log(values)

    def _backward(self, values: Array) -> Array:
        # a log-Student-t has no mean: stay within what a float can hold
        return np.exp(np.clip(values, -_LARGEST_LOG, _LARGEST_LOG))

    def _log_jacobian(self, values: Array) -> Array:
        return -np.log(values)

    def _resolution(self, values: Array, resolution: float) -> float:
        coarsest = np.exp(min(-float(values.min()), _LARGEST_LOG))
        return min(resolution * float(coarsest), _COARSEST)

    def _standard_end(self, end: Array | float, constants: Array) -> Array:
        return super()._standard_end(_log_end(end), constants)

    def moments(
        self, eta: Array, low: Array | float, high: Array | float, constants: Array
    ) -> Array:
        mean, deviation = mean_deviation(eta)
        mean, deviation = constants[0] + constants[1] * mean, constants[1] * deviation
        return lognormal_moments(_log_end(low), _log_end(high), mean, deviation)


def _log_end(end: Array | float) -> Array:
    """Logarithm of an end of an interval; −inf at zero and below."""
    with np.errstate(divide="ignore"):
        return np.log(np.maximum(end, 0.0))
