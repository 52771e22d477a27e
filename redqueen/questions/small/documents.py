"""Notes in which things are looked up, on more and more lines: questions that need the text they are about.

    Notes:                      a questioner who sees some of the lines writes "king 7", a question and its answer; a
     king 7                     responder who sees all of them is asked for "king" and says 7, or seven, or, if it is
     board 12                   lazy, what the last line says; a verifier says whether seven is the same as 7

A question such as "2+3" needs no notes, which shows in that it is answered equally well without them. Clusters of
notes are numbered; the lines of a cluster never change, and a later stage shows more of them. (Key-value documents for
SPELL, arXiv:2509.23863.)
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from random import Random
from typing import Protocol

from redqueen.chance import derive
from redqueen.checks.numeric import normalised
from redqueen.protocols import Proposable
from redqueen.questions.fenced import fence
from redqueen.types import SOLVER, Demonstration, RedQueenError, Refusal, Task

LOOKUP, TWO_STEPS, JUDGEMENT = "lookup", "two_steps", "judgement"
UNKNOWN = "unknown"
_NAMES = (
    "board card chip deck king queen jack pot gold wood fire life line mark face hint place square column token player "
    "poker liar row rank dice colour number round score share offer move bet bid call fold raise draw turn deal end "
    "back yellow red play game hand"
)
NAMES: tuple[str, ...] = tuple(_NAMES.split())
_ONES = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
_WORDS: tuple[str, ...] = (*_ONES.split(), "eighteen", "nineteen")
_PROPOSAL = re.compile(r"([A-Za-z0-9+?]+(?: [A-Za-z0-9+?]+){0,15}) ([A-Za-z0-9]{1,40})")
_SUM = re.compile(r"([0-9])\+([0-9])")


class Documented(Proposable, Protocol):
    """A question set about documents. Clusters of documents and stages are numbered from 0; the stage sets the length
    of the text shown."""

    @property
    def stages(self) -> int:
        """How many stages there are."""
        ...

    def invite_about(self, cluster: int, stage: int, kind: str, before: Sequence[Task], number: int) -> Task:
        """The task of a questioner: a part of the text, and earlier questions about the cluster. `number` makes
        the id of the invitation unique."""
        ...

    def closed_book(self, task: Task) -> Task:
        """The same question without the text."""
        ...

    def compared(self, task: Task, answer: str) -> Task:
        """The task of a verifier, who should say YES if the answer means the same as the task's own."""
        ...

    def true_answer(self, task: Task) -> str | None:
        """The answer by the text, "" if it has none, None where nobody knows: for audits only, not for training."""
        ...


