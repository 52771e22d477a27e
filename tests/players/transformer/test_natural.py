"""The natural gradient of listed replies: against the matrix over all weights, and at targets that are known."""

from collections import Counter
from contextlib import nullcontext

import numpy as np
import pytest
import torch

from redqueen.objectives.batch import beside, one_turn, pack
from redqueen.objectives.imitation import Imitation
from redqueen.objectives.policy_gradient import Reinforce
from redqueen.objectives.regularizers import ExactKL
from redqueen.players.tabular import TabularPolicy
from redqueen.players.transformer import layers
from redqueen.players.transformer.natural import DAMPING, TRIES, Decisions, NaturalGradient, Quadratic, log_odds
from redqueen.players.transformer.rows import parts_of
from redqueen.settings.learner import Learner
from redqueen.settings.optimization import Optimization
from redqueen.types import Ask, Likelihoods, Message, NonFiniteLoss, RedQueenError, Seat

ASKS = [
    Ask(Seat("first"), (Message("game", f"The card is {card}. Your move?"),), ("pass", "bet"), seed=3)
    for card in ("high", "low")
]
WANTED = dict(zip(ASKS, (np.array([0.2, 0.8]), np.array([0.7, 0.3])), strict=True))


def learner(lora_rank=0, **settings):
    tuned = Optimization(optimizer="natural", **settings)
    return Learner(model="tiny:hidden=16,heads=2", lora_rank=lora_rank, optimization=tuned).build(seed=0)


def weights_of(policy):
    return torch.cat([value.detach().flatten().clone() for value in policy.trainable.values()])


def said(policy, ask, choice):
    return one_turn(ask, policy.recite(ask, choice))


def toward(policy, wanted):
    """A batch of the first reply to each ask, beside what is `wanted`; replies differ in their first token."""
    batch = pack([said(policy, ask, ask.choices[0]) for ask in wanted], [np.ones(1)] * len(wanted))
    legal = policy.likelihoods(batch).legal_logprobs.clone()
    for row, ((start, replies), chances) in enumerate(
        zip(map(vars_of, batch.constraints), wanted.values(), strict=True)
    ):
        order = np.argsort([reply[0] for reply in replies])
        legal[row, start, : len(order)] = torch.from_numpy(np.log(chances[order]))
    nothing = torch.zeros(batch.tokens.shape)
    return beside(batch, Likelihoods(nothing, nothing, legal))


def vars_of(constraints):
    (constraint,) = constraints
    return constraint.start, constraint.replies


def test_a_few_updates_reach_the_wanted_policy():
    policy = learner()
    for _ in range(8):
        metrics = policy.update(toward(policy, WANTED), ExactKL(1.0))
        assert metrics["loss_after"] <= metrics["loss"]
    for ask, chances in WANTED.items():
        assert policy.probabilities([ask])[0] == pytest.approx(chances, abs=2e-3)


def test_a_table_reaches_it_at_once():
    table = TabularPolicy(1.0, natural=True)
    three = Ask(Seat("first"), (Message("game", "And now?"),), ("a", "b", "c"))
    wanted = {**WANTED, three: np.array([0.05, 0.15, 0.8])}
    table.update(toward(table, wanted), ExactKL(1.0))
    for ask, chances in wanted.items():
        assert table.probabilities([ask])[0] == pytest.approx(chances, abs=1e-7)


def test_the_gradient_and_the_information_of_decisions_are_those_of_the_formulae():
    """REINFORCE on three replies to two states, with advantages 1 for bet, -1/2 for pass and 2 for bet."""
    policy = learner()
    given = [said(policy, ASKS[0], "bet"), said(policy, ASKS[0], "pass"), said(policy, ASKS[1], "bet")]
    batch = pack(given, [np.array([1.0]), np.array([-0.5]), np.array([2.0])])
    parts = parts_of(batch, 1024)
    decisions = Decisions(batch, parts)
    with torch.no_grad():
        ratings = [policy._rating(policy.forward.over, part.queries) for part in parts]
    found = decisions.model(ratings, Reinforce())
    legal = given[0].turns[0].reply.legal_tokens
    second = ("pass", "bet")[legal.index(max(legal))]  # log-odds are of the larger token against the smaller
    chance = np.array([p[ASKS[0].choices.index(second)] for p in policy.probabilities(ASKS)])
    said_second = np.array([second == "bet", second == "pass"])
    of_bet = said_second[0] - chance  # of log p(bet) with respect to the log-odds, [2]
    of_pass = said_second[1] - chance
    gradient = -np.array([1.0 * of_bet[0] - 0.5 * of_pass[0], 2.0 * of_bet[1]]) / 3
    weights = np.array([2.0, 1.0]) / 3
    assert found.gradient.numpy() == pytest.approx(gradient, abs=1e-5)
    assert found.fisher.numpy() == pytest.approx(np.diag(weights * chance * (1 - chance)), abs=1e-6)
    alone = [policy._rating(policy.forward.over, [each]).legal_logprobs for each in decisions.queries]
    assert [len(log_odds(each)) for each in alone] == [1, 1]


