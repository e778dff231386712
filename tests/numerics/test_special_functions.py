"""Special functions against scipy and against sums and integrals in the log domain."""

import math

import numpy as np
import pytest
from scipy import integrate, special

from bayesspn.numerics.special_functions import (
    log_gamma,
    log_gamma_scalar,
    log_gammainc,
    log_rising,
    scaled_erfc_scalar,
)

EPS = np.finfo(float).eps


def test_log_gamma_matches_scipy_from_tiny_to_huge():
    x = np.concatenate([np.logspace(-300, 300, 4001), np.linspace(1e-3, 40, 4001)])
    expected = special.gammaln(x)
    # 2e-14 is the truncation error of the series at its smallest argument, 8
    np.testing.assert_allclose(log_gamma(x), expected, rtol=8 * EPS, atol=2e-14)


def test_log_gamma_is_the_log_factorial():
    n = np.arange(1, 171)
    expected = np.array([math.log(math.factorial(k - 1)) for k in n])
    np.testing.assert_allclose(log_gamma(n.astype(float)), expected, rtol=4 * EPS, atol=2e-14)


def test_log_gamma_obeys_its_recurrence_across_the_shift():
    x = np.linspace(0.5, 12.0, 2001)
    np.testing.assert_allclose(log_gamma(x + 1) - log_gamma(x), np.log(x), rtol=0, atol=5e-14)


def test_scalar_and_array_versions_agree():
    x = np.logspace(-5, 8, 200)
    np.testing.assert_array_equal([log_gamma_scalar(value) for value in x], log_gamma(x))


@pytest.mark.parametrize("x", [1e-300, 1e-12, 1e-3, 0.5, 1.0, 7.3, 1e3, 1e6, 1e9])
@pytest.mark.parametrize("n", [0, 1, 2, 7, 8, 9, 10, 100, 5000])
def test_log_rising_is_the_sum_of_logs(x, n):
    expected = math.fsum(math.log(x + k) for k in range(n))
    # beyond 8 factors it is a difference of two log gammas: their rounding is the error
    size = abs(special.gammaln(x + n)) + abs(special.gammaln(x)) if n > 8 else 0.0
    assert abs(log_rising(x, n) - expected) <= 4 * EPS * (size + abs(expected)) + 5e-14


def test_log_rising_of_real_steps_is_a_difference_of_log_gammas():
    x, n = np.meshgrid(np.logspace(-4, 6, 41), np.array([0.25, 0.5, 3.7, 8.5, 1e3 + 0.5]))
    expected = special.gammaln(x + n) - special.gammaln(x)
    size = np.abs(special.gammaln(x + n)) + np.abs(special.gammaln(x))
    assert (np.abs(log_rising(x, n) - expected) <= 8 * EPS * size + 5e-14).all()


def test_log_rising_of_zero_steps_is_exactly_zero():
    assert (log_rising(np.logspace(-300, 300, 50), 0.0) == 0.0).all()


@pytest.mark.parametrize("n", [2.0, 8.0])
def test_log_rising_of_huge_arguments_does_not_overflow(n):
    np.testing.assert_allclose(log_rising(1e60, n), n * math.log(1e60), rtol=1e-14)


def log_head(a, x):
    """Log of x^a e^-x / Γ(a), for large a without cancellation (log1p and Stirling's series)."""
    step = (x - a) / a
    if a < 1e3 or abs(step) > 0.5:
        return a * math.log(x) - x - special.gammaln(a)
    stirling = 1 / (12 * a) - 1 / (360 * a**3) + 1 / (1260 * a**5)
    return a * (math.log1p(step) - step) + 0.5 * math.log(a / (2 * math.pi)) - stirling


def log_gammainc_by_quadrature(a, x):
    """Log P(a, x) as an integral over w = −log(t / x), in the log domain throughout."""
    head = log_head(a, x)

    def exponent(w):
        return -a * w - x * math.expm1(-w)

    # the exponent is concave with its maximum at log(x / a), or at 0 if that is negative
    peak = max(0.0, math.log(x / a))
    top = exponent(peak)
    # e^-60 below the peak nothing matters: find where, by doubling steps
    right = 1.0 / max(a, 1.0)
    while exponent(peak + right) > top - 60:
        right *= 2
    points = np.linspace(0, peak + right, 400)
    nodes, weights = np.polynomial.legendre.leggauss(20)
    half = np.diff(points)[:, None] / 2
    w = points[:-1, None] + half * (nodes + 1)
    total = (half * weights * np.exp(-a * w - x * np.expm1(-w) - top)).sum()
    return head + top + math.log(total)


