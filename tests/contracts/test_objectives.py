"""Every shipped objective keeps the contract, and the contract says what others do wrong."""

import re
from dataclasses import dataclass, replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from redqueen.contracts import objectives as contract
from redqueen.contracts.objectives import Of, check_objective
from redqueen.objectives.additive import Sum
from redqueen.objectives.policy_gradient import Cispo, ClippedRatio, Gspo, Reinforce
from redqueen.objectives.preference import ChosenLikelihood, Dpo, Hinge, Ipo, SimPo, Sppo, StepApo
from redqueen.objectives.regularizers import EntropyBonus, ExactKL, KLPenalty, k1, k2, k3

OF_ROWS = [
    Reinforce(),
    ClippedRatio(),
    ClippedRatio(0.2, 0.28, dual=1.4),
    Cispo(above_one=0.28),
    Cispo(above_one=0.28, below_one=0.2),
    Gspo(),
    Gspo(0.2, 0.28),
    KLPenalty(0.3, k1, weigh_by_ratio=True),
    KLPenalty(0.3, k2),
    KLPenalty(0.3, k3),
    KLPenalty(0.3, k3, weigh_by_ratio=True),
    ExactKL(0.3),
    EntropyBonus(0.1),
    Sum(ClippedRatio(dual=3.0), ExactKL(0.2), EntropyBonus(0.1)),
]
OF_PAIRS = [
    Dpo(),
    Dpo(2.0),
    Dpo(label_smoothing=0.1),
    Dpo(by_token=True),
    Hinge(),
    Ipo(0.5),
    Ipo(by_token=True),
    StepApo(),
    SimPo(),
    Sum(Dpo(), ChosenLikelihood(0.2)),
]
OF_REPLIES = [Sppo(), Sppo(1000.0)]
OBJECTIVES = [
    *((each, Of.ROWS) for each in OF_ROWS),
    *((each, Of.PAIRS) for each in OF_PAIRS),
    *((each, Of.REPLIES) for each in OF_REPLIES),
]


def named(each):
    """What it is, without where it lies in memory: workers must agree on the names of tests."""
    return re.sub(r" at 0x\w+", "", repr(each)) if not isinstance(each, Of) else str(each)


every_objective = pytest.mark.parametrize(("objective", "kind"), OBJECTIVES, ids=named)


@every_objective
def test_every_shipped_objective_keeps_the_contract(objective, kind):
    line = check_objective(objective, kind)
    assert line.startswith(f"{type(objective).__name__} keeps the contract of objectives: additive over {kind}")
    assert "\n" not in line


@every_objective
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 999), part_of=st.lists(st.integers(0, 2), min_size=contract.ROWS, max_size=contract.ROWS))
def test_any_partition_has_the_same_loss_gradient_and_metrics(objective, kind, seed, part_of):
    contract.check_additive(objective, kind, seed, part_of)


@pytest.mark.parametrize("objective", OF_ROWS, ids=named)
def test_objectives_of_rows_have_metrics(objective):
    example = contract.example_of_rows()
    assert objective(example.policy(example.leaf), example.batch)[1]


@pytest.mark.parametrize("objective", [*OF_ROWS, *OF_PAIRS], ids=named)
def test_what_an_objective_compares_is_found_out(objective):
    assert contract.accepted(objective) is (Of.ROWS if objective in OF_ROWS else Of.PAIRS)


def wrong(change):
    """Reinforce with something put on top: `change(per_token, likelihoods, batch)` is the loss."""

    def objective(likelihoods, batch):
        own = batch.loss_weights != 0
        per_token = -torch.where(own, batch.advantages * likelihoods.logprobs, 0.0)
        return change(per_token, likelihoods, batch), {"clipped": float((batch.loss_weights * own).sum())}

    return objective


def summed(per_token, likelihoods, batch):
    return (batch.loss_weights * per_token).sum()


@dataclass(frozen=True)
class Counting:
    """A metric that is a mean of the batch, not a weighted sum."""

    def __call__(self, likelihoods, batch):
        loss, _ = wrong(summed)(likelihoods, batch)
        return loss, {"rows": 1.0}


def masked_late(per_token, likelihoods, batch):
    return (batch.loss_weights * batch.advantages * likelihoods.logprobs.exp()).sum()


@pytest.mark.parametrize(
    ("objective", "complaint"),
    [
        (wrong(lambda per_token, *_: per_token.mean()), "the loss of .* depends on how the batch is cut"),
        (wrong(lambda per_token, *_: per_token), "must be one number, not of shape"),
        (wrong(lambda per_token, *_: per_token.detach().sum()), "has no gradient: it must depend on likelihoods"),
        (wrong(lambda per_token, of, _: summed(per_token, of, _) + of.logprobs.sum()), "loss weight is zero"),
        (
            wrong(lambda per_token, of, batch: summed(per_token, of, batch) / len(batch)),
            "depends on how the batch is cut",
        ),
        (
            wrong(lambda per_token, of, batch: summed(per_token, of, batch) * torch.inf),
            "the loss of objective is -?(inf|nan)",
        ),
        (wrong(masked_late), "loss weight is zero"),
        (Counting(), "rows among the metrics of Counting depends on how the batch is cut"),
        (lambda likelihoods, batch: torch.zeros(()), "must return a loss and metrics, not Tensor"),
        (lambda likelihoods, batch: likelihoods.nothing, "raises AttributeError .* takes \\(likelihoods, batch\\)"),
    ],
)
def test_the_contract_says_what_an_objective_does_wrong(objective, complaint):
    with pytest.raises(AssertionError, match=complaint) as caught:
        check_objective(objective)
    assert "\n" not in str(caught.value)


def test_the_same_objective_without_its_fault_keeps_the_contract():
    assert check_objective(wrong(summed)).endswith("additive over rows, blind where the loss weight is zero")


def test_an_objective_that_reads_the_order_of_the_rows_is_found():
    def first_row(likelihoods, batch):
        loss, metrics = Reinforce()(likelihoods, batch)
        return loss * (1.0 + batch.trajectory[0]), metrics

    with pytest.raises(AssertionError, match=r"depends on the order of the rows|depends on how the batch is cut"):
        check_objective(first_row)
    with pytest.raises(AssertionError, match="depends on the order of the rows"):
        contract.check_order(first_row, Of.ROWS)


def test_a_batch_that_an_objective_refuses_altogether_is_said():
    def refusing(likelihoods, batch):
        return Dpo()(likelihoods, replace(batch, pairs=None))

    with pytest.raises(AssertionError, match=r"takes batches neither of rows, nor of pairs.*needs pairs of replies"):
        check_objective(refusing)
