"""Cells: what stands in a missing cell does not matter."""

from __future__ import annotations

import numpy as np

from bayesspn.tables.cells import Cells
from bayesspn.tables.encoding import numbers


def test_what_stands_in_a_missing_cell_does_not_matter():
    missing = np.array([False, True])
    for junk in (-7, 0, 99):
        cells = Cells("x", "category[int64]", np.array([0, junk]), missing, levels=(5,))
        assert cells.as_objects().tolist() == [5, None]
        np.testing.assert_array_equal(numbers(cells), [5.0, np.nan])
        huge = Cells("x", "int64", np.array([3, junk * 2**56]), missing)
        np.testing.assert_array_equal(numbers(huge), [3.0, np.nan])
        assert huge.observed.tolist() == [3]
