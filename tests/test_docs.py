"""What the README shows must run."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import bayesspn
from bayesspn import demo

ROOT = Path(__file__).parent.parent


@pytest.mark.filterwarnings("ignore:the chains do not agree")
def test_readme_examples_run(tmp_path, monkeypatch):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.S)
    assert len(blocks) == 2
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"income": rng.lognormal(size=60), "region": rng.choice(list("abc"), 60)})
    table.loc[rng.random(60) < 0.1, "income"] = np.nan
    monkeypatch.chdir(tmp_path)
    table.to_csv("patients.csv", index=False)
    code, shortened = re.subn(
        "n_jobs=-1, progress=True", "chains=2, burn_in=5, draws=3", "\n".join(blocks)
    )
    assert shortened == 1
    names = {"X": np.array([[1.0, 0.0], [np.nan, 2.0]])}
    exec(compile(code, "README.md", "exec"), names)
    assert names["posterior"].n_draws == 6


def test_every_public_name_exists():
    assert all(hasattr(bayesspn, name) for name in bayesspn.__all__)


def test_demo_prints_scores_and_answers(monkeypatch: pytest.MonkeyPatch, capsys):
    for name, value in {"CHAINS": 2, "BURN_IN": 60, "DRAWS": 10, "THIN": 2}.items():
        monkeypatch.setattr(demo, name, value)
    monkeypatch.setattr(demo.fit, "__defaults__", (2,))
    demo.main()
    shown = capsys.readouterr().out
    network = float(re.search(r"sum-product network +(-?[\d.]+)", shown)[1])
    independent = float(re.search(r"independent columns +(-?[\d.]+)", shown)[1])
    assert network > independent + 1
    assert len(re.findall(r"P\(cultivar = 0.*90 % interval", shown)) == 3
