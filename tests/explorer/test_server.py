"""The command serves on this machine only, says where, and ends with Ctrl-C."""

from __future__ import annotations

import http.client
import json
import signal
import socket
import subprocess
import sys
from urllib.parse import urlsplit

import numpy as np
import pytest
from pictured import fit
from typer.testing import CliRunner

from bayesspn.cli import app
from bayesspn.explorer.server import listen


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A file with the smallest of models."""
    import pandas as pd

    path = tmp_path_factory.mktemp("explore") / "small.bspn"
    rng = np.random.default_rng(0)
    fit(pd.DataFrame({"sex": rng.choice(["F", "M"], 30)}), chains=1).save(path)
    (path.parent / "t.csv").write_text("sex\nF\nM\n")
    return path


def fetch(address, path="", host=None):
    parts = urlsplit(address)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=20)
    connection.putrequest("GET", parts.path + path, skip_host=True)
    connection.putheader("Host", host or parts.netloc)
    connection.endheaders()
    reply = connection.getresponse()
    body = reply.read()
    connection.close()
    return reply.status, body


def test_explore_prints_an_address_and_serves_it_until_interrupted(small):
    command = [sys.executable, "-m", "bayesspn", "explore", str(small), "--no-browser"]
    command += ["--table", str(small.parent / "t.csv")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        address = process.stdout.readline().strip()
        parts = urlsplit(address)
        assert parts.hostname == "127.0.0.1"
        assert len(parts.path) > 30
        status, body = fetch(address, "api/model")
        assert status == 200
        assert json.loads(body)["table"] == 2
        assert b"explorer" in fetch(address)[1]
        assert fetch(address, host="evil.example")[0] == 403
        assert fetch(f"http://{parts.netloc}/")[0] == 403
        assert fetch(f"http://{parts.netloc}/wrong/api/model")[0] == 403
        taken = CliRunner().invoke(
            app, ["explore", str(small), "--no-browser", "--port", str(parts.port)]
        )
        assert taken.exit_code == 1
        assert f"port {parts.port} cannot be used" in taken.stderr
    finally:
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 0, err
    assert out == ""
    assert "ready; Ctrl-C ends it" in err
    assert "Traceback" not in err


def test_only_this_machine_is_listened_to():
    with listen(0) as listener:
        assert listener.getsockname()[0] == "127.0.0.1"
        assert listener.family == socket.AF_INET


@pytest.mark.parametrize("library", ["starlette", "uvicorn"])
def test_without_its_libraries_the_explorer_says_what_to_install(library, small, monkeypatch):
    monkeypatch.delitem(sys.modules, "bayesspn.explorer")
    monkeypatch.setitem(sys.modules, library, None)
    done = CliRunner().invoke(app, ["explore", str(small), "--no-browser"])
    assert done.exit_code == 1
    assert done.stderr.splitlines()[-1] == (
        "error: the explorer needs starlette and uvicorn: install them with pip install "
        "'bayesspn[explore]'"
    )
