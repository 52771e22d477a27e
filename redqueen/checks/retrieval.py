"""A local corpus to search, and checks that a question made from it is answered by the documents found.

The checks are those of SSP (Search Self-Play, 2025, arXiv:2510.18821) and SPELL (2509.23863). All of them fail
closed: a reader that raises is an error the caller sees, an empty reply or no evidence is a rejection with a name.
"""

from __future__ import annotations

import json
import logging
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from redqueen.checks.numeric import normalised
from redqueen.protocols import Verifier
from redqueen.texts import file_text, one_spelling
from redqueen.types import Metrics, RedQueenError, Task

# Chinese, Japanese, Thai, Lao, Burmese and Khmer put no spaces between words
_SPACELESS = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff"
_WORD = re.compile(rf"(?=\w)[{_SPACELESS}]|[^\W{_SPACELESS}]+")
_LINE = '{"id": "...", "text": "..."}'


@dataclass(frozen=True)
class Document:
    id: str
    text: str
    title: str = ""

    @property
    def shown(self) -> str:
        """The text, below its title if it has one."""
        return f"{self.title}: {self.text}" if self.title else self.text


Reader = Callable[[str, Sequence[Document]], str]  # question, documents -> answer


class Corpus:
    """Documents searched by words (BM25, through bm25s, the extra [search]), by single characters in scripts without
    spaces. Titles are searched with the text."""

    def __init__(self, documents: Iterable[Document]) -> None:
        """Raises RedQueenError where there are none, where two share an id, or where none holds a word."""
        self.documents = tuple(documents)
        twice = [id for id, count in Counter(document.id for document in self.documents).items() if count > 1]
        if twice:
            raise RedQueenError(f"{len(twice)} ids stand for several documents, the first {twice[0]!r}")
        texts = [_words(f"{document.title} {document.text}") for document in self.documents]
        self._numbers: dict[str, int] = {}  # of words, in the order of first appearance
        for word in (word for words in texts for word in words):
            self._numbers.setdefault(word, len(self._numbers))
        if not self._numbers:
            raise RedQueenError("a corpus needs a document with a word in it")
        self._index = _bm25s().BM25()
        ids = [[self._numbers[word] for word in words] for words in texts]
        self._index.index((ids, dict(self._numbers)), show_progress=False, create_empty_token=False)

    @classmethod
    def from_file(cls, path: Path | str) -> Corpus:
        """A corpus from lines of JSON, each {"id": "...", "text": "...", "title": "..."}; the title may be missing.
        Empty lines do not count. A line that is not like this is named in a RedQueenError."""
        try:
            text = file_text(Path(path), "utf-8-sig")
        except OSError as error:
            raise RedQueenError(
                f"the corpus {path} cannot be read ({error.strerror}): name a file with a document a line, {_LINE}"
            ) from None
        except UnicodeDecodeError as error:
            raise RedQueenError(f"the corpus {path} is not UTF-8 text: byte {error.start} is wrong") from None
        lines = enumerate(text.split("\n"), start=1)
        return cls(_document(f"line {number} of {path}", line) for number, line in lines if line.strip())

    def search(self, query: str, count: int = 3) -> tuple[Document, ...]:
        """Up to `count` documents that share a word with `query`, the best first; ties in the corpus's order."""
        if count < 1:
            raise RedQueenError(f"a search gives 1 document or more, not {count}")
        numbers = [self._numbers[word] for word in _words(query) if word in self._numbers]
        if not numbers:
            return ()
        scores = self._index.get_scores_from_ids(numbers)
        best = np.argsort(-scores, kind="stable")[:count]
        return tuple(self.documents[i] for i in best if scores[i] > 0.0)

    def like(self, documents: Iterable[Document], count: int = 3) -> list[Document]:
        """The `count` other documents most similar to each of `documents` by the words of its text, without duplicates
        and without `documents` themselves."""
        known = {document.id: document for document in documents}
        near = (other for each in known.values() for other in self.search(each.text, count + 1))
        return list({other.id: other for other in near if other.id not in known}.values())


def _document(where: str, line: str) -> Document:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise RedQueenError(f"{where} is not JSON: {error}") from None
    fields = {key: data[key] for key in ("id", "text", "title") if key in data} if type(data) is dict else {}
    for key in ("id", "text"):
        if key not in fields:
            raise RedQueenError(f"{where} has no {key!r}: a line is {_LINE}")
    for key, value in fields.items():
        if type(value) is not str:
            raise RedQueenError(f"{where} has a {key!r} that is not a string: {value!r}")
    return Document(**fields)


def _words(text: str) -> list[str]:
    return _WORD.findall(one_spelling(text).casefold())


def _bm25s() -> Any:
    try:
        import bm25s
    except ImportError:
        raise RedQueenError("searching a corpus needs the extra [search]: pip install 'redqueen[search]'") from None
    logging.getLogger("bm25s").setLevel(logging.WARNING)  # the library sets DEBUG when it is imported
    return bm25s


class Fault(StrEnum):
    """Why a proposed question is rejected."""

    NO_QUESTION = "no_question"
    SEVERAL_QUESTIONS = "several_questions"
    TOO_SHORT = "too_short"
    TOO_LONG = "too_long"
    TOO_FEW_WORDS = "too_few_words"
    HOLDS_ANSWER = "holds_answer"
    TOO_FEW_QUERIES = "too_few_queries"
    REPEATED_QUERY = "repeated_query"
    ANSWER_IN_QUERY = "answer_in_query"
    NOTHING_FOUND = "nothing_found"
    NOT_ANSWERED = "not_answered"  # the reader said nothing
    ANSWERED_OTHERWISE = "answered_otherwise"
    SEVERAL_ANSWERS = "several_answers"  # the answer changes when documents similar to the evidence are added


