"""A closed world of 500 facts to search, and questions of several hops about it (for Search Self-play, 2510.18821).

    document    The rank of k7 is m3.        The opponent of b2 is k7.
    1 hop       What is the rank of k7?                     m3
    2 hops      What is the rank of the opponent of b2?     m3

A world is made from its seed, so that it cannot be known without searching. Everyone is the opponent of one and the
second of one; a few have two seconds, and a question that has two answers counts as wrong. With `corpus` and `answers`
the documents and the answers to ask for are the user's own, and only the reader decides which questions are right.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from random import Random

from redqueen.checks.numeric import normalised
from redqueen.checks.retrieval import Corpus, Document, Rules
from redqueen.games.tools import Searching
from redqueen.questions.toolbox import search_tool
from redqueen.texts import file_text
from redqueen.types import SOLVER, Demonstration, RedQueenError, Refusal, Task

PEOPLE, THINGS = ("opponent", "second"), ("colour", "place", "rank")  # what somebody's relations lead to
VALUES = 25  # different colours, places, ranks
TWOFOLD = 0.1  # of the people have two seconds, and no rank
Judged = Callable[[Sequence[Task], Sequence[str]], list[bool | None]]
_FACT = re.compile(r"The (\w+) of (\w+) is (\w+)\.")
_QUESTION = re.compile(r"What is ((?:the \w+ of )+)(\w+)\?")
RULES = Rules(words=6, queries=1, whole_words=True)  # SSP: 10 words and 2 queries, which one hop here does not need


@dataclass(frozen=True)
class Knowledge:
    """See the module. `hops`, `skill`, `careful` and `plain` are for demonstrations only: how often a proposer tries
    one, two, ... hops, how often a solver follows them all, how often a proposer takes each step back the right way
    round, and how often its last relation is the one that it read."""

    facts: int = 500
    seed: int = 0
    corpus: str = ""  # a file of documents (`Corpus.from_file`)
    answers: str = ""  # a file of answers, one a line
    questions: str = ""  # held out, of a corpus of the user's own: {"question": ..., "answer": ...} in each line
    shown: int = 2  # documents a search gives
    hops: tuple[float, ...] = (0.85, 0.12, 0.03)
    skill: tuple[float, ...] = (0.9, 0.3, 0.1)
    careful: float = 0.6
    plain: float = 0.9
    name: str = field(default="knowledge", repr=False)
    judged: Judged | None = field(default=None, repr=False)  # asked about answers whose texts are not the right one

    def __post_init__(self) -> None:
        if bool(self.corpus) != bool(self.answers):
            raise RedQueenError("a corpus of one's own needs a file of answers to ask for, and the other way round")
        if self.questions and not self.corpus:
            raise RedQueenError("the held-out questions belong to a corpus: name the corpus and its answers too")
        if not self.corpus and self.facts < 10 * (len(PEOPLE) + len(THINGS)):
            raise RedQueenError(f"a world needs at least 50 facts, not {self.facts}")

    # The world

    @cached_property
    def documents(self) -> Corpus:
        """The corpus to search. Raises RedQueenError if the user's file cannot be read."""
        if self.corpus:
            return Corpus.from_file(self.corpus)
        return Corpus(Document(str(n), f"The {r} of {s} is {o}.") for n, (s, r, o) in enumerate(self._triples))

    @cached_property
    def wanted(self) -> tuple[str, ...]:
        """The answers for which questions are to be written."""
        if self.answers:
            lines = _lines(self.answers, "answers")
            empty = [number for number, line in lines if not normalised(line)]
            if empty:
                raise RedQueenError(f"line {empty[0]} of {self.answers} has no word or number to ask for")
            return tuple(line for _, line in lines)
        return tuple(sorted({thing for _, relation, thing in self._triples if relation in THINGS}))

    @property
    def rules(self) -> Rules:
        """The rules of form that a question keeps: SSP's for a corpus of the user's own, short ones for this world."""
        return Rules(whole_words=True) if self.corpus else RULES

    def tools_for(self, role: str) -> tuple[Searching, ...]:
        """The search tool, whatever the role."""
        return (self.search,)

    @property
    def search(self) -> Searching:
        return search_tool(self.documents, self.shown)

    @cached_property
    def _triples(self) -> tuple[tuple[str, str, str], ...]:
        rng = Random(self.seed)
        count = self.facts // (len(PEOPLE) + len(THINGS))
        names = _names(count + VALUES * len(THINGS), rng)
        people, values = names[:count], names[count:]
        known = [(s, r, o) for r in PEOPLE for s, o in zip(people, _others(people, rng), strict=True)]
        known += [(s, r, values[VALUES * n + rng.randrange(VALUES)]) for n, r in enumerate(THINGS) for s in people]
        for person in rng.sample(people, int(TWOFOLD * count)):
            known = [fact for fact in known if fact[:2] != (person, "rank")]
            known.append((person, "second", rng.choice(people)))
        rng.shuffle(known)
        return tuple(known)

    # Questions

    @property
    def kinds(self) -> tuple[str, ...]:
        return ("question",)

    @property
    def levels(self) -> tuple[str, ...]:
        if self.corpus:
            return ("questions",) if self.questions else ()
        return tuple(f"{hops}_hops" for hops in range(1, len(self.hops) + 1))

    def seeds(self) -> list[Task]:
        return [self.problem(1, Random(0))] if not self.corpus else []

    def sources(self, kind: str) -> tuple[str, ...]:
        return self.kinds

    def invite(self, kind: str, references: Sequence[Task], number: int) -> Task:
        """An invitation to write a question for answer `number`, unlike the references."""
        answer = self.wanted[number % len(self.wanted)]
        shown = "".join(f"\nNot: {task.prompt}" for task in references)
        prompt = f"Write a <question></question> whose answer is {answer}.{shown}"
        return Task(f"invitation {number} {answer}", kind, prompt, answer)

    def read(self, invitations: Sequence[Task], replies: Sequence[str]) -> list[Task | Refusal]:
        """The questions as written, told apart by question and answer; whether they can be answered is checked by the
        gate."""
        written = [self.rules.question(reply) for reply in replies]
        return [
            Task(f"{question} {invitation.answer}", "question", question, invitation.answer, {"hops": hops(question)})
            if question
            else Refusal("malformed")
            for invitation, question in zip(invitations, written, strict=True)
        ]

    def right(self, tasks: Sequence[Task], answers: Sequence[str]) -> list[bool | None]:
        """Whether each answer equals the task's; of a sentence such as "The rank of k7 is m3." what follows "is". Where
        it does not, and is not empty, `judged` says whether it is right, if there is such a judge."""
        equal = [_claims(answer, normalised(task.answer)) for task, answer in zip(tasks, answers, strict=True)]
        open_ = [n for n, same in enumerate(equal) if not same and answers[n].strip()] if self.judged else []
        if self.judged is None or not open_:
            return [*equal]
        said = self.judged([tasks[n] for n in open_], [answers[n] for n in open_])
        verdicts = dict(zip(open_, said, strict=True))
        return [verdicts.get(n, same) for n, same in enumerate(equal)]

    def true_answer(self, task: Task) -> str | None:
        """The only answer in the world, "" if there is none or several; None (unknown) for a user's corpus. For audits
        only, not for training."""
        if self.corpus:
            return None
        found = follow(task.prompt, self._relations)
        return min(found) if len(found) == 1 else ""

    def reader(self, question: str, documents: Sequence[Document]) -> str:
        """The answer that the documents give to a question of this world; "" if a step to it has no answer or two."""
        return _only_way(question, _by_subject(_facts(documents)))

    @cached_property
    def _relations(self) -> Mapping[tuple[str, str], set[str]]:
        return _by_subject(self._triples)

    def problems(self, level: str, count: int, rng: Random) -> list[Task]:
        if self.corpus:
            return _questions(self.questions)[:count]
        return [self.problem(self.levels.index(level) + 1, rng) for _ in range(count)]

    def problem(self, depth: int, rng: Random) -> Task:
        """A question of `depth` hops with one answer."""
        people = sorted({subject for subject, _, _ in self._triples})
        while True:
            path = [rng.choice(THINGS), *(rng.choice(PEOPLE) for _ in range(depth - 1))]
            question = asked(path, rng.choice(people))
            found = follow(question, self._relations)
            if len(found) == 1:
                return Task(question, "question", question, found.pop(), {"hops": depth})

    # Demonstrations

    def demonstrations(self, count: int, rng: Random) -> list[Demonstration]:
        """Demonstrations, half written questions and half answers, with the searches that lead to them
        (`demonstrations.rehearsal`)."""
        return [self._proposal(number, rng) if number % 2 else self._solution(rng) for number in range(count)]

    def _found(self, query: str) -> list[tuple[str, str, str]]:
        return _facts(self.documents.search(query, self.shown))

    def _proposal(self, number: int, rng: Random) -> Demonstration:
        """A proposal that searches for the answer, then steps back along relations."""
        invitation = self.invite("question", (), rng.randrange(len(self.wanted)))
        (depth,) = rng.choices(range(1, len(self.hops) + 1), self.hops)
        words = f"<search> {invitation.answer}</search>"
        subject, relation, _ = rng.choice(self._found(invitation.answer))
        path = [relation if rng.random() < self.plain else rng.choice(THINGS)]
        for _ in range(depth - 1):
            step = rng.choice(PEOPLE)
            words += f"<search> {step} of {subject}</search>"
            found = self._found(f"{step} of {subject}")
            back, onward = [f[0] for f in found if f[2] == subject], [f[2] for f in found if f[0] == subject]
            taken = back if rng.random() < self.careful else onward
            if not taken or not back:
                break
            subject = rng.choice(taken)
            path.append(step)
        return Demonstration("proposer", invitation, f"{words}<question>{asked(path, subject)}</question>")

    def _solution(self, rng: Random) -> Demonstration:
        """A solution that follows all hops, or only the last one, or only the first."""
        (depth,) = rng.choices((1, 2, 3), (0.5, 0.35, 0.15))
        task = self.problem(min(depth, len(self.hops)), rng)
        path, subject = _parsed(task.prompt)
        if rng.random() >= self.skill[len(path) - 1]:
            path = rng.choice((path[:1], path[-1:], [rng.choice(THINGS)]))
        words = ""
        for relation in reversed(path):
            found = sorted(self._relations.get((subject, relation), ()))
            words += f"<search> {relation} of {subject}</search>"
            if not found:
                break
            words += f"The {relation} of {subject} is {found[0]}."
            subject = found[0]
        return Demonstration(SOLVER, task, words)


