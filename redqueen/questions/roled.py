"""Another question set whose replies begin with a role: a first line says who is to answer.

The model names the role by itself, and then answers in it (Self-Prompt Tuning, Kong et al. 2024, arXiv:2407.08995):

    L = - log pi(role, answer | question)          the reply "ROLE\\nanswer" is one demonstration

`redqueen train cold_start --questions "roled:inner=train.jsonl,roles=roles.jsonl"` learns it, with roles that somebody
wrote, in the paper a stronger model. Whether a role does anything is another question: compare with the same roles
dealt to other questions, and with one role for all (`experiments/self_prompt_tuning.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

from redqueen.games.tools import tools_for
from redqueen.protocols import Demonstrator, Questions, Tool
from redqueen.questions.catalogue import find_questions, having
from redqueen.questions.data_rows import read_rows
from redqueen.types import SOLVER, Demonstration, RedQueenError, Task


def roled(inner: str = "cued", roles: str = "") -> Roled:
    """The question set or file `inner` with a role before each answer: the fact `role` of its tasks, or that of the
    file `roles`, whose rows have a `prompt` as it stands in the question set and a `role`, in one line."""
    return Roled(find_questions(inner), roles_of(roles) if roles else {}, roles)


@dataclass(frozen=True)
class Roled:
    """The problems of `inner`, each with its role as the fact `role`, and the demonstrations of its solver with the
    role as their first line. Of a reply with several lines the first is the role, and not checked."""

    inner: Questions
    roles: Mapping[str, str] = field(repr=False)  # by prompt; empty where the tasks have roles of their own
    place: str = field(default="", repr=False)  # where the roles stand
    name: str = field(default="roled", repr=False)

    @property
    def levels(self) -> tuple[str, ...]:
        return self.inner.levels

    def problems(self, level: str, count: int, rng: Random) -> list[Task]:
        return [self._with_role(task) for task in self.inner.problems(level, count, rng)]

    def right(self, tasks: Sequence[Task], answers: Sequence[str]) -> Sequence[bool | None]:
        return self.inner.right(tasks, [role_and_answer(text)[1] for text in answers])

    def remarks(self, tasks: Sequence[Task], replies: Sequence[str]) -> list[dict[str, float | None]]:
        """`role_named`, whether a reply begins with a role, and `role_right`, whether it is that of the task."""
        found = []
        for task, reply in zip(tasks, replies, strict=True):
            said, known = role_and_answer(reply)[0], task.facts.get("role")
            found.append(
                {"role_named": float(bool(said)), "role_right": None if known is None else float(said == known)}
            )
        return found

    def tools_for(self, role: str) -> tuple[Tool, ...]:
        return tools_for(self.inner, role)

    def demonstrations(self, count: int, rng: Random) -> list[Demonstration]:
        """Those of `inner`. Raises RedQueenError for a solution to a question without a role."""
        return [
            self._begun(one) if one.role == SOLVER else one
            for one in having(self.inner, Demonstrator).demonstrations(count, rng)
        ]

    def _begun(self, one: Demonstration) -> Demonstration:
        task = self._with_role(one.task)
        role = task.facts.get("role")
        if role is None:
            raise RedQueenError(
                f"there is no role for the question {task.prompt!r:.60} "
                + (
                    f"among the {len(self.roles)} of {self.place}: each question that is learned from has a row with "
                    "its prompt and a role"
                    if self.place
                    else f"of {self.inner.name}: roles=FILE names rows of a prompt and a role each"
                )
            )
        return replace(one, task=task, text=f"{role}\n{one.text}")

    def _with_role(self, task: Task) -> Task:
        role = self.roles.get(task.prompt)
        return task if role is None else replace(task, facts={**task.facts, "role": role})


def role_and_answer(reply: str) -> tuple[str, str]:
    """The first line of a reply and the rest of it; no role where there is but one line."""
    first, _, rest = reply.strip().partition("\n")
    return (first.strip(), rest.strip()) if rest.strip() else ("", first.strip())


def roles_of(path: str) -> dict[str, str]:
    """The roles of a file by prompt. Raises RedQueenError for a row without both, for a role of several lines, and for
    two roles of one prompt."""
    found = dict[str, str]()
    for row in read_rows(Path(path).expanduser()):
        prompt, role = row.columns.get("prompt"), row.columns.get("role")
        if row.fault or not isinstance(prompt, str) or not isinstance(role, str) or not role.strip():
            raise RedQueenError(f"{row.place}: a row of roles has a prompt and a role, both texts")
        if "\n" in role.strip():
            raise RedQueenError(f"{row.place}: a role stands in one line, since the answer begins in the second")
        if found.setdefault(prompt, role.strip()) != role.strip():
            raise RedQueenError(f"{row.place}: {prompt!r:.60} has another role in an earlier row: keep one of them")
    if not found:
        raise RedQueenError(f"{path} holds no roles: a row has a prompt and a role")
    return found
