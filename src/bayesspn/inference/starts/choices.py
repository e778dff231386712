"""The kinds of starts by name. None is best on every table, so that they compete."""

from __future__ import annotations

from typing import Literal

from bayesspn.engine.shards import Shards
from bayesspn.inference.starts.clustered import cluster_start
from bayesspn.inference.starts.spread import spread_start
from bayesspn.inference.state import State
from bayesspn.model.generative import Model, start_hyper
from bayesspn.numerics.random_numbers import Key, Stream

StartName = Literal["spread", "clustered"]

_KINDS = {"spread": spread_start, "clustered": cluster_start}

START_NAMES = tuple(_KINDS)

#: Rows that a start is made from.
_SAMPLE_ROWS = 4096

#: Partitions of the root that the components of an infinite mixture begin with, together.
_START_PARTITIONS = 8


def start_state(key: Key, model: Model, shards: Shards, start: str = "spread") -> State:
    """Draw the state that a chain begins with; it differs from key to key.

    Parameters
    ----------
    key : Key
    model : Model
    shards : Shards
        The rows, of which some are looked at.
    start : {"spread", "clustered"}
        Leaves that have each seen one row, far from each other, or all rows clustered at every
        region.
    """
    rng = key.generator(0, Stream.START)
    chosen = rng.choice(shards.n_rows, size=min(_SAMPLE_ROWS, shards.n_rows), replace=False)
    sample = shards.values(chosen)
    graph = model.graph
    if model.infinite:
        graph = model.joined_graph(-(-_START_PARTITIONS // graph.branching[0]))
    scope, counts, statistics = _KINDS[start](rng, graph, shards.codebook, sample)
    if model.infinite:
        # components need rows to have a share: as if every edge of their roots had one
        counts[0][:] += 1
    return State(scope, start_hyper(model), counts, statistics)
