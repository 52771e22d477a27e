"""A file of questions as a question set: problems with answers or without, gold replies to imitate, preferences.

    --questions train.jsonl
    --questions train.csv --columns question=Frage,answer=Antwort --compare number --test test.csv
    --questions dataset:path=train.jsonl,answer=result,held_out=0.2           (the same as one text)

`questions.columns` finds the columns, `questions.examples` reads the rows, `questions.answer_columns` what is expected,
`questions.grading` gives the verdicts, `questions.posing` holds the prompts of those who propose. Problems of the part
"train" and of the part "held_out" never have a prompt in common, up to case and spacing.

New problems may be proposed to it, in natural language: their answers are unknown, unless the proposer gives one.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, lru_cache
from math import inf
from pathlib import Path
from random import Random
from typing import Protocol, TypeVar

from redqueen.chance import derive
from redqueen.checks.extraction import Kind, expected, kind_of
from redqueen.checks.numeric import normalised
from redqueen.checks.preferences import ByReward
from redqueen.checks.sandbox.runs_of_programs import Limits
from redqueen.curricula.held_out import HELD_OUT, TRAIN, Apart, apart_from, as_compared
from redqueen.games.single_reply import SingleReply
from redqueen.players.language.reciter import Reciter, reader
from redqueen.protocols import Player, PreferenceOracle, Questions, members
from redqueen.questions import posing
from redqueen.questions.answer_columns import Expected, is_long, read_answers
from redqueen.questions.by_tests import ASSERTS, LIMITS, SETUP, ByTests
from redqueen.questions.columns import TESTING, TRAINING, USUAL, Layout, empty_throughout, layout_of
from redqueen.questions.data_rows import Row, read_parts
from redqueen.questions.examples import BadRow, Conversation, Example, as_text, doubles, example
from redqueen.questions.grading import (
    ACCEPTED,
    CHOICE,
    NONE,
    NUMBER,
    OPTIONS,
    TESTS,
    TEXT,
    Grading,
    find_grading,
    same,
)
from redqueen.questions.pair_doubts import doubts
from redqueen.questions.reference_answers import doubts_about
from redqueen.questions.verdicts import as_scores
from redqueen.texts import said_aloud
from redqueen.types import SOLVER, Demonstration, Match, Message, RedQueenError, Refusal, Task

Stamps = tuple[tuple[int, int], ...]  # when files were changed, and their sizes
_SAID: set[tuple[str, Stamps]] = set()
KIND = "problem"
SEEDS = 1000  # of the problems, at most, from which proposing starts
SHOWN = 3  # problems in an invitation without references
MOST_GROUPS = 50  # categories or levels
SHORT = 12  # words of an answer that another problem may have too
T = TypeVar("T")


@dataclass(frozen=True)
class Preference:
    """One pair of a preference data set."""

    task: Task
    chosen: str
    rejected: str


def instructions(held_out: float = 0.1, seed: int = 0) -> Dataset:
    """The few hundred short instructions with short answers that are shipped with the library."""
    return Dataset(str(Path(__file__).parent / "instructions.jsonl"), held_out, seed=seed, name="instructions")


def preferences(held_out: float = 0.1, seed: int = 0) -> Dataset:
    """The same instructions with two answers each: the gold one, and as the rejected one a sample of
    SmolLM2-135M-Instruct at temperature 1, at most 56 tokens long, cut after its last whole sentence."""
    return Dataset(str(Path(__file__).parent / "preferences.jsonl"), held_out, seed=seed, name="preferences")


@dataclass(frozen=True)
class LabelledReply:
    """One reply of a data set that says of each reply whether it is good."""

    task: Task
    text: str
    good: bool


class Preferring(Questions, Protocol):
    """A question set with preference pairs."""

    def preferences(self, level: str, count: int, rng: Random) -> list[Preference]:
        """Up to `count` different pairs of a level."""
        ...


class Labelling(Questions, Protocol):
    """A question set with replies that are called good or bad."""

    def labelled_replies(self, level: str, count: int, rng: Random) -> list[LabelledReply]:
        """Up to `count` different replies of a level."""
        ...


class BadRows(RedQueenError):
    """Too many rows of a data set cannot be used: its `faults` say why not, a line each."""

    def __init__(self, said: str, faults: Sequence[object]) -> None:
        super().__init__(said)
        self.faults = tuple(map(str, faults))


@dataclass(frozen=True)
class Loaded:
    """A data set that was read: its tasks and examples by level, in the order of the rows."""

    examples: Mapping[str, tuple[Example, ...]]
    tasks: Mapping[str, tuple[Task, ...]]
    kind: Kind  # of most answers
    compare: str
    notes: tuple[str, ...]  # what was found, a line each
    left_out: tuple[str, ...]  # what is not used of the rows, a line each
    faults: tuple[str, ...]  # why each row that cannot be used cannot be, a line each
    commas: bool  # whether one stands before the decimals of a number


@dataclass(frozen=True)
class Dataset:
    """A data set as a question set. Rows that cannot be used, that say the same as another one or whose prompt is held
    out are left out, with a warning that counts them. Raises RedQueenError where most rows cannot be used (unless
    `skip`), and where nothing is left to train or to test on."""

    path: str
    held_out: float = 0.1  # share of the prompts, drawn by `seed`; no effect where there is a part for tests
    test: str = ""  # another data set, all of it held out
    split: str = ""  # of a file the column that says train or test; of a folder with several the one to train on
    ignore: str = ""  # columns to ignore, as in id+source
    skip: bool = False  # leave out what cannot be used, however much it is
    longest: int = 0  # characters of a question; longer ones are left out; 0: no limit
    seed: int = 0
    question: str = ""  # the column of each role; found by its name if empty (questions/columns.py)
    answer: str = ""
    completion: str = ""
    chosen: str = ""
    rejected: str = ""
    margin: str = ""
    chosen_score: str = ""
    rejected_score: str = ""
    label: str = ""  # whether the completion is a good one
    system: str = ""
    choices: str = ""
    tests: str = ""
    context: str = ""
    concepts: str = ""
    category: str = ""  # each of its entries is a kind
    level: str = ""  # each of its entries is a level
    compare: str = ""  # number, text, choice, tests, FILE.py:FUNCTION or none; by the answers if empty
    seconds: float = LIMITS.seconds  # that a test may take
    memory: int = LIMITS.memory >> 20  # MiB that a test may take
    name: str = field(default="", repr=False, compare=False)

    def __post_init__(self) -> None:
        if not 0.0 <= self.held_out < 1.0:
            raise RedQueenError(f"the share that is held out is at least 0 and below 1, not {self.held_out:g}")
        if self._limits != LIMITS and self._loaded.compare != TESTS:
            raise RedQueenError(f"seconds and memory are limits of tests, by which {self.path} is not compared")
        if not self.name:
            object.__setattr__(self, "name", Path(self.path).name)
        for line in self._loaded.left_out:
            if (line, stamps := self._stamps) not in _SAID:  # once, however often the file is asked for
                _SAID.add((line, stamps))
                warnings.warn(line, stacklevel=3)  # of the caller that made the data set

    @cached_property
    def _loaded(self) -> Loaded:  # once, so that a training whose file is written anew goes on with what it began with
        return _load(self, self._stamps)

    @property
    def _stamps(self) -> Stamps:
        return (_stamp(self.path), _stamp(self.test))

    @property
    def notes(self) -> tuple[str, ...]:
        """What was found in the data set, a line each: how many problems, which columns, how answers are compared, and
        whether reference answers fail their own tests, for which they are run."""
        return (*self._loaded.notes, *filter(None, [self.doubts]))

    @property
    def faults(self) -> tuple[str, ...]:
        """Why each row that is left out cannot be used, a line each."""
        return self._loaded.faults

    @cached_property
    def doubts(self) -> str:
        """A line on the reference answers that fail their own tests (`reference_answers`); "" if none does."""
        grading = self._grading
        return doubts_about(self.path, grading, self.all_tasks()) if isinstance(grading, ByTests) else ""

    # Questions

    @property
    def levels(self) -> tuple[str, ...]:
        return tuple(self._loaded.tasks)

    @cached_property
    def _grading(self) -> Grading:
        return find_grading(self._loaded.compare, self._loaded.kind, self._loaded.commas, self._limits)

    @property
    def _limits(self) -> Limits:
        return replace(LIMITS, seconds=self.seconds, memory=self.memory << 20)

    def right(self, tasks: Sequence[Task], answers: Sequence[str]) -> list[bool | None]:
        """Whether each reply is right (`questions.grading`); None (unknown) for a task without an answer."""
        return self._grading.verdicts(tasks, answers)

    def extracted(self, tasks: Sequence[Task], replies: Sequence[str]) -> list[str]:
        """The answer that is found in each reply, "" where there is none."""
        return self._grading.answers(tasks, replies)

    def problems(self, level: str, count: int, rng: Random) -> list[Task]:
        """`count` problems of a level, in random order; none twice before all were drawn."""
        return _shuffled(self._tasks(level), count, rng)

    # Replies

    def demonstrations(self, count: int, rng: Random) -> list[Demonstration]:
        """`count` gold (or chosen) replies of the training part; none twice before all were drawn."""
        return _shuffled(self.gold(TRAIN), count, rng)

    def gold(self, level: str) -> list[Demonstration]:
        """All gold (or chosen) replies of a part, in the order of the rows, without those that are called bad. Raises
        RedQueenError if rows have only questions."""
        told = [
            (each.completion or str(task.facts.get("gold", task.answer)), task)
            for each, task in self._pairs(level)
            if each.good is not False
        ]
        shown = [Demonstration(SOLVER, task, text, task.answer if text != task.answer else "") for text, task in told]
        if shown and not shown[0].text:
            raise RedQueenError(
                f"{self.path} holds questions alone: demonstrations need replies, in a column completion or answer"
            )
        return shown

    def preferences(self, level: str, count: int, rng: Random) -> list[Preference]:
        """Up to `count` different pairs of a part. Raises RedQueenError if there are none."""
        pairs = self._pairs(level)
        if pairs and not pairs[0][0].rejected:
            raise RedQueenError(self._lacks_preferences)
        found = [Preference(_with_more(task, each), each.completion, each.rejected) for each, task in pairs]
        return rng.sample(found, min(len(found), count))

    def labelled_replies(self, level: str, count: int, rng: Random) -> list[LabelledReply]:
        """Up to `count` different replies of a part that are called good or bad; of preferences both sides. Raises
        RedQueenError if there are none."""
        rows = self._pairs(level)
        if self._lacks_labels(rows):
            raise RedQueenError(self._lacks_labels(rows))
        found = [LabelledReply(task, each.completion, each.good is not False) for each, task in rows]
        found += [LabelledReply(task, each.rejected, False) for each, task in rows if each.rejected]
        return rng.sample(found, min(len(found), count))

    @property
    def _lacks_preferences(self) -> str:
        labels = ", and a column of labels is for --loss kto" if self._pairs(TRAIN)[0][0].good is not None else ""
        return f"{self.path} holds no preferences: they need the columns chosen and rejected{labels}"

    def _lacks_labels(self, rows: Sequence[tuple[Example, Task]]) -> str:
        if rows and rows[0][0].rejected:
            return ""
        silent = next((each.place for each, _ in rows if each.good is None), "")
        what = "a column label (true or false) next to completion, or chosen and rejected"
        return f"{silent}: the reply is not called good or bad: it needs {what}" if silent else ""

    def all_tasks(self) -> list[Task]:
        """The tasks of all levels, each once."""
        return [task for level in self.levels for task in self._loaded.tasks[level]]

    def _tasks(self, level: str) -> list[Task]:
        return [task for each in self._known(level) for task in self._loaded.tasks[each]]

    def _pairs(self, level: str) -> list[tuple[Example, Task]]:
        loaded = self._loaded
        return [
            pair for each in self._known(level) for pair in zip(loaded.examples[each], loaded.tasks[each], strict=True)
        ]

    def _known(self, level: str) -> list[str]:
        """The level, or all levels for training where that is meant."""
        if level in self.levels:
            return [level]
        if level == TRAIN:
            return [each for each in self.levels if each != HELD_OUT]
        raise RedQueenError(f"{self.path} has no part {level!r}: its parts are {', '.join(self.levels)}")

    # Proposable

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        return tuple(sorted({task.kind for task in self._tasks(TRAIN)}))

    @cached_property
    def _seeds(self) -> tuple[Task, ...]:
        tasks = self._tasks(TRAIN)
        first = {task.kind: task for task in reversed(tasks)}
        drawn = Random(derive(self.seed, "seeds")).sample(tasks, min(SEEDS, len(tasks)))
        return tuple({task.id: task for task in (*(first[kind] for kind in self.kinds), *drawn)}.values())

    def seeds(self) -> list[Task]:
        """Training problems, one of each kind at least, with the answers that are known: all where there are few."""
        return list(self._seeds)

    def sources(self, kind: str) -> tuple[str, ...]:
        return self.kinds

    def proposals(self, count: int, rng: Random) -> list[Demonstration]:
        """Training problems as they would be proposed after one to three others of their kind. Raises RedQueenError for
        a file with concepts, of which a proposal explains itself, and for one without two problems of a kind."""
        several = [own for kind in self.kinds if len(own := [seed for seed in self._seeds if seed.kind == kind]) > 1]
        if not several:
            raise RedQueenError(f"{self.path} has no two problems of a kind: a proposal is shown after another one")
        if any("concepts" in seed.facts for seed in self._seeds):
            raise RedQueenError(f"{self.path} has concepts, and no rationales that proposals from these begin with")
        found = []
        for number in range(count):
            own = rng.choice(several)
            written, *references = rng.sample(own, min(len(own), 1 + rng.randint(1, SHOWN)))
            invitation = self.invite(written.kind, references, number)
            found.append(Demonstration("proposer", invitation, posing.proposal(written)))
        return found

    def invite(self, kind: str, references: Sequence[Task], number: int) -> Task:
        """An invitation that shows the references, or where there are none a few of the set's own problems; in a set
        with a column `concepts` those of the first reference, and a rationale is asked for."""
        if not references:
            own = [seed for seed in self._seeds if seed.kind == kind]
            references = Random(derive(self.seed, "invite", number)).sample(own, min(SHOWN, len(own)))
        concepts = str(references[0].facts.get("concepts", "")) if references else ""
        prompt = posing.asked_for_another(() if concepts else references, concepts)
        facts = {"concepts": concepts} if concepts else {}
        return Task(f"invitation {kind} {number}", kind, prompt, facts=facts)

    def read(self, invitations: Sequence[Task], replies: Sequence[str]) -> list[Task | Refusal]:
        """The question in each reply as a task, with the answer that the invitation asked for: the proposer's own, or
        that of the problem that was retold; else nobody knows it."""
        return [self._read(task, reply) for task, reply in zip(invitations, replies, strict=True)]

    def _read(self, invitation: Task, reply: str) -> Task | Refusal:
        facts = dict(invitation.facts)
        found = posing.read_proposal(reply, answered="text" in facts, explained="concepts" in facts)
        if isinstance(found, Refusal):
            return found
        prompt, answer = found.question, expected(found.answer) or invitation.answer
        if "concepts" in facts:
            facts["rationale"] = found.rationale
        facts["answered_as"] = self._loaded.kind.value
        if facts.pop("text", ""):
            facts["question"] = prompt
            prompt = f"{facts.pop('shown')}\n\n{prompt}".strip()
        return Task(f"posed: {prompt} {answer}".strip(), invitation.kind, prompt, answer, facts)

    def needs(self, wanted: type) -> str:
        """What the file lacks to be `wanted`, a protocol of question sets, in one line; "" if it lacks nothing."""
        asked, shown = set(members(wanted)), self._seeds[:MOST_GROUPS]
        if "vary" in asked and 2 * sum(0 < len(task.answer.split()) <= SHORT for task in shown) <= len(shown):
            known = [len(task.answer.split()) for task in shown if task.answer]
            long = sum(count > SHORT for count in known)
            too_long = f"{long} of {len(known)} have more than {SHORT} words (--columns answer=COL names others)"
            why = too_long if long else "they need a column answer"
            return f"{self.path} has no short answers that a retold problem could keep: {why}"
        if asked & {"passages", "invite_about"} and not self._documents:
            return f"{self.path} has no texts to ask about: they need a column context (--columns context=COL)"
        if "explain" in asked and not any(task.facts.get("concepts") for task in self._seeds):
            return f"{self.path} has no concepts: they need a column concepts (--columns concepts=COL)"
        if "labelled_replies" in asked:
            return self._lacks_labels(self._pairs(TRAIN))
        return self._lacks_preferences if "preferences" in asked and not self._pairs(TRAIN)[0][0].rejected else ""

    # Varying (SvS): a problem is told anew after a solution of it, and keeps its answer

    def vary(self, response: str, answer: str, number: int) -> Task:
        return Task(f"variant {number}", self.kinds[0], posing.asked_to_retell(response, answer), answer)

    def true_answer(self, task: Task) -> str | None:
        """The answer of a problem of the file; None for any other, whose answer nobody knows."""
        return self._answers_known.get(as_compared(task.prompt)) or None

    @cached_property
    def _answers_known(self) -> Mapping[str, str]:
        return {as_compared(task.prompt): task.answer for level in self.levels for task in self._tasks(level)}

    # Evolving (eva): prompts are rewritten; a reply nobody can grade is worth how many others agree with it

    def evolve(self, task: Task, depth: str, number: int) -> Task:
        return Task(f"{depth} {number}", task.kind, posing.asked_to_rewrite(task, depth == "deeper"))

    def rewriter(self) -> Player:
        raise RedQueenError(f"no rule rewrites the problems of {self.path}: a model does, --rewriter frozen")

    @property
    def oracle(self) -> PreferenceOracle:
        """A right reply is preferred to a wrong one, equals are one half; no verdict where nobody knows."""
        return ByReward(lambda tasks, answers: as_scores(self.right(tasks, answers)), sharpness=inf)

    def rewards(self, tasks: Sequence[Task], answers: Sequence[str]) -> list[float]:
        """1 for a right reply, 0 for a wrong one; where nobody knows, the share of the replies to the same task that
        give the same answer."""
        said = [normalised(each) for each in self.extracted(tasks, answers)]
        votes = Counter((task.id, each) for task, each in zip(tasks, said, strict=True))
        asked = Counter(task.id for task in tasks)
        return [
            float(right) if right is not None else (votes[task.id, each] / asked[task.id] if each else 0.0)
            for task, each, right in zip(tasks, said, self.right(tasks, answers), strict=True)
        ]

    # Explained (PromptCoT 2.0): problems come from concepts by way of a rationale

    def explain(self, task: Task) -> Task:
        concepts = str(task.facts.get("concepts", ""))
        prompt = posing.asked_to_explain(task, concepts)
        return Task(f"explain {task.id}", task.kind, prompt, facts={"concepts": concepts})

    def written(self, task: Task, rationale: str) -> str:
        return f"<rationale>{rationale}</rationale>\n<question>{task.prompt}</question>"

    def rationales(self) -> Sequence[str]:
        return ()

    # Informed (PasoDoble) and Documented (SPELL): questions after a text, with the proposer's own answer

    @cached_property
    def _documents(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(each.context for each, _ in self._pairs(TRAIN) if each.context))

    def passages(self) -> Sequence[str]:
        return self._documents

    def invite_after(self, passage: str, number: int) -> Task:
        facts = {"text": passage, "shown": ""}
        return Task(f"invitation {number}", self.kinds[0], posing.asked_about_text(passage), facts=facts)

    @property
    def stages(self) -> int:
        """One for each text that may stand with another."""
        return max(1, len(self._documents))

    def invite_about(self, cluster: int, stage: int, kind: str, before: Sequence[Task], number: int) -> Task:
        """An invitation after one text of the file; whoever answers is shown as many others with it as the stage
        says."""
        passage = self._documents[cluster % len(self._documents)]
        asked = [str(task.facts["question"]) for task in before]
        facts = {"cluster": cluster, "stage": stage, "text": passage, "shown": self._texts(cluster, stage)}
        prompt = posing.asked_about_text(passage, asked)
        return Task(f"invitation {number} {kind} {cluster}/{stage}", kind, prompt, facts=facts)

    def _texts(self, cluster: int, stage: int) -> str:
        """The text of a cluster among `stage` others."""
        at, rng = cluster % len(self._documents), Random(derive(self.seed, "texts", cluster))
        others = [each for number, each in enumerate(self._documents) if number != at]
        shown = [self._documents[at], *rng.sample(others, min(stage, len(others)))]
        return "\n\n".join(rng.sample(shown, len(shown)))

    def closed_book(self, task: Task) -> Task:
        return replace(task, id=f"closed {task.id}", prompt=str(task.facts["question"]))

    def compared(self, task: Task, answer: str) -> Task:
        prompt = posing.asked_to_compare(str(task.facts["question"]), task.answer, answer)
        return Task(f"{answer!r} to {task.id}", "judgement", prompt)


def _with_more(task: Task, example: Example) -> Task:
    """The task with what is said of its pair besides which reply is better."""
    more = {} if example.margin is None else {"margin": example.margin}
    told = more | ({"scores": list(example.scores)} if example.scores else {})
    return replace(task, facts={**task.facts, **told}) if told else task


def training_pairs(questions: Preferring, count: int, apart: Apart, rng: Random) -> list[Preference]:
    """Up to `count` pairs of the part for training, none of a held-out task. Raises RedQueenError where none is
    left."""
    return pairs_apart(apart, questions.preferences(TRAIN, count, rng))


def pairs_apart(apart: Apart, preferences: Sequence[Preference]) -> list[Preference]:
    """The pairs whose tasks are not held out. Raises RedQueenError if none is left."""
    kept = {task.id for task in apart_from(apart, [each.task for each in preferences])}
    if not kept:
        raise RedQueenError(
            "all pairs are of tasks that are held out: hold out fewer (--problems), or a part of its own "
            "(dataset:path=FILE,held_out=0.1)"
        )
    return [each for each in preferences if each.task.id in kept]


def recitations(preferences: Sequence[Preference], learner: Player) -> tuple[list[Match], list[Match]]:
    """Matches in which the learner recites the chosen and the rejected replies in its own tokens; play and score them
    for `batch.pack_pairs`."""
    chosen = [(each.task, each.chosen) for each in preferences]
    return said_by(learner, chosen), said_by(learner, [(each.task, each.rejected) for each in preferences])


def said_by(learner: Player, replies: Sequence[tuple[Task, str]]) -> list[Match]:
    """Matches in which the learner recites a reply to each task in its own tokens."""
    game, speaker = SingleReply(SOLVER), reader(learner)
    return [Match(game, task, {SOLVER: Reciter(speaker, text)}) for task, text in replies]


ROLES = tuple(each.name for each in fields(Dataset) if each.name in {*USUAL, "question"} and each.name != "split")


def _stamp(path: str) -> tuple[int, int]:
    """What changes when a file does."""
    place = Path(path).expanduser()
    try:
        found = place.stat()
    except OSError:
        return (0, 0)
    return (found.st_mtime_ns, found.st_size)


@lru_cache(maxsize=8)
def _load(data: Dataset, _stamps: Stamps) -> Loaded:
    """The data set, read once for all who ask for it."""
    return _Reading(data).loaded()


class _Reading:
    """Reads a data set, and remembers what is to be said of it."""

    def __init__(self, data: Dataset) -> None:
        self.data = data
        self.columns: list[str] = []
        self.left_out: list[str] = []
        self.faults: list[str] = []
        self.kinds: list[Kind] = []
        self.commas = False
        self.answers = ""
        self.compare = data.compare

    def loaded(self) -> Loaded:
        data = self.data
        train, tests = self._parts(data.path, data.split)
        how = "the tests of the data set"
        if data.test:
            others, more = self._parts(data.test, "")
            tests, how = [*others, *more], data.test
            if not tests:
                raise RedQueenError(f"{data.test} holds nothing to test on")
        if tests:
            parts = self._apart(train, tests)
        else:
            parts, how = self._held_out(train), f"a share of {data.held_out:g}"
        if not parts[0] and tests and train:
            raise RedQueenError(
                f"{data.path} holds nothing to train on: all {len(train)} of its questions are among the tests ({how})"
            )
        if not parts[0]:
            asked, held = (len({_compared(each.key) for each, _ in part}) for part in (train, parts[1]))
            raise RedQueenError(
                f"{data.path} holds nothing to train on: it has {asked} different question{'' if asked == 1 else 's'}"
                f"{f' in {len(train)} rows' if asked < len(train) else ''}, of which {held} "
                f"{'is' if held == 1 else 'are'} held out; give it more questions, or a file to test on (--test FILE)"
                + "".join(f" ({each.removeprefix(f'{data.path}: ')})" for each in self.left_out)
            )
        examples = {**self._levels(parts[0]), **({HELD_OUT: parts[1]} if parts[1] else {})}
        tasks = {level: tuple(each for _, each in part) for level, part in examples.items()}
        split = f"{len(parts[0])} problems to train on, {len(parts[1])} held out ({how})"
        levels = f"; levels: {', '.join(tasks)}" if data.level else ""
        return Loaded(
            {level: tuple(each for each, _ in part) for level, part in examples.items()},
            tasks,
            self.kinds[0],
            self.compare,
            (f"{data.path}: {split}{levels}", *self.columns),
            tuple(self.left_out),
            tuple(self.faults),
            self.commas,
        )

    def _parts(self, path: str, split: str) -> tuple[list[_Row], list[_Row]]:
        """The rows to train on and those that the data set itself says are tests."""
        train, tests = read_parts(path, "" if _is_file(path) else split)
        named = {role: getattr(self.data, role) for role in ROLES}
        if _is_file(path):
            named["split"] = split
        if not train and not tests:
            raise RedQueenError(f"{path} is empty: write one question a row")
        if all(row.fault and not row.columns for row in (*train, *tests)):
            unread = [f"{row.place}: {row.fault}" for row in (*train, *tests)]
            raise BadRows(f"{path} holds no row that can be used: {unread[0]}", unread)
        empty = empty_throughout([*train, *tests])
        if wanted_empty := [name for name in named.values() if name in empty]:
            raise RedQueenError(f"the column {wanted_empty[0]!r} of {path} is empty in every row: name another one")
        layout = layout_of([*train, *tests], named, path, {*self.data.ignore.split("+"), *empty})
        if empty:
            self.columns.append(f"{path}: empty in every row, and not used: {', '.join(empty)}")
        self._say_all_tests(layout, path, [*train, *tests])
        if "tests" in layout.roles and self.compare == "":
            self.compare = TESTS
        if self.compare == TESTS and "tests" not in layout.roles:
            raise RedQueenError(f"{path} has no tests to run: they need a column tests (--columns tests=COL)")
        graded = self.compare != NONE and ".py:" not in self.compare
        faults: list[BadRow] = []
        found = []
        for row in [*train, *tests]:
            try:
                found.append(example(row, layout, graded))
            except BadRow as fault:
                faults.append(fault)
        found = self._not_too_long(found, path)
        self._by_column(found, layout, path)
        places = {row.place for row in tests}

        def tested(each: Example) -> bool:
            return each.place in places or each.by("split").lower() in TESTING

        found = self._once([each for each in found if not tested(each)], path) + self._once(
            [each for each in found if tested(each)], path
        )
        wanted = read_answers(found, self.compare)
        faults += [fault for fault in wanted.faults if fault]
        good = [
            (each, answers)
            for each, answers, fault in zip(found, wanted.answers, wanted.faults, strict=True)
            if not fault
        ]
        self._leave_out(faults, path, len(train) + len(tests))
        if not good:
            raise BadRows(f"{path} holds no row that can be used" + (f": {faults[0]}" if faults else ""), faults)
        self.kinds.append(wanted.kind)
        self.commas |= wanted.commas
        free = self._chosen_freely(found)
        self._say(path, layout, wanted, [answers for _, answers in good], free)
        self._say_disagreements(path, good)
        self.columns += [f"{path}: {each}" for each in doubts([each for each, _ in good])]
        rows = [(each, self._task(each, answers, wanted.kind, free)) for each, answers in good]
        return [pair for pair in rows if not tested(pair[0])], [pair for pair in rows if tested(pair[0])]

    def _say_all_tests(self, layout: Layout, path: str, rows: Sequence[Row]) -> None:
        """Notes a column `split` that calls every row a test, so that it says nothing of what to train on."""
        name = next((each for each in layout.unused if each.lower() == "split"), "")
        if path == self.data.path and name and all(str(row.columns.get(name)).lower() in TESTING for row in rows):
            self.columns.append(
                f"{path}: its column {name} calls every row a test; they are split anew, which is right for a file of "
                f"its own (to test on all of them: --questions TRAIN_FILE --test {path})"
            )

    def _by_column(self, found: Sequence[Example], layout: Layout, path: str) -> None:
        """Refuses a column `split` that names no test, or says something else than train or test."""
        if "split" not in layout.roles:
            return
        said = dict.fromkeys(each.by("split").lower() for each in found)
        if not set(said) & set(TESTING):
            raise RedQueenError(
                f"the column {layout.roles['split']!r} of {path} names no row a test (test, validation, ...): name "
                "another file, --test FILE, or hold out a share of this one, --columns "
                f"ignore={layout.roles['split']}"
            )
        if strange := [each for each in said if each and each not in (*TRAINING, *TESTING)]:
            raise RedQueenError(
                f"the column {layout.roles['split']!r} of {path} says {strange[0]!r}: it says train or test; "
                f"--columns ignore={layout.roles['split']} leaves the column out"
            )

    def _leave_out(self, faults: Sequence[BadRow], path: str, count: int) -> None:
        """Counts the faults. Raises RedQueenError where most rows have one."""
        if faults and 2 * len(faults) > count and not self.data.skip:
            raise BadRows(f"{len(faults)} of {count} rows of {path} cannot be used, the first: {faults[0]}", faults)
        self.faults += map(str, faults)
        if faults:
            self.left_out.append(f"{path}: left out {len(faults)} of {count} rows, the first: {faults[0]}")

    def _not_too_long(self, found: Sequence[Example], path: str) -> list[Example]:
        """The examples without those whose question is longer than was allowed."""
        longest = self.data.longest
        kept = [each for each in found if not longest or len(as_text(each.messages)) <= longest]
        if len(kept) < len(found):
            count = len(found) - len(kept)
            self.left_out.append(
                f"{path}: left out {count} of {len(found)} rows, whose question{'' if count == 1 else 's'} "
                f"{'is' if count == 1 else 'are'} longer than {longest:,} characters"
            )
        return kept

    def _once(self, found: Sequence[Example], path: str) -> list[Example]:
        """The examples without those that say the same as an earlier one."""
        repeated = doubles(found)
        pairs = [(each, before) for each, before in zip(found, repeated, strict=True) if before]
        if pairs:
            (each, before), count = pairs[0], len(pairs)
            self.left_out.append(
                f"{path}: left out {count} row{'' if count == 1 else 's'} that say{'s' if count == 1 else ''} the same "
                f"as another one, the first: {each.place}, as {before}"
            )
        return [each for each, before in zip(found, repeated, strict=True) if not before]

    def _apart(self, train: Sequence[_Row], tests: Sequence[_Row]) -> tuple[list[_Row], list[_Row]]:
        """Both parts; without the rows to train on whose prompts are among the tests."""
        held = {_compared(each.key): each.place for each, _ in tests}
        shared = [each for each, _ in train if _compared(each.key) in held]
        if shared:
            first = shared[0]
            self.left_out.append(
                f"{self.data.path}: {len(shared)} of {len(train)} problems to train on are also among the tests and "
                f"left out, the first: {first.place}, as {held[_compared(first.key)]}"
            )
        return [pair for pair in train if _compared(pair[0].key) not in held], list(tests)

    def _held_out(self, rows: Sequence[_Row]) -> tuple[list[_Row], list[_Row]]:
        drawn = {_compared(key) for key in _drawn([each for each, _ in rows], self.data.held_out, self.data.seed)}
        inside = [_compared(each.key) in drawn for each, _ in rows]
        return (
            [pair for pair, held in zip(rows, inside, strict=True) if not held],
            [pair for pair, held in zip(rows, inside, strict=True) if held],
        )

    def _levels(self, rows: Sequence[_Row]) -> dict[str, list[_Row]]:
        if not self.data.level:
            return {TRAIN: list(rows)}
        found: dict[str, list[_Row]] = {}
        for pair in rows:
            found.setdefault(pair[0].by("level") or "none", []).append(pair)
        if len(found) > MOST_GROUPS:
            raise RedQueenError(
                f"the column {self.data.level!r} of {self.data.path} has {len(found)} different entries: levels are at "
                f"most {MOST_GROUPS}"
            )
        return dict(sorted(found.items(), key=lambda each: (len(each[0]), each[0])))

    def _chosen_freely(self, found: Sequence[Example]) -> bool:
        """Whether what somebody chose, or called good, is no answer that other replies are held to: most of it is more
        than a short answer, or nobody compares."""
        chosen = [is_long(said_aloud(each.completion)) for each in found if _judged(each) and each.good is not False]
        return self.compare == NONE or (self.compare == "" and 2 * sum(chosen) > len(chosen))

    def _task(self, found: Example, answers: tuple[str, ...], kind: Kind, free: bool) -> Task:
        told = tuple(Message(role, text) for role, text in found.messages) if len(found.messages) > 1 else ()
        good = "" if found.good is False else found.completion
        free = free and _judged(found)
        answers = () if free else answers
        answer = answers[0] if answers else ("" if found.tests or free else said_aloud(good))
        gold = good or (found.answers[0] if found.answers else "")
        alike = not answers or kind is Kind.CHOICE or self.compare in (NUMBER, TEXT, CHOICE)
        facts: dict[str, object] = {"answered_as": (kind if alike else kind_of(answers[0])).value}
        facts = {} if found.tests else facts
        facts |= {"gold": gold} if gold and (answer or free) and gold != answer else {}
        facts |= {ACCEPTED: answers} if len(answers) > 1 else {}
        facts |= {OPTIONS: found.choices} if found.choices else {}
        facts |= {ASSERTS: found.tests} if found.tests else {}
        facts |= {SETUP: found.setup} if found.tests and found.setup else {}
        facts |= {"concepts": found.by("concepts")} if found.by("concepts") else {}
        category = found.by("category") if self.data.category else KIND
        return Task(found.place, category or KIND, as_text(found.messages), answer, facts, messages=told)

    def _say(self, path: str, layout: Layout, wanted: Expected, found: Sequence[tuple[str, ...]], free: bool) -> None:
        """Notes which columns are used, and what is expected; of `free` replies nothing is."""
        names = {
            "answer" if role == "completion" and "answer" not in layout.roles else role: name or "A, B, C, D"
            for role, name in layout.roles.items()
        }
        used = ", ".join(f"{role} = {name}" for role, name in names.items())
        without = f"; not used: {', '.join(layout.unused)} (--columns ROLE=COL uses one)" if layout.unused else ""
        self.columns.append(f"{path}: {used}{without}")
        if path != self.data.path:
            return
        judged = free and not self.compare and "answer" not in layout.roles
        if judged or (wanted.said == "none" and self.compare in ("", NONE)):
            votes = "; votes are on whole replies (--compare number: on their last number)"
            if judged:
                said = "what was chosen is free text, and verdicts on replies are unknown (--compare text: a reply is "
                said += "right where it says the same)"
            elif "chosen" in layout.roles and not self.compare:
                said = "a reply is right where it says what the chosen one says (--compare none: that is unknown)"
            else:
                said = f"verdicts on replies are unknown{'' if self.compare else votes}"
            self.columns.append(f"{path}: no answers: {said}")
            return
        shown = " ".join(next((each[0] for each in found if each), "").split())
        such = f', such as "{shown[:60]}"' if shown else ""
        self.columns.append(f"{path}: answers: {wanted.said}{such}; compared {self._how(wanted)}")
        long = [len(answers[0].split()) > SHORT for answers in found if answers]
        if self.compare in ("", TEXT) and wanted.kind is Kind.TEXT and 2 * sum(long) > len(long):
            self.columns.append(
                f"{path}: most answers are longer than {SHORT} words, and hardly any reply says the same: to grade "
                "replies, compare by a function (--compare FILE.py:FUNCTION) or a judge (grpo --answers judge:WHO)"
            )

    def _say_disagreements(self, path: str, good: Sequence[tuple[Example, tuple[str, ...]]]) -> None:
        """Notes questions that stand there several times with different short answers."""
        told: dict[Conversation, list[tuple[str, str]]] = {}  # what was answered, and where
        for each, answers in good:
            if answers and len(answers[0].split()) <= SHORT and not each.rejected and each.good is None:
                known = told.setdefault(each.key, [])
                if not any(same(text, answers[0], kind_of(text)) for text, _ in known):
                    known.append((answers[0], each.place))
        several = [[place for _, place in known] for known in told.values() if len(known) > 1]
        if several:
            first, second, *_ = several[0]
            self.columns.append(
                f"{path}: {len(several)} question{'' if len(several) == 1 else 's'} with several answers that differ, "
                f"the first: {second}, as {first}: each is a problem of its own (a list in one row: any of them is "
                "right)"
            )

    def _how(self, wanted: Expected) -> str:
        plain = {TESTS: "by their tests", NONE: "by nobody: verdicts are unknown"}
        if self.compare in ("", NUMBER, TEXT, CHOICE):
            alike = bool(self.compare) or wanted.alike
            return f"{f'as {wanted.kind}s' if alike else 'each as what it is'} (--compare)"
        return plain.get(self.compare, f"by {self.compare}")


_Row = tuple[Example, Task]


def _judged(row: Example) -> bool:
    """Whether all that is known of a row is what somebody chose, or called good or bad."""
    return not row.answers and (bool(row.rejected) or row.good is not None)


def _is_file(path: str) -> bool:
    return Path(path).expanduser().is_file()


def _drawn(examples: Sequence[Example], share: float, seed: int) -> set[Conversation]:
    """A `share` of the different prompts, at least one if it is above 0; which ones does not depend on the order of
    the rows, and hardly on added rows."""
    keys = sorted({each.key for each in examples}, key=lambda key: (derive(seed, as_text(key)), key))
    return set(keys[: max(1, round(share * len(keys)))]) if share else set()


def _compared(key: Conversation) -> str:
    return as_compared(as_text(key))


def _shuffled(items: Sequence[T], count: int, rng: Random) -> list[T]:
    """`count` items in random order, in counts that differ by at most one."""
    drawn: list[T] = []
    while items and len(drawn) < count:
        drawn += rng.sample(items, min(len(items), count - len(drawn)))
    return drawn
