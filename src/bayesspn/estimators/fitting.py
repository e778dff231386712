"""Running the chains of an estimator: progress, checkpoints, Ctrl-C, and whether they agree."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np
from joblib import effective_n_jobs
from sklearn.exceptions import ConvergenceWarning
from tqdm.auto import tqdm

from bayesspn.arrays import Array
from bayesspn.engine.shards import Shards
from bayesspn.files.checkpoints import Checkpoint
from bayesspn.inference.chains import (
    Chain,
    GrowingChain,
    advance_chains,
    chain_from_state,
    start_chain,
)
from bayesspn.inference.state import State
from bayesspn.model.generative import Model
from bayesspn.numerics.checks import levels_to_user
from bayesspn.numerics.random_numbers import LARGEST_SEED, Key, draw_seed
from bayesspn.rows.encoded import EncodedRows

#: Rounds into which parallel chains are divided: progress is shown, and Ctrl-C heard, after each.
_ROUNDS = 10

#: Chains whose R-hat of the log-likelihood exceeds this sit in different modes.
_LARGEST_RHAT = 1.1


class _Plan(NamedTuple):
    """How far the chains are to go."""

    burn_in: int
    draws: int
    thin: int

    @property
    def sweeps(self) -> int:
        """Sweeps of a chain."""
        return self.burn_in + self.draws * self.thin

    def done(self, chains: Sequence[Chain]) -> int:
        """Sweeps that need not be done any more."""
        return sum(min(chain.sweep, self.sweeps) for chain in chains)

    def stops(self) -> list[int]:
        """Sweeps after which the rounds of parallel chains end."""
        rounds = _divide(self.burn_in) + [n * self.thin for n in _divide(self.draws)]
        return list(accumulate(rounds))

    def cut(self, chain: Chain) -> Chain:
        """The part of a chain that was asked for; a checkpoint may hold a longer one."""
        return replace(chain, draws=chain.draws[: self.draws], trace=chain.trace[: self.sweeps])


def sample_chains(
    model: Model,
    rows: EncodedRows | Shards,
    *,
    random_state: Any,
    chains: int,
    burn_in: int,
    draws: int,
    thin: int,
    n_jobs: int | None,
    progress: bool,
    temperatures: int = 1,
    checkpoint: str | os.PathLike[str] | None = None,
    states: Sequence[State] = (),
    generation: int = 0,
) -> tuple[Chain, ...]:
    """Start chains, or take them from a checkpoint, and run each to ``burn_in + draws * thin``.

    The draws depend neither on ``n_jobs`` nor on how often the run was stopped and taken up again.
    Ctrl-C ends all chains early and keeps those that have draws, if any has.

    With ``states``, chains begin there; ``generation`` tells runs with the same ``random_state``
    apart, whose random numbers must differ.
    """
    plan = _Plan(int(burn_in), int(draws), int(thin))
    seed = draw_seed(random_state) + generation * (LARGEST_SEED + 1)
    store = Checkpoint(
        checkpoint,
        rows,
        burn_in=burn_in,
        thin=thin,
        temperatures=temperatures,
        random_state=random_state,
    )
    current = store.resume(model, chains, seed)
    left = chains if current is None else sum(chain.sweep < plan.sweeps for chain in current)
    if left:
        store.check_writable()
    if current is None and states:
        current = [
            chain_from_state(Key(seed, n), model, state, temperatures)
            for n, state in enumerate(states)
        ]
    if current is None:
        current = [start_chain(Key(seed, n), model, rows, temperatures) for n in range(chains)]
    with tqdm(
        total=chains * plan.sweeps,
        initial=plan.done(current),
        unit=" sweeps",
        disable=not progress,
    ) as bar:
        try:
            if min(effective_n_jobs(n_jobs), left) <= 1:
                _run_in_turn(current, rows, plan, bar, store)
            else:
                _run_in_rounds(current, rows, plan, n_jobs, bar, store)
        except KeyboardInterrupt:
            if not any(chain.draws for chain in current):
                raise
        finally:
            store.write(current)
    return tuple(plan.cut(chain) for chain in current if chain.draws)


def _run_in_turn(
    chains: list[Chain], rows: EncodedRows | Shards, plan: _Plan, bar: tqdm, store: Checkpoint
) -> None:
    """Run one chain after the other; the list always holds what was done."""
    for number, chain in enumerate(chains):
        growing = GrowingChain(chain, rows, burn_in=plan.burn_in, thin=plan.thin)
        try:
            while growing.sweep < plan.sweeps:
                info = growing.step()
                bar.update()
                bar.set_postfix_str(f"log-likelihood {info.log_likelihood:.2f}", refresh=False)
                if store.due():
                    chains[number] = growing.chain()
                    store.write(chains)
        finally:
            chains[number] = growing.chain()
        if store.due(milestone=True):
            store.write(chains)


def _run_in_rounds(
    chains: list[Chain],
    rows: EncodedRows | Shards,
    plan: _Plan,
    n_jobs: int | None,
    bar: tqdm,
    store: Checkpoint,
) -> None:
    """Run chains side by side, round by round; the list always holds the rounds that were done."""
    stops = plan.stops()
    most = 1 if store.active else plan.sweeps
    while True:
        numbers = [n for n, chain in enumerate(chains) if chain.sweep < plan.sweeps]
        if not numbers:
            return
        begun = time.monotonic()
        before = plan.done(chains)
        part = [chains[n] for n in numbers]
        until = [
            min(next(stop for stop in stops if stop > chain.sweep), chain.sweep + most)
            for chain in part
        ]
        part = list(
            advance_chains(part, rows, until, burn_in=plan.burn_in, thin=plan.thin, n_jobs=n_jobs)
        )
        for n, chain in zip(numbers, part, strict=True):
            chains[n] = chain
        if store.active:
            most = store.next_round(most, time.monotonic() - begun)
        bar.update(plan.done(chains) - before)
        now = np.mean([chain.trace[-1].log_likelihood for chain in part])
        bar.set_postfix_str(f"log-likelihood {now:.2f}", refresh=False)
        if store.due(milestone=any(chain.sweep >= plan.sweeps for chain in part)):
            store.write(chains)


def _divide(total: int) -> list[int]:
    """Divide a number into at most _ROUNDS nearly equal parts."""
    ends = [total * part // _ROUNDS for part in range(_ROUNDS + 1)]
    return [end - begin for begin, end in pairwise(ends) if end > begin]


def stack_traces(chains: Sequence[Chain]) -> Array:
    """Log-likelihoods of all sweeps, NaN where a chain ended early; (chains, sweeps)."""
    trace = np.full((len(chains), max(len(chain.trace) for chain in chains)), np.nan)
    for row, chain in zip(trace, chains, strict=True):
        row[: len(chain.trace)] = [info.log_likelihood for info in chain.trace]
    return trace


def log_likelihood_rhat(chains: Sequence[Chain], thin: int) -> float:
    """Split R-hat of the training log-likelihood per row over the kept part of the chains."""
    length = min(len(chain.draws) for chain in chains) * thin
    traces = np.array([[info.log_likelihood for info in chain.trace[-length:]] for chain in chains])
    if length < 4 or np.ptp(traces) == 0:
        return float("nan")
    from arviz_stats.base.array import array_stats  # slow to import

    return float(array_stats.rhat(traces, chain_axis=0, draw_axis=1))


def warn_if_chains_disagree(chains: Sequence[Chain], thin: int) -> float:
    """R-hat of the log-likelihood, with a `ConvergenceWarning` in words if it is too large."""
    rhat = log_likelihood_rhat(chains, thin)
    if rhat > _LARGEST_RHAT:
        means = [
            np.mean([info.log_likelihood for info in chain.trace[-len(chain.draws) * thin :]])
            for chain in chains
        ]
        warnings.warn(
            f"the chains do not agree on how well they fit (R-hat {rhat:.2f}, log-likelihood per "
            f"row from {min(means):.3f} to {max(means):.3f}): either they are still on their way, "
            "and a larger burn_in helps, or they sit in different modes, and more chains give a "
            "fairer average",
            ConvergenceWarning,
            stacklevel=levels_to_user(),
        )
    return rhat
