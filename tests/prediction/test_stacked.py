"""Networks side by side: what is tabulated for leaves that differ holds for all of them."""

from __future__ import annotations

import numpy as np

from bayesspn.leaves.densities import log_mass, moments
from bayesspn.prediction.value_sets import ValueSet


def test_tables_of_leaves_that_differ_are_those_of_all_leaves(people_model):
    circuits = people_model.posterior_.predictive
    shape = (circuits.n_draws, circuits.graph.n_paths, circuits.graph.leaves)
    low, high = np.array([-1.0, 0.5]), np.array([0.5, 3.0])
    fewer = 0
    for column in range(len(circuits.leaves.columns)):
        different, which = circuits._distinct(column)
        fewer += different.hyper[0].shape[1] < which.size
        masses = circuits.masses(column, low, high)
        for k in range(2):
            every = np.exp(log_mass(circuits.densities, column, low[k], high[k]))
            np.testing.assert_array_equal(masses[k], every.reshape(shape))
        grid = circuits.leaves.columns[column].grid
        inside = (
            max(grid.low, 0.0) + 0.5,
            min(grid.high, 60.0) - 0.5,
        )  # ends count for what is beyond
        found = circuits.moments(column, ValueSet.of([inside]))
        every = moments(circuits.densities, column, *map(np.array, inside))
        np.testing.assert_allclose(found, every.reshape(3, *shape), rtol=1e-12)
    assert fewer > 0
    assert people_model.posterior_.drawn._distinct(0) is None
