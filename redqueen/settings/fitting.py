"""Questions of a file that are too long for the model: found before the first step, and left out."""

from __future__ import annotations

import re
from dataclasses import replace
from random import Random
from typing import Any, TypeVar

from redqueen.questions.asking import SOLVE
from redqueen.questions.catalogue import as_spec, find_questions, is_data
from redqueen.questions.dataset import Dataset
from redqueen.settings.learner import Learner
from redqueen.types import Ask, RedQueenError, Task

FIELDS = ("questions", "domain")  # of a recipe's Config, which name a question set
T = TypeVar("T")


def fitting(config: T) -> tuple[T, str]:
    """The config, and a line that says which questions of its file are left out as too long for its learner: "" where
    all fit, or where there is no file or no model whose limit is known. Raises RedQueenError where all are too long."""
    name = next((each for each in FIELDS if each in vars(config)), "")
    learner = vars(config).get("learner")
    if not name or not isinstance(learner, Learner):
        return config, ""
    spec, said = fitting_file(str(getattr(config, name)), learner)
    changed: Any = config
    return (replace(changed, **{name: spec}), said) if said else (config, "")


def fitting_file(spec: str, learner: Learner) -> tuple[str, str]:
    """The name of a question set with the questions left out that are too long for the learner, and a line that says
    which; as it is and "" where all fit, or where no limit is known. Raises RedQueenError where all are too long."""
    questions = find_questions(spec) if is_data(spec) and learner.is_here else None
    if not isinstance(questions, Dataset):
        return spec, ""
    chat, most = learner.as_solver()
    if most is None:
        return spec, ""
    tasks = questions.all_tasks()
    around = len(chat.prompt(_asked(replace(tasks[0], prompt="?", messages=()))))
    tried = [task for task in tasks if len(task.prompt.encode()) + around > most]  # a token has at least one byte
    counts = {task.id: len(chat.prompt(_asked(task))) for task in tried}
    long = [task for task in tried if counts[task.id] > most]
    if not long:
        return spec, ""
    limit = f"{learner.model} reads {most + 1:,} with its reply"
    if most == learner.max_prompt_length:
        limit = f"--max-prompt-length allows {most:,}"
    if len(long) == len(tasks):
        first = min(long, key=lambda task: counts[task.id])
        raise RedQueenError(
            f"all {len(tasks)} questions of {questions.path} are too long: the shortest, {first.id}, has "
            f"{counts[first.id]:,} tokens, and {limit}: take a --model that reads more, or shorten them"
        )
    longest = min(len(task.prompt) for task in long) - 1
    said = f"{long[0].id} has {counts[long[0].id]:,} tokens, and {limit}"
    others = f", as {len(long) - 1} more have" if len(long) > 1 else ""
    return as_spec(re.sub(r",longest=\d+", "", spec), {"longest": longest}), f"too long: {said}{others}"


def _asked(task: Task) -> Ask:
    """What the solver is asked at a task."""
    return next(SOLVE.play(task, Random(0)))[0]
