"""Probabilities of intervals and moments within them, for every leaf family.

The reference is the family's own density: integrated with Gauss–Legendre panels in the log domain,
or added up count by count. The tests run over `FAMILIES`, so a new family is picked up by itself.
"""

from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from scipy import special, stats

from bayesspn import leaves
from bayesspn.leaves.columns import describe_column

#: Atoms never stand alone: they have tests of their own.
FAMILIES = {name: family for name, family in leaves.FAMILIES.items() if name != "atoms"}

NAMES = sorted(FAMILIES)
CONTINUOUS = [name for name in NAMES if FAMILIES[name].measure == "continuous"]
DISCRETE = [name for name in NAMES if FAMILIES[name].measure == "discrete"]
CASES = [(name, 0.0) for name in NAMES] + [(name, 1.5) for name in CONTINUOUS]

every_family = pytest.mark.parametrize("name", NAMES)
every_case = pytest.mark.parametrize(("name", "resolution"), CASES)
drawn_and_predictive = pytest.mark.parametrize("drawn", [True, False], ids=["drawn", "predictive"])


@cache
def make_column(name, resolution=0.0):
    """An example column of small whole numbers, which every family can describe."""
    values = np.array([1.0, 1.0, 2.0, 3.0, 3.0, 5.0, 2.0, 4.0])
    if name == "bernoulli":
        values = np.minimum(values - 1, 1.0)
    return describe_column("x", values, name, resolution=resolution)


class Question:
    """Interval probabilities of one family, drawn or predictive, and its own density."""

    def __init__(self, name, resolution=0.0, drawn=True, gamma=0.5, n=3, seed=0, scale=1.0):
        self.family, self.column = FAMILIES[name], make_column(name, resolution)
        self.constants, self.drawn = self.column.constants[0], drawn
        rng = np.random.default_rng([seed, *name.encode()])
        center = self.family.prior_center(gamma, self.constants)
        spread = self.family.prior_spread(self.constants)
        phi = center + scale * spread * rng.standard_normal(center.shape)
        statistics, _ = self.column.features(0, np.array([1.0, 0.0 if name in DISCRETE else 3.0]))
        totals = n * statistics.sum(axis=0)
        hyper = self.family.hyper(phi, self.constants)
        self.hyper = self.family.posterior(hyper, np.float64(2 * n), totals)
        self.eta, self.log_partition = self.family.draw_parameters(rng, self.hyper)

    def log_density(self, values):
        statistics, log_base = self.column.features(0, np.asarray(values, dtype=float))
        if not self.drawn:
            return self.family.log_predictive(self.hyper, statistics, log_base)
        return log_base + statistics @ self.eta - self.log_partition

    def log_mass(self, low, high):
        if self.drawn:
            return self.family.log_mass(self.eta, low, high, self.constants)
        return self.family.log_mass_predictive(self.hyper, low, high, self.constants)

    def moments(self, low, high):
        if self.drawn:
            return self.family.moments(self.eta, low, high, self.constants)
        return self.family.moments_predictive(self.hyper, low, high, self.constants)

    def reference(self, low, high):
        """Log mass and moments by quadrature or summation of the density."""
        if self.family.measure == "discrete":
            x = np.arange(np.ceil(max(low, 0.0)), np.floor(high) + 1)
            log_weights = np.zeros(len(x))
        else:
            low = max(low, 0.0) if self.family.invalid(np.array([-1.0]), 0)[0] else low
            x, log_weights = panels(low, high)
        terms = self.log_density(x) + log_weights
        scaled = np.exp(terms)
        return special.logsumexp(terms), np.stack([scaled @ x**k for k in range(3)])


def panels(low, high, n=400):
    """Points and log weights of Gauss–Legendre panels, finer towards both ends and zero."""
    nodes, weights = np.polynomial.legendre.leggauss(12)
    inner = 0.5 * (1 - np.cos(np.linspace(0, np.pi, n + 1)))
    ends = low + (high - low) * inner
    if low <= 0.0 < high:
        ends = np.union1d(ends, high * np.logspace(-12, 0, 200))
    half = np.diff(ends)[:, None] / 2
    return (ends[:-1, None] + half * (nodes + 1)).ravel(), np.log(half * weights).ravel()


def many_panels(ends):
    """Points and log weights of a few panels between each two of the ends."""
    parts = [panels(*pair, n=2) for pair in pairwise(ends)]
    x, log_weights = zip(*parts, strict=True)
    return np.concatenate(x), np.concatenate(log_weights)


