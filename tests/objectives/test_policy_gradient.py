"""The numbers are examples 2, 4 and 11 of the algorithm cards: three sequences of 2, 4 and 3 words."""

import pytest
import torch

from redqueen.objectives.policy_gradient import Cispo, ClippedRatio, Gmpo, Gspo, Reinforce, Sapo
from redqueen.types import Batch, Likelihoods, RedQueenError

MASK = torch.tensor([[1, 1, 0, 0], [1, 1, 1, 1], [1, 1, 1, 0]], dtype=torch.float64)
ADVANTAGES = torch.tensor([[1.0], [-0.5], [0.25]], dtype=torch.float64).expand(3, 4)
OLD = torch.tensor([[-1.0, -0.5, 0, 0], [-2.0, -1.0, -0.7, -2.3], [-0.4, -1.2, -3.0, 0]], dtype=torch.float64)
NOW = torch.tensor([[-0.7, -0.6, 0, 0], [-2.4, -0.75, -0.7, -0.8], [-0.35, -1.8, -2.9, 0]], dtype=torch.float64)
RATIOS = [[1.349859, 0.904837], [0.670320, 1.284025, 1.0, 4.481689], [1.051271, 0.548812, 1.105171]]
LENGTHS = MASK.sum(dim=1, keepdim=True)

WEIGHTS = {
    "token mean": MASK / 9,
    "sequence mean of token sums": MASK / 3,
    "sequence mean of token means": MASK / LENGTHS / 3,
    "total over 4": MASK / 4,
    "constant mean of length 4": MASK / (4 * 3),
}
TM, STS, STM, N4, CONSTANT = WEIGHTS


def batch(weights=WEIGHTS[TM], sampled=OLD, advantages=ADVANTAGES):
    return Batch(
        tokens=torch.zeros(weights.shape, dtype=torch.int64),
        loss_weights=weights,
        sampled_logprobs=sampled,
        advantages=advantages,
        versions=torch.zeros(weights.shape, dtype=torch.int64),
        recited=torch.zeros_like(torch.zeros(weights.shape, dtype=torch.int64), dtype=torch.bool),
        lengths=torch.full((len(weights),), weights.shape[1]),
        trajectory=torch.arange(len(((),) * len(weights))),
        constraints=((),) * len(weights),
    )


def rated(logprobs=NOW):
    return Likelihoods(logprobs, torch.zeros_like(logprobs))


def gradient(objective, of):
    now = NOW.clone().requires_grad_()
    loss, _ = objective(rated(now), of)
    (found,) = torch.autograd.grad(loss, now)
    return found


def words(found):
    """The numbers on own words, row by row."""
    return [row[: int(length)].tolist() for row, length in zip(found, LENGTHS.squeeze(1), strict=True)]


def flat(rows):
    return [number for row in rows for number in row]


CAPPED = ClippedRatio(0.2, 0.28, dual=3.0)
LOSSES = {
    "PPO": (ClippedRatio(0.2, 0.2), {TM: 0.111301, STS: 0.333902, STM: -0.110714, N4: 0.250427, CONSTANT: 0.083476}),
    "PPO clip-higher": (
        ClippedRatio(0.2, 0.28),
        {TM: 0.102412, STS: 0.307235, STM: -0.124047, N4: 0.230427, CONSTANT: 0.076809},
    ),
    "PPO dual": (CAPPED, {TM: 0.020096, STS: 0.060287, STM: -0.185784, N4: 0.045215, CONSTANT: 0.015072}),
    "GSPO wide": (Gspo(0.2, 0.28), {TM: -0.005888, STS: -0.017665, STM: -0.206543}),
    "GSPO": (Gspo(), {TM: 0.017394, STS: 0.052183, STM: -0.171619}),
    "CISPO two-sided": (
        Cispo(above_one=0.28, below_one=0.2),
        {TM: 0.043349, STS: 0.130046, STM: 0.187232, N4: 0.097534, CONSTANT: 0.032511},
    ),
    "CISPO": (
        Cispo(above_one=0.28),
        {TM: 0.048080, STS: 0.144240, STM: 0.187641, N4: 0.108180, CONSTANT: 0.036060},
    ),
    "REINFORCE": (Reinforce(), {TM: 0.026389, STS: 0.079167, STM: 0.163194, N4: 0.059375, CONSTANT: 0.019792}),
}


