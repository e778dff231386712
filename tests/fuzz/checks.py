"""What must hold for any table: a clear error or a correct answer."""

from __future__ import annotations

import re
import traceback
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from fuzz.generator import make_parameters, make_table
from fuzz.shrinker import Case, failure_of, shrink, write_code
from sklearn.exceptions import ConvergenceWarning

import bayesspn
from bayesspn import BayesianSPN, SPNClassifier, SPNImputer, SPNRegressor
from bayesspn.questions.views import decode_value
from bayesspn.tables import encode
from bayesspn.tables.frames import open_table

#: Leaves with few pseudo-observations leave that much beyond the largest float.
TINY = 1e-5

#: Log densities of many rows are in single precision, with an error up to this.
TOLD = 1e-5

#: Seconds: times have microseconds where a float cannot hold finer ones.
ROUNDING = 1e-6

#: Errors that questions to any fitted model may end with.
NO_ORDER = "has no order, so it has no quantiles"
NO_MEAN = "have no mean"
NO_EXACT = "several exact values|has probability zero; ask for a range"
IMPOSSIBLE = "has probability zero under the model|contradict"

_SOURCE = str(Path(bayesspn.__file__).parent)

#: scikit-learn's own words on mixed names and on classes that are measurements.
_FROM_SKLEARN = "Feature names are only supported if|Unknown label type"


class Refused(Exception):
    """The package refused, in words that are clear."""


