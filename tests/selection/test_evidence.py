"""`log_evidence` of the estimator."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from bayesspn import BayesianSPN, InfiniteSPN, RegionGraph

QUICK = {"runs": 4, "sweeps": 40}


def related(rows: int = 40) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 2, rows)
    table = pd.DataFrame({"kind": kind.astype(bool), "size": 5.0 * kind + rng.normal(size=rows)})
    table.loc[::9, "size"] = np.nan
    return table


def test_evidence_prefers_the_model_that_fits():
    table = related()
    apart = BayesianSPN(graph=RegionGraph(0, leaves=1), random_state=1).log_evidence(table, **QUICK)
    together = BayesianSPN(graph=RegionGraph(0, leaves=2), random_state=1).log_evidence(
        table, **QUICK
    )
    assert together.value > apart.value + 3 * (apart.standard_error + together.standard_error)


@pytest.mark.long
def test_evidence_is_repeatable_and_fits_nothing():
    table = related(12)
    model = BayesianSPN(graph=RegionGraph(0, leaves=2), random_state=3)
    first = model.log_evidence(table, **QUICK)
    assert first == model.log_evidence(table, **QUICK)
    assert first == BayesianSPN(
        graph=RegionGraph(0, leaves=2), random_state=3, n_jobs=2
    ).log_evidence(table, **QUICK)
    assert not hasattr(model, "posterior_")


def test_wrong_questions_are_refused():
    table = related(20)
    with pytest.raises(ValueError, match=r"method must be one of .*got 'guess'"):
        BayesianSPN().log_evidence(table, method="guess")
    with pytest.raises(ValueError, match="runs must be a whole number from 2 on"):
        BayesianSPN().log_evidence(table, runs=1)
    with pytest.raises(ValueError, match="sweeps must be a whole number from 1 on"):
        BayesianSPN().log_evidence(table, sweeps=0)
    with pytest.raises(ValueError, match="infinite mixtures cannot be estimated"):
        InfiniteSPN().log_evidence(table)
