"""Visits of leaves by the compiled pass are those of the passes in the log domain."""

import numpy as np
import pytest

from bayesspn import Key, Model, RegionGraph, encode_rows, merge_chains, run_chain, start_chain
from bayesspn.leaves.columns import Leaves, describe_column
from bayesspn.queries.passes import evaluate
from bayesspn.queries.visits import visit_leaves

GRAPHS = (
    RegionGraph(0, (), leaves=3),
    RegionGraph(1, (2,), sums=3, leaves=3, products="shared"),
    RegionGraph(2, (2, 1), 3, sums=4, leaves=4, products="shared"),
    RegionGraph(1, (2,), leaves=3, products="cross"),
)


@pytest.mark.parametrize("graph", GRAPHS, ids=range(len(GRAPHS)))
def test_visits_are_those_of_the_log_domain(graph):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(60, 4)), rng.integers(0, 3, 60)])
    X[rng.random(X.shape) < 0.2] = np.nan
    families = ["gaussian"] * 4 + ["categorical"]
    leaves = Leaves(
        tuple(describe_column(f"x{d}", X[:, d], families[d]) for d in range(len(families)))
    )
    rows = encode_rows(leaves, X)
    chain = run_chain(start_chain(Key(0), Model(graph, leaves), rows), rows, draws=2)
    network = merge_chains([chain]).predictive.draw(0)
    X[0] = np.nan
    X[1, :4] = (1e3, -1e5, 1e8, 1e100)  # digits are lost on the scale of a region
    expected = evaluate(network, X).visits()[0]
    np.testing.assert_allclose(visit_leaves(network, X), expected, rtol=1e-9, atol=1e-12)
