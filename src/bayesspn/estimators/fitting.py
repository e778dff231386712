"""Running the chains of an estimator: progress, Ctrl-C, and whether the chains agree."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from arviz_stats.base.array import array_stats
from joblib import effective_n_jobs
from sklearn.exceptions import ConvergenceWarning
from tqdm.auto import tqdm

from bayesspn.model import Model
from bayesspn.randomness import Key
from bayesspn.rows import EncodedRows
from bayesspn.sampling.chains import Chain, run_chain, run_chains, start_chain
from bayesspn.sampling.sweep import SweepInfo

#: Rounds into which parallel chains are divided: progress is shown, and Ctrl-C heard, after each.
_ROUNDS = 10

#: Chains whose R-hat of the log-likelihood exceeds this sit in different modes.
_LARGEST_RHAT = 1.1


def sample_chains(
    model: Model,
    rows: EncodedRows,
    *,
    seed: int,
    chains: int,
    burn_in: int,
    draws: int,
    thin: int,
    n_jobs: int | None,
    progress: bool,
) -> tuple[Chain, ...]:
    """Start chains and run each for ``burn_in + draws * thin`` sweeps.

    The draws do not depend on ``n_jobs``. Ctrl-C ends all chains early and keeps those that have
    draws, if any has.
    """
    starts = [start_chain(Key(seed, number), model, rows) for number in range(chains)]
    sweeps = burn_in + draws * thin
    with tqdm(total=chains * sweeps, unit=" sweeps", disable=not progress) as bar:
        if min(effective_n_jobs(n_jobs), chains) == 1:
            done: Sequence[Chain] = _run_in_turn(starts, rows, burn_in, draws, thin, bar)
        else:
            done = _run_in_rounds(starts, rows, burn_in, draws, thin, n_jobs, bar)
    return tuple(chain for chain in done if chain.draws)


def _run_in_turn(
    starts: Sequence[Chain], rows: EncodedRows, burn_in: int, draws: int, thin: int, bar: tqdm
) -> list[Chain]:
    def show(_: int, info: SweepInfo) -> None:
        bar.update()
        bar.set_postfix_str(f"log-likelihood {info.log_likelihood:.2f}", refresh=False)

    done: list[Chain] = []
    for start in starts:
        try:
            chain = run_chain(start, rows, burn_in=burn_in, draws=draws, thin=thin, on_sweep=show)
        except KeyboardInterrupt:
            if not done:
                raise
            break
        done.append(chain)
        if len(chain.draws) < draws:  # interrupted
            break
    return done


def _run_in_rounds(
    chains: Sequence[Chain],
    rows: EncodedRows,
    burn_in: int,
    draws: int,
    thin: int,
    n_jobs: int | None,
    bar: tqdm,
) -> Sequence[Chain]:
    parts = [(sweeps, 0) for sweeps in _divide(burn_in)] + [(0, n) for n in _divide(draws)]
    for sweeps, kept in parts:
        try:
            chains = run_chains(chains, rows, burn_in=sweeps, draws=kept, thin=thin, n_jobs=n_jobs)
        except KeyboardInterrupt:
            if not any(chain.draws for chain in chains):
                raise
            break
        bar.update(len(chains) * (sweeps + kept * thin))
        now = np.mean([chain.trace[-1].log_likelihood for chain in chains])
        bar.set_postfix_str(f"log-likelihood {now:.2f}", refresh=False)
    return chains


def _divide(total: int) -> list[int]:
    """Divide a number into at most _ROUNDS nearly equal parts."""
    ends = [total * part // _ROUNDS for part in range(_ROUNDS + 1)]
    return [end - begin for begin, end in pairwise(ends) if end > begin]


def log_likelihood_rhat(chains: Sequence[Chain], thin: int) -> float:
    """Split R-hat of the training log-likelihood per row over the kept part of the chains."""
    length = min(len(chain.draws) for chain in chains) * thin
    traces = np.array([[info.log_likelihood for info in chain.trace[-length:]] for chain in chains])
    if length < 4 or np.ptp(traces) == 0:
        return float("nan")
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
            stacklevel=4,
        )
    return rhat
