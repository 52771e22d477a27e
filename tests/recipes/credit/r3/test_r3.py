"""R3: the card's numbers for mixed groups and entropies, and which mistakes are shown again."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from redqueen.contracts.recipes import metrics, trained
from redqueen.players.tabular import TabularPolicy
from redqueen.recipes.credit.r3 import recipe as r3
from redqueen.recipes.credit.r3.steps import REQUEST, Brevity, Ranking, Reflections, entropies_of, shape, standing
from redqueen.settings.learner import Learner
from redqueen.settings.learning_step import LearningStep
from redqueen.settings.update import Update
from redqueen.types import (
    Ask,
    Episode,
    Group,
    Likelihoods,
    Message,
    Outcome,
    RedQueenError,
    Reply,
    Seat,
    Task,
    Trajectory,
    Turn,
)

SOLVER = Seat("solver")
TINY = Learner(model="tiny:hidden=16,heads=2", max_completion_length=4)
CARD = [(1.2, 0.30), (0.9, 0.35), (1.5, 0.40), (0.8, 0.20)]  # peak and mean entropy


def attempt(right, number=0, text="7", tokens=2, truncated=False, name="t"):
    task = Task(name, prompt="What is 3+5?", answer="8")
    said = np.arange(tokens) + 1
    reply = Reply(text, "learner", 0, np.zeros(1, dtype=np.int64), said, np.full(tokens, -0.5), truncated=truncated)
    turn = Turn(Ask(SOLVER, (Message("game", "?"),)), reply)
    facts = {"right": right, "reply": text}
    return Episode("g", task, number, (turn,), Outcome({SOLVER: 0.0}, facts), (SOLVER,))


def group(*episodes, number=0):
    return Group(number, episodes[0].task, episodes)


def trajectories(*groups):
    return [
        Trajectory(each, SOLVER, each.turns, np.array([float(each.outcome.facts["right"])]), {}, found.number)
        for found in groups
        for each in found.attempts
    ]


class Entropies:
    """A policy whose entropies are given, one row for each trajectory."""

    def __init__(self, *rows):
        self.rows = rows

    def likelihoods(self, batch):
        found = torch.zeros(batch.tokens.shape, dtype=torch.float64)
        for at, row in enumerate(self.rows):
            found[at, 1 : 1 + len(row)] = torch.tensor(row)
        return Likelihoods(found, found)


@pytest.mark.parametrize(("alpha", "failed", "replayed"), [(1.0, -0.447213, 1.788850), (2.0, -0.223607, 0.894426)])
def test_alpha_scales_all_of_a_mixed_group(alpha, failed, replayed):
    """The card (2.4): four failures and a stored success."""
    config = replace(r3.Config(TINY, attempts=4), alpha=alpha)
    step = LearningStep(config, [TabularPolicy()], joined=config.alpha)
    step.estimate(trajectories(group(attempt(True))))
    fresh = trajectories(group(*(attempt(False, at) for at in range(4)), number=1))
    advantages = step.estimate(fresh)
    assert np.concatenate(advantages) == pytest.approx([failed] * 4, abs=1e-5)
    assert float(step.pack(fresh, advantages).advantages.max()) == pytest.approx(replayed, abs=1e-5)


def test_a_group_that_nobody_joined_is_not_scaled():
    config = replace(r3.Config(TINY, attempts=4), alpha=2.0)
    mixed = trajectories(group(attempt(True), attempt(False)))
    found = LearningStep(config, [TabularPolicy()], joined=2.0).estimate(mixed)
    assert np.concatenate(found) == pytest.approx([0.5**0.5, -(0.5**0.5)], abs=1e-5)


def test_the_shape_of_entropies_is_their_peak_and_their_mean():
    """The card (2.4): the top fifth of ten has the mean 1.75, all have .575 (a sum of 5.75)."""
    peak, mean = shape(np.array([0.1, 2.0, 0.5, 1.5, 0.2, 0.3, 0.1, 0.05, 0.4, 0.6]), 0.2)
    assert (peak, mean) == (pytest.approx(1.75), pytest.approx(0.575))
    assert shape(np.array([3.0, 1.0]), 0.2) == (3.0, 2.0)
    assert shape(np.zeros(0), 0.2) == (0.0, 0.0)


def test_cut_off_replies_are_ranked_and_equals_share():
    """The card (2.4): one beats one, the others none: .5, and .166667 for each of three at R_max 1/2."""
    assert (0.5 * standing(CARD)).tolist() == pytest.approx([0.5, 1 / 6, 1 / 6, 1 / 6])
    assert standing([(1.0, 1.0)]).tolist() == [1.0]
    assert standing([(3.0, 0.1), (2.0, 0.2), (1.0, 0.3)]).tolist() == [1.0, 0.5, 0.0]


def test_only_cut_off_replies_of_unsolved_groups_are_paid_for_their_rank():
    unsolved = group(attempt(False, 0, truncated=True), attempt(False, 1, truncated=True), attempt(False, 2), number=1)
    solved = group(attempt(False, 3, truncated=True), attempt(True, 4), number=2)
    lone = group(attempt(False, 5, truncated=True), attempt(False, 6), number=3)
    ranking = Ranking(Entropies([0.1, 0.1], [0.0, 0.15], [1.0, 1.0]), 0.1, 0.5)
    found = ranking(trajectories(unsolved, solved, lone))
    assert [each.rewards.tolist() for each in found] == [[0.0], [0.1], [0.0], [0.0], [1.0], [0.0], [0.0]]
    assert ranking.metrics()["ranked"] == pytest.approx(3 / 7)
    assert found[1].parts["ranking"].tolist() == [0.1]
    assert Ranking(Entropies(), 0.0, 0.5)(found) == found
    (row,) = entropies_of(Entropies([0.3, 0.7]), trajectories(group(attempt(False))))
    assert row.tolist() == pytest.approx([0.3, 0.7])


def test_an_alarm_rings_where_most_attempts_are_paid_for_being_cut_off():
    both = group(attempt(False, 0, truncated=True), attempt(False, 1, truncated=True))
    one = group(attempt(False, 0, truncated=True), attempt(True, 1))
    ranking = Ranking(Entropies([0.1, 0.1], [0.0, 0.15]), 0.1, 0.5)
    for _ in range(4):
        ranking(trajectories(both))
        assert "alarm/paid_for_being_cut_off" not in ranking.metrics()
    ranking(trajectories(both))
    assert ranking.metrics()["alarm/paid_for_being_cut_off"] == 1.0
    (said,) = ranking.alarms()
    assert "100% of the attempts were cut off" in said and "--rank 0" in said and "5 steps" in said
    ranking(trajectories(one))
    assert ranking.metrics()["alarm/paid_for_being_cut_off"] == 0.0 and ranking.alarms() == []


def test_a_right_reply_is_paid_what_it_saves():
    paid = Brevity(1.0, 8)
    assert paid(attempt(True, tokens=2))[SOLVER].tolist() == [0.75]
    assert paid(attempt(False, tokens=2))[SOLVER].tolist() == [0.0]
    assert paid(attempt(None, tokens=2))[SOLVER].tolist() == [0.0]
    assert paid(attempt(True, tokens=9))[SOLVER].tolist() == [0.0]


def test_a_task_that_keeps_failing_is_shown_with_its_latest_mistake():
    found = Reflections(0.25)
    task = attempt(False).task
    assert found.on([task]) == []
    found.observe([group(attempt(False, 0, "6"), attempt(False, 1, "7"), attempt(False, 2, "9", truncated=True))])
    (again,) = found.on([task, task])
    assert again.id == "t, with a mistake"
    assert [(each.speaker, each.text) for each in again.messages] == [
        ("user", "What is 3+5?"),
        ("assistant", "7"),
        ("user", REQUEST),
    ]
    assert again.answer == "8"
    shown = group(*(replace(each, task=again) for each in (attempt(True), attempt(False))))
    found.observe([shown])  # changes nothing: it is no attempt at the task itself
    assert found.metrics([shown, group(attempt(False))]) == {"reflecting": 0.5, "reflected_right": 0.5}
    restored = Reflections(0.25)
    restored.restore(found.state())
    assert restored.on([task]) == [again]
    found.observe([group(attempt(True))])  # one right of four is a quarter
    assert found.on([task]) == []


def test_nothing_is_shown_without_a_bound_or_without_a_text():
    never, empty = Reflections(0.0), Reflections(0.25)
    never.observe([group(attempt(False))])
    empty.observe([group(attempt(False, text=""))])
    assert never.on([attempt(False).task]) == empty.on([attempt(False).task]) == []


def test_a_file_whose_tasks_come_again_is_replayed_and_reflected_on(tmp_path):
    rows = tmp_path / "few.jsonl"
    rows.write_text("".join(f'{{"question": "What is {n}+1?", "answer": "{n + 1}"}}\n' for n in range(6)))
    config = r3.Config(replace(TINY, max_completion_length=3), str(rows), steps=4, tasks=4, attempts=2, problems=2)
    config = replace(config, truncated_score="graded", update=Update())
    lines = metrics(trained(r3, config, tmp_path / "run"))
    assert lines[0]["reflecting"] == 0.0
    assert all(0.0 <= line["ranked"] <= 1.0 for line in lines)
    assert all("replayed" in line for line in lines)


def test_a_peak_of_no_tokens_is_refused():
    with pytest.raises(RedQueenError, match="--top 0 leaves no tokens"):
        Ranking(TabularPolicy(), 0.1, 0.0)
