"""Serving the explorer on this machine."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import uvicorn

from bayesspn.explorer.app import create_app
from bayesspn.explorer.session import Session

if TYPE_CHECKING:
    import pandas as pd

    from bayesspn.estimators.joint import JointEstimator

LOOPBACK = "127.0.0.1"


def explore(
    model: JointEstimator,
    *,
    port: int = 0,
    name: str = "model.bspn",
    table: pd.DataFrame | None = None,
    announce: Callable[[str], Any] = print,
) -> None:
    """Serve the explorer of a model until Ctrl-C.

    Parameters
    ----------
    model : fitted estimator
    port : int, default=0
        0 chooses a free one.
    name : str, default="model.bspn"
        File of the model, for the Python calls shown.
    table : DataFrame, default=None
        Rows to look at.
    announce : callable, default=print
        Is told the address once the explorer is ready. It holds a random token: whoever knows it
        can ask, nobody else.
    """
    with listen(port) as listener:
        session = Session(model, name)
        if table is not None:
            session.use_table(table)
        session.warm_up()
        token = secrets.token_urlsafe(24)
        taken = listener.getsockname()[1]
        hosts = (f"{LOOPBACK}:{taken}", f"localhost:{taken}")
        application = create_app(session, token=token, hosts=hosts)
        config = uvicorn.Config(
            application,
            log_level="warning",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=1,
        )
        # requests that come before the server is up wait in the listener's queue
        announce(f"http://{LOOPBACK}:{taken}/{token}/")
        uvicorn.Server(config).run(sockets=[listener])


def listen(port: int) -> socket.socket:
    """A socket that only this machine reaches."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((LOOPBACK, port))
    except OSError as error:
        listener.close()
        raise OSError(
            error.errno, f"port {port} cannot be used ({error.strerror}); choose another"
        ) from None
    listener.listen()
    return listener
