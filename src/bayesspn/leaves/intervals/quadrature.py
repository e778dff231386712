"""Intervals under a predictive density with heavy tails, by quadrature.

The Gaussian and exponential families with parameters integrated out have the density of a Student t
or a Lomax, times an incomplete gamma function where the limit on the precision is felt. That factor
leaves no closed distribution function, and closed moments have poles. So everything is integrated
numerically over t with y = m + s sinh t: a positive integrand of width about one, whose tails fall
like an exponential, and which is smooth however small or large the hyper-parameters are.
"""

from __future__ import annotations

import math

import numba as nb
import numpy as np

from bayesspn.arrays import Array
from bayesspn.leaves.intervals.broadcast import flatten
from bayesspn.leaves.intervals.narrow import log_narrow_mass
from bayesspn.leaves.intervals.student import log_student_mass
from bayesspn.numerics.special_functions import log_gammainc_scalar, log_rising_scalar

GAUSSIAN, LOGNORMAL, EXPONENTIAL = 0, 1, 2

#: Nodes of the 21-point Kronrod rule on [0, 1], its weights, and those of the 10-point Gauss rule.
KRONROD_NODES = np.array(
    [
        *(0.0, 0.148874338981631210884826001129720, 0.294392862701460198131126603103866),
        *(0.433395394129247190799265943165784, 0.562757134668604683339000099272694),
        *(0.679409568299024406234327365114874, 0.780817726586416897063717578345042),
        *(0.865063366688984510732096688423493, 0.930157491355708226001207180059508),
        *(0.973906528517171720077964012084452, 0.995657163025808080735527280689003),
    ]
)
KRONROD_WEIGHTS = np.array(
    [
        *(0.149445554002916905664936468389821, 0.147739104901338491374841515972068),
        *(0.142775938577060080797094273138717, 0.134709217311473325928054001771707),
        *(0.123491976262065851077958109831074, 0.109387158802297641899210590325805),
        *(0.093125454583697605535065465083366, 0.075039674810919952767043140916190),
        *(0.054755896574351996031381300244580, 0.032558162307964727478818972459390),
        0.011694638867371874278064396062192,
    ]
)
GAUSS_WEIGHTS = np.zeros(11)
GAUSS_WEIGHTS[1::2] = (
    *(0.295524224714752870173892994651338, 0.269266719309996355091226921569469),
    *(0.219086362515982043995534934228163, 0.149451349150580593145776339657697),
    0.066671344308688137593568809893332,
)

#: Disagreement of the two rules up to which a panel is not halved. The finer rule is much closer.
_DISAGREEMENT = 1e-7

#: What is smaller than the peak by this much in logs is left out.
_NEGLIGIBLE = 34.0

#: Where t ends for unbounded intervals; the tail beyond is an exact exponential.
_FAR = 300.0

_MOST_PANELS = 2000


@nb.njit(cache=True, error_model="numpy")
def _log_integrand(kind, t, p, tilt):  # type: ignore[no-untyped-def]
    """Log density of t; a log-normal's is tilted by (x / high)^tilt."""
    _, shape, rate, limit, width, log_front, m, s, location, scale, log_high = p
    size = abs(t)
    if size > _FAR:
        power = 1.0 if kind == EXPONENTIAL else 2.0
        log_sinh = size - math.log(2.0)
        value = log_front - shape * (math.log(width) + power * log_sinh) + log_sinh
    else:
        grown = 0.5 * math.exp(t)
        sinh = grown - 0.25 / grown
        excess = width * sinh if kind == EXPONENTIAL else width * sinh * sinh
        value = log_front - shape * math.log1p(excess) + math.log(grown + 0.25 / grown)
        if limit < np.inf:
            value += log_gammainc_scalar(shape, rate * limit * (1.0 + excess))
    if tilt > 0.0:
        value += tilt * (location + scale * (m + s * math.sinh(t)) - log_high)
    return value


@nb.njit(cache=True, error_model="numpy")
def _cut(kind, p, tilt, degree, peak, end):  # type: ignore[no-untyped-def]
    """How far from the peak towards the end the integrand, times |y|^degree, matters."""
    if end == peak:
        return end
    floor = _log_integrand(kind, peak, p, tilt) + degree * abs(peak) - _NEGLIGIBLE
    step = math.copysign(min(1.0, abs(end - peak)), end - peak)
    far = peak + step
    if _log_integrand(kind, far, p, tilt) + degree * abs(far) < floor:
        while _log_integrand(kind, far, p, tilt) + degree * abs(far) < floor and far != peak:
            step *= 0.5
            far = peak + step
        return peak + 2.0 * step
    while abs(2.0 * step) < abs(end - peak):
        step *= 2.0
        far = peak + step
        if _log_integrand(kind, far, p, tilt) + degree * abs(far) < floor:
            return far
    return end