def precision_of_head(a, x):
    """Rounding error of x^a e^-x / Γ(a) in logs: what any direct evaluation has."""
    return EPS * (abs(a * math.log(x)) + x + abs(special.gammaln(a)))


@pytest.mark.parametrize("a", [1e-3, 0.1, 0.5, 1.0, 2.5, 10.0, 123.4, 1e3, 1e4, 1e5])
def test_log_gammainc_matches_scipy_where_it_does_not_underflow(a):
    x = a * np.concatenate([np.logspace(-3, 2, 200), np.linspace(0.8, 1.3, 101), [1.0]])
    expected = special.gammainc(a, x)
    usable = expected > 1e-280
    assert usable.sum() > 20
    tolerance = np.array([8 * precision_of_head(a, value) for value in x[usable]])
    error = np.abs(log_gammainc(a, x[usable]) - np.log(expected[usable]))
    assert (error <= tolerance + 2e-14).all(), (error - tolerance).max()


@pytest.mark.parametrize("a", [1e5, 1e6, 1e8])
@pytest.mark.parametrize("deviations", [-300.0, -30.0, -5.0, -1.0, 0.0, 1.0, 3.0])
def test_log_gammainc_of_many_observations_matches_quadrature(a, deviations):
    # not scipy: its gammainc loses its digits in the lower tail for a beyond 1e6
    x = a + deviations * math.sqrt(a)
    expected = log_gammainc_by_quadrature(a, x)
    assert abs(log_gammainc(a, x) - expected) <= 8 * precision_of_head(a, x)


@pytest.mark.parametrize("a", [0.7, 3.0, 50.0, 1e3, 1e4])
@pytest.mark.parametrize("ratio", [1e-12, 1e-6, 1e-3, 0.1, 0.5, 0.9, 1.0, 1.2])
def test_log_gammainc_matches_quadrature_also_where_it_underflows(a, ratio):
    x = ratio * a
    expected = log_gammainc_by_quadrature(a, x)
    assert abs(log_gammainc(a, x) - expected) <= 8 * precision_of_head(a, x) + 1e-12


def test_some_of_the_quadrature_cases_do_underflow():
    assert special.gammainc(1e4, 1e-3 * 1e4) == 0.0
    assert log_gammainc(1e4, 10.0) < -5e4


def test_log_gammainc_of_one_is_a_closed_form():
    x = np.logspace(-15, 1.5, 300)
    expected = np.log(-np.expm1(-x))
    # 2e-14 is the error of log Γ(1) = 0
    np.testing.assert_allclose(log_gammainc(1.0, x), expected, rtol=1e-14, atol=2e-14)


def test_log_gammainc_ends_at_minus_infinity_and_zero():
    a = np.array([1e-3, 1.0, 1e3, 1e6])
    assert (log_gammainc(a, 0.0) == -np.inf).all()
    assert (log_gammainc(a, np.inf) == 0.0).all()
    assert (log_gammainc(a, 1e12) == 0.0).all()
    assert np.isfinite(log_gammainc(a, 1e-300)).all()


@pytest.mark.parametrize("a", [0.01, 1.0, 30.0, 2e4])
def test_log_gammainc_is_increasing_and_never_positive(a):
    x = a * np.logspace(-4, 2, 2000)
    value = log_gammainc(a, x)
    assert (value <= 0).all()
    assert (np.diff(value) >= -16 * precision_of_head(a, a) - 1e-14).all()


def test_log_gammainc_grows_by_the_gamma_density():
    # ∫ of the density between two limits, by quadrature, bridging both branches (x < a + 1 or not)
    for a in (0.6, 4.0, 40.0):
        low, high = 0.7 * a, 1.5 * a + 2

        def density(t, a=a):
            return math.exp((a - 1) * math.log(t) - t - math.lgamma(a))

        area, _ = integrate.quad(density, low, high, epsabs=1e-13)
        grown = np.exp(log_gammainc(a, high)) - np.exp(log_gammainc(a, low))
        assert abs(grown - area) < 1e-12


def test_scaled_erfc_matches_scipy_from_zero_to_huge():
    x = np.concatenate([np.linspace(0.0, 12.0, 1201), np.logspace(1, 300, 300)])
    given = [scaled_erfc_scalar(value) for value in x]
    # exp(x²) below 8 multiplies the rounding of x² by up to 64
    np.testing.assert_allclose(given, special.erfcx(x), rtol=100 * EPS)
