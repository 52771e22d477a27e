"""Multi-Agent Evolve: what the judge says reaches the rewards, and what it cannot say reaches nothing."""

from random import Random

import numpy as np
import pytest

from experiments.multi_agent_evolve import UNLABELLED
from redqueen.checks.judge import Score
from redqueen.credit.group_rewards import WithForm
from redqueen.credit.rewards import score
from redqueen.play.groups import attempts, with_facts
from redqueen.players.scripted import Constant
from redqueen.questions.asking import JUDGE, PROPOSE, SOLVE, judged_answers, opinions, readable
from redqueen.questions.catalogue import find_questions
from redqueen.questions.fenced import texts_in
from redqueen.questions.judging import about_answer, about_question
from redqueen.questions.small.sums import Sums
from redqueen.recipes.proposers.multi_agent_evolve import recipe as multi_agent_evolve
from redqueen.recipes.proposers.multi_agent_evolve.questions import Judging
from redqueen.recipes.proposers.multi_agent_evolve.steps import Rewards
from redqueen.runs.run import Run, Schedule, read_metrics
from redqueen.settings.learner import Learner
from redqueen.settings.roles import Role
from redqueen.types import Reply, Task

SUMS = Sums()


class Speaking:
    """Says the next of its lines at every ask."""

    name = "speaking"

    def __init__(self, *lines):
        self.lines = list(lines)

    def reply(self, asks):
        return [Constant(self.lines.pop(0), self.name).reply([ask])[0] for ask in asks]


