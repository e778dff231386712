"""The model: hyper-parameters, their priors and their refusals."""

import numpy as np
import pytest
from scipy import stats

from bayesspn.graphs import RegionGraph
from bayesspn.leaves.columns import Leaves, describe_column
from bayesspn.model.generative import Learned, Model, draw_hyper, start_hyper

NOT_POSITIVE = [0, 0.0, -1, -0.5, float("nan"), float("inf"), float("-inf")]


def make_leaves(gamma=0.5):
    values = np.array([0.0, 1.0, 2.0, 5.0])
    return Leaves(
        (
            describe_column("mixed", values, ("poisson", "geometric"), gamma=gamma),
            describe_column("real", values, "gaussian", gamma=gamma),
            describe_column("kind", np.array([0.0, 1.0, 2.0]), "categorical", gamma=gamma),
            describe_column("flag", np.array([0.0, 1.0]), "bernoulli", gamma=gamma),
        )
    )


def make_model(**settings):
    return Model(
        RegionGraph(depth=3, partitions=(2, 1, 1), sums=2, leaves=2), make_leaves(), **settings
    )


@pytest.mark.parametrize("name", ["alpha", "beta", "mixing"])
@pytest.mark.parametrize("value", NOT_POSITIVE)
def test_concentrations_that_are_not_positive_are_refused_by_name(name, value):
    with pytest.raises(ValueError, match=f"{name} must be positive and finite"):
        make_model(**{name: value})


@pytest.mark.parametrize("name", ["median", "spread"])
@pytest.mark.parametrize("value", NOT_POSITIVE)
def test_priors_that_are_not_positive_are_refused_by_name(name, value):
    with pytest.raises(ValueError, match=f"{name} must be positive and finite"):
        Learned(**{"median": 1.0, "spread": 1.0, name: value})


def test_a_chain_starts_from_fixed_values_and_prior_medians():
    model = make_model(alpha=0.25, beta=Learned(3.0, 0.5), mixing=Learned(0.7, 2.0))
    hyper = start_hyper(model)
    np.testing.assert_array_equal(hyper.alpha, [0.25, 0.25, 0.25])
    np.testing.assert_array_equal(hyper.beta, [3.0])
    np.testing.assert_array_equal(hyper.mixing, [0.7])
    for phi, group in zip(hyper.phi, model.leaves.groups, strict=True):
        np.testing.assert_array_equal(phi, group.center)


def test_shapes_follow_graph_and_columns():
    model = make_model()
    assert model.n_columns == 4
    for hyper in (start_hyper(model), draw_hyper(np.random.default_rng(0), model)):
        assert hyper.alpha.shape == (3,)
        assert hyper.beta.shape == (1,)
        assert hyper.mixing.shape == (1,)
        assert [phi.shape for phi in hyper.phi] == [g.center.shape for g in model.leaves.groups]


def test_fixed_hyper_parameters_stay_fixed():
    model = make_model(alpha=0.2, beta=2.0, mixing=0.4, learn_leaf_priors=False)
    drawn, start = draw_hyper(np.random.default_rng(1), model), start_hyper(model)
    for a, b in zip(drawn[:3], start[:3], strict=True):
        np.testing.assert_array_equal(a, b)
    for a, b in zip(drawn.phi, start.phi, strict=True):
        np.testing.assert_array_equal(a, b)


def test_learned_hyper_parameters_are_drawn_from_their_priors():
    """Kolmogorov–Smirnov tests of 2,000 draws; 3 at 1e-4 and a few more for φ below."""
    priors = {"alpha": Learned(0.2, 1.5), "beta": Learned(1.0, 1.0), "mixing": Learned(0.3, 0.7)}
    model = make_model(**priors)
    rng = np.random.default_rng(2)
    draws = [draw_hyper(rng, model) for _ in range(2000)]
    for name, prior in priors.items():
        values = np.stack([getattr(hyper, name) for hyper in draws])
        standard = (np.log(values) - np.log(prior.median)) / prior.spread
        assert stats.kstest(standard.ravel(), "norm").pvalue > 1e-4
    for g, group in enumerate(model.leaves.groups):
        phi = np.stack([hyper.phi[g] for hyper in draws])
        standard = (phi - group.center) / group.spread
        assert stats.kstest(standard.ravel(), "norm").pvalue > 1e-4
        # coordinates are drawn independently: five standard errors
        flat = standard.reshape(len(draws), -1)
        correlation = np.corrcoef(flat.T) - np.eye(flat.shape[1])
        assert np.abs(correlation).max() < 5 / np.sqrt(len(draws))


def test_log_density_is_the_normal_density_of_the_logarithm():
    prior = Learned(0.3, 1.7)
    log_value = np.linspace(-6, 4, 21)
    expected = stats.norm.logpdf(log_value, np.log(0.3), 1.7)
    difference = prior.log_density(log_value) - expected
    np.testing.assert_allclose(difference, difference[0], atol=1e-12)


def test_levels_have_concentrations_of_their_own():
    hyper = draw_hyper(np.random.default_rng(3), make_model())
    assert len(set(hyper.alpha)) == 3


@pytest.mark.parametrize("gamma", [0.05, 0.5, 20.0])
def test_gamma_is_the_strength_of_the_leaf_priors(gamma):
    leaves = make_leaves(gamma)
    for group in leaves.groups:
        if group.family.one_hot:
            hyper = group.hyper(group.center)
            np.testing.assert_allclose(hyper, gamma)  # Beta(½, ½) and the like


def test_a_model_needs_a_column():
    with pytest.raises(ValueError, match="at least one column"):
        Leaves(())