@every_case
@drawn_and_predictive
@pytest.mark.parametrize(
    "interval", [(0.5, 3.0), (1.0, 1.7), (-0.3, 8.0), (2.0, 40.0), (3.0, 3.01)]
)
def test_masses_and_moments_are_integrals_of_the_density(name, resolution, drawn, interval):
    if name == "lognormal":  # whose mass below any positive number is not negligible
        interval = (max(interval[0], 1e-3), interval[1])
    for seed in range(4):
        question = Question(name, resolution, drawn, seed=seed, n=(0, 0, 3, 500)[seed])
        with np.errstate(divide="ignore"):
            log_mass, moments = question.reference(*interval)
        np.testing.assert_allclose(question.log_mass(*interval), log_mass, rtol=1e-9, atol=2e-9)
        np.testing.assert_allclose(question.moments(*interval), moments, rtol=2e-8, atol=1e-300)


@every_case
@drawn_and_predictive
@pytest.mark.parametrize("gamma", [1e-3, 0.5, 1e4])
def test_the_whole_line_has_probability_one(name, resolution, drawn, gamma):
    question = Question(name, resolution, drawn, gamma=gamma)
    np.testing.assert_allclose(question.log_mass(-np.inf, np.inf), 0.0, atol=1e-9)
    np.testing.assert_allclose(question.moments(-np.inf, np.inf)[0], 1.0, atol=1e-9)


@every_case
@drawn_and_predictive
def test_adjacent_intervals_add_up(name, resolution, drawn):
    ends = np.array([-np.inf, -40.25, -1.5, 0.25, 0.2501, 1.5, 2.25, 7.5, 300.5, 1e7 + 0.5, np.inf])
    for seed in range(4):
        question = Question(name, resolution, drawn, seed=seed)
        parts = question.log_mass(ends[:-1], ends[1:])
        np.testing.assert_allclose(special.logsumexp(parts), 0.0, atol=2e-9)
        up_to = special.logsumexp(parts[:6])
        np.testing.assert_allclose(question.log_mass(-np.inf, 2.25), up_to, atol=2e-9)
        finite = question.moments(ends[1:-2], ends[2:-1]).sum(axis=-1)
        whole = question.moments(ends[1], ends[-2])
        np.testing.assert_allclose(whole, finite, rtol=2e-8)


@every_case
@drawn_and_predictive
def test_moments_begin_with_the_mass(name, resolution, drawn):
    low = np.array([-3.0, 0.0, 0.9, 2.0, 30.0])
    question = Question(name, resolution, drawn)
    mass, first, second = question.moments(low, low + 2.5)
    np.testing.assert_allclose(mass, np.exp(question.log_mass(low, low + 2.5)), rtol=1e-8)
    assert (mass * second >= first**2 * (1 - 1e-9)).all()
    assert (first >= low * mass * (1 - 1e-9) - 1e-12).all()
    assert (first <= (low + 2.5) * mass * (1 + 1e-9)).all()


@every_case
@drawn_and_predictive
def test_empty_intervals_have_no_mass(name, resolution, drawn):
    question = Question(name, resolution, drawn)
    low = np.array([2.0, np.inf, 0.75, np.inf, -5.5])
    high = np.array([1.0, np.inf, 0.5, 3.0, -6.5])
    np.testing.assert_array_equal(question.log_mass(low, high), -np.inf)
    np.testing.assert_array_equal(question.moments(low, high), 0.0)


@pytest.mark.parametrize("name", CONTINUOUS)
@drawn_and_predictive
def test_a_point_of_a_continuous_family_has_no_mass(name, drawn):
    question = Question(name, drawn=drawn)
    assert question.log_mass(1.25, 1.25) == -np.inf
    np.testing.assert_array_equal(question.moments(1.25, 1.25), 0.0)


@pytest.mark.parametrize("name", DISCRETE)
@drawn_and_predictive
def test_a_point_of_a_discrete_family_has_its_probability(name, drawn):
    for seed in range(4):
        question = Question(name, drawn=drawn, seed=seed)
        points = np.arange(2.0) if FAMILIES[name].one_hot else np.array([0.0, 1, 2, 7, 40, 1000])
        expected = question.log_density(points)
        np.testing.assert_allclose(
            question.log_mass(points, points), expected, rtol=1e-10, atol=1e-10
        )
        inside = question.log_mass(points - 0.5, points + 0.9)
        np.testing.assert_allclose(inside, expected, rtol=1e-10, atol=1e-10)
    assert question.log_mass(0.1, 0.9) == -np.inf