def judgements(*lines):
    """Two of each question."""
    asked = [about_question(SUMS.task(1, 1))] * (len(lines) // 2)
    return attempts(JUDGE, asked, Speaking(*lines), 2, Random(0))


def test_repeated_scores_are_one_opinion_and_unreadable_ones_are_none():
    said = judgements("<score>10</score>", "<score>1</score>", "ten", "<score>10</score>", "good", "8/100")
    assert opinions(said).tolist()[:2] == [0.5, 1.0]
    assert np.isnan(opinions(said)[2])
    assert [float(each.rewards[0]) for each in score(said, readable)] == [1, 1, 0, 1, 0, 0]


def test_the_judge_is_shown_the_question_and_the_answer_and_not_the_truth():
    (shown,) = judged_answers(attempts(JUDGE, [SUMS.task(57, 68)], Constant("999"), 1, Random(0)))
    assert shown == about_answer(SUMS.task(57, 68), "999")
    assert "What is 57+68?" in shown.prompt and "999" in shown.prompt and "521" not in shown.prompt


def test_a_judge_is_shown_to_be_right_as_often_as_meant():
    domain = find_questions("judged:sums,skill=0.8")
    shown = [one for one in domain.demonstrations(3000, Random(0)) if one.role == "judge"]
    assert len(shown) == 1000
    on_answers = [one for one in shown if one.task.kind == "answer"]
    right = sum(
        (Score().read(one.text) >= 8) == (texts_in(one.task.prompt)[1].strip() == SUMS.task(*numbers(one)).answer)
        for one in on_answers
    )
    assert right / len(on_answers) == pytest.approx(0.8, abs=0.05)


def numbers(one):
    question = one.task.prompt.split("What is ")[1].split("?")[0]
    return map(int, question.split("+"))


def test_form_is_lost_where_no_answer_is_found_or_the_reply_was_cut_off():
    replies = [Reply("7"), Reply("", malformed=True), Reply("7", truncated=True)]
    tries = attempts(JUDGE, [SUMS.task(1, 1)], Replying(*replies), 3, Random(0))
    told = with_facts(tries, [{"opinion": each} for each in (0.5, 0.5, None)])
    earned = [float(each.rewards[0]) for each in score(told, WithForm(0.5, "opinion"))]
    np.testing.assert_equal(earned, [0.75, 0.25, np.nan])


class Replying:
    """Gives the next of its replies at every ask."""

    name = "replying"

    def __init__(self, *replies):
        self.replies = list(replies)

    def reply(self, asks):
        return [self.replies.pop(0) for _ in asks]


def test_what_the_judge_says_of_questions_and_answers_is_what_a_proposer_earns():
    """By hand: a question judged 1 with answers judged 1 and 0 earns (1 + 1/2 + 1) / 3 and is kept; one judged 0 earns
    (0 + 0 + 1) / 3 and is not."""
    proposals = attempts(PROPOSE, [Task("invitation")], Constant("x"), 2, Random(0))
    tries = attempts(SOLVE, [SUMS.task(1, 1), SUMS.task(2, 1)], Constant("2"), 2, Random(0), proposals)
    tries = with_facts(tries, [{"right": each} for each in (True, False, True, False)])
    judging, rewards = Judging(find_questions("judged:sums")), Rewards(0.7)
    asked = judging.asked(tries, [])
    assert [task.kind for task in asked] == ["question"] * 2 + ["answer"] * 4
    scores = [10, 1, 10, 1, 10, 10]
    said = attempts(judging.game, asked, Speaking(*(f"<score>{each}</score>" for each in scores)), 1, Random(0))
    tries, answers = judging.heard(tries, [], said)
    assert answers == []
    earned = [float(each.rewards.sum()) for each in score(proposals, rewards.proposer(tries))]
    assert earned == pytest.approx([2.5 / 3, 1 / 3])
    assert [task.id for task in rewards.kept(tries)] == [SUMS.task(1, 1).id]
    assert len(judging.drawn(3, Random(0))) == 3
    assert len(judging.drawn(9, Random(0))) == 4


@pytest.mark.parametrize(("truncated", "told"), [("wrong", 0.0), ("unknown", None), ("graded", 1.0)])
def test_half_an_answer_is_worth_what_is_asked_for_whatever_the_judge_says(truncated, told):
    tries = attempts(SOLVE, [SUMS.task(1, 1)], Replying(Reply("2"), Reply("2", truncated=True)), 2, Random(0))
    judging = Judging(SUMS, truncated)
    said = attempts(judging.game, judging.asked([], tries), Constant("<score>10</score>"), 1, Random(0))
    _, (group,) = judging.heard([], tries, said)
    assert [each.outcome.facts["opinion"] for each in group.attempts] == [1.0, told]


def test_an_answer_that_says_nothing_is_worth_nothing_whatever_the_judge_says():
    replies = Reply("2"), Reply("", malformed=True, thought="on and on")
    tries = attempts(SOLVE, [SUMS.task(1, 1)], Replying(*replies), 2, Random(0))
    judging = Judging(SUMS, "graded")
    said = attempts(judging.game, judging.asked([], tries), Constant("<score>10</score>"), 1, Random(0))
    _, (group,) = judging.heard([], tries, said)
    assert [each.outcome.facts["opinion"] for each in group.attempts] == [1.0, 0.0]


@pytest.mark.parametrize("judge", ["shared", "frozen", "separate"])
def test_it_goes_on_where_nothing_is_proposed_and_nothing_can_be_judged(tmp_path, judge):
    learner = Learner(model="tiny:hidden=16,heads=2", max_completion_length=4)
    config = multi_agent_evolve.Config(
        learner=learner, judge=Role(judge), steps=2, proposals=2, attempts=2, tasks=2, problems=2
    )
    multi_agent_evolve.train(config, Run(tmp_path, 0, Schedule(100, 100, record_episodes=2)))
    for line in read_metrics(tmp_path):
        assert line["judge_unparsed"] == 1.0
        assert line["proposals/refused/malformed"] == 1.0


def test_a_run_is_no_longer_by_default_than_the_judge_was_seen_to_hold():
    """In longer ones the solver learns what the judge lets pass."""
    assert multi_agent_evolve.Config().steps == UNLABELLED.config.steps < 250
