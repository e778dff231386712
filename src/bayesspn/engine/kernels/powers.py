"""Powers of two of vectors."""

from __future__ import annotations

import numba as nb
import numpy as np

from bayesspn.engine.kernels import vectors as vec

#: Leaf values this many powers of two below the largest of their region are dropped.
DROPPED = 60

# Near-minimax polynomial of 2^f on [0, 1], relative error 2e-9.
_C0, _C1, _C2, _C3 = 1.0000000018154926, 0.6931469870575413, 0.24022979581361284, 0.055483524726355
_C4, _C5, _C6 = 0.009678472550149418, 0.0012443081545426176, 0.0002169060904808164


@nb.njit(cache=True, forceinline=True, error_model="numpy")
def exp2(x):
    """2^x for a vector of numbers that are not positive; 0 where the result is below 2^-DROPPED."""
    x = vec.maximum(x, vec.splat(np.float32(-DROPPED - 1)))
    floor = vec.floor(x)
    f = vec.subtract(x, floor)
    value = vec.multiply_add(f, vec.splat(np.float32(_C6)), vec.splat(np.float32(_C5)))
    value = vec.multiply_add(f, value, vec.splat(np.float32(_C4)))
    value = vec.multiply_add(f, value, vec.splat(np.float32(_C3)))
    value = vec.multiply_add(f, value, vec.splat(np.float32(_C2)))
    value = vec.multiply_add(f, value, vec.splat(np.float32(_C1)))
    value = vec.multiply_add(f, value, vec.splat(np.float32(_C0)))
    whole = vec.to_integers(floor)
    mantissa = vec.splat_integer(np.int32(23))
    scaled = vec.add_integers(vec.bits_of(value), vec.shift_left(whole, mantissa))
    kept = vec.splat_integer(np.int32(-DROPPED))
    return vec.where_at_least(whole, kept, vec.floats_of(scaled))
