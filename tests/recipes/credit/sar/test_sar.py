"""SAR: the vectors of its card, the reply rated without its question, and the alarm on copying."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from redqueen.contracts.recipes import metrics, trained
from redqueen.credit.rewards import payoff, score
from redqueen.measures.recitations import reference_logprobs
from redqueen.play.groups import attempts
from redqueen.questions.asking import SOLVE
from redqueen.questions.small.sums import Sums
from redqueen.recipes.credit.sar import recipe as sar
from redqueen.recipes.credit.sar.steps import SelfAligned, copied_share, relative_fall, self_aligned, unasked
from redqueen.settings.learner import Learner
from redqueen.settings.limits import check_settings
from redqueen.types import Ask, Message, RedQueenError, Reply, Seat, Turn

TINY = Learner(model="tiny:hidden=16,heads=2", max_completion_length=6)
ASKED, UNASKED = np.array([-0.1, -0.2, -0.1]), np.array([-1.2, -2.0, -1.0])


@pytest.mark.parametrize(
    ("asked", "alone", "expected"),
    [
        (ASKED, UNASKED, 0.718231),
        (np.append(ASKED, [-0.05] * 3), np.append(UNASKED, [-0.05] * 3), 0.469181),
        (np.append(ASKED, [-0.05] * 9), np.append(UNASKED, [-0.05] * 9), 0.271426),
        (np.array([-0.9, -2.5, -1.1]), UNASKED, -0.105171),
        (np.array([-2.4] * 3), UNASKED, -1.0),
        (np.append(ASKED, [-0.02] * 3), np.append(UNASKED, [-2.5] * 3), 0.846),  # three copied tokens
        (ASKED, ASKED, 0.0),
        (np.zeros(0), np.zeros(0), 0.0),
        (np.array([-2000.0]), np.array([-1.0]), -1.0),  # nothing overflows
    ],
)
def test_the_relative_fall_in_perplexity_of_the_card(asked, alone, expected):
    assert relative_fall(asked, alone) == pytest.approx(expected, abs=5e-4 if expected == 0.846 else 1e-6)


def test_the_totals_of_the_card():
    """A concise and a padded right reply, a wrong one, and a wrong one that the question makes unlikelier."""
    filler = [-0.05] * 3
    aligned = [
        relative_fall(ASKED, UNASKED),
        relative_fall(np.append(ASKED, filler), np.append(UNASKED, filler)),
        relative_fall(np.array([-0.9, -2.5, -1.1]), UNASKED),
        relative_fall(np.array([-2.4] * 3), UNASKED),
    ]
    totals = np.array([1.0, 1.0, 0.0, 0.0]) + 0.2 * np.array(aligned)
    np.testing.assert_allclose(totals, [1.143646, 1.093836, -0.021034, -0.2], atol=1e-6)
    np.testing.assert_allclose(totals - totals.mean(), [0.639534, 0.589724, -0.525146, -0.704112], atol=1e-6)


@pytest.fixture
def played():
    policy = TINY.build_model(0)
    tasks = Sums(digits=1).problems("1_digits", 3, Random(0))
    return policy, score(attempts(SOLVE, tasks, policy, 2, Random(1)), payoff)


def test_without_its_question_a_reply_keeps_its_tokens_after_another_prompt(played):
    policy, trajectories = played
    for each in trajectories:
        alone = unasked(policy, each).turns[-1]
        assert alone.reply.tokens is each.turns[-1].reply.tokens
        assert alone.ask.messages[-1].text == "" and each.turns[-1].ask.messages[-1].text
        assert len(alone.reply.prompt_tokens) < len(each.turns[-1].reply.prompt_tokens)
        np.testing.assert_array_equal(alone.reply.prompt_tokens, policy.prompt(alone.ask))


def test_after_the_same_prompt_the_tokens_are_as_likely_as_when_they_were_sampled(played):
    policy, trajectories = played
    again = reference_logprobs(policy, trajectories)
    for each, (own,) in zip(trajectories, again, strict=True):
        np.testing.assert_allclose(own, each.turns[-1].reply.logprobs, atol=1e-5)
    empty = [unasked(policy, each) for each in trajectories]
    rated = [
        replace(each, turns=(replace(each.turns[0], reply=replace(each.turns[0].reply, logprobs=own[0])),))
        for each, own in zip(empty, reference_logprobs(policy, empty), strict=True)
    ]
    np.testing.assert_allclose(self_aligned(policy, rated), 0.0, atol=1e-5)  # no question either way


def test_the_reward_has_both_parts_and_a_right_answer_outweighs_the_second(played):
    policy, trajectories = played
    paid = SelfAligned(policy, 0.2)(trajectories)
    for each, own, fall in zip(trajectories, paid, self_aligned(policy, trajectories), strict=True):
        assert own.parts["self_aligned"][0] == pytest.approx(0.2 * fall)
        assert own.rewards[0] == pytest.approx(each.rewards[0] + 0.2 * fall)
        assert -0.2 <= own.parts["self_aligned"][0] < 0.2


def turn_of(shown, said):
    return Turn(Ask(Seat("solver"), (Message("game", shown),)), Reply(said, tokens=np.arange(2), logprobs=np.zeros(2)))


def test_copied_words_are_counted():
    assert copied_share(turn_of("What is 2+3?", "What is 2+3? 5")) == pytest.approx(6 / 7)
    assert copied_share(turn_of("What is 2+3?", "five")) == 0.0 == copied_share(turn_of("What?", ""))


def test_growing_copies_ring_and_steady_ones_do_not(played):
    policy, trajectories = played
    for last, rings in (("five five", False), ("What is", True)):
        aligned = SelfAligned(policy, 0.2)
        for said in ("six six", *[last] * 10):
            turns = (replace(trajectories[0].turns[0], reply=replace(trajectories[0].turns[0].reply, text=said)),)
            aligned([replace(trajectories[0], turns=turns)])
            found = aligned.metrics()
        assert bool(found.get("alarm/copies")) == bool(aligned.alarms()) == rings, last


def test_without_weight_it_learns_as_without_the_part(tmp_path):
    config = sar.Config(learner=TINY, steps=2, tasks=2, attempts=3, problems=1)
    lines = metrics(trained(sar, config, tmp_path))
    assert {"self_aligned", "copied_share", "reward/self_aligned", "reward/correctness"} <= lines[-1].keys()
    assert lines[-1]["reward/self_aligned"] == pytest.approx(0.2 * lines[-1]["self_aligned"])


def test_a_weight_that_buys_wrong_answers_is_refused():
    with pytest.raises(RedQueenError, match="weight"):
        check_settings(replace(sar.Config(learner=TINY), weight=0.6))
