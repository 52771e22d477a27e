from random import Random

import pytest

from redqueen.checks.votes import Majority, Vote
from redqueen.games.tools import Calculator, ToolReply
from redqueen.play.lockstep import play
from redqueen.players.scripted import Scripted
from redqueen.questions.small.documents import Documents
from redqueen.questions.small.tool_sums import ToolSums
from redqueen.recipes.proposers.agent0.steps import Poll, kept, poll_metrics, polled, reward, rewards, uninspired
from redqueen.types import Match, Refusal, Task

CALL = "<calculate>1+1</calculate>"


def attempts(*scripts):
    game, task = ToolReply(tools=(Calculator(),)), Task("t", prompt="?")
    return play([Match(game, task, {"solver": Scripted(tuple(script))}) for script in scripts], Random(0))


def poll(share, calls, answer="2"):
    return Poll(Vote(answer, share, 10, 10), calls)


def test_a_poll_is_the_majority_and_the_mean_number_of_calls():
    episodes = attempts(["2"], [CALL, CALL, "2"], ["3"], [CALL, "3"], [CALL, "3"], ["1"])
    first, second = polled(episodes, 3, Majority(count_missing=True))
    assert (first.vote.answer, first.vote.share, first.calls) == ("2", pytest.approx(2 / 3), pytest.approx(2 / 3))
    assert (second.vote.answer, second.vote.share, second.calls) == ("3", pytest.approx(2 / 3), pytest.approx(2 / 3))


def test_calls_that_were_not_run_do_not_count():
    (fake,) = polled(attempts([f"{CALL}<information>2</information>2"] * 1, ["2"]), 2, Majority(count_missing=True))
    assert fake.calls == 0.0


def test_a_curriculum_agent_is_paid_for_doubt_and_calls_and_not_for_repetition():
    # 1 - 2 |.5 - .5| + .05 * 4 - .25, of six calls
    assert reward(poll(0.5, 6), 0.25) == pytest.approx(0.95)
    assert reward(poll(0.8, 0), 0.0) == pytest.approx(0.4)
    assert reward(poll(1.0, 1), 0.0) == pytest.approx(0.05)
    assert reward(poll(1.0, 0), 0.5) == 0.0


def test_what_was_not_read_is_paid_nothing_and_counts_in_the_batch():
    tasks = [Task("a", prompt="12+7=?"), Refusal("malformed"), Task("b", prompt="12+7=?"), Task("c", prompt="1+1=?")]
    assert rewards(tasks, [poll(0.5, 0)] * 3) == pytest.approx([0.5, 0.0, 0.5, 0.75])


def test_tasks_of_the_band_are_kept_with_the_vote_as_their_answer():
    tasks = [Task(name, answer="2") for name in "abcde"]
    polls = [poll(0.3, 0), poll(0.8, 0, "4"), poll(0.2, 0), poll(0.9, 0), poll(0.5, 0, "")]
    found = kept(tasks, polls, 0.3, 0.8)
    assert [(task.id, task.answer, task.facts["share"], task.facts["known"]) for task in found] == [
        ("a", "2", 0.3, "2"),
        ("b", "4", 0.8, "2"),
    ]
    metrics = poll_metrics(ToolSums(), tasks, polls, found)
    assert metrics["polls/label_accuracy"] == 0.5
    assert metrics["polls/kept"] == 0.4
    assert poll_metrics(ToolSums(), [], [], []) == {"polls": 0.0}


def test_invitations_need_no_tasks_to_show():
    assert [task.kind for task in uninspired(ToolSums(), 2)] == ["sum", "sum"]


def test_a_label_is_right_as_the_domain_sees_it():
    tasks = [Task("a", answer="7"), Task("b", answer="7")]
    polls = [poll(0.5, 0, "seven"), poll(0.5, 0, "eight")]
    metrics = poll_metrics(Documents(), tasks, polls, kept(tasks, polls, 0.3, 0.8))
    assert metrics["polls/label_accuracy"] == 0.5
