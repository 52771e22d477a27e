"""Gives damaged and hostile input to what reads the words of others, and counts what goes wrong.

python tests/torture/fuzz.py SECONDS [SEED [KIND ...]]     one share; `make torture` runs it after the kills

    replies      a text to every answer format, and the same text as a reply in a shipped game
    templates    a chat template, before the first prompt is made of it
    tasks        a file of questions, under `redqueen check`
    requests     an HTTP request to the page of `redqueen serve`, without a socket
    endpoints    what an endpoint on loopback answers, from its first byte on, to a reply and to a rating
    folders      a run of a league, or of a recipe with a tiny model, one file damaged, or three and their hashes made
                 to fit (`tests/trust/fuzz_folders.py`), under two of eight commands; nothing outside may change

Well is what answers, or refuses in one line (RedQueenError), within `PATIENCE` seconds of
processor time. Input begins with what stands
in `corpus.jsonl` (all that once went wrong is among it) and is then mutated; a seed decides everything but how much is
tried in the time. The process may hold `MEMORY` bytes. The last lines are rows for docs/reliability.md; where
TORTURE_LEDGER names a file they are appended to that (`ledger.py`).
"""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import importlib.util
import io
import json
import os
import re
import resource
import signal
import socket
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from ledger import append, shown

from redqueen.cli.main import main
from redqueen.contracts.recipes import shrunk
from redqueen.games.catalogue import GAMES, find_game
from redqueen.play.lockstep import play
from redqueen.players.endpoint import Server
from redqueen.players.language import answers
from redqueen.players.language.chat_format import ChatFormat
from redqueen.players.transformer.loading import tiny_tokenizer
from redqueen.records import episode_from_json, episode_to_json
from redqueen.runs.run import Schedule
from redqueen.runs.train import train
from redqueen.settings.finding import find_recipe
from redqueen.types import Ask, Match, Message, RedQueenError, Reply, Seat
from redqueen.views.serve.app import application
from redqueen.views.serve.menu import Menu
from redqueen.views.serve.room import Room

HERE = Path(__file__).parent
CORPUS = HERE / "corpus.jsonl"
FOLDERS = HERE.parent / "trust" / "fuzz_folders.py"
PATIENCE = 10
MEMORY = 12 << 30  # bytes
FORMATS = (*(answers.Plain(), answers.Boxed(), answers.Bracketed(), answers.Tagged(), answers.Json(), answers.Code()),)
PIECES = (
    *("\\boxed{", "}", "{", "[", "]", "<answer>", "</answer>", "<think>", "</think>", "```python\n", "```"),
    *('{"answer": "', '"}', "\x00", "\ud800", "\x1b[31m", "‮", "　", "١٢", "²", "½", "1e999", "-0", "nan", "9" * 400),
    *("\\", "\n" * 50, "((" * 60, "))" * 60, "[" * 200, "{{", "}}", "{%", "%}", "{% for m in messages %}"),
    *("{{ m.content }}", "<|im_end|>", "ﬁ", "İ", "ß", "\r\n", "\t", ",", '"', "'", "|" * 90, "<script>", "../.."),
    *("%00", "a" * 3000, "😀" * 30, "null"),
)
LONGEST = 20_000
CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")  # and what turns lines about
SHOWN = 500  # faults of a kind that are printed


def mutated(text: str, random: Random) -> str:
    """The text after one to six changes."""
    for _ in range(random.choice((1, 1, 2, 3, 6))):
        text = random.choice((cut, inserted, replaced, repeated, changed, turned))(text, random)[:LONGEST]
    return text


def _span(text: str, random: Random) -> tuple[int, int]:
    one, other = (random.randrange(len(text) + 1) for _ in range(2))
    return min(one, other), max(one, other)


def cut(text: str, random: Random) -> str:
    at, end = _span(text, random)
    return text[:at] + text[end:]


def inserted(text: str, random: Random) -> str:
    at, _ = _span(text, random)
    return text[:at] + random.choice(PIECES) + text[at:]


def replaced(text: str, random: Random) -> str:
    at, end = _span(text, random)
    return text[:at] + random.choice(PIECES) + text[end:]


def repeated(text: str, random: Random) -> str:
    at, end = _span(text, random)
    return text[:end] + text[at:end] * random.choice((1, 2, 30)) + text[end:]


def changed(text: str, random: Random) -> str:
    at, _ = _span(text, random)
    return text[:at] + chr(random.choice((random.randrange(128), random.randrange(0xD800)))) + text[at + 1 :]


def turned(text: str, random: Random) -> str:
    return text[::-1]


