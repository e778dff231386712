"""Keeps numba's cache of compiled code honest.

numba caches a compiled function next to its source and compiles it again when that file changes,
but not when a function it calls, in another file, does. So compiled code is dropped whenever any
source of the package that has to do with numba differs from what it was compiled from.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import tempfile
import threading
from collections.abc import Callable
from functools import cache, wraps
from pathlib import Path
from typing import Any

_FINGERPRINT = "compiled-from.sha256"

_announcing = threading.Lock()


def drop_stale_code(package: Path) -> bool:
    """Delete cached machine code of a package folder if its sources changed.

    Safe when several processes do it at once: at worst a function is compiled once more. A folder
    that cannot be written is left alone; numba then caches elsewhere, keyed by time stamps.

    Returns
    -------
    bool
        Whether anything was out of date.
    """
    digest = hashlib.sha256()
    sources = [path for path in sorted(package.rglob("*.py")) if b"numba" in path.read_bytes()]
    for source in sources:
        digest.update(str(source.relative_to(package)).encode())
        digest.update(source.read_bytes())
    folders = sorted({_cache_folder(source) for source in sources})
    recorded = _cache_folder(package / "__init__.py") / _FINGERPRINT
    with contextlib.suppress(OSError):
        if recorded.read_text() == digest.hexdigest():
            return False
    try:
        recorded.parent.mkdir(parents=True, exist_ok=True)
        for folder in folders:
            for cached in folder.glob("*.nb[ic]"):
                cached.unlink(missing_ok=True)
        descriptor, name = tempfile.mkstemp(dir=recorded.parent)
        with os.fdopen(descriptor, "w") as file:
            file.write(digest.hexdigest())
        os.replace(name, recorded)
    except OSError:
        return False
    return True


def _cache_folder(source: Path) -> Path:
    """Where numba keeps the code of a source file: beside it, or below NUMBA_CACHE_DIR."""
    elsewhere = os.environ.get("NUMBA_CACHE_DIR")
    if elsewhere:
        from numba.core.caching import _CacheLocator  # takes long to import

        return Path(elsewhere) / _CacheLocator.get_suitable_cache_subpath(str(source))
    return source.parent / "__pycache__"


def announce_compilation(
    source: str, function: str, what: str = "its engine", takes: str = "a minute or so"
) -> None:
    """Say, once per process, that compiled code is about to be made, unless it is on disk.

    Parameters
    ----------
    source, function : str
        File and name of a compiled function that everything needs.
    what : str, default="its engine"
        That is compiled.
    takes : str, default="a minute or so"
        How long it takes.
    """
    with _announcing:  # chains begin side by side
        _announce(source, function, what, takes)


@cache
def _announce(source: str, function: str, what: str, takes: str) -> None:
    path = Path(source)
    if not any(_cache_folder(path).glob(f"{path.stem}.{function}-*.nbi")):
        logging.getLogger("bayesspn").warning(
            "bayesspn compiles %s for this processor: %s, once", what, takes
        )


def when_called(decorator: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Put off a decorator that compiles until the function is called.

    Universal functions with a signature are compiled when they are defined, which would make the
    first import of the package slow.
    """

    def decorate(function: Any) -> Any:
        compiled = cache(lambda: decorator(function))

        @wraps(function)
        def call(*arguments: Any) -> Any:
            return compiled()(*arguments)

        return call

    return decorate
