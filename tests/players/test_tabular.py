from random import Random

import numpy as np
import pytest
import torch

from redqueen.chance import derive
from redqueen.credit.rewards import payoff, score
from redqueen.games.kuhn_poker import KuhnPoker
from redqueen.objectives.batch import pack
from redqueen.objectives.policy_gradient import Reinforce
from redqueen.play.lockstep import play
from redqueen.players.tabular import TabularPolicy
from redqueen.types import (
    Ask,
    Episode,
    Match,
    Message,
    NonFiniteLoss,
    Outcome,
    RedQueenError,
    Seat,
    Task,
    Trajectory,
    Turn,
)

SEAT = Seat("gambler")
ARMS = Ask(SEAT, (Message("game", "Pull an arm."),), ("left", "middle", "right"))
COIN = Ask(SEAT, (Message("game", "Call it."),), ("heads", "tails"))


def asked(ask, seed):
    return Ask(ask.seat, ask.messages, ask.choices, seed=seed)


def pulled(policy, seed, ask=ARMS):
    (reply,) = policy.reply([asked(ask, seed)])
    return reply


def learned(policy, replies, rewards, ask=ARMS, objective=Reinforce()):
    trajectories = []
    for reply, reward in zip(replies, rewards, strict=True):
        turns = (Turn(ask, reply),)
        trajectories.append(
            Trajectory(Episode("arms", Task("t"), 0, turns, Outcome({}), ()), SEAT, turns, np.array([reward]))
        )
    return policy.update(pack(trajectories, [each.rewards for each in trajectories]), objective)


def learned_from_nan(policy, reply, ask):
    turns = (Turn(ask, reply),)
    trajectory = Trajectory(Episode("arms", Task("t"), 0, turns, Outcome({}), ()), SEAT, turns, np.zeros(1))
    return policy.update(pack([trajectory], [np.array([np.nan])]), Reinforce())


def played(policy, seed=0, count=60):
    game = KuhnPoker()
    tasks = game.tasks()
    matches = [Match(game, tasks[n % 6], {"first": policy, "second": policy}) for n in range(count)]
    return score(play(matches, Random(seed)), payoff)


def step(policy, seed):
    trajectories = played(policy, seed)
    return policy.update(pack(trajectories, [each.rewards for each in trajectories]), Reinforce())


def test_a_new_state_is_uniform():
    (chances,) = TabularPolicy().probabilities([ARMS])
    assert chances.tolist() == pytest.approx([1 / 3] * 3)


def test_states_with_fewer_choices_share_the_table():
    coin, arms, again = TabularPolicy().probabilities([COIN, ARMS, COIN])
    assert coin.tolist() == again.tolist() == pytest.approx([1 / 2] * 2)
    assert arms.tolist() == pytest.approx([1 / 3] * 3)


def test_states_met_one_by_one_leave_the_others_as_they_are():
    policy = TabularPolicy(learning_rate=0.6)
    learned(policy, [pulled(policy, 0)], [1.0])
    before = policy.probabilities([ARMS])[0]
    for number in range(100):
        wider = Ask(Seat("gambler"), (Message("game", f"machine {number}"),), tuple("abcde"[: 2 + number % 4]))
        assert policy.reply([wider])[0].logprobs == pytest.approx(-np.log(2 + number % 4))
        assert policy.probabilities([ARMS])[0].tolist() == before.tolist()


def test_a_reply_that_is_kept_keeps_no_table():
    reply = pulled(TabularPolicy(), 0)
    assert reply.logprobs.base is None


def test_one_reinforce_step_by_hand():
    # with pi = 1/3 each and reward R for arm a, d log pi(a) / d logit = onehot(a) - pi
    policy = TabularPolicy(learning_rate=0.6)
    replies = [pulled(policy, seed) for seed in range(50)]
    left = next(reply for reply in replies if reply.text == "left")
    right = next(reply for reply in replies if reply.text == "right")
    metrics = learned(policy, [left, right], [2.0, -1.0])
    # the mean of the two: (2 (1, 0, 0) - 1 (0, 0, 1) - (2 - 1) / 3) / 2
    logits = 0.6 * np.array([2 - 1 / 3, -1 / 3, -1 - 1 / 3]) / 2
    expected = np.exp(logits) / np.exp(logits).sum()
    assert policy.probabilities([ARMS])[0] == pytest.approx(expected, abs=1e-15)
    assert metrics["loss"] == pytest.approx(-(2 - 1) * np.log(1 / 3) / 2)
    assert metrics["entropy"] == pytest.approx(np.log(3))
    assert metrics["gradient_norm"] == pytest.approx(np.linalg.norm(logits / 0.6))
    assert policy.version == 1


def test_a_bandit_is_learned():
    policy = TabularPolicy(learning_rate=1.0)
    pays = {"left": 0.0, "middle": 1.0, "right": 0.2}
    for update in range(100):
        replies = [pulled(policy, derive(update, n)) for n in range(16)]
        learned(policy, replies, [pays[reply.text] - 0.4 for reply in replies])
    assert policy.probabilities([ARMS])[0][1] > 0.95


def test_replies_have_the_stated_probabilities():
    policy = TabularPolicy(learning_rate=1.0)
    learned(policy, [pulled(policy, 3)], [1.0])
    (chances,) = policy.probabilities([ARMS])
    replies = policy.reply([asked(ARMS, derive(8, n)) for n in range(6000)])
    counts = np.array([sum(reply.text == choice for reply in replies) for choice in ARMS.choices])
    # two degrees of freedom: above 13.8 once in a thousand
    assert ((counts - 6000 * chances) ** 2 / (6000 * chances)).sum() < 13.8
    for reply in replies[:20]:
        assert reply.logprobs.tolist() == [pytest.approx(np.log(chances[ARMS.choices.index(reply.text)]))]


