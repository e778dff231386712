"""Workers in processes of their own, on one machine or many, by Ray.

A worker that dies is replaced: the new one reads its shard again, and whatever was asked of the old
one is asked again. Since a worker's answers depend on nothing but its shard and the question, they
do not tell that it happened.
"""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Callable, Sequence
from typing import Any

from bayesspn.cluster.worker import ShardWorker
from bayesspn.cluster.workers import Arguments

_logger = logging.getLogger("bayesspn")

#: Replacements of one worker during one call, after which something must be wrong.
_MOST_REPLACEMENTS = 3


def import_ray() -> Any:
    """Ray, or a message that says how to get it."""
    try:
        import ray
    except ImportError:
        raise ImportError(
            'engine="ray" needs the package ray: pip install "bayesspn[ray]"'
        ) from None
    return ray


def connect(address: str | None) -> Callable[[], None]:
    """Connect to a Ray cluster, or start one on this machine; a function that leaves it again.

    A connection that exists already is used, and stays. Without an address, Ray's own variable
    RAY_ADDRESS counts.
    """
    ray = import_ray()
    if ray.is_initialized():
        current = ray.get_runtime_context().gcs_address
        if address not in (None, "auto", current):
            raise ValueError(
                f"address is {address!r}, but this process is connected to the Ray cluster at "
                f"{current}; call ray.shutdown() first, or leave address out"
            )
        return lambda: None
    # a cluster that happens to run on this machine may be somebody else's
    start = address is None and "RAY_ADDRESS" not in os.environ
    try:
        ray.init(
            address="local" if start else address,
            include_dashboard=False if start else None,
            logging_level=logging.ERROR,
            log_to_driver=False,
        )
    except ConnectionError as error:
        raise ConnectionError(
            f"there is no Ray cluster at {address!r}; start one with `ray start --head`, or leave "
            "address out to use this machine alone"
        ) from error
    return ray.shutdown


def count_cpus(ray: Any) -> list[int]:
    """CPUs of every machine of the cluster."""
    return [int(node["Resources"].get("CPU", 0)) for node in ray.nodes() if node["Alive"]]


def share_cpus(cpus: Sequence[int], workers: int) -> float:
    """CPUs that every worker may have so that all find a place.

    Examples
    --------
    >>> share_cpus([8, 8], 4), share_cpus([8, 4], 3), share_cpus([2], 7)
    (4.0, 4.0, 0.25)
    """
    total = sum(cpus)
    if total < 1:
        raise RuntimeError("no machine of the Ray cluster has a CPU to offer")
    for share in range(total // workers, 0, -1):
        if sum(count // share for count in cpus) >= workers:
            return float(share)
    # Ray knows ten-thousandths of a CPU
    return math.floor(1e4 / math.ceil(workers / total)) / 1e4


class RayWorkers:
    """One actor per shard.

    Parameters
    ----------
    workers : int or None
        None is one per CPU of the cluster.
    most : int
        Never more than that.
    address : str, default=None
        Of a Ray cluster; None uses the one that this process is connected to, or starts one here.
    """

    def __init__(self, workers: int | None, most: int, address: str | None = None) -> None:
        self._ray = import_ray()
        self._leave = connect(address)
        try:
            cpus = count_cpus(self._ray)
            number = max(1, min(sum(cpus) if workers is None else workers, most))
            share = share_cpus(cpus, number)
            self._actor = self._ray.remote(num_cpus=share, max_restarts=0)(ShardWorker)
            self._threads = max(1, int(share))
            self._actors = [self._start_worker() for _ in range(number)]
            self._done: list[list[tuple[str, tuple[Any, ...]]]] = [[] for _ in range(number)]
        except BaseException:
            self._leave()
            raise

    def __len__(self) -> int:
        return len(self._actors)

    def _start_worker(self) -> Any:
        return self._actor.remote(self._threads)

    def broadcast(self, thing: Any) -> Any:
        """A reference to ``thing``, which travels once to every machine."""
        return self._ray.put(thing)

    def call(self, method: str, arguments: Arguments, keep: bool = False) -> list[Any]:
        """Call a method of every worker, each with its own arguments; results in their order."""
        pending = [
            [getattr(actor, method).remote(*given)]
            for actor, given in zip(self._actors, arguments, strict=True)
        ]
        results = [
            self._wait(shard, references, method, given)
            for shard, (references, given) in enumerate(zip(pending, arguments, strict=True))
        ]
        if keep:
            for done, given in zip(self._done, arguments, strict=True):
                done.append((method, given))
        return results

    def _wait(self, shard: int, references: list[Any], method: str, given: tuple[Any, ...]) -> Any:
        """The result of the last of some calls, by other workers if the one who was asked dies."""
        errors = self._ray.exceptions
        lost = (errors.RayActorError, errors.WorkerCrashedError, errors.ObjectLostError)
        for replacements in range(_MOST_REPLACEMENTS + 1):
            try:
                return self._ray.get(references)[-1]
            except errors.RayTaskError as error:
                raise error.cause from None
            except lost as error:
                if replacements == _MOST_REPLACEMENTS:
                    raise RuntimeError(
                        f"the worker of shard {shard} and {replacements} who replaced it died "
                        f"during {method!r}; if memory is short, use more machines, or more shards "
                        f"than {len(self)}"
                    ) from error
                _logger.warning("the worker of shard %d died and is replaced", shard)
                references = self._replace(shard, method, given)
        raise AssertionError("unreachable")

    def _replace(self, shard: int, method: str, given: tuple[Any, ...]) -> list[Any]:
        """Ask a new worker, who first does what the old one had done."""
        # one that cannot be reached may be alive, and must not hold its shard in memory
        self._ray.kill(self._actors[shard])
        actor = self._actors[shard] = self._start_worker()
        calls = [*self._done[shard], (method, given)]
        return [getattr(actor, name).remote(*arguments) for name, arguments in calls]

    def pids(self) -> list[int]:
        """Process number of every worker, on its machine."""
        return [int(pid) for pid in self.call("pid", [()] * len(self))]

    def close(self) -> None:
        """Dismiss the workers, and leave the cluster if it was joined for them."""
        for actor in self._actors:
            self._ray.kill(actor)
        self._actors.clear()
        self._done.clear()
        self._leave()
