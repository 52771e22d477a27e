"""SvS on a domain in which a random reply is right one time in three."""

import json
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import pytest

from redqueen.recipes.proposers.svs.recipe import Config, train
from redqueen.runs.run import Run, Schedule, read_metrics
from redqueen.settings.learner import Learner
from redqueen.settings.roles import Role
from redqueen.types import RedQueenError, Refusal, Task

TINY = Learner(model="tiny", max_completion_length=8)
SMALL = Config(
    learner=TINY,
    questions=f"{Path(__file__)}:Lottery",
    steps=2,
    labelled=8,
    tasks=4,
    responses=3,
    variants=2,
    problems=2,
)


class Lottery:
    """Three colours to choose from, one of which is right; of four variants that may be told, one is refused."""

    name = "lottery"
    kinds = levels = ("ticket",)

    def seeds(self):
        return [ticket("seed")]

    def sources(self, kind):
        return self.kinds

    def invite(self, kind, references, number):
        return self.vary("", "", number)

    def vary(self, response, answer, number):
        choices = ("one", "two", "three", "four")
        return Task(f"variant {number}", "ticket", f"Vary: {response}", answer, choices=choices)

    def read(self, invitations, replies):
        return [Refusal("four") if text == "four" else ticket(text) for text in replies]

    def right(self, tasks, answers):
        return [task.answer == answer for task, answer in zip(tasks, answers, strict=True)]

    def true_answer(self, task):
        return "red"

    def problems(self, level, count, rng):
        return [ticket(str(number)) for number in rng.sample(range(10**6), count)]


def ticket(name):
    return Task(name, "ticket", f"Ticket {name}?", "red", choices=("red", "green", "blue"))


def lines_of(config, folder, seed=0):
    run = Run(folder, seed, Schedule(evaluate_every=2, checkpoint_every=2, record_episodes=500))
    train(config, run)
    return read_metrics(folder)


def test_two_steps_solve_vary_and_solve_the_variants(tmp_path):
    lines = lines_of(SMALL, tmp_path)
    assert [line["step"] for line in lines] == [0, 1]
    for line in lines:
        assert 0 < line["varied"] <= 3
        # 4 originals and every variant are tried 8 times, every candidate is varied twice
        assert line["rollouts"] == 32 + 2 * line["varied"] + 8 * line["variants"]
        assert line["variants"] <= 2 * line["varied"]
        assert line["gradient_norm"] > 0.0
    assert {"accuracy", "pass@8", "entropy/solver"} <= lines[0].keys()


def groups_of(folder, step, role):
    """The rewards of each group that was learned from, by task."""
    groups = defaultdict(list)
    for line in (folder / "episodes" / f"step_{step:06d}.jsonl").read_text().splitlines():
        episode = json.loads(line)
        for reward in episode["credit"].get(role, {}).get("rewards", []):
            groups[episode["task"]["id"]].append(reward)
    return groups


def test_it_learns_from_the_union_of_groups_that_say_something(tmp_path):
    lines = lines_of(replace(SMALL, steps=4, tasks=6, middling=(0.125, 0.75)), tmp_path)
    variants_met = 0
    for line in lines:
        solved, told = (groups_of(tmp_path, line["step"], role) for role in ("solver", "proposer"))
        assert all(len(rewards) == 8 and 0 < sum(rewards) < 8 for rewards in solved.values())
        assert all(len(rewards) == 2 and sum(rewards) > 0 for rewards in told.values())
        assert {reward for rewards in told.values() for reward in rewards} <= {0.0, 1.0}
        assert sum(map(sum, told.values())) == line["accepted"]
        rates = [sum(rewards) / 8 for name, rewards in solved.items() if ": " in name]  # variants are numbered
        paid = sum(0.125 <= rate <= 0.625 for rate in rates)
        assert paid == line["accepted"]  # a variant that is paid has a group that says something
        variants_met += len(rates)
    assert variants_met > 0


def test_where_no_original_is_varied_it_is_plain_reinforcement(tmp_path):
    lines = lines_of(replace(SMALL, middling=(0.0, 0.0)), tmp_path)
    assert [(line["varied"], line["variants"], line["rollouts"]) for line in lines] == [(0.0, 0.0, 32.0)] * 2
    assert all("reward/proposer" not in line for line in lines)


def test_a_step_without_candidates_goes_on(tmp_path):
    lines = lines_of(
        replace(SMALL, middling=(1.0, 1.0), questions="redqueen.questions.small.variants:Variants"), tmp_path
    )
    assert [line["varied"] for line in lines] == [0.0, 0.0]
    assert [line["loss"] for line in lines] == [0.0, 0.0]  # a random model solves nothing: no group has a signal


def test_a_synthesiser_that_does_not_learn_is_bound_by_a_word(tmp_path):
    lines = lines_of(replace(SMALL, proposer=Role("frozen")), tmp_path)
    assert any(line["variants"] for line in lines)
    assert all("reward/proposer" not in line for line in lines)


def test_a_domain_without_variants_is_refused(tmp_path):
    with pytest.raises(RedQueenError, match="has no vary"):
        lines_of(replace(SMALL, questions="redqueen.questions.small.sums:Sums"), tmp_path)
