"""Special functions of the conjugate families, as compiled NumPy ufuncs in double precision.

`log_rising` is what a Dirichlet-multinomial marginal likelihood is made of, and `log_gammainc` what
a gamma prior with an upper limit adds; both are called for every leaf in every sweep.
"""

from __future__ import annotations

import math

import numba as nb
import numpy as np

from bayesspn.numerics.compilation import when_called

_HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)


@nb.njit(cache=True, error_model="numpy")
def stirling_series(x):  # type: ignore[no-untyped-def]
    """What log Γ(x) is above (x − ½) log x − x + ½ log 2π, for x >= 8."""
    inverse = 1.0 / x
    y = inverse * inverse
    terms = 1.0 / 1188.0 - y * (691.0 / 360360.0 - y / 156.0)
    terms = 1.0 / 360.0 - y * (1.0 / 1260.0 - y * (1.0 / 1680.0 - y * terms))
    return inverse * (1.0 / 12.0 - y * terms)


@nb.njit(cache=True, error_model="numpy")
def log_gamma_scalar(x):  # type: ignore[no-untyped-def]
    """Log of the gamma function for x > 0, by Stirling's series after a shift to x >= 8."""
    product = 1.0
    while x < 8.0:
        product *= x
        x += 1.0
    value = (x - 0.5) * math.log(x) - x + _HALF_LOG_TWO_PI + stirling_series(x)
    return value - math.log(product) if product != 1.0 else value


@when_called(nb.vectorize("f8(f8)", cache=True))
def log_gamma(x):  # type: ignore[no-untyped-def]
    """Log of the gamma function for x > 0."""
    return log_gamma_scalar(x)


@nb.njit(cache=True, error_model="numpy")
def log_rising_scalar(x, n):  # type: ignore[no-untyped-def]
    """Log of the rising factorial x (x+1) … (x+n-1), that is log Γ(x+n) − log Γ(x), n >= 0."""
    if n == 0.0:
        return 0.0
    if n <= 8.0 and n == math.floor(n) and x < 1e30:
        product = x
        for step in range(1, int(n)):
            product *= x + step
        return math.log(product)
    if x < 8.0:
        return log_gamma_scalar(x + n) - log_gamma_scalar(x)
    # Stirling's series of both, arranged so that huge arguments do not cancel
    head = (x - 0.5) * math.log1p(n / x) + n * (math.log(x + n) - 1.0)
    return head + stirling_series(x + n) - stirling_series(x)


@when_called(nb.vectorize("f8(f8, f8)", cache=True))
def log_rising(x, n):  # type: ignore[no-untyped-def]
    """Log of the rising factorial x (x+1) … (x+n-1), that is log Γ(x+n) − log Γ(x), n >= 0."""
    return log_rising_scalar(x, n)


@nb.njit(cache=True, error_model="numpy")
def log_gammainc_scalar(a, x):  # type: ignore[no-untyped-def]
    """Log of the regularised lower incomplete gamma function P(a, x), also where P underflows."""
    if x <= 0.0:
        return -np.inf
    if x > a + 12.0 * math.sqrt(a) + 60.0:  # 1 - P is below 1e-17 here
        return 0.0
    log_head = a * math.log(x) - x - log_gamma_scalar(a)
    if x < a + 1.0:
        term = 1.0 / a
        total = term
        k = a
        while term > total * 1e-17:
            k += 1.0
            term *= x / k
            total += term
        return min(0.0, log_head + math.log(total))
    # Lentz's continued fraction for 1 - P(a, x)
    b = x + 1.0 - a
    c = 1e300
    d = 1.0 / b
    fraction = d
    for i in range(1, 100_000):
        an = -i * (i - a)
        b += 2.0
        d = an * d + b
        d = 1.0 / (d if abs(d) > 1e-300 else 1e-300)
        c = b + an / c
        c = c if abs(c) > 1e-300 else 1e-300
        delta = d * c
        fraction *= delta
        if abs(delta - 1.0) < 1e-16:
            break
    return math.log1p(-min(1.0, math.exp(log_head) * fraction))


@when_called(nb.vectorize("f8(f8, f8)", cache=True))
def log_gammainc(a, x):  # type: ignore[no-untyped-def]
    """Log of the regularised lower incomplete gamma function P(a, x), also where P underflows."""
    return log_gammainc_scalar(a, x)


@nb.njit(cache=True, error_model="numpy")
def scaled_erfc_scalar(x):  # type: ignore[no-untyped-def]
    """Scaled complementary error function exp(x²) erfc(x) for x >= 0, which never underflows."""
    if x < 8.0:
        return math.exp(x * x) * math.erfc(x)
    y = 0.5 / (x * x)
    term, total = 1.0, 1.0
    for k in range(1, 16):
        term *= -(2 * k - 1) * y
        total += term
    return total / (x * math.sqrt(math.pi))