def test_likelihoods_are_the_whole_distribution():
    policy = TabularPolicy()
    step(policy, 0)
    trajectories = played(policy, 1)
    batch = pack(trajectories, [each.rewards for each in trajectories])
    likelihoods = policy.likelihoods(batch)
    own = batch.loss_weights != 0
    torch.testing.assert_close(likelihoods.logprobs[own], batch.sampled_logprobs[own])
    torch.testing.assert_close(
        likelihoods.legal_logprobs[own].exp().sum(dim=1), torch.ones(int(own.sum()), dtype=torch.float64)
    )
    chances = likelihoods.legal_logprobs[own].exp()
    torch.testing.assert_close(likelihoods.entropies[own], -(chances * chances.log()).sum(dim=1))
    assert not likelihoods.logprobs[~own].any()


def test_a_frozen_copy_shares_states_and_does_not_move():
    policy = TabularPolicy()
    step(policy, 0)
    copy = policy.freeze()
    asks = [turn.ask for each in played(policy) for turn in each.turns]
    before = copy.probabilities(asks)
    assert (copy.name, copy.version) == ("learner@1", 1)
    for seed in range(3):
        step(policy, seed)
    assert all((a == b).all() for a, b in zip(before, copy.probabilities(asks), strict=True))
    assert not all((a == b).all() for a, b in zip(before, policy.probabilities(asks), strict=True))
    # rows of the learner's batch mean the same to the copy
    trajectories = played(policy, 9)
    batch = pack(trajectories, [each.rewards for each in trajectories])
    for row, each in enumerate(turn for t in trajectories for turn in t.turns):
        (chances,) = copy.probabilities([each.ask])
        logprob = np.log(chances[each.ask.choices.index(each.reply.text)])
        assert float(copy.likelihoods(batch).logprobs[row, 1]) == pytest.approx(logprob)
    with pytest.raises(AssertionError, match="learner@1 is frozen"):
        copy.update(batch, Reinforce())


def test_a_state_met_after_freezing_is_uniform_to_the_copy():
    policy = TabularPolicy(learning_rate=1.0)
    learned(policy, [pulled(policy, 0, COIN)], [1.0], COIN)
    copy = policy.freeze()
    learned(policy, [pulled(policy, 0)], [1.0])
    assert copy.probabilities([ARMS])[0].tolist() == pytest.approx([1 / 3] * 3)
    assert copy.probabilities([COIN])[0].tolist() == policy.probabilities([COIN])[0].tolist()
    assert copy.freeze().name == "learner@1"


def test_saving_and_loading_is_exact(tmp_path):
    policy = TabularPolicy()
    for seed in range(3):
        step(policy, seed)
    policy.save(tmp_path / "learner")
    twin = TabularPolicy(name="other")
    twin.load(tmp_path / "learner")
    assert (twin.name, twin.version) == ("learner", 3)
    for seed in range(3, 6):
        assert step(policy, seed) == step(twin, seed)
    assert policy.state() == twin.state()


def test_a_state_is_a_picture_and_restoring_goes_back_to_it():
    policy = TabularPolicy()
    step(policy, 0)
    state = policy.state()
    later = [step(policy, seed) for seed in (1, 2)]
    policy.restore(state)
    assert policy.state() == state
    assert [step(policy, seed) for seed in (1, 2)] == later


def test_a_frozen_copy_is_restored_beside_its_learner():
    policy = TabularPolicy()
    step(policy, 0)
    copy = policy.freeze()
    step(policy, 1)
    learner_state, copy_state = policy.state(), copy.state()
    asks = [turn.ask for each in played(policy) for turn in each.turns]

    twin = TabularPolicy()
    twin.restore(learner_state)
    twin_copy = twin.freeze()
    twin_copy.restore(copy_state)
    assert (twin_copy.name, twin_copy.version) == ("learner@1", 1)
    for a, b in zip(copy.probabilities(asks), twin_copy.probabilities(asks), strict=True):
        assert a.tolist() == b.tolist()


def test_nothing_asked_and_nothing_learned_is_fine():
    policy = TabularPolicy()
    assert policy.reply([]) == []
    assert policy.probabilities([]) == []
    empty = pack([], [])
    assert policy.update(empty, Reinforce()) == {"loss": 0.0, "gradient_norm": 0.0}
    assert policy.likelihoods(empty).logprobs.shape == (0, 0)
    assert policy.version == 0


def test_free_text_is_refused_in_one_line():
    with pytest.raises(RedQueenError, match="needs games that list their legal replies") as error:
        TabularPolicy().reply([Ask(SEAT, ARMS.messages)])
    assert "\n" not in str(error.value)


def test_a_loss_that_is_not_finite_leaves_the_table_as_it_was():
    policy = TabularPolicy()
    step(policy, 0)
    before = policy.state()
    with pytest.raises(NonFiniteLoss, match="the loss of learner is nan") as error:
        learned_from_nan(policy, pulled(policy, 0, COIN), COIN)
    assert len(error.value.batch) == 1
    assert policy.state()["logits"][: len(before["logits"])] == before["logits"]
    assert policy.version == 1
