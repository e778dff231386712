"""Array types, and the two ways in which small arrays are taken apart and put together."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


def split_last(array: Array) -> tuple[Array, ...]:
    """Views of what the last axis holds, each of shape (...).

    Quicker than moving the axis to the front, which small arrays in every sweep notice.
    """
    return tuple(array[..., k] for k in range(array.shape[-1]))


def join_last(*parts: Array) -> Array:
    """Parts that broadcast to (...), side by side in a new last axis: the inverse of splitting."""
    joined = np.empty((*np.broadcast(*parts).shape, len(parts)))
    for k, part in enumerate(parts):
        joined[..., k] = part
    return joined
