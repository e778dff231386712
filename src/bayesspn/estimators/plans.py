"""How long a fit is: chains, sweeps and draws, by what a sweep of the table costs.

Lengths depend on the table alone, not on the machine, unless there is a time limit. `FitPlan` says
what was done; given back, it does the same again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from bayesspn.graphs import RegionGraph
from bayesspn.inference.lengths import Lengths
from bayesspn.inference.warm_up import TRIAL_SWEEPS, WarmUp, plan_samples

#: Seconds of a core that a fit without a limit may take by what sweeps cost (`costs`), the
#: comparison of graphs and the warm-up aside.
NOMINAL_SECONDS = 20.0

#: Chains, if there is no limit; that begin together if there is one, at least one on every core;
#: and these with those that are added while there is time. Many short ones are better than few long
#: ones, but how long they must be is found out by the first.
_USUAL_CHAINS = 8
_FIRST_CHAINS = 6
MOST_CHAINS = 64
_FEWEST_CHAINS = 2

#: Sweeps that a chain should have. Of as many sweeps in all, four chains of 120 were better than
#: two of 240 on six of six large tables, and eight of 60 on four of them.
_CHAIN_SWEEPS = 100

#: Sweeps that there must be time for if the best graph is to grow: four chains.
GROWN_SWEEPS = 4 * _CHAIN_SWEEPS

#: Draws of all chains together: neighbours in a chain say nearly the same.
_DRAWS = 96
_FEWEST_DRAWS = 2

_THIN = 4

#: Sweeps of burn-in at least; at most with a time limit; without one, as nobody asked to wait; and
#: where rows held out say that longer chains are no better, however the fit of the others rises.
_LEAST_BURN_IN = 10
MOST_BURN_IN = 1_000
_USUAL_BURN_IN = 400
_SETTLED_BURN_IN = 100

#: Share of a chain's sweeps that draws may take if these are few.
_DRAWING_SHARE = 0.4

#: Share of a time limit that comparing graphs may take, after which chains are no longer burnt in.
RACE_SHARE = 0.2
BURN_IN_SHARE = 0.8

#: Share of what is left of a time limit that the warm-up of the first chain may take, which tries
#: several starts, and those of all chains together if their number is given.
WARM_UP_SHARE = 0.25
ALL_WARM_UPS = 0.4

#: Fits with fewer sweeps in all do not compare graphs, which would take longer than they do.
_RACED_SWEEPS = 700


@dataclass(frozen=True)
class FitPlan:
    """What a fit did: given back as ``plan=``, it does the same again, bit by bit.

    Attributes
    ----------
    graph : RegionGraph
    warm_up : WarmUp
        Starts that competed, and samples of the rows that chains saw first.
    chains, burn_in, draws, thin : int
    seed : int
        Of all random numbers.
    """

    graph: RegionGraph
    warm_up: WarmUp
    chains: int
    burn_in: int
    draws: int
    thin: int
    seed: int

    @property
    def lengths(self) -> Lengths:
        """How far chains went."""
        return Lengths(self.chains, self.burn_in, self.burn_in, self.draws, self.thin)

    def to_json(self) -> dict[str, Any]:
        """As JSON, to be read by `from_json`."""
        return asdict(self)

    @classmethod
    def from_json(cls, entry: Mapping[str, Any]) -> FitPlan:
        """Read what `to_json` wrote."""
        numbers = {
            name: int(entry[name]) for name in ("chains", "burn_in", "draws", "thin", "seed")
        }
        return cls(RegionGraph(**entry["graph"]), WarmUp(**entry["warm_up"]), **numbers)


def plan_lengths(
    given: Mapping[str, Any],
    sweep_seconds: float,
    seconds: float,
    *,
    warm_up_seconds: float = 0.0,
    limited: bool = False,
    settled: bool = False,
    cores: int = 1,
) -> Lengths:
    """Lengths of chains, where "auto" leaves them open.

    Parameters
    ----------
    given : mapping
        ``chains``, ``burn_in``, ``draws`` and ``thin`` of an estimator.
    sweep_seconds : float
        What a sweep costs.
    seconds : float
        What all chains may cost.
    warm_up_seconds : float, default=0
        What the warm-up of a chain costs.
    limited : bool, default=False
        Whether this is a limit, rather than what is usual.
    settled : bool, default=False
        Whether short chains are known to be as good as longer ones, which counts without a limit.
    cores : int, default=1
        That there are for chains.

    Examples
    --------
    >>> auto = dict.fromkeys(("chains", "burn_in", "draws", "thin"), "auto")
    >>> plan_lengths(auto, 0.002, 20)
    Lengths(chains=8, burn_in=None, most_burn_in=400, draws=12, thin=4)
    >>> plan_lengths(auto, 1.0, 60, limited=True)
    Lengths(chains=2, burn_in=None, most_burn_in=18, draws=12, thin=1)
    """
    chains = given["chains"]
    if chains == "auto":
        most = max(_FIRST_CHAINS, cores) if limited else _USUAL_CHAINS
        whole = warm_up_seconds + _CHAIN_SWEEPS * sweep_seconds
        chains = int(np.clip(seconds // whole, _FEWEST_CHAINS, most))
    each = max(1, int((seconds / chains - warm_up_seconds) // sweep_seconds))
    draws, thin = given["draws"], given["thin"]
    wanted = share_draws(chains) if draws == "auto" else draws
    room = max(_FEWEST_DRAWS, int(_DRAWING_SHARE * each))
    if thin == "auto":
        thin = int(np.clip(room // wanted, 1, _THIN))
    if draws == "auto":
        draws = int(np.clip(room // thin, _FEWEST_DRAWS, wanted))
    burn_in = given["burn_in"]
    usual = _SETTLED_BURN_IN if settled else _USUAL_BURN_IN
    longest = MOST_BURN_IN if limited else usual
    most_burn_in = int(np.clip(each - draws * thin, _LEAST_BURN_IN, longest))
    if burn_in == "auto":
        opened = (given[name] == "auto" for name in ("chains", "draws"))
        return Lengths(chains, None, most_burn_in, draws, thin, *opened)
    return Lengths(chains, int(burn_in), int(burn_in), draws, thin)


def share_draws(chains: int) -> int:
    """Draws of each of so many chains."""
    return max(_FEWEST_DRAWS, -(-_DRAWS // chains))


def plan_warm_up(given: Mapping[str, Any], rows: int, starts: tuple[str, ...]) -> WarmUp:
    """Trials and samples of the rows, short if a short burn-in is asked for."""
    burn_in = given["burn_in"]
    if burn_in == "auto":
        return WarmUp(starts, TRIAL_SWEEPS, plan_samples(rows))
    trial = min(TRIAL_SWEEPS, int(burn_in) // 4)
    return WarmUp(starts if trial else starts[:1], max(1, trial))


def compares_graphs(given: Mapping[str, Any]) -> bool:
    """Whether a fit of these lengths is long enough to compare graphs first."""
    if "auto" in (given["chains"], given["burn_in"]):
        return True
    draws, thin = (given[name] for name in ("draws", "thin"))
    after = (12 if draws == "auto" else draws) * (_THIN if thin == "auto" else thin)
    return bool(given["chains"] * (given["burn_in"] + after) >= _RACED_SWEEPS)
