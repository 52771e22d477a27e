"""Tasks that are set in hindsight: somebody acts in a world, and what has changed then is the goal of a new task.

    acts: open cup | add | open pen          what is done, from where a known task begins
    task: Put 1 cup into the cart.           how the change is asked for

A task that was set so can be done, as it was done once. Whether the wording says what has changed, nobody checks.
Where acts are free text (a proof, a query, a design), or may hold the sign between them, a line of acts is one act.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import closing
from random import Random

from redqueen.protocols import TakesGoals, World, has
from redqueen.types import RedQueenError, Refusal, Task

MOST_ACTS = 12  # of a proposal
LONGEST = 1000  # characters of a wording
_SAID = re.compile(r"(?im)^(?:[^\S\n]|[*#-])*+(acts|task)\**:\**[ \t]*(.+)$")
SEVERAL = "acts: ACT | ACT | ACT"
_REQUEST = """{known}
{tasks}
Set one new task of the same kind, about as hard or a little harder. It begins here:
{view}
{how}
{acts}
task: what has to be done, in words, without naming the acts"""
_ACTS = "Do it first: one act after another, each as it is offered where you are then. Answer in two lines:"
_ACT = "Do it first, by one act. Answer in two lines:"


def request(world: World, tasks: Sequence[Task], known: str) -> str:
    """What is asked of who sets a task that begins as the first of these `tasks`, which `known` introduces."""
    several, view = takes_several(world, tasks[0])
    how, acts = (_ACTS, SEVERAL) if several else (_ACT, "acts: ACT")
    listed = "\n".join(f"- {task.prompt}" for task in tasks)
    return _REQUEST.format(known=known, tasks=listed, view=view, how=how, acts=acts)


def takes_several(world: World, start: Task) -> tuple[bool, str]:
    """Whether a line of acts holds several in a task, as they are listed and none holds the sign between them; and the
    first view."""
    with closing(world.open(start, 0)) as visit:
        view = visit.look()
    return bool(view.choices) and not any("|" in each for each in view.choices), view.shown


def set_in(world: World, start: Task, reply: str) -> Task | Refusal:
    """The task that begins as `start` and that a reply sets, or a refusal: malformed, and those of `set_by`."""
    acts, wording = proposal_in(reply, takes_several(world, start)[0])
    if not acts or not wording or len(acts) > MOST_ACTS or len(wording) > LONGEST:
        return Refusal("malformed")
    return set_by(world, start, acts, wording)


def set_by(world: World, start: Task, acts: Sequence[str], wording: str) -> Task | Refusal:
    """The task that begins as `start` and is done by the acts, or a refusal: no such act, no goal, nothing has changed,
    not the same twice; names an act, of two words or more, where the world would not word the change so."""
    world = that_takes_goals(world)
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


def proposal_in(reply: str, several: bool = True) -> tuple[list[str], str]:
    """The acts and the wording of a proposal, of the last line of each kind; empty where one is missing."""
    lines = _lines(reply)
    return acts_of(lines.get("acts", ""), several), lines.get("task", "")


def acts_in(reply: str, several: bool) -> list[str]:
    """The acts of a reply that does a task: of its last line of acts, or else of the whole of it."""
    found = _lines(reply)
    return acts_of(found.get("acts", reply), several)


def acts_of(text: str, several: bool) -> list[str]:
    """The acts in a text."""
    return [act.strip() for act in (re.split(r"[|\n]", text) if several else [text]) if act.strip()]


def _lines(reply: str) -> Mapping[str, str]:
    return {name.lower(): said.strip() for name, said in _SAID.findall(reply)}
