"""Reading fitted estimators from files."""

from __future__ import annotations

import os
from collections.abc import Hashable
from typing import Any

import numpy as np

from bayesspn.estimators.classifier import SPNClassifier
from bayesspn.estimators.density import BayesianSPN
from bayesspn.estimators.imputer import SPNImputer
from bayesspn.estimators.infinite import InfiniteSPN
from bayesspn.estimators.joint import JointModel
from bayesspn.estimators.regressor import SPNRegressor
from bayesspn.files.arrays import ModelFileError
from bayesspn.files.posteriors import load_posterior
from bayesspn.tables.cells import shorten
from bayesspn.tables.frames import LIBRARIES
from bayesspn.tables.schema_files import schema_from_json

_ESTIMATORS: dict[str, type[JointModel]] = {
    kind.__name__: kind
    for kind in (BayesianSPN, InfiniteSPN, SPNClassifier, SPNImputer, SPNRegressor)
}


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that `save` of an estimator wrote.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    BayesianSPN, InfiniteSPN, SPNClassifier, SPNImputer or SPNRegressor

    Raises
    ------
    ModelFileError
        If the file is not a model, is damaged, or was written by a newer version.

    Examples
    --------
    >>> import tempfile
    >>> from bayesspn import BayesianSPN, load
    >>> X = np.random.default_rng(0).normal(size=(40, 2))
    >>> model = BayesianSPN(chains=1, burn_in=5, draws=5, random_state=0).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/model.bspn")
    ...     again = load(f"{folder}/model.bspn")
    >>> bool((again.score_samples(X) == model.score_samples(X)).all())
    True
    """
    posterior, more, trace = load_posterior(path)
    name = os.fspath(path)
    try:
        parameters = dict(more["parameters"])
        if more["estimator"] not in _ESTIMATORS:
            raise ModelFileError(f"{name} holds a {more['estimator']}, which this version lacks")
        if parameters["schema"] is not None:
            parameters["schema"] = schema_from_json(parameters["schema"], name)
        model = _ESTIMATORS[more["estimator"]](**parameters)
        model.schema_ = schema_from_json(more["schema"], name)
        model.rhat_ = float("nan") if more["rhat"] is None else float(more["rhat"])
        model._library = _check_library(more["library"])
        if len(model.schema_) != posterior.model.n_columns:
            raise ValueError("its schema does not fit its model")
        if model._infinite != posterior.model.infinite:
            raise ValueError(f"its model is not that of an estimator named {more['estimator']}")
        model.posterior_ = posterior
        model.trace_ = trace
        model._check_parameters()
        model._restore()
        feature_names = more["feature_names"]
        if feature_names is not None:
            _check_names(feature_names, model.schema_.names[: model.n_features_in_])
            model.feature_names_in_ = np.array(feature_names, dtype=object)
    except ModelFileError:
        raise
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ModelFileError(
            f"{name} is damaged ({type(error).__name__}: {error}); fit and save it again"
        ) from error
    return model


def _check_library(library: Any) -> str:
    if library not in LIBRARIES:
        raise ValueError(f"library is {shorten(library)}")
    return str(library)


def _check_names(names: Any, expected: tuple[Hashable, ...]) -> None:
    if names != list(expected):
        raise ValueError(f"feature_names is {shorten(names)}")
