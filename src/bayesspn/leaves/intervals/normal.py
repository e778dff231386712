"""Intervals under a normal distribution, in closed form and without loss in the tails.

Everything is relative to the density at the end of the interval nearest to the mean, so that
nothing underflows before the result itself does.
"""

from __future__ import annotations

import math

import numba as nb
import numpy as np
from scipy import special

from bayesspn.arrays import Array
from bayesspn.leaves.intervals.broadcast import flatten
from bayesspn.numerics.compilation import when_called
from bayesspn.numerics.special_functions import scaled_erfc_scalar

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(10)
_HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)
_ROOT_HALF = math.sqrt(0.5)
_ROOT_HALF_PI = math.sqrt(0.5 * math.pi)


@nb.njit(cache=True, error_model="numpy")
def _anchor(low, high):  # type: ignore[no-untyped-def]
    """The point of the interval nearest to zero."""
    return min(max(low, 0.0), high)


@nb.njit(cache=True, error_model="numpy")
def _narrow(low, high):  # type: ignore[no-untyped-def]
    """Whether the density hardly varies within the interval, so that differences would cancel."""
    return (high - low) * max(1.0, abs(low), abs(high)) < 1.0


@nb.njit(cache=True, error_model="numpy")
def _relative_mass(low, high):  # type: ignore[no-untyped-def]
    """∫ exp((anchor² − z²) / 2) dz from low to high."""
    anchor = _anchor(low, high)
    if _narrow(low, high):
        half = 0.5 * (high - low)
        total = 0.0
        for i in range(len(_NODES)):
            z = low + half * (1.0 + _NODES[i])
            total += _WEIGHTS[i] * math.exp(0.5 * (anchor - z) * (anchor + z))
        return half * total
    if anchor == 0.0:
        return _ROOT_HALF_PI * (math.erf(high * _ROOT_HALF) - math.erf(low * _ROOT_HALF))
    near, far = (low, high) if low > 0.0 else (-high, -low)
    mass = scaled_erfc_scalar(near * _ROOT_HALF)
    if far < np.inf:
        drop = math.exp(0.5 * (near - far) * (near + far))
        mass -= drop * scaled_erfc_scalar(far * _ROOT_HALF)
    return _ROOT_HALF_PI * mass


@nb.njit(cache=True, error_model="numpy")
def _slope_mass(slope, width):  # type: ignore[no-untyped-def]
    """∫ exp(−slope t − t² / 2) dt from 0 to width, for any positive slope."""
    if width * max(1.0, slope + width) < 1.0:
        total = 0.0
        for i in range(len(_NODES)):
            t = 0.5 * width * (1.0 + _NODES[i])
            total += _WEIGHTS[i] * math.exp(-t * (slope + 0.5 * t))
        return 0.5 * width * total
    mass = scaled_erfc_scalar(slope * _ROOT_HALF)
    if width < np.inf:
        drop = math.exp(-width * (slope + 0.5 * width))
        mass -= drop * scaled_erfc_scalar((slope + width) * _ROOT_HALF)
    return _ROOT_HALF_PI * mass


@nb.njit(cache=True, error_model="numpy")
def _log_power_mass(low, high, mean, deviation, power):  # type: ignore[no-untyped-def]
    """Log E[exp(power y); low <= y <= high] of a normal y.

    Relative to the largest value of the integrand, at y: with deviations far beyond the range,
    powers of the mean and of the deviation would cancel.
    """
    if not high > low or low == np.inf or high == -np.inf:
        return -np.inf
    left, right, tilt = (low - mean) / deviation, (high - mean) / deviation, power * deviation
    if tilt > right:
        y, z, mass = high, right, _slope_mass(tilt - right, (high - low) / deviation)
    elif tilt < left:
        y, z, mass = low, left, _slope_mass(left - tilt, (high - low) / deviation)
    else:
        y, z, mass = mean + tilt * deviation, tilt, _relative_mass(left - tilt, right - tilt)
    return power * y - 0.5 * z * z - _HALF_LOG_TWO_PI + math.log(mass)


