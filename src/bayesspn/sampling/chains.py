"""Chains: run, continue, thin. A chain is immutable; continuing one gives a longer one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

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
