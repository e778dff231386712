"""Moves of hyper-parameters alone, against their exact conditionals by quadrature."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import betaln, gammaln
from support import binary_leaves

from bayesspn.engine.row_sums import RowSums, empty_statistics
from bayesspn.graphs import RegionGraph
from bayesspn.inference.concentrations import draw_alpha, draw_beta, draw_mixing
from bayesspn.inference.infinite.stick_breaking import draw_concentration
from bayesspn.inference.leaf_parameters import draw_leaf_parameters
from bayesspn.inference.leaf_priors import _gather_leaves, draw_leaf_priors
from bayesspn.inference.prior import prior_state
from bayesspn.inference.scopes import draw_scopes, region_log_marginals
from bayesspn.inference.slice_sampling import family_target, log_target
from bayesspn.inference.state import State
from bayesspn.inference.sweep import place_columns
from bayesspn.leaves.columns import Leaves, describe_column
from bayesspn.model.generative import Learned, Model, start_hyper
from bayesspn.numerics.random_numbers import Key
from bayesspn.rows.encoded import encode_rows
from bayesspn.scopes import Scope, draw_prior_scope

DRAWS = 4_000
GRID = np.linspace(-9.0, 7.0, 16_001)


def log_dirichlet_multinomial(concentration: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Of counts (sums, cells) for every concentration (grid,); shape (grid,)."""
    c = concentration[:, None, None]
    cells = (gammaln(c + counts) - gammaln(c)).sum(axis=2)
    size, totals = counts.shape[1], counts.sum(axis=1)
    whole = gammaln(size * c[..., 0]) - gammaln(size * c[..., 0] + totals)
    return (cells + whole).sum(axis=1)


def assert_follows(draws: np.ndarray, log_density: np.ndarray, name: str) -> None:
    """Mean and standard deviation of draws of a logarithm, against a density on GRID."""
    weights = np.exp(log_density - log_density.max())
    weights /= weights.sum()
    mean = weights @ GRID
    spread = np.sqrt(weights @ (GRID - mean) ** 2)
    batches = draws.reshape(40, -1)
    error = batches.mean(axis=1).std(ddof=1) / np.sqrt(40)
    assert error < 0.1 * spread, name
    assert abs(draws.mean() - mean) < 4.5 * error, name
    # the error of a standard deviation, from those of batches around the exact mean
    squares = ((batches - mean) ** 2).mean(axis=1)
    assert abs(squares.mean() - spread**2) < 4.5 * squares.std(ddof=1) / np.sqrt(40), name


def iterate(move, value: np.ndarray) -> np.ndarray:
    draws = np.empty((DRAWS, len(value)))
    for number in range(DRAWS):
        value = move(value)
        draws[number] = np.log(value)
    return draws


def test_alpha_follows_its_conditional():
    prior = Learned(0.5, 0.6)
    model = Model(RegionGraph(1, 2, leaves=2), binary_leaves(3), alpha=prior)
    counts = np.array([[[[4, 0, 1, 0], [0, 2, 0, 0]]]])
    rng = np.random.default_rng(0)
    draws = iterate(lambda a: draw_alpha(rng, model, a, (counts,)), np.array([0.5]))[:, 0]
    exact = -0.5 * ((GRID - np.log(0.5)) / 0.6) ** 2
    exact += log_dirichlet_multinomial(np.exp(GRID), counts.reshape(1, -1))
    assert_follows(draws, exact, "alpha")


def test_beta_follows_its_conditional():
    prior = Learned(1.0, 0.8)
    graph = RegionGraph(1, 4, leaves=1)
    model = Model(graph, binary_leaves(6), beta=prior)
    y = np.array([[0, 0, 0, 1, 1, 1], [1, 1, 1, 1, 1, 1], [0] * 6, [0, 1, 1, 1, 1, 1]])
    scope = Scope(graph, (y,))
    rng = np.random.default_rng(1)
    draws = iterate(lambda b: draw_beta(rng, model, b, scope), np.array([1.0]))[:, 0]
    exact = -0.5 * (GRID / 0.8) ** 2
    exact += log_dirichlet_multinomial(np.exp(GRID), np.array([[3, 3], [0, 6], [6, 0], [1, 5]]))
    assert_follows(draws, exact, "beta")


