"""Chains: run, continue, thin. A chain is immutable; continuing one gives a longer one."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from joblib import delayed

from bayesspn.engine.shards import Shards, as_shards
from bayesspn.inference.starts.choices import start_state
from bayesspn.inference.state import State
from bayesspn.inference.sweep import SweepInfo, draw_sweep
from bayesspn.model.generative import Model
from bayesspn.numerics.checks import check_whole
from bayesspn.numerics.parallel import Task, run_side_by_side
from bayesspn.numerics.random_numbers import Key
from bayesspn.rows.encoded import EncodedRows, check_support

OnSweep = Callable[[int, SweepInfo], None]


@dataclass(frozen=True, eq=False)
class Chain:
    """Draws of one Markov chain.

    Attributes
    ----------
    model : Model
    key : Key
        The chain's random numbers.
    state : State
        Where the chain stands.
    sweep : int
        Sweeps done.
    draws : tuple of State
        Kept states.
    trace : tuple of SweepInfo
        One entry per sweep.
    """

    model: Model
    key: Key
    state: State
    sweep: int = 0
    draws: tuple[State, ...] = ()
    trace: tuple[SweepInfo, ...] = ()

    def thinned(self, every: int) -> Chain:
        """Keep every ``every``-th draw, counted from the last."""
        check_whole("every", every, 1)
        return replace(self, draws=self.draws[::-1][::every][::-1])


def start_chain(
    key: Key,
    model: Model,
    rows: EncodedRows | Shards,
    start: str = "spread",
) -> Chain:
    """Start a chain on encoded rows, in one of the ways of `start_state`."""
    check_rows(model, rows)
    return Chain(model, key, start_state(key, model, as_shards(rows), start))


def check_rows(model: Model, rows: EncodedRows | Shards) -> None:
    """Check that rows are the model's, and possible under it."""
    if rows.n_rows == 0:
        raise ValueError("the table has no rows")
    if rows.codebook.leaves is not model.leaves:
        raise ValueError("the rows were encoded with other columns than the model's")
    if isinstance(rows, EncodedRows):
        check_support(rows)


class GrowingChain:
    """A chain that grows sweep by sweep and can be looked at in between.

    Parameters
    ----------
    chain : Chain
    rows : EncodedRows or Shards
        The rows that the chain was started on.
    burn_in : int
        Sweeps before the first draw, counted from the chain's first sweep.
    thin : int
        Sweeps per draw.
    """

    def __init__(
        self, chain: Chain, rows: EncodedRows | Shards, *, burn_in: int, thin: int
    ) -> None:
        self._chain = chain
        self._shards = as_shards(rows)
        self._burn_in, self._thin = burn_in, thin
        self._draws, self._trace = list(chain.draws), list(chain.trace)
        # replaced in one go, so that Ctrl-C at any moment leaves things that belong together
        self._now = (chain.sweep, chain.state, len(self._draws), len(self._trace))

    @property
    def sweep(self) -> int:
        """Sweeps done."""
        return self._now[0]

    def step(self) -> SweepInfo:
        """Do one sweep, and keep it if its turn has come."""
        sweep, state, draws, trace = self._now
        del self._draws[draws:], self._trace[trace:]  # of a sweep that was interrupted
        sweep += 1
        chain = self._chain
        state, info = draw_sweep(chain.key, sweep, chain.model, self._shards, state)
        self._trace.append(info)
        if sweep > self._burn_in and (sweep - self._burn_in) % self._thin == 0:
            self._draws.append(state)
        self._now = (sweep, state, len(self._draws), len(self._trace))
        return info

    def chain(self) -> Chain:
        """The chain as it is now."""
        sweep, state, draws, trace = self._now
        return replace(
            self._chain,
            state=state,
            sweep=sweep,
            draws=tuple(self._draws[:draws]),
            trace=tuple(self._trace[:trace]),
        )


