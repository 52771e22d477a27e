import io
import math
import time
from collections import Counter
from dataclasses import replace
from random import Random

import pytest
import torch

from redqueen.curricula.draws import ByLearnability, Distinct, Independent, NewestFirst, Recency, Uniform
from redqueen.curricula.duplicates import NearDuplicates, Overlap
from redqueen.curricula.eviction import LowestPriority, newest, solved_at_least
from redqueen.curricula.store import TaskStore, rate_shares, result_of
from redqueen.types import Ask, Episode, Group, Message, Outcome, RedQueenError, Reply, Seat, Task, Turn

SOLVER, PROPOSER = Seat("solver"), Seat("proposer")


def task(name: str, kind: str = "sums", prompt: str = "", **facts: object) -> Task:
    return Task(name, kind, prompt or f"prompt of {name}", facts=facts)


def tasks(count: int, kind: str = "sums", first: int = 0) -> list[Task]:
    return [task(f"{kind}{number}", kind) for number in range(first, first + count)]


def played(of: Task, score: float, version: int = 0) -> Episode:
    turns = (Turn(Ask(SOLVER, (Message("game", of.prompt),)), Reply("8", "learner", version)),)
    return Episode("sums", of, 0, turns, Outcome({SOLVER: score, PROPOSER: 0.25}), (PROPOSER, SOLVER))


def ids(drawn: list[Task]) -> list[str]:
    return [each.id for each in drawn]


def through_a_checkpoint(state):
    file = io.BytesIO()
    torch.save(state, file)
    file.seek(0)
    return torch.load(file, weights_only=True)


def test_a_task_keeps_its_provenance():
    store = TaskStore()
    assert store.add(tasks(2), origin="seed") == ["", ""]
    made = task("child", facts_are_kept=[1, 2])
    assert store.add([made], "proposer", [["sums0", "gone"]], ["ran twice"], author_version=7, step=4) == [""]
    child = store["child"]
    assert (child.origin, child.parents, child.gates) == ("proposer", ("sums0", "gone"), ("ran twice",))
    assert (child.added, child.author_version, child.depth) == (4, 7, 1)
    assert child.task.facts == {"facts_are_kept": (1, 2)}
    assert store["sums0"].depth == 0
    store.add([task("grandchild")], parents=[["sums1", "child"]])
    assert store["grandchild"].depth == 2
    with pytest.raises(RedQueenError, match="does not hold the task 'nobody'"):
        store["nobody"]


def test_results_come_from_the_solvers_seat():
    store = TaskStore()
    given = tasks(2)
    store.add(given)
    store.observe([played(given[0], 1.0, 5), played(given[0], 0.0, 3), played(task("stranger"), 1.0)])
    history = store["sums0"]
    assert (history.tries, history.solved, history.results, history.solve_rate) == (2, 1, (1.0, 0.0), 0.5)
    assert (history.last_seen, history.solver_version) == (0, 5)
    assert store["sums1"].solve_rate is None
    assert store.step == 1
    assert "stranger" not in [each.task.id for each in store.histories()]


def test_a_result_of_none_is_not_counted():
    store = TaskStore(result=lambda episode: None if episode.turns[0].reply.version else 1.0)
    [given] = tasks(1)
    store.add([given])
    store.observe([played(given, 0.0, 0), played(given, 0.0, 1)])
    assert store["sums0"].results == (1.0,)


def test_results_that_cannot_be_told_are_errors():
    [given] = tasks(1)
    store = TaskStore(role="judge")
    store.add([given])
    with pytest.raises(RedQueenError, match="there is no seat of the role judge in an episode of sums"):
        store.observe([played(given, 1.0)])
    store = TaskStore(result=lambda episode: float("nan"))
    store.add([given])
    with pytest.raises(RedQueenError, match="a finite number or None"):
        store.observe([played(given, 1.0)])
    assert result_of("proposer")(played(given, 1.0)) == 0.25