@pytest.mark.parametrize(
    ("objective", "weights", "expected"),
    [
        pytest.param(objective, weights, value, id=f"{name}, {weights}")
        for name, (objective, values) in LOSSES.items()
        for weights, value in values.items()
    ],
)
def test_losses_have_the_worked_numbers(objective, weights, expected):
    loss, metrics = objective(rated(), batch(WEIGHTS[weights]))
    assert float(loss) == pytest.approx(expected, abs=1e-6)
    assert metrics["policy_loss"] == float(loss)


def test_each_word_has_the_worked_loss():
    expected = [[-1.28, -0.904837], [0.4, 0.642013, 0.5, 1.5], [-0.262818, -0.137203, -0.276293]]
    for i, row in enumerate(expected):
        for t, value in enumerate(row):
            weights = torch.zeros(3, 4, dtype=torch.float64)
            weights[i, t] = 1.0
            assert float(CAPPED(rated(), batch(weights))[0]) == pytest.approx(value, abs=1e-6)


def test_the_ratios_are_the_worked_ones():
    found = gradient(ClippedRatio(1.0, 100.0), batch(MASK, advantages=-torch.ones(3, 4, dtype=torch.float64)))
    assert flat(words(found)) == pytest.approx(flat(RATIOS), abs=1e-6)


def test_share_of_clipped_words_and_divergence_are_the_worked_ones():
    _, metrics = CAPPED(rated(), batch())
    assert metrics["clip_fraction"] == pytest.approx(2 / 9)
    assert metrics["dual_clip_fraction"] == pytest.approx(1 / 9)
    assert metrics["approx_kl"] == pytest.approx(-0.122222, abs=1e-6)


def test_entropy_is_the_weighted_sum_of_the_exact_entropies():
    entropies = torch.arange(12, dtype=torch.float64).reshape(3, 4)
    _, metrics = Reinforce()(Likelihoods(NOW, entropies), batch())
    assert metrics["entropy"] == pytest.approx((0 + 1 + 4 + 5 + 6 + 7 + 8 + 9 + 10) / 9)


GRADIENTS = [
    (CAPPED, TM, [[0, -0.100537], [0, 0.071335, 0.055556, 0], [-0.029202, -0.015245, -0.030699]]),
    (CAPPED, STM, [[0, -0.150806], [0, 0.053501, 0.041667, 0], [-0.029202, -0.015245, -0.030699]]),
    (Gspo(0.2, 0.28), STM, [[-0.184195] * 2, [0.058393] * 4, [-0.023909] * 3]),
    (Gspo(), STM, [[0, 0], [0.058393] * 4, [-0.023909] * 3]),
    (
        Cispo(above_one=0.28, below_one=0.2),
        TM,
        [[-0.142222, -0.100537], [0.044444, 0.071111, 0.055556, 0.071111], [-0.029202, -0.022222, -0.030699]],
    ),
    (Reinforce(), TM, [[-0.111111] * 2, [0.055556] * 4, [-0.027778] * 3]),
]


@pytest.mark.parametrize(("objective", "weights", "expected"), GRADIENTS, ids=str)
def test_gradients_have_the_worked_numbers(objective, weights, expected):
    found = gradient(objective, batch(WEIGHTS[weights]))
    assert flat(words(found)) == pytest.approx(flat(expected), abs=1e-6)
    assert not found[MASK == 0].any()


def test_averaging_micro_batches_is_wrong_and_adding_them_right():
    alone = [(row, MASK[row] / MASK[row].sum()) for row in ([0], [1, 2])]
    means = [float(CAPPED(rated(NOW[row]), batch(w, OLD[row], ADVANTAGES[row]))[0]) for row, w in alone]
    assert sum(means) / 2 == pytest.approx(-0.377231, abs=1e-6)  # the trap: means of means
    assert (means[0] + 2 * means[1]) / 3 == pytest.approx(-0.138835, abs=1e-6)
    share = WEIGHTS[TM]
    parts = [float(CAPPED(rated(NOW[row]), batch(share[row], OLD[row], ADVANTAGES[row]))[0]) for row in ([0], [1, 2])]
    assert sum(parts) == pytest.approx(0.020096, abs=1e-6)


@pytest.mark.parametrize(
    "objective", [ClippedRatio(), CAPPED, Cispo(above_one=0.28), Cispo(above_one=0.28, below_one=0.2), Gspo()]
)
def test_on_fresh_words_every_objective_has_the_gradient_of_reinforce(objective):
    fresh = batch(WEIGHTS[STM], sampled=NOW)
    torch.testing.assert_close(gradient(objective, fresh), gradient(Reinforce(), fresh))
    _, metrics = objective(rated(), fresh)
    assert metrics["clip_fraction"] == 0.0
    assert metrics["approx_kl"] == 0.0


