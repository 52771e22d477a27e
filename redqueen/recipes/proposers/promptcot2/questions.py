"""Tasks and demonstrations of the prompter and the explainer of PromptCoT 2.0 (2509.19894)."""

from __future__ import annotations

from collections.abc import Sequence

from redqueen.games.single_reply import SingleReply
from redqueen.questions.catalogue import find_questions_with
from redqueen.questions.small.templates import Explained
from redqueen.types import Demonstration, Task

EXPLAIN = SingleReply("explainer")


def find_explained(spec: str) -> Explained:
    """The question set that `spec` names. Raises RedQueenError if its problems have no rationales."""
    return find_questions_with(spec, Explained)


def invitations(questions: Explained, tasks: Sequence[Task]) -> list[Task]:
    """An invitation to write a problem for each task, with the concepts of that task."""
    return [questions.invite(task.kind, [task], number) for number, task in enumerate(tasks)]


def proposals_of(questions: Explained, tasks: Sequence[Task], rationales: Sequence[str]) -> list[Demonstration]:
    """Demonstrations for the prompter: each problem with its rationale, in reply to an invitation with its concepts."""
    return [
        Demonstration("proposer", invitation, questions.written(task, rationale))
        for invitation, task, rationale in zip(invitations(questions, tasks), tasks, rationales, strict=True)
    ]


def explanations_of(questions: Explained, tasks: Sequence[Task], rationales: Sequence[str]) -> list[Demonstration]:
    """Demonstrations for the explainer: each rationale, in reply to a request to explain its problem."""
    return [
        Demonstration("explainer", questions.explain(task), rationale)
        for task, rationale in zip(tasks, rationales, strict=True)
    ]
