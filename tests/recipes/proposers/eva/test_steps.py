"""Prompts rewritten, mixed with the seeds, rewarded and compared."""

from collections import Counter
from random import Random

import numpy as np
import pytest

from redqueen.credit.group_rewards import Stated
from redqueen.credit.rewards import score
from redqueen.curricula.sampling import Independent, by_regret
from redqueen.curricula.store import TaskStore
from redqueen.play.groups import episodes_of, grouped, with_facts
from redqueen.play.lockstep import play
from redqueen.play.seating import alone
from redqueen.players.scripted import Constant
from redqueen.questions.asking import SOLVE
from redqueen.questions.small.growing import Growing
from redqueen.recipes.proposers.eva.steps import evolutions, mixed, reward_of, rewarded
from redqueen.types import RedQueenError, Task

DOMAIN = Growing()
SEEDS = [Task(f"seed {number}") for number in range(50)]


def attempts_at(**rewards):
    """Groups at tasks by name, with these rewards."""
    groups = []
    for name, given in rewards.items():
        matches = [alone(SOLVE, [Task(name)], Constant(f"{name} {place}"))[0] for place in range(len(given))]
        tries = grouped(play(matches, Random(0)), len(given))
        groups += with_facts(tries, [{"reward": reward} for reward in given])
    return groups


def test_children_are_deeper_and_broader_alike_often():
    parents = DOMAIN.problems("3_numbers", 400, Random(0))
    found = evolutions(DOMAIN, parents, Random(1))
    assert len({each.id for each in found}) == 400
    counts = Counter(each.prompt.split(" 1")[0].split()[0] for each in found)
    assert set(counts) == {"Longer", "Another"}
    assert 160 < counts["Longer"] < 240


def test_the_mix_keeps_its_share_of_seeds():
    children = [Task(f"child {number}") for number in range(40)]
    for most in (0, 8, 24, 32):
        prompts = mixed(children, SEEDS, 32, most, Random(0))
        assert len({task.id for task in prompts}) == 32
        assert sum(task.id.startswith("seed") for task in prompts) == 32 - most


def test_refused_and_repeated_children_are_replaced_by_seeds():
    children = [Task("child"), Task("child"), SEEDS[3]]
    prompts = mixed(children, SEEDS, 10, 8, Random(0))
    assert len({task.id for task in prompts}) == 10
    assert [task.id for task in prompts[:2]] == ["child", "seed 3"]
    assert len(mixed([], SEEDS, 80, 40, Random(0))) == 50


def test_seeds_are_drawn_uniformly():
    drawn = Counter(task.id for number in range(4000) for task in mixed([], SEEDS, 5, 0, Random(number)))
    expected = 4000 * 5 / 50
    assert sum((count - expected) ** 2 / expected for count in drawn.values()) < 74.9  # chi-square, 49 degrees, p = .01


def test_draws_match_the_shares_of_info():
    """Row 7 of the tests in the cards: 20 families of known spread, 10,000 draws, p > .01."""
    spreads = np.arange(20) / 20
    store = TaskStore(20, Independent(by_regret()), result=reward_of, window=6)
    tasks = [Task(f"family{number}", prompt=str(number)) for number in range(20)]
    store.add(tasks)
    low, shares = 0.3, spreads / spreads.sum()
    for task, spread in zip(tasks, spreads, strict=True):
        given = [low, low + spread, low + spread / 2, low, low + spread, low + spread / 3]
        store.observe(episodes_of(attempts_at(**{task.id: given})))
    drawn = Counter(task.id for task in store.draw(10_000, Random(0)))
    assert drawn["family0"] == 0
    expected = 10_000 * shares[1:]
    found = np.array([drawn[task.id] for task in tasks[1:]])
    assert ((found - expected) ** 2 / expected).sum() < 34.8  # 18 degrees of freedom, p = .01


def test_a_reward_model_gives_every_attempt_a_finite_number():
    attempts = attempts_at(a=[0.0, 0.0])
    graded = rewarded(lambda tasks, answers: [float(answer[-1]) for answer in answers], attempts)
    assert [reward_of(episode) for episode in episodes_of(graded)] == [0.0, 1.0]
    assert [float(each.rewards[0]) for each in score(graded, Stated("reward"))] == [0.0, 1.0]
    for bad in ([1.0], [1.0, float("nan")], [float("inf"), 0.0]):
        with pytest.raises(RedQueenError, match="2 finite numbers"):
            rewarded(lambda tasks, answers, bad=bad: bad, attempts)
