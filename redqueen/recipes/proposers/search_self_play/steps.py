"""Whether proposed questions stand on what their proposers found: SSP's rules of form, and its check by a reader.

A reader is shown what the proposer's searches gave, amid documents that other proposers found, and must come to the
proposer's answer. A question that has several answers passes so, where the proposer found one of them: with `rivals`
(not in the paper) the reader must come to it again with the documents before it that are most like those found.
Whatever goes wrong on the way rejects the question, and what breaks is an error: nothing passes because it could not be
checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from statistics import fmean
from typing import Literal

import numpy as np

from redqueen.checks.retrieval import Document, Fault, Rules, evidence, reading_faults
from redqueen.games.single_reply import SingleReply
from redqueen.measures.health import Proposed
from redqueen.measures.proposals import proposed
from redqueen.play.lockstep import play
from redqueen.play.seating import alone
from redqueen.protocols import Player
from redqueen.questions.asking import read, said, tasks_among
from redqueen.questions.small.knowledge import RULES, Knowledge
from redqueen.types import Episode, Metrics, RedQueenError, Refusal, Task

READ = SingleReply("reader")
RIVALS = 3  # documents like each that was found
GateName = Literal["noise", "rivals", "none"]


@dataclass(frozen=True)
class Grounds:
    """How questions are checked. Without a reader of its own the world's is asked, which takes documents at their
    word."""

    questions: Knowledge
    reader: Player | None = None
    rules: Rules = RULES
    noise: int = 4
    gate: GateName = "noise"  # none: the rules alone decide

    def __post_init__(self) -> None:
        if self.questions.corpus and self.gate != "none" and self.reader is None:
            raise RedQueenError("a corpus of your own needs somebody who reads it: name a --reader, or set --gate none")

    def found(self, proposal: Episode) -> list[Document]:
        """All that the proposer's searches gave, in order: they are made again."""
        documents, count = self.questions.documents, self.questions.shown
        return [document for query in _queries(proposal) if query for document in documents.search(query, count)]

    def checked(self, proposals: Sequence[Episode], rng: Random) -> list[Task | Refusal]:
        """The questions that pass as tasks, and the first fault of each of the others as a refusal."""
        written_down = read(self.questions, proposals)
        found = [self.found(proposal) for proposal in proposals]
        written = [self._form(*each) for each in zip(proposals, written_down, found, strict=True)]
        if self.gate == "none":
            return written
        passed = self._read(written, found, found, rng)
        if self.gate == "noise":
            return passed
        beside = [each + self.questions.documents.like(each, RIVALS) for each in found]
        again = self._read(passed, found, beside, rng)
        ambiguous = Refusal(str(Fault.SEVERAL_ANSWERS))
        return [
            ambiguous if isinstance(before, Task) and isinstance(after, Refusal) else before
            for before, after in zip(passed, again, strict=True)
        ]

    def _read(
        self,
        written: Sequence[Task | Refusal],
        found: Sequence[list[Document]],
        shown: Sequence[list[Document]],
        rng: Random,
    ) -> list[Task | Refusal]:
        """The questions that a reader answers rightly from what it is shown, amid noise."""
        posed = [(number, each) for number, each in enumerate(written) if isinstance(each, Task)]
        before = [evidence(shown[number], _elsewhere(found, number), rng, self.noise) for number, _ in posed]
        replies = self._readings([task for _, task in posed], before, rng)
        checked = list(written)
        for (number, task), reply in zip(posed, replies, strict=True):
            faults = reading_faults(task, found[number], reply, self._agrees)
            checked[number] = Refusal(str(faults[0])) if faults else task
        return checked

    def _agrees(self, task: Task, answer: str) -> bool:
        return self.questions.right([task], [answer])[0]

    def _form(self, proposal: Episode, read: Task | Refusal, found: Sequence[Document]) -> Task | Refusal:
        faults = self.rules.faults(said([proposal])[0], proposal.task.answer, _queries(proposal), found)
        return Refusal(str(faults[0])) if faults else read

    def _readings(self, tasks: Sequence[Task], shown: Sequence[Sequence[Document]], rng: Random) -> list[str]:
        if self.reader is None:
            return [self.questions.reader(task.prompt, each) for task, each in zip(tasks, shown, strict=True)]
        asked = [
            Task(f"reading {number}", "reading", "\n".join([*(document.shown for document in each), task.prompt]))
            for number, (task, each) in enumerate(zip(tasks, shown, strict=True))
        ]
        return said(play(alone(READ, asked, self.reader), rng))

    def looked_at(self, written: Sequence[Task | Refusal], scores: Sequence[np.ndarray]) -> list[Proposed]:
        """The questions with their tries' scores, [G] each, as `ProposerHealth` looks at them."""
        right = [self.questions.oracle(task) for task in tasks_among(written)]
        return proposed(written, scores, labels_right=right, hidden=True)

    def audited(self, proposals: Sequence[Episode], written: Sequence[Task | Refusal]) -> Metrics:
        """`accepted`, the share that passed; and where the world knows, `accepted/right`, the share of those that are
        right, `accepted/hops`, their mean hops, and `asked/wrong`, the wrong ones among all questions proposed.
        `asked/entropy` estimates the proposer's entropy in nats a word, which rises before valid questions die out."""
        tasks = tasks_among(written)
        asked = [self.questions.oracle(each) for each in tasks_among(read(self.questions, proposals))]
        right = [self.questions.oracle(task) for task in tasks]
        found = {"accepted": len(tasks) / len(proposals)} if proposals else {}
        logprobs = [float(each) for proposal in proposals for turn in proposal.turns for each in turn.reply.logprobs]
        if logprobs:
            found["asked/entropy"] = -fmean(logprobs)
        if tasks and None not in right:
            found["accepted/right"] = fmean(bool(each) for each in right)
            found["accepted/hops"] = fmean(task.facts["hops"] for task in tasks)
        if asked and None not in asked:
            found["asked/wrong"] = fmean(not each for each in asked)
        return found


def _queries(proposal: Episode) -> list[str]:
    return [text for _, text in proposal.outcome.facts["calls"]]


def _elsewhere(found: Sequence[Sequence[Document]], number: int) -> list[Document]:
    """What all others found."""
    return [document for other, documents in enumerate(found) if other != number for document in documents]