def test_a_verdict_is_the_result_and_an_unknown_one_is_none():
    store = TaskStore()
    [given] = tasks(1)
    store.add([given])
    attempt = played(given, 0.25)
    for verdict in (True, False, None):
        outcome = Outcome(attempt.outcome.scores, {"right": verdict})
        store.observe([replace(attempt, outcome=outcome)])
    assert store[given.id].results == (1.0, 0.0)


def test_a_group_gives_one_result_and_an_unknown_one_none():
    store = TaskStore()
    [given] = tasks(1)
    store.add([given])
    attempts = tuple(played(given, score) for score in (0.0, 1.0, 1.0))
    store.observe_groups([Group(1, given, attempts), Group(2, Task("elsewhere"), attempts)], lambda group: 0.75)
    store.observe_groups([Group(3, given, attempts)], lambda group: math.nan)
    assert (store[given.id].results, store.step) == ((0.75,), 2)


def test_only_the_window_counts_for_the_solve_rate():
    store = TaskStore(window=2)
    [given] = tasks(1)
    store.add([given])
    for score in (0.0, 0.0, 1.0, 1.0):
        store.observe([played(given, score)])
    assert (store["sums0"].solve_rate, store["sums0"].solved, store["sums0"].tries) == (1.0, 2, 4)


def test_credit_is_kept_until_the_next():
    store = TaskStore()
    store.add(tasks(1))
    store.credit("sums0", 0.3)
    store.credit("sums0", 0.7)
    store.credit("one that has left", 0.7)
    assert store["sums0"].credit == 0.7
    with pytest.raises(RedQueenError, match="credit of task 'sums0'"):
        store.credit("sums0", -1.0)


def test_every_refusal_says_why_and_is_counted():
    screens = [NearDuplicates(0.6, 1), Overlap([task("exam", prompt="how far is the moon")])]
    store = TaskStore(screens=screens)
    assert store.add(
        [
            task("a", prompt="one two three four"),
            task("b", prompt="one two three five"),
            task("c", prompt="How far is the Moon?"),
            task("a", prompt="something else entirely"),
        ]
    ) == ["", "near duplicate of a (0.60)", "is the evaluation task exam", "the id a is taken"]
    metrics = store.metrics()
    assert metrics["tasks/refused_duplicate"] == metrics["tasks/refused_overlap"] == metrics["tasks/refused_id"] == 1.0
    assert (metrics["tasks/offered"], metrics["tasks/added"], metrics["tasks/held"]) == (4.0, 1.0, 1.0)
    assert metrics["tasks/unique_share"] == 0.75


def test_the_same_prompt_is_refused_unless_there_are_no_screens():
    same = [task("a", prompt="What is 3?"), task("b", prompt="what  is 3?")]
    assert TaskStore().add(same) == ["", "duplicate of a"]
    assert TaskStore(screens=()).add(same) == ["", ""]


def test_the_oldest_leave_a_full_store_and_may_come_back():
    store = TaskStore(capacity=3)
    store.add(tasks(3))
    assert store.add(tasks(2, first=3)) == ["", ""]
    assert [each.task.id for each in store.histories()] == ["sums2", "sums3", "sums4"]
    assert store.metrics()["tasks/left"] == 2.0
    assert store.add(tasks(1)) == [""]


def test_no_kind_is_pushed_out_of_a_full_store():
    store = TaskStore(capacity=3)
    store.add([Task("rare", "rare", "the only one")])
    store.add(tasks(9))
    assert [each.task.id for each in store.histories()] == ["rare", "sums7", "sums8"]


def test_keeping_the_first_refuses_all_others():
    """AZR's code: a full buffer never changes again."""
    store = TaskStore(capacity=3, eviction=newest)
    assert store.add(tasks(4)) == ["", "", "", "full: 3 tasks are held, which the eviction prefers"]
    assert store.add(tasks(1, first=9))[0].startswith("full")
    assert [each.task.id for each in store.histories()] == ["sums0", "sums1", "sums2"]
    metrics = store.metrics()
    assert (metrics["tasks/refused_full"], metrics["tasks/added"], metrics["tasks/left"]) == (2.0, 3.0, 0.0)


