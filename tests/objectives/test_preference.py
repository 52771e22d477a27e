"""Losses of pairs and of single replies worked by hand (preference_adversarial.md, section 1)."""

from dataclasses import replace
from math import exp, log

import numpy as np
import pytest
import torch

from redqueen.objectives.additive import Sum
from redqueen.objectives.batch import pack_pairs, pack_samples
from redqueen.objectives.preference import (
    ChosenLikelihood,
    Dpo,
    Hinge,
    Ipo,
    Orpo,
    SimPo,
    Sppo,
    StepApo,
    preference_loss,
)
from redqueen.types import Ask, Batch, Episode, Likelihoods, Outcome, RedQueenError, Reply, Seat, Task, Trajectory, Turn

OWN = torch.tensor([[0, 1, 1, 1], [0, 1, 0, 0], [0, 1, 0, 0], [0, 1, 1, 0]], dtype=torch.bool)
SIGNS = torch.tensor([1.0, -1.0, -1.0, 1.0])  # pair 7 is rows 0 and 1; of pair 3 the rejected row comes first


def pairs():
    """Policy minus reference: 0.6 and -0.3 in pair 7, 0.5 (rejected) and -0.2 in pair 3."""
    policy = torch.zeros(4, 4, dtype=torch.float64)
    policy[OWN] = torch.tensor([-1.0, -2.0, -3.0, -0.5, -1.5, -0.25, -0.75], dtype=torch.float64)
    shift = torch.zeros(4, 4, dtype=torch.float64)
    shift[OWN] = torch.tensor([0.1, 0.2, 0.3, -0.3, 0.5, -0.4, 0.2], dtype=torch.float64)
    weights = torch.where(OWN, 1.0, 0.0).to(torch.float64)
    weights = weights / weights.sum(dim=1, keepdim=True) / 4
    batch = Batch(
        tokens=torch.zeros(4, 4, dtype=torch.int64),
        loss_weights=weights,
        sampled_logprobs=policy,
        advantages=torch.where(OWN, SIGNS[:, None], 0.0),
        versions=torch.zeros(4, 4),
        recited=torch.zeros_like(torch.zeros(4, 4), dtype=torch.bool),
        lengths=torch.tensor([4, 2, 2, 3]),
        trajectory=torch.arange(len(((),) * 4)),
        constraints=((),) * 4,
        pairs=torch.tensor([7, 7, 3, 3]),
        reference=Likelihoods(policy - shift, torch.zeros(4, 4)),
    )
    return batch, policy.clone().requires_grad_()


def likelihoods(logprobs):
    return Likelihoods(logprobs, torch.full((4, 4), 0.5))


def softplus(value):
    return log(1.0 + exp(value))


def test_dpo_by_hand():
    batch, logprobs = pairs()
    loss, metrics = Dpo(beta=2.0)(likelihoods(logprobs), batch)
    margins = (0.6 + 0.3, -0.2 - 0.5)
    assert loss.item() == pytest.approx(sum(softplus(-2.0 * margin) for margin in margins) / 2)
    assert metrics["preference_margin"] == pytest.approx((0.9 - 0.7) / 2)
    assert metrics["preference_accuracy"] == pytest.approx(0.5)
    assert metrics["entropy"] == pytest.approx(0.5)
    assert metrics["preference_loss"] == pytest.approx(loss.item())


def test_the_gradient_of_dpo_by_hand():
    batch, logprobs = pairs()
    Dpo(beta=2.0)(likelihoods(logprobs), batch)[0].backward()
    pull = [2.0 / (1.0 + exp(2.0 * margin)) / 2 for margin in (0.9, -0.7)]  # beta sigmoid(-beta m), half the loss each
    expected = torch.tensor([-pull[0], pull[0], pull[1], -pull[1]], dtype=torch.float64)
    assert torch.allclose(logprobs.grad, torch.where(OWN, expected[:, None], 0.0))


def test_without_a_margin_the_loss_is_log_two():
    batch, logprobs = pairs()
    same = replace(batch, reference=likelihoods(logprobs.detach()))
    assert Dpo(0.1)(likelihoods(logprobs), same)[0].item() == pytest.approx(log(2))
    assert Ipo(0.1)(likelihoods(logprobs), same)[0].item() == pytest.approx(25.0)


def test_ipo_by_hand():
    batch, logprobs = pairs()
    loss, _ = Ipo(beta=0.5)(likelihoods(logprobs), batch)
    assert loss.item() == pytest.approx(((0.9 - 1.0) ** 2 + (-0.7 - 1.0) ** 2) / 2)


