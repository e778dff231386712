"""What users get: one version, bounds that are tested, a wheel that can be installed and used."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

import bayesspn
from bayesspn.versions import find_versions

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def bounds(lines):
    """Lower bounds by name."""
    found = (re.match(r"([A-Za-z0-9._-]+)(?:\[[^\]]*\])?>=([\d.]+)", line) for line in lines)
    return {match[1]: match[2] for match in found if match}


def numbers(version):
    """A version without zeros at its end, which mean nothing."""
    parts = list(map(int, version.split(".")))
    while parts and not parts[-1]:
        parts.pop()
    return parts


def test_all_places_name_the_same_version():
    citation = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(), flags=re.M)
    assert bayesspn.__version__ == PROJECT["version"] == citation[1]


def test_lower_bounds_are_the_oldest_versions_tested():
    lines = (ROOT / "tests" / "oldest.txt").read_text().splitlines()
    tested = dict(line.split("==") for line in lines if "==" in line)
    extras = PROJECT["optional-dependencies"]
    declared = bounds(PROJECT["dependencies"])
    for extra in ("duckdb", "explore", "parquet", "plots"):
        declared |= bounds(extras[extra])
    assert declared.keys() <= tested.keys()
    for name, version in declared.items():
        assert numbers(version) == numbers(tested[name]), name


def test_workflows_test_every_python_that_is_declared():
    yaml = pytest.importorskip("yaml")
    for path in (ROOT / ".github" / "workflows").glob("*.yml"):
        assert yaml.safe_load(path.read_text())["jobs"]
    tests = yaml.safe_load((ROOT / ".github" / "workflows" / "tests.yml").read_text())
    tested = tests["jobs"]["test"]["strategy"]["matrix"]["python"]
    marker = "Programming Language :: Python :: 3."
    declared = [line[len(marker) - 2 :] for line in PROJECT["classifiers"] if marker in line]
    assert tested == declared
    assert yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text())["references"][0]["year"] == 2019


def test_versions_are_shown(capsys):
    bayesspn.show_versions()
    shown = capsys.readouterr().out
    assert re.search(rf"^bayesspn +{re.escape(bayesspn.__version__)}$", shown, flags=re.M)
    try:
        metadata.distribution("bayesspn")
    except metadata.PackageNotFoundError:
        pytest.skip("the package is not installed, so nobody knows what it depends on")
    for name in bounds(PROJECT["dependencies"]):
        assert name in find_versions()


USE = """
import warnings
import bayesspn
from bayesspn.examples import load_patients
warnings.simplefilter("ignore")
model = bayesspn.BayesianSPN(chains=1, burn_in=10, draws=4, random_state=0).fit(load_patients())
assert 0 < model.probability("ill | age > 60") < 1
assert "site-packages" in bayesspn.__file__
bayesspn.show_versions()
"""


@pytest.mark.long
def test_what_is_built_can_be_installed_and_used(tmp_path):
    pytest.importorskip("hatchling")
    for target in ("sdist", "wheel"):
        command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(tmp_path)]
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    [sdist], [wheel] = tmp_path.glob("*.tar.gz"), tmp_path.glob("*.whl")
    with tarfile.open(sdist) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    assert {"README.md", "LICENSE", "CITATION.cff", "Makefile", "tests/oldest.txt"} <= names
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert "bayesspn/py.typed" in names
    assert "bayesspn/explorer/page/index.html" in names
    assert not any(name.startswith("tests") for name in names)
    folder = tmp_path / "empty"
    venv.create(folder, with_pip=True)
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    outside = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    install = [python, "-m", "pip", "install", "--quiet", wheel]
    subprocess.run(install, check=True, env=outside, capture_output=True)
    done = subprocess.run(
        [python, "-c", USE], cwd=tmp_path, env=outside, check=True, capture_output=True, text=True
    )
    assert f"bayesspn       {bayesspn.__version__}" in done.stdout
    command = folder / ("Scripts/bayesspn.exe" if os.name == "nt" else "bin/bayesspn")
    done = subprocess.run([command, "--version"], check=True, capture_output=True, text=True)
    assert done.stdout == f"bayesspn {bayesspn.__version__}\n"
