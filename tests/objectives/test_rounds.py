from random import Random

import pytest
import torch

from redqueen.credit.rewards import payoff, score
from redqueen.objectives.batch import beside, pack, pack_pairs, portion
from redqueen.objectives.rounds import Ceiling, Round, batch_from, batch_state
from redqueen.play.lockstep import play
from redqueen.players.language.reciter import Reciter
from redqueen.players.tabular import TabularPolicy
from redqueen.questions.asking import SOLVE
from redqueen.questions.small.matchups import Matchups
from redqueen.types import Match, RedQueenError


def five():
    """Five pairs and what a reference thinks of them."""
    learner, task = TabularPolicy(), Matchups().task()
    said = [
        score(play([Match(SOLVE, task, {"solver": Reciter(learner, text)})] * 5, Random(0)), payoff) for text in "ab"
    ]
    batch = pack_pairs(*said)
    return beside(batch, learner.likelihoods(batch))


def drawn(found):
    return sorted(set(found.pairs.tolist()))


def test_every_pair_comes_once_in_a_pass():
    round_ = Round(passes=2)
    assert not round_.open
    round_.renew(five())
    rng, seen = Random(0), []
    while round_.open:
        minibatch = round_.draw(2, rng)
        assert float(minibatch.loss_weights.sum()) == pytest.approx(1.0)
        seen += drawn(minibatch)
    assert sorted(seen) == sorted(list(range(5)) * 2)
    assert sorted(seen[:5]) != sorted(seen[:4]) and set(seen[:4]) < set(range(5))
    assert round_.metrics() == {"round/pairs": 5, "round/passes": 2, "round/stopped": 0.0}


def test_pairs_of_equal_texts_are_counted_and_said():
    round_ = Round(passes=1)
    round_.renew(five(), equal=5)
    assert round_.metrics()["round/equal"] == 5 and round_.alarms() == []
    round_.renew(five(), equal=6)
    assert round_.alarms() == ["equal texts: 6 of 11 pairs say the same twice and were left out"]
    resumed = Round(passes=1)
    resumed.restore(round_.state())
    assert resumed.alarms() == round_.alarms()
    round_.renew(five())
    assert "round/equal" not in round_.metrics() and round_.alarms() == []


def test_a_minibatch_larger_than_the_data_is_the_data():
    round_ = Round(passes=1)
    round_.renew(five())
    assert drawn(round_.draw(99, Random(0))) == [0, 1, 2, 3, 4]
    assert not round_.open


def test_a_ceiling_ends_the_iteration_and_not_the_next():
    round_ = Round(9, [Ceiling("preference_margin", 5.0)])
    round_.renew(five())
    round_.observe({"preference_margin": 5.0})
    assert round_.open
    round_.observe({"preference_margin": 5.1})
    assert not round_.open
    assert round_.metrics()["round/stopped"] == 1.0
    round_.renew(five())
    assert round_.open


def test_an_update_takes_a_minibatch_and_closes_the_round_at_its_ceiling():
    class Told:
        """A learner whose margin is the number of its updates."""

        def __init__(self):
            self.sizes = []

        def update(self, batch, objective):
            assert objective == "the objective"
            self.sizes.append(len(drawn(batch)))
            return {"loss": 0.5, "preference_margin": float(len(self.sizes))}

    learner, round_ = Told(), Round(9, [Ceiling("preference_margin", 1.5)])
    round_.renew(five())
    found = [round_.update(learner, 2, "the objective", Random(0)) for _ in range(3)]
    assert [each["loss"] for each in found] == [0.5, 0.5, 0.0]
    assert found[2] == {"loss": 0.0, "gradient_norm": 0.0}
    assert learner.sizes == [2, 2]
    assert Round().update(learner, 2, "the objective", Random(0)) == found[2]


def test_no_pairs_are_nothing_to_learn_from():
    round_ = Round()
    round_.renew(portion(five(), []))
    assert not round_.open
    assert round_.size == 0


def test_it_goes_on_in_the_middle_of_an_iteration():
    def rest(round_, rng):
        found = []
        while round_.open:
            found.append(round_.draw(2, rng).pairs.tolist())
        return found

    round_, rng = Round(2), Random(3)
    round_.renew(five())
    round_.draw(2, rng)
    kept, chance = round_.state(), rng.getstate()
    expected = rest(round_, rng)
    again, later = Round(2), Random()
    again.restore(kept)
    later.setstate(chance)
    assert rest(again, later) == expected


def test_a_batch_is_kept_whole():
    batch = five()
    found = batch_from(batch_state(batch))
    for name in ("tokens", "loss_weights", "sampled_logprobs", "advantages", "versions", "lengths", "pairs"):
        assert torch.equal(getattr(found, name), getattr(batch, name))
    assert found.constraints == batch.constraints
    assert torch.equal(found.reference.logprobs, batch.reference.logprobs)
    assert torch.equal(found.reference.legal_logprobs, batch.reference.legal_logprobs)


def test_what_is_no_round_is_refused():
    with pytest.raises(RedQueenError, match="at least 1, not 0"):
        Round(0)
    with pytest.raises(AssertionError, match="pack_pairs or pack_samples"):
        Round().renew(pack([], []))
