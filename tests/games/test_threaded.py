"""Games whose matches run in threads: they say what the game says, and a slow tool holds up its own match alone."""

import gc
import queue
import threading
from dataclasses import dataclass, field
from random import Random

import pytest

from redqueen.contracts.games import check_game
from redqueen.games.acting import Acting, Working
from redqueen.games.catalogue import find_game
from redqueen.games.threaded import Threaded
from redqueen.play.flow import Flow
from redqueen.play.lockstep import play, replay
from redqueen.players.scripted import Scripted, Uniform
from redqueen.players.tabular import TabularPolicy
from redqueen.records import episode_to_json
from redqueen.types import Assessment, Match, Observation, RedQueenError, Task
from redqueen.worlds.site import Site
from redqueen.worlds.sql import Sql


def told(episodes):
    return [episode_to_json(episode) for episode in episodes]


def matches(game, player, count=6):
    return [Match(game, task, {"agent": player}, number) for number, task in enumerate(game.tasks()[:count])]


def test_matches_in_threads_are_those_of_the_game():
    game = Acting(Site(count=6, tests=2), 4)
    alone = play(matches(game, Uniform()), Random(0))
    apart = play(matches(Threaded(game, 3), Uniform()), Random(0))
    assert told(apart) == told(alone)
    assert told([replay(Threaded(game), alone[0])]) == told(alone[:1])
    check_game(find_game("threaded:acting:site(mail,3,2),2"))


def test_a_database_is_used_by_the_thread_that_opened_it():
    game = Working(Sql("filter", count=4, tests=2, trained=2, held=1))
    query = game.expert(game.tasks()[0])[0]
    agent = Scripted((f"<sql>{query}</sql>", query))
    assert told(play(matches(Threaded(game), agent), Random(0))) == told(play(matches(game, agent), Random(0)))


@dataclass
class Slow:
    """A world whose tool does what a function does."""

    tool: object
    name: str = "slow"
    repeatable = True
    threads: list = field(default_factory=list)

    def tasks(self):
        return [Task(f"t{number}", prompt="Look.") for number in range(4)]

    def held_out(self):
        return [Task("h", prompt="Look.")]

    def open(self, task, seed):
        return Looks(self.tool, self.threads)


class Looks:
    def __init__(self, tool, threads):
        self.tools, self._tool, self._threads = (self,), tool, threads
        self._own = {threading.get_ident()}
        threads.append(self._own)

    name, usage = "look", "<look>x</look> looks."

    def __call__(self, text):
        self._own.add(threading.get_ident())
        return self._tool(text)

    def look(self):
        return Observation("A room.")

    def act(self, said):
        return Observation("No.")

    def state(self):
        return {}

    def assess(self, answer=""):
        return Assessment(float(answer == "seen"))

    def close(self):
        self._own.add(threading.get_ident())


LOOKS = Scripted(("<look>x</look>", "seen"))


def test_tools_of_several_matches_run_at_a_time_each_in_its_own_thread():
    together = threading.Barrier(4, timeout=20)  # passes nobody until four tools run
    world = Slow(lambda text: f"You are one of {together.parties} {together.wait() * 0}.")
    episodes = play(matches(Threaded(Working(world), 4), LOOKS), Random(0))
    assert [episode.outcome.scores for episode in episodes] == [{episode.seats[0]: 1.0} for episode in episodes]
    assert [len(own) for own in world.threads] == [1] * 4
    assert len(set.union(*world.threads)) == 4


def test_no_more_run_at_a_time_than_is_said():
    running, most, lock = [], [], threading.Lock()

    def tool(text):
        with lock:
            running.append(text)
            most.append(len(running))
        threading.Event().wait(0.01)
        with lock:
            running.pop()
        return "seen"

    play(matches(Threaded(Working(Slow(tool)), 2), LOOKS), Random(0))
    assert max(most) <= 2
    with pytest.raises(RedQueenError, match="step 1 or more at once, not 0"):
        find_game("threaded:acting:site(mail,3,2),0")


def test_matches_stay_in_flight_and_are_dropped_with_their_visits_closed():
    closed = queue.SimpleQueue()

    class Closes(Slow):
        def open(self, task, seed):
            visit = super().open(task, seed)
            visit.close = lambda: closed.put(threading.get_ident())
            return visit

    learner = TabularPolicy(learning_rate=1.0)
    game = Threaded(Working(Closes(lambda text: "seen")))
    flow = Flow([game], learner, count=2, staleness=1, known=lambda: [LOOKS])
    assert len(flow.play(matches(game, LOOKS), Random(0))) == 2
    restored = Flow([game], learner, count=2, staleness=1, known=lambda: [LOOKS])
    restored.restore(flow.state())
    assert len(restored.play(matches(game, LOOKS, 2), Random(1))) == 2
    del flow, restored, game
    gc.collect()
    for _ in range(8):
        closed.get(timeout=20)


def test_an_error_of_a_tool_ends_the_run():
    def breaks(text):
        raise ZeroDivisionError("of the tool")

    with pytest.raises(ZeroDivisionError, match="of the tool"):
        play(matches(Threaded(Working(Slow(breaks))), LOOKS), Random(0))


def test_a_game_without_held_out_tasks_is_refused():
    with pytest.raises(RedQueenError, match="kuhn_poker holds no tasks out"):
        find_game("threaded:kuhn_poker")
    with pytest.raises(RedQueenError, match="it has no expert"):
        Threaded(Working(Slow(str))).expert(Task("t"))
