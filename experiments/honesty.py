"""Are intervals and warnings right? Half of a table teaches, the other half judges.

For every table (those inside packages that ``sense.py`` uses, and the mixed sets under ``--data``)
the plain call learns from one half of the rows, twice, with different seeds. Random events about
one column, given up to two other cells, are then asked, each of which the other half can count:

* *held*: how often the frequency in the other half lies within the 90 % interval, widened by the
  binomial error of the frequency; 0.85 to 0.95 is what an honest interval has;
* *unsettled*: the share of the columns that the fit warned about;
* *repeated*: how often the two seeds' answers are within three of their combined errors, of those
  about columns without a warning, and of the others.

    python experiments/honesty.py [--data FOLDER] [--tables iris fair] [--seconds 20]
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from problems import load_problem
from public_data import MIXED_NAMES
from sense import tables

from bayesspn import BayesianSPN
from bayesspn.questions.uncertainty import Answer
from bayesspn.questions.wording import LARGEST_ERROR
from bayesspn.tables import decode

_MOST_ROWS = 2_000
_EVENTS = 100
_TRIES = 2_000

#: Rows of the other half on which an event is judged, at least.
_FEWEST_ROWS = 20

#: Standard errors of a 90 % interval.
_WIDTH = 1.645


class Asked(NamedTuple):
    """An event, what is given, and what the other half says."""

    column: Any
    event: str
    given: str | None
    rows: int
    frequency: float


class Study(NamedTuple):
    """What was found of one table."""

    table: str
    rows: int
    columns: int
    seconds: float
    unsettled: float
    events: int
    held: float
    repeated: float
    repeated_unsettled: float


def examine(name: str, table: pd.DataFrame, seconds: float) -> Study:
    """Fit half of a table twice, and judge the answers by the other half."""
    rng = np.random.default_rng(0)
    table = table.iloc[rng.permutation(len(table))[:_MOST_ROWS]].reset_index(drop=True)
    half = len(table) // 2
    learned, other = table[:half], table[half:]
    learned = learned.loc[:, learned.notna().any()]
    started = time.monotonic()
    models = []
    for seed in (0, 1):
        model = BayesianSPN(time_limit=seconds, n_jobs=1, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            models.append(model.fit(learned))
    spent = (time.monotonic() - started) / 2
    asked = list(_ask(rng, models[0], learned, other))
    unsettled = {name for model in models for name in _unsettled(model)}
    held: list[bool] = []
    same: dict[bool, list[bool]] = {False: [], True: []}
    for question in asked:
        first, second = (
            model.probability(question.event, given=question.given, interval=0.9)
            for model in models
        )
        held.append(_holds(first, question))
        apart = 3.0 * np.hypot(first.error, second.error) + 1e-3
        same[question.column in unsettled].append(abs(first.value - second.value) <= apart)
    return Study(
        name,
        len(learned),
        learned.shape[1],
        spent,
        len(unsettled) / learned.shape[1],
        len(asked),
        _share(held),
        _share(same[False]),
        _share(same[True]),
    )


def _unsettled(model: BayesianSPN) -> list[Any]:
    errors = model.settling_["error"].iloc[1:]
    return errors.index[errors > LARGEST_ERROR].tolist()


def _share(found: list[bool]) -> float:
    return float(np.mean(found)) if found else np.nan


def _holds(answer: Answer, asked: Asked) -> bool:
    deviation = (answer.high - answer.low) / (2 * _WIDTH)
    share = np.clip(answer.value, 0.5 / asked.rows, 1 - 0.5 / asked.rows)
    widened = np.hypot(deviation, np.sqrt(share * (1 - share) / asked.rows))
    # a frequency moves in steps of a row
    return bool(abs(answer.value - asked.frequency) <= _WIDTH * widened + 0.5 / asked.rows)


def _ask(
    rng: np.random.Generator, model: BayesianSPN, learned: pd.DataFrame, other: pd.DataFrame
) -> Iterator[Asked]:
    """Random events that the other half can count, about cells of random rows."""
    columns = list(model.schema_)
    found = 0
    for _ in range(_TRIES):
        if found == _EVENTS:
            return
        chosen = rng.permutation(len(columns))[: rng.integers(1, 4)]
        row = learned.iloc[rng.integers(len(learned))]
        named = [_event(rng, columns[d], row[columns[d].name]) for d in chosen]
        parts = [part for part in named if part is not None]
        if len(parts) < len(named):
            continue
        rows = other[[columns[d].name for d in chosen]].dropna()
        for _, matches in parts[1:]:
            rows = rows[matches(rows)]
        if len(rows) < _FEWEST_ROWS:
            continue
        found += 1
        event, matches = parts[0]
        given = " and ".join(text for text, _ in parts[1:]) or None
        yield Asked(columns[chosen[0]].name, event, given, len(rows), float(matches(rows).mean()))


def _event(rng: np.random.Generator, column: Any, value: Any) -> tuple[str, Any] | None:
    """Text of an event about a cell's value, and the rows that match it."""
    name = column.name
    if pd.isna(value):
        return None
    if column.kind in ("category", "binary"):
        written = str(value) if isinstance(value, int | float | np.number) else f"'{value}'"
        return f"`{name}` = {written}", lambda rows: rows[name] == value
    if not isinstance(value, int | float | np.number):
        return None
    number = value.item() if isinstance(value, np.generic) else value
    if rng.random() < 0.5:
        return f"`{name}` <= {number!r}", lambda rows: rows[name] <= number
    return f"`{name}` > {number!r}", lambda rows: rows[name] > number


def _mixed(folder: Path | None) -> Iterator[tuple[str, pd.DataFrame]]:
    for name in MIXED_NAMES:
        problem = load_problem(name, folder)
        yield f"{name} (mixed)", decode(problem.training, problem.schema, "pandas")


def main() -> None:
    """Print a line per table as it comes, and all of them with their means at the end."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder of the mixed data sets")
    parser.add_argument("--tables", nargs="*", help="only these")
    parser.add_argument("--seconds", type=float, default=20.0, help="time limit of a fit")
    options = parser.parse_args()
    studies = []
    for source in (tables(), _mixed(options.data) if options.data else ()):
        for name, table in source:
            if len(table) >= 4 * _FEWEST_ROWS and (not options.tables or name in options.tables):
                studies.append(examine(name, table, options.seconds))
                print(studies[-1], flush=True)
    frame = pd.DataFrame(studies)
    print(frame.to_string(index=False, float_format=lambda x: f"{x:.2f}"))
    weights = frame["events"] / frame["events"].sum()
    print(f"held {weights @ frame['held']:.3f} of {frame['events'].sum()} events")
    print(f"{(frame['unsettled'] > 0).sum()} of {len(frame)} fits warned")


if __name__ == "__main__":
    main()
