"""Two learners on one model, each with an adapter of its own; and words that nobody sampled."""

import numpy as np
import pytest
import torch

from redqueen.objectives.batch import pack
from redqueen.objectives.imitation import Imitation
from redqueen.objectives.policy_gradient import Reinforce
from redqueen.players.language.answers import Boxed
from redqueen.players.language.reciter import Reciter
from redqueen.players.transformer.policy import TransformerPolicy
from redqueen.types import Ask, Episode, Message, Outcome, RedQueenError, Seat, Task, Trajectory, Turn

SEAT = Seat("solver")
ASK = Ask(SEAT, (Message("game", "Your move?"),), ("bet", "pass", "king"), seed=5)
OPEN = Ask(SEAT, (Message("game", "Say bet."),), seed=6)


def told(player, ask=ASK):
    (reply,) = player.reply([ask])
    turns = (Turn(ask, reply),)
    return Trajectory(Episode("talk", Task("t"), 0, turns, Outcome({}), ()), SEAT, turns, np.zeros(1))


def learnt(policy, trajectory, objective=Reinforce()):
    return policy.update(pack([trajectory], [np.ones(1)]), objective)


def test_a_sibling_starts_alike_and_learns_alone(made):
    policy = TransformerPolicy(made(rank=4), learning_rate=1e-2)
    learnt(policy, told(policy))
    sibling = policy.sibling("proposer")
    start = policy.probabilities([ASK])[0]
    assert (sibling.name, sibling.version, sibling.learns) == ("proposer", 0, True)
    assert sibling.probabilities([ASK])[0].tolist() == start.tolist()
    for _ in range(2):
        learnt(sibling, told(sibling))
    assert policy.probabilities([ASK])[0].tolist() == start.tolist()
    moved = sibling.probabilities([ASK])[0]
    assert moved.tolist() != start.tolist()
    learnt(policy, told(policy))
    assert sibling.probabilities([ASK])[0].tolist() == moved.tolist()
    assert policy.probabilities([ASK])[0].tolist() != start.tolist()


def test_a_sibling_learns_as_the_learner_itself_would(made):
    policy, twin = (TransformerPolicy(made(rank=4), learning_rate=1e-2) for _ in range(2))
    sibling = policy.sibling("learner")
    trajectory = told(twin)
    assert learnt(sibling, trajectory) == learnt(twin, trajectory)
    for key, weight in sibling._own.items():
        assert torch.equal(weight, twin.trainable[key])


def test_each_of_two_siblings_is_saved_and_goes_on_by_itself(made, tmp_path):
    policy = TransformerPolicy(made(rank=4), learning_rate=1e-2)
    sibling = policy.sibling("proposer")
    learnt(sibling, told(sibling))
    for one in (policy, sibling):
        one.save(tmp_path / one.name)
    other = TransformerPolicy(made(rank=4), learning_rate=1e-2)
    again = other.sibling("proposer")
    other.load(tmp_path / "learner")
    again.load(tmp_path / "proposer")
    assert (again.name, again.version, other.version) == ("proposer", 1, 0)
    assert again.probabilities([ASK])[0].tolist() == sibling.probabilities([ASK])[0].tolist()
    assert other.probabilities([ASK])[0].tolist() == policy.probabilities([ASK])[0].tolist()
    trajectory = told(sibling)
    assert learnt(again, trajectory) == learnt(sibling, trajectory)


def test_a_frozen_copy_of_a_sibling_stays_as_it_is(made):
    sibling = TransformerPolicy(made(rank=4), learning_rate=1e-2).sibling("proposer")
    copy = sibling.freeze()
    before = copy.probabilities([ASK])[0].tolist()
    learnt(sibling, told(sibling))
    assert (copy.name, copy.learns) == ("proposer@0", False)
    assert copy.probabilities([ASK])[0].tolist() == before


def test_a_model_without_adapters_has_no_siblings(made):
    with pytest.raises(RedQueenError, match="set --lora-rank"):
        TransformerPolicy(made()).sibling("proposer")


def test_what_is_recited_becomes_likely_and_counts_as_nobodys_sample(made):
    policy = TransformerPolicy(made(), learning_rate=1e-2, constrain=False, max_completion_length=8)
    trajectory = told(Reciter(policy, "bet on the king"), OPEN)
    (turn,) = trajectory.turns
    assert (turn.reply.text, turn.reply.player, turn.reply.recited) == ("bet on the king", "learner", True)
    assert turn.reply.tokens.tolist() == list(policy.format.reply_tokens("bet on the king"))
    losses = [learnt(policy, trajectory, Imitation()) for _ in range(30)]
    assert losses[-1]["imitation_loss"] < 0.1 < 1.0 < losses[0]["imitation_loss"]
    assert all("sampler_mismatch_max" not in metrics for metrics in losses)
    assert policy.reply([OPEN])[0].text == "bet on the king"


def test_what_is_recited_is_read_in_the_format_of_the_learner(made):
    policy = TransformerPolicy(made(), constrain=False, answer=Boxed(), max_completion_length=8)
    (reply,) = Reciter(policy, r"It is high. \boxed{bet}").reply([OPEN])
    assert (reply.thought, reply.text, reply.malformed) == ("It is high.", "bet", False)
    (bare,) = Reciter(policy, "bet").reply([OPEN])
    assert bare.malformed


def test_a_learner_forgets_for_its_copies_and_for_those_who_keep_its_time(made):
    learner = TransformerPolicy(made(), constrain=False, max_completion_length=4)
    copy = learner.freeze()
    other = TransformerPolicy(made(seed=1), constrain=False, max_completion_length=4).freeze().timed_by(learner)
    for player in (learner, copy, other):
        player.reply([OPEN])
        assert len(player.store) > 0
    learner.forget()
    assert [len(player.store) for player in (learner, copy, other)] == [0, 0, 0]