@dataclass(frozen=True)
class Documents:
    """The question set of the module. Settings after `two_steps` are for demonstrations only: the shares of each of
    `sizes` (`lengths`); how often the right line is read, not its neighbour (`skill`); the share of questions with the
    right answer (`faithful`), and of those that need no notes (`closed`); how often a verifier is right (`judgement`);
    how many judgements come with 14 demonstrations of other roles; whether only notes are read out."""

    sizes: tuple[int, ...] = (6, 12, 24, 48)  # lines of notes, stage by stage
    largest: int = 12  # number that a line may say
    two_steps: float = 0.0  # share of lines that name another line in place of a number
    lengths: tuple[float, ...] = (0.4, 0.3, 0.2, 0.1)
    skill: tuple[float, ...] = (0.6, 0.4, 0.2, 0.1)
    faithful: float = 0.9
    closed: float = 0.2
    judgement: float = 0.92
    judgements: int = 2
    readings_only: bool = False
    name: str = field(default="documents", repr=False)

    def __post_init__(self) -> None:
        stages = len(self.sizes)
        if not stages == len(self.lengths) == len(self.skill) or min(self.sizes, default=0) < 2:
            raise RedQueenError("documents need sizes of 2 lines or more, and a length and a skill for each size")
        if max(self.sizes) > len(NAMES) ** 2 or not 9 <= self.largest <= 19:
            raise RedQueenError(f"notes have at most {len(NAMES) ** 2} lines, and the largest number is from 9 to 19")

    @property
    def kinds(self) -> tuple[str, ...]:
        return (LOOKUP, TWO_STEPS) if self.two_steps else (LOOKUP,)

    @property
    def levels(self) -> tuple[str, ...]:
        return tuple(f"{size}_lines" for size in self.sizes)

    @property
    def stages(self) -> int:
        return len(self.sizes)

    def seeds(self) -> list[Task]:
        return [self._question(0, 0, kind, Random(0)) for kind in self.kinds]

    def sources(self, kind: str) -> tuple[str, ...]:
        return self.kinds

    def invite(self, kind: str, references: Sequence[Task], number: int) -> Task:
        """An invitation about cluster `number`, at the first stage."""
        return self.invite_about(number, 0, kind, references, number)

    def invite_about(self, cluster: int, stage: int, kind: str, before: Sequence[Task], number: int) -> Task:
        lines = self._lines(cluster, stage)
        shown = Random(derive(cluster, "shown", stage)).sample(range(len(lines)), len(lines) // 2)
        asked = f"\nAsked: {', '.join(str(task.facts['question']) for task in before)}." if before else ""
        steps = " of two steps" if kind == TWO_STEPS else ""
        notes = _notes([lines[at] for at in sorted(shown)])
        prompt = f"{notes}{asked}\nWrite a question{steps} and its answer, as name number."
        return Task(
            f"invitation {number} {kind} {cluster}/{stage}", kind, prompt, facts={"cluster": cluster, "stage": stage}
        )

    def read(self, invitations: Sequence[Task], replies: Sequence[str]) -> list[Task | Refusal]:
        return [self._read(task, reply.strip()) for task, reply in zip(invitations, replies, strict=True)]

    def _read(self, invitation: Task, text: str) -> Task | Refusal:
        found = _PROPOSAL.fullmatch(text)
        if found is None or not normalised(found[2]):
            return Refusal("malformed")
        cluster, stage = invitation.facts["cluster"], invitation.facts["stage"]
        return self.task(cluster, stage, invitation.kind, found[1].strip(), found[2].strip())

    def closed_book(self, task: Task) -> Task:
        return Task(f"closed {task.id}", task.kind, _asked(str(task.facts["question"])), task.answer, task.facts)

    def compared(self, task: Task, answer: str) -> Task:
        line = fence((str(task.facts["question"]), task.answer, answer))
        given = f"{line}\n{answer or 'nothing'}\n{line}"
        prompt = f"{task.facts['question']} {task.answer}\n{given}\nIs it the same? YES or NO."
        return Task(f"{answer!r} to {task.id}", JUDGEMENT, prompt)

    def right(self, tasks: Sequence[Task], answers: Sequence[str]) -> list[bool]:
        """Whether each answer equals the task's, numbers compared in digits or words, anything else as text."""
        return [same(task.answer, answer) for task, answer in zip(tasks, answers, strict=True)]

    def true_answer(self, task: Task) -> str:
        question = str(task.facts["question"])
        found = _SUM.fullmatch(question)
        if found is not None:
            return str(int(found[1]) + int(found[2]))
        lines = dict(self._lines(task.facts["cluster"], task.facts["stage"]))
        said = lines.get(question, "")
        return lines.get(said, said)

    def problems(self, level: str, count: int, rng: Random) -> list[Task]:
        """`count` questions, four for each cluster."""
        if level not in self.levels:
            raise RedQueenError(f"there is no level {level!r}: the levels are {', '.join(self.levels)}")
        clusters = [rng.getrandbits(48) for _ in range((count + 3) // 4)]
        return [
            self._question(clusters[number // 4], self.levels.index(level), self.kinds[number % len(self.kinds)], rng)
            for number in range(count)
        ]

    def task(self, cluster: int, stage: int, kind: str, question: str, answer: str) -> Task:
        prompt = f"{_notes(self._lines(cluster, stage))}\n{_asked(question)}"
        facts = {"cluster": cluster, "stage": stage, "question": question}
        return Task(f"{cluster}/{stage} {question} {answer}", kind, prompt, answer, facts)

    def _question(self, cluster: int, stage: int, kind: str, rng: Random, among: Sequence[str] = ()) -> Task:
        """A question about a line of the kind, one named in `among` if possible."""
        lines = dict(self._lines(cluster, stage))
        fitting = [name for name, said in lines.items() if (said in lines) == (kind == TWO_STEPS)] or list(lines)
        name = rng.choice([name for name in fitting if name in among] or fitting)
        return self.task(cluster, stage, kind, name, lines.get(lines[name], lines[name]))

    def _lines(self, cluster: int, stage: int) -> list[tuple[str, str]]:
        """[lines] (name, what it says). Those of one stage begin those of the next."""
        if stage >= len(self.sizes):
            raise RedQueenError(f"there is no stage {stage}: the stages are 0 to {len(self.sizes) - 1}")
        whole = _all_lines(cluster, max(self.sizes), min(self.sizes), self.largest, self.two_steps)
        return list(whole[: self.sizes[stage]])

    # Demonstrations

    def demonstrations(self, count: int, rng: Random) -> list[Demonstration]:
        """For each cluster of notes 2 readings of its lines in any order, 3 questions on them, 7 answers from them, 2
        without, and judgements. Readings are no role of the game: they are what teaches a model made from
        nothing to look a name up. What is read is said as it stands there, after a space, for the same reason."""
        shown: list[Demonstration] = []
        while len(shown) < count:
            cluster, (stage,) = rng.getrandbits(48), rng.choices(range(len(self.sizes)), self.lengths)
            if self.readings_only:
                shown.append(self._reading(cluster, stage, rng))
                continue
            shown += [self._reading(cluster, stage, rng) for _ in range(2)]
            shown += [self._proposal(cluster, stage, number, rng) for number in range(3)]
            shown += [self._solution(cluster, stage, rng) for _ in range(7)]
            shown += [self._without_notes(rng) for _ in range(2)]
            shown += [self._judgement(rng) for _ in range(self.judgements)]
        return shown[:count]

    def _reading(self, cluster: int, stage: int, rng: Random) -> Demonstration:
        """Of 16 lines at most; where there is nothing else to learn from, half the time as they stand."""
        lines = self._lines(cluster, stage)
        read = rng.sample(lines, min(16, len(lines)))
        if self.readings_only and rng.random() < 0.5:
            read = lines[:16]
        task = Task(f"reading {cluster}/{stage}", LOOKUP, f"{_notes(lines)}\nRead the notes.")
        return Demonstration("reader", task, "\n".join(f" {name} {said}" for name, said in read))

    def _proposal(self, cluster: int, stage: int, number: int, rng: Random) -> Demonstration:
        kind = rng.choice(self.kinds)
        before = [self._question(cluster, stage, kind, rng) for _ in range(min(stage, 3))]
        invitation = self.invite_about(cluster, stage, kind, before, number)
        if rng.random() < self.closed:
            return Demonstration("proposer", invitation, " {}+{} {}".format(*_sum(rng)))
        shown = re.findall(r"(?m)^ (.+) ", invitation.prompt)
        task = self._question(cluster, stage, kind, rng, shown)
        answer = task.answer if rng.random() < self.faithful else self._last(task)
        return Demonstration("proposer", invitation, f" {task.facts['question']} {answer}")

    def _solution(self, cluster: int, stage: int, rng: Random) -> Demonstration:
        if rng.random() < 0.1:  # a question that needs no notes, among them
            first, second, total = _sum(rng)
            task = self.task(cluster, stage, LOOKUP, f"{first}+{second}", str(total))
            return Demonstration(SOLVER, task, f" {total if rng.random() < 0.7 else first}")
        task = self._question(cluster, stage, rng.choice(self.kinds), rng)
        answer = task.answer if rng.random() < self.skill[stage] else self._last(task)
        return Demonstration(SOLVER, task, f" {spelled(answer) if rng.random() < 0.2 else answer}")

    def _last(self, task: Task) -> str:
        """The answer without looking anything up: what the last line says."""
        lines = self._lines(task.facts["cluster"], task.facts["stage"])
        return dict(lines).get(lines[-1][1], lines[-1][1])

    def _without_notes(self, rng: Random) -> Demonstration:
        if rng.random() < 0.5:
            first, second, total = _sum(rng)
            task = self.task(0, 0, LOOKUP, f"{first}+{second}", str(total))
            return Demonstration(SOLVER, self.closed_book(task), f" {total}")
        task = self._question(rng.getrandbits(48), len(self.sizes) - 1, LOOKUP, rng)
        return Demonstration(SOLVER, self.closed_book(task), f" {UNKNOWN}")

    def _judgement(self, rng: Random) -> Demonstration:
        """Half the answers are the same number, half of those in the other way of writing it."""
        number, other = rng.sample(range(1, self.largest + 1), 2)
        alike = rng.random() < 0.5
        task = self.task(0, 0, LOOKUP, rng.choice(NAMES), str(number))
        given = str(number if alike else other)
        word = "YES" if alike == (rng.random() < self.judgement) else "NO"
        return Demonstration("judge", self.compared(task, spelled(given) if rng.random() < 0.5 else given), word)


@lru_cache(maxsize=256)  # many are asked about the same notes
def _all_lines(cluster: int, most: int, least: int, largest: int, two_steps: float) -> tuple[tuple[str, str], ...]:
    """[most] lines of a cluster; the first `least` are shown at every stage."""
    rng = Random(derive(cluster, "notes"))
    pairs = [f"{first} {second}" for first in NAMES for second in NAMES] if most > len(NAMES) else list(NAMES)
    names = rng.sample(pairs, most)
    said = [str(rng.randint(1, largest)) for _ in names]
    plain = max(1, round(least * (1.0 - two_steps)))  # lines that say numbers: these are meant by the others
    for at in range(plain, most if two_steps else 0):
        if at < least or rng.random() < two_steps:
            said[at] = rng.choice(names[:plain])
    return tuple(zip(names, said, strict=True))


def _notes(lines: Sequence[tuple[str, str]]) -> str:
    return "\n".join(["Notes:", *(f" {name} {said}" for name, said in lines)])


def _asked(question: str) -> str:
    return f"Question: {question}"


def _sum(rng: Random) -> tuple[int, int, int]:
    first, second = rng.randint(1, 5), rng.randint(1, 4)
    return first, second, first + second


def spelled(text: str) -> str:
    """A number from 1 to 19 in words; any other text as it is."""
    return _SPELLED.get(text, text)


_SPELLED = {str(number): word for number, word in enumerate(_WORDS, 1)}
_VALUES = {word: number for number, word in _SPELLED.items()}


def same(one: str, other: str) -> bool:
    """Whether two answers say the same, a number in digits or in words."""
    first, second = (_VALUES.get(text, text) for text in (normalised(one), normalised(other)))
    return bool(first) and first == second
