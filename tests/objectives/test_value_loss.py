import pytest
import torch

from redqueen.objectives.value_loss import clipped_value_loss


def tensor(row):
    return torch.tensor(row, dtype=torch.float64)


WEIGHTS = tensor([1, 1, 0, 1]) / 3


@pytest.mark.parametrize("elsewhere", [0.0, 1e9])
def test_value_loss_has_the_worked_number(elsewhere):
    values = tensor([0.1, 0.9, elsewhere, 0.3]).requires_grad_()
    old, targets = tensor([0.4, 0.5, elsewhere, 0.35]), tensor([1.0, 1.0, -elsewhere, 0.0])
    loss, metrics = clipped_value_loss(values, old, targets, WEIGHTS, clip=0.2)
    (found,) = torch.autograd.grad(loss, values)
    assert metrics["value_loss"] == pytest.approx(0.165, abs=1e-12)
    assert metrics["value_clip_fraction"] == pytest.approx(1 / 3)
    # the first is too low already and pulled up, the second is clipped and waits, the last is pulled down
    assert found.tolist() == pytest.approx([-0.9 / 3, 0.0, 0.0, 0.3 / 3])