@nb.njit(cache=True, error_model="numpy")
def _edge(z, anchor):  # type: ignore[no-untyped-def]
    """Density at z relative to that at the anchor, and z times it; zeros at infinity."""
    if math.isinf(z):
        return 0.0, 0.0
    density = math.exp(0.5 * (anchor - z) * (anchor + z))
    return density, z * density


@nb.njit(cache=True, error_model="numpy")
def _fill_moments(low, high, mean, deviation, result):  # type: ignore[no-untyped-def]
    """E[x^k; low <= x <= high] of a normal distribution, k = 0, 1, 2."""
    result[:] = 0.0
    left, right = (low - mean) / deviation, (high - mean) / deviation
    if not right > left or left == np.inf or right == -np.inf:
        return
    anchor = _anchor(left, right)
    front = math.exp(-0.5 * anchor * anchor - _HALF_LOG_TWO_PI)
    if front == 0.0:
        return
    if _narrow(left, right):
        half, wide = 0.5 * (right - left), 0.5 * (high - low)
        for i in range(len(_NODES)):
            z = left + half * (1.0 + _NODES[i])
            x = low + wide * (1.0 + _NODES[i])
            term = front * half * _WEIGHTS[i] * math.exp(0.5 * (anchor - z) * (anchor + z))
            for k in range(3):
                result[k] += term
                term *= x
        return
    mass = _relative_mass(left, right)
    density_left, edge_left = _edge(left, anchor)
    density_right, edge_right = _edge(right, anchor)
    first = density_left - density_right
    second = mass + edge_left - edge_right
    result[0] = front * mass
    result[1] = front * (mean * mass + deviation * first)
    result[2] = front * (
        mean * mean * mass + 2.0 * mean * deviation * first + deviation * deviation * second
    )


@when_called(nb.vectorize("f8(f8, f8)", nopython=True, cache=True))
def _log_mass(low, high):  # type: ignore[no-untyped-def]
    return _log_power_mass(low, high, 0.0, 1.0, 0.0)


@when_called(nb.vectorize("f8(f8, f8, f8, f8, f8)", nopython=True, cache=True))
def _log_power(low, high, mean, deviation, power):  # type: ignore[no-untyped-def]
    return _log_power_mass(low, high, mean, deviation, power)


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _fill_all_moments(parameters, low, high, result):  # type: ignore[no-untyped-def]
    for i in range(len(result)):
        _fill_moments(low[i], high[i], parameters[i, 0], parameters[i, 1], result[i])


def log_normal_mass(low: Array, high: Array) -> Array:
    """Log probability of low <= z <= high for a standard normal z; shape (...)."""
    with np.errstate(all="ignore"):
        return _log_mass(low, high)


def draw_normal_between(rng: np.random.Generator, low: Array, high: Array) -> Array:
    """Standard normal values from low to high, by inversion on the side of the tail; (...)."""
    with np.errstate(invalid="ignore"):
        upper = low + high > 0
    left, right = np.where(upper, -high, low), np.where(upper, -low, high)
    share = rng.random(np.shape(left))
    with np.errstate(divide="ignore"):
        level = np.logaddexp(
            np.log1p(-share) + special.log_ndtr(left), np.log(share) + special.log_ndtr(right)
        )
    drawn = np.clip(special.ndtri_exp(level), left, right)
    return np.where(upper, -drawn, drawn)


def normal_moments(low: Array, high: Array, mean: Array, deviation: Array) -> Array:
    """E[x^k; low <= x <= high] of Normal(mean, deviation²) for k = 0, 1, 2; shape (3, ...)."""
    parameters = np.stack(np.broadcast_arrays(mean, deviation), axis=-1)
    shape, *flat = flatten(parameters, low, high)
    result = np.empty((len(flat[0]), 3))
    _fill_all_moments(*flat, result)  # type: ignore[call-arg]
    return np.moveaxis(result.reshape(*shape, 3), -1, 0)


def lognormal_moments(low: Array, high: Array, mean: Array, deviation: Array) -> Array:
    """E[exp(k y); low <= y <= high] of y ~ Normal(mean, deviation²), k = 0, 1, 2; (3, ...)."""
    with np.errstate(all="ignore"):
        parts = [_log_power(low, high, mean, deviation, float(k)) for k in range(3)]
        return np.exp(np.stack(parts))
