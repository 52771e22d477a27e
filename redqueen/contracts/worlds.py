"""What every world must satisfy. `check_world(MyWorld())` returns one line that says all is well, or raises an
AssertionError with one line that says what is wrong.

    tasks           to train on and to hold out, ids that differ, none in both; the same each time
    repeatable      the same task, seed and acts show the same and end in the same state, with other visits in between
    apart           what is done in one visit changes no other, and no task
    nonsense        an act that makes no sense is answered in words
    tools           names that differ; a call is answered with a text, a faulty one with ToolError
    assessment      a score and parts that are finite, the same twice, of any state; it changes nothing
    walls           no text of a task's fact `hidden` is shown
    plain           states, observations and assessments are plain data
    expert          where a world can do its own tasks: it can
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import islice
from typing import Any

from redqueen.chance import derive, uniform
from redqueen.games.tools import ToolError
from redqueen.protocols import KnowsHow, Visit, World, has
from redqueen.types import Observation, Task

LOOKED_AT = 12  # tasks, spread over all
ACTS = 8  # of a visit
NONSENSE = ("", "xyzzy", "\x00", "[" * 2000, "do(1", "\ud800")


def check_world(world: World, phrases: Sequence[str] = ()) -> str:
    """One line that says all is well, once every check has passed. Where a world lists no acts, `phrases` are said, or
    what its expert does. Raises AssertionError at the first fault."""
    tasks = _check_tasks(world)
    for number, task in enumerate(tasks):
        seed = derive(number, "world")
        with closing(world.open(task, seed)) as visit, closing(world.open(task, seed)) as other:
            _check_visit(world, task, visit, other, [*phrases, *_known(world, task)], seed)
        if has(world, KnowsHow):
            _check_expert(world, task, seed)
    return f"{world.name} keeps the contract of worlds: {len(world.tasks())} tasks, {len(world.held_out())} held out"


def _check_tasks(world: World) -> list[Task]:
    assert isinstance(world.name, str), f"the name of a world is a string, not {world.name!r}"
    assert isinstance(world.repeatable, bool), f"repeatable of {world.name} must be True or False"
    trained, held = list(world.tasks()), list(world.held_out())
    assert trained, f"{world.name} has no tasks to train on"
    assert held, f"{world.name} has no tasks to hold out"
    assert all(isinstance(task, Task) for task in (*trained, *held)), f"the tasks of {world.name} must be Task objects"
    ids = [task.id for task in (*trained, *held)]
    twice = next((name for name in ids if ids.count(name) > 1), None) if len(set(ids)) < len(ids) else None
    assert twice is None, f"{world.name} has two tasks with the id {twice!r}"
    shared = {repr((task.prompt, task.facts)) for task in trained} & {repr((task.prompt, task.facts)) for task in held}
    assert not shared, f"{world.name} holds out a task that is trained on too: {min(shared):.80}"
    assert list(world.tasks()) == trained, f"tasks() of {world.name} gives another list each time"
    assert list(world.held_out()) == held, f"held_out() of {world.name} gives another list each time"
    everyone = trained + held
    return everyone[:: max(1, len(everyone) // LOOKED_AT)][:LOOKED_AT]


def _known(world: World, task: Task) -> tuple[str, ...]:
    return world.expert(task) if has(world, KnowsHow) else ()


def _check_visit(world: World, task: Task, visit: Visit, other: Visit, phrases: Sequence[str], seed: int) -> None:
    where, untouched = f"{world.name}, task {task.id}", repr(task)
    begin, views = other.state(), [visit.look()]
    assert visit.look() == views[0], f"{where}: look() shows something else the second time"
    said = list[str]()
    for act in islice(_acts(views, phrases, seed), ACTS):
        said.append(act)
        views.append(visit.act(act))
        _check_view(where, views[-1], task)
        if views[-1].over:
            break
    assert other.state() == begin, f"{where}: an act in one visit changed another visit"
    assert repr(task) == untouched, f"{where}: an act changed the task"
    _check_view(where, views[0], task)
    _check_assessment(where, visit, said)
    if world.repeatable:
        with closing(world.open(task, seed)) as again:
            shown = [again.look(), *(again.act(act) for act in said)]
            assert shown == views, f"{where}: the same acts show something else: it must say repeatable = False"
            assert again.state() == visit.state(), f"{where}: the same acts end in another state"
    for act in NONSENSE:
        with closing(world.open(task, seed)) as fresh:
            _check_view(where, fresh.act(act), task)
            _check_assessment(where, fresh, [act])
            _check_tools(where, fresh, (act, *phrases[:ACTS]))


def _check_tools(where: str, visit: Visit, texts: Sequence[str]) -> None:
    tools = visit.tools
    names = [tool.name for tool in tools]
    assert len(set(names)) == len(names), f"{where}: two tools have one name: {', '.join(sorted(names))}"
    for tool in tools:
        assert isinstance(tool.usage, str), f"{where}: the usage of the tool {tool.name} is a line of text"
        for text in texts:
            try:
                found = tool(text)
            except ToolError:
                continue
            except Exception as error:
                raise AssertionError(
                    f"{where}: the tool {tool.name} called with {text[:40]!a} fails with {type(error).__name__}: "
                    f"{str(error)[:80]}: a faulty call raises ToolError"
                ) from error
            assert isinstance(found, str), f"{where}: the tool {tool.name} gives a text, not {found!r:.60}"


def _acts(views: Sequence[Observation], phrases: Sequence[str], seed: int) -> Iterator[str]:
    """Acts drawn from those that are listed in the latest view, or else from the phrases."""
    number = 0
    while views[-1].choices or phrases:
        choices = views[-1].choices or phrases
        yield choices[int(uniform(derive(seed, number)) * len(choices))]
        number += 1


def _check_view(where: str, view: Observation, task: Task) -> None:
    assert isinstance(view, Observation), f"{where}: an act is answered with an Observation, not {view!r:.60}"
    assert isinstance(view.shown, str), f"{where}: what is shown must be a text, not {view.shown!r:.60}"
    assert view.shown.strip(), f"{where}: an act is answered with nothing"
    assert math.isfinite(view.gain), f"{where}: an act gains {view.gain}"
    assert len(set(view.choices)) == len(view.choices), f"{where}: an act is listed twice: {view.choices}"
    assert all(act and act == act.strip() for act in view.choices), f"{where}: a listed act is empty or has spaces"
    for secret in task.facts.get("hidden", ()):
        assert str(secret) not in view.shown, f"{where}: what is hidden is shown: {secret!r:.60}"


def _check_assessment(where: str, visit: Visit, said: Sequence[str]) -> None:
    answer = said[-1] if said else ""
    before = visit.state()
    found = visit.assess(answer)
    assert math.isfinite(found.score), f"{where}: the score is {found.score}"
    parts = dict(found.parts)
    assert all(0.0 <= value <= 1.0 for value in parts.values()), f"{where}: parts must lie from 0 to 1, not {parts}"
    assert visit.assess(answer) == found, f"{where}: the second assessment of one state differs from the first"
    assert visit.state() == before, f"{where}: assess() changes the state"
    for what, data in (("state", before), ("facts of the assessment", found.facts)):
        assert _is_plain(data), f"{where}: the {what} must be plain data: texts, numbers, lists and mappings"


def _is_plain(data: Any) -> bool:
    try:
        json.dumps(data)
    except (TypeError, ValueError):
        return False
    return True


def _check_expert(world: KnowsHow, task: Task, seed: int) -> None:
    acts = world.expert(task)
    with closing(world.open(task, seed)) as visit:
        views = [visit.act(act) for act in acts]
        score = visit.assess(acts[-1] if acts else "").score
    assert score == 1.0, f"{world.name}, task {task.id}: the expert's acts {acts} score {score}, not 1"
    assert not any(view.over for view in views[:-1]), f"{world.name}, task {task.id}: the expert acts after the end"
