"""`InfiniteSPN`: a Dirichlet process mixture of Bayesian sum-product networks."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesspn.estimators.density import BayesianSPN
from bayesspn.estimators.joint import check_strength
from bayesspn.model.generative import Learned
from bayesspn.tables import Schema

#: Prior of the concentration when it is learned: between few and some dozens of components.
_CONCENTRATION = Learned(1.0, 1.0)


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
    partitions : int, sequence of int or "auto", default="auto"
        Partitions per region of a component. By default 2 at the root, 1 below.
    depth, children, sums, leaves, products
        Of a component; see `BayesianSPN`. The depth is at least 1.
    graph : {"auto"}, default="auto"
        ``"select"`` is refused: the evidence of infinite mixtures cannot be estimated yet.
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
        graph: str = "auto",
        depth: int | str = "auto",
        partitions: int | Sequence[int] | str = "auto",
        children: int | str = "auto",
        sums: int | str = "auto",
        leaves: int | str = "auto",
        products: str = "auto",
        alpha: float | str = "auto",
        beta: float | str = "auto",
        gamma: float | str = "auto",
        chains: int = 4,
        burn_in: int = 200,
        draws: int = 50,
        thin: int = 4,
        schema: Schema | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        progress: bool = False,
        checkpoint: str | os.PathLike[str] | None = None,
        engine: str = "local",
        address: str | None = None,
        shards: int | None = None,
    ) -> None:
        super().__init__(
            graph=graph,
            depth=depth,
            partitions=partitions,
            children=children,
            sums=sums,
            leaves=leaves,
            products=products,
            alpha=alpha,
            beta=beta,
            gamma=gamma,
            chains=chains,
            burn_in=burn_in,
            draws=draws,
            thin=thin,
            schema=schema,
            n_jobs=n_jobs,
            random_state=random_state,
            progress=progress,
            checkpoint=checkpoint,
            engine=engine,
            address=address,
            shards=shards,
        )
        self.concentration = concentration

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_strength("concentration", self.concentration)

    def _more_priors(self) -> dict[str, Any]:
        learned = isinstance(self.concentration, str)
        return {"concentration": _CONCENTRATION if learned else float(self.concentration)}

    def n_components(self) -> NDArray[np.int64]:
        """Number of components of every draw; shape (chains, draws).

        Chains that were interrupted are cut to the shortest one.
        """
        return self._invariants()["components"].astype(np.int64)
