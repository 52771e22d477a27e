"""What no reward sees: the figures by hand, what is unknown, and alarms that ring and that are silent."""

from random import Random

import numpy as np
import pytest

from redqueen.credit.group_rewards import Stated
from redqueen.credit.rewards import score
from redqueen.measures.accuracy import HeldOut
from redqueen.measures.unseen import OF_REWARDS, OF_VOTES, Unseen
from redqueen.play.groups import attempts, with_facts
from redqueen.questions.asking import SOLVE
from redqueen.questions.small.sums import Sums
from redqueen.types import Reply


class Unknowing(Sums):
    """Does not know what is right."""

    def right(self, tasks, answers):
        return [None] * len(tasks)


class Says:
    """A player that says these replies in turn."""

    name = "learner"

    def __init__(self, *texts):
        self.texts = texts

    def reply(self, asks):
        return [
            Reply(self.texts[n % len(self.texts)], self.name, tokens=np.arange(1), logprobs=np.zeros(1))
            for n, _ in enumerate(asks)
        ]


SUMS = Sums(digits=1)
TASK = SUMS.task(2, 3)


def seen(texts, paid=None, questions=SUMS, alarms=OF_VOTES, steps=1):
    """The figures of the last of several steps, in each of which a sum is answered in these ways."""
    unseen, found = Unseen(questions, "wrong", alarms), {}
    for _ in range(steps):
        groups = attempts(SOLVE, [TASK], Says(*texts), len(texts), Random(0))
        told = with_facts(groups, [{"paid": each} for each in paid or [0.0] * len(texts)])
        unseen.observe(told, score(told, Stated("paid")) if paid else ())
        found = unseen.metrics()
    return found


def rings(*args, **settings):
    found = seen(*args, steps=12, **settings)
    return {name.removeprefix("alarm/") for name, value in found.items() if name.startswith("alarm/") and value}


def test_a_reply_of_signs_alone_is_no_answer_as_in_the_vote():
    found = seen(["5", "...", "?!", "5"])
    assert (found["answered"], found["distinct"], found["majority_share"]) == (0.5, 0.5, 0.5)
    assert "no_vote" in rings(["5", "...", "?!", "**"])


def test_the_figures_of_a_vote_by_hand():
    found = seen(("5", "5", "6", ""))
    assert found["label_accuracy"] == 1.0 and found["majority_share"] == 0.5 and found["agreed"] == 1.0
    assert found["answered"] == 0.75 and found["distinct"] == pytest.approx(2 / 3)


def test_answers_that_are_equal_as_numbers_are_one():
    assert seen(("1/2", "0.5", "2"))["distinct"] == pytest.approx(2 / 3)
    assert seen(("1/2", "0.5", "2"))["majority_share"] == pytest.approx(2 / 3)


def test_the_chance_that_a_right_attempt_is_paid_more():
    assert seen(("5", "6", "5", "7"), [0.9, 0.1, 0.4, 0.4])["reward_auc"] == pytest.approx(3.5 / 4)
    assert "reward_auc" not in seen(("5", "5"), [0.1, 0.9])  # nothing is wrong


def test_what_nobody_knows_is_said_to_be_unknown_and_no_alarm_rests_on_it():
    found = seen(("5", "5", "6"), [0.0, 0.0, 1.0], Unknowing(), (*OF_VOTES, *OF_REWARDS[:1]), steps=12)
    assert found["label_accuracy_unknown"] == 1.0 and not {"label_accuracy", "reward_auc"} & set(found)
    assert not any(name.startswith("alarm/") for name in found)


@pytest.mark.parametrize(
    ("texts", "paid", "alarms", "expected"),
    [
        (("5", "5", "6", "7"), None, OF_VOTES, set()),  # healthy
        (("6", "6", "5", "7"), None, OF_VOTES, {"wrong_labels"}),
        (("5", "5", "5", "5"), None, OF_VOTES, {"all_agree"}),
        (("5", "6", "5", "7"), [0.9, 0.1, 0.8, 0.2], OF_REWARDS, set()),  # healthy
        (("5", "6", "5", "7"), [0.1, 0.9, 0.2, 0.8], OF_REWARDS, {"parted"}),
        (("", "", "", "5"), [0.1, 0.1, 0.1, 0.9], OF_REWARDS, {"unread_answers"}),
        (("5",) * 8, [0.1] * 8, OF_REWARDS, {"alike"}),
    ],
)
def test_an_alarm_rings_on_its_failure_and_a_healthy_run_is_silent(texts, paid, alarms, expected):
    assert rings(texts, paid, alarms=alarms) == expected


def test_alarms_are_kept_over_an_interruption():
    unseen = Unseen(SUMS, "wrong", OF_VOTES)
    groups = attempts(SOLVE, [TASK], Says("6", "6", "5"), 3, Random(0))
    for _ in range(10):
        unseen.observe(groups)
        unseen.metrics()
    again = Unseen(SUMS, "wrong", OF_VOTES)
    again.restore(unseen.state())
    assert again.alarms() == unseen.alarms() != []


def test_the_room_is_what_the_vote_is_above_the_accuracy():
    measure = HeldOut(SUMS, Says("5", "5", "6", "7"), {"": [TASK]}, attempts=4, votes=True)
    found = measure()
    assert found["majority"] == 1.0 and found["accuracy"] == 0.5 and found["room"] == 0.5
    assert "room" in measure.basis()
    assert "room" not in HeldOut(SUMS, Says("5"), {"": [TASK]}, attempts=4)()
