"""Traces: what a request shows of its calls, and how a ranking and the way to it are judged."""

from random import Random

import pytest

from redqueen.games.catalogue import find_game
from redqueen.play.lockstep import play
from redqueen.players.scripted import Uniform
from redqueen.types import Match, RedQueenError, Reply
from redqueen.worlds.traces import Traces, TraceVisit


def span(above, service, usual=10, now=10, failed=False, fails=""):
    return {"above": above, "service": service, "usual": usual, "now": now, "failed": failed, "fails": fails}


# s0 cart0 - s1 mail1 - s2 pay2, which is slow now; s3 user3 below s0 is slow as a rule
SPANS = [span(None, "cart0"), span(0, "mail1"), span(1, "pay2", 10, 210), span(0, "user3", 300, 300)]


def visit():
    return TraceVisit(SPANS, 2)


def test_a_call_takes_as_long_as_all_below_it_and_metrics_tell_the_decoy():
    here = visit()
    assert here.look().shown == "s0 cart0 530 ms ok"
    assert here.act("<spans>s0</spans>").shown == "s1 mail1 220 ms ok\ns3 user3 300 ms ok"
    assert here.act("<metrics>user3</metrics>").shown == "user3: by itself 300 ms as a rule, 300 ms now"
    assert here.act("<spans>s1</spans>").shown == "s2 pay2 210 ms ok"
    assert here.act("<metrics>pay2</metrics>").shown == "pay2: by itself 10 ms as a rule, 210 ms now"
    assert here.act("<spans>s9</spans>").shown == "Error: there is no call 's9'"
    assert here.act("pay2, user3").over


@pytest.mark.parametrize(
    ("answer", "rank", "score"),
    [("pay2", 1.0, 1.0), ("mail1, pay2, cart0", 0.5, 0.0), ("cart0", 0.0, 0.0), ("", 0.0, 0.0)],
)
def test_a_ranking_is_worth_the_place_of_the_fault(answer, rank, score):
    """The card (16): truth C, said [B, C, A] is one half."""
    found = visit().assess(answer)
    assert (found.parts["rank"], found.score) == (rank, score)


def test_the_way_counts_and_calls_beyond_the_logarithm_are_counted():
    here = visit()
    for call in ("<spans>s0</spans>", "<spans>s3</spans>", "<metrics>pay2</metrics>"):
        here.act(call)
    found = here.assess("pay2")
    assert found.parts["path"] == pytest.approx(1 / 3)  # of s0, s1 on the way and s3 beside it
    assert found.facts == {"asked": 3, "over": 1}  # log2 of 4 calls is 2


def worst(task):
    """The service that one finds who goes to failing calls, else to the slowest."""
    here, number = Traces().open(task, 0), 0
    while below := here._below(number):
        number = max(below, key=lambda at: (task.facts["spans"][at]["failed"], here._whole(at)))
    return number


def test_what_looks_worst_is_at_fault_in_about_half():
    tasks = Traces().tasks()
    found = sum(worst(task) == task.facts["fault"] for task in tasks) / len(tasks)
    assert 0.3 < found < 0.7


class Expert:
    name = "expert"

    def __init__(self, acts):
        self.acts = acts

    def reply(self, asks):
        return [Reply(self.acts[len(ask.past)]) for ask in asks]


@pytest.mark.parametrize("game", ["acting:traces", "working:traces,12,14"])
def test_the_expert_finds_the_fault_by_acts_and_by_calls(game):
    found = find_game(game)
    tasks = found.tasks()[:5]
    matches = [Match(found, task, {"agent": Expert(found.expert(task))}, seed=0) for task in tasks]
    assert all(each.outcome.facts["parts"] == {"rank": 1.0, "path": 1.0} for each in play(matches, Random(0)))
    chance = play([Match(find_game("acting:traces"), task, {"agent": Uniform()}, seed=0) for task in tasks], Random(0))
    assert all(set(each.outcome.scores.values()) <= {0.0, 1.0} for each in chance)


def test_a_request_of_too_many_calls_is_refused():
    with pytest.raises(RedQueenError, match="a request has 4 to 48 calls"):
        Traces(least=15, most=99)
