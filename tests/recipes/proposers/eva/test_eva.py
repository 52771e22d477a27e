"""eva with a reward model that likes vowels, on prompts that evolve."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from redqueen.recipes.proposers.eva import recipe as eva
from redqueen.recipes.proposers.eva.recipe import Config, train
from redqueen.recipes.proposers.eva.steps import evolutions
from redqueen.runs.run import Run, Schedule, read_metrics
from redqueen.settings.learner import Learner
from redqueen.settings.limits import check_settings
from redqueen.settings.roles import Role
from redqueen.types import RedQueenError

SMALL = Config(
    learner=Learner(model="tiny", max_completion_length=4, learning_rate=1e-2),
    questions="redqueen.questions.small.growing:Growing",
    rewriter=Role("rule"),
    reward=f"{Path(__file__)}:Letters",
    steps=2,
    seeds=16,
    tasks=8,
    attempts=4,
    evolved=0.5,
    problems=2,
)


class Letters:
    """The share of vowels in an answer."""

    def __call__(self, tasks, answers):
        return [sum(letter in "aeiou" for letter in answer) / max(len(answer), 1) for answer in answers]


class EvenFirst:
    """Vowels count where a sum begins with an even number; elsewhere all answers are worth the same."""

    def __call__(self, tasks, answers):
        found = Letters()(tasks, answers)
        return [0.0 if task.facts["numbers"][0] % 2 else reward for task, reward in zip(tasks, found, strict=True)]


def lines_of(config, folder, seed=0):
    run = Run(folder, seed, Schedule(evaluate_every=10, checkpoint_every=50, record_episodes=0))
    train(config, run)
    return read_metrics(folder)


@pytest.mark.parametrize("inner", ["dpo", "rloo"])
def test_two_rounds(inner, tmp_path):
    lines = lines_of(replace(SMALL, inner=inner), tmp_path)
    assert [line["step"] for line in lines] == [0, 1]
    assert lines[0]["evolved"] == 0.0  # nothing was solved before the first round
    assert 0.0 < lines[1]["evolved"] <= 0.5
    assert all(line["gradient_norm"] > 0.0 and 0.0 < line["info"] <= 1.0 for line in lines)
    assert ("preference_margin" in lines[0]) == (inner == "dpo")


@pytest.mark.parametrize("inner", ["dpo", "rloo"])
def test_the_reward_rises(inner, tmp_path):
    lines = lines_of(replace(SMALL, inner=inner, steps=12), tmp_path)
    rewards = [line["reward/solver"] for line in lines]
    assert sum(rewards[-3:]) / 3 > sum(rewards[:3]) / 3 + 0.1


def test_a_round_in_which_nothing_tells_answers_apart_goes_on(tmp_path):
    for inner in ("dpo", "rloo"):
        lines = lines_of(replace(SMALL, reward="", inner=inner), tmp_path / inner)  # random words are no numbers
        assert [line["info"] for line in lines] == [0.0, 0.0]
        assert [line["gradient_norm"] for line in lines] == [0.0, 0.0]


@pytest.mark.parametrize("by_info", [True, False])
def test_prompts_evolve_that_tell_answers_apart(by_info, tmp_path, monkeypatch):
    drawn = []

    def spy(domain, parents, rng):
        drawn.extend(parents)
        return evolutions(domain, parents, rng)

    monkeypatch.setattr(eva, "evolutions", spy)
    lines_of(replace(SMALL, reward=f"{Path(__file__)}:EvenFirst", steps=5, by_info=by_info), tmp_path)
    assert len(drawn) == 16
    assert all(parent.facts["numbers"][0] % 2 == 0 for parent in drawn) == by_info


def test_without_evolution_all_prompts_are_seeds(tmp_path):
    lines = lines_of(replace(SMALL, evolved=0.0, rewriter=Role("frozen")), tmp_path)
    assert [line["evolved"] for line in lines] == [0.0, 0.0]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"inner": "rloo", "beta": 0.1}, "--beta has no effect"),
        ({"evolved": 0.0}, "--rewriter has no effect with --evolved 0"),
        ({"evolved": 0.0, "rewriter": Role("frozen"), "by_info": False}, "--by-info has no effect with --evolved 0"),
    ],
)
def test_settings_without_effect_are_refused(changes, words):
    with pytest.raises(RedQueenError, match=words):
        check_settings(replace(SMALL, **changes))


def test_parents_are_the_prompts_of_the_last_round(tmp_path, monkeypatch):
    rounds = []

    def spy(domain, parents, rng):
        rounds.append({parent.id for parent in parents})
        return evolutions(domain, parents, rng)

    def observed(model, groups):
        tried.append({group.task.id for group in groups})
        return rewarded(model, groups)

    tried, rewarded = [], eva.rewarded
    monkeypatch.setattr(eva, "evolutions", spy)
    monkeypatch.setattr(eva, "rewarded", observed)
    few = replace(SMALL, levels=("2_numbers",), seeds=8, tasks=8, steps=8)  # so few that they come again
    lines_of(few, tmp_path)
    assert any(one & other for one, other in pairwise(tried))
    assert all(parents <= prompts for prompts, parents in zip(tried, rounds[1:], strict=False))
