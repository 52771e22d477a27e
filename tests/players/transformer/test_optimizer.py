import copy

import pytest
import torch

from redqueen.players.transformer.optimizer import Optimizer

BETAS = (0.9, 0.999)
NEVER = 1e9  # a norm that is not reached


def weight(values, dtype=torch.float32):
    return torch.tensor(values, dtype=dtype).requires_grad_()


def speak(weights, *gradients):
    """What a backward pass does."""
    for value, gradient in zip(weights.values(), gradients, strict=True):
        gradient = torch.as_tensor(gradient, dtype=value.dtype).expand(value.shape).clone()
        value.grad = gradient if value.grad is None else value.grad + gradient


def taken(optimizer, weights, learning_rate, *gradients):
    speak(weights, *gradients)
    optimizer.collect()
    return optimizer.step(learning_rate)


def test_the_first_two_steps_by_hand():
    weights = {"w": weight([1.0])}
    optimizer = Optimizer(weights, BETAS, 0.1, NEVER)
    assert taken(optimizer, weights, 0.1, 0.5) == pytest.approx(0.5)
    # decay by 0.1 * 0.1, then a step of 0.1 against the sign
    assert weights["w"].item() == pytest.approx(1.0 * 0.99 - 0.1, abs=1e-6)
    taken(optimizer, weights, 0.1, -0.25)
    # first moment 0.9 * 0.05 - 0.1 * 0.25 = 0.02, over 1 - 0.9^2
    # second 0.999 * 0.00025 + 0.001 * 0.0625 = 0.00031225, over 1 - 0.999^2
    step = 0.1 * (0.02 / 0.19) / (0.00031225 / 0.001999) ** 0.5
    assert weights["w"].item() == pytest.approx(0.89 * 0.99 - step, abs=1e-6)


def test_weights_of_float32_go_as_under_torch_s_own_adamw():
    generator = torch.Generator().manual_seed(0)
    shapes = ((3, 4), (5,))
    ours = {str(n): torch.randn(shape, generator=generator).requires_grad_() for n, shape in enumerate(shapes)}
    theirs = [value.detach().clone().requires_grad_() for value in ours.values()]
    optimizer = Optimizer(ours, (0.8, 0.95), 0.05, 1.0)
    adamw = torch.optim.AdamW(theirs, betas=(0.8, 0.95), weight_decay=0.05)
    for number in range(10):
        gradients = [3.0 * torch.randn(shape, generator=generator) for shape in shapes]
        if number == 6:
            gradients = [torch.zeros(shape) for shape in shapes]
        for value, gradient in zip(theirs, gradients, strict=True):
            value.grad = gradient.clone()
        adamw.param_groups[0]["lr"] = 1e-2 / (1 + number)
        norm = float(torch.nn.utils.clip_grad_norm_(theirs, 1.0))
        adamw.step()
        if number == 6:  # nothing spoke
            assert optimizer.step(1e-2 / (1 + number)) == 0.0
        else:
            assert taken(optimizer, ours, 1e-2 / (1 + number), *gradients) == pytest.approx(norm, rel=1e-5)
        for one, other in zip(ours.values(), theirs, strict=True):
            torch.testing.assert_close(one, other, atol=1e-6, rtol=1e-5)


def test_the_norm_is_that_of_the_whole_gradient_before_it_is_clipped():
    weights = {"a": weight([0.0]), "b": weight([0.0, 0.0])}
    optimizer = Optimizer(weights, BETAS, 0.0, 1.0)
    assert taken(optimizer, weights, 0.1, [3.0], [0.0, 4.0]) == pytest.approx(5.0)
    first, second = (moments["exp_avg"] for moments in optimizer.state()["adamw"]["state"].values())
    assert first.tolist() == pytest.approx([0.1 * 0.6])  # (1 - 0.9) times the gradient at length one
    assert second.tolist() == pytest.approx([0.0, 0.1 * 0.8])


def test_steps_too_small_for_bfloat16_add_up():
    weights = {"w": weight([1.0, -1.0], torch.bfloat16)}
    optimizer = Optimizer(weights, BETAS, 0.0, NEVER)
    for _ in range(10):
        taken(optimizer, weights, 1e-4, 1.0)
        assert weights["w"].tolist() == [1.0, -1.0]  # 1 - 0.001 is nearer to 1 than to 1 - 1/256
    for _ in range(90):
        taken(optimizer, weights, 1e-4, 1.0)
    assert optimizer.state()["masters"]["w"].tolist() == pytest.approx([0.99, -1.01], abs=1e-5)
    assert weights["w"].tolist() == [1.0 - 3 / 256, -1.0 - 1 / 128]  # the nearest numbers there are
    assert weights["w"].dtype == torch.bfloat16


