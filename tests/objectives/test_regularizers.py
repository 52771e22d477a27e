import math

import pytest
import torch

from redqueen.objectives.additive import Sum, weighted_sum
from redqueen.objectives.policy_gradient import ClippedRatio, Reinforce
from redqueen.objectives.regularizers import (
    EntropyBonus,
    EntropyTarget,
    ExactKL,
    KLPenalty,
    adapted,
    covariance_pull,
    divergence,
    k1,
    k2,
    k3,
    with_entropy,
    with_k3,
)
from redqueen.types import Batch, Likelihoods, RedQueenError

INF = float("inf")


def tensor(rows):
    return torch.tensor(rows, dtype=torch.float64)


def batch(weights, sampled, reference=None, advantages=None):
    return Batch(
        tokens=torch.zeros(weights.shape, dtype=torch.int64),
        loss_weights=weights,
        sampled_logprobs=sampled,
        advantages=torch.zeros_like(weights) if advantages is None else advantages,
        versions=torch.zeros(weights.shape, dtype=torch.int64),
        recited=torch.zeros_like(torch.zeros(weights.shape, dtype=torch.int64), dtype=torch.bool),
        lengths=torch.full((len(weights),), weights.shape[1]),
        trajectory=torch.arange(len(((),) * len(weights))),
        constraints=((),) * len(weights),
        reference=reference,
    )


def rated(logprobs, legal=None):
    return Likelihoods(logprobs, torch.zeros_like(logprobs), legal)


# --- example 2 and 11: three sequences -------------------------------------------------------

MASK = tensor([[1, 1, 0, 0], [1, 1, 1, 1], [1, 1, 1, 0]])
OLD = tensor([[-1.0, -0.5, 0, 0], [-2.0, -1.0, -0.7, -2.3], [-0.4, -1.2, -3.0, 0]])
NOW = tensor([[-0.7, -0.6, 0, 0], [-2.4, -0.75, -0.7, -0.8], [-0.35, -1.8, -2.9, 0]])
REFERENCE = tensor([[-1.2, -0.6, 0, 0], [-1.7, -1.0, -1.1, -2.4], [-0.4, -0.7, -3.2, 0]])
ADVANTAGES = tensor([[1.0], [-0.5], [0.25]]).expand(3, 4)
WEIGHTS = (MASK / 9, MASK / 3, MASK / MASK.sum(dim=1, keepdim=True) / 3, MASK / 4)


def worked(weights=WEIGHTS[0]):
    return batch(weights, OLD, rated(REFERENCE), ADVANTAGES)


@pytest.mark.parametrize(
    ("estimator", "expected"),
    [
        (k1, (0.144444, 0.433333, 0.129167, 0.325000)),
        (k2, (0.268056, 0.804167, 0.229549, 0.603125)),
        (k3, (0.251946, 0.755838, 0.224121, 0.566879)),
    ],
)
def test_estimators_have_the_worked_numbers(estimator, expected):
    for weights, value in zip(WEIGHTS, expected, strict=True):
        assert float(weighted_sum(worked(weights), estimator(NOW - REFERENCE))) == pytest.approx(value, abs=1e-6)
        if estimator is not k1:
            loss, metrics = KLPenalty(0.5, estimator)(rated(NOW), worked(weights))
            assert float(loss) == pytest.approx(0.5 * value, abs=1e-6)
            assert metrics["reference_kl"] == pytest.approx(value, abs=1e-6)
            assert metrics["reference_kl_loss"] == float(loss)


def test_k3_weighed_by_the_ratio_has_the_worked_number():
    loss, _ = KLPenalty(1.0, k3, weigh_by_ratio=True)(rated(NOW), worked())
    assert float(loss) == pytest.approx(0.510876, abs=1e-6)


def test_clipped_ratio_with_a_little_k3_has_the_worked_number():
    objective = Sum(ClippedRatio(0.2, 0.28, dual=3.0), KLPenalty(0.001, k3))
    loss, metrics = objective(rated(NOW), worked())
    assert float(loss) == pytest.approx(0.020348, abs=1e-6)
    assert metrics["policy_loss"] == pytest.approx(0.020096, abs=1e-6)
    assert metrics["reference_kl_loss"] == pytest.approx(0.000252, abs=1e-6)


