from dataclasses import replace

import pytest
import torch

from redqueen.credit.novelty import Repetition
from redqueen.players.transformer.policy import TransformerPolicy
from redqueen.recipes.proposers.agent0.objective import GroupClippedRatio
from redqueen.recipes.proposers.agent0.recipe import Config, train
from redqueen.recipes.proposers.agent0.steps import Rewards
from redqueen.runs.run import Run, Schedule, read_metrics
from redqueen.settings.learner import Learner
from redqueen.settings.roles import Role
from redqueen.types import RedQueenError

TINY = Learner(model="tiny:hidden=16,heads=2", max_completion_length=8)
SMALL = Config(
    learner=TINY,
    steps=4,
    proposer_steps=2,
    solver_steps=2,
    proposals=4,
    pool=6,
    votes=4,
    tasks=3,
    attempts=4,
    problems=1,
)

ONE_STEP = pytest.mark.filterwarnings("ignore:--steps 1 ends before the solver learns")


def trained(config, folder, rewards=None):
    run = Run(folder, 0, Schedule(evaluate_every=99, checkpoint_every=99, record_episodes=4))
    train(config, run, rewards)
    return read_metrics(folder)


def unfined(per_call=0.05):
    return Rewards((0.3, 0.8), per_call, 4, Repetition(0.0))


class Spoken:
    """Makes every policy say what a script says of its role, in its own tokens, and keeps what was learned from."""

    def __init__(self, monkeypatch, propose, solve):
        self.updates = []

        def reply(policy, asks):
            said = []
            for ask in asks:
                script = propose if ask.seat.role == "proposer" else solve
                said.append(replace(policy.recite(ask, script(ask)), version=policy.version))
            return said

        update = TransformerPolicy.update

        def recorded(policy, batch, objective):
            self.updates.append((policy.name, batch, objective))
            return update(policy, batch, objective)

        monkeypatch.setattr(TransformerPolicy, "reply", reply)
        monkeypatch.setattr(TransformerPolicy, "update", recorded)


def proposes(ask):
    return f"{ask.seed % 89 + 10}+{ask.seed % 7 + 1}"


def asked(ask):
    return ask.messages[0].text.split("\n")[-1].removesuffix("=?")


def half_sure(ask):
    """Uses the tool every second time, and else says anything."""
    if ask.past:
        return ask.messages[-1].text.removeprefix("<information>").removesuffix("</information>")
    return f"<calculate>{asked(ask)}</calculate>" if ask.seed % 2 else str(ask.seed % 1009)


def test_the_agents_take_turns(tmp_path, monkeypatch):
    spoken = Spoken(monkeypatch, proposes, half_sure)
    lines = trained(replace(SMALL, steps=8), tmp_path)
    assert [name for name, _, _ in spoken.updates] == (["proposer"] * 2 + ["learner"] * 4) * 2
    assert ["proposer/reward/proposer" in line for line in lines] == [True, True, False, False] * 2
    assert ["reward/solver" in line for line in lines] == [False, False, True, True] * 2
    assert ["polls" in line for line in lines] == [True, True, True, False] * 2


@ONE_STEP
def test_a_curriculum_agent_is_paid_for_doubt_and_for_calls_of_the_executor(tmp_path, monkeypatch):
    Spoken(monkeypatch, proposes, lambda ask: half_sure(ask) if ask.past else f"<calculate>{asked(ask)}</calculate>")
    (line,) = trained(replace(SMALL, steps=1), tmp_path / "all", unfined())
    assert line["polls/share"] == 1.0
    assert line["polls/calls"] == 1.0
    assert line["proposer/reward/proposer"] == pytest.approx(0.05)  # nobody doubts, one call each
    (line,) = trained(replace(SMALL, steps=1), tmp_path / "none", unfined(per_call=0.0))
    assert line["proposer/reward/proposer"] == 0.0


@ONE_STEP
def test_output_blocks_that_are_only_written_pay_nothing(tmp_path, monkeypatch):
    """The fault of the published code: it counts them in the curriculum agent's own words."""
    fake = "<information>2</information>"
    Spoken(monkeypatch, lambda ask: proposes(ask) + fake, lambda ask: "2")
    (line,) = trained(replace(SMALL, steps=1), tmp_path / "proposer")
    assert line["proposer/reward/proposer"] == 0.0
    Spoken(monkeypatch, proposes, lambda ask: f"{fake * 4} 2")
    (line,) = trained(replace(SMALL, steps=1), tmp_path / "executor", unfined())
    assert line["polls/calls"] == 0.0
    assert line["proposer/reward/proposer"] == 0.0


