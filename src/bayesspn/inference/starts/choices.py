"""The kinds of starts by name. None is best on every table, so that they compete."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal
from weakref import WeakKeyDictionary

import numpy as np

from bayesspn.arrays import Array
from bayesspn.engine.shards import Shards
from bayesspn.inference.leaf_priors import draw_leaf_priors
from bayesspn.inference.starts.clustered import cluster_start
from bayesspn.inference.starts.dependence import pairwise_dependence
from bayesspn.inference.starts.spread import spread_start
from bayesspn.inference.starts.state import Start
from bayesspn.inference.state import State
from bayesspn.model.generative import Model, start_hyper
from bayesspn.numerics.random_numbers import Key, Stream
from bayesspn.rows.codebook import Codebook

StartName = Literal["spread", "clustered", "targeted"]

#: How much the target counts where rows are clustered, as a share of all other columns.
_TARGET_SHARE = 0.25

_KINDS: dict[str, Callable[..., Start]] = {
    "spread": spread_start,
    "clustered": cluster_start,
    "targeted": partial(cluster_start, target_share=_TARGET_SHARE),
}

START_NAMES = tuple(_KINDS)

#: Starts of models of whole rows, which compete, and of those that predict their last column.
ROW_STARTS: tuple[StartName, ...] = ("clustered", "spread")
TARGET_STARTS: tuple[StartName, ...] = ("targeted",)

#: Rows that a start is made from, and cells if columns are many.
_SAMPLE_ROWS = 4096
_SAMPLE_CELLS = 1_000_000
_LEAST_ROWS = 500

#: Dependence between columns of tables that are in use: all chains need the same.
_DEPENDENCE: WeakKeyDictionary[Codebook, Array] = WeakKeyDictionary()

#: Updates of the leaf priors of numbers before the first sweep. At the columns' scale they would be
#: far too wide for leaves that fit a few rows. Priors of categories wait: those of clustered rows
#: are extreme, and chains on dna and accidents began worse.
_PRIOR_UPDATES = 10

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
    start : {"spread", "clustered", "targeted"}
        Leaves that have each seen one row, far from each other; or all rows clustered at every
        region; or the same with the last column, the target, counting a quarter of all others.
    """
    rng = key.generator(0, Stream.START)
    most = min(_SAMPLE_ROWS, max(_LEAST_ROWS, _SAMPLE_CELLS // model.n_columns))
    chosen = rng.choice(shards.n_rows, size=min(most, shards.n_rows), replace=False)
    sample = shards.values(chosen)
    graph = model.graph
    if model.infinite:
        graph = model.joined_graph(-(-_START_PARTITIONS // graph.branching[0]))
    codebook = shards.codebook
    dependence = _find_dependence(shards)
    scope, counts, statistics = _KINDS[start](rng, graph, codebook, sample, dependence)
    if model.infinite:
        # components need rows to have a share: as if every edge of their roots had one
        counts[0][:] += 1
    hyper = start_hyper(model)
    phi = hyper.phi
    for update in range(_PRIOR_UPDATES):
        drawn = draw_leaf_priors(key.stream(update, Stream.START), model, phi, statistics)
        phi = tuple(
            before if group.family.coded else after
            for group, before, after in zip(model.leaves.groups, phi, drawn, strict=True)
        )
    return State(scope, hyper._replace(phi=phi), counts, statistics)


def _find_dependence(shards: Shards) -> Array:
    """Dependence between columns by rows that are the same for all chains; (columns, columns)."""
    found = _DEPENDENCE.get(shards.codebook)
    if found is None:
        rng = np.random.default_rng(0)
        chosen = rng.choice(shards.n_rows, size=min(_SAMPLE_ROWS, shards.n_rows), replace=False)
        found = _DEPENDENCE[shards.codebook] = pairwise_dependence(shards.values(chosen))
    return found