def test_simpo_by_hand():
    batch, logprobs = pairs()
    loss, metrics = SimPo(beta=2.0, gamma=1.0)(likelihoods(logprobs), replace(batch, reference=None))
    margins = (-2.0 + 0.5, -0.5 + 1.5)  # means over words, chosen minus rejected
    assert loss.item() == pytest.approx(sum(softplus(1.0 - 2.0 * margin) for margin in margins) / 2)
    assert metrics["preference_margin"] == pytest.approx(sum(margins) / 2)


def test_orpo_by_hand():
    """Imitation of the chosen reply, plus lambda times -log sigmoid of log(odds(chosen) / odds(rejected))."""
    batch, logprobs = pairs()
    loss, metrics = Orpo(weight=0.1)(likelihoods(logprobs), replace(batch, reference=None))

    def odds(mean):
        return exp(mean) / (1.0 - exp(mean))

    sides = ((-2.0, -0.5), (-0.5, -1.5))  # means over words of chosen and rejected
    expected = [-one + 0.1 * softplus(-log(odds(one) / odds(other))) for one, other in sides]
    assert loss.item() == pytest.approx(sum(expected) / 2)
    assert metrics["preference_margin"] == pytest.approx((-2.0 + 0.5 - 0.5 + 1.5) / 2)


def test_orpo_is_finite_where_a_reply_is_certain():
    batch, logprobs = pairs()
    certain = torch.where(OWN, logprobs.detach() * 0.0, 0.0).requires_grad_()
    loss, _ = Orpo()(likelihoods(certain), replace(batch, reference=None))
    loss.backward()
    assert loss.item() == pytest.approx(0.1 * log(2))
    assert bool(torch.isfinite(certain.grad).all())


def test_the_margin_a_token_does_not_grow_with_the_replies():
    batch, logprobs = pairs()
    found = Dpo()(likelihoods(logprobs), batch)[1]["margin_a_token"]
    assert found == pytest.approx((0.6 / 3 + 0.3 - 0.2 / 2 - 0.5) / 2)  # sums over 3, 1, 2 and 1 tokens


@pytest.mark.parametrize(
    "shape, objective",
    [
        ("logistic", Dpo(0.1)),
        ("squared", Ipo(0.1)),
        ("hinge", Hinge(0.1)),
        ("simpo", SimPo(2.0, 1.0)),
        ("orpo", Orpo(0.1)),
        ("step-apo", StepApo(0.3, 1.0)),
    ],
)
def test_each_loss_has_the_beta_of_its_paper_unless_another_is_given(shape, objective):
    assert preference_loss(shape) == objective
    given = preference_loss(shape, 0.7)
    assert (given.weight if shape == "orpo" else given.beta) == 0.7


def test_a_certain_preference_has_a_finite_loss():
    batch, logprobs = pairs()
    far = replace(batch, reference=Likelihoods(batch.reference.logprobs - 1e6 * SIGNS[:, None], torch.zeros(4, 4)))
    loss, _ = Dpo(1.0)(likelihoods(logprobs), far)
    assert loss.item() == 0.0


@pytest.mark.parametrize("kept", [[0], [0, 1, 2], [1, 3]])
def test_half_a_pair_is_refused(kept):
    from redqueen.objectives.batch import take, take_likelihoods

    batch, logprobs = pairs()
    rows = torch.tensor(kept)
    with pytest.raises(AssertionError, match="one chosen and one rejected"):
        Dpo()(take_likelihoods(likelihoods(logprobs), rows), take(batch, rows))


def test_two_chosen_replies_are_no_pair():
    batch, logprobs = pairs()
    with pytest.raises(AssertionError, match="one chosen and one rejected"):
        Dpo()(likelihoods(logprobs), replace(batch, advantages=batch.advantages.abs()))


def test_what_is_missing_is_named():
    batch, logprobs = pairs()
    with pytest.raises(RedQueenError, match="pack_pairs"):
        SimPo()(likelihoods(logprobs), replace(batch, pairs=None))
    for objective in (Dpo(), Ipo()):
        with pytest.raises(RedQueenError, match="needs a reference"):
            objective(likelihoods(logprobs), replace(batch, reference=None))
    for objective in (Dpo, Ipo, SimPo, Orpo):
        with pytest.raises(RedQueenError, match="above 0"):
            objective(0.0)


def gradient(objective, batch, logprobs):
    logprobs.grad = None
    objective(likelihoods(logprobs), batch)[0].backward()
    return logprobs.grad


