"""The examples in the experiments' docstrings."""

import doctest
from importlib import import_module

import pytest


@pytest.mark.parametrize("name", ["anchors", "library_fits", "problems", "running", "significance"])
def test_examples(name):
    failed, tried = doctest.testmod(import_module(name))
    assert tried
    assert not failed
