"""Files of data sets: where they are kept, how they are downloaded and checked."""

from __future__ import annotations

import hashlib
import http.client
import os
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path

from bayesspn.files.atomic import remove_abandoned, replaced_file

#: Names a local folder of data sets; nothing is downloaded then.
VARIABLE = "BAYESSPN_DATA"

#: Seconds without an answer after which a download is given up.
_TIMEOUT = 30.0


class DataSetError(RuntimeError):
    """A data set that cannot be had; the message says what was tried and what to do."""


def local_folder(folder: str | os.PathLike[str] | None) -> Path | None:
    """The local folder of data sets that is asked for, by argument or by `VARIABLE`."""
    if folder is None:
        folder = os.environ.get(VARIABLE) or None
    if folder is None:
        return None
    path = Path(folder).expanduser()
    if not path.is_dir():
        raise DataSetError(
            f"{path} is not a folder; name the folder of the data sets with {VARIABLE} or folder="
        )
    return path


def cache_folder() -> Path:
    """Where this system keeps what can be had again; nothing is created."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "bayesspn" / "data"


def git_blob_sha1(content: bytes) -> str:
    """Git's name of a file's content.

    Examples
    --------
    >>> git_blob_sha1(b"")
    'e69de29bb2d1d6434b8b29ae775ad8c2e48c5391'
    """
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def check_sum(found: str, expected: str, source: str) -> None:
    """Refuse content that is not what it should be."""
    if found != expected:
        raise DataSetError(
            f"{source}: the checksum is {found} instead of {expected}; the file is damaged or of "
            "another version: delete it and load the data set again"
        )


def download(address: str, target: Path, check: Callable[[bytes], None]) -> bytes:
    """Download a file into its place, if it is as it should be; else leave nothing.

    Parameters
    ----------
    address : str
    target : Path
        The file; its folder is created.
    check : callable
        Raises an error if the content is wrong.
    """
    try:
        with urllib.request.urlopen(address, timeout=_TIMEOUT) as answer:
            content: bytes = answer.read()
    except (OSError, http.client.HTTPException) as error:
        raise DataSetError(
            f"{address} could not be downloaded ({error or type(error).__name__}). Without a "
            f"network, put the file at {target}, or name a folder that holds the data sets with "
            f"the variable {VARIABLE}"
        ) from error
    check(content)
    target.parent.mkdir(parents=True, exist_ok=True)
    remove_abandoned(target)
    with replaced_file(target) as file:
        file.write(content)
    return content
