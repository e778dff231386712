"""Every leaf family keeps the promises of its interface.

The tests run over `FAMILIES`, so a new family is picked up by itself: its example column is made
with its own ``draw_values``. Known families are compared with scipy's distributions on top.

Each family is tried as it is (``free``) and, if continuous, with a resolution so coarse that the
floor on its scale is active (``limited``). Distribution tests alarm below p = 1e-4 and Monte Carlo
means beyond five standard errors: with about 200 of the former and 100 of the latter in this file,
a new seed gives a false alarm with probability 2 %.
"""

from dataclasses import dataclass, replace
from functools import cache, partial

import numpy as np
import pytest
from scipy import special, stats

from bayesspn import leaves
from bayesspn.leaves import Family
from bayesspn.leaves.columns import Column, describe_column
from bayesspn.numerics.special_functions import log_gammainc

#: Atoms never stand alone: they have tests of their own.
FAMILIES = {name: family for name, family in leaves.FAMILIES.items() if name != "atoms"}

ALARM = 1e-4
DRAWS = 20_000


@dataclass(frozen=True, eq=False)
class Case:
    """A family on an example column, with a prior and some data."""

    family: Family
    column: Column
    hyper: np.ndarray
    sample: np.ndarray

    @property
    def values(self):
        """The data of most tests: a few values of the sample that described the column."""
        return self.sample[:8]

    @property
    def constants(self):
        return self.column.constants[0]

    def features(self, values):
        return self.column.features(0, np.atleast_1d(np.asarray(values, dtype=float)))

    def after(self, values, hyper=None):
        """Posterior hyper-parameters after values."""
        statistics, _ = self.features(values)
        hyper = self.hyper if hyper is None else hyper
        return self.family.posterior(hyper, np.float64(len(statistics)), statistics.sum(axis=0))

    def log_marginal(self, values):
        """Log marginal likelihood of values, with the base measure."""
        statistics, log_base = self.features(values)
        n, totals = np.float64(len(statistics)), statistics.sum(axis=0)
        return self.family.log_marginal(self.hyper, n, totals) + log_base.sum()

    def log_predictive(self, hyper, values):
        return self.family.log_predictive(hyper, *self.features(values))

    def log_density(self, eta, log_partition, values):
        """Log density h + η·T − A; shape (..., values)."""
        statistics, log_base = self.features(values)
        return log_base + eta @ statistics.T - np.asarray(log_partition)[..., None]


def example_values(family, rng, n):
    """Values drawn from the family itself, at parameters drawn from a strong prior."""
    seeds = np.arange(4.0)
    seeds = seeds[~family.invalid(seeds, 4)]
    n_categories = len(seeds) if family.one_hot or family.coded else 0
    constants = family.constants(seeds, np.ones(len(seeds)), 0.0, n_categories)
    hyper = family.hyper(family.prior_center(5.0, constants), constants)
    eta, _ = family.draw_parameters(rng, hyper)
    return family.draw_values(rng, np.tile(eta, (n, 1)), constants), n_categories


def coarse_resolution(values):
    return 3.0 * values.std()


@cache
def make_case(name, kind, gamma=5.0, seed=0):
    family = FAMILIES[name]
    rng = np.random.default_rng([seed, *name.encode()])
    values, n_categories = example_values(family, rng, 60)
    column = describe_column(
        "x",
        values,
        name,
        n_categories=n_categories or None,
        resolution=coarse_resolution(values) if kind == "limited" else 0.0,
        gamma=gamma,
    )
    constants = column.constants[0]
    center, spread = family.prior_center(gamma, constants), family.prior_spread(constants)
    phi = center + 0.5 * spread * rng.standard_normal(center.shape)
    return Case(family, column, family.hyper(phi, constants), values)


CONTINUOUS = sorted(name for name in FAMILIES if FAMILIES[name].measure == "continuous")
FREE = [(name, "free") for name in sorted(FAMILIES)]
LIMITED = [(name, "limited") for name in CONTINUOUS]
CASES = FREE + LIMITED

every_case = pytest.mark.parametrize(("name", "kind"), CASES)
every_family = pytest.mark.parametrize("name", sorted(FAMILIES))
every_continuous_family = pytest.mark.parametrize("name", CONTINUOUS)


def known(table, cases=CASES):
    """The cases of families that a table of references knows."""
    return pytest.mark.parametrize(("name", "kind"), [case for case in cases if case[0] in table])


