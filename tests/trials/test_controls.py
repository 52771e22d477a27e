"""The controls of label-free methods pay what they say, and leave everything else as it was."""

from random import Random
from types import ModuleType

import numpy as np
import pytest

from redqueen.credit.group_rewards import Stated
from redqueen.play.groups import attempts, with_facts
from redqueen.questions.asking import PROPOSE, SOLVE
from redqueen.questions.small.listed import Listed
from redqueen.trials.controls import paid_by, swapped
from redqueen.types import Reply

LISTED = Listed(count=9)


class Config:
    """What a control reads of a config."""

    def __init__(self):
        self.questions = "redqueen.questions.small.listed:Listed"
        self.truncated_score = "graded"


class Says:
    """A player that says these replies in turn."""

    name = "learner"

    def __init__(self, *texts):
        self.texts = texts

    def reply(self, asks):
        return [
            Reply(self.texts[place % len(self.texts)], self.name, tokens=np.arange(1), logprobs=np.zeros(1))
            for place, _ in enumerate(asks)
        ]


def groups_of(*texts, game=SOLVE):
    tried = attempts(game, LISTED.tasks()[:2], Says(*texts), 4, Random(0))
    return with_facts(tried, [{"own": place / 10} for place in range(8)])


def paid(how, groups):
    return [float(each.rewards[0]) for each in paid_by(how, Config())(groups, Stated("own"))]


def test_without_a_control_a_method_is_paid_its_own():
    assert paid("its own", groups_of("A", "A", "B", "C")) == pytest.approx([n / 10 for n in range(8)])


def test_the_majority_and_the_known_answers_pay_what_they_say():
    groups = groups_of("A", "A", "B", "C")
    assert paid("the majority", groups) == [1, 1, 0, 0] * 2
    answers = [task.answer for task in LISTED.tasks()[:2] for _ in range(4)]
    assert paid("known answers", groups) == [float(a == s) for a, s in zip(answers, "AABC" * 2, strict=True)]


def test_dealt_anew_are_the_same_rewards_on_other_attempts_and_the_same_each_time():
    groups = groups_of("A", "A", "B", "C")
    dealt = paid("dealt anew", groups)
    assert sorted(dealt) == pytest.approx([n / 10 for n in range(8)]) and dealt != sorted(dealt)
    assert dealt == paid("dealt anew", groups)


def test_what_does_not_solve_keeps_its_own_reward():
    groups = groups_of("A", "B", game=PROPOSE)
    assert paid("the majority", groups) == pytest.approx([n / 10 for n in range(8)])


def test_names_are_swapped_for_a_while_and_a_name_that_is_not_there_is_an_error():
    module = ModuleType("own")
    module.score = 1
    with swapped(module, {"score": 2}):
        assert module.score == 2
    assert module.score == 1
    with pytest.raises(KeyError), swapped(module, {"other": 2}):
        pass
