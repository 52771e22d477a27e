"""Steps that are played ahead of their turn."""

from dataclasses import replace
from random import Random
from threading import Event

import pytest

from redqueen.games.kuhn_poker import KuhnPoker
from redqueen.play.ahead import Ahead
from redqueen.play.lockstep import play
from redqueen.play.seating import mirror
from redqueen.play.table import told_of_episodes
from redqueen.players.scripted import Uniform
from redqueen.players.tabular import TabularPolicy
from redqueen.types import RedQueenError

GAME = KuhnPoker()


class Learner(TabularPolicy):
    """A table that says how old it is."""

    def learn(self):
        self.version += 1


def dealing(learner, count=3):
    return lambda: mirror(GAME, GAME.tasks()[:count], learner)


def versions(episodes):
    return {turn.reply.version for episode in episodes for turn in episode.turns}


def steps(ahead, learner, count, seed=0):
    """The episodes of some steps, after each of which the learner is a version older."""
    found = []
    for step in range(count):
        found.append(ahead.play(dealing(learner), Random(seed + step)))
        learner.learn()
    return found


def test_a_step_in_its_turn_is_a_step_of_lockstep():
    learner = Learner()
    ahead = Ahead(learner)
    assert ahead.play(dealing(learner), Random(3)) == play(dealing(learner)(), Random(3))
    assert ahead.metrics() == {}


@pytest.mark.parametrize(("staleness", "expected"), [(0, [0, 1, 2, 3]), (1, [0, 0, 1, 2]), (2, [0, 0, 0, 1])])
def test_the_weights_that_play_are_never_older_than_the_staleness(staleness, expected):
    learner = Learner()
    found = steps(Ahead(learner, staleness), learner, 4)
    assert [versions(each) for each in found] == [{version} for version in expected]


def test_a_step_elsewhere_is_the_same_step():
    here, there = Learner(), Learner()
    found = steps(Ahead(here, 2), here, 5)
    again = steps(Ahead(there, 2, lambda: _Copy(there)), there, 5)
    assert found == again
    ahead = Ahead(there, 1, lambda: _Copy(there))
    steps(ahead, there, 3)
    assert ahead.metrics().items() >= {"queue/depth": 1.0, "queue/lag": 1.0, "queue/oldest": 1.0}.items()


class _Copy:
    """A learner as it is now."""

    asked_in_threads = True

    def __init__(self, learner, wait=None):
        self.name, self._frozen, self._version, self._wait = learner.name, learner.freeze(), learner.version, wait

    def reply(self, asks):
        if self._wait is not None:
            assert self._wait.wait(10)
        return [replace(each, player=self.name, version=self._version) for each in self._frozen.reply(asks)]


def test_the_caller_goes_on_while_a_step_is_played():
    learner, go = Learner(), Event()
    made = iter((None, go))
    ahead = Ahead(learner, 1, lambda: _Copy(learner, next(made)))
    assert versions(ahead.play(dealing(learner), Random(0))) == {0}  # the second step cannot have ended
    learner.learn()
    go.set()
    ahead.settle()
    made = iter((None,))
    assert versions(ahead.play(dealing(learner), Random(1))) == {0}


def test_what_is_ahead_is_saved_and_goes_on_the_same():
    straight, learner = Learner(), Learner()
    wanted = steps(Ahead(straight, 1), straight, 4)
    killed = Ahead(learner, 1, lambda: _Copy(learner))
    steps(killed, learner, 2)
    resumed = Ahead(learner, 1)
    resumed.restore(killed.state())
    assert [_said(each) for each in steps(resumed, learner, 2, seed=2)] == [_said(each) for each in wanted[2:]]
    with pytest.raises(RedQueenError, match="1 steps were played ahead, and --staleness is 0"):
        Ahead(learner).restore(killed.state())


def _said(episodes):
    """What was said: a record has no past in its asks."""
    return [[(turn.ask.messages, turn.reply.text, turn.reply.version) for turn in each.turns] for each in episodes]


def test_an_episode_is_told_of_when_it_is_handed_over():
    learner, told = Learner(), []
    ahead = Ahead(learner, 1)
    with told_of_episodes(told.append):
        first = ahead.play(dealing(learner), Random(0))
    assert told == first


def test_an_error_comes_in_its_turn():
    learner = Learner()

    class Broken(_Copy):
        def reply(self, asks):
            raise RedQueenError("it broke")

    made = iter((_Copy, Broken))
    ahead = Ahead(learner, 1, lambda: next(made)(learner))
    ahead.play(dealing(learner), Random(0))
    ahead.settle()
    with pytest.raises(RedQueenError, match="it broke"):
        ahead.state()


def test_what_cannot_be_played_beside_the_updates_is_refused():
    learner = Learner()
    with pytest.raises(RedQueenError, match="0 or more steps ahead, not -1"):
        Ahead(learner, -1)
    cast = {GAME.roles[0]: learner, GAME.roles[1]: Uniform("uniform")}
    matches = [replace(match, cast=cast) for match in dealing(learner)()]
    with pytest.raises(RedQueenError, match=r"uniform plays beside learner, .* leave --placement out"):
        Ahead(learner, 1, lambda: _Copy(learner)).play(lambda: matches, Random(0))
    waiting = replace(matches[0], game=_Waiting())
    with pytest.raises(RedQueenError, match="waits for a program"):
        Ahead(learner, 0, lambda: _Copy(learner)).play(lambda: [waiting], Random(0))


class _Waiting(KuhnPoker):
    waits = True