# --- Numerical integration over the sample space -------------------------------------------------


def sample_space(case):
    """Points x and log weights that turn sums over x into sums or integrals over the support."""
    if case.family.one_hot or case.family.coded:
        points = np.arange(float(case.column.n_categories))
        return points, np.zeros(len(points))
    if case.family.measure == "discrete":
        points = np.arange(20_000.0)
        return points, np.zeros(len(points))
    if not case.family.invalid(np.array([-1.0]), 0)[0]:
        t = np.linspace(-30.0, 30.0, 12_001)
        scale = case.values.std()
        points = case.values.mean() + scale * np.sinh(t)
        return points, np.log(scale * np.cosh(t) * (t[1] - t[0]))
    t = np.linspace(-6.5, 6.5, 12_001)
    points = np.median(case.values) * np.exp(np.sinh(t))
    return points, np.log(points * np.cosh(t) * (t[1] - t[0]))


def assert_normalised(case, log_density, tolerance=1e-9):
    points, log_weights = sample_space(case)
    total = special.logsumexp(log_density(points) + log_weights, axis=-1)
    np.testing.assert_allclose(total, 0.0, atol=tolerance)


def assert_drawn_from(case, draws, log_density):
    """Kolmogorov–Smirnov test of continuous draws, chi-squared test of discrete ones."""
    points, log_weights = sample_space(case)
    mass = np.exp(log_density(points) + log_weights)
    if case.family.measure == "continuous":
        cdf = np.cumsum(mass) - 0.5 * mass
        assert stats.kstest(draws, lambda x: np.interp(x, points, cdf)).pvalue > ALARM
        return
    # bins of consecutive values with at least 8 expected draws each
    edges = np.concatenate([[0], np.cumsum(mass)])
    bins = np.unique(np.floor(edges * len(draws) / 8), return_index=True)[1]
    bins = bins[(bins == 0) | (edges[bins] < 1 - 8 / len(draws))]
    expected = np.diff(np.append(edges[bins], 1.0))
    seen = np.histogram(draws, np.append(bins, np.inf))[0]
    assert seen.sum() == len(draws)
    assert stats.chisquare(seen, len(draws) * expected).pvalue > ALARM


# --- References: the same quantities from scipy's distributions ----------------------------------


def integrate(log_f, low, high, panels=150):
    """Log ∫ exp(log_f) by Gauss–Legendre quadrature on panels."""
    nodes, weights = np.polynomial.legendre.leggauss(12)
    ends = np.linspace(low, high, panels + 1)
    half = np.diff(ends)[:, None] / 2
    t = (ends[:-1, None] + half * (nodes + 1)).ravel()
    return special.logsumexp(log_f(t) + np.log(half * weights).ravel())


def limited_gamma_logpdf(x, a, b, limit):
    prior = stats.gamma(a, scale=1 / b)
    return prior.logpdf(x) - prior.logcdf(limit)


def upper_end(limit):
    return np.log(limit) if np.isfinite(limit) else 25.0


def dirichlet_marginal(case, values):
    """Stick breaking turns the Dirichlet integral into one beta integral per category."""
    total = 0.0
    for k in range(len(case.hyper) - 1):
        here, above = (values == k).sum(), (values > k).sum()
        prior = stats.beta(case.hyper[k], case.hyper[k + 1 :].sum())

        def log_f(t, prior=prior, here=here, above=above):
            p, q = special.expit(t), special.expit(-t)
            return prior.logpdf(p) + (here + 1) * np.log(p) + (above + 1) * np.log(q)

        total += integrate(log_f, -30, 30)
    return total


def poisson_marginal(case, values):
    a, b = case.hyper

    def log_f(t):
        likelihood = stats.poisson.logpmf(values[:, None], np.exp(t)).sum(axis=0)
        return likelihood + stats.gamma.logpdf(np.exp(t), a, scale=1 / b) + t

    return integrate(log_f, -25, 25)


def geometric_marginal(case, values):
    a, b = case.hyper

    def log_f(t):
        p, q = special.expit(t), special.expit(-t)
        likelihood = stats.geom.logpmf(values[:, None] + 1, p).sum(axis=0)
        return likelihood + stats.beta.logpdf(p, a, b) + np.log(p) + np.log(q)

    return integrate(log_f, -30, 30)


