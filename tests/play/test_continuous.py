from random import Random

import pytest

from redqueen.games.iterated_dilemma import IteratedDilemma
from redqueen.games.kuhn_poker import KuhnPoker
from redqueen.games.talk import ask, told
from redqueen.play import continuous, lockstep
from redqueen.players.scripted import Uniform
from redqueen.players.tabular import TabularPolicy
from redqueen.records import episode_to_json
from redqueen.types import Match, Outcome, RedQueenError, Reply, Seat, Task

KUHN, DILEMMA = KuhnPoker(), IteratedDilemma()


class Fast:
    """Answers asks in pairs, the latest first."""

    name = "fast"

    def __init__(self):
        self.opened = 0

    def reply(self, asks):
        return [Reply(f"{ask.seed % 7}", self.name) for ask in asks]

    def stream(self, rows):
        self.opened += 1
        return Backwards(self)


class Backwards:
    def __init__(self, player):
        self.player, self.asks, self.put_so_far = player, [], 0

    def put(self, asks):
        numbers = list(range(self.put_so_far, self.put_so_far + len(asks)))
        self.put_so_far += len(asks)
        self.asks += zip(numbers, asks, strict=True)
        return numbers

    def get(self):
        taken, self.asks = self.asks[-2:][::-1], self.asks[:-2]
        return [(number, self.player.reply([ask])[0]) for number, ask in taken]


class Counting:
    """A seat speaks until its numbers sum to twenty: matches of many lengths."""

    name = "counting"
    roles = ("one", "two")

    def play(self, task, rng):
        total, turns = 0, 0
        while total < 20:
            total += 1 + int((yield from ask(Seat(self.roles[turns % 2]), told(f"{total}"))))
            turns += 1
        return Outcome({Seat("one"): float(total), Seat("two"): float(turns)})


def as_data(episodes):
    return [episode_to_json(episode) for episode in episodes]


@pytest.mark.parametrize("at_once", [1, 3, 64])
@pytest.mark.parametrize("game", [KUHN, DILEMMA])
def test_episodes_are_those_of_rounds(game, at_once):
    first, second = TabularPolicy(1.0), Uniform()
    cast = dict(zip(game.roles, (first, second), strict=True))
    tasks = game.tasks()
    matches = [Match(game, tasks[n % len(tasks)], cast) for n in range(20)]
    rounds = lockstep.play(matches, Random(3))
    assert as_data(continuous.play(matches, Random(3), at_once)) == as_data(rounds)


@pytest.mark.parametrize("at_once", [1, 2, 5, 100])
def test_replies_that_come_out_of_order_reach_those_who_asked(at_once):
    player = Fast()
    matches = [Match(Counting(), Task(str(n)), {"one": player, "two": player}) for n in range(17)]
    rounds = lockstep.play(matches, Random(5))
    assert len({len(episode.turns) for episode in rounds}) > 1
    assert as_data(continuous.play(matches, Random(5), at_once)) == as_data(rounds)
    assert player.opened == 1


def test_no_more_matches_are_open_than_wished():
    opened = []

    class Watched(Counting):
        def play(self, task, rng):
            opened.append(1)
            outcome = yield from super().play(task, rng)
            opened.append(-1)
            return outcome

    matches = [Match(Watched(), Task(str(n)), {"one": Fast(), "two": Fast()}) for n in range(12)]
    continuous.play(matches, Random(1), 4)
    heights = [sum(opened[: end + 1]) for end in range(len(opened))]
    assert max(heights) == 4
    assert heights[-1] == 0


def test_bad_input_is_refused():
    class Short:
        name = "short"

        def reply(self, asks):
            return []

    with pytest.raises(RedQueenError, match="at least one match"):
        continuous.play([], Random(0), 0)
    with pytest.raises(RedQueenError, match="'short' gave 0 replies to 1 asks"):
        continuous.play([Match(Counting(), Task("0"), {"one": Short(), "two": Short()})], Random(0))
    assert continuous.play([], Random(0)) == []
