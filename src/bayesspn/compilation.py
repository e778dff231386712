"""Keeps numba's cache of compiled code honest.

numba caches a compiled function next to its source and compiles it again when that file changes,
but not when a function it calls, in another file, does. So compiled code is dropped whenever any
source of the package differs from the sources it was compiled from.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path

_FINGERPRINT = "compiled-from.sha256"


def drop_stale_code(package: Path) -> bool:
    """Delete cached machine code below a package folder if its sources changed.

    Safe when several processes do it at once: at worst a function is compiled once more. A folder
    that cannot be written is left alone; numba then caches elsewhere, keyed by time stamps.

    Returns
    -------
    bool
        Whether anything was out of date.
    """
    digest = hashlib.sha256()
    for source in sorted(package.rglob("*.py")):
        digest.update(str(source.relative_to(package)).encode())
        digest.update(source.read_bytes())
    recorded = package / "__pycache__" / _FINGERPRINT
    with contextlib.suppress(OSError):
        if recorded.read_text() == digest.hexdigest():
            return False
    try:
        recorded.parent.mkdir(exist_ok=True)
        for pattern in ("*.nbi", "*.nbc"):
            for cached in package.rglob(f"__pycache__/{pattern}"):
                cached.unlink(missing_ok=True)
        descriptor, name = tempfile.mkstemp(dir=recorded.parent)
        with os.fdopen(descriptor, "w") as file:
            file.write(digest.hexdigest())
        os.replace(name, recorded)
    except OSError:
        return False
    return True
