"""GRPO on questions, on majorities and on games."""

from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest

from redqueen.contracts.recipes import metrics, trained
from redqueen.credit.advantages.statistics import GroupRelative
from redqueen.credit.group_rewards import correct
from redqueen.credit.rewards import score
from redqueen.questions.asking import SOLVE
from redqueen.questions.labels import held_to_majority
from redqueen.recipes.credit.grpo import recipe as grpo
from redqueen.settings.learner import Learner
from redqueen.settings.limits import check_settings
from redqueen.settings.speech import Speech
from redqueen.settings.update import Update
from redqueen.types import Ask, Episode, Group, Message, Outcome, RedQueenError, Reply, Seat, Task, Turn

# an untrained model hardly ever ends a reply by itself
ENDING = Speech(stop=tuple("0123456789aeiou "))
TINY = Learner(model="tiny:hidden=16,heads=2", max_completion_length=12, solver=ENDING)
SOLVER = Seat("solver")
# in free text all votes of a model that was never trained are ties
LISTED = f"{Path(__file__).parents[3] / 'golden' / 'coin.py'}:CoinOfList"


def said(*answers, cut=()):
    """A group of attempts with these answers; those numbered in `cut` were cut off."""
    task = Task("t", prompt="6 * 7?", answer="42")
    ask = Ask(SOLVER, (Message("game", task.prompt),))
    episodes = tuple(
        Episode(
            SOLVE.name,
            task,
            number,
            (Turn(ask, Reply(text, truncated=number in cut)),),
            Outcome({SOLVER: 0.0}, {"reply": text}),
            (SOLVER,),
        )
        for number, text in enumerate(answers)
    )
    return Group(7, task, episodes)


def test_the_majority_is_taken_for_right_whatever_the_answer():
    (judged,) = held_to_majority([said("41", "41", "42", "41.", "")])
    assert [each.outcome.facts["right"] for each in judged.attempts] == [True, True, False, True, False]
    advantages = GroupRelative()(score([judged], correct))
    # mean .6, deviation sqrt(.3)
    assert np.concatenate(advantages) == pytest.approx([0.7303, 0.7303, -1.0954, 0.7303, -1.0954], abs=1e-4)


def test_a_group_without_an_answer_has_no_verdict():
    (judged,) = held_to_majority([said("", "")])
    assert [each.outcome.facts["right"] for each in judged.attempts] == [None, None]


def test_an_attempt_that_was_cut_off_neither_votes_nor_is_right():
    (judged,) = held_to_majority([said("41", "41", "42", cut=(0, 1))])
    assert [each.outcome.facts["right"] for each in judged.attempts] == [False, False, True]


def small(**changes):
    config = grpo.Config(learner=TINY, steps=2, tasks=3, attempts=4, problems=2)
    return replace(config, **changes)


def test_it_learns_from_the_answers_of_a_set(tmp_path):
    lines = metrics(trained(grpo, small(), tmp_path))
    assert "accuracy" in lines[0]
    assert "majority_share" not in lines[0]


def test_it_learns_from_majorities_and_says_how_many_are_right(tmp_path):
    lines = metrics(trained(grpo, small(answers="majority"), tmp_path))
    assert 0.0 < lines[0]["majority_share"] <= 1.0
    assert "accuracy" in lines[0]


def test_answers_that_nobody_knows_are_refused_and_a_majority_needs_none(tmp_path):
    file = tmp_path / "questions.jsonl"
    file.write_text("".join(f'{{"question": "What is {n} + 1?"}}\n' for n in range(20)))
    with pytest.raises(RedQueenError, match="does not know what is right: --answers majority learns from what most"):
        trained(grpo, small(questions=str(file)), tmp_path / "known")
    lines = metrics(trained(grpo, small(questions=str(file), answers="majority"), tmp_path / "majority"))
    assert "label_accuracy" not in lines[0]  # nobody knows
    assert lines[0]["accuracy_unknown"] == 1.0


@pytest.mark.parametrize("model", ["tabular", "tiny:hidden=16,heads=2"])
def test_it_plays_all_roles_of_a_game_against_itself(tmp_path, model):
    learner = Learner(model=model)
    lines = metrics(trained(grpo, small(learner=learner, game="kuhn_poker", steps=3), tmp_path))
    assert "exploitability" in lines[0]
    assert lines[0]["exploitability"] != lines[-1]["exploitability"]


def test_settings_of_questions_are_refused_with_a_game():
    for changes in ({"questions": "facts"}, {"answers": "majority"}, {"problems": 3}):
        with pytest.raises(RedQueenError, match=r"has no effect with --game kuhn_poker"):
            check_settings(small(game="kuhn_poker", **{"problems": 64, **changes}))
    with pytest.raises(RedQueenError, match="--clip-high has no effect at one update on fresh tokens"):
        check_settings(small(update=Update(clip_high=0.3)))


def test_a_second_update_on_a_batch_is_clipped_and_the_first_is_not(tmp_path):
    learner = replace(TINY, learning_rate=0.5)
    one = metrics(
        trained(grpo, small(learner=learner, questions=LISTED, steps=4, answers="majority"), tmp_path / "one")
    )
    two = metrics(
        trained(
            grpo,
            small(learner=learner, questions=LISTED, steps=4, answers="majority", update=Update(updates_per_batch=3)),
            tmp_path / "two",
        )
    )
    assert all(line.get("clip_fraction", 0.0) == 0.0 for line in one)
    assert any(line.get("clip_fraction", 0.0) > 0.0 for line in two)


def test_the_distance_from_the_start_is_priced(tmp_path):
    lines = metrics(
        trained(grpo, small(update=Update(kl=0.5), questions=LISTED, answers="majority", steps=3), tmp_path)
    )
    assert lines[0]["reference_kl"] == pytest.approx(0.0, abs=1e-6)
    assert lines[-1]["reference_kl"] > 0.0


def test_a_deal_is_shared_by_all_matches_of_a_group():
    from redqueen.games.kuhn_poker import KuhnPoker
    from redqueen.play.groups import attempts
    from redqueen.players.scripted import Uniform

    game = KuhnPoker()
    groups = attempts(game, game.tasks()[:2], Uniform(), 3, Random(0))
    assert [group.task for group in groups] == list(game.tasks()[:2])
    assert all({turn.ask.seat.role for turn in each.turns} <= set(game.roles) for g in groups for each in g.attempts)