def even(gap=2.0):
    """The two pairs with the policy for a reference, and pairs whose better side is better by `gap`."""
    batch, logprobs = pairs()
    advantages = batch.advantages * gap / 2.0
    return replace(batch, reference=likelihoods(logprobs.detach()), advantages=advantages), logprobs


@pytest.mark.parametrize(
    "objective, value, pull",
    [
        (Dpo(0.1), log(2), 0.05),
        (Dpo(0.1, label_smoothing=0.1), log(2), 0.04),  # beta (1 - 2 e) / 2
        (Dpo(0.1, by_token=True), log(2), 0.05),
        (Hinge(0.1), 1.0, 0.1),
        (Ipo(0.1), 25.0, 10.0),  # 1 / tau
        (Ipo(0.1, by_token=True), 25.0, 10.0),
        (StepApo(0.3, 1.0), log(1 + exp(1)), 0.3 / (1 + exp(-1))),
        (StepApo(0.3, 0.0), log(2), 0.15),
    ],
    ids=repr,
)
def test_where_policy_and_reference_are_one_loss_and_pull_are_those_of_the_table(objective, value, pull):
    batch, logprobs = even(gap=1.0)
    loss, metrics = objective(likelihoods(logprobs), batch)
    assert loss.item() == pytest.approx(value, rel=1e-6)
    assert (metrics["preference_margin"], metrics["preference_accuracy"]) == (0.0, 0.5)
    assert metrics["chosen_ratio"] == metrics["rejected_ratio"] == 0.0
    by_token = getattr(objective, "by_token", False)
    share = torch.where(OWN, 1.0 / (OWN.sum(dim=1, keepdim=True) if by_token else 1.0), 0.0)
    expected = -SIGNS[:, None] * share * pull / 2.0  # half of the loss is each pair's
    assert torch.allclose(gradient(objective, batch, logprobs), expected.double())


@pytest.mark.parametrize("objective", [SimPo(), Orpo()], ids=repr)
def test_what_needs_no_reference_is_told_from_its_start_all_the_same(objective):
    """However much likelier one side has been from the start, a ceiling on what was learned holds nothing back."""
    batch, logprobs = even()
    logprobs = torch.where(OWN & (batch.advantages < 0), logprobs - 5.0, logprobs)
    start = replace(batch, reference=likelihoods(logprobs.detach()))
    _, metrics = objective(likelihoods(logprobs), start)
    assert metrics["margin_a_token"] == metrics["chosen_ratio"] == metrics["rejected_ratio"] == 0.0
    assert metrics["preference_accuracy"] == 1.0
    _, metrics = objective(likelihoods(torch.where(batch.advantages > 0, logprobs + 0.5, logprobs)), start)
    assert metrics["margin_a_token"] == pytest.approx(0.5)


def test_margins_within_rounding_are_even():
    batch, logprobs = even()
    moved = logprobs.detach() + torch.where(OWN, 1e-6 * SIGNS[:, None], 0.0)
    assert Dpo()(likelihoods(moved), batch)[1]["preference_accuracy"] == 0.5
    moved = logprobs.detach() + torch.where(OWN, 1e-3 * SIGNS[:, None], 0.0)
    assert Dpo()(likelihoods(moved), batch)[1]["preference_accuracy"] == 1.0


def test_step_apo_starts_at_1_313262_as_in_the_table():
    batch, logprobs = even(gap=1.0)
    assert StepApo()(likelihoods(logprobs), batch)[0].item() == pytest.approx(1.313262, abs=1e-6)


def test_hinge_by_hand():
    batch, logprobs = pairs()
    loss, _ = Hinge(beta=2.0)(likelihoods(logprobs), batch)
    assert loss.item() == pytest.approx((0.0 + (1.0 + 1.4)) / 2)  # 2 x 0.9 is beyond 1: nothing more is learned there
    found = gradient(Hinge(beta=2.0), batch, logprobs)
    assert torch.allclose(found, torch.where(OWN, torch.tensor([0.0, 0.0, 1.0, -1.0])[:, None], 0.0).double())


def test_label_smoothing_by_hand():
    batch, logprobs = pairs()
    loss, _ = Dpo(beta=2.0, label_smoothing=0.25)(likelihoods(logprobs), batch)
    expected = sum(0.75 * softplus(-2.0 * margin) + 0.25 * softplus(2.0 * margin) for margin in (0.9, -0.7)) / 2
    assert loss.item() == pytest.approx(expected)


