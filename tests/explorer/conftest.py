"""A small model behind the explorer, and a client that knows the token."""

from __future__ import annotations

import pytest
from asgi_client import Client

from bayesspn.explorer import create_app
from bayesspn.explorer.session import Session

TOKEN = "a-token-of-some-length"
HOST = "127.0.0.1:8000"


@pytest.fixture(scope="session")
def table(people_table):
    return people_table


@pytest.fixture(scope="session")
def model(people_model):
    return people_model


@pytest.fixture(scope="session")
def session(model):
    return Session(model, "people.bspn")


@pytest.fixture(scope="session")
def application(session):
    return create_app(session, token=TOKEN, hosts=[HOST, "localhost:8000"])


@pytest.fixture
def client(application):
    return Client(application, HOST, TOKEN)


@pytest.fixture
def ask(client):
    """Ask a question; the reply of a refused one with its status."""

    def ask(question, code=200, **body):
        reply = client.post(f"api/{question}", body=body)
        assert reply.status == code, reply.text
        return reply.json()

    return ask
