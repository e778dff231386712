"""Atoms: point masses beside densities, by numerical integration, and in the compiled engine."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from scipy import stats
from support import GRAPHS, prior_circuit

from bayesspn import BayesianSPN, load
from bayesspn.engine import compiled, oracle
from bayesspn.engine.row_sums import Address
from bayesspn.leaves import FAMILIES, Family
from bayesspn.leaves.atoms import find_atoms
from bayesspn.leaves.columns import Leaves, describe_column
from bayesspn.numerics.random_numbers import Key
from bayesspn.rows.encoded import encode_rows
from bayesspn.tables import ColumnSchema, Schema, SchemaError

ATOMS = FAMILIES["atoms"]
CONSTANTS = np.array([0.0, 0.5, 2.0, 0.5])  # of which the last is the step
HYPER = np.array([3.0, 1.0, 0.4])

#: Probability of a false alarm of each test on drawn values.
ALARM = 1e-6


def density(hyper, x):
    column_features = ATOMS.statistics(x, CONSTANTS), ATOMS.log_base(x, CONSTANTS)
    return np.exp(ATOMS.log_predictive(hyper, *column_features))


def test_densities_integrate_to_masses_and_moments():
    x = np.linspace(-1.0, 3.0, 400_000, endpoint=False) + 5e-6
    for low, high in ((-1.0, 3.0), (0.1, 0.6), (0.25, 0.75), (1.0, 1.7), (-0.2, 1.9), (2.3, 3.0)):
        inside = (x >= low) & (x <= high)
        expected = [(density(HYPER, x) * inside * x**k).sum() * 1e-5 for k in range(3)]
        found = ATOMS.moments_predictive(HYPER, low, high, CONSTANTS)
        np.testing.assert_allclose(found, expected, atol=1e-5)
        with np.errstate(divide="ignore"):
            mass = ATOMS.log_mass_predictive(HYPER, low, high, CONSTANTS)
        assert np.exp(mass) == pytest.approx(expected[0], abs=1e-5)
    whole = ATOMS.moments_predictive(HYPER, -np.inf, np.inf, CONSTANTS)
    assert whole[:2] == pytest.approx([1.0, HYPER @ CONSTANTS[:-1] / HYPER.sum()])


def test_marginal_likelihood_is_the_product_of_predictives():
    values = np.array([0.0, 2.0, 0.0, 0.5, 0.1])
    statistics = ATOMS.statistics(values, CONSTANTS)
    hyper, expected = HYPER, 0.0
    for one in statistics:
        expected += ATOMS.log_predictive(hyper, one[None], np.zeros(1))[0]
        hyper = ATOMS.posterior(hyper, np.array(1.0), one)
    found = ATOMS.log_marginal(HYPER, np.array(5.0), statistics.sum(axis=0))
    assert found == pytest.approx(expected)


@pytest.mark.parametrize("draw", [ATOMS.draw_between, partial(Family.draw_between, ATOMS)])
@pytest.mark.parametrize(("low", "high"), [(-1.0, 3.0), (0.1, 1.9), (0.6, 0.7)])
def test_values_drawn_between_bounds_follow_the_density_there(draw, low, high):
    eta = np.log(HYPER / HYPER.sum())
    rng = np.random.default_rng(0)
    ends = np.full(20_000, low), np.full(20_000, high)
    drawn = draw(rng, np.tile(eta, (20_000, 1)), *ends, CONSTANTS)
    whole = ATOMS.log_mass(eta, low, high, CONSTANTS)
    shares = np.exp(ATOMS.log_mass(np.tile(eta, (20_000, 1)), low, drawn, CONSTANTS) - whole)
    assert stats.kstest(shares, "uniform").pvalue > ALARM


def test_drawn_values_follow_the_density():
    rng = np.random.default_rng(0)
    drawn = ATOMS.draw_predictive(rng, np.tile(HYPER, (20_000, 1)), CONSTANTS)
    places = [-0.25, 0.0, 0.25, 0.75, 1.75, 2.0, 2.25]

    def cdf(x):
        below = np.full(np.shape(x), -np.inf)
        return np.exp(ATOMS.log_mass_predictive(HYPER, below, x, CONSTANTS))

    assert stats.kstest(drawn, cdf).pvalue > ALARM
    assert ((drawn >= places[0]) & (drawn <= places[-1])).all()


def test_atoms_are_where_values_recur_more_than_around_them():
    ages = np.arange(20.0, 80.0)
    even = np.full(60, 10)
    assert not find_atoms(ages, even, 1.0).size
    heaped = np.where(ages % 10 == 0, 90, 10)
    assert find_atoms(ages, heaped, 1.0).tolist() == [20, 30, 40, 50, 60, 70]
    assert find_atoms(np.array([1.0, 2.0, 3.0]), np.array([2, 9, 1]), 1.0).tolist() == [1, 2, 3]
    assert not find_atoms(np.array([2.5]), np.array([9]), 0.0).size


def table(seed: int, rows: int) -> np.ndarray:
    """A dense column with zeros, one with few values, and a category."""
    rng = np.random.default_rng(seed)
    rain = np.where(rng.random(rows) < 0.4, 0.0, rng.exponential(3.0, rows))
    half = rng.choice([0.5, 1.0, 2.5, 3.0], rows, p=[0.1, 0.6, 0.2, 0.1])
    X = np.column_stack([rain, half, rng.integers(0, 3, rows), np.round(rng.normal(size=rows), 1)])
    X[rng.random(X.shape) < 0.1] = np.nan
    return X


def leaves_of(X: np.ndarray) -> Leaves:
    families = [
        ("gaussian", "exponential", "atoms"),
        ("gaussian", "atoms"),
        "categorical",
        ("atoms", "gaussian"),
    ]
    columns = [describe_column(f"{d}", X[:, d], names) for d, names in enumerate(families)]
    assert columns[0].atoms.tolist() == [0.0]
    assert columns[1].atoms.tolist() == [0.5, 1.0, 2.5, 3.0]
    return Leaves(tuple(columns))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", ["cross, deep", "shared, deep"])
def test_compiled_pass_equals_oracle(name, seed):
    X = table(seed, 400)
    leaves = leaves_of(X)
    rows = encode_rows(leaves, X)
    assert rows.codebook.dense.tolist() == [0]
    circuit = prior_circuit(seed, GRAPHS[name], leaves)
    address = Address(Key(11).words(), 5)
    expected = oracle.row_pass(circuit, rows, address)
    actual = compiled.row_pass(circuit, rows, address)
    for a, b in zip(
        expected.edge_counts + expected.statistics,
        actual.edge_counts + actual.statistics,
        strict=True,
    ):
        np.testing.assert_array_equal(a, b)
    exact = oracle.log_likelihood(circuit, X)
    np.testing.assert_allclose(compiled.log_likelihood(circuit, rows), exact, rtol=1e-6, atol=1e-5)


@pytest.mark.filterwarnings("ignore:the chains do not agree")
def test_frequencies_of_recurring_values_are_met(tmp_path):
    X = table(0, 800)
    model = BayesianSPN(chains=2, burn_in=60, draws=20, thin=2, random_state=0).fit(X)
    assert "atoms" in model.schema_["x0"].families
    for column, value in ((0, 0.0), (1, 1.0), (1, 3.0)):
        cells = X[~np.isnan(X[:, column]), column]
        share = (cells == value).mean()
        # four standard errors of the share itself
        error = 4 * np.sqrt(share * (1 - share) / len(cells))
        assert model.probability(f"x{column} = {value}") == pytest.approx(share, abs=error)
    model.save(tmp_path / "model.bspn")
    again = load(tmp_path / "model.bspn")
    assert again.probability("x0 = 0") == model.probability("x0 = 0")
    drawn = model.sample(500, random_state=0)
    assert (drawn[:, 1] % 0.5 == 0).all()
    assert (drawn[:, 0] >= 0).all()
    assert model.mode("x1") == 1.0


def test_atoms_need_a_density_beside_them():
    with pytest.raises(SchemaError, match="atoms need a density"):
        Schema((ColumnSchema("x", "real", families=("atoms",)),))
    with pytest.raises(ValueError, match="atoms need a density"):
        describe_column("x", np.array([0.0, 1.0]), "atoms")
