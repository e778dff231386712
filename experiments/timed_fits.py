"""Our models under a time limit: one chain after the other, each by what it has time for."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesspn import Key, Learned, Model, Posterior, RegionGraph, encode_rows
from bayesspn.arrays import Array
from bayesspn.engine.row_sums import Address
from bayesspn.engine.shards import LocalShards, Shards
from bayesspn.inference.circuits import draw_circuit
from bayesspn.inference.starts.choices import start_state
from bayesspn.inference.state import State, statistics_in_scope
from bayesspn.inference.sweep import SweepInfo, draw_hyper_parameters, draw_sweep
from bayesspn.tables import Schema, describe_columns, encode

#: Draws of a chain that are kept, from the later half of its sweeps, and those of a fit.
MOST_DRAWS = 20
_FIT_DRAWS = 160

#: Chains of a fit, and the sweeps that each should have: with less time there are fewer chains.
#: Chains sit in different modes, so that more of them gain more than longer ones.
_CHAINS = (2, 64)
_SWEEPS = 200

#: Draws that are enough to choose by.
_FEW_DRAWS = 8

#: Prior of the concentration of infinite mixtures.
_CONCENTRATION = Learned(1.0, 1.0)


@dataclass(frozen=True)
class Settings:
    """A graph and its priors.

    Attributes
    ----------
    graph : RegionGraph
        Of a component, if infinite.
    alpha, beta, gamma : float or None
        Concentrations of weights and of scopes, strength of leaf priors; None is learned.
    infinite : bool
        Whether this is an infinite mixture.
    fixed : bool
        Whether the structure stays as it was at the start of the chain.
    """

    graph: RegionGraph
    alpha: float | None = None
    beta: float | None = None
    gamma: float | None = None
    infinite: bool = False
    fixed: bool = False

    @property
    def name(self) -> str:
        """The graph in a few characters, such as "8-1-1 × 16 shared".

        Examples
        --------
        >>> Settings(RegionGraph(2, 4, sums=5, leaves=10), fixed=True).name
        '4-4 × 5, 10 cross, fixed'
        """
        graph = self.graph
        partitions = "-".join(str(count) for count in graph.branching)
        states = f"{graph.sums}" if graph.sums == graph.leaves else f"{graph.sums}, {graph.leaves}"
        flags = "".join(f", {flag}" for flag in ("infinite", "fixed") if getattr(self, flag))
        return f"{partitions} × {states} {graph.products}{flags}"

    def describe(self) -> dict[str, Any]:
        """In JSON's types."""
        described = dataclasses.asdict(self)
        described["graph"]["partitions"] = list(self.graph.branching)
        return described


def build_model(settings: Settings, schema: Schema, values: Array) -> Model:
    """The model of the columns of an encoded table."""
    fixed: dict[str, Any] = {
        name: value
        for name, value in (("alpha", settings.alpha), ("beta", settings.beta))
        if value is not None
    }
    if settings.gamma is not None:
        schema = Schema(tuple(dataclasses.replace(c, gamma=settings.gamma) for c in schema))
    return Model(
        settings.graph,
        describe_columns(schema, values),
        learn_leaf_priors=settings.gamma is None,
        concentration=_CONCENTRATION if settings.infinite else None,
        **fixed,
    )