def mixed_state(mixing: Learned | float) -> tuple[Model, State]:
    """Two leaves of a column with two families, one of which owns 5 of 6 cells of one leaf."""
    column = describe_column("x", np.array([0.5, 1.0, 3.0]), ("gaussian", "exponential"))
    model = Model(RegionGraph(0, leaves=2), Leaves((column,)), mixing=mixing)
    empty = prior_state(np.random.default_rng(0), model, start_hyper(model))
    statistics = [slots.copy() for slots in empty.statistics]
    for m, owned in enumerate(([5.0, 1.0], [1.0, 2.0])):
        group, position = model.leaves.places[0][m]
        statistics[group][position, 0, :, 0] = owned
    return model, empty._replace(statistics=tuple(statistics))


def test_mixing_follows_its_conditional():
    model, state = mixed_state(Learned(0.4, 0.7))
    rng = np.random.default_rng(2)
    draws = iterate(lambda c: draw_mixing(rng, model, c, state.statistics), np.array([0.4]))[:, 0]
    exact = -0.5 * ((GRID - np.log(0.4)) / 0.7) ** 2
    exact += log_dirichlet_multinomial(np.exp(GRID), np.array([[5, 1], [1, 2]]))
    assert_follows(draws, exact, "mixing")


def test_the_concentration_follows_its_conditional():
    prior = Learned(1.0, 0.9)
    model = Model(RegionGraph(1, 1, leaves=1), binary_leaves(1), concentration=prior)
    sizes = np.array([7, 2, 1])
    rng = np.random.default_rng(3)
    draws = iterate(lambda c: draw_concentration(rng, model, c, sizes), np.array([1.0]))[:, 0]
    value = np.exp(GRID)
    exact = -0.5 * (GRID / 0.9) ** 2
    exact += 3 * GRID + gammaln(value) - gammaln(value + 10)
    assert_follows(draws, exact, "concentration")


def test_leaf_priors_follow_their_conditional():
    """The weight of a one in a Beta prior, that of a zero held fixed by giving it no room."""
    model = Model(RegionGraph(0, leaves=3), binary_leaves(1))
    (group,) = model.leaves.groups
    group.spread[:, 0] = 1e-9
    counts = np.array([[6, 1], [0, 4], [1, 0]])
    statistics = (counts[None, None].astype(np.int32),)
    rng = np.random.default_rng(4)
    phi = (group.center.copy(),)
    draws = np.empty(DRAWS)
    for number in range(DRAWS):
        phi = draw_leaf_priors(rng, model, phi, statistics)
        draws[number] = phi[0][0, 1]
    zero, one = np.exp(group.center[0, 0]), np.exp(GRID)[:, None]
    exact = -0.5 * ((GRID - group.center[0, 1]) / group.spread[0, 1]) ** 2
    exact += (betaln(zero + counts[:, 0], one + counts[:, 1]) - betaln(zero, one)).sum(axis=1)
    assert_follows(draws, exact, "phi")


