"""The process apart: it answers, is killed at its limits, starts again, and leaves nothing behind."""

from __future__ import annotations

import gc
import os
import time

import pytest

from redqueen.checks.worker import Undecided, Worker
from redqueen.types import RedQueenError

MODULE = """
import os, time
from redqueen.types import RedQueenError

def prepare():
    print("a library that talks")
    def answer(question):
        kind, *rest = question
        if kind == "echo":
            print("and talks")
            return rest
        if kind == "pid":
            return os.getpid()
        if kind == "busy":
            while True: pass
        if kind == "deep in C":
            return 10 ** 10 ** 9
        if kind == "asleep":
            time.sleep(60)
        if kind == "memory":
            return len(bytearray(3 << 30))
        if kind == "death":
            os.kill(os.getpid(), 9)
        if kind == "refused":
            raise RedQueenError("the user's fault")
        raise KeyError("a bug")
    return answer

def missing():
    raise RedQueenError("needs the extra [x]")
"""


@pytest.fixture
def worker(tmp_path, monkeypatch):
    (tmp_path / "apart_for_test.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    worker = Worker("apart_for_test:prepare", seconds=0.3, memory=2 << 30)
    yield worker
    worker.close()


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_answers_come_back_whatever_the_library_prints(worker):
    assert worker.ask(["echo", 1, "ü\n", None]) == [1, "ü\n", None]
    assert worker.ask(["echo", "x" * 200_000]) == ["x" * 200_000]


LOST = [("busy", "time"), ("deep in C", "time"), ("memory", "memory"), ("death", "death")]


@pytest.mark.parametrize(("kind", "reason"), LOST)
def test_a_process_past_its_limits_is_ended_and_the_next_question_is_answered(worker, monkeypatch, kind, reason):
    monkeypatch.setattr("redqueen.checks.worker.PATIENCE", 1000.0)  # the clock on the wall ends nothing here
    first = worker.ask(["pid"])
    began = time.monotonic()
    with pytest.raises(Undecided) as raised:
        worker.ask([kind])
    assert raised.value.reason == reason
    assert time.monotonic() - began < 20
    assert not alive(first)
    assert worker.ask(["echo", 7]) == [7]


def test_a_process_that_sleeps_is_ended_by_the_clock(worker):
    first = worker.ask(["pid"])
    with pytest.raises(Undecided, match="time"):
        worker.ask(["asleep"])
    assert not alive(first)
    assert worker.ask(["echo", 7]) == [7]


def test_one_process_is_kept_warm(worker):
    assert worker.ask(["pid"]) == worker.ask(["pid"])


def test_the_limit_is_on_each_answer_not_on_all(worker):
    pid = worker.ask(["pid"])
    for _ in range(40):
        worker.ask(["echo", "x" * 300_000])  # together more than 0.3 s
    assert worker.ask(["pid"]) == pid


def test_a_users_error_and_a_bug_keep_their_kind(worker):
    with pytest.raises(RedQueenError, match="the user's fault"):
        worker.ask(["refused"])
    with pytest.raises(RuntimeError, match="KeyError: 'a bug'"):
        worker.ask(["bug"])
    assert worker.ask(["echo"]) == []


def test_what_cannot_start_says_why(worker):
    with pytest.raises(RedQueenError, match=r"needs the extra \[x\]"):
        Worker("apart_for_test:missing", 1.0, 2 << 30).ask(1)
    with pytest.raises(RuntimeError, match="no_such_module"):
        Worker("no_such_module:x", 1.0, 2 << 30).ask(1)
    with pytest.raises(RedQueenError, match="above 0"):
        Worker("apart_for_test:prepare", 0.0, 2 << 30)


def test_a_process_that_died_while_idle_is_replaced(worker):
    pid = worker.ask(["pid"])
    os.kill(pid, 9)
    deadline = time.monotonic() + 5
    while worker._process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    assert worker.ask(["pid"]) != pid


def test_the_process_ends_with_its_owner(worker):
    lone = Worker("apart_for_test:prepare", 1.0, 2 << 30)
    pid = lone.ask(["pid"])
    del lone
    gc.collect()
    assert not alive(pid)
    pid = worker.ask(["pid"])
    worker.close()
    assert not alive(pid)
