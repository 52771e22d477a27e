"""Labels by majority: the attempts of each task vote, tasks too easy or too hard are left out, the oracle audits."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from redqueen.checks.votes import Vote
from redqueen.credit.outcomes import verdicts, vote
from redqueen.measures.proposals import audited, polls, voted_on
from redqueen.play.groups import attempts
from redqueen.questions.asking import SOLVE
from redqueen.questions.labels import held_to_label, held_to_majority, label_accuracy, labelled, labels_right
from redqueen.questions.small.documents import Documents
from redqueen.questions.small.sums import Sums
from redqueen.questions.synthesis import elected
from redqueen.types import Refusal, Reply, Task

SUMS = Sums()
TASKS = [SUMS.task(1, 1), SUMS.task(2, 2), SUMS.task(3, 3), SUMS.task(4, 4)]


class Answering:
    """Says the next of its lines at every ask."""

    name = "answering"

    def __init__(self, *lines):
        self.lines = list(lines)

    def reply(self, asks):
        return [Reply(self.lines.pop(0), self.name, malformed=False) for _ in asks]


def test_the_attempts_of_each_task_vote_for_themselves():
    answers = Answering("2", "2", "3", "", "4", "", "6", "7", "8")
    votes = [vote(group) for group in attempts(SOLVE, TASKS[:3], answers, 3, Random(0))]
    assert [(found.answer, found.share) for found in votes] == [
        ("2", pytest.approx(2 / 3)),
        ("4", pytest.approx(1 / 3)),
        ("6", pytest.approx(1 / 3)),
    ]


def test_who_gave_no_answer_has_no_vote_where_it_is_said_so():
    (group,) = attempts(SOLVE, TASKS[:1], Answering("", "4", ""), 3, Random(0))
    found = vote(group, count_missing=False)
    assert (found.answer, found.share) == ("4", 1.0)


def test_tasks_within_the_band_keep_what_most_said_both_ends_included():
    said = ["2", "2", "3", "4", "5"], ["5", "5", "5", "5", ""], ["5", "5", "5", "5", "6"], [""] * 5
    groups = attempts(SOLVE, TASKS, Answering(*(line for lines in said for line in lines)), 5, Random(0))
    kept = labelled(groups, (0.4, 0.8))
    assert [(task.id, task.answer, task.facts["share"]) for task in kept] == [("1+1", "2", 0.4), ("3+3", "5", 0.8)]
    assert label_accuracy(SUMS, TASKS, kept) == {"label_accuracy": 0.5, "labels": 2.0}
    assert polls(groups, kept) == {"polls": 4.0, "polls/share": pytest.approx((0.4 + 0.8 + 0.8) / 4), "polls/kept": 0.5}
    assert polls([], []) == {"polls": 0.0}


def test_nothing_labelled_has_no_accuracy():
    assert label_accuracy(SUMS, TASKS, []) == {"labels": 0.0}


class CutOff(Answering):
    """Is cut off whenever it says more than one word."""

    def reply(self, asks):
        return [replace(one, truncated=" " in one.text) for one in super().reply(asks)]


def test_half_an_answer_has_no_vote():
    answers = CutOff("The answer", "The answer", "2", "The answer", "2")
    (group,) = attempts(SOLVE, TASKS[:1], answers, 5, Random(0))
    assert (vote(group).answer, vote(group).share, vote(group).counted) == ("2", 0.4, 2)


def test_half_an_answer_agrees_with_no_label():
    label = replace(TASKS[0], answer="2 2")
    (group,) = held_to_label(attempts(SOLVE, [label], CutOff("2 2", "2"), 2, Random(0)))
    assert verdicts(group).tolist() == [0.0, 0.0]


def test_half_an_answer_counts_as_is_asked_for():
    task = replace(TASKS[0], answer="2 2")
    answers = CutOff("2 2", "2 2", "7", "2 2", "7")
    (group,) = attempts(SOLVE, [task], answers, 5, Random(0))
    found = {each: vote(group, truncated=each) for each in ("wrong", "graded", "unknown")}
    shares = {each: (vote.answer, vote.share) for each, vote in found.items()}
    assert shares == {"wrong": ("7", 0.4), "graded": ("2 2", 0.6), "unknown": ("7", 1.0)}
    assert [task.answer for task in labelled([group], (0.3, 0.8), "graded")] == ["2 2"]
    assert labelled([group], (0.3, 0.8)) == labelled([group], (0.3, 0.8), "unknown") == []
    assert [task.answer for task in elected([group], 0.5, "unknown")] == ["7"]
    assert elected([group], 0.5) == []
    marks = {each: verdicts(held_to_label([group], each)[0]).tolist() for each in found}
    np.testing.assert_equal(marks["wrong"], [0.0] * 5)
    np.testing.assert_equal(marks["graded"], [1.0, 1.0, 0.0, 1.0, 0.0])
    np.testing.assert_equal(marks["unknown"], [np.nan, np.nan, 0.0, np.nan, 0.0])
    majority = {each: verdicts(held_to_majority([group], each)[0]).tolist() for each in found}
    np.testing.assert_equal(majority["wrong"], [0.0, 0.0, 1.0, 0.0, 1.0])
    np.testing.assert_equal(majority["graded"], [1.0, 1.0, 0.0, 1.0, 0.0])
    np.testing.assert_equal(majority["unknown"], [np.nan, np.nan, 1.0, np.nan, 1.0])


def test_a_label_is_all_that_an_attempt_is_held_to():
    """The truth, which nobody knows, earns nothing."""
    wrong = replace(TASKS[0], answer="7")
    (group,) = held_to_label(attempts(SOLVE, [wrong], Answering("2", "7"), 2, Random(0)))
    assert SUMS.right([TASKS[0]] * 2, ["2", "7"]) == [True, False]
    assert verdicts(group).tolist() == [0.0, 1.0]


def test_the_alarms_look_at_the_labels_that_are_kept():
    groups = attempts(SOLVE, TASKS[:2], Answering(*"2" * 10, *"5454545454"), 10, Random(0))
    found = voted_on(SUMS, TASKS[:2], groups, labelled(groups, (0.3, 0.8)))
    assert [(each.solve_rate, each.answer_right) for each in found] == [(1.0, None), (0.5, False)]


def test_an_oracle_says_of_every_label_whether_it_is_right():
    votes = [Vote("2", 0.5, 10, 10), Vote("5", 0.5, 10, 10), Vote("", 0.0, 0, 10)]
    assert labels_right(SUMS, TASKS[:3], votes) == [True, False, None]


def test_labelled_proposals_are_looked_at_with_what_the_oracle_finds_of_their_labels():
    written = [TASKS[0], Refusal("malformed"), TASKS[1], TASKS[2]]
    looked = audited(SUMS, written, [replace(TASKS[0], answer="2"), replace(TASKS[2], answer="7")])
    assert [each.answer_right for each in looked] == [True, None, None, False]
    assert looked[1].refused == "malformed"


def test_a_label_is_right_as_the_question_set_sees_it():
    """Documents takes "seven" for 7."""
    tasks = [Task("a", answer="7"), Task("b", answer="7")]
    kept = [replace(tasks[0], answer="seven"), replace(tasks[1], answer="eight")]
    assert label_accuracy(Documents(), tasks, kept)["label_accuracy"] == 0.5
