"""Have the chains converged? Quantities that do not depend on how nodes are numbered.

Nodes of a network can be renumbered without changing the distribution, and chains do number them
differently, so weights and leaf parameters cannot be compared between chains. What is compared:
the fit to the training rows, the hyper-parameters, and how many of the nodes are in use.
"""

from __future__ import annotations

from abc import abstractmethod
from html import escape
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from bayesspn.arrays import Array
from bayesspn.estimators.plans import FitPlan
from bayesspn.inference.infinite.components import count_components
from bayesspn.inference.state import State
from bayesspn.prediction.posterior import DRAWN_SEED, Posterior
from bayesspn.questions.views import View
from bayesspn.questions.wording import count, describe_agreement

if TYPE_CHECKING:
    from bayesspn.estimators.joint import JointEstimator

#: What the quantities of a summary are.
_MEANINGS = {
    "log_likelihood": "mean log density of a training row",
    "alpha": "how evenly rows spread over the children of sums, level by level (α)",
    "beta": "how evenly columns spread over the children of products (β)",
    "edges_in_use": "edges of sums that rows go through: the size of the network that is used",
    "components": "components that rows go through",
    "concentration": "how readily rows form new components",
}

#: Fewer draws than this say nothing about convergence.
_FEWEST_DRAWS = 4


class Summary(pd.DataFrame):
    """A table of diagnostics that says first, in words, whether the chains agree."""

    _metadata: ClassVar = ["words"]
    words: str = ""

    @property
    def _constructor(self) -> type[pd.DataFrame]:
        return pd.DataFrame  # parts of the table are tables

    def __repr__(self) -> str:
        return f"{self.words}\n\n{super().__repr__()}"

    def _repr_html_(self) -> str:
        lines = "<br>".join(escape(line) for line in self.words.splitlines())
        return f"<p>{lines}</p>{super()._repr_html_()}"


class Diagnosed:
    """Methods of fitted estimators that tell whether their chains agree."""

    posterior_: Posterior
    trace_: Array
    plan_: FitPlan | None
    thin: int | str

    def summary(self, interval: float = 0.9) -> Summary:
        """Whether answers have settled, in words, and how well the chains agree.

        They are compared on quantities that do not depend on how nodes are numbered.

        Parameters
        ----------
        interval : float, default=0.9
            Probability of the interval from ``low`` to ``high``.

        Returns
        -------
        Summary
            A data frame whose ``words`` are shown above it: a row per quantity with ``mean``,
            ``sd``, ``low``, ``high``, effective sample sizes ``ess_bulk`` and ``ess_tail``, and
            ``r_hat``: near 1 if the chains agree. Quantities are the log-likelihood per training
            row, the concentrations α (per level) and β, and the number of sum edges that rows go
            through.

        Examples
        --------
        >>> from bayesspn.examples import fitted_patients
        >>> model = fitted_patients()
        >>> table = model.summary()
        >>> table.columns.tolist()
        ['mean', 'sd', 'low', 'high', 'ess_bulk', 'ess_tail', 'r_hat']
        >>> table.index[0]
        'log_likelihood'
        >>> print(table.words.splitlines()[0])
        2 chains, 40 draws; answers have settled: with other chains, typical conditional ...
        """
        table = Summary(summarise(self._invariants(), interval))
        chains = self.posterior_.draws
        words = [
            f"{count(len(chains), 'chain')}, {count(sum(map(len, chains)), 'draw')}; "
            f"{describe_agreement(cast('JointEstimator', self))}"
        ]
        names = dict.fromkeys(str(row).partition("[")[0] for row in table.index)
        words += [f"{name}: {_MEANINGS[name]}" for name in names]
        table.words = "\n".join(words)
        return table

    def to_arviz(self, X: Any = None) -> Any:
        """The draws for ArviZ.

        Parameters
        ----------
        X : array or data frame of shape (rows, columns), default=None
            Rows whose log-likelihood is wanted, the training rows as a rule: then LOO and WAIC
            work. With the estimators that have a target, rows without it: ``joint_`` is of more.

        Returns
        -------
        xarray.DataTree
            Groups ``posterior`` (label-invariant quantities), ``sample_stats`` and, with X,
            ``log_likelihood``.

        Examples
        --------
        >>> from bayesspn.examples import fitted_patients, load_patients
        >>> model = fitted_patients()
        >>> data = model.to_arviz(load_patients())
        >>> sorted(data.children)
        ['log_likelihood', 'posterior', 'sample_stats']
        >>> data["log_likelihood"]["row"].shape  # chains, draws, rows
        (2, 20, 200)
        """
        scores = None
        quantities = self._invariants()
        if X is not None:
            each = self.posterior_.score_draws(self._whole().encode_evidence(X), DRAWN_SEED)
            chains, length = quantities["beta"].shape
            starts = np.cumsum([0, *(len(chain) for chain in self.posterior_.draws[:-1])])
            kept = starts[:, None] + np.arange(length)
            scores = each[kept.ravel()].reshape(chains, length, -1)
        return build_inference_data(quantities, scores)

    def _invariants(self) -> dict[str, Array]:
        check_is_fitted(self)
        return invariants(self.posterior_, self.trace_, self._thin)

    @property
    def _thin(self) -> int:
        """Sweeps per draw."""
        # models of the first version's files have no plan, and a number
        return int(self.thin) if self.plan_ is None else self.plan_.thin

    @abstractmethod
    def _whole(self) -> View:
        """The joint distribution of all columns."""


