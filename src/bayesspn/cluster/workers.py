"""The narrow interface to all workers of a table at once, and workers of this process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from bayesspn.cluster.worker import ShardWorker

#: Arguments of one call, for every worker.
Arguments = Sequence[tuple[Any, ...]]


class Workers(Protocol):
    """One `ShardWorker` per shard, wherever they are."""

    def __len__(self) -> int:
        """Number of workers."""

    def broadcast(self, thing: Any) -> Any:
        """Something that stands for ``thing`` among the arguments of all workers' calls."""

    def call(self, method: str, arguments: Arguments, keep: bool = False) -> list[Any]:
        """Call a method of every worker, each with its own arguments; results in their order.

        Parameters
        ----------
        method : str
            Of `ShardWorker`.
        arguments : sequence of tuple
            One per worker.
        keep : bool, default=False
            Whether workers are changed by it, so that who replaces one has to do it again.
        """

    def close(self) -> None:
        """Dismiss the workers."""


class LocalWorkers:
    """Workers of this process, who work in turn."""

    def __init__(self, workers: int) -> None:
        self.workers = [ShardWorker() for _ in range(workers)]

    def __len__(self) -> int:
        return len(self.workers)

    def broadcast(self, thing: Any) -> Any:
        """The thing itself."""
        return thing

    def call(self, method: str, arguments: Arguments, keep: bool = False) -> list[Any]:
        """Call a method of every worker, each with its own arguments; results in their order."""
        return [
            getattr(worker, method)(*given)
            for worker, given in zip(self.workers, arguments, strict=True)
        ]

    def close(self) -> None:
        """Forget the rows."""
        self.workers.clear()


def call_alike(workers: Workers, method: str, *arguments: Any, keep: bool = False) -> list[Any]:
    """Call a method of every worker with the same arguments."""
    return workers.call(method, [arguments] * len(workers), keep)
