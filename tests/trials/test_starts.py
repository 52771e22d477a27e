"""A warm start is never shown the problems that measure, and these are dealt anew for each seed."""

from dataclasses import dataclass, replace
from random import Random

import pytest

from redqueen.curricula.held_out import apart_from, held_out
from redqueen.demonstrations import rehearsal
from redqueen.demonstrations.apart import drawn_apart, shows
from redqueen.measures import accuracy
from redqueen.protocols import Demonstrator
from redqueen.questions.asking import tasks_among
from redqueen.questions.catalogue import find_questions, having
from redqueen.recipes.credit.spear import recipe as spear
from redqueen.recipes.proposers.absolute_zero import recipe as absolute_zero
from redqueen.recipes.self_training import cold_start
from redqueen.runs.run import Run, Schedule
from redqueen.settings.learner import Learner
from redqueen.trials import starts
from redqueen.trials.experiment import Experiment, Training, versus
from redqueen.trials.one_seed import Job, kept_apart
from redqueen.trials.starts import Start, further, measuring, warmed
from redqueen.types import Demonstration, RedQueenError, Task

TINY = Learner(model="tiny:hidden=16,heads=2", max_completion_length=8)
SCHOOL = cold_start.Config(TINY, "sums:digits=2", steps=2, demonstrations_per_step=64, problems=8)
CONFIG = absolute_zero.Config(learner=warmed(), questions="sums:digits=2", problems=8)
EXPERIMENT = Experiment(
    title="x",
    asked="x",
    trial=Training(absolute_zero.train),
    config=CONFIG,
    starts={"learner.model": Start(SCHOOL)},
    variants={"a": {}, "b": {"proposer": "frozen"}},
    figures=("accuracy",),
    compared=versus("a", ("b",), ("accuracy",)),
    controls=("b",),
)


def prompts(apart):
    return {task.prompt for tasks in apart.values() for task in tasks}


def test_the_problems_that_measure_are_dealt_by_the_seed_and_are_those_of_the_recipe():
    domain = find_questions(CONFIG.questions)
    for seed in (0, 3):
        measured = held_out(domain, 8, domain.seeds(), seed)
        assert prompts(measured) <= prompts(measuring(CONFIG, seed))
    assert prompts(measuring(CONFIG, 0)) != prompts(measuring(CONFIG, 3))


def test_a_start_of_one_seed_keeps_from_its_tests_and_one_that_is_shared_from_those_of_all():
    job = Job("x", "x", "a", 1, 3)
    assert prompts(kept_apart(EXPERIMENT, job)) == prompts(measuring(CONFIG, 1))
    shared = kept_apart(replace(EXPERIMENT, one_start=True), job)
    assert prompts(shared) == set().union(*(prompts(measuring(CONFIG, seed)) for seed in range(3)))


def test_the_problems_that_measure_are_drawn_once_for_all_variants_of_a_seed(monkeypatch):
    drawn, config = [], replace(CONFIG, problems=7)
    monkeypatch.setattr(starts, "held_out", lambda *words: drawn.append(words[-1]) or held_out(*words))
    kept_apart(replace(EXPERIMENT, config=config, one_start=True), Job("x", "x", "a", 0, 3))
    kept_apart(replace(EXPERIMENT, config=config), Job("x", "x", "b", 2, 3))
    assert drawn == [0, 0, 1, 1, 2, 2]  # without the seed tasks of the question set, and with them


@dataclass(frozen=True)
class Controlled:
    method: absolute_zero.Config
    steps: int


def test_the_problems_that_measure_a_method_are_found_in_what_controls_it():
    assert prompts(measuring(Controlled(CONFIG, 3), 1)) == prompts(measuring(CONFIG, 1)) != set()


def test_a_game_in_place_of_questions_has_no_problems_that_measure():
    assert measuring(spear.Config(), 0) and measuring(spear.Config(game="corridor"), 0) == {}


def shown_in(folder, apart, monkeypatch):
    """The demonstrations by which a start is made."""
    seen, rehearse = [], rehearsal.rehearsal

    def noted(domain, shown, learner):
        seen.append(shown)
        return rehearse(domain, shown, learner)

    with monkeypatch.context() as patched:
        patched.setattr(rehearsal, "rehearsal", noted)
        Start(SCHOOL).make(folder, 0, apart)
    return seen


def test_no_demonstration_of_a_warm_start_shows_a_problem_that_measures(tmp_path, monkeypatch):
    apart, domain = measuring(CONFIG, 0), find_questions(CONFIG.questions)
    seen = shown_in(tmp_path / "apart", apart, monkeypatch)
    asked = [shown.task for shown in seen if shown.role == "solver"]
    proposals = [shown for shown in seen if shown.role == "proposer"]
    written = tasks_among(domain.read([each.task for each in proposals], [each.text for each in proposals]))
    assert len(seen) == 128 and proposals
    assert apart_from(apart, asked) == asked
    assert apart_from(apart, written) == written
    unheld = [shown.task for shown in shown_in(tmp_path / "not", {}, monkeypatch) if shown.role == "solver"]
    assert len(apart_from(apart, unheld)) < len(unheld), "without it some are shown"


def test_a_judge_is_not_shown_a_held_out_problem_either():
    domain = find_questions("sums:digits=2")
    held = shows(domain, {"2_digits": [domain.task(12, 7), domain.task(40, 41)]})
    assert held(Demonstration("judge", Task("j", "j", "Problem: What is 12 + 7?\nAnswer: 91. Right?"), "yes"))
    assert held(Demonstration("proposer", Task("i", "sum", "Write a sum."), "12+7"))
    assert not held(Demonstration("judge", Task("j", "j", "Problem: What is 112 + 7? Answer: 911"), "yes"))


def test_as_many_are_drawn_as_are_asked_for_and_the_same_ones_where_nothing_is_held_out():
    teacher = having(find_questions("sums"), Demonstrator)
    plain = teacher.demonstrations(9, Random(1))
    rng = Random(1)
    assert drawn_apart(lambda count: teacher.demonstrations(count, rng), 9, lambda shown: False) == plain
    with pytest.raises(RedQueenError, match="hold out fewer"):
        drawn_apart(lambda count: plain, 9, lambda shown: True)


def test_a_start_goes_on_from_another_and_depends_on_it(tmp_path):
    first = Start(SCHOOL)
    second = further(first, "sums:digits=2", 2, 1, demonstrations=4, max_completion_length=8)
    before = first.make(tmp_path / "first", 0, {})
    model = second.make(tmp_path / "second", 0, {}, before)
    assert model != before
    assert second.facts()[2] == first.facts() != second.facts()


def test_a_run_of_trials_measures_on_the_problems_of_its_seed(tmp_path, monkeypatch):
    dealt = []

    def noted(*arguments, **named):
        dealt.append(held_out(*arguments, **named))
        return dealt[-1]

    monkeypatch.setattr(accuracy, "held_out", noted)
    config = replace(CONFIG, learner=TINY, steps=1, proposals=2, attempts=2)
    for tests in (0, 3):
        absolute_zero.train(config, Run(tmp_path / str(tests), 3, Schedule(10**9, record_episodes=0), tests=tests))
    assert prompts(dealt[0]) != prompts(dealt[1])
    assert prompts(dealt[1]) <= prompts(measuring(config, 3))
