"""Running the chains of an estimator: progress, checkpoints, time limits, Ctrl-C."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from joblib import delayed
from tqdm.auto import tqdm

from bayesspn.arrays import Array
from bayesspn.engine.shards import Shards, as_shards
from bayesspn.estimators.plans import BURN_IN_SHARE, MOST_BURN_IN, MOST_CHAINS, share_draws
from bayesspn.files.checkpoints import Checkpoint
from bayesspn.inference.chains import (
    Chain,
    GrowingChain,
    advance_chains,
    check_rows,
)
from bayesspn.inference.climbing import FIRST_LOOK, still_climbing
from bayesspn.inference.lengths import Lengths
from bayesspn.inference.state import State
from bayesspn.inference.sweep import draw_sweep
from bayesspn.inference.warm_up import WarmUp, warm_up
from bayesspn.model.generative import Model
from bayesspn.numerics.interrupts import raise_interrupt
from bayesspn.numerics.parallel import run_side_by_side
from bayesspn.numerics.random_numbers import Key
from bayesspn.numerics.threads import limited_threads
from bayesspn.rows.encoded import EncodedRows

#: Rounds into which the burn-in, or the draws, of chains side by side are divided: progress is
#: shown, and Ctrl-C heard, after each.
_ROUNDS = 10

#: Sweeps that tell what a sweep takes on this machine.
_TIMED_SWEEPS = 2

#: Chains that are added together, for every core, and the share of a time limit until which they
#: are burnt in.
_TOGETHER = 4
_ADDING_SHARE = 0.95

#: Burn-in that has not ended yet.
_NEVER = 2**62


class Sampled(NamedTuple):
    """Chains with draws, and how far they went.

    Attributes
    ----------
    chains : tuple of Chain
    lengths : Lengths
        With the burn-in that was done.
    interrupted : bool
        Whether Ctrl-C ended the run.
    """

    chains: tuple[Chain, ...]
    lengths: Lengths
    interrupted: bool


class Pace(NamedTuple):
    """Seconds that a chain's warm-up and a sweep take on this machine."""

    warm_up: float
    sweep: float


@dataclass(frozen=True)
class Clock:
    """A time limit.

    Attributes
    ----------
    begun : float
        When the fit began, in seconds of `time.monotonic`.
    limit : float
        Seconds from then on.
    """

    begun: float
    limit: float

    def left(self, share: float = 1.0) -> float:
        """Seconds left until a share of the limit has passed."""
        return self.begun + share * self.limit - time.monotonic()


def start_clock(limit: float | None) -> Clock | None:
    """A clock that runs from now on, if there is a limit."""
    return None if limit is None else Clock(time.monotonic(), float(limit))


def sample_chains(
    model: Model,
    rows: EncodedRows | Shards,
    *,
    seed: int,
    warm: WarmUp,
    lengths: Callable[[Pace | None], Lengths],
    store: Checkpoint,
    cores: int,
    in_turn: bool = False,
    progress: bool,
    states: Sequence[State] = (),
    clock: Clock | None = None,
) -> Sampled:
    """Start chains, or take them from a checkpoint, and run each through burn-in and draws.

    The draws depend neither on ``cores`` nor on how often the run was stopped and taken up again.
    Ctrl-C ends all chains early: with those draws that all of them have, or, in a burn-in of open
    length, with the state that each has come to.

    Parameters
    ----------
    model : Model
    rows : EncodedRows or Shards
    seed : int
        Chain n has the key (seed, n).
    warm : WarmUp
        How chains find where they begin.
    lengths : callable
        How far chains go, given the pace of this machine, None if time does not matter.
    store : Checkpoint
    cores : int
        To use; so many chains run side by side.
    in_turn : bool, default=False
        Whether one chain runs after the other, since its rows are held by workers.
    progress : bool
    states : sequence of State, default=()
        Where chains begin, instead of a warm-up.
    clock : Clock, default=None
    """
    check_rows(model, rows)
    starting = _Starting(model, as_shards(rows), seed, warm, cores)
    run = _Run(starting, rows, progress, store, clock, 1 if in_turn else cores)
    chains, planned, burn_in = store.resume(model, seed)
    if chains is None:
        if states:
            planned = lengths(None)
            chains = [starting.chain(n, state) for n, state in enumerate(states)]
        else:
            first, seconds, run.starting = starting.begin()
            if clock is not None:
                run.pace = Pace(seconds, starting.time_sweep(first, in_turn))
            planned = lengths(run.pace)
            chains = [first, *run.starting.warm_up(range(1, planned.chains))]
        store.plan = planned
    assert planned is not None
    # more draws continue the chains of a checkpoint, fewer are the first of those there
    planned = replace(planned, draws=lengths(None).draws) if clock is None else planned
    return run(chains, planned, burn_in)


