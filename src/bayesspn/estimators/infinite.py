"""`InfiniteSPN`: a Dirichlet process mixture of Bayesian sum-product networks."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesspn.engine.engines import Engine
from bayesspn.estimators.defaults import BURN_IN, CHAINS, DRAWS, THIN
from bayesspn.estimators.density import BayesianSPN
from bayesspn.estimators.plans import FitPlan
from bayesspn.graphs import RegionGraph
from bayesspn.tables import Schema


class InfiniteSPN(BayesianSPN):
    """Infinite mixture of Bayesian sum-product networks: as many networks as the rows call for.

    Every component is a whole network, with a structure of its own, and rows belong to one
    component each. How many components there are is sampled with the rest, and every further row
    may found another. Questions, files and the rest are those of `BayesianSPN`.

    Parameters
    ----------
    concentration : float or "auto", default="auto"
        Of the Dirichlet process: the larger, the more components. Learned by default, a number
        fixes it.
    graph : RegionGraph or "auto", default="auto"
        The graph of a component, of depth 1 at least. ``"select"`` is refused: the evidence of
        infinite mixtures cannot be estimated yet.
    **parameters
        Those of `BayesianSPN`.

    Attributes
    ----------
    graph_ : RegionGraph
        The region graph of a component.
    schema_, posterior_, rhat_, trace_, n_features_in_, feature_names_in_
        As of `BayesianSPN`.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesspn import InfiniteSPN
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(120, 2)) + 10 * rng.integers(3, size=(120, 1))
    >>> model = InfiniteSPN(chains=2, burn_in=60, draws=30, thin=2, random_state=0).fit(X)
    >>> model.n_components().shape
    (2, 30)
    >>> bool(model.score_samples([[10.0, 10.0]])[0] > model.score_samples([[5.0, 15.0]])[0])
    True
    """

    _infinite = True

    def __init__(
        self,
        *,
        concentration: float | str = "auto",
        graph: RegionGraph | str = "auto",
        alpha: float | str = "auto",
        beta: float | str = "auto",
        gamma: float | str = "auto",
        time_limit: float | None = None,
        chains: int | str = CHAINS,
        burn_in: int | str = BURN_IN,
        draws: int | str = DRAWS,
        thin: int | str = THIN,
        plan: FitPlan | None = None,
        schema: Schema | None = None,
        handle_unknown: str = "warn",
        n_jobs: int | None = None,
        random_state: Any = None,
        progress: bool = False,
        checkpoint: str | os.PathLike[str] | None = None,
        engine: Engine | str = "local",
    ) -> None:
        super().__init__(
            graph=graph,
            alpha=alpha,
            beta=beta,
            gamma=gamma,
            time_limit=time_limit,
            chains=chains,
            burn_in=burn_in,
            draws=draws,
            thin=thin,
            plan=plan,
            schema=schema,
            handle_unknown=handle_unknown,
            n_jobs=n_jobs,
            random_state=random_state,
            progress=progress,
            checkpoint=checkpoint,
            engine=engine,
        )
        self.concentration = concentration

    def n_components(self) -> NDArray[np.int64]:
        """Number of components of every draw; shape (chains, draws).

        Chains that were interrupted are cut to the shortest one.

        Examples
        --------
        >>> from bayesspn.examples import load_patients
        >>> model = InfiniteSPN(chains=1, burn_in=20, draws=5, random_state=0).fit(load_patients())
        >>> numbers = model.n_components()
        >>> numbers.shape
        (1, 5)
        >>> bool((numbers >= 1).all())
        True
        """
        return self._invariants()["components"].astype(np.int64)
