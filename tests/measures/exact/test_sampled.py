from dataclasses import dataclass

import numpy as np
import pytest

from redqueen.chance import derive, uniform
from redqueen.games.kuhn_poker import BET, PASS, KuhnPoker
from redqueen.measures.exact.exploitability import GameTree
from redqueen.measures.exact.known_equilibria import honest_kuhn, kuhn_equilibrium
from redqueen.measures.exact.sampled import sampled_exploitability
from redqueen.objectives.batch import pack
from redqueen.objectives.policy_gradient import Reinforce
from redqueen.players.language.answers import Bracketed, Plain
from redqueen.players.scripted import Constant, Uniform
from redqueen.players.transformer.loading import tiny_model
from redqueen.players.transformer.policy import TransformerPolicy
from redqueen.types import Episode, Outcome, RedQueenError, Reply, Task, Trajectory, Turn

KUHN = GameTree(KuhnPoker())


def estimates(player, samples, count, resamples):
    return [sampled_exploitability(KUHN, player, samples, derive(7, n), resamples=resamples) for n in range(count)]


def covered(player, truth, samples=32, count=10):
    found = estimates(player, samples, count, resamples=80)
    return sum(each.exploitability.low <= truth <= each.exploitability.high for each in found)


def test_intervals_hold_the_exploitability_of_uniform_play():
    # more than 90 of 100 do
    assert covered(Uniform(), 11 / 24) >= 7


def test_intervals_hold_the_zero_of_an_equilibrium():
    # some 85 of 100 do
    assert covered(kuhn_equilibrium(1 / 6), 0.0) >= 5


def test_a_small_sample_of_an_equilibrium_looks_exploitable():
    for samples in (8, 64):
        found = estimates(kuhn_equilibrium(1 / 6), samples, 100, resamples=1)
        assert np.mean([each.uncorrected for each in found]) == pytest.approx(0.21 / np.sqrt(samples), rel=0.12)


def test_the_correction_takes_bias_off():
    found = estimates(kuhn_equilibrium(1 / 6), 16, 12, resamples=60)
    assert np.mean([each.exploitability.mean for each in found]) < 0.8 * np.mean([each.uncorrected for each in found])


def test_more_samples_make_narrower_intervals():
    few, many = (sampled_exploitability(KUHN, Uniform(), samples, 1) for samples in (16, 256))
    widths = [each.exploitability.high - each.exploitability.low for each in (few, many)]
    assert widths[1] == pytest.approx(widths[0] / 4, rel=0.35)
    assert many.exploitability.mean == pytest.approx(11 / 24, abs=0.06)


def test_a_pure_player_is_known_after_one_sample():
    found = sampled_exploitability(KUHN, honest_kuhn(), 1, seed=0)
    assert found.uncorrected == pytest.approx(0.25)
    assert {ask: row.tolist() for ask, row in found.strategy.items()} == {
        ask: row.tolist() for ask, row in KUHN.strategy(honest_kuhn()).items()
    }
    # but not known to be pure: what was heard 64 times is surer than what was heard once
    sure = sampled_exploitability(KUHN, honest_kuhn(), 64, seed=0)
    assert sure.exploitability.low <= 0.25 <= sure.exploitability.high
    assert 0 < sure.exploitability.high - sure.exploitability.low < 0.1
    assert found.exploitability.high - found.exploitability.low > 0.2


@dataclass(frozen=True)
class Mumbler:
    """Bets in 3/8, passes in 1/8 of its replies; says something illegal in 1/4, nothing in 1/4."""

    name: str = "mumbler"

    def reply(self, asks):
        said = (BET, BET, f" {BET}\n", PASS, "fold", "I raise", "", "??")
        chosen = [said[int(8 * uniform(ask.seed))] for ask in asks]
        return [Reply(text, self.name, malformed=text == "??") for text in chosen]