def hops(question: str) -> int:
    """The number of relations in a question; 0 for a question of another form."""
    return len(_parsed(question)[0])


def asked(path: Sequence[str], subject: str) -> str:
    """The question that follows a path of relations, the last one first, from a subject."""
    return f"What is {''.join(f'the {relation} of ' for relation in path)}{subject}?"


def follow(question: str, relations: Mapping[tuple[str, str], set[str]]) -> set[str]:
    """All answers to a question, by (subject, relation); none to a question of another form."""
    path, subject = _parsed(question)
    found = {subject} if path else set()
    for relation in reversed(path):
        found = {thing for each in found for thing in relations.get((each, relation), ())}
    return found


def _only_way(question: str, relations: Mapping[tuple[str, str], set[str]]) -> str:
    path, reached = _parsed(question)
    for relation in reversed(path):
        found = relations.get((reached, relation), set())
        if len(found) != 1:
            return ""
        (reached,) = found
    return reached if path else ""


def _parsed(question: str) -> tuple[list[str], str]:
    found = _QUESTION.fullmatch(question.strip())
    return ([], "") if found is None else (found[1].split()[1::3], found[2])


def _facts(documents: Sequence[Document]) -> list[tuple[str, str, str]]:
    """(subject, relation, object) of each document of a world."""
    found = [_FACT.fullmatch(document.text) for document in documents]
    return [(match[2], match[1], match[3]) for match in found if match]