def test_equal_lengths_make_token_and_row_means_equal():
    full = torch.ones(2, 3, dtype=torch.float64)
    for objective, _ in LOSSES.values():
        rows = {"sampled": OLD[1:, :3], "advantages": ADVANTAGES[1:, :3]}
        by_token, _ = objective(rated(NOW[1:, :3]), batch(full / 6, **rows))
        by_row, _ = objective(rated(NOW[1:, :3]), batch(full / 3 / 2, **rows))
        sums, _ = objective(rated(NOW[1:, :3]), batch(full / 2, **rows))
        torch.testing.assert_close(by_token, by_row)
        torch.testing.assert_close(sums, 3 * by_row)


def test_long_losing_answers_are_penalised_less_by_row_means_only():
    # r = 1, A = -1, lengths 2 and 10: the gradient of a word (section d.5)
    mask = torch.zeros(2, 10, dtype=torch.float64)
    mask[0, :2], mask[1] = 1.0, 1.0
    lengths, zeros = mask.sum(dim=1, keepdim=True), torch.zeros(2, 10, dtype=torch.float64)
    for weights, short, long in (
        (mask / lengths / 2, 0.25, 0.05),
        (mask / 12, 1 / 12, 1 / 12),
        (mask / 64, 1 / 64, 1 / 64),
    ):
        now = zeros.clone().requires_grad_()
        loss, _ = ClippedRatio()(rated(now), batch(weights, zeros, zeros - 1))
        (found,) = torch.autograd.grad(loss, now)
        assert found[0, 0].item() == pytest.approx(short)
        assert found[1, 0].item() == pytest.approx(long)


def test_the_dual_clip_leaves_good_words_alone():
    up = batch(torch.ones(1, 1, dtype=torch.float64), torch.full((1, 1), -3.0), torch.full((1, 1), 1.0))
    loss, metrics = ClippedRatio(0.2, 0.2, dual=1.4)(rated(torch.zeros(1, 1, dtype=torch.float64)), up)
    assert float(loss) == pytest.approx(-1.2)
    assert metrics["dual_clip_fraction"] == 0.0


def test_a_runaway_ratio_stays_a_number():
    far = batch(torch.ones(1, 1, dtype=torch.float64), torch.full((1, 1), -5000.0), torch.full((1, 1), -1.0))
    for objective, _ in LOSSES.values():
        now = torch.zeros(1, 1, dtype=torch.float32, requires_grad=True)
        loss, _ = objective(rated(now), far)
        (found,) = torch.autograd.grad(loss, now)
        assert torch.isfinite(loss)
        assert torch.isfinite(found).all()


def test_ranges_that_clip_nothing_or_everything_are_refused():
    for wrong in (lambda: ClippedRatio(low=0.0), lambda: Gspo(high=-1.0), lambda: Cispo(above_one=0.0)):
        with pytest.raises(RedQueenError, match="0 < low <= 1 and 0 < high"):
            wrong()
    with pytest.raises(RedQueenError, match=r"above 1 \+ high = 1\.2"):
        ClippedRatio(dual=1.1)


@pytest.mark.parametrize(
    ("objective", "weights", "expected"),
    [(Sapo(), TM, -0.109747), (Sapo(), STS, -0.329242), (Sapo(), STM, -0.476252), (Gmpo(0.2, 0.28), STM, -0.190902)],
)
def test_smooth_and_geometric_losses_have_the_worked_numbers(objective, weights, expected):
    loss, _ = objective(rated(), batch(WEIGHTS[weights]))
    assert loss.item() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("objective", "expected"),
    [
        (
            Sapo(),
            [
                [-0.218230, -0.150465],
                [0.027110, 0.052329, 0.041667, 0.018342],
                [-0.029183, -0.014495, -0.030614],
            ],
        ),
        (Gmpo(0.2, 0.28), [[0, -0.182362], [0, *[0.061387] * 3], [-0.023909] * 3]),
    ],
)
def test_smooth_and_geometric_gradients_have_the_worked_numbers(objective, expected):
    found = gradient(objective, batch(WEIGHTS[STM]))
    assert flat(words(found)) == pytest.approx(flat(expected), abs=1e-6)


def test_a_gate_needs_a_width():
    with pytest.raises(RedQueenError, match=r"a gate has a tau above 0, not 0 and 1\.05"):
        Sapo(0.0)
