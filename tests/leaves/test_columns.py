"""Columns: what is read off the data, what is refused, and how columns are grouped."""

import numpy as np
import pytest

from bayesspn import leaves
from bayesspn.leaves.columns import DEFAULT_GAMMA, Leaves, describe_column
from bayesspn.leaves.grid_detection import smallest_gap

#: Atoms never stand alone: they have tests of their own.
FAMILIES = {name: family for name, family in leaves.FAMILIES.items() if name != "atoms"}

VALUES = np.array([0.0, 1.0, 1.0, 2.0, np.nan, 5.0])


def test_a_column_without_observed_values_is_refused():
    for values in ([np.nan, np.nan], []):
        with pytest.raises(ValueError, match="column 'age' has no observed value"):
            describe_column("age", np.array(values), "gaussian")


@pytest.mark.parametrize(
    ("family", "value"),
    [
        ("bernoulli", 2.0),
        ("bernoulli", 0.5),
        ("bernoulli", -1.0),
        ("categorical", -1.0),
        ("categorical", 1.5),
        ("poisson", -3.0),
        ("poisson", 0.5),
        ("geometric", -3.0),
        ("geometric", 2.5),
        ("exponential", -0.25),
        ("lognormal", 0.0),
        ("lognormal", -4.0),
    ],
)
def test_a_value_outside_the_support_is_named_with_its_column(family, value):
    values = np.array([1.0, np.nan, value, 1.0])
    with pytest.raises(
        ValueError, match=rf"column 'age': value {value:g} is outside the support of the {family}"
    ):
        describe_column("age", values, family)


@pytest.mark.parametrize("family", sorted(FAMILIES))
@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_an_infinite_value_is_named_with_its_column(family, value):
    values = np.array([0.0, 1.0, 1.0, value]) + (FAMILIES[family].measure == "continuous")
    with pytest.raises(ValueError, match=rf"column 'age': value {value:g} "):
        describe_column("age", values, family)


def test_one_family_of_several_is_named_if_it_does_not_fit():
    with pytest.raises(ValueError, match="value 0 is outside the support of the lognormal family"):
        describe_column("age", np.array([0.0, 1.0, 2.0]), ("gaussian", "lognormal"))


def test_a_category_beyond_the_given_number_is_named():
    with pytest.raises(ValueError, match="column 'kind': value 3 is outside"):
        describe_column("kind", np.array([0.0, 3.0]), "categorical", n_categories=3)


@pytest.mark.parametrize(
    "families",
    [("poisson", "gaussian"), ("exponential", "bernoulli"), ("categorical", "lognormal")],
)
def test_discrete_and_continuous_families_are_never_mixed(families):
    with pytest.raises(ValueError, match=r"column 'age'.*mix probability masses and densities"):
        describe_column("age", np.array([1.0, 1.0]), families)


@pytest.mark.parametrize("families", ["weibull", ("gaussian", "weibull")])
def test_an_unknown_family_is_named_with_the_known_ones(families):
    with pytest.raises(ValueError, match=r"column 'age': unknown family 'weibull'.*poisson"):
        describe_column("age", VALUES, families)


@pytest.mark.parametrize("families", [(), ("poisson", "poisson")])
def test_families_must_be_different_names(families):
    with pytest.raises(ValueError, match="column 'age': families must be one or more different"):
        describe_column("age", VALUES, families)


@pytest.mark.parametrize("gamma", [0, -1.0, np.nan, np.inf, -np.inf])
def test_a_gamma_that_is_not_positive_is_refused(gamma):
    with pytest.raises(ValueError, match="column 'age': gamma must be positive and finite"):
        describe_column("age", VALUES, "gaussian", gamma=gamma)


@pytest.mark.parametrize("resolution", [-1.0, np.nan, np.inf])
def test_a_resolution_that_is_negative_or_infinite_is_refused(resolution):
    with pytest.raises(ValueError, match="column 'age': resolution must be finite"):
        describe_column("age", VALUES, "gaussian", resolution=resolution)