def test_the_executor_learns_from_labels_of_the_band_with_trusted_advantages(tmp_path, monkeypatch):
    spoken = Spoken(monkeypatch, proposes, half_sure)
    lines = trained(replace(SMALL, steps=3, votes=6, attempts=6), tmp_path)
    assert 0.0 < lines[2]["polls/kept"] <= 1.0
    assert lines[2]["label_accuracy"] > 0.5
    name, batch, objective = spoken.updates[-1]
    assert name == "learner"
    assert isinstance(objective, GroupClippedRatio)
    assert batch.trajectory.max() < len(objective.highs) <= 3 * 6
    groups = batch.trajectory // 6
    assert all(len(set(objective.highs[start : start + 6])) == 1 for start in range(0, len(objective.highs), 6))
    assert all(0.2 <= high <= 0.3 for high in objective.highs)
    for group, high in enumerate(objective.highs[::6]):
        own = batch.advantages[groups == group][batch.loss_weights[groups == group] != 0]
        scale = 0.6 + 0.4 * (0.3 - high) / 0.1  # both ramps are of the same share
        values = own.unique()
        if len(values) > 1:
            right = (batch.advantages[groups == group].amax(dim=1) > 0).double().mean().item()
            deviation = (right * (1 - right) * 6 / 5) ** 0.5
            assert values.max().item() == pytest.approx(scale * (1 - right) / deviation, rel=1e-3)


def test_every_attempt_counts_the_same_and_the_tool_s_words_not_at_all(tmp_path, monkeypatch):
    spoken = Spoken(monkeypatch, proposes, half_sure)
    trained(replace(SMALL, steps=3), tmp_path)
    _, batch, _ = spoken.updates[-1]
    assert batch.loss_weights.sum(dim=1).tolist() == pytest.approx([1 / len(batch)] * len(batch))
    tokenizer = Learner(model="tiny").build_model(0).format.tokenizer
    for row, weights in zip(batch.tokens, batch.loss_weights, strict=True):
        assert "information" not in tokenizer.decode(row[weights != 0].tolist())


def test_rounds_in_which_nothing_can_be_kept_go_on(tmp_path):
    lines = trained(SMALL, tmp_path)
    assert [line["step"] for line in lines] == [0, 1, 2, 3]
    assert lines[2]["polls"] == 0.0


def test_one_model_may_play_both_and_a_frozen_agent_learns_nothing(tmp_path, monkeypatch):
    spoken = Spoken(monkeypatch, proposes, half_sure)
    trained(replace(SMALL, proposer=Role("shared")), tmp_path / "shared")
    assert {name for name, _, _ in spoken.updates} == {"learner"}
    spoken.updates.clear()
    frozen = replace(SMALL, proposer=Role("frozen"), proposer_steps=Config().proposer_steps)
    trained(replace(frozen, proposals=Config().proposals), tmp_path / "frozen")
    assert [name for name, _, _ in spoken.updates] == ["learner"] * 8  # all steps are the solver's


@ONE_STEP
def test_without_a_tool_nothing_is_called(tmp_path, monkeypatch):
    Spoken(monkeypatch, proposes, lambda ask: half_sure(ask) if not ask.past else "1")
    (line,) = trained(replace(SMALL, steps=1, tool="none"), tmp_path)
    assert line["polls/calls"] == 0.0


def test_a_killed_run_goes_on_as_if_nothing_had_happened(tmp_path, monkeypatch):
    Spoken(monkeypatch, proposes, half_sure)
    weights = []
    for name, stops in (("whole", (4,)), ("killed", (3, 4))):  # killed between the steps of the executor
        for steps in stops:
            run = Run(tmp_path / name, 0, Schedule(99, 1, record_episodes=0))
            policy = train(replace(SMALL, steps=steps), run)
        weights.append(policy.state()["weights"])
    assert all(torch.equal(one, weights[1][name]) for name, one in weights[0].items())


def test_a_question_set_that_is_not_there_is_one_line(tmp_path):
    with pytest.raises(RedQueenError):
        train(replace(SMALL, questions="nowhere"), Run(tmp_path))
