import json
from random import Random

import numpy as np
import pytest

from redqueen.credit.advantages.statistics import GeneralizedAdvantage, RewardToGo, Unbaselined
from redqueen.credit.rewards import payoff, score
from redqueen.games.kuhn_poker import KuhnPoker
from redqueen.measures.exact.exploitability import GameTree
from redqueen.objectives.batch import pack
from redqueen.objectives.policy_gradient import Reinforce
from redqueen.play.lockstep import play
from redqueen.play.seating import mirror
from redqueen.players.tabular import TabularPolicy
from redqueen.players.tabular_critic import TabularCritic
from redqueen.types import Ask, Episode, Message, Outcome, RedQueenError, Reply, Seat, Task, Trajectory, Turn

KUHN = GameTree(KuhnPoker())
SEAT = Seat("first")


def trajectory(*texts):
    turns = tuple(Turn(Ask(SEAT, (Message("game", text),), seed=n), Reply("yes")) for n, text in enumerate(texts))
    return Trajectory(Episode("talk", Task("t"), 0, turns, Outcome({}), (SEAT,)), SEAT, turns, np.zeros(len(turns)))


def played(policy, seed, count=600):
    tasks = KUHN.game.tasks()
    matches = mirror(KUHN.game, [tasks[n % 6] for n in range(count)], policy)
    return score(play(matches, Random(seed)), payoff)


@pytest.fixture(scope="module")
def policy():
    """A table that has learned a little, so that it is neither uniform nor an equilibrium."""
    made = TabularPolicy(learning_rate=6.0)
    for seed in range(4):
        trajectories = played(made, seed, 300)
        made.update(pack(trajectories, [each.rewards for each in trajectories]), Reinforce())
    return made


class Perfect:
    """A critic that knows the exact value of every information state."""

    def __init__(self, policy):
        self.exact = dict(zip(KUHN.states, KUHN.state_values(KUHN.strategy(policy)), strict=True))

    def values(self, trajectories):
        return [np.array([self.exact[turn.ask] for turn in each.turns]) for each in trajectories]


def test_one_update_by_hand():
    critic = TabularCritic(learning_rate=0.5)
    batch = [trajectory("a", "b"), trajectory("a")]
    assert [each.tolist() for each in critic.values(batch)] == [[0.0, 0.0], [0.0]]
    metrics = critic.update(batch, [np.array([1.0, -3.0]), np.array([2.0])])
    # half the way to the means 1.5 and -3; half the mean of 1, 9, 4
    assert [each.tolist() for each in critic.values(batch)] == [[0.75, -1.5], [0.75]]
    assert metrics == {"value_loss": pytest.approx(14 / 6)}
    assert critic.values([trajectory("never seen")])[0].tolist() == [0.0]


def test_a_rate_of_one_takes_the_mean_of_the_targets():
    critic = TabularCritic(learning_rate=1.0)
    critic.update([trajectory("a")], [np.array([7.0])])
    critic.update([trajectory("a"), trajectory("a")], [np.array([1.0]), np.array([2.0])])
    assert critic.values([trajectory("a")])[0].tolist() == [1.5]


@pytest.mark.slow
def test_values_converge_to_those_of_the_information_states(policy):
    critic = TabularCritic(learning_rate=0.3)
    exact = dict(zip(KUHN.states, KUHN.state_values(KUHN.strategy(policy)), strict=True))
    assert max(abs(value) for value in exact.values()) > 1.0
    estimate = GeneralizedAdvantage(critic, decay=0.8)
    for seed in range(40):
        critic.learning_rate = 0.3 if seed < 12 else 0.05
        trajectories = played(policy, seed)
        critic.update(trajectories, estimate.with_targets(trajectories)[1])
    found = {
        turn.ask: value
        for each, values in zip(trajectories, critic.values(trajectories), strict=True)
        for turn, value in zip(each.turns, values, strict=True)
    }
    assert set(found) == set(exact)
    for ask, value in exact.items():
        assert found[ask] == pytest.approx(value, abs=0.1)
    assert np.mean([abs(found[ask] - value) for ask, value in exact.items()]) < 0.03


def test_a_perfect_critic_takes_the_variance_of_the_values_off_the_variance_of_credit(policy):
    trajectories = played(policy, 99, 3000)
    critic = Perfect(policy)
    plain = np.concatenate(Unbaselined(RewardToGo())(trajectories))
    judged = np.concatenate(GeneralizedAdvantage(critic)(trajectories))
    values = np.concatenate(critic.values(trajectories))
    assert judged.mean() == pytest.approx(0.0, abs=0.05)
    # what is left is what no critic can know: Var(G) = Var(V) + Var(G - V)
    assert judged.var() == pytest.approx(plain.var() - values.var(), rel=0.05)
    assert judged.var() < 0.7 * plain.var()


@pytest.mark.slow
def test_a_learned_critic_takes_most_of_it_off_too(policy):
    critic = TabularCritic(learning_rate=0.3)
    estimate = GeneralizedAdvantage(critic)
    for seed in range(12):
        trajectories = played(policy, seed, 300)
        critic.update(trajectories, estimate.with_targets(trajectories)[1])
    fresh = played(policy, 99, 3000)
    variances = [np.concatenate(each).var() for each in (estimate(fresh), GeneralizedAdvantage(Perfect(policy))(fresh))]
    assert variances[0] == pytest.approx(variances[1], rel=0.05)


def test_a_state_survives_json():
    critic, other = TabularCritic(), TabularCritic()
    batch = [trajectory("a", "b"), trajectory("c")]
    critic.update(batch, [np.array([0.1, 0.2]), np.array([1 / 3])])
    other.update([trajectory("d")], [np.array([5.0])])  # what it knew is forgotten
    other.restore(json.loads(json.dumps(critic.state())))
    assert other.state() == critic.state()
    assert [each.tolist() for each in other.values(batch)] == [each.tolist() for each in critic.values(batch)]
    assert other.values([trajectory("d")])[0].tolist() == [0.0]


def test_nothing_to_learn_changes_nothing():
    critic = TabularCritic()
    assert critic.update([], []) == {"value_loss": 0.0}
    assert critic.values([]) == []


@pytest.mark.parametrize("rate", [0.0, -0.1, 1.5])
def test_a_rate_that_cannot_converge_is_refused(rate):
    with pytest.raises(RedQueenError, match="above 0 and at most 1"):
        TabularCritic(rate)


def test_a_target_that_is_not_finite_leaves_the_table_as_it_was():
    critic = TabularCritic()
    critic.update([trajectory("a")], [np.array([1.0])])
    before = critic.state()
    with pytest.raises(RedQueenError, match="not finite"):
        critic.update([trajectory("b", "a")], [np.array([1.0, np.nan])])
    assert critic.state() == before
