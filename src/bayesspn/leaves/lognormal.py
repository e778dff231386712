"""Log-normal likelihood: the Gaussian family on log x."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayesspn.leaves.family import Array
from bayesspn.leaves.gaussian import Gaussian

_LARGEST_LOG = 700.0


class LogNormal(Gaussian):
    """Positive values whose logarithm is Gaussian.

    A resolution δ of x is δ/x in log x; the coarsest of these, at the smallest value seen, sets the
    floor, so that no leaf gets narrower than the recording anywhere in the column. A column with
    values much closer to zero than its resolution is not log-normal to begin with.
    """

    name = "lognormal"

    def invalid(self, values: Array, n_categories: int) -> NDArray[np.bool_]:
        return ~(np.isfinite(values) & (values > 0))

    def _forward(self, values: Array) -> Array:
        return np.log(values)

    def _backward(self, values: Array) -> Array:
        # a log-Student-t has no mean: stay within what a float can hold
        return np.exp(np.clip(values, -_LARGEST_LOG, _LARGEST_LOG))

    def _log_jacobian(self, values: Array) -> Array:
        return -np.log(values)

    def _resolution(self, values: Array, resolution: float) -> float:
        return resolution * float(np.exp(-values.min()))
