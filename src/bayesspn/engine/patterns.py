"""Lay out the pattern tables of a circuit; see `bayesspn.engine.kernels.patterns`."""

from __future__ import annotations

import numpy as np

from bayesspn.engine.kernels.layout import Geometry
from bayesspn.engine.kernels.patterns import Patterns, find_small_regions
from bayesspn.rows.codebook import Codebook
from bayesspn.scopes import Scope

#: A region is small if it has at most this many patterns, and one for so many rows.
_MOST_PATTERNS = 1024
_ROWS_PER_PATTERN = 8

_DENSE_WIDTH = 1 << 30


def lay_out_patterns(geometry: Geometry, scope: Scope, codebook: Codebook, n_rows: int) -> Patterns:
    """Find the small regions of a scope."""
    widths = codebook.widths.copy()
    widths[codebook.dense] = _DENSE_WIDTH
    # what does not vary over the rows is always evaluated once
    most = max(1, min(_MOST_PATTERNS, n_rows // _ROWS_PER_PATTERN))
    size, stride = find_small_regions(geometry, scope.leaf_regions, widths, most)
    return Patterns(
        size,
        np.concatenate([[0], np.cumsum(size)[:-1]]),
        stride,
        widths,
        codebook.feature_rank,
        codebook.rank_feature,
        codebook.feature_base,
    )
