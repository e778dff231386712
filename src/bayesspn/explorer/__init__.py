"""A model in the browser: click what is known, and every other column answers at once.

``bayesspn explore MODEL`` serves a page on this machine only (``pip install 'bayesspn[explore]'``).
`guard` decides which requests are answered, `given` reads what the page says is known, `session`
asks the model, `app` puts these behind addresses, `server` runs them, and ``page/`` is what the
browser gets.
"""

from __future__ import annotations

try:
    import starlette  # noqa: F401
    import uvicorn  # noqa: F401
except ImportError:
    raise ImportError(
        "the explorer needs starlette and uvicorn: install them with  "
        "pip install 'bayesspn[explore]'"
    ) from None

from bayesspn.explorer.app import create_app
from bayesspn.explorer.server import explore

__all__ = ["create_app", "explore"]
