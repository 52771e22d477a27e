"""Proposing in natural language: what a model is shown that is to write a new problem, and how its reply is read.

A proposal stands in tags, with anything before, between and behind them: `<question>...</question>`, and where one is
asked for `<answer>...</answer>` (the proposer's own) or `<rationale>...</rationale>`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from redqueen.checks.numeric import normalised
from redqueen.questions.fenced import between_fences
from redqueen.texts import between, said_aloud
from redqueen.types import Refusal, Task

LONGEST, SHORTEST = 4000, 3  # characters of a question
QUESTION, ANSWER, RATIONALE = "question", "answer", "rationale"
_TAGS = {name: (re.compile(rf"(?i)<{name}>"), re.compile(rf"(?i)</{name}>")) for name in (QUESTION, ANSWER, RATIONALE)}
_PLACEHOLDERS = ("", "your question", "your question here", "question", "the question", "new question")
_WRITE = "Write it between <question> and </question>"


@dataclass(frozen=True)
class Written:
    """What a reply holds: a question, and as far as they were asked for an answer and a rationale."""

    question: str
    answer: str = ""
    rationale: str = ""


def read_proposal(reply: str, answered: bool = False, explained: bool = False) -> Written | Refusal:
    """The question in a reply, the last where there are several; with an answer or a rationale where one is asked
    for. A refusal says what is missing: "cut off", "no question", "no answer", "no rationale", "too long", "copied"."""
    if not reply.strip():
        return Refusal("empty")
    text = said_aloud(reply)
    if not text:
        return Refusal("cut off")  # thoughts that were never closed
    found = {name: _last(*marks, text) for name, marks in _TAGS.items()}
    question = found[QUESTION]
    if not question:
        opened, closed = (max((each.start() for each in mark.finditer(text)), default=-1) for mark in _TAGS[QUESTION])
        return Refusal("cut off" if opened > closed else "no question")
    if len(question) > LONGEST:
        return Refusal("too long")
    if len(question) < SHORTEST or question.strip("[]<>.… ").casefold() in _PLACEHOLDERS:
        return Refusal("no question")
    if answered and not normalised(found[ANSWER]):
        return Refusal("no answer")
    if explained and not found[RATIONALE]:
        return Refusal("no rationale")
    return Written(question, found[ANSWER] if answered else "", found[RATIONALE] if explained else "")


def _last(opening: re.Pattern[str], closing: re.Pattern[str], text: str) -> str:
    """The last entry of a tag, from its innermost opening; "" if there is none."""
    found = [text[begin:end] for _, begin, end, _ in between(opening, closing, text)]
    return re.split(r"(?i)<(?:question|answer|rationale)>", found[-1])[-1].strip() if found else ""


def asked_for_another(references: Sequence[Task], concepts: str = "") -> str:
    """The prompt of a proposer who is shown problems and writes a new one of their kind; with `concepts`, one about
    these, after a rationale."""
    shown = _examples(references)
    if concepts:
        return (
            f"{shown}Write a new problem about: {concepts}\n\nFirst explain, between <rationale> and </rationale>, how "
            f"the problem joins these. Then write the problem. {_WRITE}. Do not solve it."
        )
    return (
        f"{shown}Write one new problem of the same kind, different from these and not easy, that has one definite "
        f"answer. {_WRITE}. Do not solve it."
    )


def proposal(task: Task) -> str:
    """A problem as a proposer writes it."""
    return f"<{QUESTION}>{task.prompt}</{QUESTION}>"


def asked_about_text(passage: str, before: Sequence[str] = ()) -> str:
    """The prompt of a proposer who reads a text and writes a problem and its answer."""
    asked = "Asked already:\n" + "\n".join(f"- {each}" for each in before) + "\n\n" if before else ""
    return (
        f"{passage}\n\n{asked}Write one new question that needs this text, and its short answer. Write the question "
        "between <question> and </question>, and the answer between <answer> and </answer>."
    )


def asked_to_retell(response: str, answer: str) -> str:
    """The prompt of a synthesiser who reads a solution and writes another problem with its answer (SvS)."""
    return (
        f"This is a solution of a problem that you cannot see:\n\n{response}\n\nIts answer is {answer}. Write a "
        f"problem that tells it in other words, or another story, and has the same answer. {_WRITE}. Do not give the "
        "answer away."
    )


def asked_to_rewrite(task: Task, deeper: bool) -> str:
    """The prompt of a rewriter who makes a problem harder, or another one of its kind (eva)."""
    how = (
        "Rewrite it into a harder one: add a condition or a step of reasoning, and keep it solvable."
        if deeper
        else "Write another one of the same field and difficulty about something else."
    )
    return f"Problem:\n\n{task.prompt}\n\n{how} {_WRITE}. Do not solve it."


def asked_to_explain(task: Task, concepts: str) -> str:
    """The prompt of an explainer who says how a problem was made from concepts (PromptCoT 2.0)."""
    return (
        f"Problem:\n\n{task.prompt}\n\nExplain in a few sentences how it is made from: {concepts}. Write the "
        "explanation alone."
    )


def asked_to_compare(question: str, answer: str, given: str) -> str:
    """The prompt of a verifier who says whether two answers mean the same (SPELL)."""
    parts = {"Question": question, "Reference answer": answer, "Given answer": given or "nothing"}
    return between_fences("Do two answers to a question mean the same?", parts, "End with YES or NO.")


def _examples(references: Sequence[Task]) -> str:
    if not references:
        return ""
    return "Here are some problems:\n\n" + "\n\n".join(map(proposal, references)) + "\n\n"
