"""Random streams for compiled code: cheap to start, and the same whoever else draws.

A stream is four words of xoshiro256++ (Blackman and Vigna, 2021), seeded from an address (seed,
chain, sweep, what for) by SplitMix64. Moves of the sampler take a stream and draw from it in
compiled loops; a NumPy generator serves as well, and is asked for the four words.
"""
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import math

import numba as nb
import numpy as np
from numpy.typing import NDArray

#: A stream, or whatever can start one.
RandomStream = NDArray[np.uint64]
Randomness = RandomStream | np.random.Generator

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)

#: Shapes of gamma variates up to which their logarithms are drawn by an exponential envelope.
_SMALL_SHAPE = 0.3

#: Below the first number, exp(-exp(t)) is greater than the second.
_LOW, _SURE = -8.0, 0.9996

#: Terms of a sum of exponentials that do not count, if the largest is exp(0).
_NEGLIGIBLE = -37.0


def as_stream(random: Randomness) -> RandomStream:
    """The stream itself, or a new one from a generator."""
    if isinstance(random, np.random.Generator):
        return random.integers(1, 2**64, size=4, dtype=np.uint64)
    return random


@nb.njit(cache=True, error_model="numpy")
def _mix(word):
    word = (word ^ (word >> np.uint64(30))) * _MIX_1
    word = (word ^ (word >> np.uint64(27))) * _MIX_2
    return word ^ (word >> np.uint64(31))


@nb.njit(cache=True, error_model="numpy")
def start_stream(seed, chain, sweep, purpose):
    """The stream of an address of four whole numbers; uint64 array of shape (4,)."""
    word = _mix(np.uint64(seed) + _GOLDEN)
    word = _mix(word ^ (np.uint64(chain) * _MIX_1 + _GOLDEN))
    word = _mix(word ^ (np.uint64(sweep) * _MIX_2 + _GOLDEN))
    word = _mix(word ^ (np.uint64(purpose) * _GOLDEN + _MIX_1))
    stream = np.empty(4, dtype=np.uint64)
    for k in range(4):
        word += _GOLDEN
        stream[k] = _mix(word)
    return stream


@nb.njit(cache=True, forceinline=True, error_model="numpy")
def fork(stream, number, out):
    """Write the stream of a part of a stream's work to ``out``: parts may be done in any order."""
    word = _mix(stream[0] ^ (np.uint64(number) * _MIX_2 + _GOLDEN)) ^ stream[1]
    for k in range(4):
        word += _GOLDEN
        out[k] = _mix(word)


@nb.njit(cache=True, forceinline=True, error_model="numpy")
def next_word(stream):
    """The next 64 random bits."""
    first, second = stream[0], stream[1]
    total = first + stream[3]
    result = ((total << np.uint64(23)) | (total >> np.uint64(41))) + first
    shifted = second << np.uint64(17)
    stream[2] ^= first
    stream[3] ^= second
    stream[1] ^= stream[2]
    stream[0] ^= stream[3]
    stream[2] ^= shifted
    last = stream[3]
    stream[3] = (last << np.uint64(45)) | (last >> np.uint64(19))
    return result


@nb.njit(cache=True, forceinline=True, error_model="numpy")
def uniform(stream):
    """A number in (0, 1)."""
    return (np.float64(next_word(stream) >> np.uint64(12)) + 0.5) * 2.0**-52


@nb.njit(cache=True, forceinline=True, error_model="numpy")
def exponential(stream):
    """A standard exponential variate."""
    return -math.log(uniform(stream))


@nb.njit(cache=True, error_model="numpy")
def normal(stream):
    """A standard normal variate, by Marsaglia's polar method."""
    while True:
        x = 2.0 * uniform(stream) - 1.0
        y = 2.0 * uniform(stream) - 1.0
        square = x * x + y * y
        if 0.0 < square < 1.0:
            return x * math.sqrt(-2.0 * math.log(square) / square)


