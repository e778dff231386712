"""The model evidence by bridge sampling, from several chains."""

from __future__ import annotations

import numpy as np
from joblib import delayed

from bayesspn.inference.evidence.bridge_path import estimate_log_evidence
from bayesspn.inference.evidence.runs import LogEvidence, mean_evidence
from bayesspn.model.generative import Model
from bayesspn.numerics.checks import check_whole
from bayesspn.numerics.parallel import run_side_by_side
from bayesspn.numerics.random_numbers import Key
from bayesspn.rows.encoded import EncodedRows

#: Sweeps before rows are fixed for one sweep of a step, and the least of the latter.
_EACH = 80
_LEAST_EACH = 2

#: Share of the gap between the ways there and back that may be left in their mean, all runs alike.
_LEFT_OVER = 0.03


def bridge_evidence(
    model: Model,
    rows: EncodedRows,
    *,
    seed: int,
    runs: int = 4,
    sweeps: int = 320,
    n_jobs: int | None = None,
) -> LogEvidence:
    """Estimate the evidence on a path on which rows are fixed at trees and then removed.

    Parameters
    ----------
    model : Model
        A finite one.
    rows : EncodedRows
    seed : int
    runs : int, default=4
        Independent chains, whose agreement gives the standard error.
    sweeps : int, default=320
        Sweeps of a chain before rows are fixed; every step of the path has an
        eightieth of them on either way.
    n_jobs : int, default=None
        Chains side by side, as joblib counts them.

    Examples
    --------
    >>> from bayesspn import Leaves, RegionGraph, describe_column, encode_rows
    >>> X = np.array([[0.0], [1.0], [1.0]])
    >>> leaves = Leaves((describe_column("coin", X[:, 0], "bernoulli", gamma=1.0),))
    >>> model = Model(RegionGraph(0, leaves=1), leaves, alpha=1.0, learn_leaf_priors=False)
    >>> value, error = bridge_evidence(model, encode_rows(leaves, X), seed=0)
    >>> bool(abs(value - np.log(1 / 12)) < 1e-6)  # one leaf: nothing to average over
    True
    """
    check_whole("runs", runs, 2)
    check_whole("sweeps", sweeps, 1)
    each = max(_LEAST_EACH, sweeps // _EACH)
    paths = run_side_by_side(
        [
            delayed(estimate_log_evidence)(Key(seed, run), model, rows, sweeps=sweeps, each=each)
            for run in range(runs)
        ],
        n_jobs,
    )
    value, error = mean_evidence(np.array([path.log_evidence for path in paths]))
    left_over = _LEFT_OVER * float(np.mean([path.gap for path in paths]))
    return LogEvidence(value, float(np.hypot(error, left_over)))
