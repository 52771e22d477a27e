"""Every tier against every attack. A tier joins by a line in TIERS: its name, and what makes it."""

import os
import socket

import pytest

from redqueen.checks.sandbox.attack_programs import ATTACKS
from redqueen.checks.sandbox.attacks import ORDINARY, ORDINARY_ENDS, Attack, breaches, laid_bait
from redqueen.checks.sandbox.jail import OFFERED, Jail
from redqueen.checks.sandbox.runs_of_programs import Kind, Limits, Verdict

SECONDS = 0.3
LIMITS = Limits(seconds=SECONDS)
# loaded before the jail closes, so that only the kernel is left to stop what they do
DANGEROUS = (
    *("os", "posix", "ctypes", "socket", "subprocess", "threading", "signal", "mmap", "fcntl", "resource", "select"),
    *("multiprocessing", "multiprocessing.pool", "multiprocessing.queues", "multiprocessing.popen_fork", "pathlib"),
    *("tempfile", "atexit", "gc", "importlib", "urllib.request", "pty", "shutil", "asyncio", "faulthandler"),
)
TIERS = {
    "jail": lambda: Jail(LIMITS, workers=1),
    "jail that imports anything": lambda: Jail(LIMITS, workers=1, offered=OFFERED + DANGEROUS),
}


@pytest.fixture(scope="module")
def bait():
    with laid_bait() as laid:
        yield laid


@pytest.fixture(scope="module", params=TIERS)
def tier(request, bait):
    made = TIERS[request.param]()
    yield made
    made.close()


@pytest.mark.slow
@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_no_attack_gets_through(tier, bait, attack):
    assert not breaches(tier, bait, [attack], SECONDS, tolerated=frozenset())


class Fake:
    """A tier that ends every program in one way, and sees them."""

    def __init__(self, verdict, after=ORDINARY_ENDS):
        self.verdict, self.after, self.seen = verdict, after, []

    def run(self, programs, hash_seed=0):
        self.seen += programs
        return [self.after if program == ORDINARY else self.verdict for program in programs]

    def close(self):
        pass


REFUSED = Attack("a", "tries", frozenset({Kind.FORBIDDEN, Kind.VALUE}), "@FILE@ @VARIABLE@", value="[]")


@pytest.mark.parametrize(
    ("tier", "reason"),
    [
        (Fake(Verdict(Kind.FORBIDDEN)), ""),
        (Fake(Verdict(Kind.VALUE, "[]")), ""),
        (Fake(Verdict(Kind.UNSUPPORTED)), ""),
        (Fake(Verdict(Kind.TIMEOUT)), "it ended with timeout"),
        (Fake(Verdict(Kind.VALUE, "7")), "its value is 7, not []"),
        (Fake(Verdict(Kind.FORBIDDEN), after=Verdict(Kind.TIMEOUT)), "the next program ended with "),
    ],
)
def test_the_trial_tells_what_got_through(bait, tier, reason):
    found = breaches(tier, bait, [REFUSED])
    assert [breach.reason[: len(reason)] for breach in found] == ([reason] if reason else [])


def test_the_trial_sees_a_secret_that_comes_out(bait):
    (breach,) = breaches(Fake(Verdict(Kind.FORBIDDEN, message=f"no {bait.token}")), bait, [REFUSED])
    assert breach.reason == "it came out with a secret"


def test_an_attack_is_aimed_at_the_bait(bait):
    assert REFUSED.program(bait).source == f"{bait.folder}/secret.txt {bait.variable}"
    assert os.environ[bait.variable] == bait.file.read_text() == bait.token


@pytest.mark.parametrize(
    ("touch", "taken"),
    [
        (lambda bait: (bait.folder / "new").write_text("x"), "a file outside"),
        (lambda bait: bait.file.write_text("x"), "a file outside"),
        (lambda bait: socket.create_connection(bait.tcp.getsockname()).close(), "a tcp socket outside"),
        (lambda bait: reach(socket.AF_UNIX, str(bait.folder / "socket")), "a unix socket outside"),
        (lambda bait: reach(socket.AF_UNIX, bait.abstract.getsockname()), "an abstract socket outside"),
    ],
)
def test_the_bait_tells_that_it_was_touched(touch, taken):
    with laid_bait() as bait:
        assert bait.taken() == ""
        touch(bait)
        assert bait.taken() == taken


def reach(family, address):
    with socket.socket(family) as mine:
        mine.connect(address)


@pytest.mark.slow
def test_no_two_attacks_share_a_name():
    names = [attack.name for attack in ATTACKS]
    assert len(set(names)) == len(names) > 100