@every_family
@drawn_and_predictive
def test_ends_broadcast_with_parameters(name, drawn):
    question = Question(name, drawn=drawn)
    stacked = np.tile(question.eta if drawn else question.hyper, (3, 4, 1))
    family, constants = question.family, question.constants
    log_mass = family.log_mass if drawn else family.log_mass_predictive
    moments = family.moments if drawn else family.moments_predictive
    low = np.array([-1.0, 0.0, 0.5, 1.0, 2.0])[:, None, None]
    result = log_mass(stacked, low, 4.0, constants)
    assert result.shape == (5, 3, 4)
    assert moments(stacked, low, np.array(4.0), constants).shape == (3, 5, 3, 4)
    for i, end in enumerate(low.ravel()):
        np.testing.assert_array_equal(result[i], question.log_mass(end, 4.0))
    assert log_mass(stacked, 0.0, np.full(4, 3.0), constants).shape == (3, 4)


@every_case
def test_predictive_mass_is_the_mean_of_drawn_masses(name, resolution):
    """Monte Carlo over 40,000 draws: five standard errors, 2e-6 false alarms per comparison."""
    question = Question(name, resolution, n=2)
    rng = np.random.default_rng(1)
    eta, _ = question.family.draw_parameters(rng, np.tile(question.hyper, (40_000, 1)))
    for low, high in [(-np.inf, 0.5), (0.0, 1.0), (1.0, 2.5), (3.0, 30.0)]:
        given = np.exp(question.family.log_mass(eta, low, high, question.constants))
        mass = np.exp(Question(name, resolution, drawn=False, n=2).log_mass(low, high))
        error = given.std() / np.sqrt(len(given))
        assert abs(given.mean() - mass) <= 5 * error + 1e-12


@every_case
@drawn_and_predictive
def test_nothing_is_undefined_however_odd_the_parameters(name, resolution, drawn):
    ends = np.array([-np.inf, -1e300, -1e9, -1.0, 0.0, 1e-300, 0.7, 3.0, 1e9, 1e200, 1e308, np.inf])
    low, high = (grid.ravel() for grid in np.meshgrid(ends, ends))
    for seed in range(12):
        gamma, n = 10.0 ** (seed % 6 - 3), (0, 0, 1, 10**6)[seed % 4]
        question = Question(name, resolution, drawn, gamma=gamma, n=n, seed=seed, scale=2.0)
        log_mass, moments = question.log_mass(low, high), question.moments(low, high)
        assert not np.isnan(log_mass).any()
        assert not np.isnan(moments).any()
        assert (log_mass <= 0).all()
        assert (moments[[0, 2]] >= 0).all()
        assert (log_mass[low > high] == -np.inf).all()


# --- Tails, limits and huge counts ---------------------------------------------------------------


def normal_log_mass_far_out(low, width):
    """The integral of φ from low to low + width, in the log domain."""
    x, log_weights = panels(low, low + width, n=50)
    return special.logsumexp(stats.norm.logpdf(x) + log_weights)


@pytest.mark.parametrize("far", [5.0, 30.0, 1000.0])
@pytest.mark.parametrize("width", [1e-5, 1e-2, 0.3])
@pytest.mark.parametrize("side", [-1, 1])
def test_drawn_gaussians_are_exact_in_the_tails(far, width, side):
    eta, constants = np.array([0.0, -0.5]), np.array([0.0, 1.0, np.inf])
    low, high = sorted((side * far, side * (far + width)))
    expected = normal_log_mass_far_out(far, (far + width) - far)
    gaussian, lognormal = FAMILIES["gaussian"], FAMILIES["lognormal"]
    np.testing.assert_allclose(gaussian.log_mass(eta, low, high, constants), expected, atol=1e-9)
    beyond = gaussian.log_mass(eta, *((far, np.inf) if side > 0 else (-np.inf, -far)), constants)
    np.testing.assert_allclose(beyond, special.log_ndtr(-far), rtol=1e-14)
    if far < 600:
        ends = np.exp([low, high])
        x = np.log(ends)
        expected = normal_log_mass_far_out(
            *((x[0], x[1] - x[0]) if side > 0 else (-x[1], x[1] - x[0]))
        )
        given = lognormal.log_mass(eta, *ends, constants)
        np.testing.assert_allclose(given, expected, atol=1e-9)


