"""The frozen set of errors: both kinds of mistakes count, whoever always says the same has half."""

from dataclasses import replace
from random import Random

import pytest

from experiments.spc import CRITIC
from redqueen.demonstrations.apart import drawn_apart, shows
from redqueen.opponents.pools import Snapshots
from redqueen.questions.small.step_traces import StepTraces
from redqueen.recipes.adversaries.spc.measures import Deception, ErrorSet
from redqueen.recipes.adversaries.spc.steps import criticised
from redqueen.settings.learner import Learner
from redqueen.types import Reply

DOMAIN = StepTraces()


class Knows:
    """Right on all that is not of these levels; Correct on those."""

    name = "knows"

    def __init__(self, answer):
        self.answer = answer

    def reply(self, asks):
        return [Reply(self.answer(ask.messages[-1].text), self.name) for ask in asks]


def test_always_the_same_verdict_is_worth_a_half():
    for verdict, alarm in (("Correct", 0.0), ("Incorrect", 1.0)):
        found = ErrorSet(DOMAIN, Knows(lambda text, v=verdict: v), 3)()
        assert found["balanced_accuracy"] == 0.5
        assert found["false_alarm"] == alarm
        assert found["unread"] == 0.0


def test_arithmetic_alone_finds_half_of_the_kinds_of_errors():
    def checks(text):
        left, _, value = text.rpartition("Check ")[2].partition("=")
        worked = eval(left.replace("/2", "//2"))  # digits and a sign
        return "Correct" if worked == int(value) else "Incorrect"

    found = ErrorSet(DOMAIN, Knows(checks), 12)()
    assert [found[f"accuracy/{level}"] for level in ("right", "off_by_one", "off_by_ten", "swapped")] == [1.0] * 4
    assert [found[f"accuracy/{level}"] for level in ("operand", "copied", "operation")] == [0.0] * 3
    assert 0.65 < found["balanced_accuracy"] < 0.8


def test_what_cannot_be_read_is_wrong_and_counted():
    found = ErrorSet(DOMAIN, Knows(lambda text: "well"), 2)()
    assert found["balanced_accuracy"] == 0.0
    assert found["unread"] == 1.0


def test_the_set_is_frozen_and_solutions_are_measured_beside_it():
    measures = [ErrorSet(DOMAIN, Knows(lambda text: "Correct"), 2, problems=6) for _ in range(2)]
    first, second = (measure() for measure in measures)
    assert first == second
    assert first["guided"] == first["majority"]  # a critic that likes everything changes nothing


def test_a_generator_is_compared_with_itself_at_the_start_of_the_round():
    learner = Learner(model="tiny:hidden=16,heads=2", max_completion_length=3)
    critic, generator = learner.build_model(0), learner.build_model(1, "generator")
    duel = Deception(DOMAIN, generator, Snapshots(generator), Snapshots(critic), 4)
    assert duel() == {"valid/now": 0.0, "valid/before": 0.0}
    assert duel.state() == {}
    assert DOMAIN.invitations(4, Random(0)) == duel.tasks


@pytest.mark.parametrize("measure", [ErrorSet(DOMAIN, Knows(lambda text: "Correct"), 2)])
def test_a_measure_remembers_nothing(measure):
    before = measure()
    measure.restore(measure.state())
    assert measure() == before


def test_the_start_of_the_experiment_is_kept_from_the_steps_of_the_problems_that_are_searched():
    config = replace(CRITIC.config, problems=12)
    questions = criticised(config.questions)
    solved = questions.solutions(12, 8, Random(3))
    steps = {step.prompt for each in solved for attempt in each.attempts for step in attempt.steps}
    apart, others = (CRITIC.measured(config, seed) for seed in (3, 4))
    judged, spoilt = ({task.prompt for task in apart[what]} for what in ("judged", "spoilt"))
    assert steps <= judged != {task.prompt for task in others["judged"]}
    learner = Learner(model="tiny:hidden=16,heads=2").build_model(0)
    pool = Snapshots(learner)
    assert spoilt == {task.prompt for task in Deception(questions, learner, pool, pool, 48, seed=3).tasks}
    held, rng = shows(questions, apart), Random(0)
    shown = drawn_apart(lambda count: questions.demonstrations(count, rng), 2000, held)
    assert not (steps | spoilt) & {each.task.prompt for each in shown}
    assert steps & {each.task.prompt for each in questions.demonstrations(2000, Random(0))}  # else it says nothing


def test_a_critic_is_asked_no_more_often_than_the_run_allows():
    asked = []

    class Counts(Knows):
        def reply(self, asks):
            asked.append(len(asks))
            return super().reply(asks)

    measure = ErrorSet(DOMAIN, Counts(lambda text: "Correct"), 8, problems=8)
    measure.limit(80)
    assert measure()["guided"] >= 0.0
    assert sum(asked) <= 80
