"""What every player must keep, and every policy besides."""

from collections import Counter
from dataclasses import dataclass
from random import Random

import numpy as np
import pytest
import torch

from redqueen.chance import derive
from redqueen.credit.rewards import payoff, score
from redqueen.games.talk import told
from redqueen.objectives.batch import pack
from redqueen.objectives.policy_gradient import Reinforce
from redqueen.play.lockstep import play
from redqueen.players.language.answers import Boxed
from redqueen.players.scripted import FirstChoice, Uniform
from redqueen.players.tabular import TabularPolicy
from redqueen.players.transformer.loading import add_lora, tiny_model
from redqueen.players.transformer.policy import TransformerPolicy
from redqueen.types import Ask, Match, Message, Outcome, Reply, Seat, Task


def listed():
    return TransformerPolicy(tiny_model(3, hidden=32), learning_rate=1e-2)


def adapted():
    return TransformerPolicy(add_lora(tiny_model(3, hidden=32), rank=2), learning_rate=1e-2)


def free():
    return TransformerPolicy(tiny_model(3, hidden=32), learning_rate=1e-2, constrain=False, max_completion_length=6)


def boxed():
    return TransformerPolicy(
        tiny_model(3, hidden=32), learning_rate=1e-2, constrain=False, answer=Boxed(), max_completion_length=6
    )


POLICIES = (TabularPolicy, listed, adapted, free, boxed)
OPEN = (TabularPolicy, listed, adapted, Uniform, FirstChoice)
CHOICES = (("bet", "pass"), ("1", "10", "100"), ("be", "bet", "better", "no"), ("yes",))


@dataclass(frozen=True)
class Questions:
    """Two seats are asked at once, each in a conversation of its own that grows, or afresh every time."""

    name: str = "questions"
    roles: tuple[str, ...] = ("left", "right")

    def tasks(self):
        return [Task(f"{kind}-{n}", kind) for kind in ("growing", "fresh") for n in range(3)]

    def play(self, task, rng):
        shown = {role: told(f"Begin with {task.id}.") for role in self.roles}
        for number, choices in enumerate(CHOICES):
            asks = [Ask(Seat(role), messages, choices) for role, messages in shown.items()]
            replies = yield asks
            for role, reply in zip(self.roles, replies, strict=True):
                after = (Message(role, reply.text), *told(f"Question {number}?"))
                shown[role] = (*shown[role], *after) if task.kind == "growing" else told(f"{task.id}: {number}?")
        return Outcome({Seat("left"): 1.0, Seat("right"): -1.0})


GAME = Questions()


def played(player, count=12, seed=0):
    tasks = GAME.tasks()
    matches = [Match(GAME, tasks[n % 6], dict.fromkeys(GAME.roles, player), derive(seed, n)) for n in range(count)]
    return score(play(matches, Random(seed)), payoff)


def asks_of(player):
    return [turn.ask for each in played(player) for turn in each.turns]


def reseeded(ask, seed):
    return Ask(ask.seat, ask.messages, ask.choices, ask.past, seed)


def said(reply):
    return (reply.text, reply.thought, reply.tokens.tolist(), reply.truncated, reply.malformed)


@pytest.fixture(params=dict.fromkeys((*POLICIES, *OPEN)), ids=lambda made: made.__name__)
def player(request):
    return request.param()


@pytest.fixture(params=POLICIES, ids=lambda made: made.__name__)
def policy(request):
    """One that has learned a little, so that nothing is uniform by accident."""
    made = request.param()
    trajectories = played(made, 4)
    made.update(pack(trajectories, [each.rewards + 0.3 for each in trajectories]), Reinforce())
    return made


@pytest.fixture(params=OPEN, ids=lambda made: made.__name__)
def open_player(request):
    return request.param()


def test_a_reply_is_the_same_alone_and_in_company(player):
    asks = asks_of(player)
    together = player.reply(asks)
    shuffled = list(range(len(asks)))
    Random(1).shuffle(shuffled)
    for number, reply in zip(shuffled, player.reply([asks[n] for n in shuffled]), strict=True):
        assert said(reply) == said(together[number])
    for number in range(0, len(asks), 7):
        (alone,) = player.reply([asks[number]])
        assert said(alone) == said(together[number])


