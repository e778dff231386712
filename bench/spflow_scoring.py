"""Score rows with SPFlow's circuits; run by `bench/scoring.py` in an interpreter that has SPFlow.

Builds circuits with about the wanted number of edges from SPFlow's zoo and one from its LearnSPN,
and times `log_likelihood` in eval mode, without gradients, in single precision, over several batch
sizes. Prints JSON. Edges are counted as `bench/scoring.py` says. Parameters are random where
nothing is learned: they do not matter for speed.

    python spflow_scoring.py ROWS.npz --edges N --depth D --repetitions R --threads 2

ROWS.npz holds binary arrays train and test; the folder `experiments` is on PYTHONPATH.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import psutil
import torch
from rivals.spflow_learnspn import cluster_rows, partition_by_g_test
from spflow.learn.learn_spn import learn_spn
from spflow.meta import Scope
from spflow.modules.einsum.einsum_layer import EinsumLayer
from spflow.modules.einsum.linsum_layer import LinsumLayer
from spflow.modules.leaves import Bernoulli
from spflow.modules.products import ElementwiseProduct, Product
from spflow.modules.rat.factorize import Factorize
from spflow.zoo.einet.einet import Einet
from spflow.zoo.rat.rat_spn import RatSPN

BATCHES = (1024, 256, 64, 16)
ROUNDS = 2
LEARN_SECONDS = 2.0


def size(shape: Any) -> int:
    return int(shape.features * shape.channels * shape.repetitions)


def count_edges(circuit: Any) -> int:
    total = 0
    for module in circuit.modules():
        total += math.prod(getattr(module, "weights_shape", (0,)))
        match module:
            case Factorize():
                columns, _, repetitions = module.indices.shape
                total += columns * module.in_shape.channels * repetitions
            case ElementwiseProduct():
                total += size(module.out_shape) * module.num_splits
            case LinsumLayer():
                total += size(module.in_shape) * 2
            case EinsumLayer():
                total += math.prod(module.weights_shape) // module.out_shape.channels * 2
            case Product():
                total += size(module.inputs.out_shape)
    return total


def leaf(columns: int, channels: int, repetitions: int = 1) -> Any:
    # checking every value against the support costs time and says nothing here
    return Bernoulli(
        scope=Scope(list(range(columns))),
        out_channels=channels,
        num_repetitions=repetitions,
        validate_args=False,
    )


def nearest(build: Callable[[int], Any], edges: int) -> Any:
    """The circuit whose number of edges is nearest to the wanted one, over its channels."""
    channels, below, above = 4, build(4), build(5)  # SPFlow 1.1 refuses a RAT-SPN of 3 channels
    while count_edges(above) < edges:
        channels += 1
        below, above = above, build(channels + 1)
    return min((below, above), key=lambda circuit: abs(count_edges(circuit) - edges))


def learn(train: Any, edges: int) -> Any:
    """The largest LearnSPN circuit within the wanted edges that is learned in seconds.

    With smaller slices than these, learning takes ever longer, minutes and more.
    """
    circuit, instances = None, len(train) // 4
    while True:
        begin = time.perf_counter()
        with contextlib.redirect_stdout(io.StringIO()):
            larger = learn_spn(
                train,
                leaf(train.shape[1], 1),
                min_instances_slice=instances,
                clustering_method=cluster_rows,
                partitioning_method=partition_by_g_test,
            )
        if circuit is not None and count_edges(larger) > edges:
            return circuit
        circuit, instances = larger, instances // 2
        if time.perf_counter() - begin > LEARN_SECONDS:
            return circuit


def time_rows(circuit: Any, rows: Any, batch: int) -> float:
    """Seconds per row, the best of some rounds over all rows."""
    parts = rows.split(batch)
    rounds = []
    circuit.log_likelihood(parts[0])
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        for part in parts:
            circuit.log_likelihood(part)
        rounds.append(time.perf_counter() - begin)
    return min(rounds) / len(rows)


def measure(name: str, circuit: Any, rows: Any) -> dict[str, object]:
    circuit.eval()
    # a sum layer holds a few arrays of (rows, weights)
    widest = max(math.prod(getattr(module, "weights_shape", (0,))) for module in circuit.modules())
    room = psutil.virtual_memory().available // 2
    times: dict[int, float] = {}
    with torch.no_grad():
        for batch in (len(rows), *(size for size in BATCHES if size < len(rows))):
            if 16 * batch * widest < room:
                times[batch] = time_rows(circuit, rows, batch)
                if times[batch] > 2 * min(times.values()):
                    break  # smaller ones only get slower: calls outweigh arithmetic
    best = min(times, key=times.__getitem__)
    return {
        "circuit": name,
        "edges": count_edges(circuit),
        "seconds_per_row": times[best],
        "batch": best,
        "seconds_per_row_by_batch": times,
        "threads": torch.get_num_threads(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Time SPFlow's log-likelihood.")
    parser.add_argument("rows")
    parser.add_argument("--edges", type=int, required=True)
    parser.add_argument("--depth", type=int, required=True)
    parser.add_argument("--repetitions", type=int, required=True)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(0)
    np.random.seed(0)  # noqa: NPY002  SPFlow draws its factorisations from it
    with np.load(arguments.rows) as parts:
        train, test = (torch.tensor(parts[n], dtype=torch.float32) for n in ("train", "test"))
    columns, depth, repetitions = test.shape[1], arguments.depth, arguments.repetitions

    def rat(channels: int) -> Any:
        leaves = [leaf(columns, channels, repetitions)]
        return RatSPN(leaves, 1, channels, repetitions, depth)

    def einet(channels: int, layer: str) -> Any:
        leaves = [leaf(columns, channels, repetitions)]
        return Einet(leaves, 1, channels, channels, depth, repetitions, layer_type=layer)

    circuits: dict[str, Callable[[], Any]] = {
        "RAT-SPN": lambda: nearest(rat, arguments.edges),
        "Einet, linsum": lambda: nearest(lambda k: einet(k, "linsum"), arguments.edges),
        "Einet, einsum": lambda: nearest(lambda k: einet(k, "einsum"), arguments.edges),
        "LearnSPN": lambda: learn(train, arguments.edges),
    }
    print(json.dumps([measure(name, build(), test) for name, build in circuits.items()]))


if __name__ == "__main__":
    main()
