"""Of a judgement that was cut off no recipe hears more than what it had concluded."""

from random import Random

import pytest

from redqueen.play.groups import attempts
from redqueen.questions.asking import JUDGE, SOLVE, graded, opinions
from redqueen.questions.small.sums import Sums
from redqueen.recipes.adversaries.spc import recipe as spc
from redqueen.recipes.labels.comas import recipe as comas
from redqueen.recipes.labels.knowrl import recipe as knowrl
from redqueen.recipes.preferences.spar import recipe as spar
from redqueen.recipes.self_training.rise import recipe as rise
from redqueen.recipes.self_training.self_evolution import recipe as self_evolution
from redqueen.types import Reply, Task

SUMS = Sums(digits=1)
TASK = SUMS.task(3, 4)


class Judge:
    """Solves as 7, and judges in these words, which were cut off or not."""

    name = "judge"

    def __init__(self, text, cut_off):
        self.text, self.cut_off = text, cut_off

    def reply(self, asks):
        return [
            Reply("7", self.name)
            if ask.seat.role == SOLVE.role
            else Reply(self.text, self.name, truncated=self.cut_off)
            for ask in asks
        ]


def judgements(judge):
    return attempts(JUDGE, [Task("t", "judgement", "Judge it.")], judge, 1, Random(0))


def criticised(judge):
    """What is known of the one criticism of a step."""
    return [None if spc.figures([], [], judgements(judge))["critic/unread"] == 1.0 else "read"]


def assess(groups):
    return knowrl.Assessments(SUMS, {}, "words", 0.75, "consensus")(groups)


def of_verdicts(groups):
    return [each.outcome.facts["verdict"] for group in groups for each in group.attempts]


def searched(judge):
    groups = attempts(SOLVE, [TASK], judge, 1, Random(0))
    return spar.Search(SUMS, {"": [TASK]}, "own", 1, (1, 1, 1), "wrong")(groups, judge, Random(0)).judged[0].votes


def refined(judge):
    groups = graded(SUMS, attempts(SOLVE, [TASK], judge, 1, Random(0)))
    return [
        each.accepted
        for each in self_evolution.Refinement(SUMS, {"": [TASK]}, "own", "wrong")(groups, judge, Random(0))
    ]


def discussed(judge):
    discussion = comas.Discussion(SUMS, [judge], 0, False, "wrong")
    discussion.begin([TASK])
    solutions = [each for group in attempts(SOLVE, [TASK], judge, 1, Random(0)) for each in group.attempts]
    scores = [each for group in judgements(judge) for each in group.attempts]
    discussion.hear(solutions, [], scores)
    return discussion.groups()[0].attempts[0].outcome.facts["score"]


READ = {
    "opinions": ("I give it a score of 8.", lambda judge: opinions(judgements(judge)).tolist(), [7 / 9]),
    "spc": ("The verdict is Correct.", criticised, ["read"]),
    "knowrl": (
        "The answer is feasible.",
        lambda judge: of_verdicts(assess(judgements(judge))),
        ["feasible"],
    ),
    "rise": (
        "The answer is right.",
        lambda judge: of_verdicts(rise.judged(judgements(judge))),
        ["right"],
    ),
    "spar": ("The answer is right.", searched, [True]),
    "self_evolution": ("The answer is right.", refined, [True]),
    "comas": ("Score: 3.", discussed, 3),
}


def unread(heard):
    return heard is None or heard == [] or all(each is None or each != each for each in heard)


@pytest.mark.parametrize("name", READ)
def test_half_a_sentence_is_no_verdict(name):
    """It may go on: "The answer is right. But the question was another.\\nwrong"."""
    text, heard, verdict = READ[name]
    assert heard(Judge(text, cut_off=False)) == verdict
    assert unread(heard(Judge(text, cut_off=True)))


@pytest.mark.parametrize("name", READ)
def test_a_word_alone_on_the_last_line_is_one(name):
    text, heard, verdict = READ[name]
    word = text.rstrip(".").split()[-1]
    assert heard(Judge(f"I looked.\n{word}", cut_off=True)) == verdict


def test_so_is_a_tag_that_was_closed():
    for text in ("Fine. <score>8</score>", "Fine.\n<score>8</score>\n"):
        assert opinions(judgements(Judge(text, cut_off=True))).tolist() == [7 / 9]
