"""Independent runs side by side: chains, runs of an estimate, graphs to be scored.

They run in threads of this process, unless a `joblib.parallel_config` names another backend: what
takes time is compiled and lets go of Python's lock, and nothing has to be sent or imported again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numba
from joblib import Parallel, delayed, effective_n_jobs

from bayesspn.numerics.threads import call_with_threads

Result = TypeVar("Result")

#: A call to be made: function, arguments, keywords.
Task = tuple[Callable[..., Result], tuple[Any, ...], dict[str, Any]]


#: Work on tables of fewer cells is left to one core: most of it is Python's, which has one lock.
_FEW_CELLS = 1_500


def count_cores(n_jobs: int | None, cells: int | None = None) -> int:
    """How many cores ``n_jobs`` means.

    Parameters
    ----------
    n_jobs : int or None
        As joblib counts them, but that None without a `joblib.parallel_config` is as many threads
        as compiled code may use, all cores as a rule, or one for a small table.
    cells : int, default=None
        Of the table.

    Examples
    --------
    >>> count_cores(2), count_cores(None, cells=600)
    (2, 1)
    """
    cores = effective_n_jobs(n_jobs)
    if n_jobs is not None or cores > 1:
        return int(cores)
    small = cells is not None and cells < _FEW_CELLS
    return 1 if small else int(numba.get_num_threads())


def run_side_by_side(tasks: Sequence[Task[Result]], n_jobs: int | None) -> list[Result]:
    """Results of calls, in their order; cores that are left over become threads of the calls.

    Parameters
    ----------
    tasks : sequence of (function, arguments, keywords)
        As `joblib.delayed` describes them.
    n_jobs : int or None
        Cores; see `count_cores`.
    """
    cores = count_cores(n_jobs)
    workers = max(1, min(cores, len(tasks)))
    threads = max(1, cores // workers)
    # arrays mapped from files are read-only, another type for which everything is compiled again
    return list(
        Parallel(n_jobs=workers, prefer="threads", max_nbytes=None)(
            delayed(call_with_threads)(threads, *task) for task in tasks
        )
    )
