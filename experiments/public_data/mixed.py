"""The 12 heterogeneous tables: real and discrete columns, read from a local folder and checked."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from bayesspn.arrays import Array
from bayesspn.tables import ColumnSchema, Schema
from bayesspn.tables.infer import families_by_sign
from public_data.catalogue import MIXED_SOURCE, PARTS
from public_data.files import VARIABLE, DataSetError, check_sum, local_folder

MIXED_NAMES: tuple[str, ...] = (
    "abalone",
    "adult",
    "australian",
    "autism",
    "breast",
    "chess",
    "crx",
    "dermatology",
    "diabetes",
    "german",
    "student",
    "wine",
)


@dataclass(frozen=True, eq=False)
class MixedData:
    """A heterogeneous table.

    Attributes
    ----------
    name : str
    train, valid, test : ndarray of shape (rows, columns)
        Numbers, and codes 0, 1, … of discrete columns. NaN is a missing cell.
    schema : Schema
        Discrete columns are categories, with all codes that can occur; others are real, with
        likelihood families that suit the signs of train and valid.
    """

    name: str
    train: Array
    valid: Array
    test: Array
    schema: Schema


def load_mixed(name: str, *, folder: str | os.PathLike[str] | None = None) -> MixedData:
    """Load one of the 12 heterogeneous tables from a local folder.

    They are not downloaded: their public files are pickles, which can run code when they are read.

    Parameters
    ----------
    name : str
        One of `MIXED_NAMES`.
    folder : str or path, default=None
        Holds ``NAME.npz`` with float arrays train, valid and test, itself or in its folder ``het``.
        By default what the variable ``BAYESSPN_DATA`` names.

    Raises
    ------
    DataSetError
        If the file is not there or its arrays are not the public ones; the message says what to do.
    """
    if name not in MIXED_NAMES:
        raise ValueError(
            f"there is no mixed data set {name!r}; use one of {', '.join(MIXED_NAMES)}"
        )
    local = local_folder(folder)
    how = (
        f"The table is of {MIXED_SOURCE.replace('NAME', name)}: pickles, which are not downloaded "
        f"because reading them can run code. Write the three arrays as float64 train, valid and "
        f"test to {name}.npz with numpy.savez"
    )
    if local is None:
        raise DataSetError(
            f"the heterogeneous tables are read from a local folder: name one with {VARIABLE} or "
            f"folder=. {how}"
        )
    places = [local / inner / f"{name}.npz" for inner in ("", "het")]
    path = next((place for place in places if place.is_file()), None)
    if path is None:
        raise DataSetError(f"there is neither {places[0]} nor {places[1]}. {how}")
    description = _descriptions()[name]
    train, valid, test = (_read(path, part, description["sha256"][part]) for part in PARTS)
    schema = _describe(description["columns"], np.concatenate([train, valid]))
    return MixedData(name, train, valid, test, schema)


@cache
def _descriptions() -> Any:
    return json.loads((Path(__file__).parent / "mixed_tables.json").read_text(encoding="utf-8"))


def _read(path: Path, part: str, expected: str) -> Array:
    with np.load(path, allow_pickle=False) as arrays:
        if part not in arrays:
            raise DataSetError(f"{path} has no array {part}: it needs train, valid and test")
        array = np.ascontiguousarray(arrays[part], dtype=np.float64)
    check_sum(array_sha256(array), expected, f"{path}, array {part}")
    return array


def array_sha256(array: Array) -> str:
    """SHA-256 of the numbers of an array, whatever its zeros' signs and NaNs' bits are."""
    plain = np.where(np.isnan(array), np.nan, array + 0.0).astype("<f8")
    return hashlib.sha256(plain.tobytes()).hexdigest()


def _describe(columns: list[dict[str, Any]], values: Array) -> Schema:
    described = []
    for column, cells in zip(columns, values.T, strict=True):
        if "categories" in column:
            codes = tuple(range(column["categories"]))
            described.append(ColumnSchema(column["name"], "category", categories=codes))
        else:
            families = families_by_sign(cells[~np.isnan(cells)])
            described.append(ColumnSchema(column["name"], "real", families))
    return Schema(tuple(described))
