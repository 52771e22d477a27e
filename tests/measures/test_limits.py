"""Every measure that samples has no more replies than its run allows."""

import pytest

from redqueen.measures.accuracy import HeldOut
from redqueen.measures.of_members import OfMembers
from redqueen.questions.small.sums import Sums
from redqueen.types import Reply

SUMS = Sums()


class Counts:
    """Says the same to everybody and counts how often."""

    name, version, open = "counts", 0, False

    def __init__(self):
        self.replies = 0

    def reply(self, asks):
        self.replies += len(asks)
        return [Reply("2", self.name) for _ in asks]


@pytest.mark.parametrize(
    "made", [lambda player: HeldOut(SUMS, player, 16), lambda player: OfMembers(SUMS, [player] * 2, 16, 0, "wrong")]
)
def test_a_measurement_has_at_most_as_many_replies_as_its_run_allows(made):
    free, limited = Counts(), Counts()
    made(free)()
    measure = made(limited)
    measure.limit(40)
    assert measure() and 0 < limited.replies <= 40 < free.replies
