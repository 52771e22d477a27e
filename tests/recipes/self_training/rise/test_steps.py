"""Verifying one's own solutions: which are asked about, what verdicts earn, what they come to."""

from random import Random

import pytest

from redqueen.credit.rewards import score
from redqueen.play.groups import episodes_of, grouped
from redqueen.play.lockstep import play
from redqueen.play.seating import alone
from redqueen.players.scripted import Constant
from redqueen.questions.asking import SOLVE, graded
from redqueen.questions.small.sums import Sums
from redqueen.recipes.self_training.rise.steps import VERIFY, about, asked_about, earned, judged, skill, trust
from redqueen.types import Match

DOMAIN = Sums(digits=2)
TASK = DOMAIN.task(57, 68)


def solved(*answers):
    matches = [Match(SOLVE, TASK, {"solver": Constant(answer)}) for answer in answers]
    return graded(DOMAIN, grouped(play(matches, Random(0)), len(answers)))


def called(*pairs):
    """Judged verifications: (the answer that is verified, what the verifier says)."""
    matches = [
        Match(VERIFY, about(solved(answer)[0].attempts[0]), {"verifier": Constant(said)}) for answer, said in pairs
    ]
    return judged(grouped(play(matches, Random(0)), len(pairs)))


def test_a_verdict_earns_1_if_right_a_half_less_than_nothing_if_wrong_and_minus_1_if_unreadable():
    groups = called(("521", "right"), ("521", "wrong"), ("15", "wrong"), ("15", "right"), ("15", "perhaps"))
    assert [float(each.rewards[0]) for each in score(groups, earned)] == [1.0, -0.5, 1.0, -0.5, -1.0]
    assert [each.outcome.facts["verdict"] for each in episodes_of(groups)] == ["right", "wrong", "wrong", "right", None]


def test_as_many_right_as_wrong_solutions_are_asked_about():
    solutions = solved(*["521"] * 12, *["15"] * 3)
    for count, each in ((4, 2), (6, 3), (16, 3), (1, 0), (0, 0)):
        due = [task.answer for task in asked_about(solutions, count, Random(0))]
        assert (due.count("right"), due.count("wrong")) == (each, each)


def test_nothing_is_asked_where_all_are_right_or_no_answer_was_given():
    assert asked_about(solved("521", "521"), 8, Random(0)) == []
    assert asked_about(solved("521", "", ""), 8, Random(0)) == []


def test_which_solutions_are_asked_about_depends_on_the_generator():
    solutions = solved(*[f"{n}" for n in range(30)], *["521"] * 30)
    first, again, other = (asked_about(solutions, 8, Random(seed)) for seed in (1, 1, 2))
    assert first == again != other


def test_the_shares_of_right_and_wrong_solutions_that_are_called_so():
    found = skill(called(("521", "right"), ("521", "right"), ("521", "wrong"), ("15", "wrong"), ("15", "hm")))
    assert found == pytest.approx(
        {"accepted_right": 2 / 3, "refused_wrong": 0.5, "balanced_accuracy": (2 / 3 + 0.5) / 2, "unreadable": 0.2}
    )


def test_a_verifier_that_always_says_the_same_has_a_balanced_accuracy_of_a_half():
    assert skill(called(*[("521", "right")] * 9, ("15", "right")))["balanced_accuracy"] == 0.5


def test_figures_that_nothing_bears_on_are_left_out():
    assert skill([]) == {}
    assert skill(called(("521", "right"))) == {"accepted_right": 1.0, "unreadable": 0.0}


def test_trust_is_the_share_of_favourable_verdicts_on_one_solution():
    assert trust(called(("521", "right"), ("521", "wrong"))[0]) == 0.5
    assert trust(called(("15", "wrong"), ("15", "huh"))[0]) == 0.0


def test_a_frozen_copy_may_verify_for_the_learner():
    (episode,) = play(alone(VERIFY, [about(solved("15")[0].attempts[0])], Constant("wrong")), Random(0))
    assert episode.outcome.facts["reply"] == "wrong"
