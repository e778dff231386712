"""Model evidence by bridge sampling along a path on which the assignments of rows are fixed.

Let (z*, s*) be the trees and likelihood families of all rows in one draw of a chain. Then

    p(x) = p(x, z*, s*) / p(z*, s* | x),

and both sides fall into steps between distributions that differ by a few rows. On the way to the
denominator rows are fixed at (z*, s*) part by part while the others stay free: a step from φ given
fewer fixed rows to φ given more has f(φ) = Σ log p(z*_n, s*_n | x_n, φ). On the way to the
numerator all rows are fixed, w, θ and ω are integrated out, and rows are removed part by part until
the prior of scope and hyper-parameters is left. Bridge sampling gives every step's ratio.

Tempering would be another path, but components of a mixture form and dissolve on it as ice and
water do, and its chains hang behind on either side by hundreds of nats. Here they never dissolve:
rows that are fixed hold them together (compare Chib, 1995). Label switching is another matter: the
first rows to be fixed are those that between them visit all nodes that z* uses, and the average
over the labels that no row has fixed yet is worked out exactly; see `label_symmetry`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bayesspn.arrays import Array, IntArray
from bayesspn.engine import compiled
from bayesspn.engine.row_sums import Address, RowSums, add_row_sums, subtract_row_sums
from bayesspn.inference.chains import GrowingChain, start_chain
from bayesspn.inference.circuits import draw_circuit
from bayesspn.inference.concentrations import log_edge_marginal
from bayesspn.inference.evidence.bridge_sampling import bridge
from bayesspn.inference.evidence.fixed_rows import (
    FirstVisitStep,
    FixedAssignments,
    PathDraw,
    RevisitStep,
    Step,
)
from bayesspn.inference.evidence.label_symmetry import label_fixing_rows
from bayesspn.inference.scopes import region_log_marginals
from bayesspn.inference.state import State
from bayesspn.inference.sweep import draw_hyper_parameters, place_columns
from bayesspn.model.generative import Model
from bayesspn.numerics.random_numbers import Key, Stream
from bayesspn.rows.encoded import EncodedRows
from bayesspn.scopes import Scope

#: Sweeps by which a chain gets used to further fixed rows, beyond those that are looked at.
_SETTLING = 1

#: Sweeps of all steps that fix one row each, on either way, unless there are more of these steps.
_FIRST_VISIT_SWEEPS = 1000

#: Draws of such a step for one of others, at most: what it adds varies more.
_FIRST_VISIT_DRAWS = 4

#: Standard deviation of f that a step should have. Longer steps are fewer, and their errors in all
#: the same as long as f is nearly normal.
_STEP = 3.0

#: Sweeps without free rows cost little: so many for one of the others.
_FIXED_SWEEPS = 3


class PathEstimate(NamedTuple):
    """What one path says.

    Attributes
    ----------
    log_evidence : float
    gap : float
        By how much the way there and the way back differ, added over the two parts of the path.
    """

    log_evidence: float
    gap: float


def estimate_log_evidence(
    key: Key, model: Model, rows: EncodedRows, *, sweeps: int, each: int
) -> PathEstimate:
    """Log evidence of the modes that one chain visits.

    Parameters
    ----------
    key : Key
    model : Model
        A finite one.
    rows : EncodedRows
    sweeps : int
        Sweeps of the chain before rows are fixed.
    each : int
        Sweeps of every step that are looked at, on either way.
    """
    growing = GrowingChain(start_chain(key, model, rows), rows, burn_in=sweeps, thin=1)
    while growing.sweep < sweeps:
        growing.step()
    chain = growing.chain()
    sweep = chain.sweep + 1
    circuit = draw_circuit(key, sweep, model, chain.state)
    fixed = FixedAssignments(circuit, Address(key.words(), sweep))
    path = _Path(key, model, rows, fixed, chain.state, sweep, each)
    log_posterior, gap = path.fix_rows()
    log_joint, other_gap = path.remove_rows()
    return PathEstimate(log_joint - log_posterior, abs(gap) + abs(other_gap))


class _Path:
    """A chain on its way from the posterior to the prior, and back.

    A chain that has just got further fixed rows is still a little behind, one that has lost some a
    little ahead: draws of both ways together make up for that.
    """

    def __init__(
        self,
        key: Key,
        model: Model,
        rows: EncodedRows,
        fixed: FixedAssignments,
        state: State,
        sweep: int,
        each: int,
    ) -> None:
        self.key, self.model, self.rows, self.fixed = key, model, rows, fixed
        self.state, self.sweep, self.each = state, sweep, each
        rng = key.generator(sweep, Stream.FIXED_ROWS)
        self.edges = compiled.draw_trees(fixed.circuit, rows, fixed.address, np.float32)[0]
        order = rng.permutation(rows.n_rows)
        first, self.labels = label_fixing_rows(model.graph, self.edges[order])
        self.order = np.concatenate([order[first], np.delete(order, first)])
        self.n_first = len(first)

    def fix_rows(self) -> tuple[float, float]:
        """Log p(z*, s* | x): fix all rows part by part, then free them."""
        n_rows = self.rows.n_rows
        size = max(1, n_rows // 200)
        ends = [0]
        up: list[Array] = []
        down: list[Array] = []
        sums: RowSums | None = None
        last: Step | None = None
        while last is None or ends[-1] < n_rows:
            begin = ends[-1]
            ends.append(begin + 1 if begin < self.n_first else min(begin + size, n_rows))
            step = self._step(begin, ends[-1])
            here = self._sample_step(begin, sums, step, last)
            up.append(here[0])
            down.append(here[1])
            if begin >= self.n_first:
                size = _next_size(size, here[0])
            sums = step.sums if sums is None else add_row_sums([sums, step.sums])
            last = step
        assert sums is not None
        down.append(self._sample_step(n_rows, sums, None, last)[1])
        all_pinned = self.state
        back_up: list[Array] = []
        back_down: list[Array] = []
        for k in reversed(range(len(up))):
            sums = subtract_row_sums(sums, step.sums)
            before = self._step(ends[k - 1], ends[k]) if k else None
            here = self._sample_step(ends[k], sums if k else None, step, before)
            back_up.insert(0, here[0])
            back_down.insert(0, here[1])
            if before is not None:
                step = before
        self.state = all_pinned
        back_down.append(down[-1])
        return _bridge_both(up, down, back_up, back_down)

    def _step(self, begin: int, end: int) -> Step:
        """Fixing of rows that stand from ``begin`` to ``end`` in order."""
        rows = self._rows(self.order[begin:end])
        sums = self.fixed.sums(rows)
        if begin >= self.n_first:
            return RevisitStep(rows, sums)
        return FirstVisitStep(self.model, rows, sums, self.labels, begin)

    def _sample_step(
        self, fixed: int, sums: RowSums | None, step: Step | None, last: Step | None
    ) -> tuple[Array, Array]:
        """Sweeps with some rows fixed: f of the step ahead, and −f of the last one."""
        free = self._rows(self.order[fixed:])
        draws = self.each
        if fixed < self.n_first:
            draws = int(
                np.clip(_FIRST_VISIT_SWEEPS // self.n_first, 1, _FIRST_VISIT_DRAWS * self.each)
            )
        up, down = [], []
        for number in range(-_SETTLING, draws):
            draw = self._sweep(free, sums)
            if number >= 0 and step is not None:
                up.append(step.log_probability(draw, True))
            if number >= 0 and last is not None:
                down.append(-last.log_probability(draw, False))
        return np.array(up), np.array(down)

    def _sweep(self, free: EncodedRows, fixed: RowSums | None) -> PathDraw:
        self.sweep += 1
        circuit = draw_circuit(self.key, self.sweep, self.model, self.state)
        address = Address(self.key.words(), self.sweep)
        parts = [] if fixed is None else [fixed]
        if free.n_rows:
            parts.append(compiled.row_pass(circuit, free, address))
        sums = add_row_sums(parts)
        self._advance(sums, circuit.scope)
        return PathDraw(circuit, address, sums, self.state)

    def remove_rows(self) -> tuple[float, float]:
        """Log p(x, z*, s*) but for base measures: from all rows, fixed, to none, and back."""
        left = [self.rows.n_rows]
        size = max(1, left[0] // 4)
        sums = self.fixed.sums(self.rows)
        more: RowSums | None = None
        up: list[Array] = []
        down: list[Array] = []
        while left[-1]:
            left.append(left[-1] - size)
            gone = self.fixed.sums(self._rows(self.order[left[-1] : left[-2]]))
            fewer = subtract_row_sums(sums, gone)
            here = self._sample_removal(sums, fewer, more)
            up.append(here[0])
            down.append(here[1])
            more, sums = sums, fewer
            size = min(_next_size(size, here[0]), max(1, left[-1] // 2))
        down.append(self._sample_removal(sums, None, more)[1])
        back_up: list[Array] = []
        back_down: list[Array] = []
        for k in reversed(range(len(up))):
            assert more is not None
            fewer, sums, more = sums, more, None
            if k:
                gone = self.fixed.sums(self._rows(self.order[left[k] : left[k - 1]]))
                more = add_row_sums([sums, gone])
            here = self._sample_removal(sums, fewer, more)
            back_up.insert(0, here[0])
            back_down.insert(0, here[1])
        back_down.append(down[-1])
        total, gap = _bridge_both(up, down, back_up, back_down)
        return -total, gap

    def _sample_removal(
        self, sums: RowSums, fewer: RowSums | None, more: RowSums | None
    ) -> tuple[Array, Array]:
        """Sweeps given fixed rows: log ratios of the density of fewer and of more to theirs."""
        up, down = [], []
        for number in range(-_SETTLING, _FIXED_SWEEPS * self.each):
            self.sweep += 1
            self._advance(sums, self.state.scope)
            if number >= 0:
                now = self._log_joint(sums)
                if fewer is not None:
                    up.append(self._log_joint(fewer) - now)
                if more is not None:
                    down.append(self._log_joint(more) - now)
        return np.array(up), np.array(down)

    def _advance(self, sums: RowSums, scope: Scope) -> None:
        """Draw y and the hyper-parameters given trees of all rows."""
        key, sweep, hyper = self.key, self.sweep, self.state.hyper
        state = place_columns(key, sweep, self.rows.codebook, hyper, scope, sums)
        hyper = draw_hyper_parameters(key, sweep, self.model, state)
        self.state = state._replace(hyper=hyper)

    def _log_joint(self, sums: RowSums) -> float:
        """Log density of fixed rows given y and hyper-parameters; w, θ and ω integrated out."""
        hyper = self.state.hyper
        evidence = region_log_marginals(self.rows.codebook, hyper, sums)
        leaf_regions = self.state.scope.leaf_regions.astype(np.int64)
        leaves = np.take_along_axis(evidence, leaf_regions, axis=1).sum()
        return float(leaves) + log_edge_marginal(hyper.alpha, sums.edge_counts)

    def _rows(self, ids: IntArray) -> EncodedRows:
        wanted = np.zeros(self.rows.n_rows, dtype=bool)
        wanted[ids] = True
        return self.rows.take(wanted)


def _bridge_both(
    up: list[Array], down: list[Array], back_up: list[Array], back_down: list[Array]
) -> tuple[float, float]:
    """Log ratio over all steps from draws of both ways, and by how much the ways differ.

    ``down[k + 1]`` belongs to ``up[k]``.
    """
    total, gap = 0.0, 0.0
    for k in range(len(up)):
        there, back = (up[k], down[k + 1]), (back_up[k], back_down[k + 1])
        total += bridge(*(np.concatenate(pair) for pair in zip(there, back, strict=True)))
        gap += bridge(*there) - bridge(*back)
    return total, gap


def _next_size(size: int, up: Array) -> int:
    return max(1, round(size * float(np.clip(_STEP / max(up.std(), 1e-3), 0.4, 2.0))))
