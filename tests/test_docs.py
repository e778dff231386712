"""What the README shows must run."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import bayesspn
from bayesspn import demo

ROOT = Path(__file__).parent.parent


def test_readme_example_runs():
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.S)
    assert len(blocks) == 1
    rng = np.random.default_rng(0)
    X = np.column_stack(
        [rng.lognormal(size=60), rng.poisson(3.0, 60), rng.integers(0, 3, 60)]
    ).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    code, shortened = re.subn(r"burn_in=\d+, draws=\d+, thin=\d+", "burn_in=5, draws=3", blocks[0])
    assert shortened == 1
    names = {"X": X, "X_new": X[:5]}
    exec(compile(code, "README.md", "exec"), names)
    assert names["posterior"].n_draws == 12
    assert names["posterior"].score_samples(X).shape == (60,)


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
