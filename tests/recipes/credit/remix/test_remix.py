"""ReMix: the card's numbers for its pull and its lambda; what is drawn from the window, and what a rebirth changes."""

from random import Random

import numpy as np
import pytest
import torch

from redqueen.contracts.recipes import metrics
from redqueen.objectives.references import of_mixture
from redqueen.objectives.regularizers import divergence
from redqueen.players.tabular import TabularPolicy
from redqueen.recipes.credit.remix import recipe as remix
from redqueen.recipes.credit.remix.steps import Anchor, Window, apart
from redqueen.runs.run import Run, Schedule
from redqueen.settings.learner import Learner
from redqueen.types import Ask, Episode, Likelihoods, Message, Outcome, Reply, Seat, Task, Trajectory, Turn

SOLVER = Seat("solver")
TABLE = remix.Config(Learner(learning_rate=0.5), game="kuhn_poker", steps=6, tasks=5, attempts=4, window=2, rebirth=4)


def attempt(number, reward=1.0):
    turn = Turn(Ask(SOLVER, (Message("game", "?"),)), Reply("x", "learner"))
    episode = Episode("g", Task(f"t{number}"), number, (turn,), Outcome({SOLVER: reward}), (SOLVER,))
    return Trajectory(episode, SOLVER, (turn,), np.array([reward]), {}, number)


@pytest.mark.parametrize(
    ("step", "share"), [(0, 1.0), (50, 1.0), (51, 0.9), (61, 0.8), (75, 0.7), (100, 0.5), (300, 0.5)]
)
def test_the_base_pulls_less_and_less(step, share):
    """The card (2.5)."""
    anchor = Anchor(TabularPolicy(1.0), 0.5)
    anchor.begin(step)
    assert anchor.share == pytest.approx(share)


def test_the_pull_to_two_policies_is_that_to_their_mixture():
    """The card (2.5): KL .030479 and .223805, .088477 to the mixture, whose mass is .920680."""
    policy, base, last = (
        torch.tensor([[row]], dtype=torch.float64).log() for row in ((0.5, 0.3, 0.2), (0.6, 0.2, 0.2), (0.2, 0.5, 0.3))
    )
    rated = [Likelihoods(each[..., 0], torch.zeros(1, 1), each) for each in (base, last)]
    mixture = of_mixture(rated[0], rated[1], 0.7)
    assert [float(divergence(policy, each)) for each in (base, last)] == pytest.approx([0.030479, 0.223805], abs=1e-6)
    assert float(divergence(policy, mixture.legal_logprobs)) == pytest.approx(0.088477, abs=1e-6)
    assert float(mixture.legal_logprobs.exp().sum()) == pytest.approx(0.920680, abs=1e-6)
    assert mixture.logprobs[0, 0] == mixture.legal_logprobs[0, 0, 0]
    padded = Likelihoods(base[..., 0], torch.zeros(1, 1), torch.cat([base, torch.full((1, 1, 1), -torch.inf)], -1))
    assert not of_mixture(padded, padded, 0.7).legal_logprobs.isnan().any()


def test_groups_come_from_the_last_steps_alone_and_are_compared_among_themselves():
    window = Window(2)
    for step in range(4):
        window.observe([attempt(10 * step + group) for group in (0, 0, 1)] + [attempt(99, float("nan"))])
    drawn = window.draw(9, Random(0))
    assert sorted({each.episode.seed for group in drawn for each in group}) == [20, 21, 30, 31]
    assert sorted(len(group) for group in drawn) == [1, 1, 2, 2]
    assert sorted({each.group for each in apart(drawn, 7)}) == [7, 8, 9, 10]
    again = Window(2)
    again.restore(window.state())
    assert [len(group) for group in again.draw(9, Random(0))] == [len(group) for group in drawn]


def test_before_the_rebirth_part_of_a_batch_is_old_and_after_it_nothing(tmp_path):
    run = Run(tmp_path, 0, Schedule())
    learner = remix.train(TABLE, run)
    lines = metrics(run)
    assert [line["old"] for line in lines] == [0.0, 0.4, 0.4, 0.4, 0.0, 0.0]
    assert [line["episodes"] for line in lines] == [20.0, 12.0, 12.0, 12.0, 20.0, 20.0]
    assert learner.version == 4 * 2 + 2
