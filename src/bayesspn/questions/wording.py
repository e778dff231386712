"""Answers as people write them: numbers with the digits that matter, percentages, agreement."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from bayesspn.estimators.joint import JointEstimator

#: A Monte Carlo error of a log probability that is too large to be passed over: a quarter.
LARGEST_ERROR = 0.25

#: R-hat up to which chains agree, and up to which they agree well enough.
_AGREE, _NEARLY = 1.01, 1.1


def to_json(value: Any) -> Any:
    """A value as JSON knows it: times as ISO 8601 text, None for whatever is not a finite number.

    Examples
    --------
    >>> to_json({"a": float("nan"), "b": (datetime(2020, 1, 2), True)})
    {'a': None, 'b': ['2020-01-02T00:00:00', True]}
    """
    if isinstance(value, Mapping):
        return {str(name): to_json(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(one) for one in value]
    if hasattr(value, "tolist") and not isinstance(value, str):
        return to_json(value.tolist())  # NumPy's and pandas' own
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    return _time_or_missing(value)


def _time_or_missing(value: Any) -> Any:
    import pandas as pd

    if pd.isna(value):
        return None
    if isinstance(value, timedelta):
        return pd.Timedelta(value).isoformat()
    if isinstance(value, date | datetime):
        return value.isoformat()
    return str(value)


def count(number: int, noun: str) -> str:
    """A number of things.

    Examples
    --------
    >>> count(1, "row"), count(2000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def show(value: Any) -> str:
    """A value to be read by people: numbers with the digits that matter.

    Examples
    --------
    >>> show(41234.5678), show(0.00123456), show("clerk"), show(3.0)
    ('41234.6', '0.0012346', 'clerk', '3')
    """
    if not isinstance(value, float):
        return str(value)
    size = abs(value)
    if size == 0 or not math.isfinite(value):
        return f"{value:g}"
    if not 1e-6 < size < 1e15:
        return f"{value:.4e}"
    decimals = max(1, 4 - math.floor(math.log10(size)))
    text = f"{value:.{decimals}f}"
    return text.rstrip("0").rstrip(".")


def percent(probability: float) -> str:
    """A probability to be read by people, with two digits of what is unlikely.

    Examples
    --------
    >>> percent(0.3123), percent(0.00012345), percent(0.99987), percent(1.0), percent(1e-9)
    ('31.2 %', '0.012 %', '99.987 %', '100 %', '1e-07 %')
    """
    value = 100 * probability
    rest = min(value, 100 - value)
    if rest <= 1e-12:
        return f"{value:.0f} %"
    if value < 1e-4:
        return f"{value:.2g} %"
    decimals = min(10, max(1, 1 - math.floor(math.log10(rest))))
    return f"{value:.{decimals}f} %"


def describe_settling(settling: pd.DataFrame) -> str:
    """How well chains agree on typical answers, in words."""
    errors = settling["error"].iloc[1:]
    if errors.empty:
        errors = settling["error"]
    worst = float(errors.max())
    if worst <= LARGEST_ERROR:
        return (
            f"answers have settled: with other chains, typical conditional probabilities would "
            f"change by {math.expm1(worst):.0%} at most"
        )
    unsettled = errors[errors > LARGEST_ERROR]
    return (
        f"answers about {len(unsettled)} of the {len(errors)} columns looked at are not settled "
        f"(most of all about {unsettled.idxmax()!r}: typical conditional probabilities would "
        f"change by {math.expm1(worst):.0%} with other chains); more chains or a larger time limit "
        "help"
    )


def describe_agreement(model: JointEstimator) -> str:
    """Whether the answers of a model have settled, in words."""
    settling = getattr(model, "settling_", None)
    if settling is not None:
        return describe_settling(settling)
    several = len(model.posterior_.draws) > 1
    rhat = model.rhat_
    whole = "the chains" if several else "the halves of the chain"
    if math.isnan(rhat):
        return f"too few draws to tell whether {whole} agree"
    if rhat <= _AGREE:
        return f"{whole} agree (R-hat {rhat:.3f})"
    if rhat <= _NEARLY:
        return f"{whole} agree well enough (R-hat {rhat:.3f}; up to {_AGREE} is very good)"
    return (
        f"{whole} do not agree (R-hat {rhat:.2f}, and {_NEARLY} is the limit): a larger burn-in"
        + (" or more chains may help" if several else " may help")
    )