@nb.njit(cache=True, error_model="numpy")
def _large_gamma(stream, shape):
    """A Gamma(shape, 1) variate for shape >= 1 (Marsaglia and Tsang, 2000)."""
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = normal(stream)
        v = 1.0 + c * x
        if v <= 0.0:
            continue
        v = v * v * v
        u = uniform(stream)
        square = x * x
        if u < 1.0 - 0.0331 * square * square:
            return d * v
        if math.log(u) < 0.5 * square + d * (1.0 - v + math.log(v)):
            return d * v


@nb.njit(cache=True, error_model="numpy")
def gamma(stream, shape):
    """A Gamma(shape, 1) variate; 0 where it is too small for a float."""
    if shape >= 1.0:
        return _large_gamma(stream, shape)
    return math.exp(log_gamma_variate(stream, shape))


@nb.njit(cache=True, forceinline=True, error_model="numpy")
def log_gamma_variate(stream, shape):
    """Log of a Gamma(shape, 1) variate, finite however small ``shape`` is."""
    if shape >= 1.0:
        return math.log(_large_gamma(stream, shape))
    if shape < _SMALL_SHAPE:
        return _small_log_gamma(stream, shape)
    # Gamma(a) = Gamma(a + 1) U^(1/a)
    return math.log(_large_gamma(stream, shape + 1.0)) - exponential(stream) / shape


@nb.njit(cache=True, forceinline=True, error_model="numpy")
def _small_log_gamma(stream, shape):
    """Log of a Gamma(shape, 1) variate for a small shape (Liu, Martin and Syring, 2017).

    t = log g has the density exp(a t − e^t) up to a factor. It lies under exp(a t) below 0 and
    under exp(−(1 − a) t − 1) above, of which the first has nearly all of the mass.
    """
    above = shape / (math.e * (1.0 - shape))
    while True:
        u = (1.0 + above) * uniform(stream)
        if u < 1.0:
            t = math.log(u) / shape
            v = uniform(stream)
            # 1 − e^t is less than exp(−e^t), and in nearly all cases enough
            if (v < _SURE and t < _LOW) or v < 1.0 - math.exp(t) or v < math.exp(-math.exp(t)):
                return t
        else:
            t = exponential(stream) / (1.0 - shape)
            if uniform(stream) < math.exp(t + 1.0 - math.exp(t)):
                return t


@nb.njit(cache=True, error_model="numpy")
def limited_gamma(stream, shape, rate, limit):
    """A Gamma(shape, rate) variate conditioned on being at most ``limit``, which may be inf."""
    draw = gamma(stream, shape) / rate
    if draw <= limit:
        return draw
    x = rate * limit
    # where the limit cuts deep, draw w = −log(g / limit), whose density exp(−a w − x e^−w) lies
    # under an exponential of rate a − x
    deep = x < max(shape - math.sqrt(shape), 0.5 * shape)
    while True:
        if deep:
            w = exponential(stream) / (shape - x)
            if uniform(stream) < math.exp(-x * (math.expm1(-w) + w)):
                return limit * math.exp(-w)
        else:
            draw = gamma(stream, shape) / rate
            if draw <= limit:
                return draw


@nb.njit(cache=True, error_model="numpy")
def fill_log_dirichlet(stream, concentration, out):
    """Log of a Dirichlet variate; arrays of shape (k,)."""
    size = concentration.shape[0]
    largest = -np.inf
    for k in range(size):
        out[k] = log_gamma_variate(stream, concentration[k])
        largest = max(largest, out[k])
    total = 0.0
    for k in range(size):
        if out[k] - largest > _NEGLIGIBLE:
            total += math.exp(out[k] - largest)
    shift = largest + math.log(total)
    for k in range(size):
        out[k] -= shift


@nb.njit(cache=True, error_model="numpy")
def shuffle(stream, items):
    """Put an array into random order."""
    for k in range(items.shape[0] - 1, 0, -1):
        other = np.int64(uniform(stream) * (k + 1))
        items[k], items[other] = items[other], items[k]
