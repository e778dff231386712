"""deeprob-kit: LearnSPN, MSPN (LearnSPN with isotonic leaves) and ensembles of random circuits."""

from __future__ import annotations

import contextlib
import io
import warnings
from typing import Any

import numpy as np
from deeprob.spn.algorithms.inference import log_likelihood
from deeprob.spn.learning.wrappers import learn_estimator
from deeprob.spn.structure.leaf import Bernoulli, Categorical, Gaussian, Isotonic

from rivals.exchange import Reporter, Task, serve
from rivals.missing_learnspn import learn_with_gaps

#: Sizes of ensembles, one after the other as long as there is time.
ENSEMBLES = (2, 5, 10, 20, 40, 60, 120, 240)

#: Rows that are scored together: a circuit's nodes all keep their values.
TOGETHER = 2048

#: Laplace smoothing of discrete leaves.
ALPHA = 0.1


def score(circuit: Any, rows: Any) -> Any:
    """Log-likelihood of rows, a part at a time."""
    parts = [
        log_likelihood(circuit, rows[start : start + TOGETHER]).reshape(-1)
        for start in range(0, len(rows), TOGETHER)
    ]
    return np.concatenate(parts)


def learn_ensembles(task: Task, reporter: Reporter) -> None:
    """E-XPC: larger and larger ensembles, each learned from scratch and timed on its own."""
    training = task.training.astype(np.float32)
    for size in ENSEMBLES:
        before = reporter.seconds
        circuit = learn_estimator(
            training,
            [Bernoulli] * training.shape[1],
            [[0, 1]] * training.shape[1],
            method="ensemble-xpc",
            ensemble_dim=size,
            det=False,
            sd_level=0,
            min_part_inst=max(64, len(training) // 100),
            conj_len=2,
            arity=4,
            random_seed=task.seed,
        )
        spent = reporter.seconds - before
        reporter.report(
            lambda: score(circuit, task.test.astype(np.float32)),  # noqa: B023
            circuits=size,
            alone=spent,
        )
        if reporter.seconds + 2.5 * spent > task.seconds:
            break


def learn_spn(task: Task, reporter: Reporter) -> None:
    """LearnSPN with Bernoulli, Chow-Liu, Gaussian or isotonic leaves, or MSPN."""
    method = task.setting["method"]
    rows = min(256, max(30, len(task.training) // 10))  # small tables are split, too
    options: dict[str, Any] = {"min_rows_slice": rows}
    if task.binary:
        leaves = [Bernoulli] * len(task.categories)
        options |= {"learn_leaf": task.setting.get("leaf", "mle"), "split_cols": "gvs"}
        options["learn_leaf_kwargs"] = {"alpha": ALPHA}
    else:
        continuous = Isotonic if method == "mspn" else Gaussian
        leaves = [Categorical if count else continuous for count in task.categories]
        options |= {"learn_leaf": "mle", "split_rows": "rdc" if method == "mspn" else "kmeans"}
        options["learn_leaf_kwargs"] = {"alpha": ALPHA}
    training = task.filled()
    domains = [
        list(range(count)) if count else (float(cells.min()), float(cells.max()))
        for cells, count in zip(training.T, task.categories, strict=True)
    ]
    circuit = learn_estimator(
        training.astype(np.float32),
        leaves,
        domains,
        random_state=task.seed,
        verbose=False,
        **options,
    )
    reporter.report(lambda: score(circuit, task.test.astype(np.float32)))


def learn_gaps(task: Task, reporter: Reporter) -> None:
    """LearnSPN of binary rows with missing cells, which are left out of every count."""
    circuit = learn_with_gaps(task.training, ALPHA, task.seed)
    reporter.report(lambda: score(circuit, task.test.astype(np.float32)))


def learn(task: Task, reporter: Reporter) -> None:
    """Do what the setting says."""
    learners = {"expc": learn_ensembles, "gaps": learn_gaps}
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        learners.get(task.setting["method"], learn_spn)(task, reporter)


if __name__ == "__main__":
    serve(learn, ("deeprob-kit", "numpy", "scikit-learn", "scipy", "torch"))
