"""Defaults and smallest values of the parameters that estimators and the command line share.

Nothing is imported here: the help of the command line must not wait.
"""

from __future__ import annotations

CHAINS = 4
BURN_IN = 200
DRAWS = 50
THIN = 4

#: Smallest values of parameters that are whole numbers.
LEAST = {"chains": 1, "burn_in": 0, "draws": 1, "thin": 1, "temperatures": 1}