@pytest.mark.parametrize(
    ("estimator", "expected"),
    [
        (k1, [[1 / 9] * 2, [1 / 9] * 4, [1 / 9] * 3]),
        (k2, [[0.055556, 0], [-0.077778, 0.027778, 0.044444, 0.177778], [0.005556, -0.122222, 0.033333]]),
        (k3, [[0.043719, 0], [-0.112639, 0.024578, 0.036631, 0.088678], [0.005419, -0.222685, 0.028798]]),
    ],
)
def test_gradients_of_the_estimators_have_the_worked_numbers(estimator, expected):
    now = NOW.clone().requires_grad_()
    (found,) = torch.autograd.grad(weighted_sum(worked(), estimator(now - REFERENCE)), now)
    for row, numbers in zip(found, expected, strict=True):
        assert row[: len(numbers)].tolist() == pytest.approx(numbers, abs=1e-6)
    if estimator is not k1:
        (penalty,) = torch.autograd.grad(KLPenalty(1.0, estimator)(rated(now), worked())[0], now)
        torch.testing.assert_close(penalty, found)


def test_estimators_are_zero_where_policy_and_reference_agree():
    for estimator in (k1, k2, k3):
        assert not estimator(torch.zeros(3)).any()


# --- example 12: by exact enumeration of three replies ---------------------------------------

LOGITS, REFERENCE_LOGITS = tensor([0.3, -0.2, 0.5]), tensor([0.0, 0.4, -0.1])
TRUE_KL, TRUE_GRADIENT = 0.119788, [0.022440, -0.179420, 0.156980]


def expectation(loss_of, old=None):
    """Value and gradient with respect to the logits of a loss whose three rows are the three replies, each
    weighted by the probability with which the old policy says it (the policy itself if None)."""
    logits = LOGITS.clone().requires_grad_()
    logprobs = logits.log_softmax(0)
    old = logprobs.detach() if old is None else old
    rows = batch(old.exp().unsqueeze(1), old.unsqueeze(1), rated(REFERENCE_LOGITS.log_softmax(0).unsqueeze(1)))
    loss = loss_of(logprobs.unsqueeze(1), rows)
    (found,) = torch.autograd.grad(loss, logits)
    return float(loss.detach()), found.tolist()


def penalty(estimator, weigh_by_ratio):
    return lambda logprobs, rows: KLPenalty(1.0, estimator, weigh_by_ratio)(rated(logprobs), rows)[0]


UNIFORM = torch.full((3,), 1 / 3, dtype=torch.float64).log()


def test_k1_in_a_loss_has_no_expected_gradient_and_is_refused():
    value, found = expectation(lambda logprobs, rows: weighted_sum(rows, k1(logprobs - rows.reference.logprobs)))
    assert value == pytest.approx(TRUE_KL, abs=1e-6)
    assert found == pytest.approx([0, 0, 0], abs=1e-12)
    with pytest.raises(RedQueenError, match="expected gradient of zero"):
        KLPenalty(0.1, k1)


@pytest.mark.parametrize(
    ("loss_of", "old", "value", "gradient"),
    [
        (penalty(k2, False), None, 0.111461, TRUE_GRADIENT),
        (penalty(k3, False), None, TRUE_KL, [0.059208, -0.224725, 0.165516]),
        (penalty(k3, False), UNIFORM, 0.148951, [0.114408, -0.313718, 0.199310]),
        (penalty(k3, True), UNIFORM, TRUE_KL, TRUE_GRADIENT),
        (penalty(k3, True), None, TRUE_KL, TRUE_GRADIENT),
        (penalty(k1, True), UNIFORM, TRUE_KL, TRUE_GRADIENT),
    ],
    ids=["k2", "k3", "k3 off-policy", "k3 by ratio off-policy", "k3 by ratio", "k1 by ratio off-policy"],
)
def test_expected_values_and_gradients_are_those_of_the_enumeration(loss_of, old, value, gradient):
    found_value, found_gradient = expectation(loss_of, old)
    assert found_value == pytest.approx(value, abs=1e-6)
    assert found_gradient == pytest.approx(gradient, abs=1e-6)


def test_the_gradient_of_k3_is_that_of_the_other_direction():
    logits = LOGITS.clone().requires_grad_()
    forward = divergence(REFERENCE_LOGITS.log_softmax(0), logits.log_softmax(0))
    (found,) = torch.autograd.grad(forward, logits)
    assert float(forward.detach()) == pytest.approx(0.132119, abs=1e-6)
    assert found.tolist() == pytest.approx([0.059208, -0.224725, 0.165516], abs=1e-6)


def listed(logits, pad=0):
    """Log-probabilities [1, 1, 3 + pad] of replies that are listed, -inf after the third."""
    logprobs = logits.log_softmax(0)
    return torch.cat([logprobs, torch.full((pad,), -INF, dtype=torch.float64)]).reshape(1, 1, -1)


