"""A judge against an oracle, by hand."""

from __future__ import annotations

import json
from random import Random

import numpy as np
import pytest

from redqueen.measures.judges import Agreement, auc
from redqueen.types import RedQueenError


def test_auc_by_hand_and_by_all_pairs():
    assert auc([0.1, 0.4, 0.35, 0.8], [False, False, True, True]) == 0.75
    assert auc([0.5, 0.5], [True, False]) == 0.5
    assert auc([0.5, 0.7], [True, True]) is None
    rng = Random(3)
    scores = [rng.randrange(5) / 4 for _ in range(60)]
    truths = [rng.random() < 0.4 for _ in scores]
    pairs = [(r > w) + 0.5 * (r == w) for r, t in zip(scores, truths) if t for w, u in zip(scores, truths) if not u]  # noqa: B905
    assert auc(scores, truths) == pytest.approx(sum(pairs) / len(pairs))


def test_agreement_holds_the_judge_against_the_oracle():
    seen = Agreement(window=4, threshold=0.7)
    assert seen.metrics() == {"judge_seen": 0.0, "judge_unparsed": 0.0}
    seen.observe([1.0, 0.5, None, 0.75], [True, False, True, False])
    assert seen.metrics() == {
        "judge_seen": 4.0,
        "judge_unparsed": 0.25,
        "judge_accuracy": pytest.approx(2 / 3),
        "judge_mean_score": 0.75,
        "judge_right": pytest.approx(1 / 3),
        "judge_auc": 1.0,
    }


def test_what_is_not_a_number_is_not_parsed():
    seen = Agreement()
    seen.observe(np.array([np.nan, 1.0]), [True, True])
    assert seen.metrics()["judge_unparsed"] == 0.5
    assert seen.metrics()["judge_mean_score"] == 1.0


def test_without_an_oracle_a_judge_that_is_unread_or_drifts_is_seen():
    seen = Agreement(window=8)
    for score in (0.2, 0.8):
        seen.observe([score] * 8, [None] * 4 + [np.nan] * 4)
    assert seen.metrics() == {
        "judge_seen": 8.0, "judge_unparsed": 0.0, "judge_mean_score": pytest.approx(0.8),
        "judge_drift": pytest.approx(0.6),
    }  # fmt: skip
    assert seen.alarms() == []
    again = Agreement(window=8)
    again.restore(seen.state())
    again.observe([None] * 8, [None] * 8)
    assert again.metrics()["judge_unparsed"] == 1.0 and "unread" in again.alarms()[0]


def test_a_judge_that_likes_everything_has_an_auc_of_one_half():
    seen = Agreement()
    seen.observe([1.0] * 10, [True, False] * 5)
    assert seen.metrics()["judge_auc"] == 0.5


def test_drift_is_the_rise_since_the_first_window():
    seen = Agreement(window=4)
    seen.observe([0.25, 0.25, 0.5, 0.5], [True] * 4)
    seen.observe([0.5] * 3, [True] * 3)
    assert "judge_drift" not in seen.metrics()
    seen.observe([1.0] * 4, [False] * 4)
    assert seen.metrics()["judge_drift"] == 0.625


def test_a_judge_surely_most_of_whose_judgements_are_no_score_is_told():
    seen = Agreement(window=8)
    assert seen.alarms() == []
    seen.observe([None] * 4, [True] * 4)
    assert seen.alarms() == [] and "alarm/unread" not in seen.metrics()  # 4 of 4 may be chance
    seen.observe([None, None, float("nan"), 1.0], [True, False, True, True])
    assert seen.alarms() == []  # and 7 of 8
    seen.observe([None] * 4, [True] * 4)
    assert seen.alarms() == []
    seen.observe([None] * 4, [True] * 4)
    assert seen.alarms() == ["unread: 8 of the last 8 judgements hold no score that can be read"]
    assert seen.metrics()["alarm/unread"] == 1.0
    seen.observe([1.0] * 8, [True] * 8)
    assert seen.alarms() == [] and seen.metrics()["alarm/unread"] == 0.0


def test_agreement_goes_on_where_it_was():
    rng = Random(1)
    scores = [None if rng.random() < 0.2 else rng.random() for _ in range(50)]
    truths = [rng.random() < 0.5 for _ in scores]
    whole, half, later = Agreement(window=8), Agreement(window=8), Agreement(window=8)
    whole.observe(scores, truths)
    half.observe(scores[:23], truths[:23])
    later.restore(json.loads(json.dumps(half.state())))
    later.observe(scores[23:], truths[23:])
    assert later.metrics() == whole.metrics() and later.state() == whole.state()


def test_scores_that_are_no_shares_are_refused():
    with pytest.raises(RedQueenError, match="from 0 to 1"):
        Agreement().observe([7.0], [True])
