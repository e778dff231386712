"""The 20 binary data sets: text of zeros and ones, checked by git's names of the public files."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from public_data import catalogue
from public_data.catalogue import BINARY_FILES, PARTS
from public_data.files import (
    DataSetError,
    cache_folder,
    check_sum,
    download,
    git_blob_sha1,
    local_folder,
)

Bits = NDArray[np.uint8]

#: In the order in which they are reported.
BINARY_NAMES: tuple[str, ...] = tuple(BINARY_FILES)

_ZERO, _COMMA, _NEWLINE = b"0,\n"


@dataclass(frozen=True, eq=False)
class BinaryData:
    """A binary data set.

    Attributes
    ----------
    name : str
    train, valid, test : ndarray of uint8 of shape (rows, columns)
        Zeros and ones.
    """

    name: str
    train: Bits
    valid: Bits
    test: Bits


def load_binary(name: str, *, folder: str | os.PathLike[str] | None = None) -> BinaryData:
    """Load one of the 20 binary data sets.

    Without a folder, the public files are downloaded once, checked, and kept in the user's cache.
    With one, nothing is downloaded.

    Parameters
    ----------
    name : str
        One of `BINARY_NAMES`.
    folder : str or path, default=None
        Holds ``NAME.npz`` with arrays train, valid and test, or the public text files
        ``NAME.train.data`` and so on; these may be in folders ``debd``, ``datasets``, ``NAME`` or
        ``datasets/NAME``. By default what the variable ``BAYESSPN_DATA`` names, if it is set.

    Raises
    ------
    DataSetError
        If a file cannot be had or is not the public one; the message says what to do.
    """
    if name not in BINARY_FILES:
        raise ValueError(
            f"there is no binary data set {name!r}; use one of {', '.join(BINARY_NAMES)}"
        )
    local = local_folder(folder)
    if local is None:
        return BinaryData(name, *(_fetch(name, part) for part in PARTS))
    return _read_local(name, local)


def _fetch(name: str, part: str) -> Bits:
    path = cache_folder() / name / f"{name}.{part}.data"
    address = f"{catalogue.BINARY_ADDRESS}/{name}/{path.name}"
    if path.is_file():
        return _parse(path.read_bytes(), name, part, str(path))
    content = download(address, path, lambda content: _check(content, name, part, address))
    return _parse(content, name, part, address)


def _read_local(name: str, folder: Path) -> BinaryData:
    archives = [folder / inner / f"{name}.npz" for inner in ("", "debd")]
    for path in archives:
        if path.is_file():
            return _read_archive(name, path)
    places = [folder / inner for inner in ("", name, "debd", "datasets", f"datasets/{name}")]
    for place in places:
        if (place / f"{name}.train.data").is_file():
            return BinaryData(name, *(_read_text(name, part, place) for part in PARTS))
    raise DataSetError(
        f"{folder} does not hold the data set {name!r}: there is neither "
        f"{' nor '.join(str(path) for path in archives)}, nor {name}.train.data in "
        f"{', '.join(str(place) for place in places)}. The public files are at "
        f"{catalogue.BINARY_ADDRESS}/{name}"
    )


def _read_text(name: str, part: str, place: Path) -> Bits:
    path = place / f"{name}.{part}.data"
    if not path.is_file():
        raise DataSetError(f"{path} is missing, and the other files of {name!r} are there: add it")
    return _parse(path.read_bytes(), name, part, str(path))


def _read_archive(name: str, path: Path) -> BinaryData:
    parts = []
    with np.load(path, allow_pickle=False) as arrays:
        for part in PARTS:
            source = f"{path}, array {part}"
            if part not in arrays:
                raise DataSetError(f"{source} is missing: the file needs train, valid and test")
            bits = arrays[part]
            if bits.dtype != np.uint8 or bits.ndim != 2:
                raise DataSetError(
                    f"{source} is of type {bits.dtype} and shape {bits.shape}; it must be uint8 of "
                    "shape (rows, columns)"
                )
            _check(_as_text(bits), name, part, source)
            parts.append(bits)
    return BinaryData(name, *parts)


def _check(content: bytes, name: str, part: str, source: str) -> None:
    check_sum(git_blob_sha1(content), BINARY_FILES[name].sha1[part], source)


def _parse(content: bytes, name: str, part: str, source: str) -> Bits:
    """Zeros and ones of a public text file; each is one character, followed by another."""
    _check(content, name, part, source)
    characters = np.frombuffer(content, dtype=np.uint8)
    return characters.reshape(-1, 2 * BINARY_FILES[name].columns)[:, ::2] - np.uint8(_ZERO)


def _as_text(bits: Bits) -> bytes:
    """The public text file that holds these zeros and ones."""
    characters = np.full((bits.shape[0], 2 * bits.shape[1]), _COMMA, dtype=np.uint8)
    characters[:, ::2] = bits + np.uint8(_ZERO)
    characters[:, -1] = _NEWLINE
    return characters.tobytes()
