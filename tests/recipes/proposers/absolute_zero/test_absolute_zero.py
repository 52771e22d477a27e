"""Absolute Zero: credit by kind and role, a seed to start from, controls that do what they say."""

from random import Random

import numpy as np
import pytest

from redqueen.credit.advantages.keys import by_kind_and_role
from redqueen.credit.advantages.statistics import GroupRelative
from redqueen.credit.group_rewards import Correctness, Stated
from redqueen.credit.rewards import score
from redqueen.play.groups import attempts, with_facts
from redqueen.players.scripted import Constant
from redqueen.questions.asking import PROPOSE, SOLVE
from redqueen.recipes.proposers.absolute_zero import recipe as absolute_zero
from redqueen.recipes.proposers.absolute_zero.steps import Rewards
from redqueen.runs.run import Run, Schedule, read_metrics
from redqueen.settings.learner import Learner
from redqueen.settings.roles import Role
from redqueen.types import Refusal, Reply, Task

TINY = Learner(model="tiny:hidden=16,heads=2", max_completion_length=4)


def test_the_six_groups_of_kind_and_role_are_each_centred_and_scaled():
    rng = np.random.default_rng(0)
    tasks = [Task(f"{kind} {n}", kind) for kind in ("deduction", "abduction", "induction") for n in range(8)]
    trajectories = []
    for game in (PROPOSE, SOLVE):
        tries = attempts(game, tasks, Constant("x"), 1, Random(0))
        marks = rng.normal(size=24) * 3 + 5
        trajectories += score(with_facts(tries, [{"mark": mark} for mark in marks]), Stated("mark"))
    credit = np.concatenate(GroupRelative(by_kind_and_role)(trajectories)).reshape(6, 8)
    assert credit.mean(axis=1) == pytest.approx(np.zeros(6), abs=1e-9)
    assert credit.std(axis=1, ddof=1) == pytest.approx(np.ones(6), abs=1e-3)


class Malformed:
    name = "malformed"

    def reply(self, asks):
        return [Reply("", self.name, malformed=True) for _ in asks]


def test_an_answer_is_paid_by_its_truth_and_its_form():
    task = Task("t", "deduction")
    answers = [
        *attempts(SOLVE, [task], Constant("7"), 2, Random(0)),
        *attempts(SOLVE, [task], Malformed(), 1, Random(0)),
    ]
    graded = with_facts(answers, [{"right": True}, {"right": False}, {"right": False}])
    earned = [float(each.rewards[0]) for each in score(graded, Correctness())]
    assert earned == [1.0, -0.5, -1.0]


def test_a_proposal_is_paid_for_tries_that_fail_now_and_then_and_for_what_was_not_seen_before():
    """Equation 4 by hand: 3 of 4 right pay 1/4, none and all pay nothing, no task costs 1; then 1/sqrt(times seen)."""
    invitations = attempts(PROPOSE, [Task("invitation")], Constant("x"), 4, Random(0))
    tasks = [
        Task("a", "sum", prompt="a"),
        Task("b", "sum", prompt="b"),
        Refusal("malformed"),
        Task("c", "sum", prompt="a"),
    ]
    tries = attempts(SOLVE, tasks, Constant("7"), 4, Random(0), invitations)
    right = [{"right": each} for each in (True, True, True, False, *[False] * 4, *[True] * 4)]
    tries = with_facts(tries, right)

    def paid(rewards):
        return [float(each.rewards.sum()) for each in score(invitations, rewards.proposer(tries))]

    assert paid(Rewards()) == [0.25, 0.0, -1.0, 0.0]
    rewards = Rewards(novelty=0.5)
    first, again = paid(rewards), Rewards(novelty=0.5)
    assert first[0] > 0.25 and first[1:] == [0.0, -1.0, 0.0]  # what nobody or everybody solves is paid no novelty
    again.restore(rewards.state())
    assert paid(again) == paid(rewards)
    assert paid(again)[0] < first[0]


def lines(folder, **changes):
    settings = {
        "learner": TINY,
        "questions": "sums",
        "steps": 3,
        "proposals": 4,
        "tasks": 4,
        "attempts": 2,
        "problems": 2,
    }
    config = absolute_zero.Config(**settings | changes)
    absolute_zero.train(config, Run(folder, 0, Schedule(100, 100, record_episodes=0)))
    return read_metrics(folder)


def test_it_goes_on_from_the_seed_where_nothing_valid_is_proposed(tmp_path):
    for line in lines(tmp_path):
        assert line["tasks/held"] == 1.0
        assert line["proposals/refused/malformed"] == 1.0
        assert line["reward/proposer"] == -1.0


def test_a_proposer_of_its_own_reports_under_its_name(tmp_path):
    for line in lines(tmp_path, proposer=Role("separate")):
        assert {"loss", "proposer/loss", "proposer/reward/proposer"} <= line.keys()


def test_a_frozen_proposer_learns_nothing(tmp_path):
    assert all("reward/proposer" not in line and "loss" in line for line in lines(tmp_path, proposer=Role("frozen")))


class Killer:
    """Raises once step 2 has been written, before it is saved."""

    def begin(self, run, start, count):
        pass

    def step(self, line):
        if line["step"] == 2:
            raise KeyboardInterrupt

    def end(self, run):
        pass


@pytest.mark.slow
def test_a_run_with_another_model_as_its_proposer_goes_on_after_a_kill_bit_for_bit(tmp_path):
    TINY.build_model(7).save_weights(tmp_path / "other")

    def left_behind(folder, watchers=()):
        learner = Learner(model="tiny:hidden=32", max_completion_length=12)
        config = absolute_zero.Config(
            learner=learner,
            proposer=Role(str(tmp_path / "other")),
            questions="sums",
            steps=4,
            proposals=4,
            tasks=6,
            attempts=2,
            problems=2,
        )
        run = Run(folder, 0, Schedule(1, 2, record_episodes=8), watchers)
        absolute_zero.train(config, run)
        lines = [{key: value for key, value in line.items() if key != "time"} for line in read_metrics(folder)]
        newest = sorted((folder / "checkpoints").iterdir())[-1] / "learner"
        episodes = [path.read_text() for path in sorted((folder / "episodes").iterdir())]
        return lines, episodes, (newest / "model.safetensors").read_bytes(), (newest / "optimizer.pt").read_bytes()

    whole = left_behind(tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        left_behind(tmp_path / "killed", [Killer()])
    assert left_behind(tmp_path / "killed") == whole