@nb.njit(cache=True, error_model="numpy")
def _panel(kind, p, tilt, log_top, unit, low, high, fine, coarse):  # type: ignore[no-untyped-def]
    """Both rules on one panel, for ∫ (x / unit)^k with k below len(fine)."""
    _, _, _, _, _, _, m, s, location, scale, _ = p
    fine[:] = 0.0
    coarse[:] = 0.0
    half = 0.5 * (high - low)
    middle = 0.5 * (high + low)
    for i in range(21):
        node = abs(i - 10)
        t = middle + math.copysign(half * KRONROD_NODES[node], i - 10.0)
        term = half * math.exp(_log_integrand(kind, t, p, tilt) - log_top)
        value = (location + scale * (m + s * math.sinh(t))) / unit if len(fine) > 1 else 1.0
        for k in range(len(fine)):
            fine[k] += KRONROD_WEIGHTS[node] * term
            coarse[k] += GAUSS_WEIGHTS[node] * term
            term *= value


@nb.njit(cache=True, error_model="numpy")
def _integrate(kind, p, tilt, unit, low, high, peak, total):  # type: ignore[no-untyped-def]
    """Add ∫ (x / unit)^k from t = low to high to ``total``; returns the log of their common factor.

    The integrand rises from low to the peak and falls from there to high.
    """
    size = len(total)
    degree = size - 1.0
    log_top = _log_integrand(kind, peak, p, tilt)
    lows, highs = np.empty(128), np.empty(128)
    fine, coarse = np.empty(size), np.empty(size)
    lows[0], highs[0] = _cut(kind, p, tilt, degree, peak, low), peak
    lows[1], highs[1] = peak, _cut(kind, p, tilt, degree, peak, high)
    waiting, done = 2, 0
    while waiting > 0:
        waiting -= 1
        left, right = lows[waiting], highs[waiting]
        if left >= right:
            continue
        _panel(kind, p, tilt, log_top, unit, left, right, fine, coarse)
        done += 1
        good = True
        for k in range(size):
            scale = abs(total[k] + fine[k])
            if k == 1:  # a mean near zero need not be finer than the spread
                scale = math.sqrt((total[0] + fine[0]) * (total[2] + fine[2]))
            good &= abs(fine[k] - coarse[k]) <= _DISAGREEMENT * scale
        middle = 0.5 * (left + right)
        if good or done > _MOST_PANELS or waiting > 120 or not left < middle < right:
            total += fine
            continue
        # the half nearer to the peak comes first: the other is then judged against what counts
        inner, outer = (left, middle), (middle, right)
        if right <= peak:
            inner, outer = outer, inner
        lows[waiting], highs[waiting] = outer
        lows[waiting + 1], highs[waiting + 1] = inner
        waiting += 2
    return log_top


@nb.njit(cache=True, error_model="numpy")
def _felt(shape, rate, limit):  # type: ignore[no-untyped-def]
    """The limit, or inf where its factor is one to within rounding."""
    return np.inf if log_gammainc_scalar(shape, rate * limit) == 0.0 else limit


@nb.njit(cache=True, error_model="numpy")
def _describe(kind, hyper, constants, log_high):  # type: ignore[no-untyped-def]
    """What the integrand needs: a, the power, b, limit, widths, front factor and units."""
    if kind == EXPONENTIAL:
        a, b, limit = hyper[0], hyper[1], hyper[2]
        width = max(1.0 / (a + 1.0), 1.0 / (b * limit))
        front = math.log(a) + math.log(width) - log_gammainc_scalar(a, b * limit)
        limit = _felt(a + 1.0, b, limit)
        return a, a + 1.0, b, limit, width, front, 0.0, b * width, 0.0, constants[0], log_high
    m, kappa, a, b, limit = hyper[0], hyper[1], hyper[2], hyper[3], hyper[4]
    width = max(1.0 / (2.0 * a + 1.0), 0.5 / (b * limit))
    s = math.sqrt(2.0 * b * width * (kappa + 1.0) / kappa)
    front = 0.5 * math.log(width / math.pi) + log_rising_scalar(a, 0.5)
    front -= log_gammainc_scalar(a, b * limit)
    limit = _felt(a + 0.5, b, limit)
    return a, a + 0.5, b, limit, width, front, m, s, constants[0], constants[1], log_high


