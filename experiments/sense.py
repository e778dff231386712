"""Do answers agree with the table? Tables that ship with packages, column by column, worst first.

For every column of every table, with a model of default parameters:

* *agreement*: the largest difference between answers that must agree, over the values that occur:
  P(<) + P(=) + P(>) and 1, P(≥) and P(=) + P(>), P(≤) and P(<) + P(=), P(q) of quantiles;
* *frequency*: the largest distance of P(=), or of P(≤) where no value recurs, from the table's
  frequency, in standard errors of the frequency;
* *outside*: how many of 1,000 sampled values are beyond the support of the table (negative where
  none is, …) or off the grid it is recorded on;
* *imputation*: RMSE of hidden cells filled in over that of the mean, or the share of wrong
  categories over that of the mode; *chance* is how often noise alone would make it look so bad, by
  a one-sided t-test of the cells' errors. It does not hold where both say so.

Half of the rows with a category that the other half lacks are scored, too: unknown values pass.

    python experiments/sense.py [--tables iris fair] [--quick]
"""

from __future__ import annotations

import argparse
import importlib.util
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats
from sklearn import datasets

from bayesspn import BayesianSPN, SPNImputer
from bayesspn.tables.schema import ColumnSchema

#: Tables of statsmodels: columns that identify rows are left out.
_STATSMODELS = {
    "fair": [],
    "grunfeld": [],
    "engel": [],
    "ccard": [],
    "heart": [],
    "randhie": [],
    "statecrime": ["state"],
    "macrodata": [],
    "stackloss": [],
    "strikes": [],
    "star98": [],
    "copper": [],
}

#: Tables of vega_datasets.
_VEGA = {"cars.json": ["Name"], "seattle-weather.csv": ["date"], "barley.json": []}

_MOST_ROWS = 600
_MOST_VALUES = 12
_SAMPLES = 1_000
_HIDDEN = 0.15

#: How rarely noise must explain an imputation for it to count, given some 170 columns.
_RARE = 1e-3


class Finding(NamedTuple):
    """What was found of one column."""

    column: str
    kind: str
    agreement: float
    frequency: float
    outside: int
    imputation: float
    chance: float

    @property
    def badness(self) -> float:
        """How far a column is from what must hold; above 1 it does not."""
        imputation = self.imputation / 1.15 if self.chance < _RARE else 0.0
        return max(self.agreement / 1e-6, self.frequency / 4.5, self.outside, imputation)


def tables() -> Iterator[tuple[str, pd.DataFrame]]:
    """Tables inside of installed packages; those of packages that are not there are left out."""
    for name in ("iris", "wine", "diabetes", "breast_cancer", "linnerud"):
        yield name, getattr(datasets, f"load_{name}")(as_frame=True).frame
    folder = _package("statsmodels")
    for name, dropped in _STATSMODELS.items() if folder else ():
        path = folder / "datasets" / name / f"{name}.csv"
        yield name, pd.read_csv(path).drop(columns=dropped)
    folder = _package("vega_datasets")
    for name, dropped in _VEGA.items() if folder else ():
        path = folder / "_data" / name
        read = pd.read_json if path.suffix == ".json" else pd.read_csv
        yield path.stem, read(path).drop(columns=dropped)


def _package(name: str) -> Path:
    found = importlib.util.find_spec(name)
    return Path(found.origin).parent if found is not None and found.origin else Path()


def _agreement(model: BayesianSPN, column: ColumnSchema, values: list[Any]) -> float:
    """Largest difference between answers that must agree, for values that occur."""
    worst = 0.0
    ordered = column.kind not in ("category", "binary")
    for value in values:
        asked = [f"`{column.name}` {test} {_written(value)}" for test in ("=", "!=")]
        equal, unequal = map(model.probability, asked)
        worst = max(worst, abs(equal + unequal - 1.0))
        if ordered:
            tests = ("<", "<=", ">", ">=")
            asked = [f"`{column.name}` {test} {_written(value)}" for test in tests]
            below, upto, above, least = map(model.probability, asked)
            worst = max(
                worst,
                abs(below + equal + above - 1.0),
                abs(least - equal - above),
                abs(upto - below - equal),
            )
    if ordered:
        for level, value in zip(
            (0.1, 0.5, 0.9), model.quantile(column.name, [0.1, 0.5, 0.9]), strict=True
        ):
            upto = model.probability(f"`{column.name}` <= {_written(value)}")
            below = model.probability(f"`{column.name}` < {_written(value)}")
            worst = max(worst, level - upto, below - level)
    return worst


def _written(value: Any) -> str:
    return repr(value) if isinstance(value, int | float) else f"'{value}'"


def _frequency(model: BayesianSPN, column: ColumnSchema, cells: pd.Series) -> float:
    """Largest distance of probabilities from frequencies, in standard errors of these."""
    worst = 0.0
    counts = cells.value_counts()
    recurring = counts[counts >= max(5, 0.02 * len(cells))].head(_MOST_VALUES)
    asked = [("=", value, share) for value, share in (recurring / len(cells)).items()]
    if column.kind not in ("category", "binary"):
        cuts = np.quantile(cells, [0.1, 0.25, 0.5, 0.75, 0.9], method="nearest")
        asked += [("<=", value, float((cells <= value).mean())) for value in cuts]
    for test, value, share in asked:
        plain = value.item() if isinstance(value, np.generic) else value
        found = model.probability(f"`{column.name}` {test} {_written(plain)}")
        # one row more either way, so that certain answers have an error as well
        error = np.sqrt(share * (1 - share) / len(cells)) + 1 / len(cells)
        worst = max(worst, abs(found - share) / error)
    return worst


