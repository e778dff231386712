"""Chains: run, continue, thin. A chain is immutable; continuing one gives a longer one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numba
from joblib import Parallel, delayed, effective_n_jobs

from bayesspn.engine import compiled
from bayesspn.model import Model
from bayesspn.randomness import Key
from bayesspn.rows import EncodedRows, check_support
from bayesspn.sampling.start import start_state
from bayesspn.sampling.state import State
from bayesspn.sampling.sweep import RowPass, SweepInfo, draw_sweep

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
        if every < 1:
            raise ValueError(f"every must be at least 1, got {every!r}")
        return replace(self, draws=self.draws[::-1][::every][::-1])


def start_chain(key: Key, model: Model, rows: EncodedRows) -> Chain:
    """Start a chain on encoded rows."""
    if rows.n_rows == 0:
        raise ValueError("the table has no rows")
    if rows.dictionary.leaves is not model.leaves:
        raise ValueError("the rows were encoded with other columns than the model's")
    check_support(rows)
    return Chain(model, key, start_state(key, model, rows))


def run_chain(
    chain: Chain,
    rows: EncodedRows,
    *,
    burn_in: int = 0,
    draws: int,
    thin: int = 1,
    on_sweep: OnSweep | None = None,
    row_pass: RowPass = compiled.row_pass,
) -> Chain:
    """Continue a chain by ``burn_in + draws * thin`` sweeps.

    The result is the same as that of one uninterrupted run, however the sweeps are divided over
    calls. Ctrl-C ends the run early and keeps what was sampled, if anything was.

    Parameters
    ----------
    chain : Chain
    rows : EncodedRows
        The rows that the chain was started on.
    burn_in : int, default=0
        Sweeps before the first draw.
    draws : int
        Draws to keep.
    thin : int, default=1
        Sweeps per draw.
    on_sweep : callable, default=None
        Called with the number of sweeps done and the `SweepInfo` after every sweep.
    row_pass : callable, default=the compiled engine
    """
    for name, value, least in (("burn_in", burn_in, 0), ("draws", draws, 0), ("thin", thin, 1)):
        if value < least:
            raise ValueError(f"{name} must be at least {least}, got {value!r}")
    state, trace, kept = chain.state, list(chain.trace), list(chain.draws)
    sweep = chain.sweep
    try:
        for step in range(1, burn_in + draws * thin + 1):
            state, info = draw_sweep(chain.key, sweep + 1, chain.model, rows, state, row_pass)
            sweep += 1
            trace.append(info)
            if step > burn_in and (step - burn_in) % thin == 0:
                kept.append(state)
            if on_sweep is not None:
                on_sweep(sweep, info)
    except KeyboardInterrupt:
        if not kept:
            raise
    return replace(chain, state=state, sweep=sweep, draws=tuple(kept), trace=tuple(trace))


def run_chains(
    chains: Sequence[Chain],
    rows: EncodedRows,
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
        Cores to use, as joblib counts them: None is 1 unless a `joblib.parallel_config` says
        otherwise, −1 is all. Chains get a process each; cores left over become threads of theirs.

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
    cores = effective_n_jobs(n_jobs)
    workers = max(1, min(cores, len(chains)))
    most = numba.config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]
    threads = min(max(1, cores // workers), most)
    run = delayed(_run_with_threads)
    # arrays mapped from files are read-only, another type for which everything is compiled again
    done = Parallel(n_jobs=workers, max_nbytes=None)(
        run(threads, chain, rows, burn_in=burn_in, draws=draws, thin=thin) for chain in chains
    )
    # a process returns copies: the chains of a run share one model
    return tuple(
        replace(after, model=before.model) for before, after in zip(chains, done, strict=True)
    )


def _run_with_threads(
    threads: int, chain: Chain, rows: EncodedRows, *, burn_in: int, draws: int, thin: int
) -> Chain:
    before = numba.get_num_threads()
    numba.set_num_threads(threads)
    try:
        return run_chain(chain, rows, burn_in=burn_in, draws=draws, thin=thin)
    finally:
        numba.set_num_threads(before)
