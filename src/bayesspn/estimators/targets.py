"""A table and its target as one joint table, for the classifier and the regressor."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from bayesspn.arrays import Array
from bayesspn.engine.engines import resolve_engine
from bayesspn.estimators.joint import JointEstimator
from bayesspn.estimators.training import placed_table
from bayesspn.tables import Schema, encode
from bayesspn.tables.cells import shorten
from bayesspn.tables.encoding import forget_constants
from bayesspn.tables.frames import open_table
from bayesspn.tables.infer import encode_table
from bayesspn.tables.schema import ColumnSchema


class TargetEstimator(JointEstimator):
    """A joint model of a table and a target, which is its last column."""

    _judged_by_target = True

    def _learn_with_target(
        self,
        X: Any,
        target: ColumnSchema,
        codes: Array,
        features: Schema | None,
        sample_weight: Any,
    ) -> None:
        """Sample the posterior of the columns of X and the encoded target."""
        schema, values, library = encode_table(X, features)
        self._check_names(X, schema)
        if len(values) != len(codes):
            raise ValueError(
                f"Found input variables with inconsistent numbers of samples: "
                f"[{len(values)}, {len(codes)}]"
            )
        joint = Schema((*schema.columns, target))
        everything = np.column_stack([values, codes])
        engine = resolve_engine(self.engine)
        with placed_table(joint, everything, library, engine, sample_weight) as table:
            self._learn(table)

    def _encode_features(self, X: Any) -> Array:
        """Encode a table without its target, which is missing; (rows, columns + 1)."""
        check_is_fitted(self)
        features = Schema(self.schema_.columns[:-1])
        values = forget_constants(encode(X, features, self.handle_unknown), features)
        self._check_names(X, self.schema_, reset=False)
        return np.column_stack([values, np.full(len(values), np.nan)])

    def _restore(self) -> None:
        super()._restore()
        self.n_features_in_ = len(self.schema_.recorded) - 1


def check_target(y: Any, name: Hashable) -> None:
    """Check that no target is missing; the words at the beginning are scikit-learn's."""
    missing = np.flatnonzero(pd.isna(y))
    if missing.size:
        raise ValueError(
            f"Input y contains NaN: target {shorten(name)} is missing in row {missing[0]}"
            + (f" and {missing.size - 1} others" if missing.size > 1 else "")
            + "; drop these rows, or learn all columns together with BayesianSPN or SPNImputer"
        )


def name_target(X: Any, y: Any) -> Hashable:
    """Name of the target: its own, if no column has it, else one that is free."""
    taken = {str(name) for name in open_table(X).names}
    own = getattr(y, "name", None)
    if isinstance(own, str) and own and own not in taken:
        return own
    name = "target"
    while name in taken:
        name += "_"
    return name


def split_schema(
    estimator: BaseEstimator, target: Hashable
) -> tuple[Schema | None, ColumnSchema | None]:
    """The schema of the features, and that of the target if the user gave one.

    Targets are never missing when they are learned from, and indicators that they are go with them.
    """
    schema = estimator.schema
    if schema is None or target not in schema:
        return schema, None
    rest = tuple(c for c in schema if target not in (c.name, c.indicates))
    return Schema(rest), schema[target]