def invariants(posterior: Posterior, trace: Array, thin: int) -> dict[str, Array]:
    """Label-invariant quantities of every draw.

    Chains that were interrupted are cut to the shortest one.

    Parameters
    ----------
    posterior : Posterior
    trace : ndarray of shape (chains, sweeps)
        Log-likelihood per training row; may be empty.
    thin : int
        Sweeps per draw.

    Returns
    -------
    dict of str to ndarray of shape (chains, draws) or (chains, draws, levels)
    """
    length = min(len(chain) for chain in posterior.draws)
    states = [chain[:length] for chain in posterior.draws]
    quantities = {}
    ends = np.array([int((~np.isnan(row)).sum()) for row in trace])
    if trace.size and (ends >= length * thin).all():
        kept = [
            row[end - len(chain) * thin : end][thin - 1 :: thin][:length]
            for row, end, chain in zip(trace, ends, posterior.draws, strict=True)
        ]
        quantities["log_likelihood"] = np.array(kept)
    quantities["alpha"] = _collect(states, lambda state: state.hyper.alpha)
    quantities["beta"] = _collect(states, lambda state: state.hyper.beta[0])
    quantities["edges_in_use"] = _collect(states, _edges_in_use)
    if posterior.model.infinite:
        quantities["components"] = _collect(
            states, lambda state: count_components(posterior.model, state.scope)
        )
        quantities["concentration"] = _collect(states, lambda state: state.hyper.concentration[0])
    return quantities


def _collect(states: Any, quantity: Any) -> Array:
    return np.array([[quantity(state) for state in chain] for chain in states], dtype=np.float64)


def _edges_in_use(state: State) -> float:
    """Number of sum edges that at least one row goes through."""
    return float(sum((counts > 0).sum() for counts in state.edge_counts))


def summarise(quantities: dict[str, Array], interval: float) -> pd.DataFrame:
    """Mean, spread, effective sample size and R-hat of quantities.

    Parameters
    ----------
    quantities : dict of str to ndarray of shape (chains, draws) or (chains, draws, levels)
    interval : float
        Probability of the interval given.

    Returns
    -------
    DataFrame
        A row per quantity: ``mean``, ``sd``, ``low``, ``high``, ``ess_bulk``, ``ess_tail``,
        ``r_hat``; the last three are NaN where draws are too few or do not vary.
    """
    rows = {}
    for name, values in quantities.items():
        if values.ndim == 2:
            rows[name] = _summary(values, interval)
            continue
        for level in range(values.shape[2]):
            rows[f"{name}[{level}]"] = _summary(values[:, :, level], interval)
    return pd.DataFrame.from_dict(rows, orient="index")


def _summary(values: Array, interval: float) -> dict[str, float]:
    low, high = np.quantile(values, [(1 - interval) / 2, (1 + interval) / 2])
    summary = {"mean": values.mean(), "sd": values.std(), "low": low, "high": high}
    from arviz_stats.base.array import array_stats  # slow to import

    telling = values.shape[1] >= _FEWEST_DRAWS and np.ptp(values) > 0
    return summary | {
        "ess_bulk": float(array_stats.ess(values, method="bulk")) if telling else np.nan,
        "ess_tail": (
            float(array_stats.ess(values, method="tail", prob=(0.1, 0.9))) if telling else np.nan
        ),
        "r_hat": float(array_stats.rhat(values)) if telling else np.nan,
    }


def build_inference_data(quantities: dict[str, Array], scores: Array | None) -> Any:
    """The quantities as ArviZ's data tree.

    Parameters
    ----------
    quantities : dict of str to ndarray
        See `invariants`.
    scores : ndarray of shape (chains, draws, rows) or None
        Log-likelihood of rows, for LOO and WAIC.
    """
    try:
        from arviz_base import from_dict
    except ImportError:
        raise ImportError(
            "to_arviz needs ArviZ: install it with  pip install 'bayesspn[arviz]'"
        ) from None
    levels = [name for name, values in quantities.items() if values.ndim == 3]
    groups = {"posterior": dict(quantities)}
    fit = groups["posterior"].pop("log_likelihood", None)
    if fit is not None:
        groups["sample_stats"] = {"log_likelihood_per_row": fit}
    if scores is not None:
        groups["log_likelihood"] = {"row": scores}
    return from_dict(groups, dims={name: ["level"] for name in levels} | {"row": ["row_number"]})
