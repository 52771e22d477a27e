import pytest

from redqueen.types import Ask, Episode, Message, Outcome, Reply, Seat, Task, Turn

SEATS = (Seat("first"), Seat("second"))


@pytest.fixture
def met():
    """A match between two players by name, and what the first of them won."""

    def match(one, other, margin):
        turns = tuple(
            Turn(Ask(seat, (Message("game", "?"),)), Reply("x", name))
            for seat, name in zip(SEATS, (one, other), strict=True)
        )
        return Episode("toy", Task("t"), 0, turns, Outcome({SEATS[0]: margin, SEATS[1]: -margin}), SEATS)

    return match
