"""Bayesian sum-product networks: the joint distribution of a table, with honest uncertainty.

The flow is table → columns → encoded rows → chains → posterior → answers:

>>> import numpy as np
>>> from bayesspn import (
...     Key, Leaves, Model, RegionGraph, describe_column, encode_rows, merge_chains, run_chain,
...     start_chain,
... )
>>> rng = np.random.default_rng(0)
>>> length = rng.normal(170.0, 10.0, size=50)
>>> X = np.column_stack([length, length > 170.0])
>>> X[0, 1] = np.nan  # a missing cell
>>> leaves = Leaves((describe_column("length", X[:, 0], "gaussian"),
...                  describe_column("tall", X[:, 1], "bernoulli")))
>>> model = Model(RegionGraph(depth=1, partitions=2, leaves=3), leaves)
>>> rows = encode_rows(leaves, X)
>>> chain = run_chain(start_chain(Key(seed=0), model, rows), rows, burn_in=50, draws=20)
>>> posterior = merge_chains([chain])
>>> posterior.score_samples(X).shape
(50,)
"""

from __future__ import annotations

from pathlib import Path as _Path

from bayesspn.compilation import drop_stale_code as _drop_stale_code

_drop_stale_code(_Path(__file__).parent)  # before anything compiled is looked up

from bayesspn.graphs import RegionGraph
from bayesspn.leaves.columns import Column, Leaves, describe_column
from bayesspn.model import Learned, Model
from bayesspn.posterior import Posterior, merge_chains
from bayesspn.randomness import Key
from bayesspn.rows import EncodedRows, encode_rows
from bayesspn.sampling.chains import Chain, run_chain, run_chains, start_chain
from bayesspn.scopes import Scope
from bayesspn.spn import SPN

__version__ = "0.1.0.dev0"

__all__ = [
    "SPN",
    "Chain",
    "Column",
    "EncodedRows",
    "Key",
    "Learned",
    "Leaves",
    "Model",
    "Posterior",
    "RegionGraph",
    "Scope",
    "describe_column",
    "encode_rows",
    "merge_chains",
    "run_chain",
    "run_chains",
    "start_chain",
]
