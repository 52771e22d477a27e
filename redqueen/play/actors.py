"""Games that are stepped in processes of their own, so that those of a round step at the same time (`--actors`).

    actors = Actors(2)
    episodes = finished(actors.seated(matches), base, parts=2)      # as without them

    here                                          an actor
    begin 7: the task, its random generator  ->   game.play(...) until it asks
                                             <-   7 asks ...
    go on with 7: replies                    ->   until it asks again, or is over
                                             <-   7 is over: its outcome

What is sent is gathered by actor until an answer is waited for: a message a round and actor. Replies come from here,
and all that makes an episode is made here: seeds, records, what each seat has seen. So the episodes are those without
actors, whatever their number, as far as a player's reply does not depend on the others of its call. With two `parts` of
the matches one part steps while the players answer the other. Games and tasks travel by pickle over sockets that nobody
else holds. (Actors and the inference stream of SRL, arXiv:2306.16688, section 3; weights stay here.)
"""

from __future__ import annotations

import copyreg
import os
import pickle
import select
import socket
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from io import BytesIO
from multiprocessing.connection import Connection
from pathlib import Path
from queue import SimpleQueue
from random import Random
from threading import Thread
from typing import Any
from weakref import finalize

from redqueen.play.table import waits
from redqueen.protocols import Game, Play
from redqueen.types import Ask, Match, Outcome, RedQueenError, Reply, Task
from redqueen.user_code import load_again, places_loaded

END = 3.0  # seconds in which an actor must end once it is told to
MOST = 256  # processes

Answer = list[Ask] | Outcome
_Held = tuple[subprocess.Popen[bytes], socket.socket]  # a process, and our end of what is said


class Actors:
    """`count` processes that step games. They begin with the first match and end with this object."""

    def __init__(self, count: int) -> None:
        if not 1 <= count <= MOST:
            raise RedQueenError(f"games are stepped by 1 to {MOST} processes, not by {count}")
        self.count = count
        self._all: list[_Actor] = []
        self._held: list[_Held] = []
        finalize(self, _end, self._held)

    def seated(self, matches: Sequence[Match]) -> list[Match]:
        """The matches in their order, dealt to the actors in turn. Raises RedQueenError for a game that waits for a
        program, and for one that cannot be sent to another process."""
        waiting = next((match.game.name for match in matches if waits(match.game)), None)
        if waiting is not None:
            raise RedQueenError(f"{waiting} waits for a program, which steps by itself: leave --actors out")
        self._all = self._all or [_Actor(self._held) for _ in range(self.count)]
        dealt = ((match, self._all[number % self.count]) for number, match in enumerate(matches))
        return [replace(match, game=_Stepped(match.game, actor, self._flush)) for match, actor in dealt]

    def close(self) -> None:
        """Ends the processes."""
        _end(self._held)
        self._all = []

    def _flush(self) -> None:
        for actor in self._all:
            actor.flush()


@dataclass(frozen=True)
class _Stepped:
    """A game whose matches are stepped by an actor: it has nothing to ask until the actor has answered."""

    game: Game
    actor: _Actor
    flush: Callable[[], None]
    waits = True

    @property
    def name(self) -> str:
        return self.game.name

    @property
    def roles(self) -> tuple[str, ...]:
        return self.game.roles

    def tasks(self) -> Sequence[Task]:
        return self.game.tasks()

    def play(self, task: Task, rng: Random) -> Play:
        number = self.actor.begin(self.game, task, rng)
        over = False
        try:
            while True:
                yield []  # until all matches of the round have said what they have to say
                self.flush()
                found = self.actor.answer(number)
                over = isinstance(found, Outcome)
                if isinstance(found, Outcome):
                    return found
                if not found:
                    raise RedQueenError(f"game {self.name!r} must yield a list of Ask objects, not {found!r:.80}")
                self.actor.go(number, (yield found))
        finally:
            if not over:
                self.actor.leave(number)


