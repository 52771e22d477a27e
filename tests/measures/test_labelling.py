"""Labels by vote, and what the question set says of them."""

from random import Random

import pytest

from redqueen.credit.outcomes import rate
from redqueen.measures.labelling import MajorityLabels
from redqueen.play.groups import attempts
from redqueen.questions.asking import SOLVE
from redqueen.questions.small.concepts import Concepts
from redqueen.types import Refusal, Reply

DOMAIN = Concepts()
TASKS = [DOMAIN.task("rest", 7, 5), DOMAIN.task("gcd", 4, 6), DOMAIN.task("sum", 1, 2)]  # 2, 2 and 3
WRITTEN = [TASKS[0], Refusal("malformed"), *TASKS[1:]]


class Says:
    """Answers the questions with these texts, one after the other."""

    name = "says"

    def __init__(self, *texts):
        self.texts = iter(texts)

    def reply(self, asks):
        return [Reply(next(self.texts), self.name) for _ in asks]


def voted(*texts):
    return attempts(SOLVE, WRITTEN, Says(*texts), 3, Random(0))


@pytest.mark.parametrize(("above", "labels"), [(0.5, ["2", "7"]), (0.7, ["2"]), (0.0, ["2", "7", "1"])])
def test_a_label_needs_more_than_a_share_of_the_votes(above, labels):
    votes = voted("2", "2", "2", "7", "7", "2", "1", "3", "")
    assert [task.answer for task in MajorityLabels(DOMAIN, above).elected(votes)] == labels


def test_attempts_are_held_to_the_label_which_may_be_wrong():
    labels = MajorityLabels(DOMAIN)
    labelled = labels.elected(voted("2", "2", "2", "7", "7", "2", "1", "3", ""))
    tries = labels.graded(attempts(SOLVE, labelled, Says("2", "2", "7", "2"), 2, Random(0)))
    assert [rate(group).mean for group in tries] == [1.0, 0.5]
    figures = labels.check(WRITTEN, labelled)
    assert figures["proposals/valid_share"] == 0.75
    assert figures["label_accuracy"] == figures["proposals/label_accuracy"] == 0.5
    assert figures["labels"] == 2.0
