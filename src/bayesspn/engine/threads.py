"""Threads for compiled code that runs without Python's lock.

numba's own parallel loops would do, but compiling a large kernel inside one takes twice as long.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numba


def run_tasks(task: Callable[[int], object], tasks: int) -> None:
    """Call ``task(0)`` … ``task(tasks − 1)`` side by side; errors are raised here."""
    if tasks == 1:
        task(0)
    else:
        list(_pool(os.getpid()).map(task, range(tasks)))


@cache
def _pool(process: int) -> ThreadPoolExecutor:
    """Threads of this process: a child process does not inherit its parent's."""
    return ThreadPoolExecutor(numba.config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]