def test_step_apo_by_hand():
    """The pairs' margins are 1 and 3."""
    batch, logprobs = pairs()
    gaps = torch.tensor([1.0, 1.0, 3.0, 3.0])[:, None]
    loss, _ = StepApo(beta=2.0, alpha=0.5)(
        likelihoods(logprobs), replace(batch, advantages=batch.advantages * gaps / 2)
    )
    assert loss.item() == pytest.approx((softplus(-(1.8 - 0.5)) + softplus(-(-1.4 - 1.5))) / 2)


def test_means_over_words_by_hand():
    """Pair 7: 0.6 / 3 + 0.3 / 1; pair 3: -0.2 / 2 - 0.5 / 1."""
    batch, logprobs = pairs()
    loss, metrics = Dpo(beta=2.0, by_token=True)(likelihoods(logprobs), batch)
    assert loss.item() == pytest.approx((softplus(-2.0 * 0.5) + softplus(2.0 * 0.6)) / 2)
    assert metrics["preference_margin"] == pytest.approx((0.5 - 0.6) / 2)
    loss, _ = Ipo(beta=0.5, by_token=True)(likelihoods(logprobs), batch)
    assert loss.item() == pytest.approx(((0.5 - 1.0) ** 2 + (-0.6 - 1.0) ** 2) / 2)


def test_either_side_is_reported_for_a_margin_may_grow_while_both_fall():
    batch, logprobs = pairs()
    _, metrics = Dpo()(likelihoods(logprobs), batch)
    assert metrics["chosen_ratio"] == pytest.approx((0.6 - 0.2) / 2)
    assert metrics["rejected_ratio"] == pytest.approx((-0.3 + 0.5) / 2)


def test_a_pair_counts_by_its_weight():
    batch, logprobs = pairs()
    heavy = torch.tensor([0.5, 0.5, 1.5, 1.5], dtype=torch.float64)[:, None]  # pair 7 a quarter, pair 3 three
    loss, metrics = Dpo(beta=2.0)(likelihoods(logprobs), replace(batch, loss_weights=batch.loss_weights * heavy))
    assert loss.item() == pytest.approx(0.25 * softplus(-1.8) + 0.75 * softplus(1.4))
    assert metrics["preference_accuracy"] == pytest.approx(0.25)


def test_the_likelihood_of_the_chosen_words_by_hand():
    """The chosen replies say 1, 2, 3 and 0.25, 0.75 nats: means of 2 and 0.5."""
    batch, logprobs = pairs()
    loss, metrics = ChosenLikelihood(weight=0.1)(likelihoods(logprobs), batch)
    assert loss.item() == pytest.approx(0.1 * (2.0 + 0.5) / 2)
    assert metrics == {"chosen_loss": pytest.approx((2.0 + 0.5) / 2)}
    found = gradient(ChosenLikelihood(weight=0.1), batch, logprobs)
    each = torch.tensor([1 / 3, 0.0, 0.0, 1 / 2])[:, None] * -0.1 / 2
    assert torch.allclose(found, torch.where(OWN, each, 0.0).double())
    both, _ = Sum(Dpo(), ChosenLikelihood(0.1))(likelihoods(logprobs), batch)
    assert both.item() == pytest.approx(Dpo()(likelihoods(logprobs), batch)[0].item() + loss.item())


END = 9
LOGPROBS = torch.tensor([0.0, 0.0, -1.0, -2.0, -3.0, 0.0, 0.0, -4.0, 0.0, -0.5], dtype=torch.float64)  # of each token


def said(words, prompt=(1,)):
    """A trajectory of one reply that ends with the end of text."""
    tokens = np.array([*words, END])
    reply = Reply("", "learner", 0, np.array(prompt), tokens, np.zeros(len(tokens)))
    turn, seat = Turn(Ask(Seat("solver"), ()), reply), Seat("solver")
    return Trajectory(Episode("g", Task("t"), 0, (turn,), Outcome({seat: 0.0}), (seat,)), seat, (turn,), np.zeros(1))


def rating(batch, scale=1.0):
    """Each token is rated by LOGPROBS, prompts and padding too."""
    return Likelihoods(scale * LOGPROBS[batch.tokens], torch.zeros(batch.tokens.shape))


