"""Passages, pass rates, and what only an oracle can say."""

from random import Random

import numpy as np

from redqueen.credit.outcomes import rate
from redqueen.curricula.held_out import groups_apart
from redqueen.play.groups import attempts, with_facts
from redqueen.players.scripted import Constant
from redqueen.questions.asking import SOLVE
from redqueen.questions.small.facts import Facts
from redqueen.recipes.proposers.pasodoble.steps import after_passages, between, oracle_figures
from redqueen.types import Refusal, Task

DOMAIN = Facts()
TASKS = [DOMAIN.task("deck", "19", answer) for answer in ("17", "18", "19", "20")]


def test_proposers_read_different_passages():
    invitations = after_passages(DOMAIN, 5, Random(0))
    assert len({task.id for task in invitations}) == len({task.prompt for task in invitations}) == 5
    assert len(after_passages(DOMAIN, 10**6, Random(0))) == len(DOMAIN.passages())


def groups(*marks):
    """A group at each task: "1" an attempt that was right, "0" one that was wrong, "?" one that nobody knows of."""
    tries = attempts(SOLVE, TASKS[: len(marks)], Constant("17"), len(marks[0]), Random(0))
    return with_facts(tries, [{"right": {"1": True, "0": False, "?": None}[mark]} for each in marks for mark in each])


def test_a_pass_rate_needs_two_finished_attempts():
    rates = [rate(group).mean for group in groups("1000", "11??", "1???")]
    np.testing.assert_equal(rates, [0.25, 1.0, np.nan])


def test_the_solver_trains_strictly_between_the_floor_and_one():
    tries = groups("10000", "11000", "11111", "1????")
    assert between(tries, 0.2) == [tries[1]]
    assert groups_apart({"": [TASKS[1], Task("other", prompt="other")]}, tries) == []  # all ask the same


def test_the_oracle_counts_right_answers_among_all_proposals_and_among_what_was_kept():
    written = [*TASKS[:3], Refusal("malformed")]
    assert oracle_figures(DOMAIN, written, TASKS[:2]) == {"valid_share": 0.25, "label_accuracy": 0.5}
    assert oracle_figures(DOMAIN, [Refusal("malformed")], []) == {"valid_share": 0.0}
    assert oracle_figures(DOMAIN, [], []) == {}
