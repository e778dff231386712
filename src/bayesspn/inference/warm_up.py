"""What happens before a chain's first sweep: starts compete, and samples of the rows grow.

Any start is allowed before the draws. The first chain tries several, each for a few sweeps, and
goes on with the one that fits best; other chains begin in the same way, with random numbers of
their own. Of many rows a chain sees a sample first, then larger ones. What is found on some
thousand rows need not be found again on a million.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from bayesspn.engine.shards import Shards
from bayesspn.inference.starts.choices import START_NAMES, start_state
from bayesspn.inference.state import State
from bayesspn.inference.sweep import draw_sweep
from bayesspn.model.generative import Model
from bayesspn.numerics.random_numbers import Key

#: Rows that are always seen whole, and by how much samples of more rows grow.
_FEW_ROWS = 8_000
_FIRST_SAMPLE = 4_000
_GROWTH = 4

#: Sweeps of a start that is tried; on the first sample of rows; on each larger one.
TRIAL_SWEEPS = 20
_FIRST_SWEEPS = 60
_GROWN_SWEEPS = 20

#: Last sweeps of a trial that it is judged by.
_JUDGED_SWEEPS = 5


@dataclass(frozen=True)
class WarmUp:
    """How chains find where they begin.

    Parameters
    ----------
    starts : sequence of {"spread", "clustered", "targeted"}
        Starts that compete in the first chain; that of a chain is drawn anew.
    trial_sweeps : int, default=20
        Sweeps of each start before they are compared, if there are several.
    samples : sequence of (int, int), default=()
        Rows and sweeps of growing samples.

    Examples
    --------
    >>> WarmUp(("clustered", "spread")).sweeps
    40
    """

    starts: Sequence[str] = ("spread",)
    trial_sweeps: int = TRIAL_SWEEPS
    samples: Sequence[tuple[int, int]] = ()

    def __post_init__(self) -> None:
        unknown = [start for start in self.starts if start not in START_NAMES]
        if unknown or not self.starts:
            raise ValueError(f"starts must be some of {START_NAMES}, got {tuple(self.starts)}")
        object.__setattr__(self, "starts", tuple(self.starts))
        object.__setattr__(self, "samples", tuple((int(n), int(k)) for n, k in self.samples))

    @property
    def sweeps(self) -> int:
        """Sweeps of all trials and samples, of whatever number of rows."""
        trials = len(self.starts) * self.trial_sweeps if len(self.starts) > 1 else 0
        return trials + sum(sweeps for _, sweeps in self.samples)

    def decided(self, start: str) -> WarmUp:
        """Without trials, from one start.

        Examples
        --------
        >>> WarmUp(("clustered", "spread")).decided("spread").starts
        ('spread',)
        """
        return replace(self, starts=(start,))

    def shortened(self, share: float) -> WarmUp:
        """A share of the sweeps; without trials if they would be too short to compare starts.

        Examples
        --------
        >>> WarmUp(("clustered", "spread"), samples=[(4000, 60)]).shortened(0.5)
        WarmUp(starts=('clustered', 'spread'), trial_sweeps=10, samples=((4000, 30),))
        >>> WarmUp(("clustered", "spread")).shortened(0.1)
        WarmUp(starts=('clustered',), trial_sweeps=20, samples=())
        """
        samples = tuple((rows, max(1, int(share * sweeps))) for rows, sweeps in self.samples)
        trial = int(share * self.trial_sweeps)
        if trial < _JUDGED_SWEEPS:
            return WarmUp(self.starts[:1], self.trial_sweeps, samples)
        return WarmUp(self.starts, trial, samples)


def plan_samples(rows: int) -> tuple[tuple[int, int], ...]:
    """Rows and sweeps of the samples of a table with so many rows.

    Examples
    --------
    >>> plan_samples(5_000)
    ()
    >>> plan_samples(100_000)
    ((4000, 60), (16000, 20))
    """
    if rows <= _FEW_ROWS:
        return ()
    count = 1 + max(0, math.floor(math.log(rows / _FEW_ROWS, _GROWTH)))
    sizes = [_FIRST_SAMPLE * _GROWTH**k for k in range(count)]
    return tuple((size, _GROWN_SWEEPS if k else _FIRST_SWEEPS) for k, size in enumerate(sizes))


class Warmed(NamedTuple):
    """Where a chain begins.

    Attributes
    ----------
    state : State
    start : str
        The start that it came from.
    seconds : float
        What it took, trials aside.
    """

    state: State
    start: str
    seconds: float


def warm_up(key: Key, model: Model, shards: Shards, plan: WarmUp) -> Warmed:
    """Find the state that a chain begins with.

    Parameters
    ----------
    key : Key
        The chain's.
    model : Model
    shards : Shards
        All rows.
    plan : WarmUp
    """
    first = shards.sampled(plan.samples[0][0]) if plan.samples else shards
    best, chosen = -np.inf, None
    for number, start in enumerate(plan.starts):
        trial = key.aside(number)
        begun = time.monotonic()
        state = start_state(trial, model, shards, start)
        seconds, fit = time.monotonic() - begun, 0.0
        if len(plan.starts) > 1:
            state, fit = _run(trial, 0, model, first, state, plan.trial_sweeps)
        if chosen is None or fit > best:
            best, chosen = fit, Warmed(state, start, seconds)
    assert chosen is not None
    aside = key.aside(len(plan.starts))
    state, begun, done = chosen.state, time.monotonic(), 0
    for rows, sweeps in plan.samples:
        state, _ = _run(aside, done, model, shards.sampled(rows), state, sweeps)
        done += sweeps
    seconds = chosen.seconds + time.monotonic() - begun
    return Warmed(state, chosen.start, seconds)


def _run(
    key: Key, done: int, model: Model, shards: Shards, state: State, sweeps: int
) -> tuple[State, float]:
    """Some sweeps, and how well the last of them fit."""
    fits = []
    for sweep in range(done + 1, done + sweeps + 1):
        state, info = draw_sweep(key, sweep, model, shards, state)
        fits.append(info.log_likelihood)
    return state, float(np.mean(fits[-_JUDGED_SWEEPS:]))
