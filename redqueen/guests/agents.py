"""Agents of the user's: a function that asks a model over HTTP, with the library that it was written for.

    from openai import OpenAI

    def solve(task, seats):
        agent = seats["agent"]
        client = OpenAI(base_url=agent.url, api_key=agent.key)
        told = [{"role": "user", "content": task.prompt}]
        return client.chat.completions.create(model=agent.model, messages=told).choices[0].message.content

    redqueen train grpo --game agent:solver.py:solve,questions=train.jsonl

What it returns is its answer, a text that the question set compares, or its score. An object with `play(task, seats)`,
`tasks()` and `held_out()` brings its own tasks, and `roles` where there are several seats; `play` returns the score of
the only seat, a score for each role, or an outcome.
"""

from __future__ import annotations

import inspect
import os
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from random import Random
from threading import Lock, Thread
from typing import Any, Protocol, runtime_checkable

from redqueen.catalogue import in_brackets
from redqueen.chance import derive
from redqueen.curricula.held_out import held_out
from redqueen.games.programmed import Desk, Programmed, Scores
from redqueen.games.talk import GAME
from redqueen.games.tool_calls import same
from redqueen.guests.recorder import KEY, Chair, Endpoint
from redqueen.protocols import Questions, lacking
from redqueen.questions.asking import evenly
from redqueen.questions.catalogue import find_questions
from redqueen.types import Outcome, RedQueenError, Task
from redqueen.user_code import module_from_file

AGENT = "agent"  # the role of an agent that is alone
_MAKING = Lock()
Seats = Mapping[str, Chair]
Played = Callable[[Task, Seats], Any]


@runtime_checkable
class BringsTasks(Protocol):
    """An agent, or several, with tasks of their own. `roles` may name the seats."""

    def tasks(self) -> Sequence[Task]: ...
    def held_out(self) -> Sequence[Task]: ...
    def play(self, task: Task, seats: Seats) -> Scores: ...


def endpoint(port: int = 0) -> Endpoint:
    """The endpoint of this process at a port; 0 is a free one."""
    with _MAKING:  # many matches may ask for it first
        return _endpoint(port)


@cache
def _endpoint(port: int) -> Endpoint:
    found = Endpoint(port)
    if port:
        key = f"in ${KEY}" if os.environ.get(KEY) else found.key
        found.tell(f"agents are awaited: POST {found.url}/matches with the key {key}")
    return found


@dataclass(frozen=True)
class InThread:
    """Plays each match by calling a function of the task and the seats, in a thread of its own. `judge` makes scores of
    what it returns. A function that raises has played a match that nobody knows the score of; the user is told once
    of each kind of error."""

    name: str
    roles: tuple[str, ...]
    function: Played = field(repr=False)
    judge: Callable[[Task, Any], tuple[Scores, Mapping[str, Any]]] = field(repr=False)
    training: tuple[Task, ...] = field(repr=False)
    testing: tuple[Task, ...] = field(repr=False)
    told: set[str] = field(default_factory=set, repr=False, compare=False)

    def tasks(self) -> Sequence[Task]:
        return self.training

    def held_out(self) -> Sequence[Task]:
        return self.testing

    def begin(self, task: Task, desk: Desk) -> None:
        Thread(target=self._play, args=(task, desk), name=self.name, daemon=True).start()

    def _play(self, task: Task, desk: Desk) -> None:
        server = endpoint()
        chairs = server.seats(desk)
        try:
            desk.end(*self.judge(task, self.function(task, chairs)))
        except BaseException as error:  # of the user's code, SystemExit too
            reason = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
            if not desk.over:
                self._tell(server, error, reason)
            desk.fail(reason)
        finally:
            server.clear(chairs)

    def _tell(self, server: Endpoint, error: BaseException, reason: str) -> None:
        if type(error).__name__ in self.told:
            return
        self.told.add(type(error).__name__)
        last = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(last.filename).name}, line {last.lineno}"
        server.tell(
            f"{self.name} failed, and its match has no verdict: {reason} ({place}); further errors of this kind are "
            "counted alone"
        )


@dataclass(frozen=True)
class OnTheirOwn:
    """Plays each match by whoever fetches it from the endpoint: agents in processes of their own, started by the user,
    as many as there are. `judge` makes a score of an answer."""

    name: str
    judge: Callable[[Task, Any], tuple[Scores, Mapping[str, Any]]] = field(repr=False)
    training: tuple[Task, ...] = field(repr=False)
    testing: tuple[Task, ...] = field(repr=False)
    port: int
    roles: tuple[str, ...] = (AGENT,)

    def tasks(self) -> Sequence[Task]:
        return self.training

    def held_out(self) -> Sequence[Task]:
        return self.testing

    def begin(self, task: Task, desk: Desk) -> None:
        def end(said: Mapping[str, Any]) -> None:
            if len(said) != 1 or not said.keys() <= {"answer", "score", "scores", "failed"}:
                raise RedQueenError("a match ends with one of answer, score, scores and failed")
            ((how, what),) = said.items()
            match how:
                case "failed":
                    desk.fail(str(what)[:200])
                case "answer" if isinstance(what, str | int | float) and not isinstance(what, bool):
                    desk.end(*self.judge(task, str(what)))
                case "score" if _is_score(what):
                    desk.end(float(what))
                case "scores" if isinstance(what, Mapping) and all(map(_is_score, what.values())):
                    desk.end({role: float(score) for role, score in what.items()})
                case _:
                    raise RedQueenError(
                        "an answer is a text, a score a finite number, scores an object with one of each seat, not "
                        f"{what!r:.80}"
                    )

        server = endpoint(self.port)
        server.offer(task, server.seats(desk), end)


