"""Whether one method scores test rows better than another, by two tests.

The paper tests with Mann–Whitney's U, which compares two samples of scores and ignores that they
are of the same rows; on tables of few different rows it counts small differences between equal
rows. Scores of a row under two methods are strongly correlated, and Wilcoxon's signed-rank test on
their differences uses that. Neither tests the mean: a method may have the better mean, by a few
rows, and be worse on most rows. Each test speaks for itself, with a direction of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from results import Scores
from scipy import stats

#: As in the paper.
LEVEL = 0.01


@dataclass(frozen=True)
class Comparison:
    """How the scores of a method compare with those of another, on the same rows.

    Attributes
    ----------
    difference : float
        Mean difference; positive if the first is better.
    mann_whitney, wilcoxon : (float, float)
        Direction, positive if the first tends to be larger, and two-sided p-value.
    """

    difference: float
    mann_whitney: tuple[float, float]
    wilcoxon: tuple[float, float]

    @property
    def verdict(self) -> str:
        """One character per test: + better, − worse, · neither, at `LEVEL`."""
        return "".join(
            "·" if p >= LEVEL else "+" if direction > 0 else "−"
            for direction, p in (self.mann_whitney, self.wilcoxon)
        )


def compare(first: Scores, second: Scores) -> Comparison:
    """Compare two methods by their scores of the same rows.

    Examples
    --------
    >>> scores = np.linspace(-9.0, -5.0, 100, dtype=np.float32)
    >>> compare(scores + np.float32(0.01), scores).verdict  # only a paired test sees this
    '·+'
    """
    if len(first) != len(second):
        raise ValueError(f"{len(first)} and {len(second)} scores cannot be of the same rows")
    differences = first.astype(np.float64) - second.astype(np.float64)
    if not differences.any():
        return Comparison(0.0, (0.0, 1.0), (0.0, 1.0))
    unpaired, paired = stats.mannwhitneyu(first, second), stats.wilcoxon(differences)
    ranks = stats.rankdata(np.abs(differences))
    return Comparison(
        float(differences.mean()),
        (float(unpaired.statistic - len(first) ** 2 / 2), float(unpaired.pvalue)),
        (float((ranks * np.sign(differences)).sum()), float(paired.pvalue)),
    )
