"""The rivals: who they are, where they run, and on which tables."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from rivals.environments import OWN


@dataclass(frozen=True)
class Rival:
    """A method of another library.

    Attributes
    ----------
    title : str
        For tables.
    environment : str
        One of `environments.PACKAGES`, or "own".
    module : str
        The module of this package that runs it.
    setting : dict
        What the module is told.
    binary, mixed : bool
        Whether it runs on binary and on heterogeneous tables.
    part : bool
        Whether it models the continuous columns only.
    """

    title: str
    environment: str
    module: str
    setting: dict[str, Any] = field(default_factory=dict)
    binary: bool = True
    mixed: bool = False
    part: bool = False


def _spflow(title: str, method: str, mixed: bool = False) -> Rival:
    return Rival(title, "spflow", "spflow_circuits", {"method": method}, mixed=mixed)


def _deeprob(title: str, method: str, **more: Any) -> Rival:
    known = {name: more.pop(name) for name in ("binary", "mixed") if name in more}
    return Rival(title, "deeprob", "deeprob_circuits", {"method": method, **more}, **known)


#: By the names that results have.
RIVALS = {
    "expc": _deeprob("E-XPC (deeprob-kit)", "expc"),
    "learnspn": _deeprob("LearnSPN (deeprob-kit)", "learnspn", mixed=True),
    "learnspn_clt": _deeprob(
        "LearnSPN, Chow-Liu leaves (deeprob-kit)", "learnspn", leaf="binary-clt"
    ),
    "mspn": _deeprob("MSPN (deeprob-kit)", "mspn", binary=False, mixed=True),
    "learnspn_em": _spflow("LearnSPN + EM (SPFlow)", "learnspn+em"),
    "ratspn": _spflow("RAT-SPN (SPFlow)", "ratspn", mixed=True),
    "einet": _spflow("Einet (SPFlow)", "einet", mixed=True),
    "hclt": _spflow("HCLT (SPFlow)", "hclt"),
    "cnet": _spflow("cutset network (SPFlow)", "cnet"),
    "lace": Rival("Lace", "lace", "lace_states", mixed=True),
    "pomegranate": Rival(
        "mixture (pomegranate)",
        "pomegranate",
        "pomegranate_mixtures",
        {"components": 50},
        binary=False,
        mixed=True,
    ),
    "bgm": Rival(
        "BayesianGaussianMixture (scikit-learn)",
        OWN,
        "sklearn_mixtures",
        binary=False,
        mixed=True,
        part=True,
    ),
}