def binomial_marginal(case, values):
    a, b = case.hyper
    steps = case.constants[0]

    def log_f(t):
        p, q = special.expit(t), special.expit(-t)
        likelihood = stats.binom.logpmf(values[:, None], steps, p).sum(axis=0)
        return likelihood + stats.beta.logpdf(p, a, b) + np.log(p) + np.log(q)

    return integrate(log_f, -30, 30)


def exponential_marginal(case, values):
    a, b, limit = case.hyper
    scale = case.constants[0]

    def log_f(t):
        rate = np.exp(t)
        likelihood = stats.expon.logpdf(values[:, None], scale=scale / rate).sum(axis=0)
        return likelihood + limited_gamma_logpdf(rate, a, b, limit) + t

    return integrate(log_f, -25, upper_end(limit))


def normal_marginal(case, values, logpdf):
    """Over log precision by quadrature, and at each precision over the mean by a fine sum."""
    m, kappa, a, b, limit = case.hyper
    standard = case.features(values)[0][:, 0]
    center = (kappa * m + standard.sum()) / (kappa + len(values))
    steps = np.linspace(-12, 12, 97)

    def log_f(t):
        tau = np.exp(t)[:, None]
        width = 1 / np.sqrt((kappa + len(values)) * tau)
        mu = center + steps * width
        log_joint = stats.norm.logpdf(mu, m, 1 / np.sqrt(kappa * tau))
        for value in values:
            log_joint += logpdf(value, mu, tau)
        inner = special.logsumexp(log_joint + np.log(width * (steps[1] - steps[0])), axis=1)
        return inner + limited_gamma_logpdf(tau[:, 0], a, b, limit) + t

    return integrate(log_f, -6, upper_end(limit))


def gaussian_marginal(case, values):
    location, scale, _ = case.constants
    return normal_marginal(
        case,
        values,
        lambda x, mu, tau: stats.norm.logpdf(x, location + scale * mu, scale / np.sqrt(tau)),
    )


def lognormal_marginal(case, values):
    location, scale, _ = case.constants
    return normal_marginal(
        case,
        values,
        lambda x, mu, tau: stats.lognorm.logpdf(
            x, scale / np.sqrt(tau), scale=np.exp(location + scale * mu)
        ),
    )


MARGINALS = {
    "bernoulli": dirichlet_marginal,
    "categorical": dirichlet_marginal,
    "poisson": poisson_marginal,
    "geometric": geometric_marginal,
    "binomial": binomial_marginal,
    "exponential": exponential_marginal,
    "gaussian": gaussian_marginal,
    "lognormal": lognormal_marginal,
}


def student(hyper, constants):
    m, kappa, a, b, _ = hyper
    location, scale, _ = constants
    return stats.t(2 * a, location + scale * m, scale * np.sqrt(b * (kappa + 1) / (a * kappa)))


#: Closed forms of the predictive density without a floor.
PREDICTIVES = {
    "bernoulli": lambda h, c, x: stats.betabinom.logpmf(x, 1, h[1], h[0]),
    "categorical": lambda h, c, x: np.log(stats.dirichlet.mean(h))[x.astype(int)],
    "poisson": lambda h, c, x: stats.nbinom.logpmf(x, h[0], h[1] / (1 + h[1])),
    "geometric": lambda h, c, x: special.betaln(h[0] + 1, h[1] + x) - special.betaln(*h),
    "binomial": lambda h, c, x: stats.betabinom.logpmf(x, c[0], *h),
    "exponential": lambda h, c, x: stats.lomax.logpdf(x, h[0], scale=h[1] * c[0]),
    "gaussian": lambda h, c, x: student(h, c).logpdf(x),
    "lognormal": lambda h, c, x: student(h, c).logpdf(np.log(x)) - np.log(x),
}


def limited_gamma_cdf(a, b, limit):
    prior = stats.gamma(a, scale=1 / b)
    return lambda x: prior.cdf(x) / prior.cdf(limit)


def dirichlet_parameters(hyper, eta):
    total = hyper.sum()
    return [(np.exp(eta[:, k]), stats.beta(a, total - a).cdf) for k, a in enumerate(hyper)]


def normal_parameters(hyper, eta):
    m, kappa, a, b, limit = hyper
    precision = -2 * eta[:, 1]
    mean = eta[:, 0] / precision
    return [
        (precision, limited_gamma_cdf(a, b, limit)),
        ((mean - m) * np.sqrt(kappa * precision), stats.norm.cdf),
    ]


