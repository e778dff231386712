"""Example questions: what one would ask of a table, with answers and the calls that give them."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any

from bayesspn.questions.wording import percent, show
from bayesspn.report.markup import Markup, datum, element, join
from bayesspn.report.subject import Subject
from bayesspn.tables.schema import ColumnSchema

_INTERVAL = 0.9
_PAIRS = 4

#: Longer names make calls that nobody reads.
_LONGEST_NAME = 200


@dataclass(frozen=True)
class _Example:
    """A question in words, its answer, and the call."""

    question: Markup
    answer: Markup
    call: str


def ask_examples(subject: Subject) -> Markup | None:
    """Ask about the columns that depend on each other most."""
    examples = list(_examples(subject))
    if not examples:
        return None
    parts = [
        element(
            "p", "Some questions, as they are asked of ", element("code", "model"), " in Python:"
        )
    ]
    for example in examples:
        parts.append(
            element(
                "div",
                element("p", example.question, element("br"), element("b", example.answer)),
                element("pre", element("code", example.call)),
            )
        )
    return join(parts)


def _examples(subject: Subject) -> Iterator[_Example]:
    schema = subject.model.schema_
    short = [
        pair
        for pair in subject.strongest_pairs
        if all(len(str(name)) <= _LONGEST_NAME for name in pair[:2])
    ]
    for first, second, _ in short[:_PAIRS]:
        for target, known in ((first, second), (second, first)):
            event = _typical(subject, schema[known])
            if event is None:
                continue
            yield _ask(subject, schema[target], known, event)
    for name in list(schema.names)[:1]:
        if len(str(name)) <= _LONGEST_NAME:
            yield _ask(subject, schema[name], None, None)


def _typical(subject: Subject, column: ColumnSchema) -> Any:
    """Something to be given of a column: its most probable category, or its upper quarter."""
    if column.coded:
        value = subject.joint.mode(column.name)
        return value if len(str(value)) <= _LONGEST_NAME else None
    if column.timed:
        return None
    return (_round(subject.upper_quarter(column.name), column), None)


def _ask(subject: Subject, target: ColumnSchema, known: Hashable | None, event: Any) -> _Example:
    given = None if known is None else {known: event}
    words = join([" if ", _condition(known, event)]) if known is not None else ""
    rest = f", given={given!r}" if given else ""
    if target.coded:
        value, answer = subject.joint.mode(target.name, given, interval=_INTERVAL)
        question = join(["What is ", datum(target.name), " most probably", words, "?"])
        told = f", {percent(answer.value)} ({percent(answer.low)} to {percent(answer.high)})"
        call = f"model.joint_.mode({target.name!r}{rest}, interval={_INTERVAL})"
        return _Example(question, join([datum(value, 60), told]), call)
    answer = subject.joint.expectation(target.name, given, interval=_INTERVAL)
    question = join(["What is the mean of ", datum(target.name), words, "?"])
    low, value, high = (_show(part) for part in (answer.low, answer.value, answer.high))
    told = f"{value} (with {100 * _INTERVAL:g} % certainty between {low} and {high})"
    call = f"model.joint_.expectation({target.name!r}{rest}, interval={_INTERVAL})"
    return _Example(question, join([told]), call)


def _condition(name: Hashable, event: Any) -> Markup:
    if isinstance(event, tuple):
        return join([datum(name), f" is at least {_show(event[0])}"])
    return join([datum(name), " is ", datum(event, 60)])


def _show(value: Any) -> str:
    return show(value) if isinstance(value, float) else str(value)


def _round(value: Any, column: ColumnSchema) -> Any:
    """A bound as one would write it."""
    if column.whole:
        return int(value)
    return float(f"{value:.3g}")
