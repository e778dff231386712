"""``bayesspn ask``: probabilities, expectations, quantiles, modes and distributions."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from bayesspn.cli.errors import CommandError
from bayesspn.cli.options import (
    ANSWERS,
    AtOption,
    GivenOption,
    JsonOption,
    ModelArgument,
    find_column,
    find_columns,
    load_model,
)
from bayesspn.cli.output import align, frame_rows, print_json
from bayesspn.questions.wording import percent, show

if TYPE_CHECKING:
    from bayesspn import Answer, Conditional
    from bayesspn.tables import Schema

_EVERYTHING = "*"
_BAR_LENGTH = 40


class AskCommand(TyperCommand):
    """A command whose option ``--mode`` need not have a value."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        args = list(args)
        for place in reversed(range(len(args))):
            following = args[place + 1 : place + 2]
            if args[place] == "--mode" and (
                not following or following[0].lstrip()[:1] in ("-", "|")
            ):
                args.insert(place + 1, _EVERYTHING)
        return super().parse_args(ctx, args)


def _column_option(name: str, text: str) -> Any:
    return typer.Option(
        name, metavar="COLUMN", help=text, rich_help_panel=ANSWERS, show_default=False
    )


def ask(
    model: ModelArgument,
    question: Annotated[
        str | None,
        typer.Argument(
            metavar="[QUESTION]",
            help="An event and, after a bar, what is given: `income > 50 | age = 40, sex = F`. "
            "With the options below only what is given: `| age = 40`.",
            show_default=False,
        ),
    ] = None,
    given: GivenOption = None,
    interval: Annotated[
        float, typer.Option(metavar="P", help="Probability of the credible interval.")
    ] = 0.9,
    expectation: Annotated[
        str | None, _column_option("--expectation", "Expected value of a column.")
    ] = None,
    quantile: Annotated[
        str | None, _column_option("--quantile", "Quantiles of a column, see --at.")
    ] = None,
    at: AtOption = None,
    mode: Annotated[
        str | None,
        typer.Option(
            "--mode",
            metavar="[COLUMN]",
            help="Most probable value of a column, of several together (`a,b`), or the most "
            "probable row if no column is named.",
            rich_help_panel=ANSWERS,
            show_default=False,
        ),
    ] = None,
    distribution: Annotated[
        str | None, _column_option("--distribution", "Distribution of a column.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Ask a model: the probability of an event, or what a column is like.

    For example:

    `bayesspn ask patients.bspn "ill | age > 60, smoker"`

    `bayesspn ask patients.bspn "30 <= age < 40 and job in [clerk, nurse]" --interval 0.99`

    `bayesspn ask patients.bspn --quantile income --at 0.1 --at 0.9 --given "age = 40"`

    `bayesspn ask patients.bspn "| sex = F" --mode`
    """
    chosen = [expectation, quantile, mode, distribution]
    if sum(one is not None for one in chosen) > 1:
        raise typer.BadParameter("ask for one thing at a time")
    if at and quantile is None:
        raise typer.BadParameter("--at belongs to --quantile")
    fitted = load_model(model)
    joint, schema = fitted.joint_, fitted.schema_
    if not any(one is not None for one in chosen):
        _print(_ask_probability(joint, schema, question, given, interval), as_json)
        return
    known = _Known.read(question, given)
    if known.texts:
        joint = known.condition(joint)
    asked = _Asked(joint, schema, known.words(schema), interval)
    if expectation is not None:
        reply = asked.expectation(find_column(expectation, schema))
    elif quantile is not None:
        reply = asked.quantile(find_column(quantile, schema), at or [0.5])
    elif distribution is not None:
        reply = asked.distribution(find_column(distribution, schema))
    else:
        assert mode is not None
        reply = asked.mode(mode)
    _print(reply, as_json)


@dataclass(frozen=True)
class _Reply:
    """An answer as JSON and in words."""

    document: dict[str, Any]
    words: str


def _print(reply: _Reply, as_json: bool) -> None:
    if as_json:
        print_json(reply.document)
    else:
        print(reply.words)


@dataclass(frozen=True)
class _Known:
    """What is given, as it was written."""

    texts: list[str]

    @classmethod
    def read(cls, question: str | None, given: str | None) -> _Known:
        texts = [] if given is None else [given]
        if question is not None:
            if not question.lstrip().startswith("|"):
                raise CommandError(
                    f"{question!r} is an event, but a column was asked for; write what is given "
                    "after a bar, as in '| age = 40', or with --given"
                )
            texts.insert(0, question.lstrip()[1:])
        return cls([text for text in texts if text.strip()])

    def condition(self, joint: Conditional) -> Conditional:
        for text in self.texts:
            joint = joint.condition(text)
        return joint

    def words(self, schema: Schema) -> str:
        from bayesspn.questions.event_text import parse_text

        clauses = [clause.text for text in self.texts for clause in parse_text(text, schema)[0]]
        return " and ".join(dict.fromkeys(clauses))


def _ask_probability(
    joint: Conditional, schema: Schema, question: str | None, given: str | None, interval: float
) -> _Reply:
    from bayesspn.questions.event_text import parse_alternatives, parse_text

    if question is None:
        raise typer.BadParameter(
            "write a question, such as 'age > 30', or one of --expectation, --quantile, --mode "
            "and --distribution"
        )
    answer = joint.probability(question, given, interval=interval)
    events, after_bar = parse_alternatives(question, schema)
    more = parse_text(given, schema)[0] if given is not None else []
    wanted = " or ".join(
        " and ".join(dict.fromkeys(clause.text for clause in event)) for event in events
    )
    known = " and ".join(dict.fromkeys(clause.text for clause in [*(after_bar or []), *more]))
    words = (
        f"The probability of {wanted}{_given(known)} is {percent(answer.value)}; "
        f"{_certainty(interval)} it lies between {percent(answer.low)} and {percent(answer.high)}."
    )
    document = {"kind": "probability", "event": wanted, "given": known or None}
    return _Reply(document | _numbers(answer, interval), words)


@dataclass(frozen=True)
class _Asked:
    """Questions about columns of a model that may know something."""

    joint: Conditional
    schema: Schema
    known: str
    interval: float

    def expectation(self, column: Hashable) -> _Reply:
        answer = self.joint.expectation(column, interval=self.interval)
        words = f"The expected value of {column}{_given(self.known)} is {self._words(answer)}."
        return self._reply("expectation", column, _numbers(answer, self.interval), words)

    def quantile(self, column: Hashable, levels: list[float]) -> _Reply:
        answers = [self.joint.quantile(column, level, interval=self.interval) for level in levels]
        lines = [
            f"The {percent(level).replace('.0 ', ' ')} quantile of {column}{_given(self.known)} is "
            f"{self._words(answer)}."
            for level, answer in zip(levels, answers, strict=True)
        ]
        found = [
            {"at": level, **answer._asdict()} for level, answer in zip(levels, answers, strict=True)
        ]
        more = {"quantiles": found, "interval": self.interval}
        return self._reply("quantile", column, more, "\n".join(lines))

    def mode(self, text: str) -> _Reply:
        names = None
        if text != _EVERYTHING:
            names = find_columns([text], self.schema.names, "the model")
            if len(names) == 1:
                return self._mode_of_column(names[0])
        from bayesspn.tables.files import as_pandas

        table = self.joint.mode(names)
        if not hasattr(table, "columns"):  # an array
            import pandas as pd

            table = pd.DataFrame(table, columns=list(self.schema.recorded))
        row = next(frame_rows(as_pandas(table)))
        wanted = row if names is None else {str(name): row[str(name)] for name in names}
        lines = align((f"  {name}", show(value)) for name, value in wanted.items())
        words = f"The most probable values{_given(self.known)}:\n{lines}"
        return _Reply({"kind": "mode", "given": self.known or None, "value": wanted}, words)

    def _mode_of_column(self, column: Hashable) -> _Reply:
        value, answer = self.joint.mode(column, interval=self.interval)
        discrete = self.schema[column].kind in ("binary", "category", "count")
        what, write = ("probability", percent) if discrete else ("density", show)
        words = (
            f"The most probable value of {column}{_given(self.known)} is {show(value)}; its {what} "
            f"is {write(answer.value)}, {_certainty(self.interval)} between {write(answer.low)} "
            f"and {write(answer.high)}."
        )
        more = {"value": value, what: _numbers(answer, self.interval)}
        return self._reply("mode", column, more, words)

    def distribution(self, column: Hashable) -> _Reply:
        table = self.joint.distribution(column, interval=self.interval)
        cells = list(frame_rows(table))
        largest = max(cell["probability"] for cell in cells)
        named = "value" in table.columns
        header = ["value"] if named else ["from", "to"]
        lines = [[*header, "probability", f"{_share(self.interval)} interval", ""]]
        for cell in cells:
            ends = [show(cell[name]) if cell[name] is not None else "" for name in header]
            bar = "█" * round(_BAR_LENGTH * cell["probability"] / largest)
            spread = f"{percent(cell['low'])} to {percent(cell['high'])}"
            lines.append([*ends, percent(cell["probability"]), spread, bar])
        words = f"Distribution of {column}{_given(self.known)}:\n{align(lines)}"
        more = {"cells": cells, "interval": self.interval}
        return self._reply("distribution", column, more, words)

    def _words(self, answer: Answer) -> str:
        return (
            f"{show(answer.value)}; {_certainty(self.interval)} it lies between "
            f"{show(answer.low)} and {show(answer.high)}"
        )

    def _reply(self, kind: str, column: Hashable, more: dict[str, Any], words: str) -> _Reply:
        document = {"kind": kind, "column": column, "given": self.known or None}
        return _Reply(document | more, words)


def _numbers(answer: Answer, interval: float) -> dict[str, Any]:
    return {**answer._asdict(), "interval": interval}


def _given(known: str) -> str:
    return f" given {known}" if known else ""


def _share(interval: float) -> str:
    return f"{100 * interval:g} %"


def _certainty(interval: float) -> str:
    return f"with {_share(interval)} certainty"
