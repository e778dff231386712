"""Do chains still climb? The test that ends a burn-in whose length is not given."""

from __future__ import annotations

import numpy as np

from bayesspn.arrays import Array

#: Sweeps after which chains are looked at for the first time; then always twice as many.
FIRST_LOOK = 100

#: A gain, in nats per row, that does not matter.
_SMALL_GAIN = 0.02

#: Standard errors by which a gain must differ from zero.
_ERRORS = 2.0


def still_climbing(traces: Array) -> bool:
    """Whether the fit of chains improved from the second to the last quarter of their sweeps.

    It did if it rose by more than 0.02 nats per row and by more than two standard errors, as the
    chains' own gains differ.

    Parameters
    ----------
    traces : ndarray of shape (chains, sweeps)
        Log-likelihood per row.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> still_climbing(rng.normal(0, 0.05, (4, 80)))
    False
    >>> still_climbing(np.linspace(-3, -2, 80) + rng.normal(0, 0.05, (4, 80)))
    True
    """
    chains, sweeps = traces.shape
    quarter = sweeps // 4
    if quarter < 1:
        return True
    late = traces[:, sweeps - quarter :].mean(axis=1)
    gains = late - traces[:, sweeps - 3 * quarter : sweeps - 2 * quarter].mean(axis=1)
    error = gains.std(ddof=1) / np.sqrt(chains) if chains > 1 else 0.0
    return bool(gains.mean() > max(_SMALL_GAIN, _ERRORS * error))