def _is_score(found: object) -> bool:
    return isinstance(found, int | float) and not isinstance(found, bool) and abs(found) <= sys.float_info.max


def visited(
    questions: str,
    port: int = 8766,
    problems: int = 64,
    count: int = 512,
    calls: int = 64,
    seconds: float = 600.0,
    window: int = 0,
) -> Programmed:
    """The game of agents that come to the endpoint at `port` and fetch the matches: with `count` of the `questions`,
    and `problems` of each level held out."""
    found, training, testing = _of_questions(questions, count, problems)
    program = OnTheirOwn(f"visited:{questions}", Judged(found), training, testing, port)
    return Programmed(program, calls, seconds, same, window)


def agent(
    place: str,
    questions: str = "",
    problems: int = 64,
    count: int = 512,
    calls: int = 64,
    seconds: float = 600.0,
    window: int = 0,
) -> Programmed:
    """The game that the agent at "path/to/file.py:NAME" plays: with the tasks that it brings, or with `count` of the
    `questions` and `problems` of each level held out. Raises RedQueenError for an agent without tasks."""
    path, _, name = place.rpartition(":")
    if not path.endswith(".py") or not name.isidentifier():
        raise RedQueenError(f"{place!r} names no agent: write agent:path/to/file.py:NAME")
    found = vars(module_from_file(Path(path).expanduser(), name, f"the agent {place!r}")).get(name)
    found = found() if inspect.isclass(found) else found
    if isinstance(found, BringsTasks):
        if questions:
            raise RedQueenError(f"{place} brings its own tasks: leave questions={questions} out")
        program = _with_tasks(f"agent:{place}", found)
    elif callable(found):
        if not questions:
            wanted = " and ".join(lacking(found, BringsTasks))
            raise RedQueenError(
                f"{place} brings no tasks: say agent:{place},questions=FILE.jsonl, or make it an object with {wanted}"
            )
        program = _with_questions(f"agent:{place},questions={questions}", found, questions, count, problems)
    else:
        raise RedQueenError(f"{path} has no agent {name!r}: it is a function of a task and the seats")
    return Programmed(program, calls, seconds, same, window)


def _with_tasks(name: str, found: BringsTasks) -> InThread:
    roles = tuple(getattr(found, "roles", (AGENT,)))
    if not roles or len(set(roles)) < len(roles) or GAME in roles:
        raise RedQueenError(
            f"the roles of {name} are names that differ, and none is {GAME!r}, as who asks is called: not {roles!r:.80}"
        )
    training, testing = tuple(found.tasks()), tuple(found.held_out())
    if not training or not testing:
        raise RedQueenError(f"{name} must have tasks to train on, tasks(), and tasks to measure on, held_out()")
    return InThread(name, roles, found.play, lambda task, said: (said, {}), training, testing)


def _with_questions(name: str, function: Played, spec: str, count: int, problems: int) -> InThread:
    questions, training, testing = _of_questions(spec, count, problems)
    return InThread(name, (AGENT,), function, Judged(questions), training, testing)


def _of_questions(spec: str, count: int, problems: int) -> tuple[Questions, tuple[Task, ...], tuple[Task, ...]]:
    """A question set, tasks of it to train on, and others to measure on: those that a training with `--questions` and
    seed 0 holds out as well, whatever the seed of this one. A set may be written with its parameters in brackets,
    "dataset(path=a.jsonl,test=b.jsonl)"."""
    questions = find_questions(in_brackets(spec))
    tests = held_out(questions, problems)
    training = evenly(questions, count, Random(derive(0, "agent")), tests)
    testing = [task for level in tests.values() for task in level]
    return questions, _once(training), _once(testing)


def _once(tasks: Sequence[Task]) -> tuple[Task, ...]:
    return tuple({task.id: task for task in tasks}.values())


@dataclass(frozen=True)
class Judged:
    """Scores an answer by its question set, 1 or 0, NaN where nobody knows; a number is the score itself."""

    questions: Questions

    def __call__(self, task: Task, said: Any) -> tuple[Scores, Mapping[str, Any]]:
        if isinstance(said, Outcome | Mapping) or (isinstance(said, int | float) and not isinstance(said, bool)):
            return said, {}
        if not isinstance(said, str):
            raise RedQueenError(f"an agent returns its answer as a text, or its score, not {said!r:.80}")
        (right,) = self.questions.right([task], [said])
        return float("nan") if right is None else float(right), {"answer": said, "right": right}
