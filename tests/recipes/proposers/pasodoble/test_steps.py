"""Passages, pass rates, and what only an oracle can say."""

from random import Random

import numpy as np

from redqueen.play.lockstep import play
from redqueen.play.seating import alone
from redqueen.players.scripted import Constant
from redqueen.questions.asking import SOLVE
from redqueen.questions.small.facts import Facts
from redqueen.recipes.proposers.pasodoble.steps import after_passages, attempts_at, between, oracle_figures, rates_of
from redqueen.types import Refusal

DOMAIN = Facts()
TASKS = [DOMAIN.task("deck", "19", answer) for answer in ("17", "18", "19", "20")]


def test_proposers_read_different_passages():
    invitations = after_passages(DOMAIN, 5, Random(0))
    assert len({task.id for task in invitations}) == len({task.prompt for task in invitations}) == 5
    assert len(after_passages(DOMAIN, 10**6, Random(0))) == len(DOMAIN.passages())


def test_a_pass_rate_needs_two_finished_attempts():
    nan = np.nan
    scores = np.array([[1.0, 0.0, 0.0, 0.0], [1.0, 1.0, nan, nan], [1.0, nan, nan, nan]])
    np.testing.assert_equal(rates_of(scores), [0.25, 1.0, nan])
    assert rates_of(np.zeros((0, 6))).shape == (0,)


def test_the_solver_trains_strictly_between_the_floor_and_one():
    assert between(TASKS, np.array([0.2, 0.21, 1.0, np.nan]), 0.2) == [TASKS[1]]
    attempts = play(alone(SOLVE, TASKS, Constant("17"), 3), Random(0))
    assert [episode.task for episode in attempts_at(TASKS[1:2], attempts)] == [TASKS[1]] * 3


def test_the_oracle_counts_right_answers_among_all_proposals_and_among_what_was_kept():
    written = [*TASKS[:3], Refusal("malformed")]
    assert oracle_figures(DOMAIN, written, TASKS[:2]) == {"valid_share": 0.25, "label_accuracy": 0.5}
    assert oracle_figures(DOMAIN, [Refusal("malformed")], []) == {"valid_share": 0.0}
    assert oracle_figures(DOMAIN, [], []) == {}
