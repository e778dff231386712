"""Defaults and smallest values of the parameters that estimators and the command line share.

Nothing is imported here: the help of the command line must not wait.
"""

from __future__ import annotations

#: Parameters of a fit's length are found on the table and its chains, unless they are given.
CHAINS = BURN_IN = DRAWS = THIN = "auto"

#: Smallest values of parameters that are whole numbers.
LEAST = {"chains": 1, "burn_in": 0, "draws": 1, "thin": 1}

#: Those of them that may be "auto".
LENGTHS = ("chains", "burn_in", "draws", "thin")
