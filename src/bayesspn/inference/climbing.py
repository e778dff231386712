"""Do chains still climb? The test that ends a burn-in whose length is not given."""

from __future__ import annotations

import numpy as np

from bayesspn.arrays import Array

#: Sweeps after which chains are looked at for the first time; then always twice as many.
FIRST_LOOK = 50

#: A gain, in nats per row, that does not matter, and from how many sweeps on; of fewer, which have
#: less time for it, less.
_SMALL_GAIN = 0.02
_GAINING_SWEEPS = 100

#: Standard errors by which a gain must differ from zero, and chains that these can be told from.
_ERRORS = 2.0
_FEWEST_CHAINS = 4


def still_climbing(traces: Array) -> bool:
    """Whether the fit of chains improved from the second to the last quarter of their sweeps.

    It did if it rose by more than 0.02 nats per row (0.01 if there are 50 sweeps) and by more than
    two standard errors, as the gains of four or more chains differ.

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
    error = gains.std(ddof=1) / np.sqrt(chains) if chains >= _FEWEST_CHAINS else 0.0
    small = _SMALL_GAIN * min(1.0, sweeps / _GAINING_SWEEPS)
    return bool(gains.mean() > max(small, _ERRORS * error))
