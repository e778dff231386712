"""What is installed here: the first lines of a good bug report."""

from __future__ import annotations

import os
import platform
import re
import sys
from importlib.metadata import PackageNotFoundError, requires, version

_PACKAGE = "bayesspn"
_NAME = re.compile(r"[A-Za-z0-9._-]+")
_EXTRA = re.compile(r"extra\s*==\s*['\"]([^'\"]+)['\"]")

#: Extras that only developers install.
_INTERNAL = ("dev", "test")


def show_versions() -> None:
    """Print the versions of Python, this package and everything that it depends on.

    Examples
    --------
    >>> import bayesspn
    >>> bayesspn.show_versions()  # doctest: +ELLIPSIS
    bayesspn ...
    """
    for name, shown in find_versions().items():
        print(f"{name:14} {shown}")


def find_versions() -> dict[str, str]:
    """Versions by name: this package, Python and the system, then the dependencies.

    Examples
    --------
    >>> list(find_versions())[:4]
    ['bayesspn', 'python', 'system', 'cores']
    """
    from bayesspn import __version__

    found = {
        _PACKAGE: __version__,
        "python": sys.version.split()[0],
        "system": f"{platform.system()} {platform.release()}, {platform.machine()}",
        "cores": str(os.cpu_count()),
    }
    for name in _dependencies():
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def _dependencies() -> list[str]:
    """Names of what the package needs, and of what its extras need, each once."""
    try:
        lines = requires(_PACKAGE) or []
    except PackageNotFoundError:  # run from its sources, without being installed
        return []
    needed: list[str] = []
    optional: list[str] = []
    for line in lines:
        name, extra = _NAME.match(line), _EXTRA.search(line)
        if name is None or name[0] == _PACKAGE or (extra and extra[1] in _INTERNAL):
            continue
        (optional if extra else needed).append(name[0].lower())
    return list(dict.fromkeys([*sorted(needed), *sorted(optional)]))
