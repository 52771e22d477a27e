"""Votes weighted by verdicts, worked by hand with players that follow a rule."""

from dataclasses import dataclass

import pytest

from redqueen.questions.small.sums import Sums
from redqueen.recipes.self_training.rise.measures import SelfVerification
from redqueen.types import Reply

DOMAIN = Sums(digits=1)
TASKS = {"1_digits": [DOMAIN.task(7, 8), DOMAIN.task(1, 2)]}  # answers 51 and 3


@dataclass
class Solver:
    """Answers 7+8 with 5, which is wrong, two times in three and 1+2 always rightly; its verdicts follow a table."""

    verdicts: dict
    name: str = "solver"
    count: int = 0

    def reply(self, asks):
        return [Reply(self.said(ask.messages[-1].text), self.name) for ask in asks]

    def said(self, text):
        if "\n" in text:
            return self.verdicts[text.split("\n")[0].split()[-1]]
        if "1+2" in text:
            return "3"
        self.count += 1
        return "51" if self.count % 3 == 0 else "5"


def measured(**verdicts):
    table = {"51": verdicts["right"], "5": verdicts["wrong"], "3": verdicts["easy"]}
    return SelfVerification(DOMAIN, Solver(table), TASKS, attempts=3, times=2)()


def test_a_verifier_turns_a_vote_that_the_majority_loses():
    found = measured(right="right", wrong="wrong", easy="right")
    assert found["accuracy"] == pytest.approx(4 / 6)
    assert (found["majority"], found["weighted_vote"]) == (0.5, 1.0)
    assert found["verification/balanced_accuracy"] == 1.0


def test_a_verifier_that_trusts_nothing_leaves_the_plain_vote():
    found = measured(right="wrong", wrong="wrong", easy="wrong")
    assert (found["majority"], found["weighted_vote"]) == (0.5, 0.5)
    assert found["verification/balanced_accuracy"] == 0.5


def test_a_bad_verifier_can_lose_what_the_majority_wins():
    found = measured(right="wrong", wrong="right", easy="right")
    assert found["verification/accepted_right"] == pytest.approx(3 / 4)
    assert found["verification/refused_wrong"] == 0.0
    assert found["weighted_vote"] == 0.5


def test_a_limit_leaves_fewer_solutions_each_with_its_verdicts():
    measure = SelfVerification(DOMAIN, solver := Solver(dict.fromkeys(("51", "5", "3"), "right")), TASKS, 3, times=2)
    measure.limit(6)
    assert measure()["accuracy"].count == 2 and solver.count == 1, "one solution to each task, two verdicts on each"
