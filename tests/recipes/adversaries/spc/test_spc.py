"""SPC: rounds, two weights, who speaks and who learns, and runs that go on after a kill with their pools."""

from dataclasses import replace

import pytest

from redqueen.credit.payoff_table import CriticRewards
from redqueen.credit.rewards import score
from redqueen.objectives.batch import pack
from redqueen.players.endpoint import Server
from redqueen.players.transformer.policy import TransformerPolicy
from redqueen.questions.small.step_traces import Trace
from redqueen.recipes.adversaries.spc import measures
from redqueen.recipes.adversaries.spc import recipe as spc
from redqueen.recipes.adversaries.spc.measures import Deception, ErrorSet
from redqueen.recipes.adversaries.spc.recipe import Config, train
from redqueen.runs.run import Run, Schedule, read_metrics
from redqueen.settings import learning_step
from redqueen.settings.learner import Learner
from redqueen.settings.roles import Role
from redqueen.types import RedQueenError

TINY = Learner(model="tiny:hidden=16,heads=2", max_completion_length=4)
SMALL = Config(
    TINY,
    questions="redqueen.questions.small.step_traces:StepTraces",
    steps=2,
    round=1,
    planted=4,
    natural=4,
    problems=1,
)


@pytest.fixture
def fluent(monkeypatch):
    """A model that was never warmed up says nothing that can be read: here its free text is put into words."""
    write = TransformerPolicy._write

    def written(self, asks):
        replies = []
        for ask, reply in zip(asks, write(self, asks), strict=True):
            even = int(reply.tokens.sum()) % 2 == 0
            step = ask.messages[-1].text.rpartition("Spoil ")[2]
            spoilt = step.rpartition("=")[0] + "=99" if even else step
            text = spoilt if ask.seat.role == "generator" else ("Correct" if even else "Incorrect")
            replies.append(replace(reply, text=text, malformed=False))
        return replies

    monkeypatch.setattr(TransformerPolicy, "_write", written)


class Killer:
    def begin(self, run, start, count):
        pass

    def step(self, line):
        if line["step"] == 4:
            raise KeyboardInterrupt

    def end(self, run):
        pass


def run_of(folder, config, watchers=()):
    run = Run(folder, 1, Schedule(evaluate_every=100, checkpoint_every=3, record_episodes=2), watchers)
    train(config, run)
    return run


def lines_of(folder):
    return [{key: value for key, value in line.items() if key != "time"} for line in read_metrics(folder)]


def test_the_payoffs_are_in_the_folder_before_training(tmp_path):
    run_of(tmp_path, SMALL)
    assert (tmp_path / "payoffs.txt").read_text().rstrip() == CriticRewards().table()


def test_a_step_in_which_nothing_can_be_read_goes_on(tmp_path):
    run_of(tmp_path, SMALL)
    for line in lines_of(tmp_path):
        assert line["planted/valid_share"] == 0.0
        assert line["generator/reward/generator"] == -1.0 == line["reward/critic"]
        assert line["generator/imitation_loss"] > 0.0 < line["imitation_loss"]


def test_both_models_learn_and_each_from_its_own_role(tmp_path, fluent):
    run_of(tmp_path, SMALL)
    for line in lines_of(tmp_path):
        assert line["gradient_norm"] > 0 < line["generator/gradient_norm"]
        assert "reward/generator" not in line and "generator/reward/critic" not in line


def test_within_a_round_the_speakers_stand_still_and_the_ratio_moves_away(tmp_path, fluent):
    config = replace(SMALL, learner=replace(TINY, learning_rate=1e-3), steps=6, round=3, pool=1, natural=8, planted=8)
    run_of(tmp_path, config)
    moved = [abs(line["approx_kl"]) for line in lines_of(tmp_path)]
    assert moved[0] < 1e-6 > moved[3]  # who speaks is who learns
    assert min(moved[1], moved[2], moved[4], moved[5]) > 1e-5


def test_what_is_measured_is_not_learned_from(tmp_path, fluent, monkeypatch):
    """Steps of problems so short that measuring and training meet the same ones."""
    seen = {"learned": set(), "measured": set(), "played": set()}

    def packed(trajectories, *rest):
        seen["learned"] |= {each.episode.task.id for each in trajectories}
        return pack(trajectories, *rest)

    def scored(episodes, rewards):
        seen["played"] |= {each.task.id for each in episodes}
        return score(episodes, rewards)

    for name, kind in (("ErrorSet", ErrorSet), ("Deception", Deception)):

        def made(*args, kind=kind, **more):
            measure = kind(*args, **more)
            seen["measured"] |= {task.id for task in measure.tasks}
            return measure

        monkeypatch.setattr(measures, name, made)
    monkeypatch.setattr(learning_step, "pack", packed)
    monkeypatch.setattr(spc, "score", scored)
    short = "redqueen.questions.small.step_traces:StepTraces:length=1,largest=20"
    run_of(tmp_path, replace(SMALL, questions=short, natural=64, planted=32, problems=4))
    assert seen["measured"] & seen["played"]
    assert seen["learned"] and not seen["measured"] & seen["learned"]


def test_a_frozen_generator_does_not_learn_and_the_critic_goes_on(tmp_path, fluent):
    run_of(tmp_path, replace(SMALL, generator=Role("frozen")))
    for line in lines_of(tmp_path):
        assert line["gradient_norm"] > 0
        assert not any(key.startswith("generator/") for key in line)


@pytest.mark.slow
def test_a_run_goes_on_after_a_kill_with_its_pools(tmp_path, fluent):
    config = replace(SMALL, steps=6, round=2)
    run_of(tmp_path / "whole", config)
    with pytest.raises(KeyboardInterrupt):
        run_of(tmp_path / "killed", config, [Killer()])
    run_of(tmp_path / "killed", config)
    assert lines_of(tmp_path / "whole") == lines_of(tmp_path / "killed")
    for name in ("learner", "generator"):
        weights = f"checkpoints/step_000006/{name}/model.safetensors"
        assert (tmp_path / "whole" / weights).read_bytes() == (tmp_path / "killed" / weights).read_bytes()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"generator": Role("shared")}, "generator and critic are two models"),
        ({"questions": "sums"}, "have it: step_traces"),
        ({"generator": Role("http://host/v1#name")}, "an endpoint cannot be kept"),
    ],
)
def test_what_cannot_play_is_refused(tmp_path, monkeypatch, change, message):
    monkeypatch.setattr(Server, "check", lambda self: self)  # anybody listens
    with pytest.raises(RedQueenError, match=message):
        run_of(tmp_path, replace(SMALL, **change))


def test_validity_is_a_check_of_the_final_answer():
    assert Trace(17, ("half",)).ends_at(0, 8) == Trace(16, ("half",)).values[-1]
