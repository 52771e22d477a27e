"""A judge that is asked within a budget, and whose replies are kept on disk.

A reply is kept under all that it depends on but chance: the judge (its weights or its address, and how it speaks), the
task without its fence, and which repetition it is. So a run that was killed, or a second run on the same judge, does
not pay for the same judgement twice.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any, Protocol

import numpy as np

from redqueen.chance import derive
from redqueen.checks.judge import concluded
from redqueen.protocols import COUNT, Heard, OpenPlayer, Player, State, has, shaped
from redqueen.questions.asking import JUDGE
from redqueen.texts import file_text
from redqueen.types import Ask, Mean, Metrics, RedQueenError, Reply, Task


class Identified(Player, Protocol):
    """A player that says what its replies depend on besides an ask."""

    def identity(self) -> str:
        """Weights or address, prompts and sampling, as a text that is equal where the replies would be."""
        ...


class OneByOne(Player, Protocol):
    """A player that tells of its replies, and of what it finds its choices worth, as they come."""

    def reply_each(self, asks: Sequence[Ask], heard: Heard) -> list[Reply]: ...
    def rate_each(self, asks: Sequence[Ask], heard: Heard) -> list[np.ndarray]: ...


class RatesChoices(Player, Protocol):
    """A player, not open in general, that says how likely it is to begin its reply with each of the listed ones."""

    def rate_choices(self, asks: Sequence[Ask]) -> list[np.ndarray]:
        """[K] for each ask, summing to one; NaN where none of the choices is among the likely beginnings."""
        ...


@dataclass(frozen=True)
class Kept:
    """Judgements on disk, one a line of `FOLDER/judgements.jsonl`; a line that is cut off is not read."""

    folder: Path
    known: dict[str, Any] = field(default_factory=dict)

    @staticmethod
    def in_folder(folder: Path) -> Kept:
        """Those that `folder` holds. Raises RedQueenError where it cannot be made or read."""
        kept = Kept(folder)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            text = file_text(kept.file) if kept.file.exists() else ""
        except (OSError, UnicodeDecodeError) as error:
            raise RedQueenError(f"cannot keep judgements in {folder}: {error}") from None
        for line in text.splitlines():
            try:
                found = json.loads(line)
                kept.known[found["key"]] = found["said"]
            except (ValueError, TypeError, KeyError, RecursionError):
                continue
        if text and not text.endswith("\n"):
            kept.file.write_text(text + "\n", encoding="utf-8")  # what is added begins a line of its own
        return kept

    @property
    def file(self) -> Path:
        return self.folder / "judgements.jsonl"

    def add(self, found: dict[str, Any]) -> None:
        self.known.update(found)
        with self.file.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps({"key": key, "said": said}) + "\n" for key, said in found.items())


@dataclass
class AskedJudge:
    """`judge`, asked at most `budget` times: with `kept`, as often as its folder holds judgements, over all runs that
    share the folder; else in this run. `name` stands in messages."""

    judge: Player
    name: str
    budget: int | None = None
    kept: Kept | None = None
    calls: int = 0
    found: int = 0  # judgements that were on disk
    spoken: int = 0  # replies that it made, of which
    cut: int = 0  # were cut off

    def __post_init__(self) -> None:
        self._identity = ""
        if self.kept is not None:
            if not has(self.judge, Identified):
                raise RedQueenError(
                    f"the judgements of {self.name} cannot be kept, since nothing says when two of them would be "
                    "equal: leave --judge.cache out"
                )
            self._identity = self.judge.identity()

    def said(self, tasks: Sequence[Task], about: Sequence[tuple[str, ...]], rng: Random) -> list[str]:
        """The reply to each task; `about` says for each what the reply depends on besides the judge."""
        return [str(text) for text in self._answered("said", tasks, about, self._speak, rng)]

    def chances(self, tasks: Sequence[Task], about: Sequence[tuple[str, ...]], rng: Random) -> list[np.ndarray]:
        """[K] for each task, the probability of each of its choices. Raises RedQueenError for a judge that does not
        say it."""
        rows = self._answered("chances", tasks, about, self._rate, rng)
        return [np.array([np.nan if value is None else value for value in row], dtype=np.float64) for row in rows]

    def metrics(self) -> Metrics:
        """`judge/calls` of the run; `judge/kept`, judgements that were on disk; once one was cut off `judge/cut_off`,
        the share of its replies in this run that were."""
        ended = {"judge/cut_off": Mean(self.cut / self.spoken, self.spoken)} if self.cut else {}
        return {"judge/calls": float(self.calls), "judge/kept": float(self.found), **ended}

    def excuse(self) -> str:
        """The end of a sentence about a judge without verdicts, where most of its replies were cut off; else empty."""
        if 2 * self.cut <= self.spoken:
            return ""
        return f"; {self.cut} of {self.spoken} replies of the judge were cut off: raise --judge.max-completion-length"

    def state(self) -> State:
        return {"calls": self.calls, "found": self.found, "spoken": self.spoken, "cut": self.cut}

    def restore(self, state: State) -> None:
        shaped(state, {"calls": COUNT, "found": COUNT, "spoken?": COUNT, "cut?": COUNT}, "the judge: ")
        self.calls, self.found = state["calls"], state["found"]
        self.spoken, self.cut = state.get("spoken", 0), state.get("cut", 0)

    def _answered(
        self,
        how: str,
        tasks: Sequence[Task],
        about: Sequence[tuple[str, ...]],
        ask: Callable[[Sequence[Ask], Heard], list[Any]],
        rng: Random,
    ) -> list[Any]:
        seed = rng.getrandbits(64)  # one draw, whatever is on disk
        names = [_digest((self._identity, how, *each)) for each in about]
        known = self.kept.known if self.kept is not None else {}
        # without a folder every task is asked, also one that was asked before
        new = [n for n, name in enumerate(names) if name not in known]
        if self.kept is not None:
            new = list({names[n]: n for n in reversed(new)}.values())[::-1]
        self._pay(len(new))
        self.found += sum(name in known for name in names)
        fresh = dict[int, Any]()

        def heard(place: int, said: Any) -> None:
            fresh[new[place]] = said
            if self.kept is not None:  # at once: what is paid for is not lost where a later one fails
                self.kept.add({names[new[place]]: said})

        said = ask([_ask(tasks[n], derive(seed, n)) for n in new], heard) if new else []
        for place, each in enumerate(said):
            if new[place] not in fresh:
                heard(place, each)
        return [fresh[n] if n in fresh else known[name] for n, name in enumerate(names)]

    def _pay(self, count: int) -> None:
        paid = self.calls if self.kept is None else len(self.kept.known)
        if self.budget is not None and paid + count > self.budget:
            raise RedQueenError(
                f"{self.name} was asked {paid} times, and {count} more are above --judge.budget {self.budget}: raise "
                "it (of a training: redqueen resume RUN --judge.budget N)"
                + ("" if self.kept else ", and --judge.cache FOLDER keeps what was paid for")
            )
        self.calls += count

    def _speak(self, asks: Sequence[Ask], heard: Heard) -> list[Any]:
        free = [replace(ask, choices=()) for ask in asks]
        if has(self.judge, OneByOne):
            return list(map(_said, self.judge.reply_each(free, lambda place, reply: heard(place, self._heard(reply)))))
        return list(map(self._heard, self.judge.reply(free)))

    def _heard(self, reply: Reply) -> str:
        self.spoken += 1
        self.cut += reply.truncated
        return _said(reply)

    def _rate(self, asks: Sequence[Ask], heard: Heard) -> list[Any]:
        judge = self.judge
        if has(judge, OneByOne):
            rows = judge.rate_each(asks, lambda place, row: heard(place, _rates(row)))
        elif has(judge, RatesChoices):
            rows = judge.rate_choices(asks)
        elif has(judge, OpenPlayer):
            rows = judge.probabilities(asks)
        else:
            raise RedQueenError(
                f"{self.name} does not say how likely each verdict is: leave --judge.expected out, and it is sampled"
            )
        return list(map(_rates, rows))


def _said(reply: Reply) -> str:
    return concluded(reply.text, reply.truncated)


def _rates(row: np.ndarray) -> list[float | None]:
    return [None if np.isnan(value) else float(value) for value in row]


def _ask(task: Task, seed: int) -> Ask:
    """What the judge of the task is asked."""
    (ask,) = next(JUDGE.play(task, Random(0)))
    return replace(ask, seed=seed)


def _digest(parts: Sequence[str]) -> str:
    return hashlib.sha256(json.dumps(list(parts)).encode()).hexdigest()
