"""Bernoulli likelihood with a beta prior: the categorical family on the values 0 and 1."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayesspn.arrays import Array
from bayesspn.leaves.categorical import Categorical


class Bernoulli(Categorical):
    """Values 0 and 1; prior Beta with hyper-parameters (weight of 0, weight of 1)."""

    name = "bernoulli"

    def invalid(self, values: Array, n_categories: int) -> NDArray[np.bool_]:
        return (values != 0) & (values != 1)

    def constants(
        self, values: Array, counts: Array, resolution: float, n_categories: int
    ) -> Array:
        return np.array([2.0])