def test_gradients_of_micro_batches_are_added_in_float32():
    weights = {"w": weight([1.0], torch.bfloat16)}
    optimizer = Optimizer(weights, BETAS, 0.0, NEVER)
    speak(weights, 256.0)
    optimizer.collect()
    for _ in range(100):  # each lost beside 256 in bfloat16
        speak(weights, 1.0)
        optimizer.collect()
    assert weights["w"].grad is None
    assert optimizer.step(1e-3) == pytest.approx(356.0)


def test_weights_of_float32_add_their_micro_batches_themselves():
    weights = {"w": weight([1.0])}
    optimizer = Optimizer(weights, BETAS, 0.0, NEVER)
    for gradient in (2.0, 3.0):
        speak(weights, gradient)
        optimizer.collect()
    assert optimizer.step(1e-3) == pytest.approx(5.0)


DTYPES = [torch.float32, torch.bfloat16]


def flat(state):
    moments = [value for each in state["adamw"]["state"].values() for value in each.values()]
    return [*moments, *state["masters"].values()]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("wrong", [torch.nan, torch.inf])
def test_a_norm_that_is_not_finite_moves_nothing(dtype, wrong):
    weights = {"a": weight([1.0, 2.0], dtype), "b": weight([3.0], dtype)}
    optimizer = Optimizer(weights, BETAS, 0.1, 1.0)
    taken(optimizer, weights, 1e-2, 1.0, 2.0)
    before, state = copy.deepcopy(weights), optimizer.state()
    assert not torch.isfinite(torch.tensor(taken(optimizer, weights, 1e-2, [1.0, wrong], 1.0)))
    assert all(torch.equal(weights[name], before[name]) for name in weights)
    assert all(torch.equal(one, other) for one, other in zip(flat(optimizer.state()), flat(state), strict=True))
    assert taken(optimizer, weights, 1e-2, 0.0, 1.0) == pytest.approx(1.0)  # and it was forgotten


@pytest.mark.parametrize("dtype", DTYPES)
def test_what_is_cleared_is_not_learned(dtype):
    weights = {"w": weight([1.0], dtype)}
    optimizer = Optimizer(weights, BETAS, 0.0, NEVER)
    speak(weights, 8.0)
    optimizer.collect()
    speak(weights, 4.0)
    optimizer.clear()
    assert taken(optimizer, weights, 1e-3, 0.5) == pytest.approx(0.5)


@pytest.mark.parametrize("dtype", DTYPES)
def test_restoring_goes_on_bit_for_bit(dtype):
    generator = torch.Generator().manual_seed(1)
    start = torch.randn(50, generator=generator)
    gradients = torch.randn(8, 50, generator=generator)

    def fresh():
        weights = {"w": start.to(dtype).requires_grad_()}
        return weights, Optimizer(weights, BETAS, 0.1, 1.0)

    weights, optimizer = fresh()
    for gradient in gradients[:4]:
        taken(optimizer, weights, 1e-3, gradient)
    state, then = optimizer.state(), weights["w"].detach().clone()

    def four_more(weights, optimizer):
        norms = [taken(optimizer, weights, 1e-3, gradient) for gradient in gradients[4:]]
        return norms, weights["w"].detach().clone(), flat(optimizer.state())

    ours = four_more(weights, optimizer)
    assert not torch.equal(ours[1], then)
    other_weights, other = fresh()
    for learner, held in ((other, other_weights), (optimizer, weights), (other, other_weights)):
        with torch.no_grad():
            held["w"].copy_(then)
        learner.restore(state)  # learning on did not touch it
        assert torch.equal(held["w"], then)
        norms, moved, kept = four_more(held, learner)
        assert norms == ours[0]
        assert torch.equal(moved, ours[1])
        assert all(torch.equal(one, another) for one, another in zip(kept, ours[2], strict=True))


def test_weights_follow_the_masters_that_are_restored():
    weights = {"w": weight([1.0], torch.bfloat16)}
    optimizer = Optimizer(weights, BETAS, 0.0, NEVER)
    for _ in range(50):
        taken(optimizer, weights, 1e-3, 1.0)
    state = optimizer.state()
    assert state["masters"]["w"].item() == pytest.approx(0.95, abs=1e-4)
    other = {"w": weight([1.0], torch.bfloat16)}
    Optimizer(other, BETAS, 0.0, NEVER).restore(state)
    assert other["w"].item() == weights["w"].item() == 0.94921875  # 243 / 256


@pytest.mark.parametrize("dtype", DTYPES)
def test_what_is_written_is_the_state_without_a_copy_of_it(dtype):
    weights = {"w": torch.ones(50).to(dtype).requires_grad_()}
    optimizer = Optimizer(weights, BETAS, 0.1, 1.0)
    taken(optimizer, weights, 1e-3, 0.5)
    state, held, again = flat(optimizer.state()), flat(optimizer.held()), flat(optimizer.held())
    assert all(torch.equal(one, other) for one, other in zip(state, held, strict=True))
    for copy_, one, other in zip(state, held, again, strict=True):
        assert one.data_ptr() == other.data_ptr() != copy_.data_ptr()
