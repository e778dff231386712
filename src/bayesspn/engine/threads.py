"""Threads for compiled code that runs without Python's lock.

numba's own parallel loops would do, but compiling a large kernel inside one takes twice as long.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numba


def run_tasks(kernel: Callable[..., object], most: int, *arguments: Any) -> None:
    """Call ``kernel(task, tasks, *arguments)`` for tasks that run side by side.

    There are as many as numba may use threads, and at most ``most``. Errors are raised here.
    """
    tasks = max(1, min(numba.get_num_threads(), most))
    if tasks == 1:
        kernel(0, 1, *arguments)
    else:
        pool = _pool(os.getpid())
        list(pool.map(lambda task: kernel(task, tasks, *arguments), range(tasks)))


@cache
def _pool(process: int) -> ThreadPoolExecutor:
    """Threads of this process: a child process does not inherit its parent's."""
    return ThreadPoolExecutor(numba.config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]
