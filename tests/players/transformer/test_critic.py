import numpy as np
import pytest
import torch

from redqueen.chance import derive
from redqueen.credit.advantages.statistics import GeneralizedAdvantage
from redqueen.games.kuhn_poker import KuhnPoker
from redqueen.measures.exact.exploitability import GameTree
from redqueen.players.scripted import Uniform
from redqueen.players.transformer.critic import ValueHead
from redqueen.players.transformer.loading import tiny_model
from redqueen.players.transformer.policy import TransformerPolicy
from redqueen.types import Ask, Episode, Message, Outcome, RedQueenError, Reply, Seat, Task, Trajectory, Turn

KUHN = GameTree(KuhnPoker())
SEAT = Seat("first")


def gathered(turns, rewards=None):
    turns = tuple(turns)
    rewards = np.zeros(len(turns)) if rewards is None else np.array(rewards)
    return Trajectory(Episode("talk", Task("t"), 0, turns, Outcome({}), (SEAT,)), SEAT, turns, rewards)


def said(policy, asks):
    return [gathered([Turn(ask, reply)]) for ask, reply in zip(asks, policy.reply(asks), strict=True)]


def talked(policy, exchanges=3):
    """A trajectory in which each prompt extends the words before it."""
    messages, turns = (), ()
    for exchange in range(exchanges):
        messages += (Message("game", f"Round {exchange}. Your move?"),)
        ask = Ask(SEAT, messages, ("bet", "pass"), turns, derive(0, exchange))
        (reply,) = policy.reply([ask])
        turns += (Turn(ask, reply),)
        messages += (Message("first", reply.text),)
    return gathered(turns)


def prompts_of(trajectories):
    return [turn.reply.prompt_tokens for each in trajectories for turn in each.turns]


def plain_features(model, prompt):
    with torch.no_grad():
        return model(input_ids=torch.from_numpy(prompt)[None], output_hidden_states=True).hidden_states[-1][0, -1]


def test_features_are_the_last_hidden_states_of_a_plain_pass(any_model):
    policy = TransformerPolicy(any_model)
    prompts = prompts_of([*said(policy, KUHN.states[:4]), talked(policy)])
    found = policy.features(prompts)
    assert found.shape == (7, policy.width) == (7, 32)
    assert found.dtype == torch.float32
    assert not found.requires_grad
    for row, prompt in zip(found, prompts, strict=True):
        torch.testing.assert_close(row, plain_features(any_model.model, prompt), atol=2e-5, rtol=1e-4)


def test_equal_prompts_and_equal_beginnings_are_computed_once(made, counted):
    policy = TransformerPolicy(made())
    conversation = prompts_of([talked(policy)])
    reader = TransformerPolicy(made())  # who has read none of it yet
    sizes = counted(reader.forward)
    rows = reader.features(conversation * 50)
    assert sizes == [len(conversation[-1])]
    assert torch.equal(rows[:3], rows[-3:])


def test_features_do_not_depend_on_the_budget(made):
    one, other = TransformerPolicy(made()), TransformerPolicy(made(), token_budget=1)
    prompts = prompts_of(said(one, KUHN.states))
    torch.testing.assert_close(one.features(prompts), other.features(prompts), atol=1e-5, rtol=1e-4)
    assert one.features([]).shape == (0, 32)


def test_a_frozen_copy_has_features_of_its_own(made):
    policy = TransformerPolicy(made())
    copy = policy.freeze()
    prompts = prompts_of(said(policy, KUHN.states))
    before = policy.features(prompts)
    with torch.no_grad():
        for value in policy.trainable.values():
            value += 0.1
    torch.testing.assert_close(copy.features(prompts), before, atol=1e-6, rtol=1e-5)
    assert not torch.allclose(policy.features(prompts), before, atol=1e-3)


def test_a_new_head_expects_nothing(made):
    policy = TransformerPolicy(made())
    batch = [talked(policy), *said(policy, KUHN.states[:2])]
    assert [each.tolist() for each in ValueHead(policy, 0.01).values(batch)] == [[0.0] * 3, [0.0], [0.0]]
    assert ValueHead(policy, 0.01).values([]) == []


def test_the_first_step_by_hand(made):
    policy = TransformerPolicy(made())
    batch = [talked(policy)]
    features = policy.features(prompts_of(batch))
    features = (features - features.mean(dim=0)) / features.std(dim=0, correction=0).square().mean().sqrt()
    targets = [np.array([1.0, -2.0, 0.5])]
    head = ValueHead(policy, learning_rate=0.01)
    metrics = head.update(batch, targets)
    assert metrics == {"value_loss": pytest.approx((1 + 4 + 0.25) / 6), "value_clip_fraction": 0.0}
    # AdamW's first step moves each weight by its rate against the sign of its gradient, the mean of (0 - target) f
    gradient = -(torch.tensor(targets[0]).float()[:, None] * features).mean(dim=0)
    step = -0.01 * gradient.sign()
    expected = features @ step + 0.01 * torch.tensor(targets[0]).mean().sign()
    torch.testing.assert_close(torch.from_numpy(head.values(batch)[0]).float(), expected, atol=1e-5, rtol=1e-4)