def test_the_least_learnable_leave():
    store = TaskStore(capacity=3, eviction=LowestPriority(ByLearnability(lambda s: float(s.var()), untried=0.1)))
    given = tasks(3)
    store.add(given)
    store.observe(
        [played(given[place], score) for place, scores in enumerate([(1, 0), (1, 1), (1, 0)]) for score in scores]
    )
    store.add(tasks(1, first=3))
    assert [each.task.id for each in store.histories()] == ["sums0", "sums2", "sums3"]


def test_solved_tasks_are_pruned():
    store = TaskStore()
    given = tasks(2)
    store.add(given)
    store.observe([played(given[0], float(number != 0)) for number in range(10)] + [played(given[1], 0.0)])
    assert ids(store.prune(solved_at_least(0.9))) == ["sums0"]
    assert len(store) == 1
    assert store.add([given[0]]) == [""]  # it is no longer a duplicate of anything


def test_a_refilled_store_holds_nothing_of_before():
    store = TaskStore()
    store.add(tasks(2, "sums"))
    store.refill(tasks(1, "cards"), "proposer", step=5)
    assert [(each.task.id, each.origin, each.added) for each in store.histories()] == [("cards0", "proposer", 5)]


def test_draws_keep_to_kinds():
    store = TaskStore()
    store.add(tasks(5, "deduction") + tasks(5, "abduction") + tasks(5, "induction"))
    assert store.kinds() == {"deduction": 5, "abduction": 5, "induction": 5}
    drawn = Counter(each.kind for each in store.draw(200, Random(0), ("deduction", "abduction")))
    assert drawn.keys() == {"deduction", "abduction"}
    view = store.only("induction")
    assert {each.kind for each in view.draw(20, Random(0))} == {"induction"}
    view.observe([played(task("induction0", "induction"), 1.0), played(task("deduction0", "deduction"), 1.0)])
    assert store["induction0"].tries == 1 and store["deduction0"].tries == 0


def test_references_are_all_different():
    store = TaskStore()
    store.add(tasks(10))
    for seed in range(20):
        assert len(set(ids(store.draw_references(6, Random(seed))))) == 6
    assert sorted(ids(store.draw_references(20, Random(0)))) == sorted(f"sums{number}" for number in range(10))


def test_a_draw_from_nothing_says_what_is_missing():
    store = TaskStore()
    with pytest.raises(RedQueenError, match="the store 'tasks' is empty: add some"):
        store.draw(1, Random(0))
    store.add(tasks(2, "deduction"))
    with pytest.raises(RedQueenError, match=r"no task of the kind induction \(it holds 2 deduction\)"):
        store.draw_references(1, Random(0), ("induction",))


def test_steps_are_those_of_the_run():
    store = TaskStore(sampling=NewestFirst(Uniform(), age=0))
    store.add(tasks(3), step=0)
    store.observe([])
    store.add(tasks(2, first=3), step=1)
    assert ids(store.draw(2, Random(0))) == ["sums4", "sums3"]
    store.observe([])
    with pytest.raises(RedQueenError, match="step 1 come after the store has reached step 2"):
        store.add(tasks(1, first=9), step=1)
    store.add(tasks(1, first=9), step=5)
    assert store.metrics()["tasks/mean_age"] == pytest.approx((5 * 3 + 4 * 2 + 0) / 6)


def test_metrics_spread_the_solve_rates():
    assert rate_shares([0.0, 0.25, 0.26, 0.5, 0.75, 0.9, 1.0, 1.0]) == {
        "solved_never": 1 / 8,
        "solved_to_25": 1 / 8,
        "solved_to_50": 2 / 8,
        "solved_to_75": 1 / 8,
        "solved_to_99": 1 / 8,
        "solved_always": 2 / 8,
    }
    store = TaskStore(name="sums")
    assert store.metrics()["sums/solved_always"] == 0.0
    given = tasks(2)
    store.add(given)
    store.observe([played(given[0], 1.0)])
    assert store.metrics()["sums/solved_always"] == 1.0
    assert store.metrics()["sums/untried"] == 1.0