#: Pairs of parameter draws and their distribution functions.
PARAMETERS = {
    "bernoulli": dirichlet_parameters,
    "categorical": dirichlet_parameters,
    "poisson": lambda h, eta: [(np.exp(eta[:, 0]), stats.gamma(h[0], scale=1 / h[1]).cdf)],
    "geometric": lambda h, eta: [(-np.expm1(eta[:, 0]), stats.beta(*h).cdf)],
    "binomial": dirichlet_parameters,
    "exponential": lambda h, eta: [(-eta[:, 0], limited_gamma_cdf(*h))],
    "gaussian": normal_parameters,
    "lognormal": normal_parameters,
}


# --- Marginal likelihood -------------------------------------------------------------------------


@known(MARGINALS)
@pytest.mark.parametrize("n", [1, 2, 8])
def test_marginal_likelihood_equals_numerical_integration(name, kind, n):
    case = make_case(name, kind)
    expected = MARGINALS[name](case, case.values[:n])
    np.testing.assert_allclose(case.log_marginal(case.values[:n]), expected, rtol=0, atol=1e-8)


@every_case
def test_marginal_likelihood_is_the_mean_likelihood_under_the_prior(name, kind):
    case, n = make_case(name, kind), 3
    # a prior that has seen data: under one far from the data a few draws would decide the mean
    case = replace(case, hyper=case.after(case.values))
    rng = np.random.default_rng(1)
    eta, log_partition = case.family.draw_parameters(rng, np.tile(case.hyper, (100_000, 1)))
    log_likelihood = case.log_density(eta, log_partition, case.values[:n]).sum(axis=1)
    expected = case.log_marginal(case.values[:n])
    ratio = np.exp(log_likelihood - expected)
    error = ratio.std() / np.sqrt(len(ratio))
    assert error < 0.05
    assert abs(ratio.mean() - 1) < 5 * error


@every_case
def test_empty_data_has_marginal_likelihood_one(name, kind):
    case = make_case(name, kind)
    t = case.features(case.values)[0].shape[1]
    np.testing.assert_array_equal(
        case.family.log_marginal(case.hyper, np.float64(0), np.zeros(t)), 0.0
    )
    np.testing.assert_allclose(case.after(case.values[:0]), case.hyper, rtol=1e-14)


@every_case
@pytest.mark.parametrize("gamma", [0.05, 0.5, 5.0])
def test_marginal_likelihood_equals_the_chain_of_predictives(name, kind, gamma):
    case = make_case(name, kind, gamma)
    chain, hyper = 0.0, case.hyper
    for value in case.values:
        chain += case.log_predictive(hyper, value)[0]
        hyper = case.after([value], hyper)
    np.testing.assert_allclose(case.log_marginal(case.values), chain, rtol=0, atol=1e-10)


