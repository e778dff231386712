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
        found = circuits.moments(column, ValueSet.of([(0.0, 2.0)]))
        every = moments(circuits.densities, column, np.array(0.0), np.array(2.0))
        np.testing.assert_array_equal(found, every.reshape(3, *shape))
    assert fewer > 0
    assert people_model.posterior_.drawn._distinct(0) is None