@pytest.mark.parametrize("n_categories", [-3, 2.5, 0])
def test_a_number_of_categories_that_is_no_count_is_refused(n_categories):
    with pytest.raises(ValueError, match="n_categories"):
        describe_column("kind", np.array([0.0, 1.0]), "categorical", n_categories=n_categories)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1.5, 2.0, 4.0], 0.5),
        ([3.0, 1.0, 2.0, 2.0, 2.0], 1.0),
        ([0.1, 0.2, 0.3, 0.1 + 0.2, 0.7], 0.1),
        ([0.3, 3 * 0.1, 6 * 0.05, 1.0], 0.7),
        ([7.0, 7.0], 0.0),
        ([7.0], 0.0),
        ([-1e300, 1e300, 1.5e300], 0.5e300),
        ([-1.7e308, 0.0, 1.7e308], 1.7e308),
        ([1e-300, 3e-300], 2e-300),
    ],
    ids=str,
)
def test_resolution_is_the_smallest_gap_without_rounding_noise(values, expected):
    column = describe_column("x", np.array([*values, np.nan]), "gaussian")
    np.testing.assert_allclose(column.resolution, expected, rtol=1e-9)
    assert np.isfinite(column.constants[0][:2]).all()
    assert column.constants[0][1] > 0


def test_resolution_ignores_last_digits_far_from_zero():
    # time stamps in tenths of a second, some of them off by one in the last binary digit
    tenths = 1.7e9 + 0.1 * np.arange(100)
    values = np.concatenate([tenths, np.nextafter(tenths[::3], np.inf)])
    np.testing.assert_allclose(smallest_gap(np.unique(values)), 0.1, rtol=1e-4)


def test_resolution_scales_with_the_unit():
    values = np.round(np.random.default_rng(0).standard_normal(200), 2)
    one = describe_column("x", values, "gaussian").resolution
    np.testing.assert_allclose(one, 0.01, rtol=1e-9)
    for unit in (1e-12, 1e3, 1e9):
        other = describe_column("x", unit * values, "gaussian").resolution
        np.testing.assert_allclose(other, unit * one, rtol=1e-9)


def test_a_given_resolution_is_kept():
    assert describe_column("x", VALUES, "gaussian", resolution=0.25).resolution == 0.25
    assert describe_column("x", VALUES, "gaussian", resolution=0).resolution == 0.0


def test_discrete_columns_have_no_resolution():
    for family in ("poisson", "categorical", "geometric"):
        assert describe_column("x", VALUES, family).resolution == 0.0


def test_categories_are_counted_from_the_largest_value():
    assert describe_column("kind", np.array([0.0, 4.0]), "categorical").n_categories == 5
    assert describe_column("kind", np.zeros(3), "categorical").n_categories == 2
    assert describe_column("kind", np.zeros(3), "bernoulli").n_categories == 2
    given = describe_column("kind", np.zeros(3), "categorical", n_categories=7)
    assert given.n_categories == 7
    assert describe_column("count", VALUES, "poisson").n_categories == 0


def test_description_does_not_depend_on_the_order_of_rows():
    values = np.random.default_rng(1).lognormal(0, 1, 50)
    shuffled = np.random.default_rng(2).permutation(values)
    for family, model in FAMILIES.items():
        if model.measure == "continuous":
            one, other = (describe_column("x", v, family) for v in (values, shuffled))
            np.testing.assert_array_equal(one.constants[0], other.constants[0])


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_constant_columns_can_be_described(family):
    column = describe_column("x", np.ones(5), family)
    (constants,) = column.constants
    assert not np.isnan(constants).any()
    model = FAMILIES[family]
    hyper = model.hyper(model.prior_center(column.gamma, constants), constants)
    assert not np.isnan(hyper).any()
    assert np.isfinite(model.log_predictive(hyper, *column.features(0, np.ones(1)))).all()


