"""Answers that are criticised, and mended after the criticism: what each side is shown.

criticisms = attempts(CRITICISE, [about(task, answer) for ...], critic, votes, rng)     # end with right or wrong
mended     = attempts(SOLVE, [again(task, answer, criticism) for ...], editor, 1, rng)
"""

from __future__ import annotations

from redqueen.demonstrations.transfer import aided
from redqueen.games.single_reply import SingleReply
from redqueen.questions.fenced import asked, between_fences
from redqueen.types import Task

CRITICISE = SingleReply("critic")


def about(task: Task, answer: str) -> Task:
    """What the critic is shown: the question and an answer, without the right one."""
    parts = {"Question": asked(task), "Answer": answer}
    prompt = between_fences("What is wrong in an answer?", parts, "End with right or wrong, alone on the last line.")
    return Task(f"criticism of an answer to {task.id}", "criticism", prompt)


def again(task: Task, answer: str, criticism: str) -> Task:
    """What the solver is shown when it mends an answer."""
    return aided(task, f"An answer:\n{answer}\n\nOf it was said:\n{criticism}\n\nAnswer again, without these mistakes.")
