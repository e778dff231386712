"""SPFlow: LearnSPN with and without EM, RAT-SPN, Einet, HCLT and cutset networks."""

from __future__ import annotations

import contextlib
import copy
import io
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from spflow.learn.cnet import learn_cnet
from spflow.learn.expectation_maximization import expectation_maximization
from spflow.learn.learn_spn import learn_spn
from spflow.meta import Scope
from spflow.modules.leaves import Bernoulli, Categorical, Normal
from spflow.zoo.einet.einet import Einet
from spflow.zoo.hclt.learn import learn_hclt_binary
from spflow.zoo.rat.rat_spn import RatSPN

from rivals.exchange import EarlyStopping, Reporter, Task, serve
from rivals.spflow_learnspn import cluster_rows, partition_by_g_test

BATCH = 256
SCORED_TOGETHER = 512
LEARNING_RATE = 0.05
SMOOTHING = 1e-3


def score(circuit: Any, rows: Any) -> Any:
    """Log-likelihood of rows, a part at a time."""
    with torch.no_grad():
        parts = [circuit.log_likelihood(part).reshape(-1) for part in rows.split(SCORED_TOGETHER)]
    return torch.cat(parts).numpy()


def leaf_modules(task: Task, channels: int, repetitions: int = 1) -> list[Any]:
    """Leaves of all columns: one module per number of categories, since they share it."""
    modules = []
    for count in sorted(set(task.categories)):
        columns = [k for k, other in enumerate(task.categories) if other == count]
        options: dict[str, Any] = {"out_channels": channels, "num_repetitions": repetitions}
        if count == 2 and task.binary:
            kind: Callable[..., Any] = Bernoulli
        elif count:
            kind, options["K"] = Categorical, count
        else:
            kind = Normal
        modules.append(kind(scope=Scope(columns), validate_args=False, **options))
    return modules


def learn_structure(task: Task, training: Any) -> Any:
    """LearnSPN."""
    options: dict[str, Any] = {"min_instances_slice": max(100, len(training) // 20)}
    if task.binary:
        options["partitioning_method"] = partition_by_g_test
    with contextlib.redirect_stdout(io.StringIO()):
        return learn_spn(training, leaf_modules(task, 1), clustering_method=cluster_rows, **options)


def improve(
    task: Task, reporter: Reporter, circuit: Any, training: Any, test: Any, method: str
) -> None:
    """Take steps of EM or Adam, with early stopping."""
    stopping = EarlyStopping(task, reporter)
    rows, held_out = training[stopping.kept], training[stopping.held_out]

    def rate(state: Any) -> Any:
        now = copy.deepcopy(circuit.state_dict())
        circuit.load_state_dict(state)
        scores = score(circuit, test)
        circuit.load_state_dict(now)
        return scores

    stopping.run(
        em_step(circuit, rows) if method == "em" else adam_step(circuit, rows),
        lambda: float(score(circuit, held_out).mean()),
        lambda: copy.deepcopy(circuit.state_dict()),
        rate,
    )


def em_step(circuit: Any, training: Any) -> Callable[[], None]:
    """One step of EM on all rows."""

    def step() -> None:
        expectation_maximization(circuit, training, max_steps=1)
        smooth(circuit)

    return step


def adam_step(circuit: Any, training: Any) -> Callable[[], None]:
    """One step of Adam on a batch of rows."""
    optimizer = torch.optim.Adam(circuit.parameters(), lr=LEARNING_RATE)

    def step() -> None:
        batch = training[torch.randint(len(training), (BATCH,))]
        optimizer.zero_grad()
        loss = -circuit.log_likelihood(batch).mean()
        loss.backward()
        optimizer.step()

    return step


def smooth(circuit: Any) -> None:
    """Keep Bernoulli leaves away from 0 and 1, where the library's scores become NaN."""
    with torch.no_grad():
        for module in circuit.modules():
            if isinstance(module, Bernoulli):
                module.probs = module.probs.nan_to_num(0.5).clamp(SMOOTHING, 1 - SMOOTHING)


def learn_cutset_networks(task: Task, reporter: Reporter, training: Any, test: Any) -> None:
    """Finer and finer cutset networks, until the library fails on a slice of one row."""
    slices = len(training) // 2
    while slices >= 50 and reporter.seconds < task.seconds:
        circuit = learn_cnet(
            training,
            cardinalities=list(task.categories),
            min_instances_slice=slices,
            cond="random",
            seed=task.seed,
        )
        try:
            reporter.report(lambda: score(circuit, test), slices=slices)  # noqa: B023
        except RuntimeError:
            return
        slices //= 2


def learn(task: Task, reporter: Reporter) -> None:
    """Do what the setting says; columns that are continuous are standardised meanwhile."""
    torch.manual_seed(task.seed)
    torch.set_num_threads(1)
    filled = task.filled()
    continuous = np.array(task.categories) == 0
    shift = np.where(continuous, filled.mean(axis=0), 0.0)
    scale = np.where(continuous, filled.std(axis=0), 1.0)
    training = torch.tensor((filled - shift) / scale, dtype=torch.float32)
    test = torch.tensor((task.test - shift) / scale, dtype=torch.float32)
    reporter.correction = -float(np.log(scale).sum())
    method = task.setting["method"]
    levels = max(1, min(4, int(np.log2(len(task.categories))) - 1))
    if method in ("learnspn", "learnspn+em"):
        circuit = learn_structure(task, training)
        smooth(circuit)
        reporter.report(lambda: score(circuit, test), steps=0)
        if method == "learnspn+em":
            improve(task, reporter, circuit, training, test, "em")
    elif method == "cnet":
        learn_cutset_networks(task, reporter, training, test)
    elif method == "hclt":
        circuit = learn_hclt_binary(training, num_hidden_cats=16, init="uniform")
        improve(task, reporter, circuit, training, test, "adam")
    elif method == "einet":
        leaves = leaf_modules(task, 10, 5)
        circuit = Einet(leaves, num_sums=10, num_leaves=10, depth=levels, num_repetitions=5)
        improve(task, reporter, circuit, training, test, "adam")
    elif method == "ratspn":
        leaves = leaf_modules(task, 10, 5)
        circuit = RatSPN(leaves, n_root_nodes=1, n_region_nodes=10, num_repetitions=5, depth=levels)
        improve(task, reporter, circuit, training, test, "adam")
    else:
        raise ValueError(f"unknown method {method!r}")


if __name__ == "__main__":
    serve(learn, ("spflow", "torch", "numpy", "scipy"))
