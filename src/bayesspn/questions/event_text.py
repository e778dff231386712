"""The language of questions: text such as ``30 <= age < 40 and job in [a, b]`` as clauses.

=========================================================== =======================================
``col = 3``, ``3 < col``; ``= == != < <= > >=``             comparison
``30 <= age < 40``                                          range
``age between 30 and 40``                                   range with both ends
``job in [a, 'b c']``, ``job not in (a, b)``                one of several values, or none of them
``smoker``, ``not smoker``                                  true, false
``age is missing``, ``age is not null``                     whether it is, if that is modelled; else
                                                            nothing is said about the value
=========================================================== =======================================

Clauses are joined by ``and``, ``&`` or a comma and may stand in parentheses; an event may have
alternatives, joined by ``or``, which binds less tightly and stands outside of parentheses. Columns
with unusual names go between backticks, values of several words between quotes. Categories and
names that match as they are written need neither. Nothing is evaluated: text is read from left to
right, once.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from bayesspn.questions.event_values import DURATION, MOMENT, Literal, QuestionError
from bayesspn.tables.cells import shorten, suggest
from bayesspn.tables.schema import ColumnSchema, Schema, list_some

#: Longest question, and most clauses in one.
MOST_CHARACTERS, MOST_CLAUSES = 100_000, 1_000

_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_SPELLED = {"=": "==", "≤": "<=", "≥": ">=", "≠": "!="}

_SPACE = re.compile(r"\s*")
_OPERATOR = re.compile(r"==|!=|<=|>=|[=<>≤≥≠]")
_WORD = re.compile(r"[^\s<>=!≤≥≠,&|()\[\]{}'\"`]+")
_QUOTED = re.compile(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"", re.DOTALL)
_ESCAPED = re.compile(r"\\(['\"\\])")
_BACKTICKS = re.compile(r"`([^`]*)`")
_JOIN = re.compile(r",\s*and(?![\w.-])|and(?![\w.-])|&&?|,", re.IGNORECASE)
_AND, _OR, _NOT, _BETWEEN, _IS = (
    re.compile(rf"{word}(?![\w.-])", re.IGNORECASE)
    for word in ("and", "or", "not", "between", "is")
)
_IN = re.compile(r"(not\s+)?in(?![\w.-])", re.IGNORECASE)
_MISSING = re.compile(r"(not\s+)?(?:missing|null|na|nan|none)(?![\w.-])", re.IGNORECASE)
_BRACKETS = {"[": "]", "(": ")", "{": "}"}


@dataclass(frozen=True, eq=False)
class Clause:
    """What is asked of one column.

    Attributes
    ----------
    position : int
        The column.
    test : str
        One of ``== != < <= > >= in``, ``not in``, ``between``, ``missing``, ``not missing``,
        ``set``.
    values : tuple
        What the test compares with: literals or Python objects.
    text : str
        The clause as messages show it.
    """

    position: int
    test: str
    values: tuple[Any, ...]
    text: str


class _Spellings:
    """Texts, of which the longest at some place is to be found."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.texts = {text for text in texts if text}
        self.lengths = sorted({len(text) for text in self.texts}, reverse=True)

    def find(self, text: str, at: int) -> str | None:
        """The longest of the texts that stands at a place and does not end within a word."""
        word = _WORD.match(text, at)
        shortest = word.end() - at if word else 1
        for length in self.lengths:
            if length < shortest:
                return None
            inside = text[at + length - 1 : at + length + 1]
            if text[at : at + length] in self.texts and not re.fullmatch(r"\w\w", inside):
                return text[at : at + length]
        return None


class ColumnFinder:
    """Finds columns by name, or by how a name looks as text.

    Examples
    --------
    >>> finder = ColumnFinder(Schema((ColumnSchema(7, "real"), ColumnSchema("age", "integer"))))
    >>> finder.position("7"), finder.position("age")
    (0, 1)
    """

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.positions: dict[Hashable, int] = {}
        for position, name in enumerate(schema.names):
            self.positions.setdefault(str(name), position)
        self.positions |= {name: position for position, name in enumerate(schema.names)}
        self.unquoted = _Spellings(name for name in schema.names if isinstance(name, str))

    def position(self, name: Hashable) -> int:
        """Position of a column; a `QuestionError` if there is none."""
        if name not in self.positions:
            raise QuestionError(
                f"there is no column {shorten(name)}; {suggest(name, self.schema.names)}"
                f"{list_some(self.schema.names)}"
            )
        return self.positions[name]


