"""Tasks set by doing, in a shop whose state is written down by hand (worlds.md 0.3)."""

import time
from contextlib import closing
from random import Random

import pytest

from redqueen.adapters.babyai import THINGS
from redqueen.games.acting import Acting
from redqueen.games.talk import told
from redqueen.questions.task_done import Done
from redqueen.recipes.curricula.webrl.questions import Hindsight, Wanderer
from redqueen.types import Ask, Refusal, Seat, Task
from redqueen.worlds.catalogue import find_world
from redqueen.worlds.circuits import Circuits
from redqueen.worlds.hindsight import proposal_in
from redqueen.worlds.proofs import Proofs
from redqueen.worlds.site import SITES, Site
from redqueen.worlds.sql import Sql, asked_by
from redqueen.worlds.traces import Traces
from tests.shop import START

HINDSIGHT = Hindsight(Site())


def set_by(acts: list[str], wording: str = "Do it.") -> Task | Refusal:
    return HINDSIGHT.set(START, acts, wording)


def test_what_was_done_is_the_goal() -> None:
    task = set_by(["open cup", "add", "home", "open pen"], "Put 1 cup into the cart.")
    assert isinstance(task, Task) and task.id == 'shop1 {"added cart.cup": 1}'
    visit = Site().open(task, 0)
    assert visit.assess().score == 0.0
    for act in ("open cup", "add"):  # where one looks does not count
        visit.act(act)
    assert visit.assess().score == 1.0


def test_what_cannot_be_a_task_is_refused() -> None:
    assert set_by(["open cup", "home"]) == Refusal("nothing has changed")
    assert set_by(["open lamp"]) == Refusal("no such act")
    assert set_by(["open cup", "add"], "Open cup and add it.") == Refusal("names an act")
    invitation = HINDSIGHT.invite([START], 0)
    read = HINDSIGHT.read(
        [invitation] * 2, ["Put a cup into the cart!", "**acts:** open cup | add\n**task:** One cup."]
    )
    assert read[0] == Refusal("malformed")
    assert isinstance(read[1], Task) and read[1].prompt == "One cup."


def test_a_proposal_may_stand_in_prose() -> None:
    text = "I thought of acts first.\n- Acts: open pen | add |\n- Task: Put 1 pen into the cart.\nThat is all."
    assert proposal_in(text) == (["open pen", "add"], "Put 1 pen into the cart.")
    assert proposal_in("acts: open pen") == (["open pen"], "")


def test_every_change_of_a_site_has_words_that_its_own_goals_would_use() -> None:
    site = Site(count=300, tests=1)
    for task in site.tasks():
        said = site.worded(task, task.facts["after"])
        assert said == task.prompt or "about" in task.prompt or " and move " in task.prompt, task.prompt
    assert {task.kind for task in site.tasks()} == set(SITES)


def test_a_wanderer_sets_tasks_that_can_be_done() -> None:
    game, site = Acting(Site()), Site()
    hindsight = Hindsight(game.world)
    invitations = [hindsight.invite(site.tasks()[place : place + 3], place) for place in range(12)]

    asks = [Ask(Seat("proposer"), told(each.prompt), seed=place) for place, each in enumerate(invitations)]
    read = hindsight.read(invitations, [each.text for each in Wanderer(hindsight).reply(asks)])
    assert all(isinstance(each, Task) for each in read)


def test_a_proof_of_something_else_is_a_task_to_prove_that() -> None:
    world = Proofs()
    hindsight = Hindsight(world)
    start = next(task for task in world.tasks() if task.id != "> p p")
    found = hindsight.set(start, ["D 2 1", "D D 2 1 1", "nonsense"], "Prove this: > p p")
    trained = "> p p" not in [task.id for task in world.held_out()]
    if trained:  # DD211 proves p > p: papers/worlds.md, 27.4
        assert isinstance(found, Task)
        assert (found.id, found.prompt, world.expert(found)) == ("> p p", "Prove this: > p p", ("D D 2 1 1",))
    else:
        assert found == Refusal("no goal")
    assert hindsight.set(start, ["nonsense"], "Prove it.") == Refusal("no goal")
    held = world.held_out()[0]
    assert hindsight.set(start, world.expert(held), "Prove it.") == Refusal("no goal")
    other = next(task for task in world.tasks() if task.id != start.id)
    set_by_expert = hindsight.set(start, world.expert(other), other.prompt)
    assert isinstance(set_by_expert, Task) and set_by_expert.id == other.id


def test_a_design_with_other_rows_is_a_task_to_make_these() -> None:
    world = Circuits(count=40, tests=10)
    hindsight = Hindsight(world)
    start, inputs = world.tasks()[0], world.tasks()[0].facts["inputs"]
    other = next(each for each in world.tasks() if each.facts["inputs"] == inputs and each.id != start.id)
    found = hindsight.set(start, world.expert(other), other.prompt)
    assert isinstance(found, Task)
    assert (found.facts["table"], found.prompt) == (other.facts["table"], other.prompt)
    assert world.worded(start, {"rows": other.facts["table"]}) == other.prompt
    assert hindsight.set(start, ["assign y = nothing"], "Make it.") == Refusal("no goal")


