from dataclasses import replace
from random import Random

import pytest

from redqueen.credit.novelty import Repetition
from redqueen.credit.outcomes import calls
from redqueen.credit.rewards import score
from redqueen.games.single_reply import SingleReply
from redqueen.games.tools import Calculator, ToolReply
from redqueen.play.groups import attempts, authors, grouped, noted
from redqueen.play.lockstep import play
from redqueen.play.seating import alone
from redqueen.players.scripted import Constant, Scripted
from redqueen.questions.asking import PROPOSE
from redqueen.recipes.proposers.agent0.steps import Rewards
from redqueen.types import Match, Refusal, Task

CALL = "<calculate>1+1</calculate>"


def group(*scripts):
    game, task = ToolReply(tools=(Calculator(),)), Task("t", prompt="?")
    episodes = play([Match(game, task, {"solver": Scripted(tuple(script))}) for script in scripts], Random(0))
    return grouped(episodes, len(scripts))[0]


def test_calls_are_counted_over_all_attempts():
    assert calls(group(["2"], [CALL, CALL, "2"], ["3"])) == pytest.approx(2 / 3)
    assert calls(group([CALL, "3"], [CALL, "3"], ["1"])) == pytest.approx(2 / 3)


def test_calls_that_were_not_run_do_not_count():
    assert calls(group([f"{CALL}<information>2</information>2"], ["2"])) == 0.0


def answers(share, called, parent):
    """Ten attempts, this share of them with one answer, and so many calls of a tool in all."""
    told = [
        {
            "reply": "2" if number < 10 * share else f"other {number}",
            "calls": (("calculate", "1+1"),) * int(called / 10),
        }
        for number in range(10)
    ]
    one = play(alone(SingleReply(), [Task("t")], Constant("2"), 10), Random(0))
    return replace(grouped(noted(one, told), 10)[0], parent=parent)


def paid(written, below, fine=1.0):
    """What proposals earn, from (share, calls in all) of the answers to those that became tasks."""
    proposals = attempts(PROPOSE, [Task(f"i{n}") for n in range(len(written))], Constant("?"), 1, Random(0))
    parents = authors(proposals, written)
    groups = [answers(*each, parent) for each, parent in zip(below, parents, strict=True)]
    rewards = Rewards((0.3, 0.8), per_call=0.05, most_calls=4, repetition=Repetition(fine))
    return [float(each.rewards[0]) for each in score(proposals, rewards.proposer(written, groups))]


def test_a_curriculum_agent_is_paid_for_doubt_and_calls_and_not_for_repetition():
    one = [Task("a", prompt="12+7=?")]
    # 1 - 2 |.5 - .5| + .05 * 4 - .25, of six calls in each attempt
    assert paid(one, [(0.5, 60)], fine=0.25) == pytest.approx([0.95])
    assert paid(one, [(0.8, 0)], fine=0.0) == pytest.approx([0.4])
    assert paid(one, [(1.0, 10)], fine=0.0) == pytest.approx([0.05])
    assert paid(one, [(1.0, 0)], fine=0.5) == [0.0]


def test_what_was_not_read_is_paid_nothing_and_counts_in_the_batch():
    tasks = [Task("a", prompt="12+7=?"), Refusal("malformed"), Task("b", prompt="12+7=?"), Task("c", prompt="1+1=?")]
    assert paid(tasks, [(0.5, 0)] * 3) == pytest.approx([0.5, 0.0, 0.5, 0.75])
    assert paid([Refusal("malformed")], []) == [0.0]
