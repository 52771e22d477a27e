"""What every tier that runs a model's programs must withstand: programs that attack it, and their trial.

    with laid_bait() as bait:
        assert not breaches(tier, bait, ATTACKS)  # of `redqueen.checks.sandbox.attack_programs`

A program has got through when it learns what it must not know, changes or reaches anything outside, outlives its
limit, ends in a way that it should not have, or keeps the next program from its right value.
"""

from __future__ import annotations

import os
import secrets
import socket
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import astuple, dataclass
from pathlib import Path

from redqueen.checks.sandbox.runs_of_programs import Kind, Program, Tier, Verdict

ORDINARY = Program("def f(x):\n    return x * 2\n", "f", (21,))
ORDINARY_ENDS = Verdict(Kind.VALUE, "42")
GRACE = 2.0  # seconds beyond its limit in which the verdict on an attack must be there


@dataclass(frozen=True)
class Attack:
    """A hostile program, and the ends that show it failed."""

    name: str
    tries: str
    kinds: frozenset[Kind]  # the kinds of verdict that are harmless
    source: str  # words such as @FILE@ stand for the bait
    function: str = "f"
    value: str = ""  # the only harmless literal for a VALUE; "" where any is

    def program(self, bait: Bait) -> Program:
        """The program, aimed at the bait."""
        source = self.source
        for word, aim in bait.aims().items():
            source = source.replace(word, aim)
        return Program(source, self.function)


@dataclass(frozen=True)
class Bait:
    """Things of the outside world that no program may reach."""

    token: str  # stands in a file, in the environment and behind the sockets
    folder: Path  # anyone may write to it; it holds the file with the token
    tcp: socket.socket
    udp: socket.socket
    unix: socket.socket
    abstract: socket.socket

    @property
    def file(self) -> Path:
        return self.folder / "secret.txt"

    @property
    def variable(self) -> str:
        """The environment variable that holds the token."""
        return f"REDQUEEN_BAIT_{self.token.removeprefix('bait-').upper()}"

    def aims(self) -> dict[str, str]:
        """What each word in the source of an attack stands for."""
        return {
            "@FILE@": str(self.file),
            "@FOLDER@": str(self.folder),
            "@VARIABLE@": self.variable,
            "@TCP@": str(self.tcp.getsockname()[1]),
            "@UDP@": str(self.udp.getsockname()[1]),
            "@UNIX@": str(self.folder / "socket"),
            "@ABSTRACT@": self.abstract.getsockname()[1:].decode(),
            "@PARENT@": str(os.getpid()),
        }

    def taken(self) -> str:
        """The bait that was touched since it was laid, "" for none."""
        if sorted(os.listdir(self.folder)) != ["secret.txt", "socket"] or self.file.read_text() != self.token:
            return "a file outside"
        for name, listening in (("a tcp", self.tcp), ("a unix", self.unix), ("an abstract", self.abstract)):
            with suppress(BlockingIOError):
                listening.accept()[0].close()
                return f"{name} socket outside"
        with suppress(BlockingIOError):
            self.udp.recv(1)
            return "a udp socket outside"
        return ""


@contextmanager
def laid_bait() -> Iterator[Bait]:
    """Bait in a temporary folder, on local sockets and in this process's environment, taken away at the end."""
    token = "bait-" + secrets.token_hex(8)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.chmod(0o777)
        (folder / "secret.txt").write_text(token)
        (folder / "secret.txt").chmod(0o666)
        tcp = stack.enter_context(_listening(socket.AF_INET, ("127.0.0.1", 0)))
        unix = stack.enter_context(_listening(socket.AF_UNIX, str(folder / "socket")))
        abstract = stack.enter_context(_listening(socket.AF_UNIX, f"\0{token[5:]}-socket"))
        udp = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        udp.bind(("127.0.0.1", 0))
        udp.setblocking(False)
        bait = Bait(token, folder, tcp, udp, unix, abstract)
        os.environ[bait.variable] = token
        stack.callback(os.environ.pop, bait.variable)
        yield bait


def _listening(family: int, address: str | tuple[str, int]) -> socket.socket:
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.bind(address)
    listener.listen()
    listener.setblocking(False)
    return listener


@dataclass(frozen=True)
class Breach:
    """An attack that got through, and its evidence."""

    attack: str
    reason: str
    verdict: Verdict


def breaches(
    tier: Tier,
    bait: Bait,
    attacks: Sequence[Attack],
    seconds: float = 1.0,
    tolerated: frozenset[Kind] = frozenset({Kind.UNSUPPORTED}),
) -> list[Breach]:
    """The attacks that got through a tier, whose limit of time is `seconds`. Kinds that are `tolerated` count as
    harmless for every attack."""
    found = []
    for attack in attacks:
        began = time.monotonic()
        (verdict,) = tier.run([attack.program(bait)])
        took = time.monotonic() - began
        (after,) = tier.run([ORDINARY])
        reason = _reason(attack, verdict, bait, tolerated)
        if not reason and took > seconds + GRACE:
            reason = f"it took {took:.1f} seconds"
        if not reason and after != ORDINARY_ENDS:
            reason = f"the next program ended with {after}"
        if reason:
            found.append(Breach(attack.name, reason, verdict))
    return found


def _reason(attack: Attack, verdict: Verdict, bait: Bait, tolerated: frozenset[Kind]) -> str:
    if any(bait.token in str(field) for field in astuple(verdict)):
        return "it came out with a secret"
    if taken := bait.taken():
        return f"it reached {taken}"
    if verdict.kind not in attack.kinds | tolerated:
        return f"it ended with {verdict.kind}"
    if verdict.kind is Kind.VALUE and attack.value not in ("", verdict.value):
        return f"its value is {verdict.value[:80]}, not {attack.value}"
    return ""
