"""What two attempts are worth, and what changed between them."""

from dataclasses import replace
from random import Random

import pytest

from redqueen.credit.advantages.statistics import LeaveOneOut, RewardToGo
from redqueen.credit.outcomes import result
from redqueen.credit.rewards import score
from redqueen.games.second_try import SecondTry
from redqueen.play.groups import episodes_of, grouped
from redqueen.play.lockstep import play
from redqueen.players.scripted import Scripted
from redqueen.questions.small.sums import Sums
from redqueen.recipes.self_training.score.steps import Correction, by_first_attempt, changes, twice_graded
from redqueen.types import Match, Reply, Seat

DOMAIN = Sums(backwards=False)
TASK = DOMAIN.task(57, 68)
RIGHT, WRONG = "125", "115"


def tried(*pairs, task=TASK):
    matches = [Match(SecondTry(), task, {"solver": Scripted(pair)}) for pair in pairs]
    return twice_graded(DOMAIN, grouped(play(matches, Random(0)), len(pairs)))


class CutOff:
    name = "cut_off"

    def reply(self, asks):
        return [Reply(RIGHT, self.name, truncated=True) for _ in asks]


def test_an_answer_that_was_cut_off_is_wrong_unless_asked_otherwise():
    episodes = play([Match(SecondTry(), TASK, {"solver": CutOff()})], Random(0))
    for truncated, right in (("wrong", False), ("graded", True), ("unknown", None)):
        (group,) = twice_graded(DOMAIN, grouped(episodes, 1), truncated)
        assert group.attempts[0].outcome.facts["right"] == (right, right)


@pytest.mark.parametrize(
    ("answers", "second"),
    [((WRONG, RIGHT), 11.0), ((RIGHT, RIGHT), 1.0), ((RIGHT, WRONG), -10.0), ((WRONG, WRONG), 0.0)],
)
def test_the_rewards_of_the_cards_with_a_bonus_of_ten(answers, second):
    (trajectory,) = score(tried(answers), Correction(bonus=10.0))
    assert trajectory.rewards.tolist() == [float(answers[0] == RIGHT), second]


def test_in_the_first_stage_the_first_answer_earns_nothing():
    rewards = [each.rewards.tolist() for each in score(tried((RIGHT, WRONG), (WRONG, RIGHT)), Correction(first=0.0))]
    assert rewards == [[0.0, 0.0], [0.0, 1.0]]


def test_both_answers_are_checked_and_the_last_one_is_the_result():
    episode, other = episodes_of(tried((RIGHT, WRONG), ("", RIGHT)))
    assert (episode.outcome.facts["right"], other.outcome.facts["right"]) == ((True, False), (False, True))
    assert [result(each, Seat("solver")) for each in (episode, other)] == [0.0, 1.0]


def test_a_second_answer_is_compared_with_those_that_follow_an_equally_right_first_one():
    """Rewards of second answers 11 and 0 after a wrong one, 1 and -10 after a right one: +-11 each by leave-one-out."""
    pairs = ((WRONG, RIGHT), (WRONG, WRONG), (RIGHT, RIGHT), (RIGHT, WRONG))
    advantages = LeaveOneOut(by_first_attempt, RewardToGo(0.0))(score(tried(*pairs), Correction(bonus=10.0)))
    assert [second for _, second in advantages] == pytest.approx([11.0, -11.0, 11.0, -11.0])
    assert [first for first, _ in advantages] == pytest.approx([-2 / 3, -2 / 3, 2 / 3, 2 / 3])


def test_answers_to_different_tasks_are_not_compared():
    one, other = tried((RIGHT, RIGHT)), tried((WRONG, WRONG), task=DOMAIN.task(1, 1))
    apart = [replace(group, number=number) for number, group in enumerate([*one, *other])]
    assert all(each.tolist() == [0.0, 0.0] for each in LeaveOneOut(by_first_attempt)(score(apart, Correction())))


def test_what_is_counted():
    found = changes(tried((WRONG, RIGHT), (WRONG, WRONG), (RIGHT, WRONG), (RIGHT, RIGHT), (WRONG, RIGHT)))
    assert found == pytest.approx(
        {
            "accuracy_1": 0.4,
            "accuracy_2": 0.6,
            "gain": 0.2,
            "wrong_to_right": 0.4,
            "right_to_wrong": 0.2,
            "repeated": 0.4,
        }
    )
    assert changes([]) == {}
