"""Every public method of the public classes shows how it is used."""

from __future__ import annotations

import inspect
from functools import cached_property

import pytest

from bayesspn import (
    BayesianSPN,
    Conditional,
    GraphAverage,
    GraphSelection,
    InfiniteSPN,
    SPNClassifier,
    SPNImputer,
    SPNRegressor,
)

CLASSES = (
    BayesianSPN,
    InfiniteSPN,
    SPNClassifier,
    SPNRegressor,
    SPNImputer,
    Conditional,
    GraphAverage,
    GraphSelection,
)


def find_function(attribute):
    """The function behind a method or property, or None."""
    if isinstance(attribute, property):
        return attribute.fget
    if isinstance(attribute, cached_property):
        return attribute.func
    if isinstance(attribute, classmethod | staticmethod):
        return attribute.__func__
    return attribute if inspect.isfunction(attribute) else None


def list_public(cls):
    """Names of the public methods and properties that are bayesspn's own, not scikit-learn's."""
    found = ((name, find_function(inspect.getattr_static(cls, name))) for name in dir(cls))
    return [
        name
        for name, function in found
        if function is not None
        and not name.startswith("_")
        and function.__module__.startswith("bayesspn.")
    ]


METHODS = [(cls, name) for cls in CLASSES for name in list_public(cls)]


def has_examples(docstring):
    _, heading, section = inspect.cleandoc(docstring or "").partition("\nExamples\n--------\n")
    return bool(heading) and section.startswith(">>> ")


@pytest.mark.parametrize(
    ("cls", "name"), METHODS, ids=[f"{cls.__name__}.{name}" for cls, name in METHODS]
)
def test_every_public_method_has_examples(cls, name):
    function = find_function(inspect.getattr_static(cls, name))
    assert has_examples(function.__doc__), f"{cls.__name__}.{name} has no Examples section"


def test_methods_of_all_kinds_are_looked_at():
    names = {f"{cls.__name__}.{name}" for cls, name in METHODS}
    assert names >= {
        "BayesianSPN.fit",
        "BayesianSPN.probability",  # inherited
        "SPNClassifier.joint_",  # a property
        "SPNImputer.transform",  # wrapped by scikit-learn
        "Conditional.dependence",
        "GraphAverage.sample",
        "GraphSelection.average",
    }
    assert "BayesianSPN.get_params" not in names  # scikit-learn's


def test_what_has_no_examples_is_noticed():
    assert not has_examples(None)
    assert not has_examples("Say something.\n\n    Returns\n    -------\n    int\n    ")
    assert not has_examples("Say something.\n\n    Examples\n    --------\n    See elsewhere.\n")
    assert has_examples("Say something.\n\n    Examples\n    --------\n    >>> 1 + 1\n    2\n")