class _Actor:
    """One process, from here, written down among those that are `held`."""

    def __init__(self, held: list[_Held]) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", __name__, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for the trainer
                env={**os.environ, "PYTHONPATH": os.pathsep.join(part or os.getcwd() for part in sys.path)},
            )
        self._pipe = Connection(os.dup(ours.fileno()))
        self._games: list[Game] = []  # those it knows
        self._last = 0
        self._to_send: list[tuple[Any, ...]] = []
        self._answers: dict[int, bytes] = {}
        self._heard: SimpleQueue[bytes | None] = SimpleQueue()
        held.append((self._process, ours))
        Thread(target=_listen, args=(self._pipe, self._heard), daemon=True).start()

    def begin(self, game: Game, task: Task, rng: Random) -> int:
        """Has a match begin; the number it has from now on."""
        known = next((number for number, each in enumerate(self._games) if each is game), None)
        if known is None:
            known = len(self._games)
            self._to_send.append(("know", places_loaded(), _moved(game)))
            self._games.append(game)
        self._last += 1
        self._to_send.append(("begin", self._last, known, task, rng))
        return self._last

    def go(self, number: int, replies: Sequence[Reply]) -> None:
        """Has a match go on."""
        self._to_send.append(("go", number, list(replies)))

    def leave(self, number: int) -> None:
        """Gives a match up."""
        self._to_send.append(("leave", number))

    def flush(self) -> None:
        """Sends what there is to say."""
        if self._to_send:
            said, self._to_send = self._to_send, []
            sent = _as_bytes(said, "what a player said")
            with suppress(OSError):  # it has ended: `answer` says so
                self._pipe.send_bytes(sent)

    def answer(self, number: int) -> Answer:
        """What the game of a match asks now, or its outcome. Raises the error of the game as RedQueenError."""
        while number not in self._answers:
            heard = self._heard.get()
            if heard is None:
                self._heard.put(None)  # for who asks next
                raise RedQueenError(
                    f"a process that steps games has ended (exit status {self._process.wait()}): look above for what "
                    "it said last"
                )
            self._answers.update(pickle.loads(heard))
        try:
            found: Answer | Exception = pickle.loads(self._answers.pop(number))
        except Exception as error:
            raise RedQueenError(
                f"what a game said in a process of --actors cannot be taken here: {type(error).__name__}: {error}; "
                "leave --actors out"
            ) from None
        if isinstance(found, Exception):
            raise found
        return found


class _Mover(pickle.Pickler):
    """Pickles games without what their `cached_property`s hold, which each process finds for itself."""

    def reducer_override(self, of: Any) -> Any:
        kept = getattr(of, "__dict__", {})
        kind = type(of)
        lazy = {name for name in kept if isinstance(getattr(kind, name, None), cached_property)}
        if not lazy or isinstance(of, type):
            return NotImplemented
        return copyreg.__newobj__, (kind,), {name: value for name, value in kept.items() if name not in lazy}  # type: ignore[attr-defined]


def _moved(game: Game) -> bytes:
    """A game as bytes. Raises RedQueenError where something of it belongs to this process."""
    return _as_bytes(game, f"the game {game.name}", _Mover)


def _as_bytes(found: Any, said: str, pickler: type[pickle.Pickler] = pickle.Pickler) -> bytes:
    """A value as bytes; `said` names it. Raises RedQueenError where something of it belongs to this process."""
    made = BytesIO()
    try:
        pickler(made).dump(found)
    except (AttributeError, TypeError, ValueError, RecursionError, pickle.PicklingError) as error:
        raise RedQueenError(
            f"{said} cannot be sent between processes of --actors: {' '.join(str(error).split())}; leave --actors out"
        ) from None
    return made.getvalue()


def _listen(pipe: Connection, heard: SimpleQueue[bytes | None]) -> None:
    """Takes what an actor says until it ends, so that neither waits for the other to read."""
    with suppress(OSError, EOFError):
        while True:
            heard.put(pipe.recv_bytes())
    heard.put(None)


