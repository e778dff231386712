"""Parallel tempering: replicas of a chain at several temperatures that exchange configurations.

At inverse temperature t, a *power*, the densities of cells are raised to t: power 0 is the prior,
power 1 the posterior. All conditionals stay in closed form, since the power only scales the
statistics of leaves. A *configuration* is a network with drawn parameters, φ = (y, w, θ, ω, α, …),
z and s summed out. The normaliser Z(t) satisfies

    Z(t') / Z(t) = E_t[ exp(L(φ; t') − L(φ; t)) ],   L(φ; t) = Σ_n log Σ_z w_z ∏_d p(x_nd | θ_z)^t,

and Z(1) is the model evidence. Neighbouring replicas give this ratio from both sides; bridge
sampling joins the two. The same differences decide by Metropolis's rule whether neighbours exchange
their configurations, which lets the posterior's chain leave a mode through the prior. As a way to
learn a table it does not pay (docs/engine.md): it serves the evidence alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from bayesspn.arrays import Array
from bayesspn.engine.shards import Shards
from bayesspn.inference.circuits import draw_circuit
from bayesspn.inference.evidence.bridge_sampling import bridge
from bayesspn.inference.prior import draw_prior_circuit
from bayesspn.inference.starts.choices import start_state
from bayesspn.inference.state import State
from bayesspn.inference.sweep import SweepInfo, draw_rest
from bayesspn.leaves.densities import DrawnLeaves
from bayesspn.model.circuit import Circuit
from bayesspn.model.generative import Hyper, Model, draw_hyper
from bayesspn.numerics.random_numbers import Key, Stream

#: Chains of a run are numbered below this; replicas of a ladder continue the numbers above it.
_MOST_CHAINS = 1 << 20

#: Share of exchanges between neighbours that may be refused.
_REFUSED = 0.4

#: Replicas are denser near the prior, where little data changes much.
_BEND = 4.0


class Configuration(NamedTuple):
    """A network and its hyper-parameters, z and s summed out."""

    hyper: Hyper
    circuit: Circuit


class Differences(NamedTuple):
    """Log-likelihoods of neighbouring replicas' networks at each other's power, per sweep.

    Attributes
    ----------
    up : ndarray of shape (sweeps, replicas − 1)
        L(φ_k; t_{k+1}) − L(φ_k; t_k).
    down : ndarray of shape (sweeps, replicas − 1)
        L(φ_{k+1}; t_k) − L(φ_{k+1}; t_{k+1}).
    """

    up: Array
    down: Array


@dataclass(frozen=True, eq=False)
class Ladder:
    """Chains at several powers.

    Attributes
    ----------
    model : Model
        A finite one.
    key : Key
        The last replica's random numbers; other replicas have keys derived from it.
    powers : ndarray of shape (replicas,)
        Ascending, the last one 1.
    states : tuple of State
        Of all replicas. One at power 0 draws from the prior whatever its state.
    sweep : int
        Sweeps done.
    """

    model: Model
    key: Key
    powers: Array
    states: tuple[State, ...]
    sweep: int = 0

    def replica_key(self, replica: int) -> Key:
        """Random numbers of a replica."""
        steps = len(self.powers) - 1 - replica
        return Key(self.key.seed, self.key.chain + steps * _MOST_CHAINS)


def start_ladder(key: Key, model: Model, shards: Shards, replicas: int) -> Ladder:
    """Start chains at so many powers from 0 to 1, all in the same state."""
    if model.infinite:
        raise ValueError("tempering needs a finite model")
    if replicas < 2:
        raise ValueError(f"a ladder needs at least 2 replicas, got {replicas}")
    powers = np.linspace(0.0, 1.0, replicas) ** _BEND
    return Ladder(model, key, powers, (start_state(key, model, shards),) * replicas)


def climb(
    ladder: Ladder, shards: Shards, sweeps: int
) -> tuple[Ladder, Differences, tuple[tuple[State, SweepInfo], ...]]:
    """Do sweeps on all replicas, with exchanges between neighbours.

    Returns
    -------
    Ladder
    Differences
    tuple of (State, SweepInfo)
        What the last replica, the posterior's, went through.
    """
    up, down, top = [], [], []
    for _ in range(sweeps):
        ladder, differences, info = _sweep(ladder, shards)
        up.append(differences.up)
        down.append(differences.down)
        top.append((ladder.states[-1], info))
    replicas = len(ladder.powers)
    stacked = Differences(
        np.array(up).reshape(-1, replicas - 1), np.array(down).reshape(-1, replicas - 1)
    )
    return ladder, stacked, tuple(top)


def _sweep(ladder: Ladder, shards: Shards) -> tuple[Ladder, Differences, SweepInfo]:
    model, powers, sweep = ladder.model, ladder.powers, ladder.sweep + 1
    configurations = [_draw_configuration(ladder, replica, sweep) for replica in range(len(powers))]
    own = np.array(
        [_score(shards, n.circuit, t) for n, t in zip(configurations, powers, strict=True)]
    )
    above = np.array(
        [_score(shards, n.circuit, t) for n, t in zip(configurations[:-1], powers[1:], strict=True)]
    )
    below = np.array(
        [_score(shards, n.circuit, t) for n, t in zip(configurations[1:], powers[:-1], strict=True)]
    )
    differences = Differences(above - own[:-1], below - own[1:])
    uniforms = ladder.key.generator(sweep, Stream.EXCHANGES).random(len(powers) - 1)
    # pairs of even and odd replicas in turn
    for replica in range(sweep % 2, len(powers) - 1, 2):
        if np.log(uniforms[replica]) < differences.up[replica] + differences.down[replica]:
            configurations[replica], configurations[replica + 1] = (
                configurations[replica + 1],
                configurations[replica],
            )
    states = list(ladder.states)
    for replica in np.flatnonzero(powers).tolist():
        hyper, circuit = configurations[replica]
        tempered = _at_power(circuit, float(powers[replica]))
        states[replica], info = draw_rest(
            ladder.replica_key(replica), sweep, model, shards, hyper, tempered
        )
    return replace(ladder, states=tuple(states), sweep=sweep), differences, info


def _draw_configuration(ladder: Ladder, replica: int, sweep: int) -> Configuration:
    """Draw the network of a replica given its state, from the prior at power 0."""
    key, model, power = ladder.replica_key(replica), ladder.model, float(ladder.powers[replica])
    if power == 0.0:
        rng = key.generator(sweep, Stream.START)
        hyper = draw_hyper(rng, model)
        return Configuration(hyper, draw_prior_circuit(rng, model, hyper))
    state = ladder.states[replica]
    return Configuration(state.hyper, draw_circuit(key, sweep, model, state, power))


def _score(shards: Shards, circuit: Circuit, power: float) -> float:
    """L(φ; t); 0 at power 0."""
    return shards.log_likelihood(_at_power(circuit, power)) if power else 0.0


def _at_power(circuit: Circuit, power: float) -> Circuit:
    assert isinstance(circuit.densities, DrawnLeaves)
    return replace(circuit, densities=replace(circuit.densities, power=power))


def adapt(ladder: Ladder, differences: Differences, most: int) -> Ladder:
    """Place replicas so that neighbours exchange networks equally often, as many as it takes.

    New replicas begin where the nearest old one stands.
    """
    length = _lengths(differences)
    replicas = int(np.clip(np.ceil(length[-1] / _REFUSED) + 1, 4, most))
    return _place(ladder, length, np.linspace(0.0, length[-1], replicas))


def _lengths(differences: Differences) -> Array:
    """Distances of replicas from the first: shares of exchanges refused, added up; (replicas,).

    They hardly depend on where replicas are (Syed et al., 2022), unless all are refused; then more
    replicas help.
    """
    accepted = np.exp(np.minimum(0.0, differences.up + differences.down)).mean(axis=0)
    return np.concatenate([[0.0], np.cumsum(np.maximum(1.0 - accepted, 1e-3))])


def _place(ladder: Ladder, length: Array, places: Array) -> Ladder:
    powers = np.interp(places, length, ladder.powers)
    nearest = np.abs(places[:, None] - length).argmin(axis=1)
    return replace(ladder, powers=powers, states=tuple(ladder.states[int(k)] for k in nearest))


def log_ratios(differences: Differences) -> Array:
    """Log Z(t_{k+1}) − log Z(t_k) of all neighbours; shape (replicas − 1,)."""
    pairs = zip(differences.up.T, differences.down.T, strict=True)
    return np.array([bridge(up, down) for up, down in pairs])


def jackknife(parts: Sequence[Differences]) -> tuple[float, float]:
    """Log Z(1) from differences in several parts, and its standard error by leaving out each."""

    def total(chosen: Sequence[Differences]) -> float:
        joined = Differences(
            np.concatenate([part.up for part in chosen]),
            np.concatenate([part.down for part in chosen]),
        )
        return float(log_ratios(joined).sum())

    value = total(parts)
    without = np.array([total([*parts[:k], *parts[k + 1 :]]) for k in range(len(parts))])
    count = len(parts)
    error = np.sqrt((count - 1) / count * ((without - without.mean()) ** 2).sum())
    return value, float(error)
