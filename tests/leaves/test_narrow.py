"""Narrow intervals by Gauss rules, against SciPy's Student t and against adaptive quadrature."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from bayesspn.leaves.intervals.narrow import log_narrow_mass
from bayesspn.leaves.intervals.quadrature import GAUSSIAN, _integrated_mass, log_predictive_mass

UNITS = np.array([0.0, 1.0, 0.0])


def random_leaves(rng: np.random.Generator, n: int, limited: bool) -> np.ndarray:
    """Hyper-parameters from nothing seen to thousands of values, wide and narrow."""
    kappa, a, b = (np.exp(rng.normal(center, 2.0, n)) for center in (1.0, 1.0, 0.0))
    limit = a / b * np.exp(rng.normal(1.0, 2.0, n)) if limited else np.full(n, np.inf)
    return np.stack([rng.normal(size=n), kappa, a + 0.05, b, limit], axis=-1)


@pytest.mark.parametrize("limited", [False, True])
def test_narrow_masses_equal_quadrature(limited):
    rng = np.random.default_rng(0)
    hyper = random_leaves(rng, 20_000, limited)
    low = rng.normal(0.0, 3.0, len(hyper))
    high = low + np.exp(rng.normal(-3.0, 1.5, len(hyper)))
    found = log_narrow_mass(hyper, low, high)
    narrow = ~np.isnan(found)
    assert narrow.mean() > 0.9
    exact = _integrated_mass(GAUSSIAN, hyper[narrow], low[narrow], high[narrow], UNITS)
    np.testing.assert_allclose(found[narrow], exact, atol=1e-9)


def test_narrow_masses_without_limit_are_a_students():
    hyper = random_leaves(np.random.default_rng(1), 2_000, False)
    m, kappa, a, b, _ = hyper.T
    scale = np.sqrt(b * (kappa + 1) / (a * kappa))
    low, high = m + 0.2 * scale, m + 0.5 * scale
    exact = stats.t.cdf(0.5, 2 * a) - stats.t.cdf(0.2, 2 * a)
    np.testing.assert_allclose(np.exp(log_narrow_mass(hyper, low, high)), exact, rtol=1e-9)


def test_wide_and_endless_intervals_are_left_to_others():
    hyper = np.array([0.0, 1.0, 50.0, 50.0, np.inf])
    ends = np.array([-np.inf, -40.0, 0.0]), np.array([0.0, 40.0, np.inf])
    assert np.isnan(log_narrow_mass(hyper, *ends)).all()
    assert log_narrow_mass(hyper, 1.0, 1.0) == -np.inf
    assert np.isfinite(log_predictive_mass(GAUSSIAN, hyper, *ends, UNITS)).all()


def test_neighbouring_cells_of_any_width_add_up_to_one():
    hyper = random_leaves(np.random.default_rng(2), 50, True)
    ends = np.concatenate([[-np.inf], np.linspace(-4.0, 4.0, 30), [np.inf]])
    masses = np.exp(log_predictive_mass(GAUSSIAN, hyper[:, None, :], ends[:-1], ends[1:], UNITS))
    np.testing.assert_allclose(masses.sum(axis=1), 1.0, atol=1e-9)
