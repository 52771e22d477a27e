"""Was a task in a world done? The question to a judge of outcomes, and a question set by which one is trained.

    redqueen train cold_start --questions done:site --max-completion-length 4     # a tiny model learns to judge
    redqueen train grpo --questions done:site --model MODEL

The judge is shown the task, the acts and the last view, as the outcome model of WebRL (arXiv:2411.02337, section 3.1);
not the state.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from random import Random

from redqueen.games.acting import shown_by
from redqueen.protocols import World
from redqueen.questions.fenced import between_fences
from redqueen.types import SOLVER, Demonstration, Episode, RedQueenError, Task
from redqueen.worlds.catalogue import find_world

YES, NO = "yes", "no"
TRIES = 50  # damaged ways to do a task, until one does not do it


def was_it_done(task: Task, acts: Sequence[str], views: Sequence[str], verdict: str = "") -> Task:
    """The question whether these acts, each of which was followed by a view, did the task; the last two `views` are
    shown, as a world may say in the last that it is over."""
    done, end = " | ".join(acts), " / ".join(views[-2:])
    parts = {"Task": task.prompt, "Acts": done or "none", "In the end": end}
    prompt = between_fences("Is a task done?", parts, "Is the task done, yes or no?")
    return Task(f"{task.id}: {done}", "outcome", prompt, verdict, choices=(YES, NO))


def of_episode(episode: Episode) -> Task:
    """The question about an episode of acts in a world (`games.acting`)."""
    facts = episode.outcome.facts
    return was_it_done(episode.task, facts["acts"], facts["shown"])


class Done:
    """What an expert does in a world, as it is and damaged in one place, judged by the world. Raises RedQueenError for
    a world without an expert."""

    levels = ("done", "not done")

    def __init__(self, world: str = "site") -> None:
        self._world: World = find_world(world)
        self.name = "done" if world == "site" else f"done:{self._world.name}"
        self._tasks = list(self._world.tasks())
        shown_by(self._world, self._tasks[0])

    def problems(self, level: str, count: int, rng: Random) -> list[Task]:
        return [self._problem(rng.choice(self._tasks), level, rng) for _ in range(count)]

    def right(self, tasks: Sequence[Task], answers: Sequence[str]) -> list[bool]:
        return [answer.strip().lower() == task.answer for task, answer in zip(tasks, answers, strict=True)]

    def demonstrations(self, count: int, rng: Random) -> list[Demonstration]:
        tasks = [self._problem(rng.choice(self._tasks), self.levels[number % 2], rng) for number in range(count)]
        return [Demonstration(SOLVER, task, task.answer) for task in tasks]

    def _problem(self, task: Task, level: str, rng: Random) -> Task:
        acts = list(shown_by(self._world, task))
        if level == self.levels[0]:
            return was_it_done(task, acts, self._taken(task, acts)[0], YES)
        for _ in range(TRIES):
            tried = self._damaged(task, acts, rng)
            views, score = self._taken(task, tried)
            if score < 1.0:
                return was_it_done(task, tried, views, NO)
        raise RedQueenError(f"whatever is left out of how {task.id} of {self._world.name} is done, it is done")

    def _damaged(self, task: Task, acts: Sequence[str], rng: Random) -> list[str]:
        """The acts with one left out, or with another act that is listed at its place and all that follow."""
        place = rng.randrange(max(len(acts) - 1, 1))
        if rng.random() < 0.5:
            return [*acts[:place], *acts[place + 1 :]]
        with closing(self._world.open(task, 0)) as visit:
            for act in acts[:place]:
                visit.act(act)
            return [*acts[:place], rng.choice(visit.look().choices or acts), *acts[place + 1 :]]

    def _taken(self, task: Task, acts: Sequence[str]) -> tuple[list[str], float]:
        """The views before and after each of the acts, of which those count that came before the end, and the score."""
        with closing(self._world.open(task, 0)) as visit:
            views = [visit.look()]
            for act in acts:
                if views[-1].over:
                    break
                views.append(visit.act(act))
            return [view.shown for view in views], visit.assess(acts[-1] if acts else "").score