def test_concentrations_of_categories_follow_their_conditional_together():
    """Both weights of a Beta prior, which move together and one by one, on a grid of two axes."""
    model = Model(RegionGraph(0, leaves=4), binary_leaves(1))
    (group,) = model.leaves.groups
    counts = np.array([[6, 1], [0, 4], [1, 0], [3, 3]])
    statistics = (counts[None, None].astype(np.int32),)
    rng = np.random.default_rng(8)
    phi = (group.center.copy(),)
    sums = np.empty(DRAWS)
    for number in range(DRAWS):
        phi = draw_leaf_priors(rng, model, phi, statistics)
        sums[number] = phi[0][0].sum()
    axis = np.linspace(-6.0, 5.0, 441)
    zero, one = np.exp(axis)[:, None, None], np.exp(axis)[:, None]
    log_density = (betaln(zero + counts[:, 0], one + counts[:, 1]) - betaln(zero, one)).sum(axis=2)
    standard = (axis - group.center[0, 0]) / group.spread[0, 0]
    log_density = log_density - 0.5 * (standard[:, None] ** 2 + standard**2)
    density = np.exp(log_density - log_density.max())
    density /= density.sum()
    total = axis[:, None] + axis
    mean = (density * total).sum()
    deviation = np.sqrt((density * (total - mean) ** 2).sum())
    batches = sums.reshape(40, -1)
    error = batches.mean(axis=1).std(ddof=1) / np.sqrt(40)
    assert error < 0.1 * deviation
    assert abs(sums.mean() - mean) < 4.5 * error
    squares = ((batches - mean) ** 2).mean(axis=1)
    assert abs(squares.mean() - deviation**2) < 4.5 * squares.std(ddof=1) / np.sqrt(40)


@pytest.mark.parametrize("name", ["gaussian", "lognormal", "exponential", "poisson", "geometric"])
@pytest.mark.parametrize("power", [1.0, 0.3])
def test_targets_of_leaf_priors_are_those_of_the_families(name, power):
    """Ratios of a target, coordinate by coordinate, are those of the marginal likelihood."""
    values = np.array([1.0, 2.0, 2.0, 3.0, 7.0, 4.0])
    model = Model(RegionGraph(0, leaves=3), Leaves((describe_column("x", values, name),)))
    (group,) = model.leaves.groups
    family, constants = group.family, group.constants[0]
    cells = family.statistics(values, constants)
    parts = (cells[:4], cells[4:5], cells[:0])
    slots = np.array([[len(part), *part.sum(axis=0)] for part in parts])
    rng = np.random.default_rng(0)
    base = group.center[0] + 0.3 * rng.normal(size=group.center.shape[1])

    def log_posterior(phi: np.ndarray, k: int) -> float:
        prior = -0.5 * ((phi[k] - group.center[0, k]) / group.spread[0, k]) ** 2
        hyper = family.hyper(phi, constants)
        own = family.log_marginal(hyper, power * slots[:, 0], power * slots[:, 1:])
        return prior + own[slots[:, 0] > 0].sum()

    gathered = _gather_leaves(family.kind, slots, power)
    for k in range(len(base)):
        target = family_target(
            family.kind, group.center[0, k], group.spread[0, k], base.copy(), constants, k, gathered
        )
        moved = base.copy()
        moved[k] += 0.7
        exact = log_posterior(moved, k) - log_posterior(base, k)
        found = log_target(target, moved[k]) - log_target(target, base[k])
        assert found == pytest.approx(exact, abs=1e-9), k


def test_weights_over_families_follow_their_posterior():
    model, state = mixed_state(0.6)
    rng = np.random.default_rng(5)
    draws = np.array(
        [
            np.exp(draw_leaf_parameters(rng, model.leaves, state).log_mixing[0, :, 0])
            for _ in range(2_000)
        ]
    )
    expected = np.array([[5.6, 1.6], [1.6, 2.6]]) / np.array([7.2, 4.2])
    error = draws.std(axis=0) / np.sqrt(len(draws))
    assert (abs(draws.mean(axis=0) - expected) < 4.5 * error).all()


