"""Reasons: what leaving a cell out changes, and which rows are alike."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from bayesspn.questions.events import QuestionError


def log_odds(p):
    return np.log(p) - np.log1p(-p)


def test_a_piece_moves_the_odds_by_what_leaving_it_out_changes(model):
    known = {"size": 3.5, "city": "Rome", "visits": (2, 8)}
    reasons = model.explain("member", given=known)
    whole = model.probability("member", given=known)
    assert set(reasons.index) == set(known)
    assert (reasons["log_odds"].abs().diff().dropna() <= 0).all()
    np.testing.assert_allclose(reasons["probability"], whole)
    for name in known:
        rest = {other: value for other, value in known.items() if other != name}
        without = model.probability("member", given=rest)
        assert reasons.loc[name, "without"] == pytest.approx(without)
        moved = log_odds(whole) - log_odds(without)
        assert reasons.loc[name, "log_odds"] == pytest.approx(moved, abs=1e-6)


def test_text_may_hold_what_is_given(model):
    one = model.explain("visits > 3 | size > 2, member")
    two = model.condition({"member": True}).explain({"visits": "> 3"}, given="size > 2")
    pd.testing.assert_frame_equal(one.sort_index(), two.sort_index())
    assert one.loc["size", "given"].startswith("'size' in [2")


def test_digits_of_a_small_rest_are_kept(model):
    reasons = model.explain("size > -1000 | city = Rome")
    assert np.isfinite(reasons["log_odds"]).all()


def test_reasons_need_something_given(model):
    with pytest.raises(QuestionError, match="nothing is given"):
        model.explain("member")


def test_similarity_is_a_probability_and_symmetric(model):
    rows = model.sample(12, random_state=0)
    alike = model.similarity(rows)
    np.testing.assert_allclose(alike, alike.T)
    assert ((alike >= 0) & (alike <= 1 + 1e-9)).all()
    np.testing.assert_allclose(model.similarity(rows[:3], rows), alike[:3])
    few = model.similarity(rows, columns=["size"])
    assert few.shape == (12, 12)
    assert model.similarity(rows[:0], rows).shape == (0, 12)
    with pytest.raises(QuestionError, match="at least one column"):
        model.similarity(rows, columns=[])


def test_similarity_is_that_of_drawn_trees(model):
    """The share of drawn trees in which two rows visit the same leaf, within its error."""
    circuits = model.posterior_.predictive.draw(0)
    rows = model._view().encode(model.sample(4, random_state=1))
    from bayesspn.prediction.passes import evaluate
    from bayesspn.prediction.similarity import shared_leaves

    found = shared_leaves(circuits, rows, rows, [0])
    visits = evaluate(circuits, rows).visits()[0][circuits.leaf_regions[0, 0]]
    rng = np.random.default_rng(0)
    weights = np.moveaxis(visits, 1, 0).reshape(len(rows), -1)
    np.testing.assert_allclose(weights.sum(axis=1), 1)
    drawn = np.array([rng.choice(weights.shape[1], 20_000, p=row / row.sum()) for row in weights])
    share = (drawn[:, None] == drawn[None]).mean(axis=-1)
    apart = ~np.eye(len(rows), dtype=bool)
    # four standard errors of 20,000 draws
    np.testing.assert_allclose(found[apart], share[apart], atol=4 * 0.5 / np.sqrt(20_000))


def test_nearest_rows_are_the_most_similar(model):
    table = model.sample(30, random_state=2)
    table.index = [f"r{k}" for k in range(30)]
    asked = table[["size", "city"]].iloc[[4, 9]]
    found = model.nearest(asked, table, 3)
    assert found["row"].tolist() == ["r4"] * 3 + ["r9"] * 3
    alike = model.similarity(asked, table)
    best = np.argsort(-alike, axis=1, kind="stable")[:, :3].ravel()
    assert found["match"].tolist() == [f"r{k}" for k in best]
    assert len(model.nearest(asked, table[:2], 5)) == 4
    with pytest.raises(QuestionError, match="number"):
        model.nearest(asked, table, 0)


def test_rows_are_weighted_in_the_score(model):
    rows = model.sample(4, random_state=0)
    scores = model.score_samples(rows)
    weights = [1, 0, 2, 0.5]
    assert model.score(rows, sample_weight=weights) == pytest.approx(
        np.average(scores, weights=weights)
    )
    assert model.score(rows, sample_weight=[1] * 4) == pytest.approx(model.score(rows))
    for wrong in ([1, 2], [1, -1, 1, 1], [0] * 4, [1, np.nan, 1, 1]):
        with pytest.raises(ValueError, match="sample_weight"):
            model.score(rows, sample_weight=wrong)