@dataclass
class _Reader:
    """Reads clauses from left to right."""

    text: str
    finder: ColumnFinder
    at: int = 0
    start: int = 0
    depth: int = 0
    categories: dict[int, _Spellings] = field(default_factory=dict)
    #: Whether alternatives are understood, and how many clauses stand before each further one.
    alternatives: bool = True
    splits: list[int] = field(default_factory=list)

    def fail(self, problem: str, at: int | None = None) -> QuestionError:
        """An error at a place of the text, the one that was come to by default."""
        at = self.at if at is None else at
        shown = self.text[max(self.start, at - 60) : at + 40].strip()
        return QuestionError(f"{problem} (in {shown!r}, at character {at + 1})")

    def skip(self) -> None:
        self.at = _SPACE.match(self.text, self.at).end()  # type: ignore[union-attr]

    def take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Go past a pattern if it is next."""
        self.skip()
        found = pattern.match(self.text, self.at)
        if found:
            self.at = found.end()
        return found

    def next_is(self, characters: str) -> bool:
        self.skip()
        return self.at < len(self.text) and self.text[self.at] in characters

    def has_ended(self) -> bool:
        self.skip()
        return self.at >= len(self.text)

    def read_clauses(self) -> list[Clause]:
        """Clauses up to a bar or the end."""
        clauses: list[Clause] = []
        while True:
            self.skip()
            self.start = self.at
            clauses += self.read_clause()
            if len(clauses) > MOST_CLAUSES:
                raise self.fail(f"a question has at most {MOST_CLAUSES:,} clauses; use in [...]")
            while self.depth and self.next_is(")"):
                self.at += 1
                self.depth -= 1
            if self.has_ended() or self.next_is("|"):
                if self.depth:
                    raise self.fail("a parenthesis is not closed; add ')'")
                return clauses
            if self.alternatives and not self.depth and self.take(_OR):
                self.splits.append(len(clauses))
            elif not self.take(_JOIN):
                raise self.fail(self.explain_junk())

    def explain_junk(self) -> str:
        if _OR.match(self.text, self.at):
            if self.alternatives:
                return "'or' is not understood in parentheses; write 'a and c or b and c'"
            return "'or' is not understood here; use in [...] for several values"
        if _OPERATOR.match(self.text, self.at):
            return "only a column may stand in the middle, as in 30 <= age < 40"
        return "expected 'and' or the end here; quote values of several words"

    def read_clause(self) -> list[Clause]:
        name = self.finder.unquoted.find(self.text, self.at)
        while name is None and self.next_is("("):
            self.at += 1
            self.depth += 1
            self.skip()
            name = self.finder.unquoted.find(self.text, self.at)
        negated = name is None and self.take(_NOT) is not None
        first = self.read_operand()
        if negated and not (isinstance(first, int) and self.at_end_of_clause()):
            raise self.fail("'not' goes before a true-or-false column; use != or not in [...]")
        if isinstance(first, Literal):
            return self.read_from_value(first)
        if self.at_end_of_clause():
            return [self.finish(first, "==", [not negated], bare=True)]
        return [self.read_test(first)]

    def at_end_of_clause(self) -> bool:
        if self.has_ended() or self.next_is("|),&"):
            return True
        return any(word.match(self.text, self.at) for word in (_AND, _OR))

    def read_operand(self) -> int | Literal:
        """A column's position if a column is next, else a value."""
        self.skip()
        named = self.take(_BACKTICKS)
        if named:
            return self.locate(named.group(1))
        name = self.finder.unquoted.find(self.text, self.at)
        if name is not None:
            self.at += len(name)
            return self.finder.position(name)
        value = self.read_value(None)
        if value.quoted and value.text in self.finder.positions:
            return self.finder.position(value.text)
        return value

    def locate(self, name: str) -> int:
        try:
            return self.finder.position(name)
        except QuestionError as error:
            # the name has been read, and maybe more
            at = self.text.rfind(name, self.start, self.at)
            raise self.fail(str(error), at if at >= 0 else None) from None

    def read_from_value(self, value: Literal) -> list[Clause]:
        """What follows a value: an operator, a column, and maybe another bound."""
        compared = self.take(_OPERATOR)
        if not compared:
            if not _begins_as_number(value):
                self.locate(value.text)
            raise self.fail(f"{shorten(value)} is no column; write a comparison such as age > 30")
        column = self.read_operand()
        if isinstance(column, Literal):
            words = [v for v in (value, column) if not _begins_as_number(v)]
            column = self.locate((words or [value])[0].text)
        test = _spell(compared.group())
        tests = [(_FLIPPED.get(test, test), value)]
        compared = self.take(_OPERATOR)
        if compared:
            tests.append((_spell(compared.group()), self.read_value(column)))
        return [self.finish(column, test, [value]) for test, value in tests]

    def read_test(self, column: int) -> Clause:
        """What follows a column."""
        compared = self.take(_OPERATOR)
        if compared:
            value = self.read_value(column)
            self.refuse_column(column, value)
            return self.finish(column, _spell(compared.group()), [value])
        within = self.take(_IN)
        if within:
            test = "not in" if within.group(1) else "in"
            return self.finish(column, test, self.read_list(column))
        if self.take(_BETWEEN):
            low = self.read_value(column)
            if not self.take(_AND):
                raise self.fail("a range is written as: between 3 and 5")
            return self.finish(column, "between", [low, self.read_value(column)])
        if self.take(_IS):
            missing = self.take(_MISSING)
            if not missing:
                raise self.fail("write 'is missing' or 'is not missing', and == for values")
            schema = self.finder.schema
            indicator = schema.indicator(schema.names[column])
            if indicator is not None:
                wanted = Literal("no" if missing.group(1) else "yes", False)
                return self.finish(indicator, "==", [wanted])
            return self.finish(column, "not missing" if missing.group(1) else "missing", [])
        name = shorten(self.finder.schema.names[column])
        raise self.fail(
            f"expected a comparison after column {name}: one of = != < <= > >=, in [...], "
            "between ... and ..., is missing"
        )

    def refuse_column(self, column: int, value: Literal) -> None:
        kind = self.finder.schema.columns[column].kind
        if value.quoted or kind in ("binary", "category") or _begins_as_number(value):
            return
        if value.text in self.finder.unquoted.texts:
            raise self.fail(
                f"{shorten(value)} is a column, too; compare columns with values, not with others"
            )

    def read_list(self, column: int) -> list[Literal]:
        if not self.next_is("[({"):
            raise self.fail("write the values in brackets: in [a, b]")
        closing = _BRACKETS[self.text[self.at]]
        self.at += 1
        values: list[Literal] = []
        while not self.next_is(closing):
            values.append(self.read_value(column))
            if self.next_is(","):
                self.at += 1
            elif not self.next_is(closing):
                raise self.fail(f"expected ',' or '{closing}' in the list of values")
        self.at += 1
        return values

    def read_value(self, position: int | None) -> Literal:
        """A value, of a column if it is known already."""
        quoted = self.take(_QUOTED)
        if quoted:
            text = quoted.group(1) if quoted.group(2) is None else quoted.group(2)
            return Literal(_ESCAPED.sub(r"\1", text))
        if self.next_is("'\"`"):
            fix = "close it" if self.text.count(self.text[self.at]) % 2 else "quote the value"
            raise self.fail(f"{self.text[self.at]} has no end or no place here; {fix}")
        column = None if position is None else self.finder.schema.columns[position]
        if column is not None and column.kind == "category":
            category = self.spell_categories(column, position).find(self.text, self.at)
            if category is not None:
                self.at += len(category)
                return Literal(category, quoted=False)
        for pattern, kind in ((MOMENT, "datetime"), (DURATION, "duration")):
            time = self.take(pattern) if column is None or column.kind == kind else None
            if time:
                return Literal(time.group(), quoted=False)
        word = self.take(_WORD)
        if not word:
            what = "a column or a value" if column is None else "a value"
            raise self.fail(f"expected {what} here; values with special characters need quotes")
        return Literal(word.group(), quoted=False)

    def spell_categories(self, column: ColumnSchema, position: int | None) -> _Spellings:
        assert position is not None
        if position not in self.categories:
            self.categories[position] = _Spellings(map(str, column.categories))
        return self.categories[position]

    def finish(self, position: int, test: str, values: list[Any], bare: bool = False) -> Clause:
        column = self.finder.schema.columns[position]
        boolean = column.kind == "binary" or set(column.categories) <= {0, 1}
        if bare and not (boolean and column.coded):
            raise self.fail(
                f"column {shorten(column.name)} is not true or false but of kind {column.kind}; "
                "compare it with a value"
            )
        text = self.text[self.start : self.at].strip()
        return Clause(position, test, tuple(values), text)


