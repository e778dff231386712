"""Independent runs side by side: chains, runs of an estimate, graphs to be scored.

They run in threads of this process, unless a `joblib.parallel_config` names another backend: what
takes time is compiled and lets go of Python's lock, and nothing has to be sent or imported again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from joblib import Parallel, delayed, effective_n_jobs

from bayesspn.numerics.threads import call_with_threads

Result = TypeVar("Result")

#: A call to be made: function, arguments, keywords.
Task = tuple[Callable[..., Result], tuple[Any, ...], dict[str, Any]]


def run_side_by_side(tasks: Sequence[Task[Result]], n_jobs: int | None) -> list[Result]:
    """Results of calls, in their order; cores that are left over become threads of the calls.

    Parameters
    ----------
    tasks : sequence of (function, arguments, keywords)
        As `joblib.delayed` describes them.
    n_jobs : int or None
        Cores, as joblib counts them.
    """
    cores = effective_n_jobs(n_jobs)
    workers = max(1, min(cores, len(tasks)))
    threads = max(1, cores // workers)
    # arrays mapped from files are read-only, another type for which everything is compiled again
    return list(
        Parallel(n_jobs=workers, prefer="threads", max_nbytes=None)(
            delayed(call_with_threads)(threads, *task) for task in tasks
        )
    )