def a_store() -> TaskStore:
    return TaskStore(
        capacity=40,
        sampling=Independent(ByLearnability(lambda scores: float(scores.var()), untried=0.2)),
        references=Distinct(Recency(5.0)),
        eviction=LowestPriority(ByLearnability(lambda scores: float(scores.var()), untried=0.2)),
        screens=[NearDuplicates(0.5, 1)],
        window=4,
    )


def drive(store: TaskStore, steps: range) -> list[object]:
    """A little run: what was refused, drawn and measured. Chance comes from the step, as in a run."""
    seen: list[object] = []
    for step in steps:
        rng = Random(step)
        offered = [task(f"{step}.{number}", prompt=f"{rng.randrange(99)} {rng.randrange(99)}") for number in range(8)]
        parents = [] if len(store) == 0 else [ids(store.draw_references(2, rng)) for _ in offered]
        seen.append(store.add(offered, "proposer", parents, author_version=step, step=step))
        drawn = store.draw(16, rng)
        seen.append(ids(drawn))
        store.observe([played(each, float(rng.random() < 0.5), step) for each in drawn])
        store.credit(drawn[0].id, rng.random())
        store.prune(lambda history: history.unmoved > 5)
        seen.append(store.metrics())
    return seen


def test_a_store_that_was_saved_goes_on_like_one_that_was_not():
    whole, first, second = a_store(), a_store(), a_store()
    expected = drive(whole, range(30))
    begun = drive(first, range(15))
    second.add([task("not of this run")])
    second.restore(through_a_checkpoint(first.state()))
    assert begun + drive(second, range(15, 30)) == expected
    assert second.state() == whole.state()
    assert any(reason for reasons in expected[::3] for reason in reasons)  # something was refused
    assert whole.metrics()["tasks/left"] > 0


def test_a_store_forgets_what_it_held_before_it_was_restored():
    store = TaskStore()
    store.add(tasks(1))
    store.restore(TaskStore().state())
    assert len(store) == 0
    assert store.add(tasks(1)) == [""]


def test_a_restored_task_is_equal_to_the_one_held():
    store, other = TaskStore(), TaskStore()
    store.add([Task("a", "k", "p", "x", {"cards": [1, [2.5]], "names": {"b": ["c"]}}, 0.1)])
    other.restore(through_a_checkpoint(store.state()))
    assert other.draw(1, Random(0)) == store.draw(1, Random(0))
    assert other["a"] == store["a"]


def test_a_large_store_is_fast():
    """16,384 tasks: adding all, then a hundred steps of draws and additions to a full store. Bounds are ten times
    what was measured on one core."""
    began = time.perf_counter()
    store = TaskStore(capacity=16_384, sampling=Independent(ByLearnability(lambda s: float(s.var()))))
    for first in range(0, 16_384, 64):
        store.add(tasks(64, first=first))
    added = time.perf_counter()
    for step in range(20):
        drawn = store.draw(64, Random(step))
        store.draw_references(6, Random(step))
        store.observe([played(each, float(step % 2)) for each in drawn])
        store.add(tasks(64, first=20_000 + 64 * step))
    ended = time.perf_counter()
    assert len(store) == 16_384
    assert added - began < 15.0
    assert (ended - added) / 20 < 1.0


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({"capacity": 0}, "capacity of at least 1"),
        ({"eviction": newest}, "no effect without a capacity"),
        ({"window": 0}, "window of at least 1"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(settings, line):
    with pytest.raises(RedQueenError, match=line):
        TaskStore(**settings)


def test_parents_are_given_for_every_task_or_for_none():
    with pytest.raises(RedQueenError, match="for each of 2 tasks, not for 1"):
        TaskStore().add(tasks(2), parents=[["a"]])
