"""Who is answered: pages of this server, on this machine, that know the token.

Any page in a browser can send requests to 127.0.0.1. So requests must name this server in the Host
header (other names may have been pointed here), must not come from pages of other sites, and must
know the token, which is in the address that the user got and nowhere else.
"""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

#: The page may load its own files and ask its own server; nothing else, and nobody may frame it.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

_HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)


class Guard:
    """Lets requests through that are in order, with the token taken off their path.

    Parameters
    ----------
    application : ASGI application
    token : str
        The first part of the path that requests must have.
    hosts : iterable of str
        What the Host header may be, such as ``127.0.0.1:8000``.
    """

    def __init__(self, application: Application, token: str, hosts: Iterable[str]) -> None:
        self.application = application
        self.token = token
        self.hosts = frozenset(hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.application(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return

        async def send_guarded(message: Any) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", ()), *_HEADERS]}
            await send(message)

        problem = self.find_problem(scope)
        if problem is not None:
            await _refuse(send_guarded, problem)
            return
        path = scope["path"][1 + len(self.token) :] or "/"
        inner = {**scope, "path": path, "raw_path": path.encode()}
        await self.application(inner, receive, send_guarded)

    def find_problem(self, scope: Scope) -> str | None:
        """Why a request is not answered, in words; None if it is."""
        headers: dict[bytes, list[str]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.lower(), []).append(value.decode("latin-1"))
        host = headers.get(b"host", [])
        if len(host) != 1 or host[0] not in self.hosts:
            return "this server answers to 127.0.0.1 only: open the address that was printed"
        for origin in headers.get(b"origin", []):
            if origin != f"http://{host[0]}":
                return "pages of other sites are not answered"
        for site in headers.get(b"sec-fetch-site", []):
            if site not in ("same-origin", "none"):
                return (
                    "pages of other sites are not answered: paste the address into the address bar"
                )
        first = scope["path"].split("/")[1] if "/" in scope["path"] else ""
        if not hmac.compare_digest(first.encode(), self.token.encode()):
            return "the token is missing or wrong: open the address that was printed"
        return None


async def _refuse(send: Send, words: str) -> None:
    body = f"refused: {words}\n".encode()
    headers = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", str(len(body)).encode()),
    ]
    await send({"type": "http.response.start", "status": 403, "headers": headers})
    await send({"type": "http.response.body", "body": body})
