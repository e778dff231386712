"""Files that are either written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

_ENDING = ".partial"

#: Seconds after which a half-written file that nobody touched is taken for abandoned.
_ABANDONED_AFTER = 60.0


@contextlib.contextmanager
def replaced_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file for writing that takes its place only once everything is on disk.

    Whoever reads ``path`` sees the old content or the new, never a part. An error while writing
    leaves the old file as it was.

    Examples
    --------
    >>> folder = tempfile.TemporaryDirectory()
    >>> with replaced_file(f"{folder.name}/answer.txt") as file:
    ...     _ = file.write(b"42")
    >>> Path(f"{folder.name}/answer.txt").read_text()
    '42'
    >>> folder.cleanup()
    """
    # a link stays a link: the file it points to is replaced
    target = Path(os.path.realpath(path))
    if target.exists() and not (target.is_file() or target.is_dir()):
        # a device or a pipe is written to; putting a file in its place would break the machine
        with open(target, "wb") as device:
            yield device
        return
    try:
        descriptor, temporary = tempfile.mkstemp(_ENDING, _beginning(target), target.parent)
    except OSError as error:  # which names the temporary file
        raise type(error)(error.errno, error.strerror, os.fspath(path)) from None
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, _permissions(target))
        try:
            os.replace(temporary, target)
        except OSError as error:
            raise type(error)(error.errno, error.strerror, os.fspath(path)) from None
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def remove_abandoned(path: str | os.PathLike[str]) -> None:
    """Delete half-written files that processes left behind which were killed writing ``path``."""
    target = Path(os.path.realpath(path))
    pattern = re.compile(re.escape(_beginning(target)) + r"\w{8}" + re.escape(_ENDING))
    with contextlib.suppress(OSError):
        for other in target.parent.iterdir():
            if pattern.fullmatch(other.name):
                with contextlib.suppress(OSError):
                    if time.time() - other.stat().st_mtime > _ABANDONED_AFTER:
                        other.unlink()


def _beginning(target: Path) -> str:
    return f".{target.name[:100]}."


def _permissions(target: Path) -> int:
    """What the old file had, or what a new file gets: temporary files are private otherwise."""
    with contextlib.suppress(OSError):
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
