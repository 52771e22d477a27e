"""What a long computation says of how far it has come."""

import pytest

from redqueen import progress
from redqueen.progress import counted, so_far, stage


@pytest.fixture
def clock(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_what_is_left_is_estimated_from_what_is_done(clock):
    assert so_far() == ""
    with stage("matches", 512) as playing:
        assert so_far() == "0 of at most 512 matches"
        clock[0], playing.done = 10.0, 128
        assert so_far() == "128 of at most 512 matches, about 30 s left"
    assert so_far() == ""


def test_the_innermost_that_moves_is_told_and_the_outermost_says_what_for(clock):
    with stage("measurements", 2), stage("matches", 64), stage("tokens", 4096) as growing:
        clock[0], growing.done = 5.0, 1024
        assert so_far() == "1 of 2 measurements: 1,024 of at most 4,096 tokens, about 15 s left"
    with stage("measuring", 1), stage("tokens", 64) as growing:
        clock[0], growing.done = clock[0] + 1.0, 32
        assert so_far() == "measuring: 32 of at most 64 tokens, about 1 s left"
    with stage("matches", 8) as playing, stage("tokens", 64):
        playing.done, clock[0] = 4, clock[0] + 2.0
        assert so_far() == "4 of at most 8 matches, about 2 s left"


def test_what_is_gone_through_is_counted_and_over_when_it_ends_early():
    found = [so_far() for _ in counted("parts", "ab")]
    assert found[0] == "0 of at most 2 parts" and found[1].startswith("1 of at most 2 parts")
    with pytest.raises(ZeroDivisionError):
        for _ in counted("parts", "ab"):
            assert 1 / 0
    assert so_far() == ""
