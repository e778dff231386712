"""Threads for compiled code that runs without Python's lock.

numba's own parallel loops would do, but compiling a large kernel inside one takes twice as long.
"""

from __future__ import annotations

import contextlib
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from typing import Any, TypeVar

import numba

T = TypeVar("T")
R = TypeVar("R")


def use_threads(threads: int) -> None:
    """Let compiled code use so many threads, or as many as there may be."""
    numba.set_num_threads(max(1, min(threads, numba.config.NUMBA_NUM_THREADS)))  # type: ignore[attr-defined]


@contextlib.contextmanager
def limited_threads(threads: int) -> Iterator[None]:
    """Let compiled code use so many threads for a while."""
    before = numba.get_num_threads()
    use_threads(threads)
    try:
        yield
    finally:
        use_threads(before)


def call_with_threads(
    threads: int,
    function: Callable[..., R],
    arguments: tuple[Any, ...],
    keywords: dict[str, Any],
) -> R:
    """Make a call, as `joblib.delayed` describes it, in which compiled code has so many threads."""
    with limited_threads(threads):
        return function(*arguments, **keywords)


def run_tasks(kernel: Callable[..., object], most: int, *arguments: Any) -> None:
    """Call ``kernel(task, tasks, *arguments)`` for tasks that run side by side.

    There are as many as numba may use threads, and at most ``most``. Errors are raised here.
    """
    tasks = min(numba.get_num_threads(), most) if most > 1 else 1
    if tasks <= 1:
        kernel(0, 1, *arguments)
    else:
        pool = _pool(os.getpid())
        list(pool.map(lambda task: kernel(task, tasks, *arguments), range(tasks)))


@cache
def _pool(process: int) -> ThreadPoolExecutor:
    """Threads of this process: a child process does not inherit its parent's."""
    return ThreadPoolExecutor(numba.config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]


def map_in_threads(function: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
    """Results of ``function`` for items, in their order, from as many threads as numba may use.

    Worth it for functions that spend their time in NumPy or in kernels, which have one thread each
    there. Few items are in the works at a time, so that results do not pile up.
    """
    threads = numba.get_num_threads()
    if threads == 1:
        yield from map(function, items)
        return
    pool = _pool(os.getpid())
    waiting: deque[Future[R]] = deque()
    for item in items:
        waiting.append(pool.submit(call_with_threads, 1, function, (item,), {}))
        if len(waiting) > 2 * threads:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()
