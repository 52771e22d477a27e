"""Questions to characters, and replies with the profile in view that are learned without it (Ditto, 2401.12474)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random
from typing import NamedTuple

import numpy as np

from redqueen.curricula.held_out import as_compared
from redqueen.demonstrations.transfer import unaided
from redqueen.games.single_reply import SingleReply
from redqueen.measures.alarms import Alarm, Alarms, Ringing
from redqueen.measures.recitations import reference_logprobs
from redqueen.play.groups import attempts
from redqueen.players.language.writing import Writer
from redqueen.questions.asking import said
from redqueen.questions.verdicts import Truncated
from redqueen.recipes.self_training.ditto_roleplay.questions import Character
from redqueen.types import Episode, Message, Metrics, Task, Trajectory, mean_of

WRITE, PLAY = SingleReply("interviewer"), SingleReply("character")
NUMBERED = re.compile(r"^[^\S\n]*+(?:(?:\d++[.):]|[-*])\s*+)?(\S.*\?)[^\S\n]*+$", re.MULTILINE)
NOTHING_KEPT = Alarm(
    "nothing_kept",
    "kept_share",
    "only {value:.0%} of the replies are learned from: the others are empty, cut off, or speak of a profile "
    "(--max-completion-length, a larger model)",
    limit=0.1,
    below=True,
)


class Asked(NamedTuple):
    """A question to a character, and whether its profile answers it: else that of another does."""

    character: Character
    question: str
    known: bool


def request(one: Character, other: Character, count: int) -> Task:
    """What the interviewer is shown: two profiles, and whom to ask."""
    prompt = (
        f"{one.profile}\n\n{other.profile}\n\nWrite {count} questions, a line each, that {one.name} can answer "
        f"and {other.name} cannot."
    )
    return Task(f"questions to {one.name}", "interview", prompt)


def questions_in(reply: str, count: int) -> tuple[str, ...]:
    """Up to `count` different questions of a reply, a line each."""
    return tuple(dict.fromkeys(NUMBERED.findall(reply)))[:count]


def with_profile(one: Asked) -> Task:
    """What the character is shown when its reply is written: who it is, what it knows, and the question."""
    told = (
        f"{one.character.brief}\n{one.character.profile}\nReply as {one.character.name}, from this alone, and say that "
        "you do not know what it does not say."
    )
    return _posed(one, told)


def without_profile(one: Asked) -> Task:
    """What is learned from: who it is in one line, and the question."""
    return _posed(one, one.character.brief)


def _posed(one: Asked, told: str) -> Task:
    messages = (Message("system", told), Message("user", one.question))
    return Task(f"{one.character.name}: {one.question}", "character", one.question, messages=messages)


def told_of_profile(reply: str) -> bool:
    """Whether a reply, or the thought before it, speaks of the text that it was shown."""
    return re.search(r"\bprofile\b|\bthe text (?:says|does)\b", reply.lower()) is not None


def worth_learning(episode: Episode, truncated: Truncated) -> bool:
    """Whether a reply is learned: not one that is empty, speaks of the profile, or was cut off, unless `truncated` ones
    are graded."""
    (reply,), whole = said([episode]), episode.turns[-1].reply
    cut = whole.truncated and truncated != "graded"
    return not (cut or not reply.strip() or told_of_profile(f"{whole.thought}\n{reply}"))


class Interviews(Ringing):
    """Draws characters with a partner each, asks up to `count` questions that the character can answer, and up to
    `contrastive` that only its partner can. Those of a file are asked as they stand; others the learner writes.
    `truncated` says whether a reply that was cut off is learned (graded) or left out."""

    def __init__(
        self, characters: Sequence[Character], count: int, contrastive: int, truncated: Truncated = "wrong"
    ) -> None:
        self._truncated: Truncated = truncated
        self._characters, self._count, self._contrastive = characters, count, contrastive
        self._held: set[tuple[str, str]] = set()  # questions that are never asked, each with who would be
        self._figures: Metrics = {}
        self._alarms = Alarms([NOTHING_KEPT], quiet=True)

    def hold_out(self, number: int, learner: Writer, rng: Random) -> list[Asked]:
        """Up to `number` questions that are never asked from now on: to each character one that it can answer, unless
        it is the only one, and one that it cannot."""
        drawn = self.asked(len(self._characters), learner, rng)
        lone = {one.name for one in self._characters if len(one.questions) == 1}
        first = {
            (each.character.name, each.known): each
            for each in reversed(drawn)
            if not (each.known and each.character.name in lone)
        }
        held = rng.sample(list(first.values()), min(number, len(first)))
        self._held = {_named(each) for each in held}
        return held

    def asked(self, number: int, learner: Writer, rng: Random) -> list[Asked]:
        """The questions to `number` characters, of which none comes twice before all have come. Those that are held out
        are not among them."""
        whole, rest = divmod(number, len(self._characters))
        ones = [*self._characters] * whole + rng.sample(list(self._characters), rest)
        pairs = [(one, rng.choice([each for each in self._characters if each is not one])) for one in ones]
        sides = [side for one, other in pairs for side in ((one, other), (other, one))]
        silent = [(one, other) for one, other in sides if not one.questions]
        most = max(self._count, self._contrastive)
        groups = attempts(WRITE, [request(one, other, most) for one, other in silent], learner, 1, rng)
        written = iter([questions_in(reply, most) for reply in said(groups)])
        own = [one.questions or next(written) for one, _ in sides]
        found = []
        for place, (one, _) in enumerate(pairs):
            for texts, count, known in (
                (own[2 * place], self._count, True),
                (own[2 * place + 1], self._contrastive, False),
            ):
                told = [Asked(one, text, known) for text in texts]
                found += _some([each for each in told if _named(each) not in self._held], count, rng)
        self._figures = {"asked": mean_of([len(found) / number]), **_share("contrastive", [not e.known for e in found])}
        return found

    def learned(
        self, aided: Sequence[Trajectory], asked: Sequence[Asked], learner: Writer
    ) -> tuple[list[Trajectory], list[np.ndarray]]:
        """The replies with the profile in view as demonstrations without it, and [1] for each: 1 where it is learned, 0
        where it is empty, cut off, or speaks of the profile."""
        shown = unaided(aided, [without_profile(one) for one in asked], learner)
        kept = [np.array([float(worth_learning(each.episode, self._truncated))]) for each in aided]
        self._figures |= _share("kept_share", [bool(each[0]) for each in kept])
        if shown:
            self._figures["aided_logprob"] = mean_of([float(e.turns[0].reply.logprobs.mean()) for e in aided])
            plain = [float(row.mean()) for (row,) in reference_logprobs(learner, shown)]
            self._figures["plain_logprob"] = mean_of(plain)
        return shown, kept

    def metrics(self) -> Metrics:
        """Figures of the last interviews, and the alarm: questions of a character (`asked`), shares of those that only
        another can answer (`contrastive`) and of the replies that are learned (`kept_share`), and in nats a token the
        log-probability of the replies with the profile in view and without it; where the second comes near the first,
        the profile is known by heart. Nothing where there were none since the last call."""
        found, self._figures = self._figures, {}
        return found | self._alarms.observe({name: float(value) for name, value in found.items()})


def _some(questions: Sequence[Asked], count: int, rng: Random) -> list[Asked]:
    return rng.sample(list(questions), min(count, len(questions)))


def _named(one: Asked) -> tuple[str, str]:
    return one.character.name, as_compared(one.question)


def _share(name: str, values: Sequence[bool]) -> Metrics:
    return {name: mean_of(values)} if values else {}