def test_the_end_of_text_counts_on_both_sides_and_padding_on_none():
    """Chosen 2 3 4 end: -6.5; rejected 7 end, and two places of padding: -4.5; a reference that says half of it."""
    batch = pack_pairs([said([2, 3, 4])], [said([7])])
    assert batch.tokens.tolist() == [[1, 2, 3, 4, END], [1, 7, END, 0, 0]]
    batch = replace(batch, reference=rating(batch, 0.5))
    loss, metrics = Dpo(beta=0.1)(rating(batch), batch)
    margin = -6.5 / 2 + 4.5 / 2
    assert loss.item() == pytest.approx(softplus(-0.1 * margin))
    assert metrics["preference_margin"] == pytest.approx(margin)
    _, by_token = Dpo(beta=0.1, by_token=True)(rating(batch), batch)
    assert by_token["preference_margin"] == pytest.approx(-6.5 / 2 / 4 + 4.5 / 2 / 2)


@pytest.mark.parametrize("chances, value", [((1.0, 0.0), 250_000.0), ((0.9, 0.1), 160_000.0)])
def test_sppo_starts_where_the_table_says(chances, value):
    """The table's loss is the sum over both sides of a pair at beta = 1e-3; here it is a mean."""
    batch = pack_samples([said([2, 3]), said([7])], [chance - 0.5 for chance in chances])
    loss, metrics = Sppo(eta=1000.0)(rating(batch), replace(batch, reference=rating(batch)))
    assert loss.item() * 2.0 == pytest.approx(value)
    assert metrics["preference_loss"] * 2.0 * 1000.0**2 == pytest.approx(value), "in units of eta"
    assert metrics["value_error"] == pytest.approx(chances[0] - 0.5)


def test_sppo_by_hand():
    """h is half of -3.5 and of -4.5; eta 2; values 0.3 and -0.1."""
    batch = pack_samples([said([2, 3]), said([7])], [0.3, -0.1])
    batch = replace(batch, reference=rating(batch, 0.5))
    rated = rating(batch)
    rated.logprobs.requires_grad_()
    loss, metrics = Sppo(eta=2.0)(rated, batch)
    errors = (-1.75 - 2 * 0.3, -2.25 + 2 * 0.1)
    assert loss.item() == pytest.approx(sum(error**2 for error in errors) / 2 / 2)
    assert metrics["preference_loss"] == pytest.approx(loss.item() / 4)
    assert metrics["value_error"] == pytest.approx(sum(map(abs, errors)) / 2 / 2)
    loss.backward()
    pulls = [error / 2 for error in errors]  # half of the loss each
    expected = torch.tensor([[0.0] + [pulls[0]] * 3, [0.0, pulls[1], pulls[1], 0.0]], dtype=torch.float64)
    assert torch.allclose(rated.logprobs.grad, expected)


def test_a_reply_of_several_rows_has_one_value():
    """Rows of -1.5 and -4.5, together -6."""
    first, second = said([2]).turns[0], said([7], prompt=(5,)).turns[0]
    long = replace(said([2]), turns=(first, second), rewards=np.zeros(2))
    batch = pack_samples([long], [0.4])
    assert len(batch) == 2
    batch = replace(batch, reference=rating(batch, 0.0))
    assert Sppo(eta=10.0)(rating(batch), batch)[0].item() == pytest.approx((-6.0 - 10 * 0.4) ** 2 / 2)


def test_a_reply_of_a_tie_is_led_back_to_the_reference():
    batch = pack_samples([said([2])], [0.0])
    same = replace(batch, reference=rating(batch))
    assert Sppo(eta=1000.0)(rating(batch), same)[0].item() == 0.0


def test_settings_that_mean_nothing_are_refused():
    for objective in (Hinge, StepApo):
        with pytest.raises(RedQueenError, match="above 0"):
            objective(-1.0)
    with pytest.raises(RedQueenError, match="eta must be above 0"):
        Sppo(0.0)
    for wrong in (-0.1, 0.5):
        with pytest.raises(RedQueenError, match=r"from 0 to below 0\.5"):
            Dpo(label_smoothing=wrong)


def test_what_is_missing_is_named_by_every_objective_that_needs_it():
    batch, logprobs = pairs()
    for objective in (Hinge(), StepApo(), Sppo()):
        with pytest.raises(RedQueenError, match=f"{type(objective).__name__} needs a reference"):
            objective(likelihoods(logprobs), replace(batch, reference=None))
    with pytest.raises(RedQueenError, match="pack_samples"):
        Sppo()(likelihoods(logprobs), replace(batch, pairs=None))
    for objective in (Hinge(), StepApo()):
        with pytest.raises(RedQueenError, match="pack_pairs"):
            objective(likelihoods(logprobs), replace(batch, pairs=None))
