"""WebRL's numbers by hand (worlds.md 13, credit_and_curricula.md 3.5), and a short run of each of its parts."""

from math import log
from random import Random

import numpy as np
import pytest
import torch

from redqueen.credit.rewards import payoff, score
from redqueen.games.acting import AGENT, Acting
from redqueen.objectives.preference import Sppo
from redqueen.play.groups import attempts
from redqueen.players.scripted import Uniform
from redqueen.recipes.curricula.webrl.objective import CodedRegression, coded_advantages, mean_chances
from redqueen.recipes.curricula.webrl.recipe import Config
from redqueen.recipes.curricula.webrl.steps import Judge, act_of
from redqueen.runs.run import read_metrics
from redqueen.runs.train import train
from redqueen.settings.learner import Learner
from redqueen.settings.roles import Role
from redqueen.types import Batch, Likelihoods, RedQueenError, Reply, Trajectory
from redqueen.worlds.site import Site

TINY = Learner(model="tiny", lora_rank=0, learning_rate=1e-3, max_completion_length=8)


def acts(reference: list[list[float]], advantages: list[float]) -> Batch:
    """One row an act, all of its tokens its own, all acts alike in weight."""
    rows, width = len(reference), len(reference[0])
    known = torch.tensor(reference, dtype=torch.float64)
    return Batch(
        tokens=torch.zeros(rows, width, dtype=torch.int64),
        loss_weights=torch.full((rows, width), 1.0 / rows / width, dtype=torch.float64),
        sampled_logprobs=known,
        advantages=torch.tensor(advantages, dtype=torch.float64)[:, None].expand(rows, width),
        versions=torch.zeros(rows, width),
        recited=torch.zeros(rows, width, dtype=torch.bool),
        lengths=torch.full((rows,), width),
        trajectory=torch.arange(rows),
        constraints=((),) * rows,
        pairs=torch.arange(rows),
        reference=Likelihoods(known, torch.zeros(rows, width)),
    )


def loss_at(objective, batch: Batch, policy: list[list[float]]) -> tuple[float, torch.Tensor]:
    logprobs = torch.tensor(policy, dtype=torch.float64, requires_grad=True)
    loss, _ = objective(Likelihoods(logprobs, torch.zeros_like(logprobs)), batch)
    loss.backward()
    return float(loss.detach()), logprobs.grad


def test_the_papers_loss_is_that_of_sppo_with_eta_1_over_beta():
    """(beta h - A)^2 at beta 1, A 1/2 and h .3 is .04 with the gradient -.4; at h 1/2 it is 0."""
    batch = acts([[-1.0, -1.0]], [0.5])
    loss, slope = loss_at(Sppo(1.0), batch, [[-0.8, -0.9]])  # Sppo has half of both
    assert 2.0 * loss == pytest.approx(0.04) and (2.0 * slope).tolist() == [pytest.approx([-0.4, -0.4])]
    assert loss_at(Sppo(1.0), batch, [[-0.7, -0.8]])[0] == pytest.approx(0.0)


def test_the_released_loss_by_hand():
    """Four tokens, log-ratio -.8: .7; where the reference gave a token .82, beta is 5 and the loss .3."""
    unsure, sure = acts([[-0.3] * 4], [0.25]), acts([[log(0.82)] * 4], [0.25])
    assert loss_at(CodedRegression(), unsure, [[-0.5] * 4])[0] == pytest.approx(0.7)
    assert loss_at(CodedRegression(), sure, [[log(0.82) - 0.2] * 4])[0] == pytest.approx(0.3)


def test_in_the_released_loss_acts_that_are_worse_than_expected_have_no_part():
    batch = acts([[-0.3] * 4, [-0.3] * 4], [0.0, -0.01])
    loss, slope = loss_at(CodedRegression(), batch, [[-0.3] * 4, [-0.5] * 4])
    assert loss == pytest.approx(0.25) and slope[0].abs().min() > 0.0 and slope[1].abs().max() == 0.0


