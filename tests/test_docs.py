"""What README and documentation show must run, and the site must build."""

from __future__ import annotations

import importlib
import os
import re
import shlex
import shutil
import subprocess
import sys
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from doc_pages import CloseNumbers, run_page
from typer.testing import CliRunner

import bayesspn
import bayesspn.explorer
import bayesspn.plots
import bayesspn.report
import bayesspn.tables
from bayesspn import demo
from bayesspn.cli import app

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = [
    DOCS / "index.md",
    *sorted((DOCS / "guides").glob("*.md")),
    *sorted((DOCS / "tutorials").glob("*.md")),
]

few_draws = pytest.mark.filterwarnings("ignore:answers about")


def write_patients(rows: int = 80) -> None:
    rng = np.random.default_rng(0)
    age = rng.integers(20, 90, rows)
    patients = pd.DataFrame(
        {
            "name": [f"p{row}" for row in range(rows)],
            "age": age,
            "sex": rng.choice(["F", "M"], rows),
            "ill": np.where(rng.random(rows) < age / 100, "yes", "no"),
            "income": rng.lognormal(3, 0.4, rows).round(1),
        }
    )
    for name in ("income", "ill"):
        patients.loc[rng.random(rows) < 0.1, name] = np.nan
    patients.to_csv("patients.csv", index=False)


@few_draws
def test_readme_examples_run(tmp_path, monkeypatch):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.S)
    assert blocks
    monkeypatch.chdir(tmp_path)
    write_patients()
    code, shortened = re.subn(
        r"\(progress=True", "(chains=2, burn_in=5, draws=3", "\n".join(blocks)
    )
    assert shortened == 1
    code = code.replace("SPNImputer()", "SPNImputer(chains=2, burn_in=5, draws=3)")
    code = code.replace("SPNClassifier()", "SPNClassifier(chains=2, burn_in=5, draws=3)")
    names: dict[str, object] = {}
    exec(compile(code, "README.md", "exec"), names)
    assert names["model"].posterior_.n_draws == 6


@few_draws
@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}-{page.stem}")
def test_python_of_pages_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if "import duckdb" in page.read_text():
        pytest.importorskip("duckdb")
    complaints = run_page(page)
    assert not complaints, "".join(complaints)


@few_draws
def test_shell_of_the_command_line_page_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_patients()
    text = (DOCS / "guides" / "command-line.md").read_text()
    script = "".join(re.findall(r"```sh\n(.*?)```", text, flags=re.S)).replace("\\\n", " ")
    lines = script.splitlines()
    assert len(lines) > 12
    shown = "".join(map(run_line, lines))
    assert re.search(r"ill = yes given age > 60 and sex = F is [\d.]+ %", shown)
    assert len(pd.read_csv("three.csv")) == 3 * 80
    assert not pd.read_csv("filled.csv").isna().any().any()


def run_line(line: str) -> str:
    """Run the commands of a line in this process, one's output the next one's input."""
    piped = ""
    words = shlex.split(line)
    ends = [place for place, word in enumerate(words) if word == "|"]
    for begin, end in pairwise([-1, *ends, len(words)]):
        name, *arguments = words[begin + 1 : end]
        assert name == "bayesspn"
        done = CliRunner().invoke(app, arguments, input=piped)
        assert done.exit_code == 0, f"{line}: {done.stderr}"
        piped = done.stdout
    return piped


def test_numbers_of_pages_may_differ_a_little():
    checker = CloseNumbers()
    assert checker.check_output("Answer(value=0.41...)\n", "Answer(value=0.43817)\n", 0)
    assert not checker.check_output("Answer(value=0.41...)\n", "Answer(value=0.7)\n", 0)
    assert not checker.check_output("alcohol 1\n", "proline 1\n", 0)


