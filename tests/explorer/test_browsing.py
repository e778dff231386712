"""Tests in a browser run wherever there is one, and where there is none everybody is told."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from .browsing import find_chromium, say_why_not


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """An empty folder, the only one in which programs are looked for."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CHROMIUM", raising=False)
    return tmp_path


def install(path):
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize("name", ["chromium", "chromium-browser", "google-chrome"])
def test_chromium_is_found_by_the_names_it_has(programs, name):
    assert find_chromium() is None
    assert say_why_not() == "no browser: no Chromium"
    path = install(programs / name)
    assert find_chromium() == path


def test_chromium_is_found_where_the_environment_says(programs, tmp_path_factory, monkeypatch):
    install(programs / "chromium")
    elsewhere = install(tmp_path_factory.mktemp("elsewhere") / "my-browser")
    monkeypatch.setenv("CHROMIUM", elsewhere)
    assert find_chromium() == elsewhere
    assert say_why_not() is None
    monkeypatch.setenv("CHROMIUM", "/no/such/browser")
    assert find_chromium() is None
    assert say_why_not() == "no browser: CHROMIUM=/no/such/browser is no program"


def test_a_missing_browser_is_told_once_and_loudly():
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-p",
            "no:cacheprovider",
            "tests/explorer/test_browser.py",
        ],
        env=os.environ | {"CHROMIUM": "/no/such/browser", "COLUMNS": "80"},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.count("THE BROWSER TESTS DID NOT RUN") == 1, done.stdout + done.stderr
    assert done.stdout.count("apt-get install chromium") == 1
    assert done.stdout.count("SKIPPED") == 1
    assert "1 skipped" in done.stdout
