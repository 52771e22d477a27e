"""eva with a reward model that likes vowels, on prompts that evolve."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from redqueen.curricula.draws import Uniform
from redqueen.recipes.proposers.eva.recipe import Config, train
from redqueen.recipes.proposers.eva.steps import Creator
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


def lines_of(config, folder, weights=None):
    run = Run(folder, 0, Schedule(evaluate_every=10, checkpoint_every=50, record_episodes=0))
    train(config, run, weights)
    return read_metrics(folder)


@pytest.mark.parametrize("inner", ["dpo", "rloo"])
def test_two_rounds(inner, tmp_path):
    lines = lines_of(replace(SMALL, inner=inner), tmp_path)
    assert [line["step"] for line in lines] == [0, 1]
    assert lines[0]["evolved"] == 0.0  # nothing was solved before the first round
    assert 0.0 < lines[1]["evolved"] <= 0.5
    assert all(line["gradient_norm"] > 0.0 and 0.0 < line["info"] <= 1.0 for line in lines)
    assert ("preference_margin" in lines[0]) == (inner == "dpo")


@pytest.mark.slow
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


@pytest.fixture
def asked(monkeypatch):
    """The prompts that are to be rewritten, of each round."""
    rounds, invited = [], Creator.invited

    def spy(creator, rng):
        found = invited(creator, rng)
        rounds.append([task.prompt.rstrip(".").split()[-1] for task in found])
        return found

    monkeypatch.setattr(Creator, "invited", spy)
    return rounds


@pytest.mark.parametrize("weights", [None, Uniform()])
def test_prompts_evolve_that_tell_answers_apart(weights, tmp_path, asked):
    lines_of(replace(SMALL, reward=f"{Path(__file__)}:EvenFirst", steps=5), tmp_path, weights)
    drawn = [prompt for each in asked for prompt in each]
    assert len(drawn) == 16
    assert all(int(prompt[0]) % 2 == 0 for prompt in drawn) == (weights is None)


def test_without_evolution_all_prompts_are_seeds(tmp_path):
    lines = lines_of(replace(SMALL, evolved=0.0, rewriter=Role("frozen")), tmp_path)
    assert [line["evolved"] for line in lines] == [0.0, 0.0]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"inner": "rloo", "beta": 0.1}, "--beta has no effect"),
        ({"evolved": 0.0}, "--rewriter has no effect with --evolved 0"),
    ],
)
def test_settings_without_effect_are_refused(changes, words):
    with pytest.raises(RedQueenError, match=words):
        check_settings(replace(SMALL, **changes))


def test_parents_are_the_prompts_of_the_last_round(tmp_path, monkeypatch, asked):
    def spy(creator, answers):
        tried.append({group.task.id for group in answers})
        observe(creator, answers)

    tried, observe = [], Creator.observe
    monkeypatch.setattr(Creator, "observe", spy)
    few = replace(SMALL, levels=("2_numbers",), seeds=8, tasks=8, steps=8)  # so few that they come again
    lines_of(few, tmp_path)
    assert any(one & other for one, other in pairwise(tried))
    assert all(set(parents) <= prompts for prompts, parents in zip(tried, asked[1:], strict=False))


@pytest.mark.parametrize(("inner", "signs"), [("dpo", {1.0, -1.0, 0.0}), ("rloo", None)])
def test_the_advantages_that_are_shown_are_those_that_the_update_uses(inner, signs, tmp_path, monkeypatch):
    shown, report = [], Run.report

    def spied(run, policy, trajectories, advantages, *rest, **named):
        shown.append((trajectories, advantages))
        report(run, policy, trajectories, advantages, *rest, **named)

    monkeypatch.setattr(Run, "report", spied)
    lines_of(replace(SMALL, inner=inner, steps=1, beta=Config.beta), tmp_path)
    ((trajectories, advantages),) = shown
    found = {float(each) for one in advantages for each in one}
    if signs is None:
        assert len(found) > 3
        return
    assert found == signs
    for group in {each.group for each in trajectories}:
        credit = [float(one[0]) for each, one in zip(trajectories, advantages, strict=True) if each.group == group]
        assert sorted(credit) in ([-1.0, 0.0, 0.0, 1.0], [0.0] * 4)  # a pair, or none where all are worth the same