class Trial:
    """One table, what is learned from it, and what is asked.

    Parameters
    ----------
    seed : int
    folder : path
        For model files.
    refusals : Counter, default=None
        Counts messages of clear errors.
    case : Case, default=None
        Table and parameters to take instead of those of the seed; the questions stay the same.
    """

    def __init__(
        self,
        seed: int,
        folder: Path,
        refusals: Counter[str] | None = None,
        case: Case | None = None,
    ) -> None:
        self.rng = np.random.default_rng(seed)
        self.folder = folder
        self.refusals: Counter[str] = Counter() if refusals is None else refusals
        drawn = Case(make_table(self.rng), make_parameters(self.rng))
        self.table, self.parameters = drawn if case is None else case

    def run(self) -> None:
        """Fit, ask, save and load."""
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", ConvergenceWarning)
            for words in ("the table has a single row", "column .* looks like row numbers"):
                warnings.filterwarnings("ignore", words, UserWarning)
            try:
                self.model = self.ask(BayesianSPN(**self.parameters).fit, self.table, allow="")
            except Refused:
                return
            self.schema = self.model.schema_
            self.values = encode(self.table, self.schema)
            self.given = self.make_given()
            self.check_scores()
            for given in (None, self.given):
                self.check_samples(given)
                self.check_modes(given)
                for column in self.schema:
                    self.check_probabilities(column, given)
                    self.check_quantiles(column, given)
                    self.check_expectation(column, given)
                    self.check_distribution(column, given)
            self.check_pairs()
            self.check_chains_of_views()
            self.check_unusual()
            self.check_file(self.model, "score_samples")
            self.check_imputer()
            self.check_supervised()

    def ask(self, question: Any, *args: Any, allow: str | None = None, **kwargs: Any) -> Any:
        """Ask; `Refused` if the answer is an error that is clear and allowed."""
        try:
            return question(*args, **kwargs)
        except (ValueError, TypeError) as error:
            if allow is None or not re.search(allow, str(error)):
                raise
            _check_clear(error)
            self.refusals[re.sub(r"(?s)'.*'|\d+", "…", str(error))[:90]] += 1
            raise Refused from error

    def tell(self, question: Any, *args: Any, allow: str, **kwargs: Any) -> Any:
        """Ask; None if the answer is an allowed error."""
        try:
            return self.ask(question, *args, allow=allow, **kwargs)
        except Refused:
            return None

    # --- what is asked -------------------------------------------------------------------------

    def a_value(self, position: int) -> Any:
        """A value of a column as users write it."""
        cells = self.values[:, position]
        code = self.rng.choice(cells[~np.isnan(cells)])
        return decode_value(float(code), self.schema.columns[position])

    def make_given(self) -> Any:
        """Evidence on one or two columns, as a mapping or as text."""
        places = self.rng.permutation(len(self.schema))[: self.rng.integers(1, 3)]
        clauses, mapping = [], {}
        for place in places:
            column, value = self.schema.columns[place], self.a_value(int(place))
            ordered = column.kind not in ("category", "binary")
            test = self.rng.choice(["==", "<=", ">="]) if ordered else "=="
            clauses.append(f"{_name(column.name)} {test} {_literal(value)}")
            mapping[column.name] = {"==": value, "<=": (None, value), ">=": (value, None)}[test]
        return mapping if self.rng.random() < 0.5 else " and ".join(clauses)

    def check_scores(self) -> None:
        scores = self.model.score_samples(self.table)
        assert np.isfinite(scores).all(), f"scores of the training rows: {scores}"
        np.testing.assert_allclose(self.model.log_prob(self.table), scores)
        answer = self.model.log_prob(self.table, interval=0.8)
        _check_interval(answer)
        given = self.tell(self.model.log_prob, self.table, self.given, allow=IMPOSSIBLE)
        assert given is None or not np.isnan(given).any()
        answer = self.tell(
            self.model.log_prob, self.table, self.given, interval=0.8, allow=IMPOSSIBLE
        )
        if answer is not None:
            _check_interval(answer)
        self.model.summary()

    def check_samples(self, given: Any) -> None:
        rows = self.tell(self.model.sample, 7, given, random_state=1, allow=IMPOSSIBLE)
        if rows is None:
            return
        self.check_types(rows)
        values = encode(rows, self.schema)
        assert not np.isnan(values).any(), f"missing cells in a sample: {rows}"
        if given is not None:
            for place, known in self.model._view().knowing(given).given.items():
                drawn = values[:, place]
                if not self.rounds(place):
                    inside = drawn == known if isinstance(known, float) else known.contains(drawn)
                    assert inside.all(), f"column {place}: {drawn} is not in {known}"

    def rounds(self, place: int) -> bool:
        """Whether values change on the way back to their type."""
        column = self.schema.columns[place]
        recorded = column.kind in ("datetime", "duration", "real") and column.resolution
        return bool(recorded) or column.dtype in ("float32", "Float32")

    def coarse(self, place: int) -> bool:
        """Whether a column varies so little that single floats have a probability."""
        low, high = self.model.posterior_.model.leaves.columns[place].plausible
        return high - low < max(1e-8 * max(abs(low), abs(high)), 1e-300)

    def check_types(self, rows: Any) -> None:
        assert type(rows) is type(self.table)
        if isinstance(rows, np.ndarray):
            return
        dtypes, expected = list(rows.dtypes), list(self.table.dtypes)
        assert dtypes == expected, f"types {dtypes}, learned from {expected}"
        assert list(rows.columns) == list(self.table.columns)

    def check_modes(self, given: Any) -> None:
        row = self.tell(self.model.mode, None, given, allow=IMPOSSIBLE)
        if row is None:
            return
        self.check_types(row)
        values = encode(row, self.schema)
        assert not np.isnan(values).any(), f"missing cells in a mode: {row}"
        assert not np.isnan(self.model.score_samples(row)).any()
        for column in self.schema:
            value, answer = self.model.mode(column.name, given, interval=0.5)
            assert not pd.isna(value)
            assert not np.isnan(answer).any(), f"mode of {column.name!r}: {answer}"
            assert answer.low <= answer.high

    def probability(self, event: Any, given: Any = None) -> Any:
        p = self.tell(self.model.probability, event, given, allow=f"{NO_EXACT}|{IMPOSSIBLE}")
        if p is not None:
            assert 0 <= p <= 1 + TINY, f"probability {p} of {event} given {given}"
        return p

    def check_probabilities(self, column: Any, given: Any) -> None:
        place = self.schema.position(column.name)
        name = _name(column.name)
        if column.kind in ("category", "binary"):
            values = column.categories or (False, True)
            parts = [self.probability({column.name: [value]}, given) for value in values]
            if None not in parts:
                assert abs(sum(parts) - 1) < TINY, f"categories of {name} add up to {sum(parts)}"
            some = values[0]
            p = self.probability(f"{name} == {_literal(some)}", given)
            assert p is None or p == parts[0]
            q = self.probability(f"{name} != {_literal(some)}", given)
            assert p is None or abs(p + q - 1) < TINY, f"{name}: {p} + {q}"
            return
        low, high = sorted(self.a_value(place) for _ in range(2))
        below = self.probability(f"{name} <= {_literal(low)}", given)
        if below is None:
            return
        above = self.probability({column.name: f"> {low}"}, given)
        assert self.coarse(place) or abs(below + above - 1) < TINY, (
            f"{name} {low}: {below} + {above} given {given}"
        )
        wider = self.probability({column.name: (None, high)}, given)
        assert below <= wider + TINY, f"{name} up to {low}: {below}, up to {high}: {wider}"
        inside = self.probability(f"{name} between {_literal(low)} and {_literal(high)}", given)
        assert inside <= wider + TINY
        self.probability({column.name: low}, given)
        answer = self.model.probability({column.name: (low, None)}, given, interval=0.9)
        assert 0 <= answer.low <= answer.high <= 1 + TINY

    def check_quantiles(self, column: Any, given: Any) -> None:
        levels = [0.001, 0.5, 0.9]
        allow = f"{NO_ORDER}|{IMPOSSIBLE}"
        found = self.tell(self.model.quantile, column.name, levels, given, allow=allow)
        if found is None:
            return
        order = list(column.categories).index if column.kind == "category" else lambda value: value
        places = [order(value) for value in found]
        assert places == sorted(places), f"quantiles of {column.name!r}: {found}"
        answer = self.model.quantile(column.name, 0.5, given, interval=0.8)
        assert order(answer.low) <= order(answer.high)
        if column.kind not in ("count", "integer", "real") or "32" in str(column.dtype):
            return
        narrow = re.search(r"int(8|16|32)", str(column.dtype), re.IGNORECASE)
        narrow = narrow or self.coarse(self.schema.position(column.name))
        for level, value in zip(levels, found, strict=True):
            largest = 1e307 if column.kind == "real" else 2**53
            # beyond these, values are cut off
            least = 1 if "uint" in str(column.dtype).lower() else -largest
            if not narrow and least <= value and abs(value) < largest:
                self.check_level(column, given, level, value)

    def check_level(self, column: Any, given: Any, level: float, value: Any) -> None:
        """Check a quantile by the probability up to it and just before it."""
        described = self.model.posterior_.model.leaves.columns[self.schema.position(column.name)]
        slack = 1.0
        if column.kind == "real":
            low, high = described.plausible
            slack = 1e-9 * max(high - low, abs(value))
        elif column.kind == "count":
            slack = 0.0
        up_to, before = _finite(value + slack), _finite(value - slack)
        least = self.probability({column.name: (None, up_to)}, given)
        most = self.probability({column.name: f"< {before!r}"}, given)
        assert least >= level - 1e-4, f"{column.name!r} {level}: {value}, {least} up to it"
        assert most <= level + 1e-4, f"{column.name!r} {level}: {value}, {most} before it"

    def check_expectation(self, column: Any, given: Any) -> None:
        allow = f"{NO_MEAN}|{IMPOSSIBLE}"
        answer = self.tell(self.model.expectation, column.name, given, interval=0.9, allow=allow)
        if answer is None:
            return
        assert not any(pd.isna(part) for part in answer), f"mean of {column.name!r}: {answer}"
        assert answer.low <= answer.high
        alone = self.model.expectation(column.name, given)
        assert alone == answer.value
        if column.kind in ("real", "integer", "count", "binary"):
            place = self.schema.position(column.name)
            low, high = self.model.posterior_.model.leaves.columns[place].plausible
            room = _room(low, high)
            known = given is not None and place in self.model._view().knowing(given).given
            inside = low - room <= answer.value <= high + room
            assert known or inside, f"mean of {column.name!r}: {answer.value}, {low} to {high}"

    def check_distribution(self, column: Any, given: Any) -> None:
        table = self.tell(
            self.model.distribution, column.name, given, interval=0.9, allow=IMPOSSIBLE
        )
        if table is None:
            return
        numbers = table[["probability", "low", "high"]].to_numpy()
        assert not np.isnan(numbers).any(), f"distribution of {column.name!r}: {table}"
        total = table["probability"].sum()
        exact = given is not None and self._is_exact(column, given)
        assert exact or abs(total - 1) < TINY, f"distribution of {column.name!r} adds to {total}"
        assert (table["low"] <= table["high"]).all()

    def _is_exact(self, column: Any, given: Any) -> bool:
        evidence = self.model._view().knowing(given).given
        return isinstance(evidence.get(self.schema.position(column.name)), float)

    def check_pairs(self) -> None:
        names = self.schema.names
        if len(names) > 1:
            answer = self.model.mutual_information(names[0], names[1], interval=0.9)
            assert 0 <= answer.low <= answer.high
            assert np.isfinite(answer).all()
            self.tell(self.model.mutual_information, *names[:2], given=self.given, allow=IMPOSSIBLE)
        share = self.model.dependence()
        assert share.shape == (len(names), len(names))
        assert not share.isna().any(axis=None)

    def check_chains_of_views(self) -> None:
        names = list(self.schema.names)
        part = self.model.marginal(names[: max(1, len(names) - 1)])
        part.sample(2, random_state=0)
        repr(part)
        known = self.tell(self.model.condition, self.given, allow=IMPOSSIBLE)
        if known is None:
            return
        repr(known)
        again = known.marginal(names[-1:])
        rows = again.sample(3, random_state=0)
        assert not np.isnan(again.log_prob(rows)).any()
        twice = self.tell(known.condition, self.given, allow=IMPOSSIBLE)
        if twice is not None:
            np.testing.assert_array_equal(
                encode(twice.sample(3, random_state=0), self.schema),
                encode(known.sample(3, random_state=0), self.schema),
            )

    def check_unusual(self) -> None:
        observed = ~np.isnan(self.values)
        surprise = np.asarray(self.model.surprise(self.table), dtype=float)
        assert (np.isnan(surprise) == ~observed).all(), f"surprise is NaN: {surprise}"
        assert (surprise[observed] >= 0).all()
        scores = self.model.anomaly_score(self.table)
        assert not np.isnan(scores).any(), f"anomaly scores: {scores}"
        nothing = self.without_cells()
        if nothing is not None:
            np.testing.assert_allclose(self.model.score_samples(nothing), 0.0, atol=TOLD)
            assert np.isfinite(self.model.anomaly_score(nothing)).all()

    def without_cells(self) -> Any:
        """A pandas table of one row without any observed cell."""
        if not isinstance(self.table, pd.DataFrame):
            return None
        return pd.DataFrame([[None] * len(self.schema)], columns=self.table.columns)

    def check_file(self, model: Any, *methods: str) -> Any:
        path = self.folder / "model.bspn"
        model.save(path)
        again = bayesspn.load(path)
        assert again.schema_ == model.schema_
        features = self.table if not hasattr(self, "features") else self.features
        for method in methods:
            before, after = getattr(model, method)(features), getattr(again, method)(features)
            np.testing.assert_array_equal(_cells(after), _cells(before))
        before, after = (m.joint_.sample(4, random_state=3) for m in (model, again))
        np.testing.assert_array_equal(_cells(after), _cells(before))
        for column in model.schema_:
            before, after = (m.joint_.distribution(column.name) for m in (model, again))
            pd.testing.assert_frame_equal(after, before, check_exact=True)
        return again

    def check_imputer(self) -> None:
        strategy = str(self.rng.choice(["best", "draw"]))
        imputer = SPNImputer(strategy=strategy, **self.parameters).fit(self.table)
        filled = imputer.transform(self.table)
        values = encode(filled, imputer.schema_)
        assert not np.isnan(values).any(), f"missing cells after {strategy}: {filled}"
        observed = ~np.isnan(self.values)
        rounding = [ROUNDING if c.kind in ("datetime", "duration") else 0.0 for c in self.schema]
        moved = np.abs(values - self.values) > rounding
        assert not moved[observed].any(), f"observed cells changed: {values[moved & observed]}"
        self.check_file(imputer, "transform")
        nothing = self.without_cells()
        if nothing is not None:
            assert not np.isnan(encode(imputer.transform(nothing), imputer.schema_)).any()

    def check_supervised(self) -> None:
        if not isinstance(self.table, pd.DataFrame) or self.table.shape[1] < 2:
            return
        target, self.features = self.table.iloc[:, -1], self.table.iloc[:, :-1]
        kind = self.schema.columns[-1].kind
        if target.isna().any():
            return
        if kind in ("category", "binary"):
            allow = "Unknown label type|mix|Mix|continuous"
            model = self.tell(
                SPNClassifier(**self.parameters).fit, self.features, target, allow=allow
            )
            if model is not None:
                p = model.predict_proba(self.features)
                np.testing.assert_allclose(p.sum(axis=1), 1.0)
                assert set(model.predict(self.features)) <= set(target)
                self.check_file(model, "predict_proba", "predict")
        elif kind in ("real", "count", "integer"):
            model = self.tell(SPNRegressor(**self.parameters).fit, self.features, target, allow="")
            if model is not None:
                mean, deviation = model.predict(self.features, return_std=True)
                low, high = model.posterior_.model.leaves.columns[-1].plausible
                room = _room(low, high)
                assert ((mean >= low - room) & (mean <= high + room)).all(), f"means {mean}"
                assert (deviation >= 0).all()
                assert np.isfinite(deviation).all()
                self.check_file(model, "predict")


