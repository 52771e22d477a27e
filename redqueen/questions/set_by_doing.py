"""Tasks of a world as questions to which new ones may be proposed: who proposes one does it first.

    proposer    acts: open cup | add              what these change is what is asked for
                task: Put 1 cup into the cart.
    solver      open cup | add                    all acts at once, after the first view

    redqueen train absolute_zero --questions hindsight:site:shop --model MODEL

An answer is right where the world says that its acts did the task. Where acts are free text (a proof, a query, a
design) it is one of them. A new task begins where a known one does, can be done, and is answered by as few of its acts
as do it; whether its wording says what it asks for is for the solvers to find out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import closing
from random import Random

from redqueen.games.acting import shown_by
from redqueen.types import SOLVER, Demonstration, Refusal, Task
from redqueen.worlds.catalogue import find_world
from redqueen.worlds.hindsight import acts_in, request, set_by, set_in, takes_several, that_takes_goals, walk

KIND = "acts"
MOST_LEVELS = 20  # kinds of tasks that are measured apart
SEEDS = 16  # tasks of each level from which proposing starts
LONGEST = 64  # acts of an answer
TRIES = 100  # walks, until one comes to a task
WALK = 6  # acts, at most, of a demonstrated proposal
KNOWN = "These tasks are known:"
SEVERAL = "Say all acts at once, one after another, each as it will be offered then: ACT | ACT | ACT"
ONE = "Reply with one act."


class SetByDoing:
    """The questions of a world, by the kinds of its tasks. Raises RedQueenError for a world that takes no goals or has
    no expert."""

    name: str
    kinds = (KIND,)

    def __init__(self, world: str = "site") -> None:
        self._world = that_takes_goals(find_world(world))
        self.name = f"hindsight:{self._world.name}"
        tasks = list(self._world.tasks())
        shown_by(self._world, tasks[0])
        kinds = list(dict.fromkeys(task.kind for task in tasks))
        apart = len(kinds) <= MOST_LEVELS and "" not in kinds
        names = {kind: kind.replace(" ", "_") if apart else "all" for kind in kinds}
        self._tasks = {
            level: [task for task in tasks if names[task.kind] == level] for level in dict.fromkeys(names.values())
        }

    @property
    def levels(self) -> tuple[str, ...]:
        return tuple(self._tasks)

    def problems(self, level: str, count: int, rng: Random) -> list[Task]:
        return [self._asked(rng.choice(self._tasks[level])) for _ in range(count)]

    def right(self, tasks: Sequence[Task], answers: Sequence[str]) -> list[bool]:
        return [self._does(world_task(task), answer) for task, answer in zip(tasks, answers, strict=True)]

    def seeds(self) -> list[Task]:
        return [self._asked(task) for tasks in self._tasks.values() for task in tasks[:SEEDS]]

    def sources(self, kind: str) -> tuple[str, ...]:
        return self.kinds

    def invite(self, kind: str, references: Sequence[Task], number: int) -> Task:
        """A request for a task that begins as the first of the references; without any, as one of the seeds."""
        known = [world_task(each) for each in references] or [self._start(number)]
        prompt = request(self._world, known, KNOWN)
        return Task(f"invitation {number} {known[0].id}", kind, prompt, facts={"task": as_text(known[0])})

    def read(self, invitations: Sequence[Task], replies: Sequence[str]) -> list[Task | Refusal]:
        return [self._read(world_task(each), reply) for each, reply in zip(invitations, replies, strict=True)]

    def demonstrations(self, count: int, rng: Random) -> list[Demonstration]:
        """One third proposals, by chance and in the world's words, as far as any are found; the rest answers of its
        expert."""
        return [self._demonstration(number, rng) for number in range(count)]

    def _demonstration(self, number: int, rng: Random) -> Demonstration:
        start = rng.choice(self._tasks[rng.choice(self.levels)])
        task = self._asked(start)
        if number % 3 == 0 and (proposal := self._by_chance(start, rng)):
            return Demonstration("proposer", self.invite(KIND, [task], number), proposal)
        return Demonstration(SOLVER, task, task.answer)

    def _by_chance(self, start: Task, rng: Random) -> str:
        """A proposal: listed acts at random, or what does another task; "" where none of them comes to a task."""
        for acts, wording in self._ways(start, rng):
            if acts and wording and isinstance(set_by(self._world, start, acts, wording), Task):
                return f"acts: {' | '.join(acts)}\ntask: {wording}"
        return ""

    def _ways(self, start: Task, rng: Random) -> Iterator[tuple[Sequence[str], str]]:
        """Acts from where a task begins, and the words for what they come to."""
        if takes_several(self._world, start)[0]:
            for _ in range(TRIES):
                yield walk(self._world, start, rng.randint(1, WALK), rng)
            return
        tasks = [task for group in self._tasks.values() for task in group if task.id != start.id]
        for other in rng.sample(tasks, len(tasks)):
            yield shown_by(self._world, other), other.prompt

    def _start(self, number: int) -> Task:
        seeds = [task for tasks in self._tasks.values() for task in tasks[:SEEDS]]
        return seeds[number % len(seeds)]

    def _asked(self, task: Task) -> Task:
        return self._question(task, shown_by(self._world, task))

    def _question(self, task: Task, acts: Sequence[str]) -> Task:
        several, view = takes_several(self._world, task)
        prompt = "\n".join(filter(None, (task.prompt, view, SEVERAL if several else ONE)))
        return Task(task.id, KIND, prompt, " | ".join(acts), {"task": as_text(task)})

    def _read(self, start: Task, reply: str) -> Task | Refusal:
        found = set_in(self._world, start, reply)
        if isinstance(found, Refusal):
            return found
        acts = acts_in(reply, takes_several(self._world, start)[0])
        enough = next((acts[:n] for n in range(1, len(acts)) if self._done_by(found, acts[:n])), acts)
        return self._question(found, enough)

    def _does(self, task: Task, answer: str) -> bool:
        acts = acts_in(answer, takes_several(self._world, task)[0])
        return 0 < len(acts) <= LONGEST and self._done_by(task, acts)

    def _done_by(self, task: Task, acts: Sequence[str]) -> bool:
        with closing(self._world.open(task, 0)) as visit:
            for act in acts:
                if visit.act(act).over:
                    break
            return visit.assess(act).score == 1.0


def as_text(task: Task) -> str:
    """A task of a world, to be kept among the facts of a question."""
    return json.dumps({"id": task.id, "kind": task.kind, "prompt": task.prompt, "facts": dict(task.facts)})


def world_task(question: Task) -> Task:
    """The task of the world in which a question is about acts."""
    return Task(**json.loads(question.facts["task"]))
