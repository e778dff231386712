"""pomegranate: mixtures of independent columns, normal and categorical.

The library hands all columns of a table to its distributions as floats, which its categorical
distribution refuses, and its normal distribution ends in an error when a component has equal values
only; subclasses see to both.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from pomegranate.distributions import Categorical, IndependentComponents, Normal
from pomegranate.gmm import GeneralMixtureModel

from rivals.exchange import Reporter, Task, serve

#: Least variance of a standardised column: without it, repeated values end in an error.
MIN_VARIANCE = 1e-4

PSEUDOCOUNT = 0.1

#: Steps of EM between looks at the clock, and reports that lie further and further apart.
STEPS = 2
RATIO = 1.5


class Codes(Categorical):  # type: ignore[misc]
    """A categorical distribution of codes that come as floats."""

    def log_probability(self, X: Any) -> Any:
        return super().log_probability(X.long())

    def summarize(self, X: Any, sample_weight: Any = None) -> Any:
        return super().summarize(X.long(), sample_weight=sample_weight)


class Floored(Normal):  # type: ignore[misc]
    """A normal distribution whose variance has a least value, which the library's own ignores."""

    def _reset_cache(self) -> None:
        if self._initialized:
            self.means.data.nan_to_num_(0.0)  # of a component that lost all its rows
            self.covs.data.nan_to_num_(1.0).clamp_(min=MIN_VARIANCE)
        super()._reset_cache()


def start_component(rows: Any, categories: tuple[int, ...]) -> Any:
    """A component that fits some rows."""
    columns: list[Any] = []
    for cells, count in zip(rows.T, categories, strict=True):
        if count:
            counts = np.bincount(cells.astype(int), minlength=count) + 1.0
            columns.append(Codes([list(counts / counts.sum())], pseudocount=PSEUDOCOUNT))
        else:
            variance = max(float(cells.var()), 0.01)
            columns.append(Floored([float(cells.mean())], [variance], covariance_type="diag"))
    return IndependentComponents(columns)


def learn(task: Task, reporter: Reporter) -> None:
    """EM from components that begin with random rows and their nearest neighbours."""
    torch.manual_seed(task.seed)
    torch.set_num_threads(1)
    rng = np.random.default_rng(task.seed)
    filled, size = task.filled(), task.setting["components"]
    continuous = np.array(task.categories) == 0
    shift = np.where(continuous, filled.mean(axis=0), 0.0)
    scale = np.where(continuous, filled.std(axis=0), 1.0)
    standard = (filled - shift) / scale
    if np.isnan(task.test).any():
        raise ValueError("pomegranate's distributions take no missing cells in rows to be scored")
    test = torch.tensor((task.test - shift) / scale, dtype=torch.float32)
    training = torch.tensor(standard, dtype=torch.float32)
    # distances in units of every column's own spread, so that codes count like numbers
    spread = standard / np.maximum(standard.std(axis=0), 1e-9)
    centres = spread[rng.choice(len(spread), size, replace=False)]
    nearest = np.argmin([((spread - centre) ** 2).sum(axis=1) for centre in centres], axis=0)
    components = []
    for number in range(size):
        own = standard[nearest == number]
        components.append(start_component(own if len(own) else standard, task.categories))
    reporter.correction = -float(np.log(scale).sum())
    model = GeneralMixtureModel(components, max_iter=STEPS, tol=-1e9)
    due, steps = 2.0, 0
    best, since = -np.inf, 0
    while reporter.seconds < task.seconds and since < 20:
        model.fit(training)
        steps += STEPS
        reached = float(model.log_probability(training).mean())
        since = 0 if reached > best + 1e-4 else since + 1
        best = max(best, reached)
        if reporter.seconds >= due:
            reporter.report(lambda: model.log_probability(test).numpy(), steps=steps)
            due = max(RATIO * due, reporter.seconds)
    reporter.report(lambda: model.log_probability(test).numpy(), steps=steps)


if __name__ == "__main__":
    serve(learn, ("pomegranate", "torch", "numpy"))
