"""Who holds the rows of a fit and does its row passes, as users say it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bayesspn.numerics.checks import check_whole

ENGINES = ("local", "ray")


@dataclass(frozen=True)
class Engine:
    """Who holds the rows of a fit: this process, or workers of a Ray cluster.

    The draws do not depend on it.

    Parameters
    ----------
    name : {"local", "ray"}, default="local"
        ``"ray"`` needs ``pip install "bayesspn[ray]"``.
    address : str, default=None
        Of a Ray cluster, such as ``"auto"``. By default the one that this process is connected to
        or that ``RAY_ADDRESS`` names, else one that is started here and ends with the fit.
    shards : int, default=None
        Parts that the rows are divided into, with Ray a worker each. By default 1, or the number
        of CPUs of the Ray cluster.

    Examples
    --------
    >>> Engine("ray", address="auto", shards=8)
    Engine(name='ray', address='auto', shards=8)
    """

    name: str = "local"
    address: str | None = None
    shards: int | None = None

    def __post_init__(self) -> None:
        if self.name not in ENGINES:
            raise ValueError(f"an engine is 'local' or 'ray', got {self.name!r}")
        if self.address is not None and not isinstance(self.address, str):
            raise TypeError(f"address must be text or None, got {type(self.address).__name__}")
        if self.address is not None and self.name != "ray":
            raise ValueError(f"address is {self.address!r}, which needs the engine 'ray'")
        if self.shards is not None:
            object.__setattr__(self, "shards", check_whole("shards", self.shards, 1))


def resolve_engine(engine: Any) -> Engine:
    """The engine that a parameter names."""
    if isinstance(engine, Engine):
        return engine
    if not isinstance(engine, str) or engine not in ENGINES:
        raise ValueError(f"engine must be 'local', 'ray' or an Engine, got {engine!r}")
    return Engine(engine)