def _by_subject(facts: Sequence[Sequence[str]]) -> dict[tuple[str, str], set[str]]:
    known: dict[tuple[str, str], set[str]] = {}
    for subject, relation, thing in facts:
        known.setdefault((subject, relation), set()).add(thing)
    return known


def _claims(answer: str, wanted: str) -> bool:
    """Whether an answer is this one, or a sentence that ends in it."""
    said = normalised(answer)
    return bool(wanted) and (said == wanted or said.endswith(f" is {wanted}"))


def _names(count: int, rng: Random) -> list[str]:
    """`count` different names of a letter and a number, such as k7."""
    letters = "bcdfghjklmnpqrstvwxz"
    return rng.sample([f"{letter}{number}" for number in range(count // len(letters) + 2) for letter in letters], count)


def _others(people: Sequence[str], rng: Random) -> list[str]:
    """A random permutation of the people without fixed points."""
    while True:
        order = rng.sample(people, len(people))
        if all(one != other for one, other in zip(people, order, strict=True)):
            return order


def _lines(path: str, what: str) -> list[tuple[int, str]]:
    """With their numbers in the file; blank ones are passed over."""
    try:
        text = file_text(Path(path), "utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise RedQueenError(f"the {what} {path} cannot be read: {error}") from None
    found = [(number, line.strip()) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
    if not found:
        raise RedQueenError(f"the file of {what} {path} is empty: write one in each line")
    return found


def _questions(path: str) -> list[Task]:
    tasks = []
    for number, line in _lines(path, "questions"):
        try:
            data = json.loads(line)
            question, answer = data["question"], data["answer"]
        except (ValueError, KeyError, TypeError, RecursionError):
            question = answer = None
        if not (isinstance(question, str) and isinstance(answer, str) and normalised(question) and normalised(answer)):
            raise RedQueenError(f'line {number} of {path} is not {{"question": "...", "answer": "..."}}')
        tasks.append(Task(question, "question", question, answer))
    return tasks