def _outside(column: ColumnSchema, cells: pd.Series, drawn: pd.Series) -> int:
    """How many of the sampled values cannot be."""
    if column.kind in ("category", "binary"):
        return int((~drawn.isin(cells.unique())).sum())
    if column.timed:
        return 0
    low = 0.0 if cells.min() >= 0 else -np.inf
    high = 1.0 if cells.min() >= 0 and cells.max() <= 1 else np.inf
    wrong = (drawn < low) | (drawn > high) | ((cells.min() > 0) & (drawn <= 0))
    decimals = max(len(repr(float(value)).partition(".")[2]) for value in cells.unique())
    if decimals <= 4:
        wrong |= (drawn - drawn.round(decimals)).abs() > 1e-9
    return int(wrong.sum())


def _imputation(
    table: pd.DataFrame, schema: Any, parameters: dict[str, Any]
) -> dict[str, tuple[float, float]]:
    """Error of hidden cells over that of the mean, or of the mode, of what is left, and chance."""
    rng = np.random.default_rng(0)
    hidden = pd.DataFrame(rng.random(table.shape) < _HIDDEN, columns=table.columns)
    hidden &= table.notna()
    holes = table.mask(hidden)
    filled = SPNImputer(schema=schema, **parameters).fit_transform(holes)
    found = {}
    for column in schema:
        truth = table.loc[hidden[column.name], column.name]
        guess = filled.loc[hidden[column.name], column.name]
        numbers = pd.api.types.is_numeric_dtype(holes[column.name])
        if not len(truth) or not (column.coded or numbers):  # dates have no mean to compare with
            continue
        if column.kind in ("category", "binary"):
            usual = holes[column.name].mode().iloc[0]
            found[str(column.name)] = _compare(guess != truth, truth != usual, np.mean)
        else:
            usual = holes[column.name].mean()
            found[str(column.name)] = _compare(
                (truth - guess) ** 2, (truth - usual) ** 2, lambda losses: np.mean(losses) ** 0.5
            )
    return found


def _compare(
    ours: pd.Series, usual: pd.Series, error: Callable[[Any], float]
) -> tuple[float, float]:
    """Ratio of two errors, and the probability that noise makes ours as much worse."""
    more = ours.to_numpy(dtype=float) - usual.to_numpy(dtype=float)
    ratio = float(error(ours) / error(usual)) if usual.any() else 1.0
    if len(more) < 2 or np.ptp(more) == 0.0:  # as a coin that falls on one side
        return ratio, 0.5 ** len(more) if (more > 0.0).all() else 1.0
    return ratio, float(stats.ttest_1samp(more, 0.0, alternative="greater").pvalue)


def _unknown_pass(table: pd.DataFrame, model: BayesianSPN, parameters: dict[str, Any]) -> bool:
    texts = [c.name for c in model.schema_ if c.kind == "category"]
    if not texts:
        return True
    name = texts[0]
    left = table[table[name] == table[name].mode().iloc[0]]
    fitted = BayesianSPN(**parameters | {"chains": 1, "burn_in": 5, "draws": 3}).fit(left)
    return bool(np.isfinite(fitted.score_samples(table)).all())


def examine(name: str, table: pd.DataFrame, parameters: dict[str, Any]) -> list[Finding]:
    """Compare the answers of a model of a table with the table."""
    if len(table) > _MOST_ROWS:
        table = table.sample(_MOST_ROWS, random_state=0)
    table = table.dropna(axis=1, how="all").reset_index(drop=True)
    model = BayesianSPN(**parameters).fit(table)
    drawn = model.sample(_SAMPLES, random_state=0)
    imputed = _imputation(table, model.schema_, parameters)
    findings = []
    for column in model.schema_:
        cells = table[column.name].dropna()
        recorded = not column.timed and (column.kind != "real" or column.grid.single)
        values = cells.value_counts().head(_MOST_VALUES).index.tolist() if recorded else []
        findings.append(
            Finding(
                str(column.name),
                column.kind,
                _agreement(model, column, values),
                _frequency(model, column, cells) if recorded else 0.0,
                _outside(column, cells, drawn[column.name].dropna()),
                *imputed.get(str(column.name), (0.0, 1.0)),
            )
        )
    passed = "" if _unknown_pass(table, model, parameters) else "; unknown values do NOT pass"
    print(f"\n{name}: {len(table)} rows{passed}")
    return sorted(findings, key=lambda finding: -finding.badness)


def main() -> None:
    """Print a table per data set, worst columns first."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", nargs="*", default=None, help="only these")
    parser.add_argument("--quick", action="store_true", help="short chains")
    options = parser.parse_args()
    parameters: dict[str, Any] = {"random_state": 0}
    if options.quick:
        parameters |= {"chains": 2, "burn_in": 100, "draws": 20, "thin": 2}
    warnings.simplefilter("ignore")
    bad = total = 0
    for name, table in tables():
        if options.tables is None or name in options.tables:
            findings = examine(name, table, parameters)
            frame = pd.DataFrame(findings)
            frame["holds"] = [finding.badness <= 1 for finding in findings]
            print(frame.to_string(index=False, float_format=lambda x: f"{x:.3g}"))
            bad += int((~frame["holds"]).sum())
            total += len(frame)
    print(f"\n{bad} of {total} columns do not hold")


if __name__ == "__main__":
    main()
