"""How far chains go."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Lengths:
    """How far chains go.

    Attributes
    ----------
    chains : int
    burn_in : int or None
        None burns in until chains no longer climb, at most ``most_burn_in`` sweeps.
    most_burn_in : int
    draws, thin : int
    open_chains, open_draws : bool
        Whether there may be more chains, if there is time, and then fewer draws of each.
    """

    chains: int
    burn_in: int | None
    most_burn_in: int
    draws: int
    thin: int
    open_chains: bool = field(default=False, repr=False)
    open_draws: bool = field(default=False, repr=False)
