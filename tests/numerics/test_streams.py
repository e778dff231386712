"""Variates of compiled streams have the distributions that they are named after."""

import numba as nb
import numpy as np
import pytest
from scipy import stats

from bayesspn.numerics import streams

DRAWS = 40_000


@nb.njit
def _log_gammas(stream, shape, out):
    for k in range(out.shape[0]):
        out[k] = streams.log_gamma_variate(stream, shape)


@nb.njit
def _log_dirichlets(stream, concentration, out):
    for k in range(out.shape[0]):
        streams.fill_log_dirichlet(stream, concentration, out[k])


@pytest.mark.parametrize("shape", [1e-3, 0.02, 0.1, 0.29, 0.31, 0.7, 1.0, 3.5, 200.0])
def test_log_gamma_variates_follow_the_gamma_distribution(shape):
    drawn = np.empty(DRAWS)
    _log_gammas(streams.start_stream(7, 0, 0, 0), shape, drawn)
    assert np.isfinite(drawn).all()
    # logarithms of the variates, which are too small for floats if the shape is
    found = stats.kstest(drawn, stats.loggamma(shape).cdf)
    assert found.pvalue > 1e-4  # false alarms: 1 in 10,000 per shape, and the seed is fixed


@pytest.mark.parametrize("shape", [0.02, 0.29, 0.31, 2.0])
def test_moments_of_log_gamma_variates(shape):
    drawn = np.empty(DRAWS)
    _log_gammas(streams.start_stream(8, 0, 0, 0), shape, drawn)
    mean, var = stats.loggamma(shape).stats("mv")
    assert abs(drawn.mean() - mean) < 4.5 * np.sqrt(var / DRAWS)
    assert np.exp(drawn).mean() == pytest.approx(shape, abs=4.5 * np.sqrt(shape / DRAWS))


@pytest.mark.parametrize("concentration", [[0.02, 1.02, 3.02], [0.2, 0.4, 1.4], [5.0, 1.0, 0.5]])
def test_log_dirichlet_variates_have_beta_margins(concentration):
    concentration = np.array(concentration)
    drawn = np.empty((DRAWS, 3))
    _log_dirichlets(streams.start_stream(9, 0, 0, 0), concentration, drawn)
    assert np.exp(drawn).sum(axis=1) == pytest.approx(1.0)
    means = concentration / concentration.sum()
    error = np.sqrt(means * (1 - means) / (concentration.sum() + 1) / DRAWS)
    assert np.all(np.abs(np.exp(drawn).mean(axis=0) - means) < 4.5 * error)
    for k in range(3):
        beta = stats.beta(concentration[k], concentration.sum() - concentration[k])
        assert stats.kstest(np.exp(drawn[:, k]), beta.cdf).pvalue > 1e-4