class Replies:
    """Answer formats and games."""

    def __init__(self, place: Path) -> None:
        self.games = [find_game(name) for name in GAMES]

    def try_one(self, text: str, random: Random) -> None:
        choices = random.choice(((), ("a", "b"), ("pass", "bet"), ("1", "2", "33")))
        for form in FORMATS:
            thought, action = form.parse(text, choices)
            assert isinstance(action, str) and isinstance(thought, str)
        game = random.choice(self.games)
        task = random.choice(game.tasks())
        player = _Says(text, random.random())
        (episode,) = play([Match(game, task, dict.fromkeys(game.roles, player), 7)], Random(0))
        assert all(np.isfinite(score) for score in episode.outcome.scores.values())
        json.dumps(episode_to_json(episode_from_json(json.loads(json.dumps(episode_to_json(episode))))))


class _Says:
    """Says a text now and then, and else what is legal."""

    name = "says"

    def __init__(self, text: str, often: float) -> None:
        self.text, self.often, self.random = text, often, Random(len(text))

    def reply(self, asks: Sequence[Ask]) -> list[Reply]:
        told = [self.random.random() < self.often or not ask.choices for ask in asks]
        return [
            Reply(self.text if mine else self.random.choice(ask.choices), self.name)
            for ask, mine in zip(asks, told, strict=True)
        ]


class Templates:
    """Chat templates."""

    def __init__(self, place: Path) -> None:
        self.ask = Ask(Seat("solver"), (Message("system", "be brief"), Message("game", "what is 1 + 1?")))

    def try_one(self, text: str, random: Random) -> None:
        tokenizer = tiny_tokenizer()
        tokenizer.chat_template = text
        ChatFormat(tokenizer).prompt(self.ask)


class Tasks:
    """Files of questions."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def try_one(self, text: str, random: Random) -> None:
        path = self.place / random.choice(("questions.jsonl", "questions.csv", "questions.json"))
        path.write_bytes(text.encode(errors=random.choice(("surrogatepass", "replace"))))
        _commanded(["check", str(path)])


class Requests:
    """The page of a run."""

    def __init__(self, place: Path) -> None:
        config = shrunk(find_recipe("spiral").Config(), steps=2)
        train("spiral", config, place / "served", schedule=Schedule(record_episodes=1))
        self.folder = place / "served"
        self.app = application(Room(Menu(self.folder)), "127.0.0.1")
        self.keys = [""]

    def try_one(self, text: str, random: Random) -> None:
        line, _, body = text.partition("\n")
        method, _, path = line.partition(" ")
        path = path.replace("KEY", random.choice(self.keys))
        plain = [(b"host", b"127.0.0.1"), (b"content-type", b"application/json")]
        odd = [(piece.encode(errors="replace"), random.choice(PIECES).encode(errors="replace")) for piece in PIECES[:2]]
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method or "GET",
            "scheme": "http",
            "path": path.partition("?")[0],
            "raw_path": path.encode(errors="replace"),
            "query_string": path.partition("?")[2].encode(errors="replace"),
            "root_path": "",
            "headers": plain + (odd if random.random() < 0.2 else []),
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 80),
        }
        sent: list[dict[str, Any]] = []
        said = body.replace("KEY", random.choice(self.keys)).encode(errors="surrogatepass")
        asyncio.run(_asked(self.app, scope, said, sent))
        status, content = sent[0]["status"], b"".join(each.get("body", b"") for each in sent)
        assert status < 500, f"status {status}: {content[:200]!r}"
        if b'"key"' in content:
            with contextlib.suppress(ValueError, KeyError, TypeError):
                self.keys = [*self.keys, json.loads(content)["key"]][-8:]


async def _asked(app: Any, scope: dict[str, Any], body: bytes, sent: list[dict[str, Any]]) -> None:
    parts = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def receive() -> dict[str, Any]:
        return next(parts, {"type": "http.disconnect"})

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await app(scope, receive, send)


class Endpoints:
    """Answers of an endpoint on loopback."""

    asks = (Ask(Seat("first"), (Message("system", "Bet or pass?"),), seed=1),)
    rated = (Ask(Seat("first"), (Message("system", "A or B?"),), ("A", "B"), seed=1),)
    key = "sk-nobody-may-see-this"

    def __init__(self, place: Path) -> None:
        os.environ["OPENAI_API_KEY"] = self.key
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.sent = b""
        threading.Thread(target=self._answer, daemon=True).start()
        url = f"http://127.0.0.1:{self.listening.getsockname()[1]}/v1"
        self.player = Server("model", url, retries=0, timeout=2.0, total=2.0, largest=1 << 20)

    def _answer(self) -> None:
        while True:
            connection, _ = self.listening.accept()
            with connection, contextlib.suppress(OSError):
                connection.settimeout(5.0)
                connection.recv(1 << 16)
                connection.sendall(self.sent)
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(1 << 16):
                    pass

    def try_one(self, text: str, random: Random) -> None:
        content = text.encode(errors="surrogatepass")
        packed = random.random() < 0.2
        if packed:
            content = gzip.compress(content)[: random.choice((None, None, -1, 20))]
        head = f"HTTP/1.1 {random.choice((200, 200, 200, 200, 204, 302, 400, 401, 404, 429, 500))} so\r\n"
        head += "Content-Encoding: gzip\r\n" * packed
        length = len(content) + random.choice((0, 0, 0, 0, 1, -1, 10**9))
        whole = f"{head}Content-Length: {length}\r\n\r\n".encode() + content
        self.sent = text.encode("latin-1", "replace") if text.startswith("HTTP") else whole
        try:
            if random.random() < 0.3:
                (found,) = self.player.rate_choices(self.rated)
                assert np.isnan(found).all() or abs(found.sum() - 1.0) < 1e-9, f"rated {found}"
            else:
                (reply,) = self.player.reply(self.asks)
                assert self.key not in json.dumps([reply.text, reply.thought, reply.working])
                (reply.text + reply.thought + reply.working).encode()
        except RedQueenError as error:
            assert self.key not in str(error)
            assert not CONTROL.search(str(error)), f"a control character: {str(error)[:300]!r}"
            raise


class Folders:
    """Runs that are damaged."""

    mutates = False

    def __init__(self, place: Path) -> None:
        plan = importlib.util.spec_from_file_location("fuzz_folders", FOLDERS)
        assert plan and plan.loader
        self.module = importlib.util.module_from_spec(plan)
        sys.modules[plan.name] = self.module
        plan.loader.exec_module(self.module)
        self.place = place
        self.made: dict[str, Path] = {}

    def prepare(self, text: str) -> None:
        """Trains a run, with all that is imported for it, before anybody counts the time that reading takes."""
        if text not in self.made:
            folder = self.place / f"run of {text}"
            make = self.module.template if text == "league" else partial(self.module.template_of, text)
            make(folder)
            self.made[text] = folder

    def try_one(self, text: str, random: Random) -> None:
        self.prepare(text)
        folder = self.made[text]
        ways = (self.module.damage, self.module.damage, self.module.damage_inside)
        found = self.module.tried(folder, random.getrandbits(32), random.choice(ways), most=2)
        assert not found, f"{text}: {found}"


def _commanded(words: list[str]) -> None:
    """Runs a command, which must end well or refuse in one line."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main(words)
    assert status in (0, 2), f"exit status {status}"
    assert status == 0 or err.getvalue().count("\n") == 1, f"not one line: {err.getvalue()[:300]!r}"


