"""Gamma variates: right distributions, finite logarithms, limits kept in few rounds.

Kolmogorov–Smirnov tests use 4,000 draws and alarm below p = 1e-4; with about 40 of them in this
file a new seed gives a false alarm with probability 0.4 %.
"""

import numpy as np
import pytest
from scipy import special, stats

from bayesspn.numerics.gamma_variates import draw_limited_gamma, draw_log_dirichlet, draw_log_gamma

DRAWS = 4000
ALARM = 1e-4


class ImpatientGenerator:
    """A generator that fails instead of letting a rejection sampler run forever."""

    def __init__(self, seed, calls):
        self._rng = np.random.default_rng(seed)
        self._calls = calls

    def __getattr__(self, name):
        self._calls -= 1
        assert self._calls > 0, "too many rounds of rejection"
        return getattr(self._rng, name)


@pytest.mark.parametrize("shape", [0.01, 0.3, 1.0, 4.5, 1e3, 1e6])
def test_log_gamma_draws_have_the_gamma_distribution(shape):
    draws = draw_log_gamma(np.random.default_rng(0), np.full(DRAWS, shape))
    # in terms of the logarithm, which exists where the variate itself underflows
    lower = np.exp(np.minimum(shape * draws - special.gammaln(shape + 1), 0.0))
    tiny = draws < -600
    uniform = np.where(tiny, lower, special.gammainc(shape, np.exp(np.maximum(draws, -600))))
    assert stats.kstest(uniform, "uniform").pvalue > ALARM


@pytest.mark.parametrize("shape", [1e-300, 1e-100, 1e-8, 1e-3])
def test_log_gamma_draws_are_finite_however_small_the_shape(shape):
    draws = draw_log_gamma(np.random.default_rng(1), np.full(1000, shape))
    assert np.isfinite(draws).all()
    # Gamma(shape + 1) contributes next to nothing: −shape × log g is a standard exponential
    assert stats.kstest(-shape * draws, "expon").pvalue > ALARM


def test_log_gamma_draws_keep_their_shape():
    concentration = np.random.default_rng(2).random((3, 1, 4)) + 0.1
    assert draw_log_gamma(np.random.default_rng(3), concentration).shape == (3, 1, 4)


@pytest.mark.parametrize(
    "concentration", [(0.5, 0.5), (0.02, 3.0, 0.4), (10.0, 1.0, 1.0, 5.0)], ids=str
)
def test_log_dirichlet_draws_have_beta_marginals(concentration):
    concentration = np.array(concentration)
    tiled = np.tile(concentration, (DRAWS, 1))
    draws = draw_log_dirichlet(np.random.default_rng(4), tiled)
    np.testing.assert_allclose(np.exp(draws).sum(axis=1), 1.0, atol=1e-13)
    total = concentration.sum()
    for k, a in enumerate(concentration):
        marginal = stats.beta(a, total - a)
        assert stats.kstest(np.exp(draws[:, k]), marginal.cdf).pvalue > ALARM


def test_log_dirichlet_draws_have_the_dirichlet_covariance():
    concentration = np.array([0.7, 2.0, 1.3])
    draws = np.exp(draw_log_dirichlet(np.random.default_rng(5), np.tile(concentration, (40000, 1))))
    mean = concentration / concentration.sum()
    expected = (np.diag(mean) - np.outer(mean, mean)) / (concentration.sum() + 1)
    # a product of two probabilities has variance below 1/16: five standard errors
    np.testing.assert_allclose(np.cov(draws.T), expected, atol=5 * 0.25 / np.sqrt(40000))


def test_log_dirichlet_draws_are_finite_for_sparse_concentrations():
    draws = draw_log_dirichlet(np.random.default_rng(6), np.full((500, 6), 1e-4))
    assert np.isfinite(draws).all()
    np.testing.assert_allclose(np.exp(draws).sum(axis=1), 1.0, atol=1e-13)


def limited_uniform(draws, shape, rate, limit):
    """Uniform if draws are limited gamma variates; in logs where P underflows."""
    if special.gammainc(shape, rate * limit) > 1e-200:
        return special.gammainc(shape, rate * draws) / special.gammainc(shape, rate * limit)
    # a deep cut: integrate exp(−shape w − rate limit e^−w) numerically on a fine grid
    w = np.linspace(0.0, 60.0 / (shape - rate * limit), 200_001)
    density = np.exp(-shape * w - rate * limit * np.expm1(-w))
    cdf = np.concatenate([[0.0], np.cumsum(density[1:] + density[:-1])])
    return 1.0 - np.interp(-np.log(draws / limit), w, cdf / cdf[-1])


@pytest.mark.parametrize("shape", [0.3, 1.0, 2.0, 30.0, 2500.0])
@pytest.mark.parametrize("share", [0.02, 0.3, 0.8, 0.97, 1.0, 1.5])
def test_limited_gamma_draws_have_the_truncated_distribution(shape, share):
    rate = 3.0
    limit = share * shape / rate
    arguments = (np.full(DRAWS, shape), np.full(DRAWS, rate), np.full(DRAWS, limit))
    draws = draw_limited_gamma(np.random.default_rng([7, int(100 * share)]), *arguments)
    assert draws.max() <= limit
    assert draws.min() > 0
    uniform = limited_uniform(draws, shape, rate, limit)
    assert stats.kstest(uniform, "uniform").pvalue > ALARM


def test_an_infinite_limit_is_no_limit():
    draws = draw_limited_gamma(np.random.default_rng(8), np.full(DRAWS, 1.7), 0.4, np.inf)
    assert stats.kstest(draws, stats.gamma(1.7, scale=1 / 0.4).cdf).pvalue > ALARM


def test_limited_gamma_draws_broadcast():
    shape, rate = np.array([[0.5], [3.0]]), np.array([1.0, 2.0, 4.0])
    draws = draw_limited_gamma(np.random.default_rng(9), shape, rate, np.array(0.2))
    assert draws.shape == (2, 3)
    assert (draws <= 0.2).all()


@pytest.mark.parametrize("shape", [0.05, 0.5, 1.0, 1.5, 10.0, 1e4])
@pytest.mark.parametrize("mass", [1e-12, 1e-6, 1e-3, 0.3])
def test_limits_however_deep_take_few_rounds(shape, mass):
    """A limit far below the prior's mass must not turn into an endless loop of rejections.

    It happens: a log-normal column with one value near zero has a coarse resolution in log x.
    """
    limit = mass * shape
    rng = ImpatientGenerator(10, calls=400)
    draws = draw_limited_gamma(rng, np.full(50, shape), np.ones(50), np.full(50, limit))
    assert (draws <= limit).all()
    assert (draws >= 0).all()
