"""The command line as a process: pipes, codes, signals, and how soon it answers."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time

import pytest

from bayesspn import load

BAYESSPN = [sys.executable, "-m", "bayesspn"]


def run(*arguments, **options):
    return subprocess.run(
        [*BAYESSPN, *map(str, arguments)], capture_output=True, text=True, timeout=120, **options
    )


def test_pipes(files):
    model, table = (shlex.quote(str(files / name)) for name in ("m.bspn", "t.csv"))
    command = f"head -21 {table} | {shlex.join(BAYESSPN)} score {model} - --json"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(json.loads(done.stdout)["rows"]) == 20


def test_a_reader_that_has_enough_is_no_error(files):
    with subprocess.Popen(
        [*BAYESSPN, "sample", files / "m.bspn", "-n", "20000"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout.readline() == b"sex,age,income,job,ill\n"
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_at_the_end_of_a_pipe(files):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*BAYESSPN, "schema", files / "t.csv"], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 1
    assert done.stderr == "error: No space left on device\n"


def test_errors_end_with_their_code(files):
    done = run("score", "none.bspn", files / "t.csv")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "error: none.bspn: No such file or directory\n"
    assert run("score").returncode == 2


def test_ctrl_c_while_sampling_keeps_the_draws(files, tmp_path):
    command = ["fit", files / "t.csv", "-o", tmp_path / "m.bspn", "--chains", "1"]
    command += ["--burn-in", "1", "--draws", "1000000", "--thin", "1", "--progress"]
    with subprocess.Popen(
        [*BAYESSPN, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        seen = ""
        while "log-likelihood" not in seen:  # the bar moves
            seen += process.stderr.read(20)
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "fewer than were wanted" in err
    assert "learned 80 rows" in out
    assert load(tmp_path / "m.bspn").posterior_.n_draws >= 1


def test_help_does_not_wait_for_the_engine():
    code = (
        "import sys; from bayesspn.cli import app\n"
        "assert not {'numpy', 'numba', 'pandas', 'sklearn'} & set(sys.modules)\n"
        "app(['--help'])"
    )
    # where numba keeps its code elsewhere, numba itself has to be asked for the place
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr
    assert "impute" in done.stdout


def test_completion_knows_the_commands():
    environment = {
        **os.environ,
        "_BAYESSPN_COMPLETE": "complete_bash",
        "COMP_WORDS": "bayesspn su",
        "COMP_CWORD": "1",
    }
    code = "from bayesspn.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment
    )
    assert "summary" in done.stdout