def test_only_legal_replies_make_the_strategy_and_the_others_are_counted():
    found = sampled_exploitability(KUHN, Mumbler(), 400, seed=2)
    assert found.illegal == pytest.approx(1 / 4, abs=0.03)
    assert found.malformed == pytest.approx(1 / 4, abs=0.03)
    assert found.unheard == 0.0
    for row in found.strategy.values():
        assert row == pytest.approx([1 / 4, 3 / 4], abs=0.12)
    truth = KUHN.exploitability({ask: np.array([1 / 4, 3 / 4]) for ask in KUHN.states})
    assert found.exploitability.low <= truth <= found.exploitability.high


@pytest.mark.parametrize(("text", "malformed", "illegal"), [("", 1.0, 0.0), ("check", 0.0, 1.0)])
def test_who_says_nothing_legal_is_taken_for_uniform_and_called_unheard(text, malformed, illegal):
    found = sampled_exploitability(KUHN, Constant(text), 3, seed=0)
    assert (found.malformed, found.illegal, found.unheard) == (malformed, illegal, 1.0)
    assert found.uncorrected == pytest.approx(11 / 24)
    assert all(row.tolist() == [0.5, 0.5] for row in found.strategy.values())
    assert found.exploitability.low < 0.25 < 0.6 < found.exploitability.high  # it could be nearly anything


def test_an_estimate_is_decided_by_its_seed():
    first, again, other = (sampled_exploitability(KUHN, Uniform(), 20, seed, resamples=20) for seed in (3, 3, 4))
    assert (first.exploitability, first.uncorrected) == (again.exploitability, again.uncorrected)
    assert first.uncorrected != other.uncorrected


def test_at_least_one_sample_is_needed():
    with pytest.raises(RedQueenError, match="at least one sample"):
        sampled_exploitability(KUHN, Uniform(), 0, seed=0)


def lesson(policy, ask, text):
    """One turn in which the policy is made to say this."""
    tokens = np.array(policy.format.reply_tokens(text))
    turns = (Turn(ask, Reply(text, policy.name, 0, policy.format.prompt(ask), tokens, np.zeros(len(tokens)))),)
    return Trajectory(Episode("kuhn_poker", Task("t"), 0, turns, Outcome({}), ()), ask.seat, turns, np.zeros(1))


def schooled(share):
    """A tiny model that answers in free text, taught to bet in this share of its replies."""
    policy = TransformerPolicy(
        tiny_model(1, hidden=32), answer=Plain(), constrain=False, max_completion_length=6, learning_rate=1e-2
    )
    lessons = [lesson(policy, ask, text) for ask in KUHN.states for text in (BET, PASS)]
    batch = pack(lessons, [np.array([share]), np.array([1.0 - share])] * 12)
    for _ in range(75):
        policy.update(batch, Reinforce())
    return policy


@pytest.mark.slow
def test_a_language_model_in_free_text_is_measured_by_what_it_says():
    policy = schooled(0.75)
    found = sampled_exploitability(KUHN, policy, 64, seed=5)
    assert found.malformed + found.illegal < 0.1
    assert np.mean([row[1] for row in found.strategy.values()]) == pytest.approx(0.75, abs=0.06)
    # its probabilities of the two whole replies, renormalised, are the strategy that is estimated
    truth = {}
    for ask in KUHN.states:
        batch = pack([lesson(policy, ask, text) for text in ask.choices], [np.ones(1)] * 2)
        chances = policy.likelihoods(batch).logprobs.sum(dim=1).exp().double().numpy()
        truth[ask] = chances / chances.sum()
    assert found.exploitability.low <= KUHN.exploitability(truth) <= found.exploitability.high


def test_a_language_model_that_has_learned_nothing_is_unheard():
    policy = TransformerPolicy(tiny_model(1, hidden=32), answer=Bracketed(), constrain=False, max_completion_length=4)
    found = sampled_exploitability(KUHN, policy, 4, seed=0, resamples=2)
    assert found.malformed + found.illegal == 1.0
    assert found.unheard == 1.0
    assert found.uncorrected == pytest.approx(11 / 24)
