"""Passages, pass rates, and what only an oracle can say."""

from dataclasses import replace
from math import isnan, nan
from random import Random

import numpy as np
import pytest

from redqueen.credit.outcomes import rate
from redqueen.measures.accuracy import HeldOut
from redqueen.play.groups import attempts, with_facts
from redqueen.players.scripted import Constant
from redqueen.questions.asking import SOLVE
from redqueen.questions.small.facts import Facts
from redqueen.recipes.proposers.pasodoble.steps import Buffer, Corpus, Rewards
from redqueen.types import Refusal, Task

DOMAIN = Facts()
TASKS = [DOMAIN.task("deck", "19", answer) for answer in ("17", "18", "19", "20")]


def test_proposers_read_different_passages():
    corpus = Corpus(DOMAIN)
    invitations = corpus.invited(5, Random(0))
    assert len({task.id for task in invitations}) == len({task.prompt for task in invitations}) == 5
    assert len(corpus.invited(10**6, Random(0))) == len(DOMAIN.passages())


def groups(*marks):
    """A group at each task: "1" an attempt that was right, "0" one that was wrong, "?" one that nobody knows of."""
    tries = attempts(SOLVE, TASKS[: len(marks)], Constant("17"), len(marks[0]), Random(0))
    return with_facts(tries, [{"right": {"1": True, "0": False, "?": None}[mark]} for each in marks for mark in each])


def test_a_pass_rate_needs_two_finished_attempts():
    rates = [rate(group).mean for group in groups("1000", "11??", "1???")]
    np.testing.assert_equal(rates, [0.25, 1.0, np.nan])


def test_the_solver_trains_strictly_between_the_floor_and_one():
    tries = groups("10000", "11000", "11111", "1????")
    assert rewards().kept(tries) == [tries[1]]
    assert rewards(gate=False).kept(tries) == tries[:2]
    held = HeldOut(DOMAIN, Constant(""), {"": [TASKS[1], Task("other", prompt="other")]})
    assert held.groups_apart(tries) == []  # all ask the same


def test_the_oracle_counts_right_answers_among_all_proposals_and_among_what_is_learned_from():
    tries = groups("1100", "1100", "1100")
    written = [*TASKS[:3], Refusal("malformed")]
    found = Corpus(DOMAIN).check(written, tries, tries[:2])
    assert (found["valid_share"], found["label_accuracy"]) == (0.25, 0.5)
    assert found["proposals/solve_rate"] == 0.5
    found = Corpus(DOMAIN).check([Refusal("malformed")], [], [])
    assert found["valid_share"] == 0.0
    assert "label_accuracy" not in found
    assert Corpus(DOMAIN).check([], [], []) == {}


def rewards(gate=True):
    return Rewards(floor=0.2, diverse=0.3, weight=0.2, window=100, gate=gate)


@pytest.mark.parametrize(
    ("rate", "diversity", "paid"),
    [(0.5, 1.0, 0.8), (1.0, 1.0, 0.3), (2 / 6, 0.6, 0.886667), (1 / 6, 1.0, 0.0), (0.5, 0.3, 0.0), (0.2, 1.0, 0.0)],
)
def test_what_a_problem_pays_is_the_cards_vector(rate, diversity, paid):
    assert rewards().limits(rate, diversity) == pytest.approx(paid, abs=1e-6)


def test_without_the_gate_a_problem_that_nobody_solves_pays_best():
    rates = [0.0, 1 / 6, 2 / 6, 0.5, 1.0]
    ungated = rewards(gate=False)
    assert [ungated.limits(rate, 1.0) for rate in rates] == pytest.approx([1.3 - rate for rate in rates])
    assert max(rates, key=lambda rate: rewards().limits(rate, 1.0)) == 2 / 6


def test_an_unknown_pass_rate_is_no_reward_at_all():
    assert isnan(rewards().limits(nan, 1.0))
    assert isnan(rewards(gate=False).limits(nan, 1.0))


def test_a_problem_is_unlike_those_of_earlier_steps_and_not_unlike_itself():
    tries = [replace(group, parent=group.attempts[0]) for group in groups("1100", "1100")]
    found = rewards()
    first = found.proposer(tries)
    assert first.parts["limits"] == pytest.approx([0.8, 0.8])  # 1.1 - 0.5 + 0.2
    assert found.metrics() == {"diversity": 1.0}
    again = rewards()
    again.restore(found.state())
    assert again.proposer(tries).parts["limits"] == [0.0, 0.0]  # seen, so of diversity 0
    assert again.metrics() == {"diversity": 0.0}


def test_the_buffer_deals_what_it_holds_until_it_is_solved():
    tries, buffer = groups("1100"), Buffer()
    assert buffer.draw(3, Random(0)) == []
    buffer.add(tries, "proposer", 0)
    assert buffer.draw(3, Random(0)) == TASKS[:1]
    buffer.observe(groups("1100"))
    assert buffer.draw(3, Random(0)) == TASKS[:1]
    buffer.observe(groups("1111"))
    assert buffer.draw(3, Random(0)) == []