@pytest.mark.parametrize("a", [1e-3, 0.5, 1.0, 4.0, 1e3, 1e6])
@pytest.mark.parametrize("interval", [(30.0, 30.001), (30.0, 31.0), (-1e5, -1e3), (1e9, 1e12)])
def test_predictive_gaussians_are_exact_in_the_tails(a, interval):
    hyper, constants = np.array([0.0, 2.0, a, 1.5 * a, np.inf]), np.array([0.0, 1.0, np.inf])
    student = stats.t(2 * a, 0.0, 1.5)
    low, high = sorted(np.abs(interval))
    ends = np.append(low, low + (high - low) * np.logspace(-8, 0, 120))
    ends = np.unique(ends)
    x, log_weights = many_panels(ends)
    expected = special.logsumexp(student.logpdf(x) + log_weights)
    given = FAMILIES["gaussian"].log_mass_predictive(hyper, *interval, constants)
    np.testing.assert_allclose(given, expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("a", [0.2, 0.5, 0.999999, 1.0, 1.5, 30.0])
def test_moments_of_heavy_tails_have_no_poles(a):
    """Student's closed forms break down at ν = 1 and 2, integrals over finite ranges do not."""
    hyper, constants = np.array([0.0, 2.0, a, 1.5, np.inf]), np.array([0.5, 1.0, np.inf])
    low, high = -3.0, 1e6
    ends = np.concatenate([np.linspace(low, 10, 40), np.geomspace(10, high, 80)[1:]])
    x, log_weights = many_panels(ends)
    density = stats.t(2 * a, 0.5, np.sqrt(1.5 * 1.5 / a)).pdf(x) * np.exp(log_weights)
    given = FAMILIES["gaussian"].moments_predictive(hyper, low, high, constants)
    np.testing.assert_allclose(given, [density @ x**k for k in range(3)], rtol=1e-8)


def test_unbounded_moments_are_infinite_where_they_diverge():
    constants = np.array([0.0, 1.0, np.inf])
    for a in (0.4, 0.9, 3.0):
        hyper = np.array([0.0, 2.0, a, 1.5, np.inf])
        given = FAMILIES["gaussian"].moments_predictive(hyper, 0.0, np.inf, constants)
        np.testing.assert_array_equal(np.isinf(given), [False, 2 * a <= 1, 2 * a <= 2])
    heavy = np.array([0.0, 2.0, 0.4, 1.5, np.inf])
    given_below = FAMILIES["gaussian"].moments_predictive(heavy, -np.inf, 1.0, constants)
    np.testing.assert_array_equal(given_below[1:], [-np.inf, np.inf])
    variance = stats.t(6, 0, np.sqrt(1.5 * 1.5 / 3)).var()
    np.testing.assert_allclose(given[2], 0.5 * variance, rtol=1e-8)
    given = FAMILIES["lognormal"].moments_predictive(hyper, 0.0, np.inf, constants)
    np.testing.assert_array_equal(np.isinf(given), [False, True, True])
    for a, infinite in [(0.5, [False, True, True]), (1.5, [False, False, True])]:
        given = FAMILIES["exponential"].moments_predictive(
            np.array([a, 1.0, np.inf]), 0.0, np.inf, np.array([1.0, np.inf])
        )
        np.testing.assert_array_equal(np.isinf(given), infinite)
        given = FAMILIES["geometric"].moments_predictive(np.array([a, 2.0]), 0, np.inf, np.ones(1))
        np.testing.assert_array_equal(np.isinf(given), infinite)


def test_drawn_lognormals_have_the_closed_moments():
    eta, constants = np.array([0.6, -1.0]), np.array([0.2, 1.3, np.inf])
    mean, variance = 0.2 + 1.3 * 0.3, 1.3**2 / 2
    expected = [np.exp(k * mean + k * k * variance / 2) for k in range(3)]
    given = FAMILIES["lognormal"].moments(eta, -5.0, np.inf, constants)
    np.testing.assert_allclose(given, expected, rtol=1e-13)


@pytest.mark.parametrize("rate", [3.0, 1e3, 1e6, 1e9])
def test_huge_poisson_counts_keep_their_digits(rate):
    """Against sums of the probability itself, and the identity E[x; I] = λ P(x − 1 in I)."""
    family, eta, constants = FAMILIES["poisson"], np.array([np.log(rate)]), np.ones(1)
    width = np.sqrt(rate)
    for low, high in [(-3, 2), (-0.1, 0.2), (5, 6), (30, 31), (-9, -8), (-40, -30), (4, np.inf)]:
        low, high = np.round(rate + low * width), np.round(rate + high * width)
        if high < 3:
            continue
        moments = family.moments(eta, low, high, constants)
        shifted = [np.exp(family.log_mass(eta, low - k, high - k, constants)) for k in range(3)]
        np.testing.assert_allclose(moments[1], rate * shifted[1], rtol=1e-8)
        np.testing.assert_allclose(moments[2], rate**2 * shifted[2] + moments[1], rtol=1e-8)
        if high < np.inf and rate <= 1e6:
            x = np.arange(low, high + 1)
            expected = special.logsumexp(x * np.log(rate) - rate - special.gammaln(x + 1))
            given = family.log_mass(eta, low, high, constants)
            np.testing.assert_allclose(given, expected, rtol=1e-9, atol=1e-8)


@pytest.mark.parametrize(("a", "b"), [(0.01, 1e-9), (3.0, 1e-9), (1e9, 1.0), (1e12, 1e3)])
def test_huge_negative_binomial_counts_have_the_known_moments(a, b):
    given = FAMILIES["poisson"].moments_predictive(np.array([a, b]), 0, np.inf, np.ones(1))
    mean = a / b
    np.testing.assert_allclose(given, [1, mean, mean + mean / b + mean**2], rtol=1e-8)


@pytest.mark.parametrize(("a", "b"), [(3.0, 1e9), (50.0, 1e4), (1e5, 1e9), (20.0, 0.5)])
def test_huge_geometric_counts_have_the_known_moments(a, b):
    given = FAMILIES["geometric"].moments_predictive(np.array([a, b]), 0, np.inf, np.ones(1))
    mean = b / (a - 1)
    np.testing.assert_allclose(given, [1, mean, mean * (a + 2 * b) / (a - 2)], rtol=1e-7)
    for p in (0.4, 1e-3, 1e-9):
        given = FAMILIES["geometric"].moments(np.array([np.log1p(-p)]), 0, np.inf, np.ones(1))
        np.testing.assert_allclose(given, [1, (1 - p) / p, (1 - p) * (2 - p) / p**2], rtol=1e-8)


@pytest.mark.parametrize("a", [1e-3, 1.0, 2.0, 2.000001, 7.0])
def test_geometric_predictive_moments_have_no_poles(a):
    b, k = 2.5, np.arange(3.0, 200_001.0)
    mass = np.exp(special.betaln(a + 1, b + k) - special.betaln(a, b))
    given = FAMILIES["geometric"].moments_predictive(np.array([a, b]), 3, 200_000, np.ones(1))
    np.testing.assert_allclose(given, [mass @ k**j for j in range(3)], rtol=1e-8)


@pytest.mark.parametrize("deep", [1e-6, 1e-2, 0.3, 1.0, 3.0])
@pytest.mark.parametrize("a", [0.3, 4.0, 300.0])
def test_active_limits_are_integrated_with_the_density(a, deep):
    """``deep`` is the limit over the mean of the unlimited prior."""
    for name, lead in (("gaussian", [0.1, 3.0]), ("lognormal", [0.1, 3.0]), ("exponential", [])):
        family, column = FAMILIES[name], make_column(name)
        hyper = np.array([*lead, a, a, deep])
        unit = 1 / np.sqrt(deep) if lead else 1 / deep
        location, scale = (column.constants[0][:2]) if lead else (0.0, column.constants[0][0])
        for below, above in [(-2.0, 1.5), (0.1, 0.2), (6.0, 7.0)]:
            below = below if lead else max(below, 0.0)
            ends = np.linspace(below, above, 50) * unit
            y, log_weights = many_panels(ends)
            x, low, high = (location + scale * part for part in (y, ends[0], ends[-1]))
            log_weights = log_weights + np.log(scale)
            if name == "lognormal":
                if max(abs(low), abs(high)) > 300:
                    continue
                log_weights, x = log_weights + x, np.exp(x)
                low, high = np.exp(low), np.exp(high)
            terms = family.log_predictive(hyper, *column.features(0, x)) + log_weights
            given = family.log_mass_predictive(hyper, low, high, column.constants[0])
            np.testing.assert_allclose(given, special.logsumexp(terms), atol=1e-8)
            given = family.moments_predictive(hyper, low, high, column.constants[0])
            expected = np.array([np.exp(terms) @ x**k for k in range(3)])
            np.testing.assert_allclose(given, expected, rtol=1e-8, atol=1e-9 * abs(expected).max())
