"""The result of an estimate of the model evidence, and how independent runs make one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp
from scipy.stats import t as student

from bayesspn.arrays import Array

#: Runs are left behind by others if they are below the median by more than so many times what the
#: best is above it.
_LEFT_BEHIND = 3.0

#: Probability of two standard errors to either side.
_TWO_ERRORS = 0.9545


class LogEvidence(NamedTuple):
    """Logarithm of the model evidence.

    Attributes
    ----------
    value : float
        Log p(x) of all rows, hyper-parameters and networks integrated out.
    standard_error : float
        Wide enough that two to either side are right 19 times out of 20, few runs or many.
    """

    value: float
    standard_error: float


def mean_evidence(logs: Array) -> LogEvidence:
    """Logarithm of the mean of runs' evidences.

    A run that is left in a worse mode adds nothing to that mean, and little to its error as long as
    most runs agree.
    """
    runs = len(logs)
    median = np.median(logs)
    near = np.maximum(logs, median - _LEFT_BEHIND * (logs.max() - median))
    few = student.ppf((1 + _TWO_ERRORS) / 2, runs - 1) / 2
    error = few * near.std(ddof=1) / np.sqrt(runs)
    return LogEvidence(float(logsumexp(logs) - np.log(runs)), float(error))