def is_fresh(root: Path) -> bool:
    """Whether `make docs` has built the site since anything that it shows was changed."""
    built = root / "site" / ".built"
    shown = [
        *(root / "docs").rglob("*"),
        *(root / "src").rglob("*.py"),
        root / "mkdocs.yml",
        root / "CHANGELOG.md",
    ]
    return built.is_file() and built.stat().st_mtime > max(path.stat().st_mtime for path in shown)


@pytest.fixture
def site(tmp_path):
    """The site, built here unless `make docs` has just done so."""
    if is_fresh(ROOT):
        return ROOT / "site"
    pytest.importorskip("mkdocs")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return tmp_path


def test_site_builds_and_needs_no_network(site):
    pages = list(site.rglob("*.html"))
    assert len(pages) > len(PAGES)
    for page in pages:
        loads = r'<(?:script|img|link)[^>]* (?:src|href)="(https?:[^"]*)'
        loaded = re.findall(loads, page.read_text())
        assert not loaded, f"{page.name} loads {loaded}"
    assert not any("//fonts." in sheet.read_text() for sheet in site.rglob("*.css"))


def test_a_site_is_built_again_if_anything_it_shows_is_newer(tmp_path):
    for folder in ("site", "docs/guides", "src/bayesspn"):
        (tmp_path / folder).mkdir(parents=True)
    built = tmp_path / "site" / ".built"
    shown = (
        "docs/index.md",
        "docs/guides/ask.md",
        "src/bayesspn/a.py",
        "mkdocs.yml",
        "CHANGELOG.md",
    )
    for name in shown:
        (tmp_path / name).touch()
    assert not is_fresh(tmp_path)
    built.touch()
    later = built.stat().st_mtime + 10
    os.utime(built, (later, later))
    assert is_fresh(tmp_path)
    for name in shown:
        os.utime(tmp_path / name, (later + 1, later + 1))
        assert not is_fresh(tmp_path), name
        os.utime(tmp_path / name, (later - 1, later - 1))
        assert is_fresh(tmp_path), name


def test_reference_has_every_public_name():
    reference = "".join(page.read_text() for page in (DOCS / "api").glob("*.md"))
    listed = set(re.findall(r"^::: (\S+)$", reference, flags=re.M))
    public = {f"bayesspn.{name}" for name in bayesspn.__all__}
    names = ("tables", "questions.events", "plots", "report", "explorer")
    for module in (importlib.import_module(f"bayesspn.{name}") for name in names):
        # constants need no page
        public |= {f"{module.__name__}.{name}" for name in module.__all__ if not name.isupper()}
    public.add("bayesspn.duckdb.register")
    assert listed == public


def test_transcript_script_runs_blocks(tmp_path):
    source = (
        "# T\n\n## A\n\n```python\n1 + 1\n```\n\n```sh\necho hello\n```\n\n"
        "## B\n\n<!-- needs b.csv -->\n"
    )
    folder = tmp_path / "experiments"
    folder.mkdir()
    shutil.copy(ROOT / "experiments" / "transcript.py", folder)
    (folder / "transcript_source.md").write_text(source)
    subprocess.run(
        [sys.executable, "experiments/transcript.py", "--output", "out.md"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
    text = (tmp_path / "out.md").read_text()
    assert "```text\n2\n```" in text
    assert "```text\nhello\n```" in text
    assert "## B" not in text


def test_every_public_name_exists():
    assert all(hasattr(bayesspn, name) for name in bayesspn.__all__)


def test_demo_prints_scores_and_answers(monkeypatch: pytest.MonkeyPatch, capsys):
    short = partial(bayesspn.BayesianSPN, chains=2, burn_in=60, draws=10, thin=2)
    monkeypatch.setattr(demo, "BayesianSPN", short)
    demo.main()
    shown = capsys.readouterr().out
    network = float(re.search(r"sum-product networks +(-?[\d.]+)", shown)[1])
    independent = float(re.search(r"independent columns +(-?[\d.]+)", shown)[1])
    assert network > independent + 1
    assert len(re.findall(r"P\(cultivar = 0.* \([\d.]+ to [\d.]+\)", shown)) == 3
