"""RLSP: what searching pays, and that it never pays more than an answer."""

from dataclasses import replace

import numpy as np
import pytest

from redqueen.contracts.recipes import metrics, trained
from redqueen.recipes.credit.rlsp import recipe as rlsp
from redqueen.recipes.credit.rlsp.steps import Exploration
from redqueen.settings.learner import Learner
from redqueen.settings.speech import Speech
from redqueen.types import Ask, Episode, Outcome, RedQueenError, Reply, Seat, Task, Turn

ENDING = Speech(stop=tuple("0123456789aeiou "))  # an untrained model hardly ever ends a reply by itself
SOLVER = Seat("solver")


def said(*lengths):
    """An episode of a turn for each length."""
    turns = tuple(
        Turn(Ask(SOLVER, ()), Reply("x", tokens=np.arange(length), logprobs=np.zeros(length))) for length in lengths
    )
    return Episode("reply", Task("t"), 0, turns, Outcome({SOLVER: 0.0}), (SOLVER,))


def test_a_longer_reply_costs_less_down_to_a_bound():
    """The card (2.1), price 1000: 8,000 characters are 2,000 tokens and cost .5, 2,000 characters 500 tokens and
    2; with at least 1000 tokens no reply costs more than 1."""
    unbounded = Exploration(1000.0, 1, gap=1000.0)
    assert [float(unbounded(said(tokens))[SOLVER][0]) for tokens in (2000, 500, 100)] == [-0.5, -2.0, -10.0]
    bounded = Exploration(1000.0, 1000)
    assert [float(bounded(said(tokens))[SOLVER][0]) for tokens in (2000, 500, 100)] == [-0.5, -1.0, -1.0]


def test_all_that_a_seat_said_counts_and_is_paid_at_its_end():
    assert Exploration(10.0, 10)(said(30, 10))[SOLVER].tolist() == [0.0, -0.25]


def test_no_wrong_answer_is_paid_more_than_a_right_one():
    search = Exploration(16.0, 16)
    shortest, longest = (float(search(said(tokens))[SOLVER][0]) for tokens in (1, 10**6))
    assert 1.0 + shortest >= 0.0 > 0.0 + longest


def test_a_price_that_buys_wrong_answers_is_refused(tmp_path):
    with pytest.raises(
        RedQueenError, match=r"--price 32 pays a long wrong answer .* set --least to 32 or more, not 16"
    ):
        trained(rlsp, replace(rlsp.Config(), price=32.0), tmp_path)


def test_both_parts_are_figures_of_their_own(tmp_path):
    tiny = Learner(model="tiny:hidden=16,heads=2", max_completion_length=12, solver=ENDING)
    config = rlsp.Config(learner=tiny, steps=2, tasks=2, attempts=4, price=4.0, least=4, problems=2)
    lines = metrics(trained(rlsp, config, tmp_path))
    assert {"reward/correctness", "reward/Exploration", "value_loss"} <= lines[-1].keys()
    assert all(-1.0 <= line["reward/Exploration"] < 0.0 for line in lines)
