"""Ratios of normalisers from draws of both distributions: bridge sampling.

For densities g₀ and g₁ with normalisers Z₀ and Z₁, and f = log g₁ − log g₀ at draws of both,
Bennett's (1976) choice of bridge (Meng and Wong, 1996) makes the most of the two sets of draws.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from bayesspn.arrays import Array


def bridge(up: Array, down: Array) -> float:
    """Log Z₁ − log Z₀.

    Parameters
    ----------
    up : ndarray of shape (draws,)
        f at draws of the first distribution.
    down : ndarray of shape (draws,)
        −f at draws of the second.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.normal(0, 1, 4000), rng.normal(1, 1, 4000)  # g₁ has a mean of 1, and 3 Z₀
    >>> up, down = np.log(3) + x - 0.5, -(np.log(3) + y - 0.5)
    >>> bool(abs(bridge(up, down) - np.log(3)) < 0.05)
    True
    """
    shift = np.log(len(down) / len(up))

    def excess(log_ratio: float) -> float:
        first = expit(up - log_ratio + shift).sum()
        return float(first - expit(log_ratio + down - shift).sum())

    margin = 1.0 + abs(shift)
    low, high = min(up.min(), (-down).min()) - margin, max(up.max(), (-down).max()) + margin
    return float(brentq(excess, low, high, xtol=1e-10))
