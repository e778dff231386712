"""Grids: which values are recorded, found in the data, and what each of them stands for."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesspn.leaves.grid_detection import read_grid, whole_step
from bayesspn.leaves.grids import Grid


def grid_of(values, **known) -> Grid:
    return read_grid(*np.unique(np.asarray(values, dtype=float), return_counts=True), **known)


@given(
    st.sampled_from([0.001, 0.01, 0.1, 0.25, 0.5, 1.0, 5.0, 1 / 3, 1 / 12]),
    st.integers(-50, 50),
    st.lists(st.integers(0, 60), min_size=12, max_size=40, unique=True),
)
def test_regular_values_have_a_step_and_an_origin(step, start, places):
    values = step * (start + np.array([0, 1, *places]))
    grid = grid_of(values)
    assert grid.step == pytest.approx(step, rel=1e-9)
    np.testing.assert_allclose(grid.nearest(values), values, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(grid.nearest(values + 0.4 * step), values, rtol=1e-9, atol=1e-12)


def test_values_are_given_back_as_they_are_printed():
    values = np.round(np.arange(1, 400) * 0.1, 1)
    assert grid_of(values).nearest(values + 0.03).tolist() == values.tolist()


def test_decimals_are_the_grid_where_values_hardly_recur():
    grid = grid_of([1.37, 2.58, 4.11, 4.18, 9.99])
    assert (grid.step, grid.origin) == (0.01, 0.0)


def test_few_irregular_values_are_the_grid_themselves():
    ages = [17.5, 22.0, 27.0, 32.0, 37.0, 42.0]
    grid = grid_of(np.repeat(ages, 5))
    assert grid.values == tuple(ages)
    assert grid.interval(27.0) == (24.5, 29.5)
    assert grid.interval(17.5) == (-math.inf, 19.75)
    assert grid.interval(30.0) is None
    assert grid.split(30.0, strict=False) == (29.5, 29.5)
    assert grid.nearest(np.array([-5.0, 29.0, 99.0])).tolist() == [17.5, 27.0, 42.0]


def test_a_value_that_recurs_among_measurements_is_an_atom():
    rng = np.random.default_rng(0)
    grid = grid_of(np.append(np.zeros(60), rng.exponential(size=200)))
    assert grid.atoms == (0.0,)
    assert grid.interval(0.0) == (-math.inf, grid.step / 2)
    assert grid.split(0.7, strict=False)[0] == 0.7
    assert grid_of(rng.exponential(size=200)).atoms == ()


def test_a_constant_is_certain():
    grid = grid_of([2.7, 2.7])
    assert grid.interval(2.7) == (-math.inf, math.inf)
    assert grid.nearest(np.array([-1.0, 5.0])).tolist() == [2.7, 2.7]


@pytest.mark.parametrize(
    ("values", "low", "high"),
    [
        ([0.0, 3.5, 7.25], 0.0, math.inf),
        ([0.25, 3.5, 7.25], 0.25, math.inf),
        ([20.03, 31.5, 47.26], 0.01, math.inf),
        ([-1.0, 3.5], -math.inf, math.inf),
        ([0.1, 0.35, 0.8], 0.05, 1.0),
        ([0.0, 0.5, 1.0], 0.0, 1.0),
        ([3.0, 4.0, 9.0], 1.0, math.inf),
        ([1.5, 2.5, 3.5], 0.5, math.inf),
    ],
    ids=str,
)
def test_supports_follow_the_data(values, low, high):
    grid = grid_of(values)
    assert (grid.low, grid.high) == pytest.approx((low, high))


def test_bounds_hold_everything_beyond():
    grid = grid_of([0.0, 0.5, 2.0], low=-1.0, high=3.0)
    assert grid.split(-1.0, strict=True) == (-math.inf, -math.inf)
    assert grid.interval(-1.0) == (-math.inf, -0.75)
    assert grid.interval(3.0) == (2.75, math.inf)
    assert grid.interval(3.5) is None
    assert grid.holding(-4.0, 2.0).low == -4.0


def test_scales_that_were_cut_off_end_there():
    rng = np.random.default_rng(0)
    shares = np.round(rng.normal(350.0, 60.0, 500), 2)
    cut = grid_of(np.minimum(shares, 396.9))
    assert cut.high == 396.9
    incomes = rng.lognormal(3.0, 1.0, 500)  # of which hardly any recurs
    assert grid_of(np.clip(incomes, 5.0, 60.0)).high == 60.0
    assert grid_of(np.clip(incomes, 5.0, 60.0)).low == 5.0
    # neither are those that thin out, nor those that recur all over
    assert grid_of(shares).high == grid_of(incomes).high == np.inf
    assert grid_of(np.round(rng.normal(50.0, 10.0, 2_000))).high == np.inf
    assert grid_of(rng.poisson(30.0, 5_000).astype(float)).high == np.inf


def test_few_values_end_where_they_are_common():
    ratings = grid_of(np.repeat([1.0, 2.0, 3.0, 4.0, 5.0], [1, 5, 20, 70, 90]), step=1.0)
    assert (ratings.low, ratings.high) == (1.0, 5.0)
    beds = grid_of(np.repeat([2.0, 3.0, 4.0, 5.0, 6.0], [60, 70, 20, 5, 1]), step=1.0)
    assert (beds.low, beds.high) == (2.0, math.inf)


@pytest.mark.parametrize("written", [False, True], ids=["in memory", "15 digits"])
def test_numbers_of_single_precision_are_on_the_grid_they_were_recorded_on(written):
    rng = np.random.default_rng(0)
    exact = np.unique(rng.normal(650.0, 20.0, 400).round(1))
    single = exact.astype(np.float32).astype(float)
    if written:
        single = np.array([float(f"{value:.15g}") for value in single])
    grid = read_grid(single, np.ones(len(single)))
    assert (grid.step, grid.origin) == (0.1, 0.0)
    assert grid.holds(single).all()
    np.testing.assert_array_equal(grid.nearest(single), np.clip(exact, grid.low, grid.high))
    low, high = grid.interval(650.1)
    assert (low, high) == pytest.approx((650.05, 650.15))
    assert grid.interval(float(np.float32(650.1))) == pytest.approx((650.05, 650.15), abs=1e-4)


def test_few_numbers_of_single_precision_are_listed_as_they_are_printed():
    single = np.float32([0.7, 1.13, 2.2, 7.1])
    grid = read_grid(single.astype(float), np.full(4, 10.0))
    assert grid.nearest(single).tolist() == pytest.approx([0.7, 1.13, 2.2, 7.1], abs=1e-9)
    assert grid.low <= float(single[0])
    assert grid.high >= float(single[-1])
    for value in (0.7, float(np.float32(0.7))):
        assert grid.interval(value) is not None


def test_fractions_of_two_and_doubles_stay_what_they_are():
    binary = 3.0 + np.arange(40) / 1024.0  # printed otherwise in single precision
    assert read_grid(binary, np.ones(40)).step == 1 / 1024
    doubles = np.sort(np.random.default_rng(0).normal(size=50))
    assert read_grid(doubles, np.ones(50)).origin is None
    # a value a thousandth of a step off its grid is not on it
    assert not Grid(step=0.1, origin=0.0).holds(np.array([0.1002]))[0]


def test_a_far_outlier_does_not_set_the_step():
    shares = np.unique(np.random.default_rng(0).random(300).round(3))
    grid = grid_of(np.append(shares, 999_999_999.0))
    assert (grid.step, grid.origin) == (0.001, 0.0)


def test_whole_numbers_share_a_step():
    rng = np.random.default_rng(0)
    assert whole_step(np.unique(1000 * rng.integers(0, 90, 200)).astype(float)) == 1000.0
    assert whole_step(np.unique(7 + 10 * rng.integers(0, 90, 200)).astype(float)) == 10.0
    assert whole_step(np.unique(rng.integers(0, 90, 200)).astype(float)) == 1.0
    assert whole_step(np.array([-(2.0**60), 0.0])) == 1.0