class _Starting(NamedTuple):
    """How chains begin."""

    model: Model
    shards: Shards
    seed: int
    warm: WarmUp
    cores: int

    def chain(self, number: int, state: State) -> Chain:
        """The chain that begins in a state."""
        return Chain(self.model, Key(self.seed, number), state)

    def begin(self) -> tuple[Chain, float, _Starting]:
        """The first chain, what the warm-up of another one takes, and how others begin."""
        first = warm_up(Key(self.seed, 0), self.model, self.shards, self.warm)
        others = self._replace(warm=self.warm.decided(first.start))
        return self.chain(0, first.state), first.seconds, others

    def warm_up(self, numbers: Sequence[int]) -> list[Chain]:
        """Chains that have found where they begin."""
        tasks = [
            delayed(warm_up)(Key(self.seed, n), self.model, self.shards, self.warm) for n in numbers
        ]
        warmed = run_side_by_side(tasks, self.cores) if tasks else []
        return [self.chain(n, one.state) for n, one in zip(numbers, warmed, strict=True)]

    def time_sweep(self, chain: Chain, in_turn: bool) -> float:
        """Seconds that a sweep takes, of one core if chains run side by side."""
        with limited_threads(self.cores if in_turn else 1):
            draw_sweep(chain.key, 1, self.model, self.shards, chain.state)
            begun = time.monotonic()
            for sweep in range(_TIMED_SWEEPS):
                draw_sweep(chain.key, sweep, self.model, self.shards, chain.state)
            taken = (time.monotonic() - begun) / _TIMED_SWEEPS
        return max(taken, 1e-6)


