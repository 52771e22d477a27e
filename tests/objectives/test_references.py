from random import Random

import numpy as np
import pytest
import torch

from redqueen.credit.advantages.keys import by_group
from redqueen.credit.group_rewards import WinRate
from redqueen.credit.pairs import best_and_worst
from redqueen.credit.rewards import score
from redqueen.objectives.batch import beside, pack_pairs
from redqueen.objectives.preference import Dpo
from redqueen.objectives.references import Reference, blended, check_start
from redqueen.play.groups import attempts
from redqueen.play.lockstep import play
from redqueen.play.seating import alone
from redqueen.players.tabular import TabularPolicy
from redqueen.questions.asking import SOLVE
from redqueen.questions.comparisons import compared
from redqueen.questions.small.matchups import Matchups
from redqueen.settings.learner import Learner
from redqueen.types import RedQueenError

DOMAIN = Matchups("transitive")
ASK = play(alone(SOLVE, [DOMAIN.task()], TabularPolicy()), Random(0))[0].turns[0].ask


def pairs(learner, count=8):
    rng = Random(1)
    replies = compared(DOMAIN.oracle, attempts(SOLVE, [DOMAIN.task()], learner, count, rng), rng)
    chosen, rejected = best_and_worst(score(replies, WinRate()), by_group)
    return pack_pairs(chosen, rejected)


def chances(policy):
    (found,) = policy.probabilities([ASK])
    return found


def trained(learner, steps=3):
    for _ in range(steps):
        batch = pairs(learner)
        learner.update(beside(batch, learner.freeze().likelihoods(batch)), Dpo(1.0))
    return chances(learner)


@pytest.mark.parametrize("model", ["tabular", "tiny"])
def test_what_each_reference_follows(model):
    learner = Learner(model=model).build(0)
    start = chances(learner)
    references = {follows: Reference(learner, follows, decay=0.75) for follows in ("initial", "last", "average")}
    end = trained(learner)
    assert not np.allclose(start, end, atol=1e-4)
    for reference in references.values():
        assert np.allclose(chances(reference.policy), start, atol=1e-6)
        reference.refresh()
    assert np.allclose(chances(references["initial"].policy), start, atol=1e-6)
    assert np.allclose(chances(references["last"].policy), end, atol=1e-6)
    average = chances(references["average"].policy)
    assert not np.allclose(average, start, atol=1e-4) and not np.allclose(average, end, atol=1e-4)
    assert np.all((average - start) * (end - start) >= -1e-6)  # between the two


def test_a_moving_average_of_logits_by_hand():
    learner = TabularPolicy()
    reference = Reference(learner, "average", decay=0.75)
    learner.probabilities([ASK])
    learner.restore({**learner.state(), "logits": [[4.0, 0.0, -4.0]], "version": 9})
    reference.refresh()
    assert reference.policy.state()["logits"] == [[1.0, 0.0, -1.0]]
    assert reference.policy.name == "learner@9"
    reference.refresh()
    assert reference.policy.state()["logits"] == [[1.75, 0.0, -1.75]]


def test_only_real_numbers_are_mixed():
    one = {"name": "a", "version": 1, "list": [0.0, 2], "weights": {"w": torch.zeros(2), "n": torch.tensor([3])}}
    other = {"name": "b", "version": 5, "list": [1.0, 4], "weights": {"w": torch.ones(2), "n": torch.tensor([7])}}
    found = blended(one, other, 0.25)
    assert (found["name"], found["version"], found["list"]) == ("b", 5, [0.75, 4])
    assert found["weights"]["w"].tolist() == [0.75, 0.75]
    assert found["weights"]["n"].tolist() == [7]


@pytest.mark.parametrize("model", ["tabular", "tiny"])
@pytest.mark.parametrize("follows", ["initial", "last", "average"])
def test_it_comes_back_as_it_was(model, follows):
    learner = Learner(model=model).build(0)
    reference = Reference(learner, follows)
    trained(learner)
    reference.refresh()
    kept, expected = reference.state(), chances(reference.policy)
    trained(learner)
    again = Reference(learner, follows)
    again.restore(kept)
    assert np.array_equal(chances(again.policy), expected)
    assert again.policy.name == reference.policy.name


def test_what_it_cannot_follow_is_refused():
    with pytest.raises(RedQueenError, match="initial, last or average, not 'previous'"):
        Reference(TabularPolicy(), "previous")
    with pytest.raises(RedQueenError, match="below 1, not 1"):
        Reference(TabularPolicy(), "average", 1.0)


@pytest.mark.parametrize("model", ["tabular", "tiny"])
def test_a_run_that_does_not_start_from_its_reference_is_refused(model):
    learner = Learner(model=model).build(0)
    reference = Reference(learner, "initial")
    batch = pairs(learner)
    check_start(learner, beside(batch, reference.likelihoods(batch)))
    trained(learner)
    with pytest.raises(RedQueenError, match=r"learner and its reference should be one policy .* nats apart"):
        check_start(learner, beside(batch, reference.likelihoods(batch)))
    check_start(learner, batch)  # nothing to compare with


def shares_covered(learner, steps=60, decay=0.95):
    """Of the way from where the learner was to where it went in one stride: how far its moving average came after so
    many refreshes, and the average after them."""
    reference = Reference(learner, "average", decay)
    start = learner.state()
    weights = {key: value + 0.01 * (1.0 + value.abs()) for key, value in start["weights"].items()}
    learner.restore({**start, "weights": weights, "optimizer": {**start["optimizer"], "masters": weights}})
    for _ in range(steps):
        reference.refresh()
    now, found = learner.state()["weights"], reference.policy.state()["weights"]
    way = torch.cat([(now[key] - start["weights"][key]).float().flatten() for key in now])
    gone = torch.cat([(found[key] - start["weights"][key]).float().flatten() for key in now])
    return float(gone @ way / (way @ way)), reference


def test_an_average_of_the_factors_of_an_adapter_is_refused():
    """B A and B' A' are averaged by no average of B, B' and of A, A': (1 + 0) / 2 x (1 + 0) / 2 is not (1 + 0) / 2."""
    adapted = Learner(model="tiny:hidden=16,heads=2", lora_rank=2).build(0)
    with pytest.raises(RedQueenError, match="trains a LoRA adapter, whose two factors have no average of their own"):
        Reference(adapted, "average")
    assert Reference(adapted, "last").policy.name != adapted.name


def test_a_moving_average_moves_in_few_bits_as_in_many():
    made = {"model": "tiny:hidden=16,heads=2"}
    exact, _ = shares_covered(Learner(**made, dtype="float32").build(0))
    rounded, _ = shares_covered(Learner(**made, dtype="bfloat16").build(0))
    assert exact == pytest.approx(1 - 0.95**60, abs=1e-3)
    assert rounded == pytest.approx(exact, abs=0.02)


def test_a_moving_average_in_few_bits_comes_back_exactly():
    learner = Learner(model="tiny:hidden=16,heads=2", dtype="bfloat16").build(0)
    _, reference = shares_covered(learner, steps=3)
    again = Reference(learner, "average", 0.95)
    again.restore(reference.state())
    for _ in range(3):
        reference.refresh()
        again.refresh()
    one, other = reference.state()["policy"]["weights"], again.state()["policy"]["weights"]
    assert all(torch.equal(one[key], other[key]) and one[key].dtype == torch.float32 for key in one)
    assert {value.dtype for value in again.policy.state()["weights"].values()} == {torch.bfloat16}
