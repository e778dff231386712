"""Other hosts, other sites and requests without the token are refused."""

from __future__ import annotations

import asyncio

import pytest
from asgi_client import Client

from .conftest import HOST, TOKEN

ADDRESSES = ("", "main.js", "style.css", "api/model", "nothing-here")


def test_the_page_and_its_files_are_served_and_closed_against_the_outside(client):
    for address in ADDRESSES[:4]:
        reply = client.get(address)
        assert reply.status == 200
        policy = reply.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")
        assert "unsafe" not in policy
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert reply.headers["referrer-policy"] == "no-referrer"
        assert reply.headers["x-frame-options"] == "DENY"
        assert reply.headers["cache-control"] == "no-store"
        assert "access-control-allow-origin" not in reply.headers
    assert client.get("nothing-here").status == 404
    assert client.get("../../etc/passwd").status in (403, 404)
    assert client.get("..%2f..%2fapp.py").status in (403, 404)


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize(
    "path", ["/{address}", "/wrong/{address}", f"/{TOKEN}x/{{address}}", f"/x/{TOKEN}/{{address}}"]
)
def test_without_the_token_nothing_is_told(client, address, path):
    reply = client.get(path.format(address=address))
    assert reply.status == 403
    assert "token" in reply.text
    assert TOKEN not in reply.text


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8000",
        "127.0.0.1",
        "127.0.0.1:8001",
        "127.0.0.1:8000.evil.example",
    ],
)
@pytest.mark.parametrize("address", ADDRESSES)
def test_other_hosts_are_refused(client, host, address):
    reply = client.get(address, headers={"host": host})
    assert reply.status == 403
    assert "127.0.0.1 only" in reply.text


def test_requests_without_a_host_or_with_two_are_refused(application):
    for hosts in ([], [b"127.0.0.1:8000", b"evil.example"]):
        sent = []

        async def send(message, sent=sent):
            sent.append(message)

        scope = {
            "type": "http",
            "method": "GET",
            "path": f"/{TOKEN}/",
            "headers": [(b"host", host) for host in hosts],
        }
        asyncio.run(application(scope, None, send))
        assert sent[0]["status"] == 403


def test_the_name_localhost_is_as_good(application):
    client = Client(application, "localhost:8000", TOKEN)
    assert client.get("").status == 200
    crossed = client.get("", headers={"origin": f"http://{HOST}"})
    assert crossed.status == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": f"https://{HOST}"},
        {"origin": "http://127.0.0.1:9000"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"},
    ],
)
@pytest.mark.parametrize("address", ["", "api/model", "api/ask"])
def test_requests_of_other_sites_are_refused(client, headers, address):
    send = client.post if address == "api/ask" else client.get
    reply = send(address, headers=headers, **({"body": {}} if address == "api/ask" else {}))
    assert reply.status == 403
    assert "other sites" in reply.text


def test_own_requests_are_answered(client):
    headers = {"origin": f"http://{HOST}", "sec-fetch-site": "same-origin"}
    assert client.post("api/ask", body={"given": []}, headers=headers).status == 200
    assert client.get("", headers={"sec-fetch-site": "none"}).status == 200


def test_forms_cannot_ask(client):
    """What another site's form could send without being asked for leave is not understood."""
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        reply = client.post("api/ask", content=b'{"given": []}', headers={"content-type": kind})
        assert reply.status == 415


def test_sockets_are_refused(application):
    sent = []

    async def send(message):
        sent.append(message)

    asyncio.run(application({"type": "websocket", "path": f"/{TOKEN}/"}, None, send))
    assert sent == [{"type": "websocket.close", "code": 1008}]
