"""Mutants of ``make mutants`` are still of the code that there is."""

from __future__ import annotations

from pathlib import Path

import pytest
from mutants import MUTANTS, ROOT


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.mistake)
def test_pieces_occur_once_and_tests_are_there(mutant):
    text = Path(ROOT, "src", "bayesspn", mutant.file).read_text()
    assert text.count(mutant.right) == 1
    assert mutant.wrong != mutant.right
    assert all(Path(ROOT, "tests", name).exists() for name in mutant.tests.split())
