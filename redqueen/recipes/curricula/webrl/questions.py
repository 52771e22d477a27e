"""Tasks that are set in hindsight: somebody acts in a world, and what has changed then is the goal of a new task.

    acts: open cup | add | open pen          what is done, from where a known task begins
    task: Put 1 cup into the cart.           how the change is asked for

A task that was set so can be done, as it was done once. Whether the wording says what has changed, nobody checks.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from random import Random

from redqueen.protocols import TakesGoals, World, has
from redqueen.types import Ask, RedQueenError, Refusal, Reply, Task

MOST_ACTS = 12  # of a proposal
TRIES = 50  # walks of `Wanderer`, until one changes something
_SAID = re.compile(r"(?im)^(?:[^\S\n]|[*#-])*+(acts|task)\**:\**[ \t]*(.+)$")
REQUEST = """These tasks were tried, and not done:
{failed}
Set one new task of the same kind, about as hard or a little harder. It begins here:
{view}
Do it first: one act after another, each as it is offered where you are then. Answer in two lines:
acts: ACT | ACT | ACT
task: what has to be done, in words, without naming the acts"""


@dataclass
class Hindsight:
    """New tasks of a world, set by doing. Raises RedQueenError as it sets one in a world that takes no goals."""

    world: World
    _starts: dict[str, Task] = field(default_factory=dict)  # of each prompt, the task as which the new one begins

    def invite(self, failed: Sequence[Task], number: int) -> Task:
        """A request for a task that begins as the first of the `failed` ones and is like them."""
        with closing(self.world.open(failed[0], 0)) as visit:
            view = visit.look().shown
        prompt = REQUEST.format(failed="\n".join(f"- {task.prompt}" for task in failed), view=view)
        self._starts[prompt] = failed[0]
        return Task(f"{number} {failed[0].id}", failed[0].kind, prompt)

    def begun(self, prompt: str) -> Task:
        """The task as which the one begins that a prompt asks for."""
        return self._starts[prompt]

    def read(self, invitations: Sequence[Task], replies: Sequence[str]) -> list[Task | Refusal]:
        """For each reply the task that it sets, or a refusal: malformed, no such act, no goal, nothing has changed, not
        the same twice; names an act, of two words or more, where the world would not word the change so."""
        return [self._read(self._starts[each.prompt], reply) for each, reply in zip(invitations, replies, strict=True)]

    def _read(self, start: Task, reply: str) -> Task | Refusal:
        acts, wording = proposal_in(reply)
        if not acts or not wording or len(acts) > MOST_ACTS:
            return Refusal("malformed")
        return self.set(start, acts, wording)

    def set(self, start: Task, acts: Sequence[str], wording: str) -> Task | Refusal:
        """The task that begins as `start` and is done by the acts, or a refusal."""
        world = that_takes_goals(self.world)
        with closing(world.open(start, 0)) as visit:
            view = visit.look()
            for act in acts:
                if view.choices and act not in view.choices:
                    return Refusal("no such act")
                view = visit.act(act)
                if view.over:
                    break
            after = visit.state()
        names_act = any(" " in act and act.lower() in wording.lower() for act in acts)
        if names_act and wording != world.worded(start, after):
            return Refusal("names an act")
        try:
            found = world.with_goal(start, after, wording)
        except RedQueenError:
            return Refusal("no goal")
        with closing(world.open(found, 0)) as again:
            if again.assess().score == 1.0:
                return Refusal("nothing has changed")
            for act in acts:
                again.act(act)
            return found if again.assess(acts[-1]).score == 1.0 else Refusal("not the same twice")


@dataclass(frozen=True)
class Wanderer:
    """A player that sets tasks without a model: it takes listed acts at random, as many as `acts` says at most, until
    something has changed, and words it as the world does."""

    hindsight: Hindsight
    acts: int = 6
    name: str = "wanderer"

    def reply(self, asks: Sequence[Ask]) -> list[Reply]:
        return [Reply(self._walked(ask), self.name) for ask in asks]

    def _walked(self, ask: Ask) -> str:
        start, rng = self.hindsight.begun(ask.messages[-1].text), Random(ask.seed)
        for _ in range(TRIES):
            acts, wording = walk(self.hindsight.world, start, rng.randint(1, self.acts), rng)
            if wording:
                return f"acts: {' | '.join(acts)}\ntask: {wording}"
        return "nothing to be done here"


def walk(world: World, start: Task, length: int, rng: Random) -> tuple[list[str], str]:
    """Up to `length` listed acts at random that do not end the visit, and the words for what they changed, "" where
    there are none. Raises RedQueenError where a world lists no acts."""
    acts, world = list[str](), that_takes_goals(world)
    with closing(world.open(start, 0)) as visit:
        view, after = visit.look(), visit.state()
        while len(acts) < length:
            if not view.choices:
                raise RedQueenError(f"{world.name} lists no acts to take at random: let a model set the tasks")
            act = rng.choice(view.choices)
            view = visit.act(act)
            if view.over:
                break
            after = visit.state()
            acts.append(act)
        return acts, world.worded(start, after)


def that_takes_goals(world: World) -> TakesGoals:
    """The world. Raises RedQueenError for one in which no task can be set by doing it."""
    if not has(world, TakesGoals):
        raise RedQueenError(
            f"no task can be set in hindsight in {world.name}: it has no with_goal(task, after, prompt) and "
            "worded(task, after) (redqueen.protocols.TakesGoals), as site has"
        )
    return world


def proposal_in(reply: str) -> tuple[list[str], str]:
    """The acts and the wording of a proposal, of the last line of each kind; empty where one is missing."""
    lines: Mapping[str, str] = {name.lower(): said.strip() for name, said in _SAID.findall(reply)}
    return [act.strip() for act in lines.get("acts", "").split("|") if act.strip()], lines.get("task", "")