def run_chain(
    chain: Chain,
    rows: EncodedRows | Shards,
    *,
    burn_in: int = 0,
    draws: int,
    thin: int = 1,
    on_sweep: OnSweep | None = None,
) -> Chain:
    """Continue a chain by ``burn_in + draws * thin`` sweeps.

    The result is the same as that of one uninterrupted run, however the sweeps are divided over
    calls. Ctrl-C ends the run early and keeps what was sampled, if anything was.

    Parameters
    ----------
    chain : Chain
    rows : EncodedRows or Shards
        The rows that the chain was started on.
    burn_in : int, default=0
        Sweeps before the first draw.
    draws : int
        Draws to keep.
    thin : int, default=1
        Sweeps per draw.
    on_sweep : callable, default=None
        Called with the number of sweeps done and the `SweepInfo` after every sweep.
    """
    for name, value, least in (("burn_in", burn_in, 0), ("draws", draws, 0), ("thin", thin, 1)):
        check_whole(name, value, least)
    burn_in += chain.sweep
    growing = GrowingChain(chain, rows, burn_in=burn_in, thin=thin)
    try:
        while growing.sweep < burn_in + draws * thin:
            info = growing.step()
            if on_sweep is not None:
                on_sweep(growing.sweep, info)
    except KeyboardInterrupt:
        if not growing.chain().draws:
            raise
    return growing.chain()


def run_chains(
    chains: Sequence[Chain],
    rows: EncodedRows | Shards,
    *,
    burn_in: int = 0,
    draws: int,
    thin: int = 1,
    n_jobs: int | None = None,
) -> tuple[Chain, ...]:
    """Continue several chains side by side; the draws do not depend on ``n_jobs``.

    Parameters
    ----------
    chains : sequence of Chain
        Chains on the same rows.
    rows, burn_in, draws, thin
        As in `run_chain`.
    n_jobs : int, default=None
        Cores to use, as `count_cores` counts them: None and −1 are all. Chains get a thread of this
        process each; cores left over become further threads of theirs.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesspn import Key, Leaves, Model, RegionGraph, describe_column, encode_rows
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    >>> leaves = Leaves(tuple(describe_column(f"x{d}", X[:, d], "bernoulli") for d in range(2)))
    >>> model, rows = Model(RegionGraph(1, leaves=2), leaves), encode_rows(leaves, X)
    >>> chains = [start_chain(Key(0, chain), model, rows) for chain in range(2)]
    >>> [len(chain.draws) for chain in run_chains(chains, rows, draws=5)]
    [5, 5]
    """
    return _side_by_side(
        lambda chain: delayed(run_chain)(chain, rows, burn_in=burn_in, draws=draws, thin=thin),
        chains,
        n_jobs,
    )


def advance_chains(
    chains: Sequence[Chain],
    rows: EncodedRows | Shards,
    until: Sequence[int],
    *,
    burn_in: int,
    thin: int,
    n_jobs: int | None = None,
) -> tuple[Chain, ...]:
    """Continue chains side by side, each until it has done a number of sweeps of its own.

    Parameters
    ----------
    chains : sequence of Chain
        Chains on the same rows.
    rows : EncodedRows
    until : sequence of int
        Sweeps that each chain will have done.
    burn_in, thin : int
        As in `GrowingChain`.
    n_jobs : int, default=None
        As in `run_chains`.

    Ctrl-C that was noted ends all of them early; see `bayesspn.numerics.interrupts`.
    """
    ends = {chain.key: end for chain, end in zip(chains, until, strict=True)}
    # what a chain has kept need not travel to its process and back
    bare = [replace(chain, draws=(), trace=()) for chain in chains]
    done = _side_by_side(
        lambda chain: delayed(_advance)(chain, rows, ends[chain.key], burn_in=burn_in, thin=thin),
        bare,
        n_jobs,
    )
    return tuple(
        replace(after, draws=before.draws + after.draws, trace=before.trace + after.trace)
        for before, after in zip(chains, done, strict=True)
    )


def _advance(
    chain: Chain, rows: EncodedRows | Shards, until: int, *, burn_in: int, thin: int
) -> Chain:
    growing = GrowingChain(chain, rows, burn_in=burn_in, thin=thin)
    with contextlib.suppress(KeyboardInterrupt):  # which whoever runs the chains raises again
        while growing.sweep < until:
            growing.step()
    return growing.chain()


def _side_by_side(
    task: Callable[[Chain], Task[Chain]], chains: Sequence[Chain], n_jobs: int | None
) -> tuple[Chain, ...]:
    """Run a task for every chain."""
    done = run_side_by_side([task(chain) for chain in chains], n_jobs)
    # a process returns copies: the chains of a run share one model
    return tuple(
        replace(after, model=before.model) for before, after in zip(chains, done, strict=True)
    )