def report_smallest(seed: int, folder: Path, seconds: float) -> str:
    """Code of the smallest table that fails as that of a seed does."""

    def check(case: Case) -> None:
        Trial(seed, folder, case=case).run()

    trial = Trial(seed, folder)
    case = Case(trial.table, trial.parameters)
    failure = failure_of(check)
    if failure(case) is None:
        return f"FUZZ_SEED={seed} did not fail again"
    case = shrink(case, failure, seconds)
    rows, columns = case.shape
    return (
        f"FUZZ_SEED={seed} fails with {rows} rows and {columns} columns, too:\n\n"
        f"{write_code(case)}Trial({seed}, folder, case=Case(table, parameters)).run()\n"
    )


def _check_clear(error: Exception) -> None:
    """Check that an error is our own and short."""
    message = str(error)
    frames = traceback.extract_tb(error.__traceback__)
    ours = frames[-1].filename.startswith(_SOURCE) or re.search(_FROM_SKLEARN, message)
    assert ours, f"raised by {frames[-1].filename}: {message}"
    assert 10 < len(message) < 700, f"message: {message}"


def _check_interval(answer: Any) -> None:
    value, low, high = map(np.asarray, answer)
    assert not np.isnan(value).any()
    assert not np.isnan(low).any()
    assert (low <= high).all()


def _room(low: float, high: float) -> float:
    """How far a mean may lie beyond its range: by rounding, also around huge offsets."""
    return float(1e-6 * (high - low) + 4 * np.spacing(max(abs(low), abs(high))))


def _finite(value: float) -> float:
    return float(np.clip(value, -1.79e308, 1.79e308))


def _cells(table: Any) -> Any:
    """Cells of a table of any library, to compare them."""
    if isinstance(table, np.ndarray) and table.dtype.kind != "O":
        return table
    if isinstance(table, np.ndarray):
        return table.astype(str)
    return np.array([cells.as_objects().astype(str) for cells in open_table(table).columns()])


def _name(name: Any) -> str:
    """A column's name in text."""
    text = str(name)
    if "`" not in text:
        return f"`{text}`"
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _literal(value: Any) -> str:
    """A value in text."""
    if isinstance(value, bool | int | float):
        return str(value)
    text = str(value)
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
