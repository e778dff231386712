"""Leaves: conjugate exponential families, one short file each, and the columns that use them."""

from __future__ import annotations

from bayesspn.leaves.atoms import Atoms
from bayesspn.leaves.bernoulli import Bernoulli
from bayesspn.leaves.binomial import Binomial
from bayesspn.leaves.categorical import CATEGORICAL
from bayesspn.leaves.exponential import Exponential
from bayesspn.leaves.family import Family
from bayesspn.leaves.gaussian import Gaussian
from bayesspn.leaves.geometric import Geometric
from bayesspn.leaves.lognormal import LogNormal
from bayesspn.leaves.poisson import Poisson

#: Every family by name. A new family is one file and one entry here.
FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        Atoms(),
        Bernoulli(),
        Binomial(),
        CATEGORICAL,
        Exponential(),
        Gaussian(),
        Geometric(),
        LogNormal(),
        Poisson(),
    )
}

__all__ = ["FAMILIES", "Family"]