def test_the_released_advantages_by_hand():
    values, rewards = np.array([0.3, 0.5, 0.8]), np.array([0.0, 0.0, 1.0])
    assert coded_advantages(values, rewards) == pytest.approx([0.96, 1.0, 1.0])
    failed = coded_advantages(np.array([0.3, 0.4, 0.3, 0.2]), np.zeros(4))
    assert failed[:1] == pytest.approx([0.05]), "a value that rises on the way to a failure counts as good"
    assert failed[2:3] == pytest.approx([-0.15])


def test_the_window_is_of_mean_chances():
    batch = acts([[-0.0133, -0.0133], [-0.3667, -0.3667], [-0.8667, -0.8667]], [0.0] * 3)
    assert batch.reference is not None
    found = mean_chances(batch.reference.logprobs, batch)
    assert found.tolist() == pytest.approx([0.986787, 0.693016, 0.420336], abs=1e-4)
    assert [0.5 < each <= 0.95 for each in found.tolist()] == [False, True, False]


def config(**changes) -> Config:
    sizes = {"steps": 4, "phase": 2, "tasks": 6, "proposals": 12, "seeds": 6}
    return Config(**{"learner": TINY, "game": "acting:site(count=20,tests=4),4", **sizes, **changes})


def lines(folder) -> list[dict]:
    return [line for line in read_metrics(folder) if "tasks/known" in line]


def test_tasks_grow_where_attempts_failed(tmp_path):
    train("webrl", config(band=(-9.0, 9.0)), tmp_path / "run", seed=0)
    first, *_, last = lines(tmp_path / "run")
    assert first["tasks/known"] == 6 and last["tasks/known"] > 6
    assert last["tasks/set"] > 0.5


@pytest.mark.slow
def test_what_the_critic_holds_hopeless_is_not_tried_and_said(tmp_path):
    train("webrl", config(steps=8, band=(8.0, 9.0)), tmp_path / "run", seed=0)
    last = lines(tmp_path / "run")[-1]
    assert last["tasks/known"] == 6 and last["refused/hopeless"] > 0.5
    assert "alarm/no_task_can_be_set" in last


def test_a_control_keeps_the_first_tasks(tmp_path):
    train("webrl", config(growth="fixed", proposals=64), tmp_path / "run", seed=0)
    assert {line["tasks/known"] for line in lines(tmp_path / "run")} == {6}


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"game": "kuhn_poker"}, "acting:site, not in kuhn_poker"),
        ({"window": (0.9, 0.5)}, "--window goes from a lower to a higher value, not from 0.9 to 0.5"),
        ({"replayed": 1.0}, "replayed"),
        ({"as_coded": True, "beta": 2.0}, "beta has no effect"),
    ],
)
def test_what_would_do_nothing_or_cannot_be_is_refused(changes, complaint, tmp_path):
    with pytest.raises(RedQueenError, match=complaint):
        train("webrl", config(**changes), tmp_path / "run", seed=0)


class Says:
    """A judge in prose, without probabilities."""

    name = "says"

    def __init__(self, *texts: str) -> None:
        self.texts = texts

    def reply(self, asks):
        return [Reply(text, self.name) for text, _ in zip(self.texts, asks, strict=True)]


def test_a_judge_in_prose_is_read_and_what_cannot_be_read_is_no_verdict():
    site = Site(count=3, tests=1)
    groups = attempts(Acting(site, 2), site.tasks(), Uniform(), 1, Random(0))
    judge = Judge(config(judge=Role("frozen")), {"judge": Says("I looked at it.\n**Yes.**", "No", "It depends.")})
    judged = [each.attempts[0].outcome for each in judge(groups, Random(0))]
    assert [each.facts["right"] for each in judged] == [True, False, None]
    assert [list(each.scores.values()) for each in judged] == [[1.0], [0.0], [0.0]]
    assert judge.metrics()["judge_unparsed"] == pytest.approx(1 / 3)


def test_what_an_act_earned_is_all_that_came_after_it():
    site = Site("shop", count=3, tests=1)
    (whole,) = score(attempts(Acting(site, 3), site.tasks()[:1], Uniform(), 1, Random(1)), payoff)
    won = Trajectory(whole.episode, whole.seat, whole.turns, np.eye(len(whole.turns))[-1])
    assert act_of(won, 0).rewards.tolist() == [1.0] and len(act_of(won, 0).turns) == 1
    assert won.seat.role == AGENT
    assert Role("world") == Config().judge
