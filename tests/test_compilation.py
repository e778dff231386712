"""The cache of compiled code follows the sources."""

from __future__ import annotations

import subprocess
import sys

from bayesspn.compilation import drop_stale_code

CALLEE = "import numba as nb\n\n@nb.njit(cache=True)\ndef one():\n    return {value}\n"
CALLER = (
    "import numba as nb\nfrom pathlib import Path\n"
    "from bayesspn.compilation import drop_stale_code\n"
    "dropped = drop_stale_code(Path(__file__).parent)\n"
    "from callee import one\n\n"
    "@nb.njit(cache=True)\ndef two():\n    return one() + one()\n\n"
    "print(two(), dropped, sum(two.stats.cache_hits.values()))\n"
)


def run(folder):
    done = subprocess.run(
        [sys.executable, "caller.py"], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def test_code_is_compiled_again_when_a_function_it_calls_changes(tmp_path):
    (tmp_path / "callee.py").write_text(CALLEE.format(value=1))
    (tmp_path / "caller.py").write_text(CALLER)
    assert run(tmp_path) == ["2", "True", "0"]
    assert run(tmp_path) == ["2", "False", "1"]
    (tmp_path / "callee.py").write_text(CALLEE.format(value=5))
    assert run(tmp_path) == ["10", "True", "0"]


def test_a_folder_that_cannot_be_written_is_left_alone(tmp_path):
    package = tmp_path / "package"
    package.mkdir()
    (package / "a.py").write_text("")
    (package / "__pycache__").write_text("a file where a folder should be")
    assert drop_stale_code(package) is False