@pytest.mark.parametrize("pad", [0, 2])
def test_exact_kl_has_the_true_value_and_gradient(pad):
    logits = LOGITS.clone().requires_grad_()
    legal, reference = listed(logits, pad), listed(REFERENCE_LOGITS, pad)
    rows = batch(tensor([[1.0]]), tensor([[0.0]]), rated(tensor([[0.0]]), reference))
    loss, metrics = ExactKL(2.0)(rated(legal[..., 0], legal), rows)
    (found,) = torch.autograd.grad(loss, logits)
    assert metrics["reference_kl"] == pytest.approx(TRUE_KL, abs=1e-6)
    assert float(loss.detach()) == pytest.approx(2 * TRUE_KL, abs=2e-6)
    assert found.tolist() == pytest.approx([2 * g for g in TRUE_GRADIENT], abs=2e-6)


def test_an_empty_place_in_the_list_has_no_gradient():
    legal = listed(LOGITS, 2).requires_grad_()
    (found,) = torch.autograd.grad(divergence(legal, listed(REFERENCE_LOGITS, 2)).sum(), legal)
    assert torch.isfinite(found).all()
    assert not found[..., 3:].any()


def test_a_reference_of_a_larger_batch_may_be_wider():
    """Two choices in this part of a batch, where another part has three."""
    policy, reference = tensor([[[0.25, 0.75]]]).log(), tensor([[[0.5, 0.5]]]).log()
    wider = torch.cat([reference, torch.full((1, 1, 1), -INF)], dim=-1)
    assert divergence(policy, wider).item() == pytest.approx(0.25 * math.log(0.5) + 0.75 * math.log(1.5))


def test_a_list_masked_before_its_softmax_passes_finite_gradients():
    logits = tensor([[[0.3, -0.2, 0.5, 0.0]]]).requires_grad_()
    gone = torch.tensor([False, False, False, True])
    legal = logits.masked_fill(gone, -INF).log_softmax(-1)
    reference = tensor([[[0.0, 0.4, -0.1, 0.0]]]).masked_fill(gone, -INF).log_softmax(-1)
    (found,) = torch.autograd.grad(divergence(legal, reference).sum(), logits)
    assert found.flatten().tolist() == pytest.approx([*TRUE_GRADIENT, 0.0], abs=1e-6)


def test_exact_kl_does_not_hide_what_is_not_a_number():
    assert divergence(tensor([0.0, float("nan")]), tensor([0.0, 0.0])).isnan()
    assert divergence(tensor([-0.7, -0.7]), tensor([0.0, -INF])).item() == INF


def test_exact_kl_refuses_free_text():
    free = batch(tensor([[1.0]]), tensor([[0.0]]), rated(tensor([[0.0]])))
    with pytest.raises(RedQueenError, match="needs listed replies"):
        ExactKL(0.1)(rated(tensor([[0.0]])), free)
    nothing = torch.full((1, 2, 3), -INF, dtype=torch.float64)
    nothing[0, 0] = -1.0
    mixed = batch(tensor([[0.5, 0.5]]), tensor([[0.0, 0.0]]), rated(tensor([[0.0, 0.0]]), nothing))
    with pytest.raises(RedQueenError, match="not held to listed replies"):
        ExactKL(0.1)(rated(tensor([[0.0, 0.0]]), nothing), mixed)


def test_a_penalty_without_a_reference_says_how_to_give_one():
    bare = batch(tensor([[1.0]]), tensor([[0.0]]))
    for objective in (KLPenalty(0.1, k2), ExactKL(0.1)):
        with pytest.raises(RedQueenError, match="needs a reference in its batch"):
            objective(rated(tensor([[0.0]]), tensor([[[0.0]]])), bare)


# --- entropy ---------------------------------------------------------------------------------


def test_entropy_bonus_has_the_worked_value_and_gradient():
    logits = LOGITS.clone().requires_grad_()
    logprobs = logits.log_softmax(0)
    entropy = -(logprobs.exp() * logprobs).sum().reshape(1, 1)
    loss, metrics = EntropyBonus(1.0)(
        Likelihoods(logprobs[:1].reshape(1, 1), entropy), batch(tensor([[1.0]]), tensor([[0.0]]))
    )
    (found,) = torch.autograd.grad(loss, logits)
    assert metrics["entropy_loss"] == pytest.approx(-1.060404, abs=1e-6)
    assert found.tolist() == pytest.approx([0.007376, -0.102766, 0.095390], abs=1e-6)


def test_a_bonus_for_entropies_without_gradient_is_refused():
    logprobs = NOW.clone().requires_grad_()
    with pytest.raises(RedQueenError, match="bonus would do nothing"):
        EntropyBonus(0.1)(rated(logprobs), worked())
    EntropyBonus(0.1)(rated(NOW), worked())  # nobody asks for gradients