def _begins_as_number(value: Literal) -> bool:
    return not value.quoted and value.text.lstrip("+-.")[:1].isdigit()


def _spell(operator: str) -> str:
    return _SPELLED.get(operator, operator)


def parse_text(text: str, schema: Schema) -> tuple[list[Clause], list[Clause] | None]:
    """Parse a question.

    Parameters
    ----------
    text : str
    schema : Schema

    Returns
    -------
    list of Clause, list of Clause or None
        Before and after the bar; None if there is no bar.

    Examples
    --------
    >>> schema = Schema((ColumnSchema("age", "integer"), ColumnSchema("pay", "real")))
    >>> [(c.position, c.test, c.values) for c in parse_text("30 <= age and pay < 5", schema)[0]]
    [(0, '>=', ('30',)), (1, '<', ('5',))]
    """
    [event, *others], given = parse_alternatives(text, schema)
    if others:
        raise QuestionError(
            f"'or' is not understood here (in {shorten(text)}); use in [...] for several values"
        )
    return event, given


def parse_alternatives(text: str, schema: Schema) -> tuple[list[list[Clause]], list[Clause] | None]:
    """Parse a question whose event may have alternatives, joined by ``or``.

    Parameters
    ----------
    text : str
    schema : Schema

    Returns
    -------
    list of list of Clause, list of Clause or None
        The alternatives before the bar, at least one, and the clauses after it, if there is a bar.

    Examples
    --------
    >>> schema = Schema((ColumnSchema("age", "integer"), ColumnSchema("pay", "real")))
    >>> alternatives, _ = parse_alternatives("age > 30 and pay < 5 or pay > 9", schema)
    >>> [[clause.text for clause in clauses] for clauses in alternatives]
    [['age > 30', 'pay < 5'], ['pay > 9']]
    """
    if len(text) > MOST_CHARACTERS:
        raise QuestionError(
            f"the question has {len(text):,} characters; use at most {MOST_CHARACTERS:,}, or a "
            "dictionary"
        )
    reader = _Reader(text, ColumnFinder(schema))
    clauses = [] if reader.has_ended() or reader.next_is("|") else reader.read_clauses()
    ends = [0, *reader.splits, len(clauses)]
    event = [clauses[begin:end] for begin, end in pairwise(ends)]
    if reader.has_ended():
        return event, None
    reader.at += 1
    reader.alternatives = False
    given = [] if reader.has_ended() else reader.read_clauses()
    if not reader.has_ended():
        reader.start = reader.at
        raise reader.fail("a question has one bar; for alternatives write 'or'")
    return event, given


def split_operator(text: str) -> tuple[str, str] | None:
    """The operator with which a text starts, and the value after it.

    Examples
    --------
    >>> split_operator(">= 'a b'"), split_operator("a b")
    (('>=', 'a b'), None)
    """
    found = _OPERATOR.match(text.strip())
    if not found:
        return None
    value = text.strip()[found.end() :].strip()
    quoted = _QUOTED.fullmatch(value)
    if quoted:
        value = _ESCAPED.sub(r"\1", value[1:-1])
    return _spell(found.group()), value
