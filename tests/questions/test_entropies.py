"""Entropies: what enumeration and sampling give, and the rules that they obey."""

from __future__ import annotations

import numpy as np
import pytest

from bayesspn.prediction.conditionals import ConditionalCircuits
from bayesspn.prediction.entropies import DRAWN_ROWS, entropies
from bayesspn.prediction.value_sets import ValueSet
from bayesspn.questions.events import QuestionError


def test_entropy_of_categories_is_that_of_their_probabilities(model):
    each = ConditionalCircuits(model.posterior_.drawn, {})
    codes = np.arange(3.0)
    masses = each.cell_masses(4, codes, codes)
    expected = -(masses * np.log(masses)).sum(axis=0)
    np.testing.assert_allclose(entropies(each, [4]), expected)
    assert model.entropy("city") == pytest.approx(expected.mean())


def test_what_is_learned_adds_up(model):
    both = model.entropy(["city", "member"])
    assert both == pytest.approx(model.entropy("city") + model.entropy("member", knowing=["city"]))
    shared = model.entropy("member") - model.entropy("member", knowing=["city"])
    assert shared == pytest.approx(model.mutual_information("member", "city"), abs=1e-9)


def test_drawn_rows_agree_with_quadrature(model):
    circuits = model.posterior_.drawn.draw(0)
    each = ConditionalCircuits(circuits, {})
    x = np.linspace(-20, 25, 20_001)
    logs = each.mixtures(0).log_density(x)[0]
    expected = -(np.exp(logs) * logs).sum() * (x[1] - x[0])
    spread = np.sqrt((np.exp(logs) * logs**2).sum() * (x[1] - x[0]) - expected**2)
    # four standard errors
    assert abs(entropies(each, [0])[0] - expected) < 4 * spread / np.sqrt(DRAWN_ROWS)


def test_entropy_given_something(model):
    few = model.entropy("city", given={"city": ["Oslo", "Rome"]}, interval=0.9)
    assert 0 < few.low <= few.value <= few.high <= np.log(2) + 1e-9
    assert model.entropy("city", given={"city": "Oslo"}) == 0.0
    known = model._view().knowing("visits > 2").drawn_conditional
    p = known.probability({5: ValueSet.of([(1.0, 1.0)])})
    expected = -(p * np.log(p) + (1 - p) * np.log1p(-p)).mean()
    assert model.entropy("member", given="visits > 2") == pytest.approx(expected)
    assert model.entropy("member", knowing=["size"]) <= model.entropy("member") + 0.05
    with pytest.raises(QuestionError, match="named twice"):
        model.entropy("city", knowing=["city"])
    with pytest.raises(QuestionError, match="at least one"):
        model.entropy([])
