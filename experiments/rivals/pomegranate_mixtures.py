"""pomegranate: mixtures of independent columns, normal and categorical.

The library hands all columns of a table to its distributions as floats, which its categorical
distribution refuses, and its normal distribution ends in an error when a component has equal values
only; subclasses see to both.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import torch
from pomegranate.distributions import Categorical, IndependentComponents, Normal
from pomegranate.gmm import GeneralMixtureModel

from rivals.exchange import EarlyStopping, Reporter, Task, serve

#: Least variance of a standardised column: without it, repeated values end in an error.
MIN_VARIANCE = 1e-4

PSEUDOCOUNT = 0.1

#: Steps of EM between looks at the clock.
STEPS = 2

#: Rows per component, at least.
ROWS = 30


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


def score(model: Any, rows: Any) -> Any:
    """Log-likelihood of rows; columns are independent in a component, so missing ones drop out."""
    parts = []
    for component, prior in zip(model.distributions, model.priors, strict=True):
        total = torch.log(prior).expand(len(rows)).clone()
        for column, distribution in enumerate(component.distributions):
            seen = ~torch.isnan(rows[:, column])
            cells = rows[seen, column : column + 1]
            total[seen] += distribution.log_probability(cells)
        parts.append(total)
    return torch.logsumexp(torch.stack(parts), dim=0).detach().numpy()


def learn(task: Task, reporter: Reporter) -> None:
    """EM from components that begin with random rows and their nearest neighbours."""
    torch.manual_seed(task.seed)
    torch.set_num_threads(1)
    rng = np.random.default_rng(task.seed)
    filled = task.filled()
    size = min(task.setting["components"], max(4, len(filled) // ROWS))
    continuous = np.array(task.categories) == 0
    shift = np.where(continuous, filled.mean(axis=0), 0.0)
    scale = np.where(continuous, filled.std(axis=0), 1.0)
    standard = (filled - shift) / scale
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
    stopping = EarlyStopping(task, reporter)
    rows, held_out = training[stopping.kept], training[stopping.held_out]

    def step() -> None:
        model.fit(rows)

    stopping.run(
        step,
        lambda: float(score(model, held_out).mean()),
        lambda: copy.deepcopy(model),
        lambda best: score(best, test),
    )


if __name__ == "__main__":
    serve(learn, ("pomegranate", "torch", "numpy"))
