"""Arrays of any shape as flat ones, for loops that are compiled."""

from __future__ import annotations

import numpy as np

from bayesspn.arrays import Array


def flatten(
    parameters: Array, low: Array | float, high: Array | float
) -> tuple[tuple[int, ...], Array, Array, Array]:
    """Broadcast parameters (..., h) and ends of intervals (...) against each other.

    Returns
    -------
    shape : tuple of int
        What they broadcast to.
    parameters : ndarray of shape (n, h)
    low, high : ndarray of shape (n,)
    """
    ends = [np.asarray(end, dtype=np.float64) for end in (low, high)]
    shape = np.broadcast_shapes(parameters.shape[:-1], *(end.shape for end in ends))
    width = parameters.shape[-1]
    wide = np.broadcast_to(parameters, (*shape, width)).reshape(-1, width)
    flat_low, flat_high = (
        np.ascontiguousarray(np.broadcast_to(end, shape)).reshape(-1) for end in ends
    )
    return shape, np.ascontiguousarray(wide, dtype=np.float64), flat_low, flat_high
