"""A report on a fitted model: one HTML file that can be read anywhere, without a network.

>>> import tempfile
>>> import numpy as np
>>> import pandas as pd
>>> from bayesspn import BayesianSPN
>>> from bayesspn.report import write_report
>>> rng = np.random.default_rng(0)
>>> table = pd.DataFrame({"age": rng.integers(20, 70, 60), "sex": rng.choice(["F", "M"], 60)})
>>> model = BayesianSPN(chains=1, burn_in=5, draws=5, random_state=0).fit(table)
>>> with tempfile.TemporaryDirectory() as folder:
...     write_report(model, f"{folder}/report.html", table)
"""

from __future__ import annotations

from bayesspn.report.page import build_report, write_report

__all__ = ["build_report", "write_report"]
