"""scikit-learn's BayesianGaussianMixture, on the continuous columns alone: it knows no others."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.mixture import BayesianGaussianMixture

from rivals.exchange import Reporter, Task, serve


def learn(task: Task, reporter: Reporter) -> None:
    """Full covariances, up to 30 components; standardised columns."""
    continuous = [k for k, count in enumerate(task.categories) if not count]
    if not continuous:
        raise ValueError("there is no continuous column")
    training, test = task.filled()[:, continuous], task.test[:, continuous]
    shift, scale = training.mean(axis=0), training.std(axis=0)
    model = BayesianGaussianMixture(
        n_components=30,
        covariance_type=task.setting.get("covariance", "full"),
        max_iter=500,
        random_state=task.seed,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit((training - shift) / scale)
    reporter.correction = -float(np.log(scale).sum())
    reporter.report(lambda: model.score_samples((test - shift) / scale))


if __name__ == "__main__":
    serve(learn, ("scikit-learn", "numpy", "scipy"))