def test_every_ask_gets_a_reply_in_its_player_s_name(player):
    replies = player.reply(asks_of(player))
    assert {type(reply) for reply in replies} == {Reply}
    assert {reply.player for reply in replies} == {player.name}
    assert player.reply([]) == []


def test_the_seed_decides(policy):
    ask = next(ask for ask in asks_of(policy) if len(ask.choices) > 1)
    assert len({str(said(reply)) for reply in policy.reply([reseeded(ask, 5)] * 20)}) == 1
    assert len({str(said(reply)) for reply in policy.reply([reseeded(ask, seed) for seed in range(60)])}) > 1


def test_a_policy_rates_its_own_words_as_it_reported_them(policy):
    trajectories = played(policy)
    batch = pack(trajectories, [each.rewards for each in trajectories])
    own = batch.loss_weights != 0
    rated = policy.likelihoods(batch)
    torch.testing.assert_close(rated.logprobs[own].double(), batch.sampled_logprobs[own], atol=2e-5, rtol=1e-5)
    assert (rated.entropies[own] >= 0).all()
    assert (rated.logprobs[own] <= 0).all()


def test_reported_words_fit_together(policy):
    for each in played(policy):
        for turn in each.turns:
            reply = turn.reply
            assert reply.tokens.shape == reply.logprobs.shape
            assert len(reply.tokens) > 0 < len(reply.prompt_tokens)
            assert reply.version == policy.version == 1
            if reply.legal_tokens:
                assert tuple(reply.tokens.tolist()) in reply.legal_tokens
                assert reply.text in turn.ask.choices


def test_rating_changes_nothing(policy):
    trajectories = played(policy)
    batch = pack(trajectories, [each.rewards for each in trajectories])
    first, second = policy.likelihoods(batch), policy.likelihoods(batch)
    assert torch.equal(first.logprobs, second.logprobs)
    assert policy.version == 1


def test_an_update_makes_rewarded_words_likelier(policy):
    trajectories = played(policy)
    batch = pack(trajectories, [np.ones_like(each.rewards) for each in trajectories])
    own = batch.loss_weights != 0
    before = policy.likelihoods(batch).logprobs[own].sum()
    policy.learning_rate = policy.learning_rate / 100
    policy.update(batch, Reinforce())
    assert policy.likelihoods(batch).logprobs[own].sum() > before
    assert policy.version == 2


def test_a_frozen_copy_answers_as_its_learner_did(policy):
    asks = asks_of(policy)
    copy = policy.freeze()
    assert copy.name == f"{policy.name}@{policy.version}"
    then = [said(reply) for reply in policy.reply(asks)]
    trajectories = played(policy)
    policy.learning_rate = policy.learning_rate * 50
    policy.update(pack(trajectories, [np.ones_like(each.rewards) for each in trajectories]), Reinforce())
    assert [said(reply) for reply in copy.reply(asks)] == then
    assert [said(reply) for reply in policy.reply(asks)] != then


def test_state_and_restore_go_back(policy):
    state = policy.state()
    asks = asks_of(policy)
    then = [said(reply) for reply in policy.reply(asks)]
    trajectories = played(policy)
    policy.update(pack(trajectories, [each.rewards for each in trajectories]), Reinforce())
    policy.restore(state)
    assert policy.version == 1
    assert [said(reply) for reply in policy.reply(asks)] == then


def test_saved_and_loaded_is_the_same_policy(policy, tmp_path, request):
    policy.save(tmp_path / policy.name)
    twin = request.node.callspec.params["policy"]()
    twin.load(tmp_path / policy.name)
    asks = asks_of(policy)
    assert [said(reply) for reply in twin.reply(asks)] == [said(reply) for reply in policy.reply(asks)]
    assert (twin.name, twin.version) == (policy.name, policy.version)


def test_probabilities_are_those_of_the_replies(open_player):
    ask = next(ask for ask in asks_of(open_player) if len(ask.choices) == 2)
    (chances,) = open_player.probabilities([ask])
    assert chances.shape == (2,)
    assert chances.sum() == pytest.approx(1.0)
    count = 2000
    told = Counter(reply.text for reply in open_player.reply([reseeded(ask, derive(9, n)) for n in range(count)]))
    deviation = np.sqrt(count * chances[0] * chances[1])
    assert abs(told[ask.choices[0]] - count * chances[0]) <= 4 * deviation
