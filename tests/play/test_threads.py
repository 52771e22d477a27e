import threading

import pytest

from redqueen.games.talk import told
from redqueen.play.threads import Question, Threads
from redqueen.types import Ask, RedQueenError, Reply, Seat


class Noted:
    """Notes how many asks come at a time; answers with their seeds, once it is let."""

    name = "noted"

    def __init__(self):
        self.parts = []
        self.open = threading.Event()
        self.started = threading.Semaphore(0)

    def reply(self, asks):
        self.parts.append(len(asks))
        self.started.release()
        assert self.open.wait(10)
        return [Reply(str(ask.seed), self.name) for ask in asks]


def questions(player, seeds, heard):
    return [Question(player, Ask(Seat("a"), told("?"), seed=seed), heard.append) for seed in seeds]


def taken(threads, heard, count):
    while len(heard) < count:
        threads.wait()
        threads.take()
    return sorted(int(reply.text) for reply in heard)


def test_questions_are_shared_evenly_among_free_threads():
    player, heard, threads = Noted(), [], Threads(4)
    threads.put(questions(player, range(10), heard))
    for _ in range(4):
        assert player.started.acquire(timeout=10)
    assert sorted(player.parts) == [2, 2, 3, 3]
    player.open.set()
    assert taken(threads, heard, 10) == list(range(10))
    threads.close()


def test_a_thread_that_is_free_alone_takes_all_that_waits_for_one_player():
    player, other, heard, threads = Noted(), Noted(), [], Threads(1)
    other.open.set()
    threads.put(questions(player, [0], heard))
    assert player.started.acquire(timeout=10)
    threads.put(questions(player, range(1, 6), heard))
    threads.put(questions(other, [6, 7], heard))
    player.open.set()
    assert taken(threads, heard, 8) == list(range(8))
    assert (player.parts, other.parts) == ([1, 5], [2])
    threads.close()


def test_nothing_is_told_before_it_is_taken():
    player, heard, threads = Noted(), [], Threads(2)
    player.open.set()
    threads.put(questions(player, [5], heard))
    assert threads.wait() >= 0.0
    assert heard == []
    threads.take()
    assert [reply.text for reply in heard] == ["5"]
    threads.close()


def test_threads_are_used_again_after_they_came_to_their_end():
    player, heard, threads = Noted(), [], Threads(2)
    player.open.set()
    for number in range(300):
        threads.put(questions(player, [number], heard))
        assert taken(threads, heard, number + 1)[-1] == number
    assert threads.used
    threads.close()


def test_an_error_drops_what_waits_and_is_raised_where_replies_are_taken():
    class Short(Noted):
        def reply(self, asks):
            return super().reply(asks)[1:]

    player, heard, threads = Short(), [], Threads(1)
    threads.put(questions(player, [0], heard))
    assert player.started.acquire(timeout=10)
    threads.put(questions(player, [1, 2], heard))
    player.open.set()
    threads.wait()
    with pytest.raises(RedQueenError, match="'noted' gave 0 replies to 1 asks"):
        threads.take()
    threads.close()
    assert player.parts == [1]
    threads.put(questions(player, [3, 4], heard))  # it can be used again
    threads.wait()
    with pytest.raises(RedQueenError, match="1 replies to 2 asks"):
        threads.take()
    threads.close()


def test_after_an_error_nobody_is_asked_any_more():
    class Broken(Noted):
        def reply(self, asks):
            raise ZeroDivisionError("as it is")

    player, heard, threads = Noted(), [], Threads(2)
    threads.put(questions(player, [0], heard))
    assert player.started.acquire(timeout=10)
    threads.put([*questions(Broken(), [1], heard), *questions(player, [2, 3], heard)])
    threads.wait()
    player.open.set()
    assert not player.started.acquire(timeout=0.2)
    threads.close()


def test_waiting_for_nobody_is_a_mistake():
    with pytest.raises(AssertionError, match="nobody is asked"):
        Threads(1).wait()
