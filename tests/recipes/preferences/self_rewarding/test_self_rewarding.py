"""Self-rewarding: the judge's scores make the pairs, and nothing else does."""

from dataclasses import replace

import pytest

from redqueen.questions.fenced import texts_in
from redqueen.recipes.preferences.self_rewarding.recipe import Config, train
from redqueen.runs.folder import stored_episodes
from redqueen.runs.plan import measured
from redqueen.runs.run import Run, Schedule, read_final, read_metrics
from redqueen.settings import roles
from redqueen.settings.learner import Learner
from redqueen.settings.roles import Role
from redqueen.types import RedQueenError, Reply

SMALL = Config(
    Learner(model="tiny", max_completion_length=4, learning_rate=5e-3),
    questions="sums",
    steps=12,
    updates=3,
    tasks=12,
    problems=4,
    repeats=1,
)


class LikesVowels:
    """A judge that counts vowels in the answer."""

    name = "judge"
    learns = False

    def reply(self, asks):
        return [Reply(self.verdict(ask.messages[-1].text), self.name) for ask in asks]

    def verdict(self, prompt):
        _, answer = texts_in(prompt)
        return f"<score>{min(10, 1 + sum(letter in 'aeiou' for letter in answer))}</score>"


def trained(config, folder):
    run = Run(folder, 0, Schedule(1000, checkpoint_every=1000, record_episodes=0))
    train(config, run)
    return read_metrics(folder), read_final(folder)


def test_what_the_judge_likes_is_said_more_often(tmp_path, monkeypatch):
    monkeypatch.setattr(roles, "bind", lambda *bound, **more: LikesVowels())
    lines, _ = trained(SMALL, tmp_path)
    scores = [line["reward/solver"] for line in lines if "reward/solver" in line]
    assert len(scores) == 4
    assert scores[-1] > scores[0] + 0.02
    assert lines[0]["judge_unparsed"] == 0.0
    assert lines[0]["invented"] == 0.0, "a model made from nothing writes no sums"


def test_the_report_shows_the_advantages_of_the_pairs(tmp_path, monkeypatch):
    monkeypatch.setattr(roles, "bind", lambda *bound, **more: LikesVowels())
    run = Run(tmp_path, 0, Schedule(1000, checkpoint_every=1000, record_episodes=100))
    train(replace(SMALL, steps=1, updates=1), run)
    credit = [credit["solver"] for _, _, credit in stored_episodes(tmp_path)]
    shown = [each["advantages"][0] for each in credit]
    assert set(shown) == {1.0, -1.0, 0.0}
    assert sum(map(abs, shown)) == 2 * read_metrics(tmp_path)[0]["round/pairs"]


def test_scores_that_cannot_be_read_teach_nothing(tmp_path):
    lines, _ = trained(replace(SMALL, steps=2, updates=2), tmp_path)
    assert lines[0]["judge_unparsed"] == 1.0
    assert [line["gradient_norm"] for line in lines] == [0.0, 0.0]


def test_the_judge_does_not_learn_by_itself(tmp_path):
    with pytest.raises(RedQueenError, match="the judge does not learn: separate would stay"):
        trained(replace(SMALL, judge=Role("separate")), tmp_path)


def test_a_frozen_judge_is_the_control(tmp_path):
    lines, _ = trained(replace(SMALL, judge=Role("frozen"), steps=1, updates=1), tmp_path)
    assert lines[0]["judge_seen"] == 48.0, "four replies to each prompt"


def test_a_plan_counts_the_steps_in_which_pairs_are_left(tmp_path, monkeypatch):
    """Up to twelve pairs of an iteration are one update a pass, and its two passes over before its six steps are."""
    monkeypatch.setattr(roles, "bind", lambda *bound, **more: LikesVowels())
    config = replace(SMALL, steps=9, updates=6, pairs_per_update=16, passes=2, most_margin=99.0)
    found = measured(lambda run: train(config, run), tmp_path / "plan", 0)
    found.every = config.updates
    lines, _ = trained(config, tmp_path / "run")
    learned = [step for step, line in enumerate(lines) if line["gradient_norm"] > 0.0]
    assert learned == [0, 1, 6, 7]
    assert found.goes_on and found.learns(config.steps) == len(learned)


def test_a_judge_without_any_score_stops_the_run_in_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr(LikesVowels, "verdict", lambda self, prompt: "It depends.")
    monkeypatch.setattr(roles, "bind", lambda *bound, **more: LikesVowels())
    with pytest.raises(RedQueenError) as stopped:
        trained(replace(SMALL, updates=2), tmp_path)
    said = str(stopped.value)
    assert said.startswith("the judge gave no score that can be read to any of 96 answers: it is to end with <score>1<")
    assert "and said 'It depends.'; train it first" in said and "\n" not in said
