"""ExIt: the card's numbers, which histories are continued, and how they are shown."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from experiments.exit import Rewrites
from redqueen.contracts.recipes import metrics, trained
from redqueen.curricula.draws import ByCredit
from redqueen.curricula.history import TaskHistory
from redqueen.games.corridor import Corridor
from redqueen.games.single_reply import SingleReply
from redqueen.recipes.curricula.exit import recipe as exit_
from redqueen.recipes.curricula.exit.steps import ANOTHER, CORRECT, BySoftmax, Histories, gain, improvement
from redqueen.settings.learner import Learner
from redqueen.types import Ask, Episode, Group, Message, Outcome, RedQueenError, Reply, Seat, Task, Turn

SOLVER = Seat("solver")
TINY = Learner(model="tiny:hidden=16,heads=2", max_completion_length=4)
TASK = Task("t", prompt="What is 3+5?", answer="8")
SPREADS = (0.0, 0.11, 0.25, 0.05)


def attempt(right, seed=0, text="7", task=TASK):
    turn = Turn(Ask(SOLVER, (Message("game", "?"),)), Reply(text, "learner"))
    facts = {"right": right, "reply": text}
    return Episode("g", task, seed, (turn,), Outcome({SOLVER: 0.0}, facts), (SOLVER,))


def group(*right, task=TASK, first=0):
    return Group(0, task, tuple(attempt(each, first + at, task=task) for at, each in enumerate(right)))


def histories(**changes):
    config = replace(exit_.Config(least=1, another_share=0.0), **changes)
    return Histories(config, SingleReply("solver"))


def problems(count, rng):
    return [TASK] * count


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [(0, 0.25, 0.25), (0.25, 0.5, 1 / 3), (0.5, 0.25, 0), (0.5, 1, 1), (0.75, 0.875, 0.5)],
)
def test_an_attempt_earns_the_share_of_what_was_missing(before, now, expected):
    """The card (3.3)."""
    assert gain(now, before) == pytest.approx(expected)


def test_a_solved_attempt_leaves_nothing_to_improve():
    with pytest.raises(RedQueenError, match="there is nothing to improve"):
        gain(1.0, 1.0)
    assert np.isnan(gain(float("nan"), 0.5))


@pytest.mark.parametrize(
    ("kappa", "expected"),
    [(1.0, [0.224640, 0.250760, 0.288443, 0.236157]), (8.0, [0.081355, 0.196139, 0.601138, 0.121368])],
)
def test_histories_are_drawn_by_a_softmax_of_their_spread(kappa, expected):
    """The card (3.3): kappa 1 is nearly even."""
    held = [replace(TaskHistory(TASK), credit=spread) for spread in SPREADS]
    weights = BySoftmax(ByCredit(0.0), kappa)(held, 0)
    assert weights / weights.sum() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("returns", "spread"), [((0, 0, 1 / 3, 1 / 3), 0.027778), ((0, 0, 0, 1), 0.1875), ((0, 0, 1, 1), 0.25)]
)
def test_a_history_inherits_the_variance_of_the_returns_of_its_group(returns, spread):
    """The card (3.3)."""
    found = histories()
    tries = [
        replace(attempt(None, at), outcome=Outcome({SOLVER: 0.0}, {"quality": each, "reply": "7"}))
        for at, each in enumerate(returns)
    ]
    unsolved = [each for each in tries if each.outcome.facts["quality"] < 1]
    for seed in range(20):  # whichever is continued; a solved one is not
        if not len(found._store):
            found.observe([Group(0, TASK, tuple(tries))], Random(seed))
    (history,) = found._store.histories()
    assert history.credit == pytest.approx(spread, abs=1e-6)
    assert int(history.task.id.partition("#")[2]) in {each.seed for each in unsolved}


def test_an_attempt_becomes_a_task_with_its_reply_and_a_request():
    child = histories().continued(attempt(False, 9), Random(0))
    assert child.id == "t #9"
    assert [(each.speaker, each.text) for each in child.messages] == [
        ("user", "What is 3+5?"),
        ("assistant", "7"),
        ("user", CORRECT),
    ]
    assert child.facts["before"] == 0.0
    assert child.answer == "8"
    other = histories(another_share=1.0).continued(attempt(False), Random(0))
    assert other.messages[-1].text == ANOTHER


def test_a_history_shows_its_last_attempts_alone():
    found, task = histories(remembered=2), TASK
    for number in range(4):
        task = found.continued(attempt(False, number, f"{number}", task), Random(0))
    said = [each.text for each in task.messages if each.speaker == "assistant"]
    assert said == ["2", "3"]
    assert [each.speaker for each in task.messages] == ["user", "assistant", "user", "assistant", "user"]
    assert task.messages[0].text == "What is 3+5?"


def test_a_gain_is_over_the_attempt_that_is_continued():
    task = replace(TASK, facts={"before": 0.5})
    half = replace(attempt(None, task=task), outcome=Outcome({SOLVER: 0.0}, {"quality": 0.75}))
    assert improvement(half)[SOLVER].tolist() == [0.5]
    assert improvement(attempt(True))[SOLVER].tolist() == [1.0]


def test_chance_draws_histories_once_there_are_enough():
    found = histories(least=2, history_share=1.0)
    found.observe([group(False, False)], Random(0))
    assert found.draw(problems, 3, Random(0)) == [TASK] * 3
    found.observe([group(False, False, first=5)], Random(0))
    drawn = found.draw(problems, 3, Random(0))
    assert all("#" in task.id for task in drawn)
    again = histories(least=2, history_share=1.0)
    again.restore(found.state())
    assert again.draw(problems, 3, Random(0)) == drawn
    assert histories(history_share=0.0).draw(problems, 3, Random(0)) == [TASK] * 3


def test_a_full_buffer_lets_go_of_the_lowest_spread_and_groups_without_verdict_are_not_continued():
    found = histories(buffer=1)
    found.observe([group(None, None)], Random(0))
    found.observe([group(True, True)], Random(0))
    assert not len(found._store)
    found.observe([group(False, False)], Random(0))
    found.observe([group(False, True, False, first=10)], Random(1))
    kept = found._store.histories()
    assert len(kept) == 1
    assert kept[0].depth == 1 or kept[0].depth == 0


def test_a_full_buffer_takes_in_what_has_a_higher_spread():
    found = histories(buffer=2)
    for first in range(0, 40, 10):
        found.observe([group(*[False] * 9, True, first=first)], Random(first))  # a variance of .09
    before = {each.task.id for each in found._store.histories()}
    found.observe([group(*[False] * 5, *[True] * 5, first=90)], Random(1))  # .25
    after = found._store.histories()
    assert {each.task.id for each in after} != before
    assert max(each.credit for each in after) == pytest.approx(0.25)


@pytest.mark.filterwarnings("ignore:rewrites shows")  # how many moves are left, which no exact measure can do without
def test_a_chain_goes_on_from_its_last_attempt(tmp_path):
    config = exit_.Config(
        Learner(learning_rate=2.0), game="experiments.exit:Rewrites", steps=4, tasks=4, attempts=4, least=2, problems=8
    )
    lines = metrics(trained(exit_, config, tmp_path))
    first = lines[0]
    assert 0.0 <= first["quality_after/1"] <= first["quality_after/4"] + 3 / 24
    assert lines[-1]["buffer/held"] > 2
    task = Rewrites().continued(
        Episode("rewrites", Task("r", facts={"left": 24}), 0, (), Outcome({}, {"left": 21, "quality": 0.125}), ())
    )
    assert task.facts["left"] == 21


@pytest.mark.parametrize(
    ("changes", "game", "complaint"),
    [
        ({"least": 20, "buffer": 10}, SingleReply("solver"), "--least 20 histories never lie in a --buffer of 10"),
        ({"game": "corridor"}, Corridor(), "the game corridor takes no match up where it ended"),
    ],
)
def test_what_cannot_be_continued_is_refused(changes, game, complaint):
    with pytest.raises(RedQueenError, match=complaint):
        Histories(replace(exit_.Config(), **changes), game)
