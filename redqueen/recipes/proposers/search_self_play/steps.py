"""The gate of Search Self-Play, its pool, the search of its roles, and what they are paid (2510.18821).

A reader is shown what the proposer's searches gave, amid documents that other proposers found, and must come to the
proposer's answer. A question that has several answers passes so, where the proposer found one of them. Whatever goes
wrong on the way rejects the question, and what breaks is an error: nothing passes because it could not be checked.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from statistics import fmean
from typing import Annotated, Any

from redqueen.chance import derive
from redqueen.checks.judge import Label
from redqueen.checks.retrieval import Document, evidence, reading_faults
from redqueen.credit.group_rewards import FromBelow, correct
from redqueen.credit.learnability import FailureShare
from redqueen.credit.outcomes import verdicts
from redqueen.curricula.duplicates import SameKey
from redqueen.curricula.sameness import by_text_and_answer
from redqueen.curricula.store import TaskStore
from redqueen.demonstrations.rehearsal import Equipped
from redqueen.games.single_reply import SingleReply
from redqueen.games.tools import Limits, ToolReply
from redqueen.measures.alarms import Alarm, Alarms, at_least
from redqueen.play.groups import episodes_of
from redqueen.play.lockstep import play
from redqueen.play.seating import alone
from redqueen.protocols import COUNT, Player, State, shaped
from redqueen.questions.asking import JUDGE, judgements_of, read, said, tasks_among
from redqueen.questions.fenced import about_meaning
from redqueen.questions.small.knowledge import Knowledge
from redqueen.settings.roles import Cast, Role, Still
from redqueen.types import Episode, Group, Mean, Metrics, RedQueenError, Refusal, Task, mean_of

READ = SingleReply("reader")
VERDICT = Label()
UNREAD = Alarm(
    "unread", "surely", "{unread} of the last {seen} verdicts of the judge say neither YES nor NO", limit=0.5
)
PATIENCE = 64  # answers that a judge may leave without a verdict before the first that has one
Reader = Annotated[Role, Still(("world",))]
Written = list[Task | Refusal]


class SameMeaning:
    """Whether answers mean the same as the right ones, by a judge; None where its verdict cannot be read. An alarm
    rings where surely more than half of its last verdicts cannot. Raises RedQueenError once it was asked about
    `PATIENCE` answers or more and no verdict could be read."""

    def __init__(self, judge: Player) -> None:
        self.judge = judge
        self._asked = self._read = 0  # ever
        self._late: deque[bool] = deque(maxlen=512)  # whether each was read
        self._alarms = Alarms([UNREAD], quiet=True)

    def __call__(self, tasks: Sequence[Task], answers: Sequence[str]) -> list[bool | None]:
        rng = Random(derive(len(tasks), *answers))  # equal answers get equal verdicts
        asked = [about_meaning(task, answer, rng) for task, answer in zip(tasks, answers, strict=True)]
        told = judgements_of(play(alone(JUDGE, asked, self.judge), rng))
        found = [VERDICT.read(text) for text in told]
        self._late.extend(verdict is not None for verdict in found)
        self._asked, self._read = self._asked + len(found), self._read + len(found) - found.count(None)
        if not self._read and self._asked >= PATIENCE:
            raise RedQueenError(
                f"the judge gave no verdict that can be read on any of {self._asked} answers: it is to end with YES or "
                f"NO, and said {' '.join(told[0].split())!r:.60}; name another --judge, or none, to compare texts"
            )
        return [None if verdict is None else verdict == "YES" for verdict in found]

    def metrics(self) -> Metrics:
        """`alarm/unread`, from the step in which it first rings."""
        unread, seen = self._late.count(False), len(self._late)
        return self._alarms.observe({"surely": at_least(unread, seen), "unread": unread, "seen": seen})

    def alarms(self) -> list[str]:
        return self._alarms.alarms()

    def state(self) -> State:
        alarms = self._alarms.state()
        return {"asked": self._asked, "read": self._read, "late": list(self._late), "alarms": alarms}

    def restore(self, state: State) -> None:
        shaped(state, {"asked": COUNT, "read": COUNT, "late": [bool], "alarms": dict}, "the judge: ")
        self._asked, self._read = state["asked"], state["read"]
        self._late = deque(state["late"], maxlen=512)
        self._alarms.restore(state["alarms"])


def judges_of(config: Any, cast: Cast) -> list[SameMeaning]:
    """Who is asked about answers in other words: the judge of the cast, or nobody."""
    return [] if config.judge.player == "world" else [SameMeaning(cast["judge"])]


def questions_of(config: Any, judges: Sequence[SameMeaning] = ()) -> Knowledge:
    """The toy world, or the user's own documents. The one of `judges`, if there is one, is asked about answers whose
    texts differ from the right one."""
    judged = judges[0] if judges else None
    return Knowledge(corpus=config.corpus, answers=config.answers, questions=config.tests, judged=judged)


def equipped(config: Any, solver: Player) -> Equipped:
    """The solver with `config.searches` searches and one more turn, in which it answers without them."""
    limits = Limits(config.searches, config.searches + 2)
    return Equipped(solver, ToolReply("solver", (questions_of(config).search,), limits))


class Rewards:
    """What the roles earn. `invalid` is what an invalid question costs, other than 0 for comparisons."""

    solver = correct

    def __init__(self, invalid: float = 0.0) -> None:
        self._invalid = invalid
        self._shape = FailureShare(pay_unsolved=True)

    def proposer(self, tries: Sequence[Group]) -> FromBelow:
        """What each proposal earns by the tries at its question. Tries without a parent are at no question of this
        step."""
        own = [group for group in tries if group.parent is not None]
        return FromBelow(own, {"difficulty": [self._shape(verdicts(group)) for group in own]}, self._invalid)


class Pool(TaskStore):
    """Earlier questions that passed, which stand in for those that fail. It is cleared every `steps` steps."""

    def __init__(self, steps: int) -> None:
        super().__init__(screens=[SameKey(by_text_and_answer())], name="pool")
        self._steps = steps

    def begin(self, step: int) -> None:
        """Clears the pool if it is time."""
        if step and step % self._steps == 0:
            self.prune(lambda history: True)

    def filled(
        self, passed: Sequence[Task | Refusal], proposals: Sequence[Group], rng: Random
    ) -> tuple[list[Task], list[Episode | None]]:
        """The questions that passed and one from the pool for each that did not, if it holds any; and for each the
        proposal that wrote it, None for those of the pool."""
        tasks = tasks_among(passed)
        reused = self.draw(len(passed) - len(tasks), rng) if len(self) else []
        wrote = [one for one, each in zip(episodes_of(proposals), passed, strict=True) if isinstance(each, Task)]
        return [*tasks, *reused], [*wrote, *(None for _ in reused)]


@dataclass(frozen=True)
class Grounds:
    """Invites questions, and checks that each can be answered from the documents that its proposer found. Without a
    `reader` the question set's own is asked, which believes every document."""

    questions: Knowledge
    reader: Player | None = None
    noise: int = 4

    def __post_init__(self) -> None:
        if self.questions.corpus and self.reader is None:
            raise RedQueenError("a corpus of your own needs somebody who reads it: name a --reader")

    def invited(self, count: int, rng: Random) -> list[Task]:
        """Invitations to write questions, each for an answer drawn at random."""
        wanted = rng.choices(range(len(self.questions.wanted)), k=count)
        return [self.questions.invite("question", (), number) for number in wanted]

    def read(self, proposals: Sequence[Group]) -> Written:
        """The question of each proposal, or why there is none."""
        return read(self.questions, proposals)

    def checked(self, written: Sequence[Task | Refusal], proposals: Sequence[Group], rng: Random) -> Written:
        """The questions that pass the rules of form and the reader, and the first fault of each other as a refusal."""
        found = self.found(proposals)
        return self.answered(self.formed(written, proposals, found), found, found, rng)

    def found(self, proposals: Sequence[Group]) -> list[list[Document]]:
        """The documents that the searches of each proposal return, in order; the searches are run again."""
        search, count = self.questions.documents.search, self.questions.shown
        return [
            [document for query in _queries(each) if query for document in search(query, count)]
            for each in episodes_of(proposals)
        ]

    def formed(
        self, written: Sequence[Task | Refusal], proposals: Sequence[Group], found: Sequence[Sequence[Document]]
    ) -> Written:
        """The questions that pass the rules of form."""
        faults = [
            self.questions.rules.faults(said([one])[0], one.task.answer, _queries(one), documents)
            for one, documents in zip(episodes_of(proposals), found, strict=True)
        ]
        return [Refusal(str(wrong[0])) if wrong else each for wrong, each in zip(faults, written, strict=True)]

    def answered(
        self,
        written: Sequence[Task | Refusal],
        found: Sequence[Sequence[Document]],
        shown: Sequence[Sequence[Document]],
        rng: Random,
    ) -> Written:
        """The questions that a reader answers rightly from what it is shown of each, amid noise."""
        posed = [(number, each) for number, each in enumerate(written) if isinstance(each, Task)]
        texts = [evidence(shown[number], _elsewhere(found, number), rng, self.noise) for number, _ in posed]
        replies = self._readings([task for _, task in posed], texts, rng)
        checked = list(written)
        for (number, task), reply in zip(posed, replies, strict=True):
            faults = reading_faults(task, found[number], reply, self._agrees)
            checked[number] = Refusal(str(faults[0])) if faults else task
        return checked

    def _agrees(self, task: Task, answer: str) -> bool:
        return bool(self.questions.right([task], [answer])[0])

    def _readings(self, tasks: Sequence[Task], shown: Sequence[Sequence[Document]], rng: Random) -> list[str]:
        if self.reader is None:
            return [self.questions.reader(task.prompt, each) for task, each in zip(tasks, shown, strict=True)]
        asked = [
            Task(f"reading {number}", "reading", "\n".join([*(document.shown for document in each), task.prompt]))
            for number, (task, each) in enumerate(zip(tasks, shown, strict=True))
        ]
        return said(play(alone(READ, asked, self.reader), rng))

    def audited(
        self, proposals: Sequence[Group], written: Sequence[Task | Refusal], passed: Sequence[Task | Refusal]
    ) -> Metrics:
        """`accepted`, the share that passed; and where the world knows, `accepted/right`, the share of those that are
        right, `accepted/hops`, their mean hops, and `asked/wrong`, the wrong ones among all questions written.
        `asked/entropy` estimates the proposer's entropy in nats a token, which rises before valid questions die out."""
        tasks = tasks_among(passed)
        asked, right = self._right(tasks_among(written)), self._right(tasks)
        figures: Metrics = {"accepted": Mean(len(tasks) / len(proposals), len(proposals))} if proposals else {}
        turns = [turn for proposal in episodes_of(proposals) for turn in proposal.turns]
        logprobs = [float(each) for turn in turns for each in turn.reply.logprobs]
        if logprobs:
            figures["asked/entropy"] = Mean(-fmean(logprobs), len(logprobs))
        if right and None not in right:
            figures["accepted/right"] = mean_of(bool(each) for each in right)
            figures["accepted/hops"] = mean_of(task.facts["hops"] for task in tasks)
        if asked and None not in asked:
            figures["asked/wrong"] = mean_of(not each for each in asked)
        return figures

    def _right(self, tasks: Sequence[Task]) -> list[bool | None]:
        """Whether the answer of each task is the true one; None where nobody knows."""
        known = [(self.questions.true_answer(task), task.answer) for task in tasks]
        return [None if true is None else true == answer for true, answer in known]


def _queries(proposal: Episode) -> list[str]:
    return [text for _, text in proposal.outcome.facts["calls"]]


def _elsewhere(found: Sequence[Sequence[Document]], number: int) -> list[Document]:
    """What all others found."""
    return [document for other, documents in enumerate(found) if other != number for document in documents]