def test_a_column_of_zeros_can_be_described():
    for family in FAMILIES:
        if family != "lognormal":
            column = describe_column("x", np.zeros(4), family)
            model, (constants,) = FAMILIES[family], column.constants
            hyper = model.hyper(model.prior_center(0.5, constants), constants)
            assert np.isfinite(model.log_predictive(hyper, *column.features(0, np.zeros(1)))).all()


def test_defaults_are_half_a_pseudo_observation():
    assert DEFAULT_GAMMA == 0.5
    assert describe_column("x", VALUES, "gaussian").gamma == 0.5


def mixed_leaves():
    positive = np.array([0.5, 1.0, 4.0, 2.5])
    return Leaves(
        (
            describe_column("flag", np.array([0.0, 1.0]), "bernoulli"),
            describe_column("count", VALUES, ("poisson", "geometric")),
            describe_column("kind", VALUES, "categorical", n_categories=6),
            describe_column("real", positive, "gaussian"),
            describe_column("amount", positive, ("exponential", "gaussian", "lognormal")),
            describe_column("other kind", VALUES, "categorical", n_categories=6),
            describe_column("third kind", np.array([0.0, 2.0]), "categorical"),
            describe_column("other count", VALUES, "poisson"),
        )
    )


def test_every_column_and_model_has_one_place():
    leaves = mixed_leaves()
    seen = set()
    for d, column in enumerate(leaves.columns):
        assert len(leaves.places[d]) == len(column.families)
        for m, (g, position) in enumerate(leaves.places[d]):
            group = leaves.groups[g]
            assert group.family is FAMILIES[column.families[m]]
            assert (group.columns[position], group.family_numbers[position]) == (d, m)
            np.testing.assert_array_equal(group.constants[position], column.constants[m])
            expected = group.family.prior_center(column.gamma, column.constants[m])
            np.testing.assert_array_equal(group.center[position], expected)
            seen.add((g, position))
    assert len(seen) == sum(len(group) for group in leaves.groups) == 11


def test_groups_hold_one_family_and_shape_each():
    leaves = mixed_leaves()
    shapes = [(group.family.name, group.n_statistics) for group in leaves.groups]
    assert len(set(shapes)) == len(shapes)
    assert ("categorical", 6) in shapes
    assert ("categorical", 3) in shapes
    for group in leaves.groups:
        assert len(group) == len(group.family_numbers) == len(group.constants) == len(group.center)
        assert group.spread.shape == group.center.shape
        assert (group.spread > 0).all()
        width = group.family.statistics(np.ones(1), group.constants[0]).shape[1]
        assert group.n_statistics == width
        assert group.n_slots == (width if group.family.one_hot else width + 1)
        hyper = group.hyper(group.center)
        assert hyper.shape[:3] == (len(group), 1, 1)
        for position in range(len(group)):
            alone = group.family.hyper(group.center[position], group.constants[position])
            np.testing.assert_array_equal(hyper[position, 0, 0], alone)


def test_mixed_columns_are_those_with_several_models():
    leaves = mixed_leaves()
    np.testing.assert_array_equal(leaves.mixed, [1, 4])
    assert leaves.max_families == 3
    plain = Leaves((describe_column("flag", np.array([0.0, 1.0]), "bernoulli"),))
    assert plain.mixed.shape == (0,)
    assert plain.max_families == 1


def test_features_are_minus_infinity_off_the_support_only():
    for column in mixed_leaves().columns:
        values = np.array([-1.0, 0.5, 1.0, 7.0])
        for m, family in enumerate(column.likelihoods):
            statistics, log_base = column.features(m, values)
            outside = family.invalid(values, column.n_categories)
            np.testing.assert_array_equal(np.isneginf(log_base), outside)
            assert np.isfinite(log_base[~outside]).all()
            assert np.isfinite(statistics).all()
            assert (statistics[outside] == 0).all()


def test_no_columns_are_refused():
    with pytest.raises(ValueError, match="at least one column"):
        Leaves(())