@nb.njit(cache=True, error_model="numpy")
def _ends(kind, p, low, high):  # type: ignore[no-untyped-def]
    """The interval in t, within what is called far if unbounded."""
    _, _, _, _, _, _, m, s, location, scale, _ = p
    if kind == LOGNORMAL:
        low = math.log(low) if low > 0.0 else -np.inf
        high = math.log(high) if high > 0.0 else -np.inf
    if kind == EXPONENTIAL:
        low = max(low, 0.0)
    left = math.asinh(((low - location) / scale - m) / s)
    right = math.asinh(((high - location) / scale - m) / s)
    if not right > left:
        return 0.0, 0.0
    # finite ends may lie farther out than an unbounded integral needs
    return (-_FAR if left == -np.inf else left), (_FAR if right == np.inf else right)


@nb.njit(cache=True, error_model="numpy")
def _plain(kind, p, low, high, total):  # type: ignore[no-untyped-def]
    """E[(x / unit)^k; low <= x <= high] over a common factor, whose log and unit are returned."""
    unit = 0.0
    if math.isfinite(low):
        unit = abs(low)
    if math.isfinite(high):
        unit = max(unit, abs(high))
    unit = max(unit, abs(p[8]) + p[9] * (abs(p[6]) + p[7])) if math.isinf(high - low) else unit
    left, right = _ends(kind, p, low, high)
    if left >= right:
        return -np.inf, 1.0
    peak = min(max(left, 0.0), right)
    log_top = _integrate(kind, p, 0.0, unit, left, right, peak, total)
    decay = p[0] if kind == EXPONENTIAL else 2.0 * p[0]
    for side in range(2):
        t, unbounded = (left, low == -np.inf) if side == 0 else (right, high == np.inf)
        if kind == LOGNORMAL:
            unbounded = unbounded or (side == 0 and low <= 0.0)
        if unbounded and abs(t) == _FAR:
            tail = math.exp(_log_integrand(kind, t, p, 0.0) - log_top)
            value = (p[8] + p[9] * (p[6] + p[7] * math.sinh(t))) / unit
            for k in range(len(total)):
                if decay > k:
                    total[k] += tail * value**k / (decay - k)
                else:
                    total[k] = -np.inf if k == 1 and side == 0 else np.inf
    return log_top, unit


@nb.njit(cache=True, error_model="numpy")
def _slope(p, z):  # type: ignore[no-untyped-def]
    """How fast the log predictive density of z = sinh t falls."""
    _, shape, rate, limit, width, _, _, _, _, _, _ = p
    excess = 1.0 + width * z * z
    y = rate * limit * excess
    share = math.exp(log_gammainc_scalar(shape + 1.0, y) - log_gammainc_scalar(shape, y))
    return 2.0 * shape * width * z / excess * share


@nb.njit(cache=True, error_model="numpy")
def _crossing(p, tilt, low, high, rising):  # type: ignore[no-untyped-def]
    """Roughly where the slope of the log density equals the tilt."""
    for _ in range(20):
        middle = math.sqrt(low * high)
        if (_slope(p, middle) < tilt) == rising:
            low = middle
        else:
            high = middle
    return math.asinh(math.sqrt(low * high))


@nb.njit(cache=True, error_model="numpy")
def _log_tilted(p, low, high, power):  # type: ignore[no-untyped-def]
    """Log E[(x / high)^power; low <= x <= high] of the log-normal family, high finite.

    Against a log-Student-t the tilt wins in the far tail: the integrand has a hump, a dip and a
    rise towards the end, or only the rise.
    """
    left, right = _ends(LOGNORMAL, p, low, high)
    if left >= right:
        return -np.inf
    tilt = power * p[9] * p[7]
    turn = math.sqrt(2.0 * p[1])
    total = np.zeros(1)
    if _slope(p, turn) <= tilt:
        log_top = _integrate(LOGNORMAL, p, power, 1.0, left, right, right, total)
        return log_top + math.log(total[0])
    hump = _crossing(p, tilt, min(tilt, turn), turn, True)
    dip = max(_crossing(p, tilt, turn, max(2.0 * p[1] / tilt, turn), False), left)
    value = -np.inf
    if left < dip:
        end = min(dip, right)
        peak = min(max(left, hump), end)
        log_top = _integrate(LOGNORMAL, p, power, 1.0, left, end, peak, total)
        value = log_top + math.log(total[0])
    if dip < right:
        total[0] = 0.0
        log_top = _integrate(LOGNORMAL, p, power, 1.0, dip, right, right, total)
        value = np.logaddexp(value, log_top + math.log(total[0]))
    return value


