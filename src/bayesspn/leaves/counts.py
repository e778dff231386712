"""What the families of counts share: support, scale and statistics."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayesspn.arrays import Array
from bayesspn.leaves.family import Family


class Counts(Family):
    """Values 0, 1, 2 … with T = x; ``constants`` is (the column's mean,)."""

    measure = "discrete"

    def invalid(self, values: Array, n_categories: int) -> NDArray[np.bool_]:
        return ~(np.isfinite(values) & (values >= 0) & (values == np.floor(values)))

    def constants(
        self, values: Array, counts: Array, resolution: float, n_categories: int
    ) -> Array:
        # half a count more keeps the scale positive for a column of zeros
        return np.array([(float(values @ counts) + 0.5) / float(counts.sum())])

    def statistics(self, values: Array, constants: Array) -> Array:
        return values[:, None]

    def prior_spread(self, constants: Array) -> Array:
        return np.array([1.0, 1.0])