# --- sums and schedules ----------------------------------------------------------------------


def test_a_sum_adds_losses_and_keeps_every_metric():
    loss, metrics = Sum(Reinforce(), KLPenalty(0.1, k2), EntropyBonus(0.1))(rated(NOW), worked())
    assert float(loss) == pytest.approx(0.026389 + 0.1 * 0.268056, abs=1e-6)
    assert {"policy_loss", "approx_kl", "entropy", "reference_kl", "reference_kl_loss", "entropy_loss"} == set(metrics)


def test_a_regularizer_of_weight_zero_leaves_the_loss_alone():
    loss = Reinforce()
    assert with_entropy(loss, 0.0) is with_k3(loss, 0.0) is loss
    assert with_k3(with_entropy(loss, 0.1), 0.2) == Sum(Sum(loss, EntropyBonus(0.1)), KLPenalty(0.2, k3))


def test_a_sum_whose_parts_report_one_name_is_refused():
    with pytest.raises(AssertionError, match="both report reference_kl"):
        Sum(KLPenalty(0.1, k2), KLPenalty(0.1, k3))(rated(NOW), worked())


def test_the_adaptive_coefficient_has_the_worked_numbers():
    first = adapted(0.2, measured_kl=0.2, target=0.1, samples=256)
    assert first == pytest.approx(0.201024, abs=1e-9)
    assert adapted(first, measured_kl=0.11, target=0.1, samples=256) == pytest.approx(0.201539, abs=1e-6)


def test_tokens_of_the_largest_covariance_are_held_near_their_writer():
    """SPEAR's example (credit_and_curricula.md 2.2): covariances 1.61, -.69, 1.38, 2.38, -.94, 1.26, -.88, -.43. A
    quarter of eight are the two largest, tokens 3 and 0."""
    advantages = torch.tensor([[1.0, 1, 1, -0.5, -0.5, -0.5, -0.5, -0.5]], dtype=torch.float64)
    wrote = torch.tensor([[-0.05, -2.5, -0.3, -6.0, -0.1, -4.0, -0.2, -1.0]], dtype=torch.float64)
    batch = Batch(
        tokens=torch.zeros(1, 8, dtype=torch.int64),
        loss_weights=torch.full((1, 8), 0.125, dtype=torch.float64),
        sampled_logprobs=wrote,
        advantages=advantages,
        versions=torch.zeros(1, 8, dtype=torch.int64),
        recited=torch.zeros(1, 8, dtype=torch.bool),
        trajectory=torch.zeros(1, dtype=torch.int64),
        lengths=torch.tensor([8]),
        constraints=((),),
    )
    pull = covariance_pull(batch, 0.25)
    now = (wrote + torch.tensor([0.1, 0.2, 0.3, -0.4, 0.5, 0.6, 0.7, 0.8])).requires_grad_()
    loss, metrics = pull(Likelihoods(now, torch.zeros(1, 8)), batch)
    assert float(loss.detach()) == pytest.approx((0.1 + 0.4) / 8)
    assert metrics["pulled"] == pytest.approx(0.25)
    loss.backward()
    assert now.grad[0].tolist() == pytest.approx([0.125, 0, 0, -0.125, 0, 0, 0, 0])
    fresh = wrote.clone().requires_grad_()
    pull(Likelihoods(fresh, torch.zeros(1, 8)), batch)[0].backward()
    assert not fresh.grad.any()  # so it is refused at one update on fresh tokens


def test_where_all_advantages_are_equal_no_token_is_held():
    row = torch.zeros(1, 3, dtype=torch.float64)
    batch = Batch(
        tokens=row.long(),
        loss_weights=row + 1 / 3,
        sampled_logprobs=row - 1.0,
        advantages=row + 1.0,
        versions=row.long(),
        recited=row.bool(),
        trajectory=torch.zeros(1, dtype=torch.int64),
        lengths=torch.tensor([3]),
        constraints=((),),
    )
    assert float(covariance_pull(batch, 0.5)(Likelihoods(row, row), batch)[0]) == 0.0


def test_the_coefficient_of_a_target_is_kept_and_never_negative():
    target = EntropyTarget(1.0, start=0.01)
    assert [target("a", entropy) for entropy in (0.5, 0.5, 1.0, 2.0)] == pytest.approx([0.01, 0.015, 0.02, 0.0])
    again = EntropyTarget(1.0)
    again.restore(target.state())
    assert again("a", 0.5) == pytest.approx(0.015)
    assert [target("b", 2.0), target("b", 2.0), target("b", 2.0), target("b", 0.5)] == [0.0] * 4
