from dataclasses import replace
from random import Random

import numpy as np
import pytest
import torch

from redqueen.credit.rewards import payoff, score
from redqueen.objectives.batch import beside, pack, pack_pairs, portion, take
from redqueen.objectives.packed import PackedRows, joined
from redqueen.objectives.rounds import Ceiling, Round
from redqueen.play.lockstep import play
from redqueen.players.language.reciter import Reciter
from redqueen.players.tabular import TabularPolicy
from redqueen.questions.asking import SOLVE
from redqueen.questions.small.matchups import Matchups
from redqueen.types import (
    Ask,
    Episode,
    Likelihoods,
    Match,
    Outcome,
    RedQueenError,
    Reply,
    Seat,
    Task,
    Trajectory,
    Turn,
)


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
    rng, seen, left = Random(0), [], []
    while round_.open:
        minibatch = round_.draw(2, rng)
        left.append(round_.updates_left())
        assert float(minibatch.loss_weights.sum()) == pytest.approx(1.0)
        seen += drawn(minibatch)
    assert sorted(seen) == sorted(list(range(5)) * 2)
    assert sorted(seen[:5]) != sorted(seen[:4]) and set(seen[:4]) < set(range(5))
    assert round_.metrics() == {"round/pairs": 5, "round/passes": 2, "round/stopped": 0.0}
    assert left == [4, 3, 2, 1, 0]


def test_data_of_a_later_iteration_join_those_before_and_all_of_them_come_anew():
    """Listed replies too, each with what could have been said in its place."""
    data, round_, rng = replace(five(), reference=None), Round(passes=1), Random(0)
    assert any(data.constraints)
    round_.grow(data)
    round_.draw(5, rng)
    assert not round_.open
    round_.grow(data)
    assert round_.size == 10 and round_.open
    found = round_.draw(10, rng)
    assert drawn(found) == list(range(10)) and found.constraints == data.constraints * 2
    round_.grow(take(data, torch.arange(0)))  # an iteration of which nothing was kept
    assert round_.size == 10 and round_.open


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


def same(found, batch):
    names = ("tokens", "loss_weights", "sampled_logprobs", "advantages", "versions", "recited", "trajectory", "lengths")
    for name in (*names, "pairs"):
        assert torch.equal(getattr(found, name), getattr(batch, name)), name
        assert getattr(found, name).dtype == getattr(batch, name).dtype, name
    assert found.constraints == batch.constraints
    for name in ("logprobs", "entropies", "legal_logprobs"):
        ours, theirs = getattr(found.reference, name), getattr(batch.reference, name)
        assert ours is theirs is None or torch.equal(ours, theirs), name


def test_rows_without_padding_are_given_back_to_the_bit():
    for batch in (five(), uneven(6, seed=1)):
        packed = PackedRows(batch)
        for found in (packed, PackedRows.restored(packed.state())):
            rows = torch.tensor([3, 0, 4])
            same(found.take(rows), take(batch, rows))
            same(found.take(torch.arange(len(batch))), batch)


def uneven(count, seed=0, long=4, forced=False):
    """Pairs of replies of different lengths to prompts of different lengths, and what a reference thinks of them; one
    of the pairs is `long` times as long as the others, and the first token of each reply may be `forced`."""
    generator = np.random.default_rng(seed)
    sides = []
    for pair in range(count):
        prompt = generator.integers(1, 99, generator.integers(2, 5) * (long if pair == 1 else 1))
        for _ in range(2):
            words = generator.integers(1, 99, generator.integers(2, 6) * (long if pair == 1 else 1))
            reply = Reply("x", "learner", 3, prompt, words, generator.normal(size=len(words)), recited=bool(pair % 2))
            if forced:
                reply = replace(reply, legal_tokens=((int(words[0]),), *[tuple(range(99))] * (len(words) - 1)))
            turns = (Turn(Ask(Seat("solver"), ()), reply),)
            sides.append(
                Trajectory(Episode("any", Task("t"), 0, turns, Outcome({}), ()), Seat("solver"), turns, np.zeros(1))
            )
    batch = pack_pairs(sides[::2], sides[1::2], margins=generator.uniform(0.5, 2.0, count))
    own = batch.loss_weights != 0
    logprobs, entropies = (
        torch.where(own, torch.from_numpy(generator.normal(size=own.shape)).float(), 0.0) for _ in range(2)
    )
    return beside(batch, Likelihoods(logprobs, entropies, None))


@pytest.mark.parametrize("forced", [(False, False), (True, False), (False, True), (True, True)])
def test_rows_packed_in_parts_are_those_packed_at_once(forced):
    """Every pair counts the same, in whichever part it was."""
    first, second = uneven(5, seed=1, forced=forced[0]), uneven(3, seed=2, long=1, forced=forced[1])
    together = joined([PackedRows(first), PackedRows(second)])
    assert together.pairs.tolist() == [number for number in range(8) for _ in range(2)]
    found = together.take(torch.arange(16))
    assert found.tokens.shape == (16, first.tokens.shape[1])
    width = second.tokens.shape[1]
    assert torch.equal(found.tokens[:10], first.tokens) and torch.equal(found.tokens[10:, :width], second.tokens)
    for name in ("advantages", "versions", "recited", "sampled_logprobs"):
        assert torch.equal(getattr(found, name)[:10], getattr(first, name)), name
        assert torch.equal(getattr(found, name)[10:, :width], getattr(second, name)), name
        assert not getattr(found, name)[10:, width:].any(), name
    assert torch.equal(found.reference.logprobs[:10], first.reference.logprobs)
    assert found.loss_weights.sum(dim=1).tolist() == pytest.approx([1 / 16] * 16)


def test_pairs_of_uneven_lengths_take_a_fraction_of_their_padded_batch():
    batch = uneven(400, long=40)
    tensors = [
        getattr(batch, name) for name in ("tokens", "loss_weights", "sampled_logprobs", "advantages", "versions")
    ]
    padded = sum(each.numel() * each.element_size() for each in tensors)
    assert PackedRows(batch).bytes < padded / 20
    together = int(batch.lengths.sum())
    recited = replace(batch, sampled_logprobs=torch.zeros_like(batch.sampled_logprobs))
    assert PackedRows(recited).bytes < 14 * together + 60 * len(batch)  # 5 a token and 8 of the reference, 60 a row


def test_data_that_can_be_made_again_are_in_no_checkpoint_and_go_on_where_they_were():
    def rest(round_, rng):
        return [round_.draw(2, rng).pairs.tolist() for _ in range(4)]

    round_, rng = Round(2, remade=True), Random(3)
    round_.add(five(), equal=2)
    round_.draw(2, rng)
    kept, chance = round_.state(), rng.getstate()
    assert kept["rows"] is None
    expected = rest(round_, rng)
    again, later = Round(2, remade=True), Random()
    again.restore(kept)
    later.setstate(chance)
    assert again.size == 0
    again.add(five(), equal=2)
    assert rest(again, later) == expected
    assert again.metrics()["round/equal"] == 2


def test_what_is_no_round_is_refused():
    with pytest.raises(RedQueenError, match="at least 1, not 0"):
        Round(0)
    with pytest.raises(AssertionError, match="pack_pairs or pack_samples"):
        Round().renew(pack([], []))
