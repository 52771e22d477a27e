"""What PromptCoT 2.0 asks of its prompter and its explainer, and what they are shown (2509.19894)."""

from __future__ import annotations

from collections.abc import Sequence

from redqueen.games.single_reply import SingleReply
from redqueen.questions.catalogue import find_questions_with
from redqueen.questions.small.templates import Explained
from redqueen.types import Demonstration, Task

EXPLAIN = SingleReply("explainer")


def find_explained(spec: str) -> Explained:
    """The question set that a specification names, if its problems have rationales."""
    return find_questions_with(spec, Explained)


def invitations(questions: Explained, tasks: Sequence[Task]) -> list[Task]:
    """An invitation that shows the concepts of each task."""
    return [questions.invite(task.kind, [task], number) for number, task in enumerate(tasks)]


def proposals_of(questions: Explained, tasks: Sequence[Task], rationales: Sequence[str]) -> list[Demonstration]:
    """Each problem with this rationale, as a reply to an invitation that shows its concepts."""
    return [
        Demonstration("proposer", invitation, questions.written(task, rationale))
        for invitation, task, rationale in zip(invitations(questions, tasks), tasks, rationales, strict=True)
    ]


def explanations_of(questions: Explained, tasks: Sequence[Task], rationales: Sequence[str]) -> list[Demonstration]:
    """Each rationale as a reply to the question how its problem was made."""
    return [
        Demonstration("explainer", questions.explain(task), rationale)
        for task, rationale in zip(tasks, rationales, strict=True)
    ]
