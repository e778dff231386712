"""Files of arrays and a description: safetensors and JSON with a checksum, never pickle.

Reading runs no code from the file. The message of a `ModelFileError` says what is wrong and what to
do.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as to_safetensors

from bayesspn.files.atomic import replaced_file

Arrays = dict[str, NDArray[Any]]


class ModelFileError(ValueError):
    """A file that is not what it should be, is broken, or is of a newer version."""


@dataclass(frozen=True)
class FileKind:
    """One kind of file.

    Parameters
    ----------
    format : str
        Written into the file.
    version : int
        Newest version of the format that can be read, and the one that is written.
    name : str
        What messages call it.
    remedy : str
        What to do about a broken one.
    """

    format: str
    version: int
    name: str
    remedy: str


def write_arrays(
    path: str | os.PathLike[str], kind: FileKind, description: dict[str, Any], arrays: Arrays
) -> None:
    """Write a file, whole or not at all.

    Parameters
    ----------
    path : str or path
    kind : FileKind
    description : JSON
    arrays : dict of ndarray
    """
    text = json.dumps(
        {"format": kind.format, "version": kind.version, **description}, allow_nan=False
    )
    # safetensors writes memory as it lies
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    content = to_safetensors(arrays, {"bayesspn": text, "sha256": checksum(text, arrays)})
    with replaced_file(path) as file:
        file.write(content)


def checksum(text: str, arrays: Arrays) -> str:
    """Checksum of a file's description and arrays."""
    digest = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        digest.update(f"{name} {arrays[name].dtype.str} {arrays[name].shape}".encode())
        digest.update(np.ascontiguousarray(arrays[name]).tobytes())
    return digest.hexdigest()


def read_arrays(path: str | os.PathLike[str], kind: FileKind) -> tuple[Any, Arrays]:
    """Read the description and the arrays of a file.

    Raises
    ------
    ModelFileError
        If the file is of another kind, is damaged, or was written by a newer version.
    FileNotFoundError
        If there is no such file.
    """
    name = os.fspath(path)
    if os.path.isdir(name):
        raise ModelFileError(f"{name} is a folder, not a {kind.name}; name a file in it")
    try:
        with safe_open(name, framework="numpy") as file:
            metadata = file.metadata() or {}
            arrays = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    except (SafetensorError, ValueError) as error:
        raise ModelFileError(
            f"{name} is damaged or not a {kind.name} of bayesspn ({error}); {kind.remedy}"
        ) from None
    if "bayesspn" not in metadata:
        raise ModelFileError(
            f"{name} holds tensors, but no {kind.name} of bayesspn; name another file"
        )
    with damage_named(path, kind):
        description = json.loads(metadata["bayesspn"])
        version = description["version"]
        if description["format"] != kind.format:
            raise ModelFileError(
                f"{name} is of the format {description['format']!r}, not a {kind.name}; name "
                "another file"
            )
        if not isinstance(version, int) or version > kind.version:
            raise ModelFileError(
                f"{name} was written by a newer bayesspn (file version {version}, this one reads "
                f"up to {kind.version}); update bayesspn"
            )
        if metadata["sha256"] != checksum(metadata["bayesspn"], arrays):
            raise ModelFileError(f"{name} is damaged: its checksum is wrong; {kind.remedy}")
    return description, arrays


@contextlib.contextmanager
def damage_named(path: str | os.PathLike[str], kind: FileKind) -> Iterator[None]:
    """Turn whatever goes wrong with the content of a file into a `ModelFileError`."""
    try:
        yield
    except ModelFileError:
        raise
    except (
        LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError,
        MemoryError,
    ) as error:  # fmt: skip
        raise ModelFileError(
            f"{os.fspath(path)} is damaged ({type(error).__name__}: {error}); {kind.remedy}"
        ) from error