KINDS: dict[str, Callable[[Path], Any]] = {
    "replies": Replies,
    "templates": Templates,
    "tasks": Tasks,
    "requests": Requests,
    "endpoints": Endpoints,
    "folders": Folders,
}


def corpus(kind: str) -> list[str]:
    """The texts to begin with."""
    rows = [json.loads(line) for line in CORPUS.read_text(encoding="utf-8").splitlines()]
    return [row["text"] for row in rows if row["kind"] == kind]


def fault(trial: Any, text: str, random: Random) -> str:
    """What went wrong with a text; "" if all is well."""
    if isinstance(trial, Folders):
        trial.prepare(text)
    signal.setitimer(signal.ITIMER_PROF, PATIENCE)  # processor time: a busy machine is no hang
    signal.alarm(20 * PATIENCE)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            trial.try_one(text, random)
    except RedQueenError as error:
        return "not one line: " + str(error)[:200] if "\n" in str(error) else ""
    except _Hung:
        return f"hung for {PATIENCE} s"
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__}: {str(error)[:600]} ({Path(where.filename).name}, line {where.lineno})"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.alarm(0)
    return ""


class _Hung(BaseException):
    pass


def _hang(number: int, frame: Any) -> None:
    raise _Hung


@contextlib.contextmanager
def own_folder() -> Iterator[Path]:
    for number in (signal.SIGALRM, signal.SIGPROF):
        signal.signal(number, _hang)
    with tempfile.TemporaryDirectory() as place:
        os.environ["XDG_CONFIG_HOME"] = f"{place}/config"
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
        yield Path(place)


def share(seconds: float, seed: int, kinds: Sequence[str]) -> int:
    """Tries each kind for an equal part of the time; prints what went wrong and returns how often."""
    wrong = 0
    with own_folder() as place:
        for kind in kinds or KINDS:
            trial, begun, random = KINDS[kind](place), corpus(kind), Random(seed)
            end, tried, faults = time.monotonic() + seconds / len(kinds or KINDS), 0, 0
            mutate = mutated if getattr(trial, "mutates", True) else lambda text, random: text
            while tried < len(begun) or time.monotonic() < end:
                text = begun[tried] if tried < len(begun) else mutate(random.choice(begun), random)
                tried += 1
                if found := fault(trial, text, random):
                    faults += 1
                    if faults <= SHOWN:
                        print(f"{kind}: {found}\n{json.dumps({'kind': kind, 'text': text})}", flush=True)
            row = {"what": kind, "seed": seed, "tried": tried, "wrong": faults}
            append(row)
            print(shown(row), flush=True)
            wrong += faults
    return wrong


if __name__ == "__main__":
    words = sys.argv[1:]
    raise SystemExit(share(float(words[0]), int(words[1]) if len(words) > 1 else 0, words[2:]) > 0)