class TimedChain:
    """A chain that is run for seconds and keeps evenly spaced draws of its later half.

    Parameters
    ----------
    model : Model
    shards : Shards
    key : Key
    fixed : bool, default=False
        Whether the structure stays as it is at the start.
    """

    def __init__(self, model: Model, shards: Shards, key: Key, fixed: bool = False) -> None:
        self._model, self._shards, self._key = model, shards, key
        self._sweep_once: Callable[..., tuple[State, SweepInfo]] = (
            draw_fixed_sweep if fixed else draw_sweep
        )
        begin = time.perf_counter()
        self._state = start_state(key, model, shards)
        self._every = 1
        self._kept: list[tuple[int, State]] = []
        self.sweeps = 0
        self.seconds = time.perf_counter() - begin

    def run(self, seconds: float) -> None:
        """Sweep until the chain has had so many seconds in all, and at least once."""
        begin = time.perf_counter() - self.seconds
        while self.sweeps == 0 or self.seconds < seconds:
            self._step()
            self.seconds = time.perf_counter() - begin

    def _step(self) -> None:
        self.sweeps += 1
        self._state, _ = self._sweep_once(
            self._key, self.sweeps, self._model, self._shards, self._state
        )
        if self.sweeps % self._every == 0:
            self._kept.append((self.sweeps, self._state))
        if len(self._kept) > 4 * MOST_DRAWS:
            self._every *= 2
            self._kept = [
                (sweep, state)
                for sweep, state in self._kept
                if sweep % self._every == 0 and 2 * sweep > self.sweeps
            ]

    def draws(self, most: int = MOST_DRAWS) -> tuple[State, ...]:
        """Draws of the later half of the sweeps so far, the last one included."""
        later = [state for sweep, state in self._kept if 2 * sweep > self.sweeps] or [self._state]
        step = -(-len(later) // most)
        return tuple(later[::-1][::step][::-1])


def draw_fixed_sweep(
    key: Key, sweep: int, model: Model, shards: Shards, state: State
) -> tuple[State, SweepInfo]:
    """A sweep that leaves the structure alone, as ABDA does: parameters, rows, hyper-parameters."""
    circuit = draw_circuit(key, sweep, model, state)
    sums = shards.row_pass(circuit, Address(key.words(), sweep))
    statistics = statistics_in_scope(shards.codebook, state.scope, sums.statistics)
    state = State(state.scope, state.hyper, sums.edge_counts, statistics)
    state = state._replace(hyper=draw_hyper_parameters(key, sweep, model, state))
    return state, SweepInfo(sums.log_likelihood / shards.n_rows, 0)


@dataclass(frozen=True, eq=False)
class Fit:
    """What chains gave in their time.

    Attributes
    ----------
    posterior : Posterior
        Of all chains.
    sweeps : tuple of int
        Of every chain.
    seconds : float
        Of all chains together, encoding included.
    """

    posterior: Posterior
    sweeps: tuple[int, ...]
    seconds: float

    def score_chains(self, rows: Array) -> Array:
        """Log-likelihood of every row under every chain; shape (chains, rows)."""
        model = self.posterior.model
        return np.stack([Posterior(model, (d,)).score_samples(rows) for d in self.posterior.draws])


def fit_for(
    seconds: float,
    settings: Settings,
    schema: Schema,
    training: Array,
    *,
    seed: int,
    chains: int | None = None,
    draws: int = MOST_DRAWS,
) -> Fit:
    """Run chains one after the other, each for its share of the seconds, and keep some draws.

    Unless the number of chains is given, it is what the first chain's speed has time for.
    """
    begin = time.perf_counter()
    values = encode(training, schema)
    model = build_model(settings, schema, values)
    shards = LocalShards(encode_rows(model.leaves, values))
    remaining = seconds - (time.perf_counter() - begin)
    done = [TimedChain(model, shards, Key(seed, 0), settings.fixed)]
    if chains is None:
        fewest, most = _CHAINS
        start = done[0].seconds
        done[0].run(start + remaining / most)
        each = start + _SWEEPS * (done[0].seconds - start) / done[0].sweeps
        chains = min(most, max(fewest, round(remaining / each)))
        draws = min(draws, max(1, _FIT_DRAWS // chains))
    done[0].run(remaining / chains)
    for number in range(1, chains):
        done.append(TimedChain(model, shards, Key(seed, number), settings.fixed))
        done[-1].run(remaining / chains)
    posterior = Posterior(model, tuple(chain.draws(draws) for chain in done))
    return Fit(posterior, tuple(chain.sweeps for chain in done), time.perf_counter() - begin)


def choose_by_validation(
    seconds: float,
    candidates: Sequence[Settings],
    schema: Schema,
    train: Array,
    valid: Array,
    *,
    seed: int,
) -> tuple[Settings, dict[str, float]]:
    """Choose the graph whose chain on train rows scores valid rows best.

    All chains run for half of the seconds together; the better half of them goes on for the rest.

    Returns
    -------
    settings : Settings
    scores : dict of str to float
        Mean score of valid rows by the name of the graph, the last that it had.
    """
    begin = time.perf_counter()
    values = encode(train, schema)
    model = build_model(candidates[0], schema, values)
    shards = LocalShards(encode_rows(model.leaves, values))
    rows = encode(valid, schema)
    remaining = seconds - (time.perf_counter() - begin)
    models = [dataclasses.replace(model, graph=settings.graph) for settings in candidates]
    chains = [TimedChain(model, shards, Key(seed)) for model in models]
    scores = [-np.inf] * len(candidates)
    going, each = list(range(len(candidates))), 0.0
    for _ in range(2):
        each += 0.5 * remaining / len(going)
        for number in going:
            chains[number].run(each)
            posterior = Posterior(models[number], (chains[number].draws(_FEW_DRAWS),))
            scores[number] = float(posterior.score_samples(rows).mean())
        going = sorted(going, key=lambda number: -scores[number])[: -(-len(going) // 2)]
    named = {settings.name: score for settings, score in zip(candidates, scores, strict=True)}
    return candidates[going[0]], named