class _Run:
    """All chains of a fit on their way."""

    def __init__(
        self,
        starting: _Starting,
        rows: EncodedRows | Shards,
        progress: bool,
        store: Checkpoint,
        clock: Clock | None,
        jobs: int,
    ) -> None:
        self.starting, self.rows, self.store, self.clock = starting, rows, store, clock
        self.jobs = jobs
        self.progress = progress
        self.pace: Pace | None = None
        self.begun = time.monotonic()
        self.chains: list[Chain] = []
        self.burn_in: int | None = None

    def __call__(self, chains: list[Chain], planned: Lengths, burn_in: int | None) -> Sampled:
        """Burn in, draw, and say how far it went."""
        self.chains, self.begun = chains, time.monotonic()
        self.burn_in = planned.burn_in if burn_in is None else burn_in
        draws, interrupted = planned.draws, False
        total = planned.most_burn_in + draws * planned.thin
        with tqdm(
            total=len(chains) * total,
            initial=sum(min(chain.sweep, total) for chain in chains),
            unit=" sweeps",
            disable=not self.progress,
        ) as self.bar:
            try:
                self._burn_in(planned)
                if self.pace is not None and planned.open_chains:
                    planned = self._add_chains(planned)
                    draws = planned.draws
                self._advance((self.burn_in or 0) + draws * planned.thin, planned.thin)
            except KeyboardInterrupt:
                self._stop_early(planned)
                interrupted = True
            finally:
                self.store.write(self.chains, self.burn_in)
        drawn = [len(chain.draws) for chain in self.chains if chain.draws]
        if self.clock is not None:  # what the clock left of them, the same for all chains
            draws = min(draws, *drawn)
        assert self.burn_in is not None
        sweeps = self.burn_in + draws * planned.thin
        kept = tuple(
            replace(chain, draws=chain.draws[:draws], trace=chain.trace[:sweeps])
            for chain in self.chains
            if chain.draws
        )
        done = replace(planned, burn_in=self.burn_in, most_burn_in=self.burn_in, draws=draws)
        return Sampled(kept, done, interrupted)

    def _burn_in(self, planned: Lengths) -> None:
        if self.burn_in is not None:
            self._advance(self.burn_in, planned.thin)
            return
        look = min(FIRST_LOOK, planned.most_burn_in)
        # with a limit, what was planned is a guess, and the clock decides
        most = planned.most_burn_in if self.clock is None else MOST_BURN_IN
        while True:
            if not self._advance(look, planned.thin, BURN_IN_SHARE):
                look = min(chain.sweep for chain in self.chains)
                break
            climbing = still_climbing(stack_traces(self.chains)[:, :look])
            if look >= most or not climbing:
                break
            look = min(2 * look, most)
        self.burn_in = look
        self.bar.total = len(self.chains) * (look + planned.draws * planned.thin)
        self.bar.refresh()

    def _add_chains(self, planned: Lengths) -> Lengths:
        """More chains of the same length while there is time, some together."""
        assert self.clock is not None
        assert self.burn_in is not None
        assert self.pace is not None
        if self.burn_in == 0:
            return planned
        sweep = (time.monotonic() - self.begun) / (len(self.chains) * self.burn_in)
        drawing = planned.draws * planned.thin * sweep
        all_drawing = len(self.chains) * drawing
        chain = self.pace.warm_up + self.burn_in * sweep
        if not planned.open_draws:  # else the same number of draws comes from more chains
            chain += drawing
        while (present := len(self.chains)) < MOST_CHAINS:
            room = (self.clock.left() - all_drawing) / chain
            more = int(np.clip(room, 0, min(_TOGETHER * self.jobs, MOST_CHAINS - present)))
            if more < 1:
                break
            self.chains += self.starting.warm_up(range(present, present + more))
            self.store.plan = replace(planned, chains=present + more)
            self.bar.total += more * (self.burn_in + planned.draws * planned.thin)
            in_time = self._advance(self.burn_in, planned.thin, _ADDING_SHARE)
            # chains that were not burnt in on time are left out
            self.chains = [chain for chain in self.chains if chain.sweep >= self.burn_in]
            all_drawing += (len(self.chains) - present) * drawing * (not planned.open_draws)
            if not in_time:
                break
        count = len(self.chains)
        draws = min(planned.draws, share_draws(count)) if planned.open_draws else planned.draws
        self.store.plan = replace(planned, chains=count, draws=draws)
        return self.store.plan

    def _stop_early(self, planned: Lengths) -> None:
        """Go on with what there is after Ctrl-C, or not at all."""
        if any(chain.draws for chain in self.chains):
            return
        # of a burn-in of open length, whatever chains have come to
        ready = [chain for chain in self.chains if chain.sweep >= (self.burn_in or 1)]
        if planned.burn_in is not None or not ready:
            raise KeyboardInterrupt
        self.burn_in = max(0, min(chain.sweep for chain in ready) - 1)
        self.chains = [replace(chain, draws=(chain.state,)) for chain in ready]

    def _advance(self, until: int, thin: int, share: float = 1.0) -> bool:
        """Bring all chains to a number of sweeps, round by round.

        Returns
        -------
        bool
            False if a share of the time limit passed before; there is always one draw.
        """
        burn_in = _NEVER if self.burn_in is None else self.burn_in
        stop = min(chain.sweep for chain in self.chains)
        length = max(thin, -(-(until - stop) // _ROUNDS))
        if self.store.active or self.clock is not None:
            length = thin
        while stop < until:
            drawn = self.burn_in is None or all(chain.draws for chain in self.chains)
            if self.clock is not None and drawn and self.clock.left(share) < 0:
                return False
            stop = min(until, stop + length)
            begun = time.monotonic()
            self._round(stop, burn_in, thin)
            if self.store.active:
                length = self.store.next_round(length, time.monotonic() - begun)
            if self.store.due(milestone=stop == until):
                self.store.write(self.chains, self.burn_in)
        return True

    def _round(self, stop: int, burn_in: int, thin: int) -> None:
        """Bring all chains to a number of sweeps; the list always holds what was done."""
        numbers = [n for n, chain in enumerate(self.chains) if chain.sweep < stop]
        if min(self.jobs, len(numbers)) <= 1:
            for n in numbers:
                growing = GrowingChain(self.chains[n], self.rows, burn_in=burn_in, thin=thin)
                try:
                    while growing.sweep < stop:
                        info = growing.step()
                        self._show(1, info.log_likelihood)
                        if self.store.due():
                            self.chains[n] = growing.chain()
                            self.store.write(self.chains, self.burn_in)
                finally:
                    self.chains[n] = growing.chain()
            return
        part = [self.chains[n] for n in numbers]
        before = sum(chain.sweep for chain in part)
        until = [stop] * len(part)
        done = advance_chains(part, self.rows, until, burn_in=burn_in, thin=thin, n_jobs=self.jobs)
        for n, chain in zip(numbers, done, strict=True):
            self.chains[n] = chain
        raise_interrupt()
        now = float(np.mean([chain.trace[-1].log_likelihood for chain in done]))
        self._show(sum(chain.sweep for chain in done) - before, now)

    def _show(self, sweeps: int, log_likelihood: float) -> None:
        self.bar.update(sweeps)
        stage = "burning in" if self.burn_in is None else "sampling"
        self.bar.set_postfix_str(f"{stage}, log-likelihood {log_likelihood:.2f}", refresh=False)


def stack_traces(chains: Sequence[Chain]) -> Array:
    """Log-likelihoods of all sweeps, NaN where a chain ended early; (chains, sweeps)."""
    trace = np.full((len(chains), max(len(chain.trace) for chain in chains)), np.nan)
    for row, chain in zip(trace, chains, strict=True):
        row[: len(chain.trace)] = [info.log_likelihood for info in chain.trace]
    return trace