@dataclass(frozen=True)
class Rules:
    """SSP's checks of form. Words and queries are compared normalised (`numeric.normalised`)."""

    tag: str = "question"
    shortest: int = 10  # characters
    longest: int = 1000
    words: int = 10  # at least
    queries: int = 2  # distinct ones, at least
    refuse_answer_in_query: bool = False
    whole_words: bool = False  # SSP refuses an answer that is part of any word: "art" in "start"

    def question(self, reply: str) -> str:
        """The content of the only question tag of a reply, "" unless there is exactly one."""
        behind = reply.partition(f"<{self.tag}>")[2]
        question, closed, _ = behind.partition(f"</{self.tag}>")
        return question.strip() if self._tags(reply) == (1, 1) and closed else ""

    def faults(self, reply: str, answer: str, queries: Sequence[str], found: Sequence[Document]) -> tuple[Fault, ...]:
        """The faults of a proposal, in the order of `Fault`; empty if it passes.

        `reply` is the proposer's reply with the question, `queries` its searches, in order, and `found` all documents
        that they returned. An empty answer raises RedQueenError: it would be part of every question.
        """
        if not normalised(answer):
            raise RedQueenError(f"the answer {answer!r} has no text, so that no question can be checked against it")
        question = self.question(reply)
        asked = [normalised(query) for query in queries]
        wrong = {
            Fault.NO_QUESTION: not question and max(self._tags(reply)) <= 1,
            Fault.SEVERAL_QUESTIONS: not question and max(self._tags(reply)) > 1,
            Fault.TOO_SHORT: bool(question) and len(question) < self.shortest,
            Fault.TOO_LONG: len(question) > self.longest,
            Fault.TOO_FEW_WORDS: bool(question) and len(question.split()) < self.words,
            Fault.HOLDS_ANSWER: self._holds(question, answer),
            Fault.TOO_FEW_QUERIES: len(set(asked) - {""}) < self.queries,
            Fault.REPEATED_QUERY: len(set(asked)) < len(asked),
            Fault.ANSWER_IN_QUERY: self.refuse_answer_in_query and any(self._holds(query, answer) for query in queries),
            Fault.NOTHING_FOUND: not found,
        }
        return tuple(fault for fault, is_so in wrong.items() if is_so)

    def _tags(self, reply: str) -> tuple[int, int]:
        return reply.count(f"<{self.tag}>"), reply.count(f"</{self.tag}>")

    def _holds(self, text: str, answer: str) -> bool:
        words, wanted = normalised(text), normalised(answer)
        if not self.whole_words:
            return wanted in words
        return re.search(rf"(?<!\w){re.escape(wanted)}(?!\w)", words) is not None


def evidence(found: Sequence[Document], elsewhere: Sequence[Document], rng: Random, noise: int = 4) -> list[Document]:
    """The documents that a reader is shown, shuffled: each of `found` once, and `noise` others drawn from `elsewhere`
    (other proposals, or the corpus); fewer if `elsewhere` does not hold that many others."""
    if noise < 0:
        raise RedQueenError(f"the number of noise documents is 0 or above, not {noise}")
    kept = {document.id: document for document in found}
    others = list({document.id: document for document in elsewhere if document.id not in kept}.values())
    shown = [*kept.values(), *rng.sample(others, min(noise, len(others)))]
    rng.shuffle(shown)
    return shown


def reading_faults(task: Task, found: Sequence[Document], reply: str, verify: Verifier) -> tuple[Fault, ...]:
    """The faults of a question whose reader, shown the evidence, gave `reply`; empty if that is the answer. For readers
    that are players. Errors of the verifier are raised."""
    if not found:
        return (Fault.NOTHING_FOUND,)
    if not reply.strip():
        return (Fault.NOT_ANSWERED,)
    return () if verify(task, reply) else (Fault.ANSWERED_OTHERWISE,)


@dataclass(frozen=True)
class Gate:
    """SSP's check that a question can be answered from the documents that its proposer found, shown among others."""

    reader: Reader
    verify: Verifier
    noise: int = 4

    def faults(
        self, task: Task, found: Sequence[Document], elsewhere: Sequence[Document], rng: Random
    ) -> tuple[Fault, ...]:
        """The faults of a question; empty if the reader's answer is the task's. Errors of the reader are raised; it is
        not called if nothing was found."""
        if not found:
            return (Fault.NOTHING_FOUND,)
        shown = evidence(found, elsewhere, rng, self.noise)
        return reading_faults(task, found, self.reader(task.prompt, shown), self.verify)


def fault_counts(faults: Sequence[Sequence[Fault]]) -> Metrics:
    """The share of proposals that passed, and the share that each fault stopped (a proposal may have several)."""
    if not faults:
        return {}
    counts = Counter(fault for each in faults for fault in each)
    stopped = {f"rejected_{fault}": counts[fault] / len(faults) for fault in Fault if counts[fault]}
    return {"valid_share": sum(not each for each in faults) / len(faults), **stopped}


def needs_documents(closed_book_score: float, limit: float = 0.1) -> bool:
    """SPELL's filter: whether an attempt without the documents scored below `limit` (both from 0 to 1), so that the
    question needs them."""
    return closed_book_score < limit