@pytest.mark.parametrize("power", [1.0, 0.4])
def test_leaves_see_as_much_of_every_cell_as_the_power_says(power):
    model = Model(RegionGraph(0, leaves=1), binary_leaves(1))
    empty = prior_state(np.random.default_rng(0), model, start_hyper(model))
    state = empty._replace(statistics=(np.array([[[[2, 6]]]], dtype=np.int32),))
    rng = np.random.default_rng(6)
    draws = np.array(
        [
            np.exp(draw_leaf_parameters(rng, model.leaves, state, power).eta[0][0, 0, 0, 1])
            for _ in range(2_000)
        ]
    )
    expected = (0.5 + 6 * power) / (1.0 + 8 * power)
    assert abs(draws.mean() - expected) < 4.5 * draws.std() / np.sqrt(len(draws))
    spread = expected * (1 - expected) / (2.0 + 8 * power)
    assert draws.var() == pytest.approx(spread, rel=0.15)


@pytest.mark.parametrize("beta", [0.2, 10.0])
def test_scopes_without_rows_follow_their_prior(beta):
    """Three columns: how often all of them go to the same child."""
    graph = RegionGraph(1, 1, leaves=1)
    model = Model(graph, binary_leaves(3), beta=beta)
    codebook = encode_rows(model.leaves, np.full((1, 3), np.nan)).codebook
    hyper = start_hyper(model)
    sums = RowSums(
        (np.ones((1, 1, 1, 1), dtype=np.int64),), tuple(empty_statistics(graph, model.leaves)), 0
    )
    scope = draw_prior_scope(np.random.default_rng(0), graph, 3, beta)
    together = np.empty(4_000)
    for sweep in range(len(together)):
        scope = place_columns(Key(1), sweep, codebook, hyper, scope, sums).scope
        together[sweep] = np.ptp(scope.y[0][0]) == 0
    rising = beta * (beta + 1) * (beta + 2)
    exact = 2 * rising / (2 * beta * (2 * beta + 1) * (2 * beta + 2))
    batches = together.reshape(40, -1).mean(axis=1)
    assert abs(batches.mean() - exact) < 4.5 * batches.std(ddof=1) / np.sqrt(40)


def test_a_column_that_is_moved_does_not_count_where_it_was():
    """A single column, nothing known: both children are as probable, wherever it starts."""
    graph = RegionGraph(1, 1, leaves=1)
    start = Scope(graph, (np.array([[1]]),))
    rng = np.random.default_rng(7)
    drawn = [draw_scopes(rng, start, np.zeros((1, 2)), 0.2).y[0][0, 0] for _ in range(1_000)]
    assert abs(np.mean(drawn) - 0.5) < 4.5 * 0.5 / np.sqrt(1_000)


@pytest.mark.parametrize("mixing", [0.3, 2.0])
def test_marginal_likelihoods_of_regions_count_who_owns_the_cells(mixing):
    """The weights over families are part of what a region says about a mixed column."""
    values = np.array([[0.5], [1.0], [3.0], [2.5]])
    column = describe_column("x", values[:, 0], ("gaussian", "exponential"))
    model = Model(RegionGraph(0, leaves=1), Leaves((column,)), mixing=mixing)
    codebook = encode_rows(model.leaves, values).codebook
    owners = np.array([0, 1, 0, 0])
    statistics, expected = [], 0.0
    hyper = start_hyper(model)
    for g, group in enumerate(model.leaves.groups):
        m = int(group.family_numbers[0])
        own = values[owners == m, 0]
        scaled = codebook.scaled_statistics(0, m, own).sum(axis=0)
        statistics.append(scaled.reshape(1, -1, 1, 1))
        prior = group.family.hyper(hyper.phi[g][0], group.constants[0])
        totals = column.features(m, own)[0].sum(axis=0)
        expected += group.family.log_marginal(prior, np.array(float(len(own))), totals)
    expected += gammaln(mixing + 3) + gammaln(mixing + 1) - 2 * gammaln(mixing)
    expected += gammaln(2 * mixing) - gammaln(2 * mixing + 4)
    sums = RowSums((np.array([[[[4]]]]),), tuple(statistics), 0)
    found = region_log_marginals(codebook, hyper, sums)
    np.testing.assert_allclose(found, [[expected]], rtol=1e-9)
