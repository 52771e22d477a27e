"""Coverage, repetition, the distance from known data, and the alarms, by hand."""

import json
import math
from dataclasses import replace
from random import Random

import numpy as np
import pytest

from redqueen.credit.rewards import payoff, score
from redqueen.measures.divergence import (
    Coverage,
    DataDivergence,
    Divergence,
    Limits,
    Replies,
    distinct_ngrams,
    question,
    repeated_ngrams,
    whole_replies,
)
from redqueen.play.lockstep import play
from redqueen.play.seating import alone
from redqueen.players.tabular import TabularPolicy
from redqueen.questions.asking import SOLVE
from redqueen.questions.small.known import Known
from redqueen.questions.small.matchups import Matchups
from redqueen.records import ask_to_json


def table(domain, chances):
    """A learner that answers the one question of a domain so."""
    learner = TabularPolicy()
    logits = [float(np.log(chance)) for chance in chances]
    learner.restore(
        {"name": "learner", "version": 0, "asks": [ask_to_json(question(domain.task()))], "logits": [logits]}
    )
    return learner


def test_coverage_is_the_likelihood_of_gold_answers_a_word():
    domain = Known(outcomes=4)
    learner = table(domain, (0.1, 0.2, 0.3, 0.4))
    tests = [domain.task("a"), domain.task("d")]
    assert Coverage(learner, tests)()["coverage"] == pytest.approx((math.log(0.1) + math.log(0.4)) / 2)


def test_without_gold_answers_what_was_said_before_training_is_covered():
    domain = Known(outcomes=2)
    learner = table(domain, (1.0 - 1e-9, 1e-9))
    covered = Coverage(learner, [domain.task()] * 3)
    assert covered()["coverage"] == pytest.approx(0.0, abs=1e-6)
    learner.restore({**learner.state(), "logits": [[0.0, 0.0]]})
    assert covered()["coverage"] == pytest.approx(math.log(0.5))


def test_repetition_by_hand():
    loop, fresh = (1, 2, 1, 2, 1, 2), (1, 2, 3, 4)
    assert repeated_ngrams([loop], 2) == pytest.approx(1 - 2 / 5)  # 12 21 12 21 12
    assert repeated_ngrams([fresh], 2) == 0.0
    assert repeated_ngrams([loop, fresh], 2) == pytest.approx(1 - (2 + 3) / 8)
    assert repeated_ngrams([(1,)], 2) == 0.0
    assert distinct_ngrams([fresh, fresh], 2) == 0.5
    assert distinct_ngrams([(1,)], 2) == 0.0


def test_replies_are_checked_and_measured():
    domain = Matchups("biased")
    learner = table(domain, (1e-12, 1e-12, 1e-12, 1.0))
    found = Replies(domain, learner, domain.problems("matchup", 4, Random(0)))()
    assert found == {"accuracy": 0.0, "reply_length": 1.0, "repeated_4grams": 0.0, "distinct_2grams": 0.0}


class Strict(Matchups):
    """Nobody knows what is right where a task has no answer."""

    def right(self, tasks, answers):
        assert all(task.answer for task in tasks)
        return super().right(tasks, answers)


def test_accuracy_is_of_the_tasks_that_have_an_answer():
    domain = Strict("biased")
    known, unknown = (replace(domain.task(number), answer=answer) for number, answer in enumerate(("a", "")))
    learner = table(domain, (1.0, 1e-12, 1e-12, 1e-12))
    assert Replies(domain, learner, [unknown, known])()["accuracy"] == 1.0
    assert set(Replies(domain, learner, [unknown])()) == {"reply_length", "repeated_4grams", "distinct_2grams"}


def test_the_gold_reply_is_covered_and_not_what_it_comes_to():
    domain = Known(outcomes=4)
    learner = table(domain, (0.1, 0.2, 0.3, 0.4))
    task = replace(domain.task("d"), facts={**domain.task().facts, "gold": "a"})
    assert Coverage(learner, [task])()["coverage"] == pytest.approx(math.log(0.1))