def test_the_step_is_that_of_the_matrix_over_all_weights():
    """On a loss (z - t)^T F (z - t) / 2 of z = J w: (J^T F J + mu)^-1 J^T F (z - t), P by P."""
    draws = np.random.default_rng(0)
    slopes = torch.from_numpy(draws.normal(size=(3, 7)).astype(np.float32))
    root = torch.from_numpy(draws.normal(size=(3, 3)))
    fisher, target = root @ root.T, torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)
    weight = torch.zeros(7).requires_grad_()
    optimizer, nothing, visited = NaturalGradient({"weight": weight}), Likelihoods(target, target), []

    def look():
        visited.append(weight.detach().double().clone())
        apart = slopes.double() @ visited[-1] - target
        return Quadratic(float(apart @ fisher @ apart / 2), {}, nothing, fisher @ apart, fisher)

    start = look()
    metrics = optimizer.step(slopes, start, look, 0.5)
    jacobian = slopes.double()
    damping = DAMPING * (fisher @ jacobian @ jacobian.T).diagonal().mean()
    matrix = jacobian.T @ fisher @ jacobian + damping * torch.eye(7, dtype=torch.float64)
    expected = -0.5 * torch.linalg.solve(matrix, jacobian.T @ start.gradient)
    assert visited[1].numpy() == pytest.approx(expected.numpy(), abs=1e-5)
    assert metrics["gradient_norm"] == pytest.approx(float((jacobian.T @ start.gradient).norm()), rel=1e-5)
    assert metrics["natural_steps"] >= 2 and metrics["loss_after"] < 0.05 * metrics["loss"]


def test_a_step_after_which_the_loss_is_higher_is_taken_back_to_the_bit():
    weight = torch.tensor([0.1, 0.7]).requires_grad_()
    optimizer = NaturalGradient({"weight": weight})
    nothing = Likelihoods(torch.zeros(1, 1), torch.zeros(1, 1))
    start = Quadratic(1.0, {}, nothing, torch.tensor([1.0], dtype=torch.float64), torch.eye(1, dtype=torch.float64))
    seen = []

    def worse():
        seen.append(weight.detach().clone())
        if len(seen) == 2:
            raise NonFiniteLoss("the loss is nan", None)
        return Quadratic(1.5, {}, nothing, start.gradient, start.fisher)

    metrics = optimizer.step(torch.tensor([[1.0, 2.0]]), start, worse, 1.0)
    assert len(seen) == TRIES and metrics["natural_steps"] == 0.0 and metrics["loss_after"] == 1.0
    assert torch.equal(weight.detach(), torch.tensor([0.1, 0.7]))
    assert metrics["damping"] > DAMPING
    moved = [float((each - weight.detach()).norm()) for each in seen]
    assert moved == sorted(moved, reverse=True)  # each attempt is more careful
    other = NaturalGradient({"weight": weight})
    other.restore(optimizer.state())
    assert other.state() == optimizer.state()


def test_what_the_natural_gradient_cannot_take_is_one_line(monkeypatch):
    free = Ask(Seat("first"), (Message("game", "Tell me."),), seed=1)
    policy = learner()
    batch = pack([said(policy, free, "hello")], [np.ones(1)])
    with pytest.raises(RedQueenError, match="is for replies that are chosen from a list"):
        policy.update(batch, Imitation())
    monkeypatch.setattr("redqueen.players.transformer.natural.MOST_NUMBERS", 1 << 14)
    with pytest.raises(RedQueenError, match=r"would hold 2 gradients of \d+ weights, .* GiB are held at the most"):
        policy.update(toward(policy, WANTED), ExactKL(1.0))
    with pytest.raises(RedQueenError, match="needs weights of 32 bits: set --dtype float32"):
        Learner(model="tiny", dtype="bfloat16", optimization=Optimization(optimizer="natural")).build(seed=0)
    with pytest.raises(RedQueenError, match="takes the steps of its own optimiser: set --optimizer adamw"):
        Learner(model="tinker:base@http://127.0.0.1:1", optimization=Optimization(optimizer="natural")).build(seed=0)
    with pytest.raises(RedQueenError, match="--betas has no effect with --optimizer natural"):
        Optimization(optimizer="natural", betas=(0.0, 0.999))


def test_the_adapter_is_in_the_last_layers_alone():
    policy = learner(2, lora_layers=1)
    assert {key.split(".layers.")[1].split(".")[0] for key in policy.trainable} == {"1"}
    with pytest.raises(RedQueenError, match="--lora-layers must be at most 2, which tiny"):
        learner(2, lora_layers=3)


def test_layers_below_the_first_trained_one_are_computed_once(monkeypatch):
    """Two updates of an adapter in the last of three layers, whose gradients are those of a pass through all."""
    tuned = Optimization(optimizer="natural", lora_layers=1)
    learning = Learner(model="tiny:hidden=16,heads=2,layers=3", lora_rank=2, optimization=tuned)
    with_lower, without = learning.build(seed=0), learning.build(seed=0)
    monkeypatch.setattr(without.forward, "beginning", lambda rows, trained: nullcontext())
    passes, compute = Counter(), layers._layer
    monkeypatch.setattr(layers, "_layer", lambda layer, *given: passes.update([id(layer)]) or compute(layer, *given))
    batch = toward(with_lower, WANTED)
    passes.clear()
    for _ in range(2):
        metrics = with_lower.update(batch, ExactKL(1.0))
    numbers = [passes[id(layer)] for layer in with_lower.forward._decoder.layers]
    assert numbers[:2] == [1, 1] and numbers[2] >= 2 * (1 + len(WANTED) + 1)
    for _ in range(2):
        expected = without.update(batch, ExactKL(1.0))
    assert metrics == pytest.approx(expected, rel=1e-3, abs=1e-6)
    assert weights_of(with_lower) == pytest.approx(weights_of(without), abs=1e-5)
