"""What a start gives a chain to begin with."""

from __future__ import annotations

from typing import NamedTuple

from bayesspn.arrays import IntArray
from bayesspn.engine.row_sums import Statistics
from bayesspn.scopes import Scope


class Start(NamedTuple):
    """Scope, edge counts and statistics in scope, as in `State`; hyper-parameters begin alike."""

    scope: Scope
    edge_counts: tuple[IntArray, ...]
    statistics: Statistics