@nb.njit(cache=True, error_model="numpy")
def _log_lomax_mass(p, low, high):  # type: ignore[no-untyped-def]
    """Log mass of the exponential family in closed form; NaN if digits would be lost."""
    a, _, b, limit, _, _, _, _, _, scale, _ = p
    low, high = max(low, 0.0) / scale, high / scale
    if not high > low:
        return -np.inf
    inside = log_gammainc_scalar(a, b * limit)
    below = log_gammainc_scalar(a, (b + low) * limit)
    log_survival = below - inside - a * math.log1p(low / b)
    if high == np.inf:
        return log_survival
    drop = a * math.log1p((high - low) / (b + low))
    if below < 0.0:
        felt = log_gammainc_scalar(a, (b + high) * limit) - below
        if drop - felt < 1e-3 * (1.0 + abs(inside)):
            return np.nan
        drop -= felt
    return log_survival + math.log(-math.expm1(-drop))


@nb.njit(cache=True, error_model="numpy")
def _log_mass(kind, hyper, low, high, constants):  # type: ignore[no-untyped-def]
    p = _describe(kind, hyper, constants, 0.0)
    if kind == EXPONENTIAL:
        mass = _log_lomax_mass(p, low, high)
        if not math.isnan(mass):
            return mass
    total = np.zeros(1)
    log_top, _ = _plain(kind, p, low, high, total)
    return min(log_top + math.log(total[0]), 0.0) if total[0] > 0.0 else -np.inf


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _fill_log_mass(kind, hyper, low, high, constants, result):  # type: ignore[no-untyped-def]
    for i in range(len(result)):
        result[i] = _log_mass(kind, hyper[i], low[i], high[i], constants)


@nb.njit(cache=True, error_model="numpy")
def _moments(kind, hyper, low, high, constants, result):  # type: ignore[no-untyped-def]
    p = _describe(kind, hyper, constants, math.log(high) if high > 0.0 else 0.0)
    total = np.zeros(1 if kind == LOGNORMAL else 3)
    log_top, unit = _plain(kind, p, low, high, total)
    result[:] = 0.0
    if not total[0] > 0.0:
        return
    for k in range(len(total)):
        factor = math.exp(log_top + k * math.log(unit) + math.log(abs(total[k])))
        result[k] = math.copysign(factor, total[k]) if total[k] != 0.0 else 0.0
    if kind == LOGNORMAL:
        for k in range(1, 3):
            if high == np.inf:
                result[k] = np.inf
            else:
                result[k] = math.exp(_log_tilted(p, low, high, float(k)) + k * p[10])


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _fill_moments(kind, hyper, low, high, constants, result):  # type: ignore[no-untyped-def]
    for i in range(len(result)):
        _moments(kind, hyper[i], low[i], high[i], constants, result[i])


def log_predictive_mass(
    kind: int, hyper: Array, low: Array | float, high: Array | float, constants: Array
) -> Array:
    """Log predictive probability of low <= x <= high.

    Parameters
    ----------
    kind : int
        ``GAUSSIAN``, ``LOGNORMAL`` or ``EXPONENTIAL``.
    hyper : ndarray of shape (..., h)
    low, high : ndarray of shape (...)
    constants : ndarray of shape (c,)
    """
    with np.errstate(all="ignore"):
        if kind == EXPONENTIAL:
            return _integrated_mass(kind, hyper, low, high, constants)
        ends = [np.asarray(end, dtype=np.float64) for end in (low, high)]
        if kind == LOGNORMAL:
            ends = [np.log(np.maximum(end, 0.0)) for end in ends]
        ends = [(end - constants[0]) / constants[1] for end in ends]
        mass = log_narrow_mass(hyper, *ends)
        # what is not narrow in closed form, and what would lose its digits there by quadrature
        lost = np.isnan(mass)
        if lost.any():
            hyper = np.broadcast_to(hyper, (*mass.shape, 5))[lost]
            mass[lost] = log_student_mass(
                hyper, *(np.broadcast_to(end, mass.shape)[lost] for end in ends)
            )
            left = np.isnan(mass)
            low, high = (np.broadcast_to(end, mass.shape)[left] for end in (low, high))
            mass[left] = _integrated_mass(kind, hyper[left[lost]], low, high, constants)
    return mass


def _integrated_mass(
    kind: int, hyper: Array, low: Array | float, high: Array | float, constants: Array
) -> Array:
    shape, *flat = flatten(hyper, low, high)
    result = np.empty(len(flat[0]))
    _fill_log_mass(kind, *flat, constants, result)  # type: ignore[call-arg]
    return result.reshape(shape)


def predictive_moments(
    kind: int, hyper: Array, low: Array | float, high: Array | float, constants: Array
) -> Array:
    """E[x^k; low <= x <= high] for k = 0, 1, 2 under the predictive; shape (3, ...).

    Infinite where an unbounded integral diverges; +inf also for a mean that is not defined.
    """
    shape, *flat = flatten(hyper, low, high)
    result = np.empty((len(flat[0]), 3))
    _fill_moments(kind, *flat, constants, result)  # type: ignore[call-arg]
    return np.moveaxis(result.reshape(*shape, 3), -1, 0)