def test_a_query_that_gives_other_rows_is_a_question_for_these() -> None:
    world = Sql(count=12, tests=6, trained=4, held=2)
    hindsight = Hindsight(world)
    for start in world.tasks():  # a query of a form has the question of this form
        assert asked_by(start.facts["query"]) == (start.kind, start.prompt)
    start = world.tasks()[0]
    owner, owned = start.facts["tables"]
    query = f"select {owner}, count(*) from {owned} group by {owner}"
    question = f"How many {owned} rows has each {owner}?"
    found = hindsight.set(start, ["select nothing", query], question)
    assert isinstance(found, Task)
    assert (found.prompt, found.kind, world.expert(found)) == (question, "count", (query,))
    assert query in found.facts["hidden"]
    with closing(world.open(found, 0)) as visit:
        assert visit.assess(query + ";").score == 1.0
        assert visit.assess(start.facts["query"]).score == 0.0
        visit.tools[0](query)
        assert world.worded(found, visit.state()) == question
    assert hindsight.set(start, ["select nothing"], "Which?") == Refusal("no goal")
    assert hindsight.set(start, [f"select name from {owner}"], "All names?") != Refusal("no goal")
    assert world.worded(start, {"asked": [f"select name from {owner}"]}) == ""
    assert hindsight.set(world.held_out()[0], [world.held_out()[0].facts["query"]], "Which?") == Refusal("no goal")
    assert hindsight.set(start, [query], f"Say {query}") == Refusal("names an act")


def test_a_service_that_was_measured_is_one_to_be_found() -> None:
    world = Traces(count=6, tests=2)
    hindsight = Hindsight(world)
    start = world.tasks()[0]
    spans, times = start.facts["spans"], [span["now"] for span in start.facts["spans"]]
    leaf = next(at for at, span in enumerate(spans) if span["above"] == 0 and times.count(span["now"]) == 1)
    service, other = spans[leaf]["service"], spans[0]["service"]
    acts = ["<spans>s0</spans>", f"<metrics>{service}</metrics>"]
    with closing(world.open(start, 0)) as visit:
        assert f"{times[leaf]} ms now" in [visit.act(act) for act in acts][-1].shown
        asked = world.worded(start, visit.state())
        assert asked == f"The request s0 was served. Which service takes {times[leaf]} ms by itself now?"
        assert visit.act(f"{other}, {service}").over
        assert world.worded(start, visit.state()) in ("", asked.replace(f" {times[leaf]} ", f" {times[0]} "))
    found = hindsight.set(start, acts, asked)
    assert isinstance(found, Task)
    assert world.expert(found) == (*acts, service)
    assert hindsight.set(start, acts[:1], asked) == Refusal("no goal")
    held = world.held_out()[0]
    assert hindsight.set(held, [f"<metrics>{held.facts['spans'][0]['service']}</metrics>"], asked) == Refusal("no goal")
    asks = [hindsight.invite([task], place) for place, task in enumerate(world.tasks())]
    said = Wanderer(hindsight).reply([Ask(Seat("proposer"), told(each.prompt), seed=n) for n, each in enumerate(asks)])
    assert all(isinstance(each, Task) for each in hindsight.read(asks, [each.text for each in said]))


def test_a_thing_that_was_reached_is_a_mission() -> None:
    pytest.importorskip("minigrid")
    world = find_world("grid(count=8,tests=2)")
    hindsight = Hindsight(world)
    for start in world.tasks():
        with closing(world.open(start, 0)) as visit:
            things = [
                f"{each.color} {each.type}" for each in visit.env.unwrapped.grid.grid if each and each.type in THINGS
            ]
        for verb, after in (
            ("go to", {"hold": "", "reach": things[-1]}),
            ("pick up", {"hold": things[0], "reach": ""}),
        ):
            prompt = world.worded(start, after)
            assert prompt == f"{verb} the {after['hold'] or after['reach']}"
            task = world.with_goal(start, after, prompt)
            acts = world.expert(task)
            with closing(world.open(task, 0)) as visit:
                assert visit.look().shown.startswith(prompt + "\n")
                assert [visit.act(act).over for act in acts] == [False] * (len(acts) - 1) + [True]
                assert visit.assess().score == 1.0
            with closing(world.open(start, 0)) as visit:
                ended = any([visit.act(act).over for act in acts][:-1])  # with its own mission, on the way
            assert ended or hindsight.set(start, acts, prompt) == task
    held = world.held_out()[0]
    assert hindsight.set(held, world.expert(held), "Go there.") == Refusal("no goal")
    assert hindsight.set(world.tasks()[0], ["wait"], "Wait.") == Refusal("no goal")


def test_a_judge_of_outcomes_is_shown_the_end_and_not_the_state() -> None:
    questions = Done("site:shop")
    done, damaged = (questions.problems(level, 20, Random(0)) for level in questions.levels)
    assert {task.answer for task in done} == {"yes"} and {task.answer for task in damaged} == {"no"}
    assert all("stock" not in task.prompt and task.prompt.count("Acts:") == 1 for task in done + damaged)


@pytest.mark.parametrize("reply", ["\n" * 200_000, " -#*" * 50_000, "-\n" * 100_000])
def test_a_long_reply_without_a_proposal_is_read_at_once(reply):
    began = time.process_time()
    assert proposal_in(reply) == ([], "")
    assert time.process_time() - began < 1.5


def test_a_proposal_may_stand_under_lines_of_marks():
    assert proposal_in("---\n\n## **Acts:** open cup | add\n- Task: Buy 1 cup.") == (["open cup", "add"], "Buy 1 cup.")