@every_case
def test_posterior_does_not_depend_on_the_order_of_data(name, kind):
    case = make_case(name, kind)
    before = case.hyper.copy()
    together = case.after(case.values)
    one_by_one = case.hyper
    for value in case.values[::-1]:
        one_by_one = case.after([value], one_by_one)
    halves = case.after(case.values[:3], case.after(case.values[3:]))
    np.testing.assert_allclose(one_by_one, together, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(halves, together, rtol=1e-11, atol=1e-12)
    np.testing.assert_array_equal(case.hyper, before)


@every_case
def test_functions_broadcast_over_leading_axes(name, kind):
    case = make_case(name, kind)
    family, rng = case.family, np.random.default_rng(2)
    statistics, _ = case.features(case.values)
    take = rng.integers(0, 2, (2, 3, len(case.values))).astype(float)
    n, totals = take.sum(axis=-1), take @ statistics
    hyper = np.tile(case.hyper, (2, 1, 1))
    posterior = family.posterior(hyper, n, totals)
    marginal = family.log_marginal(hyper, n, totals)
    predictive = case.log_predictive(posterior, case.values[:4])
    eta, log_partition = family.draw_parameters(rng, posterior)
    assert posterior.shape == (2, 3, case.hyper.size)
    assert marginal.shape == (2, 3)
    assert predictive.shape == (2, 3, 4)
    assert eta.shape == (2, 3, statistics.shape[1])
    assert log_partition.shape == (2, 3)
    assert family.draw_values(rng, eta, case.constants).shape == (2, 3)
    assert family.draw_predictive(rng, posterior, case.constants).shape == (2, 3)
    for index in np.ndindex(2, 3):
        alone = family.posterior(case.hyper, n[index], totals[index])
        np.testing.assert_allclose(posterior[index], alone, rtol=1e-13)
        np.testing.assert_allclose(
            marginal[index], family.log_marginal(case.hyper, n[index], totals[index]), rtol=1e-11
        )
        np.testing.assert_allclose(
            predictive[index], case.log_predictive(alone, case.values[:4]), rtol=1e-11
        )


@every_continuous_family
def test_a_coarse_resolution_changes_the_marginal_likelihood(name):
    # or the limited cases of this file would test nothing
    free, limited = make_case(name, "free"), make_case(name, "limited")
    np.testing.assert_array_equal(free.values, limited.values)
    difference = free.log_marginal(free.values) - limited.log_marginal(free.values)
    assert abs(difference) > 1e-2


# --- Predictive density --------------------------------------------------------------------------


@every_case
@pytest.mark.parametrize("n", [0, 1, 8])
def test_predictive_sums_or_integrates_to_one(name, kind, n):
    case = make_case(name, kind)
    hyper = case.after(case.values[:n])
    assert_normalised(case, lambda x: case.log_predictive(hyper, x))


@known(PREDICTIVES, FREE)
@pytest.mark.parametrize("gamma", [0.1, 0.5, 5.0])
@pytest.mark.parametrize("n", [0, 8])
def test_predictive_equals_its_closed_form(name, kind, gamma, n):
    case = make_case(name, kind, gamma)
    hyper = case.after(case.values[:n])
    expected = PREDICTIVES[name](hyper, case.constants, case.values)
    actual = case.log_predictive(hyper, case.values)
    np.testing.assert_allclose(actual, expected, rtol=1e-10, atol=1e-10)


@known(PREDICTIVES, LIMITED)
def test_a_fine_resolution_leaves_the_closed_form_alone(name, kind):
    case = make_case(name, kind)
    column = describe_column("x", case.values, name, resolution=1e-7 * case.values.std(), gamma=5.0)
    constants = column.constants[0]
    assert np.isfinite(constants[-1])
    hyper = case.family.hyper(case.family.prior_center(5.0, constants), constants)
    actual = case.family.log_predictive(hyper, *column.features(0, case.values))
    expected = PREDICTIVES[name](hyper, constants, case.values)
    np.testing.assert_allclose(actual, expected, rtol=1e-10, atol=1e-10)


@every_case
def test_predictive_is_the_mean_density_under_the_posterior(name, kind):
    case = make_case(name, kind)
    hyper = case.after(case.values)
    rng = np.random.default_rng(3)
    eta, log_partition = case.family.draw_parameters(rng, np.tile(hyper, (50_000, 1)))
    density = np.exp(case.log_density(eta, log_partition, case.values[:5]))
    error = density.std(axis=0) / np.sqrt(len(density))
    expected = np.exp(case.log_predictive(hyper, case.values[:5]))
    assert (np.abs(density.mean(axis=0) - expected) <= 5 * error + 1e-12).all()
    assert (error < 0.05 * expected).all()


@every_family
def test_values_outside_the_support_have_predictive_density_zero(name):
    case = make_case(name, "free")
    candidates = np.array([-1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 7.0, 99.0, 99.5])
    outside = case.family.invalid(candidates, case.column.n_categories)
    for hyper in (case.hyper, case.after(case.values)):
        log_predictive = case.log_predictive(hyper, candidates)
        np.testing.assert_array_equal(np.isneginf(log_predictive), outside)
        assert np.isfinite(log_predictive[~outside]).all()


@pytest.mark.parametrize(("name", "kind"), [c for c in CASES if not FAMILIES[c[0]].one_hot])
@pytest.mark.parametrize("far", [1e4, 1e6, 1e15])
def test_predictive_of_far_values_is_small(name, kind, far):
    case = make_case(name, kind)
    near = case.log_predictive(case.hyper, case.values)
    for value in (far, -far):
        density = case.log_predictive(case.hyper, value)
        assert not np.isnan(density).any()
        assert (density < near).all()


#: Predictive masses written with scipy's beta function, which keeps its digits for huge counts.
HUGE_COUNTS = {
    "poisson": lambda h, x: (
        -np.log(x + h[0])
        - special.betaln(h[0], x + 1)
        + h[0] * np.log(h[1] / (1 + h[1]))
        - x * np.log1p(h[1])
    ),
    "geometric": lambda h, x: special.betaln(h[0] + 1, h[1] + x) - special.betaln(*h),
}


@pytest.mark.parametrize("name", sorted(HUGE_COUNTS))
@pytest.mark.parametrize("size", [1e3, 1e6, 1e9, 1e12, 1e15])
def test_huge_counts_are_refused_or_scored_right(name, size):
    """Bytes, populations, nanoseconds: counts that a double still holds exactly."""
    values = np.floor(size * np.array([0.2, 1.0, 1.7, 3.1]))
    try:
        column = describe_column("x", values, name)
    except ValueError:
        return
    family, constants = FAMILIES[name], column.constants[0]
    for shift in (0.0, 0.4):
        phi = family.prior_center(0.5, constants) + shift
        case = Case(family, column, family.hyper(phi, constants), values)
        # after data the reference too multiplies by a count, and keeps its digits up to 1e9 only
        for hyper in (case.hyper, case.after(values[:1]))[: 2 if size <= 1e9 else 1]:
            # a hundredth of a nat, while the masses themselves are about 1 / size
            expected = HUGE_COUNTS[name](hyper, values)
            np.testing.assert_allclose(case.log_predictive(hyper, values), expected, atol=1e-2)


@pytest.mark.parametrize(("name", "kind"), [c for c in CASES if c[0] in CONTINUOUS])
@pytest.mark.parametrize("far", [1e150, 1e200, 1e300])
def test_predictive_of_enormous_values_is_no_nan(name, kind, far):
    case = make_case(name, kind)
    for value in (far, -far):
        density = case.log_predictive(case.hyper, value)
        assert not np.isnan(density).any()
        assert (density < case.log_predictive(case.hyper, case.values)).all()


@every_case
def test_many_observations_neither_overflow_nor_lose_the_predictive(name, kind):
    case = make_case(name, kind)
    statistics, _ = case.features(case.values)
    copies = 125_000.0
    hyper = case.family.posterior(case.hyper, 8 * copies, copies * statistics.sum(axis=0))
    assert not np.isnan(hyper).any()
    assert np.isfinite(case.family.log_marginal(case.hyper, 8 * copies, copies * statistics.sum(0)))
    # with a million observations the predictive is the likelihood at the posterior's mode
    eta, log_partition = case.family.draw_parameters(np.random.default_rng(4), hyper)
    expected = case.log_density(eta, log_partition, case.values)
    # the parameter's relative spread is about 1e-3; the rounding of log Γ at 1e6 is below 1e-6
    np.testing.assert_allclose(case.log_predictive(hyper, case.values), expected, atol=0.02)
    assert_normalised(case, lambda x: case.log_predictive(hyper, x), tolerance=1e-6)


# --- Draws ---------------------------------------------------------------------------------------


@every_case
def test_drawn_parameters_define_a_normalised_density(name, kind):
    case = make_case(name, kind)
    eta, log_partition = case.family.draw_parameters(
        np.random.default_rng(5), np.tile(case.hyper, (5, 1))
    )
    assert_normalised(case, lambda x: case.log_density(eta, log_partition, x))


@known(PARAMETERS)
@pytest.mark.parametrize("n", [0, 8])
def test_drawn_parameters_have_the_posterior_distribution(name, kind, n):
    case = make_case(name, kind)
    hyper = case.after(case.values[:n])
    eta, _ = case.family.draw_parameters(np.random.default_rng(6), np.tile(hyper, (DRAWS, 1)))
    for draws, cdf in PARAMETERS[name](hyper, eta):
        assert stats.kstest(draws, cdf).pvalue > ALARM


@every_case
@pytest.mark.parametrize("seed", range(3))
def test_drawn_values_follow_the_density(name, kind, seed):
    case = make_case(name, kind, gamma=0.5, seed=seed)
    rng = np.random.default_rng(7)
    eta, log_partition = case.family.draw_parameters(rng, case.after(case.values))
    draws = case.family.draw_values(rng, np.tile(eta, (DRAWS, 1)), case.constants)
    assert draws.shape == (DRAWS,)
    assert_drawn_from(case, draws, lambda x: case.log_density(eta, log_partition, x))


@every_case
@pytest.mark.parametrize("n", [0, 8])
def test_predictive_draws_follow_the_predictive(name, kind, n):
    case = make_case(name, kind)
    hyper = case.after(case.values[:n])
    rng = np.random.default_rng(8)
    draws = case.family.draw_predictive(rng, np.tile(hyper, (DRAWS, 1)), case.constants)
    assert_drawn_from(case, draws, lambda x: case.log_predictive(hyper, x))


@every_case
@pytest.mark.parametrize("gamma", [1e-3, 0.5, 1e3])
def test_drawn_parameters_are_finite_however_weak_the_prior(name, kind, gamma):
    # an empty leaf draws its parameters from the prior itself
    case = make_case(name, kind)
    hyper = case.family.hyper(case.family.prior_center(gamma, case.constants), case.constants)
    eta, log_partition = case.family.draw_parameters(
        np.random.default_rng(9), np.tile(hyper, (2000, 1))
    )
    assert np.isfinite(eta).all()
    assert np.isfinite(log_partition).all()


@every_case
def test_drawn_values_lie_in_the_support(name, kind):
    # parameters from the prior, the prior's coordinates from theirs: what an empty leaf may do
    case = make_case(name, kind, gamma=0.5)
    family, rng = case.family, np.random.default_rng(10)
    center = family.prior_center(0.5, case.constants)
    spread = family.prior_spread(case.constants)
    phi = center + spread * rng.standard_normal((20_000, center.size))
    draws = family.draw_predictive(rng, family.hyper(phi, case.constants), case.constants)
    outside = family.invalid(draws, case.column.n_categories)
    assert not outside.any(), np.unique(draws[outside])


@every_case
@pytest.mark.parametrize("far", [0.0, 40.0], ids=["middle", "tail"])
@pytest.mark.parametrize("halving", [False, True], ids=["own", "halving"])
def test_values_drawn_between_bounds_follow_the_density_there(name, kind, far, halving):
    """By what `log_mass` says of parts of the interval, also where it is hardly probable."""
    case = make_case(name, kind)
    family, rng = case.family, np.random.default_rng(11)
    eta, _ = family.draw_parameters(rng, case.after(case.values))
    spread = case.sample.std() or 1.0
    low = np.quantile(case.sample, 0.3) + far * spread
    high = low + 2 * spread
    if family.measure == "discrete":
        last = np.inf if not case.column.n_categories else case.column.n_categories - 1.0
        low, high = min(np.floor(low), last), min(np.ceil(high), last)
    draw = partial(Family.draw_between, family) if halving else family.draw_between
    draws = draw(
        rng, np.tile(eta, (DRAWS, 1)), np.full(DRAWS, low), np.full(DRAWS, high), case.constants
    )
    assert ((draws >= low) & (draws <= high)).all()
    whole = family.log_mass(eta, low, high, case.constants)
    if family.measure == "continuous":
        shares = np.exp(family.log_mass(eta, low, draws[:, None], case.constants)[:, 0] - whole)
        assert stats.kstest(shares, "uniform").pvalue > ALARM
        return
    points = np.arange(low, high + 1)
    expected = np.exp([family.log_mass(eta, x, x, case.constants) - whole for x in points]).ravel()
    seen = np.array([(draws == x).sum() for x in points])
    assert seen.sum() == DRAWS
    # values with fewer than 8 expected draws are put together
    rare = expected * DRAWS < 8
    seen, expected = (np.append(part[~rare], part[rare].sum()) for part in (seen, expected))
    if len(expected) > 2 or expected[-1] * DRAWS > 8:
        kept = expected > 0
        assert stats.chisquare(seen[kept], DRAWS * expected[kept]).pvalue > ALARM


# --- Units and resolution ------------------------------------------------------------------------


@every_continuous_family
@pytest.mark.parametrize("unit", [1e-3, 1e3, 1e9])
@pytest.mark.parametrize("resolution", [None, 0.0, 0.5, 3.0])
def test_changing_the_unit_only_shifts_log_densities(name, unit, resolution):
    """Densities in other units differ by the Jacobian, whatever the resolution (in deviations)."""
    values = make_case(name, "free").values
    log_densities = []
    for scale in (1.0, unit):
        given = None if resolution is None else scale * resolution * values.std()
        column = describe_column("x", scale * values, name, resolution=given)
        family, constants = FAMILIES[name], column.constants[0]
        hyper = family.hyper(family.prior_center(column.gamma, constants), constants)
        case = Case(family, column, hyper, scale * values)
        posterior = case.after(case.values)
        log_densities.append(
            np.concatenate(
                [
                    case.log_predictive(hyper, case.values),
                    case.log_predictive(posterior, case.values),
                    [case.log_marginal(case.values) / len(values)],
                ]
            )
        )
    np.testing.assert_allclose(log_densities[1], log_densities[0] - np.log(unit), atol=1e-9)


#: Highest density times resolution: of a Gaussian of standard deviation δ/2, an exponential of 2δ.
PEAKS = {
    "gaussian": 2 / np.sqrt(2 * np.pi),
    "lognormal": 2 / np.sqrt(2 * np.pi),
    "exponential": 0.5,
}


@every_continuous_family
def test_repeated_values_make_no_spike(name):
    """A leaf of thousands of identical values stays as wide as the recording."""
    family = FAMILIES[name]
    rng = np.random.default_rng(11)
    values = np.round(example_values(family, rng, 300)[0], 1)
    values = np.append(values[~family.invalid(values, 0)], 1.0)
    resolution = 0.1
    column = describe_column("x", values, name, resolution=resolution)
    sharp = describe_column("x", values, name, resolution=0.0)
    highest = np.log(PEAKS.get(name, 1.0) / resolution)
    repeated = np.array([0.0, *np.quantile(values, [0, 0.25, 0.5, 0.75, 1], method="nearest")])
    repeated = repeated[~family.invalid(repeated, 0)]
    spikes = []
    for value in repeated:
        for described in (column, sharp):
            constants = described.constants[0]
            hyper = family.hyper(family.prior_center(0.5, constants), constants)
            case = Case(family, described, hyper, np.full(5000, value))
            posterior = case.after(case.sample)
            density = case.log_predictive(posterior, [value])[0]
            if described is column:
                assert density <= highest + 1e-9
                nearby = case.log_predictive(posterior, value + resolution * np.array([0.3, 1, 4]))
                assert (nearby <= highest + 1e-9).all()
            else:
                spikes.append(density - highest)
    # without a resolution the same leaf is a spike: the floor is what prevents it
    assert max(spikes) > 0


@pytest.mark.parametrize("value", [3.0, 3.5])
def test_densities_of_recorded_values_add_to_one(value):
    """Times the resolution, wherever the leaf lies; a floor of δ²/12 let them add to 1.39."""
    family = FAMILIES["gaussian"]
    column = describe_column("x", np.arange(7.0), "gaussian", resolution=1.0)
    constants = column.constants[0]
    hyper = family.hyper(family.prior_center(0.5, constants), constants)
    case = Case(family, column, hyper, np.full(5000, value))
    recorded = np.arange(-30.0, 37.0)
    total = np.exp(case.log_predictive(case.after(case.sample), recorded)).sum()
    assert total == pytest.approx(1.0, abs=0.02)


@every_continuous_family
def test_drawn_scales_respect_the_resolution(name):
    """No drawn density is higher than the family's peak at its least width."""
    case = make_case(name, "limited")
    value = np.median(case.values)
    hyper = case.after(np.full(5000, value))
    eta, log_partition = case.family.draw_parameters(
        np.random.default_rng(12), np.tile(hyper, (500, 1))
    )
    points, _ = sample_space(case)
    highest = np.log(PEAKS.get(name, 1.0) / case.column.resolution)
    # the floor of a log-normal is that of the smallest value seen, and its mode may lie below
    points = points[points >= case.sample.min()]
    assert case.log_density(eta, log_partition, points).max() <= highest + 1e-9


@pytest.mark.parametrize(("name", "index"), [("gaussian", 2), ("lognormal", 2), ("exponential", 1)])
def test_normalisers_of_limited_priors_stay_finite_when_the_limit_cuts_deep(name, index):
    case = make_case(name, "limited")
    constants = case.constants.copy()
    constants[index] *= 1e-6
    hyper = case.family.hyper(case.family.prior_center(0.5, constants), constants)
    statistics, _ = case.features(case.values)
    evidence = case.family.log_marginal(hyper, np.float64(8), statistics.sum(axis=0))
    assert np.isfinite(evidence)
    assert np.isfinite(log_gammainc(hyper[-3], hyper[-2] * hyper[-1]))


@pytest.mark.parametrize("mean", [0.5, 60.0, 5_000.0])
def test_counts_of_leaves_without_rows_stay_within_reason(mean):
    family, constants = FAMILIES["geometric"], np.array([mean])
    hyper = family.hyper(family.prior_center(0.5, constants), constants)
    beyond = np.exp(family.log_mass_predictive(hyper, 100.0 * mean + 10.0, np.inf, constants))
    assert beyond < 2e-3
