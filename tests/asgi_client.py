"""A client that hands requests to an ASGI application, without a network or another library."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit


@dataclass(frozen=True)
class Reply:
    """What came back."""

    status: int
    headers: dict[str, str]
    content: bytes

    @property
    def text(self) -> str:
        return self.content.decode()

    def json(self) -> Any:
        return json.loads(self.content)


@dataclass(frozen=True)
class Client:
    """Sends requests to an application.

    Addresses are relative to ``/token/``, or begin with a slash.
    """

    application: Any
    host: str
    token: str

    def get(self, address: str, headers: dict[str, str] | None = None) -> Reply:
        return self.send("GET", address, b"", headers)

    def post(
        self,
        address: str,
        content: bytes = b"",
        headers: dict[str, str] | None = None,
        body: Any = None,
    ) -> Reply:
        if body is not None:
            content = json.dumps(body).encode()
            headers = {"content-type": "application/json", **(headers or {})}
        return self.send("POST", address, content, headers)

    def send(
        self, method: str, address: str, content: bytes, headers: dict[str, str] | None
    ) -> Reply:
        return asyncio.run(
            self._send(method, address, content, {"host": self.host} | (headers or {}))
        )

    async def _send(
        self, method: str, address: str, content: bytes, headers: dict[str, str]
    ) -> Reply:
        parts = urlsplit(address if address.startswith("/") else f"/{self.token}/{address}")
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": unquote(parts.path),
            "raw_path": parts.path.encode(),
            "query_string": parts.query.encode(),
            "root_path": "",
            "headers": [(k.encode(), v.encode()) for k, v in headers.items()],
            "server": ("127.0.0.1", 8000),
            "client": ("127.0.0.1", 50000),
        }
        sent: list[Any] = []
        pieces = [
            {"type": "http.request", "body": content, "more_body": False},
            {"type": "http.disconnect"},
        ]

        async def receive() -> Any:
            return pieces.pop(0)

        async def send(message: Any) -> None:
            sent.append(message)

        await self.application(scope, receive, send)
        start = next(m for m in sent if m["type"] == "http.response.start")
        body = b"".join(m.get("body", b"") for m in sent if m["type"] == "http.response.body")
        found = {k.decode().lower(): v.decode() for k, v in start["headers"]}
        return Reply(start["status"], found, body)