def _end(held: list[_Held]) -> None:
    """Ends the processes that are held, all at once."""
    for _, ours in held:
        with suppress(OSError):
            ours.shutdown(socket.SHUT_RDWR)  # at which it ends, and who listens to it
        ours.close()
    late = time.monotonic() + END
    for process, _ in held:
        try:
            process.wait(max(0.0, late - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    held.clear()


# In an actor


class _Stage:
    """The matches of one actor."""

    def __init__(self) -> None:
        self._games: list[Game | RedQueenError] = []
        self._plays: dict[int, tuple[str, Play]] = {}  # the game's name beside its match

    def answers(self, said: Sequence[tuple[Any, ...]]) -> Iterator[tuple[int, bytes]]:
        """Does what was said, in order. Each answer is bytes of its own: one that cannot be sent or read is that of its
        match alone."""
        for kind, *given in said:
            if kind == "know":
                self._games.append(_found(*given))
            elif kind == "leave":
                self._plays.pop(given[0], None)
            else:
                try:
                    yield given[0], _as_bytes(self._stepped(kind, *given), "what a game said")
                except RedQueenError as error:
                    yield given[0], pickle.dumps(error)

    def _stepped(self, kind: str, number: int, *given: Any) -> Answer | Exception:
        name = ""
        try:
            if kind == "begin":
                known, task, rng = given
                game = self._games[known]
                if isinstance(game, RedQueenError):
                    return game
                name = game.name
                self._plays[number] = name, game.play(task, rng)
                return next(self._plays[number][1])
            name, play = self._plays[number]
            return play.send(given[0])
        except StopIteration as stop:
            del self._plays[number]
            outcome: Outcome = stop.value
            return outcome
        except RedQueenError as error:
            return RedQueenError(str(error))
        except Exception as error:
            print(_printable(traceback.format_exc()), file=sys.stderr, flush=True)
            return RedQueenError(f"the game {name} failed: {type(error).__name__}: {error}; where stands above")


def _printable(text: str) -> str:
    """The text without what a terminal obeys: a game's error may hold what a model said."""
    return "".join(each if each.isprintable() or each == "\n" else f"\\u{ord(each):04x}" for each in text)


class _Opener(pickle.Unpickler):
    """Opens what was sent: of the files that the other process has loaded it runs those that are needed."""

    def __init__(self, sent: bytes, places: Mapping[str, Path]) -> None:
        super().__init__(BytesIO(sent))
        self._places = places

    def find_class(self, module: str, name: str) -> Any:
        if module not in sys.modules:
            load_again(module, self._places)
        return super().find_class(module, name)


def _found(places: Mapping[str, Path], game: bytes) -> Game | RedQueenError:
    """A game that was sent."""
    try:
        found: Game = _Opener(game, places).load()
        return found
    except Exception as error:
        return RedQueenError(
            f"a process of --actors cannot take the game: {type(error).__name__}: {error}; a game of --actors is "
            "defined in a module that can be imported"
        )


def serve(handle: int) -> None:
    """The loop of an actor, until the other end is closed."""
    pipe, stage = Connection(handle), _Stage()
    Thread(target=_end_with_the_other, args=(handle,), daemon=True).start()
    with suppress(EOFError, OSError):
        while True:
            said = pickle.loads(pipe.recv_bytes())
            pipe.send_bytes(pickle.dumps(list(stage.answers(said))))


def _end_with_the_other(handle: int) -> None:
    """Ends this process once the other end is closed or its process killed, also where a game does not come to its
    end, but for the seconds in which it may end by itself."""
    closed = select.poll()
    closed.register(handle, 0)  # for what is told in any case, that nobody is there
    closed.poll()
    time.sleep(END)
    os._exit(1)


if __name__ == "__main__":
    serve(int(sys.argv[1]))
