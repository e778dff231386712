"""One evaluation of whole rows says what leaving out one cell after the other says."""

from __future__ import annotations

import numpy as np
import pytest
from support import GRAPHS, binary_leaves, mixed_leaves, mixed_table, prior_circuit

from bayesspn import BayesianSPN
from bayesspn.graphs import RegionGraph
from bayesspn.prediction.own_cells import LeafValues, average_own
from bayesspn.prediction.passes import evaluate
from bayesspn.prediction.row_averages import average_missing, weights_of_draws
from bayesspn.prediction.stacked import StackedCircuits, stack_circuits


def make_values(circuits: StackedCircuits, rows: int, seed: int) -> LeafValues:
    rng = np.random.default_rng(seed)
    shape = (circuits.n_draws, circuits.graph.n_paths, circuits.graph.leaves)
    return LeafValues(rng.random((3, *shape)), rng.random((4, *shape)), rng.integers(-1, 4, rows))


def leave_out(circuits: StackedCircuits, X: np.ndarray, column: int, values: LeafValues):
    """The same by rows without the cell."""
    others = X.copy()
    others[:, column] = np.nan
    weights = weights_of_draws(evaluate(circuits, others).log_probability)
    tables = {column: np.concatenate([values.common, values.own])}
    # a few at a time: among many rows, draws that hardly count are left out
    averages = np.concatenate(
        [
            average_missing(circuits, others[k : k + 8], weights[:, k : k + 8], tables)[column]
            for k in range(0, len(X), 8)
        ]
    )
    own = averages[np.arange(len(X)), 3 + np.maximum(values.which, 0)]
    return averages[:, :3], np.where(values.which >= 0, own, 0.0)


@pytest.mark.parametrize("rows", [60, 8])
@pytest.mark.parametrize("name", GRAPHS)
def test_all_columns_at_once_are_as_each_left_out(name, rows):
    X = mixed_table(0, rows)
    circuits = stack_circuits(
        prior_circuit(seed, GRAPHS[name], mixed_leaves(X)) for seed in (1, 2, 3)
    )
    X[0, 1], X[1, 0], X[2, 2], X[3, 6], X[4, 7] = np.nan, 7.0, 5e3, 1e9, -1.0
    asked = {column: make_values(circuits, rows, column) for column in range(X.shape[1])}
    averages = average_own(circuits, X, asked)
    assert averages.keys() == asked.keys()
    for column, values in asked.items():
        common, own = leave_out(circuits, X, column, values)
        found = averages[column].found
        assert not found[np.isnan(X[:, column])].any()
        # drawn from the prior, some Gaussians are so narrow that most values are all but impossible
        assert found[5:].any() or rows < 10
        # a cell that makes the row impossible says nothing of the others
        assert not found[4]
        np.testing.assert_allclose(averages[column].common[found], common[found], rtol=1e-8)
        np.testing.assert_allclose(averages[column].own[found], own[found], rtol=1e-8, atol=1e-12)


def test_networks_with_fewer_components():
    graphs = [RegionGraph(2, (count, 2), sums=3, leaves=2) for count in (1, 3, 2)]
    circuits = stack_circuits(prior_circuit(3, graph, binary_leaves(5)) for graph in graphs)
    X = np.random.default_rng(0).integers(0, 2, (30, 5)).astype(float)
    values = make_values(circuits, 30, 0)
    averages = average_own(circuits, X, {2: values})[2]
    assert averages.found.all()
    common, own = leave_out(circuits, X, 2, values)
    np.testing.assert_allclose(averages.common, common, rtol=1e-9)
    np.testing.assert_allclose(averages.own, own, rtol=1e-9)


def test_cells_that_rule_out_what_the_others_say_are_judged_without_them():
    rng = np.random.default_rng(2)
    group = rng.integers(0, 2, 200)
    table = np.stack([group * 10.0 + rng.normal(0, 0.1, 200) for _ in range(3)], axis=1).round(3)
    model = BayesianSPN(chains=1, burn_in=40, draws=3, random_state=0).fit(table)
    rows = table[:3].copy()
    rows[1, 1], rows[2, 1] = 5e5, -5e8
    surprises = model.surprise(rows)
    assert np.isfinite(surprises[0]).all()
    assert (surprises[1:, 1] > surprises[0, 1] + 3).all()
    # whatever the second cell is, the third is judged by it and the first together
    one_by_one = np.vstack([model.surprise(rows[[k]]) for k in range(3)])
    np.testing.assert_allclose(surprises, one_by_one, rtol=1e-6)
