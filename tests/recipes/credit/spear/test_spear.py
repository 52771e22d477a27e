"""SPEAR: the card's numbers for the bonus, the weight of a replay and what is usual; what is kept and replayed."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from redqueen.contracts.recipes import metrics, trained
from redqueen.recipes.credit.spear import recipe as spear
from redqueen.recipes.credit.spear.steps import CallBonus, Memory, largest_power_of_two
from redqueen.settings.learner import Learner
from redqueen.types import Ask, Episode, Message, Outcome, Reply, Seat, Task, Trajectory, Turn

SOLVER = Seat("solver")


def attempt(reward, group=0, calls=(), seed=0):
    turn = Turn(Ask(SOLVER, (Message("game", "?"),)), Reply("x", "learner"))
    outcome = Outcome({SOLVER: reward}, {"calls": calls})
    episode = Episode("g", Task(f"t{group}"), seed, (turn,), outcome, (SOLVER,))
    return Trajectory(episode, SOLVER, (turn,), np.array([float(reward)]), {}, group)


def usual(memory, *means):
    """The memory after groups of these means."""
    found = [attempt(mean, group) for group, mean in enumerate(means)]
    memory.observe(found, [np.zeros(1) for _ in found], 0)
    return memory


def good(memory, *rewards, step=0):
    """The memory after attempts of one more group whose advantages were all above 0."""
    found = [attempt(reward, 1000 + step) for reward in rewards]
    memory.observe(found, [np.ones(1) for _ in found], step)
    return memory


@pytest.mark.parametrize(("step", "weight"), [(0, 1.0), (50, 0.853553), (100, 0.5), (200, 0.0), (250, 0.0)])
def test_a_call_is_paid_less_and_less(step, weight):
    """The card (2.2), for T1 of 200."""
    bonus = CallBonus(0.1, step, 200)
    assert bonus.weight == pytest.approx(weight, abs=1e-6)
    three, many = (attempt(0, calls=(("tool", "x"),) * calls).episode for calls in (3, 30))
    assert bonus(three)[SOLVER][0] == pytest.approx(0.3 * weight, abs=1e-6)
    assert bonus(many)[SOLVER][0] == pytest.approx(weight, abs=1e-6)


def test_what_is_usual_is_the_median_of_the_means_of_groups():
    """The card (2.2): .4 of seven means, .45 with 1 added."""
    memory = usual(Memory(2, 10, 100), 0.1, 0.2, 0.25, 0.4, 0.5, 0.6, 0.9)
    assert memory.usual == 0.4
    assert usual(memory, 1.0).usual == pytest.approx(0.45)
    assert Memory(2, 10, 100).usual == 0.0


def test_attempts_are_rated_by_what_is_usual_now_and_weigh_more_with_time():
    """The card (2.2): 1, 1, 0, .4, .3 beside .4 are .6, .6, -.4, 0, -.1, of which two are kept; gamma at 0, 25, 50,
    100, 150 for T of 100 is 0, .146447, .5, 1, 1."""
    for step, weight in ((25, 0.146447), (50, 0.5), (100, 1.0), (150, 1.0)):
        memory = Memory(1, 10, 100)
        found = [attempt(reward, 0, seed=at) for at, reward in enumerate((1, 1, 0, 0.4, 0.3))]
        memory._experience.add(found, step)
        memory._means.extend((0.1, 0.2, 0.25, 0.4, 0.5, 0.6, 0.9))
        replayed, advantages = memory.replay(step, Random(0))
        assert [each.rewards.tolist() for each in replayed] == [[1.0], [1.0]]
        assert np.concatenate(advantages) == pytest.approx([0.6 * weight] * 2, abs=1e-6)
        assert memory.replay(step, Random(0)) is None  # the memory is emptied
    memory = good(usual(Memory(1, 10, 100), 0.0, 0.0), 1, 1)
    assert memory.replay(0, Random(0)) is None


def test_a_replay_waits_for_more_than_its_capacity_and_is_a_power_of_two():
    memory = usual(Memory(4, 10, 1), *[0.0] * 20)
    assert good(memory, *[1] * 6).replay(5, Random(0)) is None  # 1.5 times 4 is not more than 1.5 times 4
    (replayed, _) = good(memory, 1, 1, 1, step=5).replay(5, Random(0))
    assert len(replayed) == 8
    assert memory.metrics()["buffer/replayed"] == 8.0
    assert [largest_power_of_two(count) for count in (1, 2, 3, 8, 9)] == [1, 2, 2, 8, 8]


def test_old_attempts_are_forgotten_and_nothing_is_kept_without_a_capacity():
    memory = usual(Memory(1, 10, 1), *[0.0] * 9)
    good(memory, 1, 1, step=1)
    assert good(memory, 1, step=11).replay(11, Random(0)) is None
    none = good(Memory(0, 10, 1), 1, 1, 1)
    assert none.replay(5, Random(0)) is None
    assert none.metrics()["buffer/kept"] == 0.0


def test_it_goes_on_from_a_checkpoint():
    memory = good(usual(Memory(1, 10, 1), *[0.0] * 5), 1, 1)
    again = Memory(1, 10, 1)
    again.restore(memory.state())
    assert again.usual == memory.usual
    assert len(again.replay(5, Random(0))[0]) == len(memory.replay(5, Random(0))[0]) == 2


@pytest.mark.parametrize("ratio", ["start", "writer"])
@pytest.mark.filterwarnings("ignore:corridor shows")
def test_good_attempts_are_imitated_in_a_second_update(ratio, tmp_path):
    config = spear.Config(
        Learner(learning_rate=1.0), game="corridor:farthest=2,turns=3,clock=false", steps=6, tasks=2, capacity=2, rise=2
    )
    lines = metrics(trained(spear, replace(config, ratio=ratio), tmp_path))
    assert sum(line["buffer/replayed"] for line in lines) > 0
    assert lines[0]["buffer/replayed"] == 0.0  # gamma is 0