def test_the_distance_from_known_data_is_exact_where_answers_are_listed():
    domain = Known(outcomes=4)
    learner = table(domain, (0.25,) * 4)
    tests = domain.problems("outcome", 4000, Random(0))
    found = DataDivergence(domain, learner, tests)()
    assert found["data_kl"] == pytest.approx(float(np.sum(domain.distribution * np.log(domain.distribution * 4))))
    # data above its rank's mirror: sum over pairs of p(a) / 4 where p(a) > p(b), a half where a = b
    chances = domain.distribution
    best = sum(chances[a] / 4 * (0.5 if a == b else chances[a] > chances[b]) for a in range(4) for b in range(4))
    assert found["told_apart"] == pytest.approx(best, abs=0.03)


def test_data_and_policy_that_are_one_cannot_be_told_apart():
    domain = Known(outcomes=4)
    found = DataDivergence(domain, table(domain, domain.distribution), domain.problems("outcome", 50, Random(0)))()
    assert found == pytest.approx({"data_kl": 0.0, "told_apart": 0.5}, abs=1e-9)


def test_whole_replies_are_rated():
    domain = Known(outcomes=2)
    learner = table(domain, (0.25, 0.75))
    said = score(play(alone(SOLVE, [domain.task()] * 20, learner), Random(0)), payoff)
    texts = [trajectory.turns[0].reply.text for trajectory in said]
    assert np.exp(whole_replies(learner, said)).tolist() == pytest.approx([{"a": 0.25, "b": 0.75}[t] for t in texts])


class Figures:
    def __init__(self, *found):
        self.found = list(found)

    def __call__(self):
        return self.found.pop(0)

    def state(self):
        return {}

    def restore(self, state):
        pass


def test_the_alarms_fire_beyond_their_limits():
    inner = Figures(*({"coverage": c, "reply_length": n} for c, n in ((-2.0, 10.0), (-2.4, 19.0), (-2.6, 21.0))))
    watch = Divergence([inner], Limits(coverage=0.5, margin=20.0, chosen=10.0, length=2.0))
    assert [(m["alarm/coverage"], m["alarm/length"]) for m in (watch(), watch(), watch())] == [
        (0.0, 0.0),
        (0.0, 0.0),
        (1.0, 1.0),
    ]
    assert watch.observe({"preference_margin": 21.0, "chosen_ratio": -9.0}) == {
        "alarm/margin": 1.0,
        "alarm/chosen": 0.0,
    }
    assert watch.alarms() == [
        "coverage: held-out answers have lost 0.60 nats a token since the start, above 0.5",
        "length: replies are 2.1 times as long as at the start, above 2",
        "margin: the margin of chosen over rejected replies is 21.0 nats, above 20",
    ]
    assert watch.observe({"preference_margin": math.nan, "chosen_ratio": -11.0}) == {
        "alarm/margin": 1.0,
        "alarm/chosen": 1.0,
    }
    assert watch.alarms()[-1] == "chosen: the log-ratio of chosen replies is -11.0 nats, below -10"
    assert watch.observe({"loss": 1.0}) == {}


def test_a_coverage_that_is_no_number_and_replies_that_began_empty_fire():
    watch = Divergence([Figures({"coverage": -1.0, "reply_length": 0.0}, {"coverage": math.nan, "reply_length": 0.5})])
    assert watch() == {"coverage": -1.0, "reply_length": 0.0, "alarm/coverage": 0.0, "alarm/length": 0.0}
    again = watch()
    assert (again["alarm/coverage"], again["alarm/length"]) == (1.0, 1.0)


def test_the_start_and_what_fires_are_remembered_over_a_resumption():
    watch = Divergence([Figures({"coverage": -1.0})])
    watch()
    watch.observe({"preference_margin": 30.0})
    again = Divergence([Figures({"coverage": -3.0})])
    again.restore(json.loads(json.dumps(watch.state())))
    assert again.alarms() == watch.alarms() and len(watch.alarms()) == 1
    assert again()["alarm/coverage"] == 1.0
