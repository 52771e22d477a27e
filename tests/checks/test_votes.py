"""Majorities by hand: denominators, ties, weights, groups; labels against an oracle; ADPO's scales."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest

from redqueen.checks.numeric import Number, number
from redqueen.checks.votes import LabelTrust, Majority, Vote, audit, confidence, label
from redqueen.types import RedQueenError, Reply, Task


def test_the_vote_counts_answers_not_spellings():
    assert label([" Paris.", "paris", "Rome"], count_missing=True) == Vote("Paris.", 2 / 3, 3, 3)


def test_the_denominator_is_declared():
    attempts = ["7", "7", "7", "8", "", "", "", " ", ".", ""]  # R-Zero: training counts all ten, the filter four
    assert label(attempts, count_missing=True) == Vote("7", 0.3, 4, 10)
    assert label(attempts, count_missing=False) == Vote("7", 0.75, 4, 10)


def test_missing_answers_never_win():
    assert label(["", "", "3"], count_missing=True) == Vote("3", 1 / 3, 1, 3)
    for count_missing in (True, False):
        assert label(["", ""], count_missing) == Vote("", 0.0, 0, 2)
        assert label([], count_missing) == Vote("", 0.0, 0, 0)


def test_a_tie_goes_to_the_answer_given_first():
    assert label(["b", "a", "a", "b"], count_missing=True).answer == "b"
    assert label(["", "a", "b", "b", "a"], count_missing=True).answer == "a"


def test_a_tie_that_nothing_decides_is_no_vote():
    tied = Majority(count_missing=False, undecided=True)
    assert tied.label(["a", "b", "a", "b"]) == Vote("", 0.0, 4, 4)
    assert tied.label(["a", "b", "a"]).answer == "a"


def test_weights_are_votes_of_unequal_size():
    assert label(["a", "a", "b"], True, weights=[0.1, 0.2, 0.7]) == Vote("b", pytest.approx(0.7), 3, 3)
    assert label(["a", "", "b"], False, weights=[3.0, 4.0, 1.0]).share == 0.75
    assert label(["a", "", "b"], True, weights=[3.0, 4.0, 1.0]).share == 0.375
    assert label(["a"], True, weights=[0.0]) == Vote("", 0.0, 1, 1)


def test_equal_weights_tie_however_they_are_summed():
    """0.1 + 0.2 + 0.3 and 0.3 + 0.2 + 0.1 differ in floating point, but are the same votes."""
    for order in permutations([0.1, 0.2, 0.3]):
        weights = [0.3, 0.2, 0.1, *order]
        assert label(["a"] * 3 + ["b"] * 3, True, weights).answer == "a"


@pytest.mark.parametrize("weights", [[1.0], [1.0, -1.0], [1.0, math.nan], [1.0, math.inf]])
def test_wrong_weights_are_refused(weights):
    with pytest.raises(RedQueenError, match="2 answers"):
        label(["a", "b"], True, weights)


def test_groups_join_equal_answers_in_the_order_given():
    same_number = lambda one, other: number(one) is not None and number(one) == number(other)  # noqa: E731
    vote = Majority(True, same=same_number).label(["3", "0.5", "1/2", "50%", "3"])
    assert vote == Vote("0.5", 0.6, 5, 5)
    near = lambda one, other: abs(int(one) - int(other)) <= 1  # noqa: E731, not transitive
    assert Majority(True, same=near).label(["1", "2", "3"]) == Vote(
        "1", 2 / 3, 3, 3
    )  # 3 is compared with 1, not with 2
    assert Majority(True, same=near).label(["2", "1", "3"]) == Vote("2", 1.0, 3, 3)


def test_confidence_is_the_exp_of_the_mean_logprob():
    assert confidence(Reply("x", logprobs=np.log([0.5, 0.125]))) == pytest.approx(0.25)
    with pytest.raises(RedQueenError, match="no log-probabilities"):
        confidence(Reply("x", player="bot"))


def test_the_audit_counts_right_labels_and_their_overconfidence():
    votes = [Vote("4", 0.9, 10, 10), Vote("5", 0.7, 10, 10), Vote("", 0.0, 0, 10), Vote("9", 0.8, 10, 10)]
    tasks = [Task("a", answer="4"), Task("b", answer="6"), Task("c", answer="1"), Task("d", answer="9")]
    found = audit(votes, tasks, Number())
    assert found == {
        "labels": 3.0,
        "labelled": 0.75,
        "label_accuracy": pytest.approx(2 / 3),
        "label_overconfidence": pytest.approx(0.8 - 2 / 3),
    }
    assert audit([votes[2]], [tasks[2]], Number()) == {"labels": 0.0, "labelled": 0.0}


def test_adpo_scales_are_those_of_the_card():
    """Annex, vector 8."""
    trust = LabelTrust(least=0.6, epsilon=0.2)
    shares = (0.2, 0.3, 0.4, 0.55, 0.7, 0.8, 0.95)
    assert [trust.scale(share) for share in shares] == pytest.approx([0.6, 0.6, 0.68, 0.8, 0.92, 1.0, 1.0])
    assert [trust.upper_clip(share) for share in shares] == pytest.approx([0.3, 0.3, 0.28, 0.25, 0.22, 0.2, 0.2])
    with pytest.raises(RedQueenError, match="low < high"):
        LabelTrust(low=0.8, high=0.8)


def test_the_label_is_written_as_most_wrote_it():
    assert label(["19.", "19", "19", "20"], count_missing=True).answer == "19"
    assert label(["x", " 19. ", "19", "19.", "19"], count_missing=True).answer == "19."  # of equals the first
    assert label(["19", "19.", "19."], True, weights=[3.0, 1.0, 1.0]).answer == "19"
