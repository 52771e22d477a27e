"""Prompts drawn by info, rewritten, mixed with the seeds and rewarded."""

from collections import Counter
from dataclasses import replace
from random import Random

import numpy as np
import pytest

from redqueen.credit.rewards import score
from redqueen.curricula.draws import Uniform
from redqueen.play.groups import episodes_of, grouped, with_facts
from redqueen.play.lockstep import play
from redqueen.play.seating import alone
from redqueen.players.scripted import Constant
from redqueen.questions.asking import SOLVE
from redqueen.questions.small.growing import Growing
from redqueen.recipes.proposers.eva.steps import Creator, Rewards, reward_of
from redqueen.types import RedQueenError, Task

DOMAIN = Growing()
SEEDS = [Task(f"seed {number}") for number in range(50)]


def attempts_at(task, rewards):
    """A group at a task, with these rewards."""
    matches = [alone(SOLVE, [task], Constant(f"{task.id} {place}"))[0] for place in range(len(rewards))]
    return with_facts(grouped(play(matches, Random(0)), len(rewards)), [{"reward": reward} for reward in rewards])


def creator(count, evolved, seeds=SEEDS, weights=None):
    return Creator(DOMAIN, seeds, count, evolved, 6, weights)


def test_children_are_deeper_and_broader_alike_often():
    made = creator(400, 1.0, weights=Uniform())
    prompts = DOMAIN.problems("5_numbers", 400, Random(0))
    made.observe([group for prompt in prompts for group in attempts_at(prompt, [0.0, 1.0])])
    found = made.invited(Random(1))
    assert len({each.id for each in found}) == 400
    counts = Counter(each.prompt.split(" 1")[0].split()[0] for each in found)
    assert set(counts) == {"Longer", "Another"}
    assert 160 < counts["Longer"] < 240


def test_the_mix_keeps_its_share_of_seeds():
    children = [Task(f"child {number}") for number in range(40)]
    for share in (0.0, 0.25, 0.75, 1.0):
        prompts = creator(32, share).mixed(children, Random(0))
        assert len({task.id for task in prompts}) == 32
        assert sum(task.id.startswith("seed") for task in prompts) == 32 - 32 * share


def test_refused_and_repeated_children_are_replaced_by_seeds():
    children = [Task("child"), Task("child"), SEEDS[3]]
    prompts = creator(10, 0.8).mixed(children, Random(0))
    assert len({task.id for task in prompts}) == 10
    assert [task.id for task in prompts[:2]] == ["child", "seed 3"]
    assert len(creator(80, 0.5).mixed([], Random(0))) == 50


def test_seeds_are_drawn_uniformly():
    drawn = Counter(task.id for number in range(4000) for task in creator(5, 0.0).mixed([], Random(number)))
    expected = 4000 * 5 / 50
    assert sum((count - expected) ** 2 / expected for count in drawn.values()) < 74.9  # chi-square, 49 degrees, p = .01


def test_a_prompt_whose_answers_have_no_reward_is_not_rewritten():
    made = creator(10, 1.0)
    rated, other = DOMAIN.problems("5_numbers", 2, Random(0))
    made.observe([*attempts_at(rated, [0.0, 1.0]), *attempts_at(other, [None, None])])
    assert [each.task.id for each in made._last.histories()] == [rated.id]


def test_draws_match_the_shares_of_info():
    """Row 7 of the tests in the cards: 20 families of known spread, 10,000 draws, p > .01."""
    spreads, low = np.arange(20) / 20, 0.3
    families = DOMAIN.problems("5_numbers", 20, Random(0))
    assert len({task.id for task in families}) == 20
    groups = []
    for task, spread in zip(families, spreads, strict=True):
        groups += attempts_at(task, [low, low + spread, low + spread / 2, low, low + spread, low + spread / 3])
    made = creator(10_000, 1.0)
    made.observe(groups)
    drawn = Counter(task.prompt.rstrip(".").split()[-1] for task in made.invited(Random(0)))
    assert drawn[families[0].id] == 0
    expected = 10_000 * spreads[1:] / spreads.sum()
    found = np.array([drawn[task.id] for task in families[1:]])
    assert ((found - expected) ** 2 / expected).sum() < 34.8  # 18 degrees of freedom, p = .01
    assert made.figures(groups) == {"evolved": 1.0, "info": pytest.approx(spreads.mean())}


def test_a_reward_model_gives_every_attempt_a_finite_number():
    attempts = attempts_at(Task("a"), [0.0, 0.0])
    rewards = Rewards(lambda tasks, answers: [float(answer[-1]) for answer in answers])
    graded = rewards.given(attempts)
    assert [reward_of(episode) for episode in episodes_of(graded)] == [0.0, 1.0]
    assert [float(each.rewards[0]) for each in score(graded, rewards.solver)] == [0.0, 1.0]
    for bad in ([1.0], [1.0, float("nan")], [float("inf"), 0.0], [1.0, None], ["good", "bad"], 3.0, None, [[1.0]] * 2):
        with pytest.raises(RedQueenError, match="2 finite numbers"):
            Rewards(lambda tasks, answers, bad=bad: bad).given(attempts)


@pytest.mark.parametrize(
    ("truncated", "given"), [("graded", [0.0, 3.0]), ("wrong", [0.0, 0.0]), ("unknown", [0.0, None])]
)
def test_half_a_response_is_rewarded_as_is_asked_for(truncated, given):
    (group,) = attempts_at(Task("a"), [0.0, 0.0])
    first, second = group.attempts
    turn = second.turns[-1]
    cut = replace(second, turns=(replace(turn, reply=replace(turn.reply, truncated=True)),))
    rewards = Rewards(lambda tasks, answers: [3.0 * (text == answers[-1] != "") for text in answers], truncated)
    (told,) = rewards.given([replace(group, attempts=(first, cut))])
    assert [reward_of(each) for each in told.attempts] == given
    made = creator(1, 1.0)
    made.observe([told])
    assert made.figures([told])["info"] == (3.0 if truncated == "graded" else 0.0)