def test_the_value_head_fits_the_values_of_the_information_states():
    policy = TransformerPolicy(tiny_model(0))
    exact = KUHN.state_values(KUHN.strategy(Uniform()))
    batch = said(policy, KUHN.states)
    before = {key: value.detach().clone() for key, value in policy.trainable.items()}
    head = ValueHead(policy, learning_rate=0.01)
    losses = [head.update(batch, [np.array([value]) for value in exact])["value_loss"] for _ in range(100)]
    assert losses[0] == pytest.approx(0.5 * np.mean(exact**2))
    assert losses[-1] < 0.01 * losses[0]
    found = np.concatenate(head.values(batch))
    np.testing.assert_allclose(found, exact, atol=0.1)
    # and nothing else has moved
    assert all(torch.equal(value, before[key]) for key, value in policy.trainable.items())
    assert all(value.grad is None for value in policy.trainable.values())


def test_the_value_head_serves_generalized_advantages(made):
    policy = TransformerPolicy(made())
    talk = talked(policy)
    batch = [gathered(talk.turns, [0.0, 0.0, 1.0])]
    head = ValueHead(policy, learning_rate=0.02)
    estimate = GeneralizedAdvantage(head, discount=0.5)
    for _ in range(200):
        advantages, targets = estimate.with_targets(batch)
        head.update(batch, targets)
    np.testing.assert_allclose(head.values(batch)[0], [0.25, 0.5, 1.0], atol=0.02)
    np.testing.assert_allclose(advantages[0], 0.0, atol=0.02)


def test_a_clip_holds_the_values_back(made):
    policy = TransformerPolicy(made())
    batch, targets = said(policy, KUHN.states[:1]), [np.array([5.0])]
    free, held = (ValueHead(policy, 0.02, clip=clip, epochs=30) for clip in (None, 0.2))
    assert free.update(batch, targets)["value_clip_fraction"] == 0.0
    assert held.update(batch, targets)["value_clip_fraction"] == 1.0
    assert free.values(batch)[0] == pytest.approx([0.6], abs=0.01)  # thirty steps of 0.02
    assert 0.2 < held.values(batch)[0][0] < 0.45  # ten, and what momentum carries on


def test_restoring_goes_on_bit_for_bit(made):
    policy = TransformerPolicy(made())
    batch, targets = [talked(policy)], [np.array([1.0, 0.0, -1.0])]
    head, other = ValueHead(policy, 0.01), ValueHead(policy, 0.01)
    head.update(batch, targets)
    state = head.state()
    other.restore(state)
    for _ in range(3):
        assert head.update(batch, targets) == other.update(batch, targets)
    assert head.values(batch)[0].tolist() == other.values(batch)[0].tolist()
    head.restore(state)  # learning on did not touch it
    third = ValueHead(policy, 0.01)
    third.restore(state)
    assert head.values(batch)[0].tolist() == third.values(batch)[0].tolist() != other.values(batch)[0].tolist()


def test_nothing_to_learn_changes_nothing(made):
    head = ValueHead(TransformerPolicy(made()), 0.01)
    assert head.update([], []) == {"value_loss": 0.0, "value_clip_fraction": 0.0}
    assert not head.state()["weight"].any()


def test_a_loss_that_is_not_finite_leaves_the_head_as_it_was(made):
    policy = TransformerPolicy(made())
    batch = [talked(policy)]
    head = ValueHead(policy, 0.01, epochs=3)
    head.update(batch, [np.ones(3)])
    before = head.values(batch)[0].tolist()
    with pytest.raises(RedQueenError, match="the loss of the value head of learner is nan"):
        head.update(batch, [np.array([1.0, np.nan, 0.0])])
    assert head.values(batch)[0].tolist() == before


def test_settings_without_effect_or_meaning_are_refused(made):
    policy = TransformerPolicy(made())
    with pytest.raises(RedQueenError, match="clip has no effect"):
        ValueHead(policy, 0.01, clip=0.2)
    with pytest.raises(RedQueenError, match="must be positive, not -1"):
        ValueHead(policy, 0.01, clip=-1.0, epochs=2)
    with pytest.raises(RedQueenError, match="at least one epoch"):
        ValueHead(policy, 0.01, epochs=0)


def test_words_of_a_player_without_prompts_have_no_features(made):
    policy = TransformerPolicy(made())
    stranger = gathered([Turn(KUHN.states[0], Reply("bet", "bot"))])
    with pytest.raises(RedQueenError, match="has no prompt tokens"):
        ValueHead(policy, 0.01).values([stranger])
