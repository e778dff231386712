"""Beyond one machine: rows in shards that workers hold, in this process or by Ray.

Every sweep broadcasts one circuit and adds up sums of integers, so that the draws are the same for
any number of shards, wherever they are. `placement` is what the estimators use; below it `workers`
and `ray_workers` call all workers at once, `worker` is one of them, `sources` and `partitions` are
where they get their rows from, and `shards` shows their rows to the sampler.
"""

from __future__ import annotations

from bayesspn.estimators.placement import ArrayTable, Engine, FileTable
from bayesspn.tables.partitions import names_files

__all__ = ["ArrayTable", "Engine", "FileTable", "names_files"]
