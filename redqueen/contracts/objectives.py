"""What every objective must satisfy. `check_objective(MyObjective())` returns one line that says all is well, or raises
an AssertionError with one line that says what is wrong and what would be right.

    shape       a loss of one number, finite, with a gradient; metrics are plain floats
    additive    however a batch is cut, the losses, gradients and metrics of its parts add up to those of the whole
    blind       where the loss weight is zero nothing counts, whatever stands there, and there is no gradient; the width
                of the padding, the order of the rows and empty places in lists of replies change nothing
    silence     a batch in which every weight is zero has a loss of zero, and a gradient of zero

The batches are made here. Those of `PAIRS` are cut between pairs only, those of `REPLIES` between whole replies.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import torch
from torch import Tensor

from redqueen.objectives.batch import take, take_likelihoods
from redqueen.protocols import Objective
from redqueen.types import Batch, Likelihoods, Metrics, RedQueenError

ROWS, WIDTH, LEGAL, PAIRED = 7, 5, 4, 4
CUTS = 20  # ways to cut a batch that are tried
GARBAGE = (-1e30, 1e30, 12345.0)


class Of(StrEnum):
    """What an objective compares, and so between what a batch may be cut."""

    ROWS = "rows"
    PAIRS = "pairs"
    REPLIES = "replies"


@dataclass(frozen=True)
class Example:
    """A batch, what the policy's likelihoods are computed from, and which rows belong together."""

    batch: Batch
    leaf: Tensor
    policy: Callable[[Tensor], Likelihoods]
    together: Tensor  # [B] int, rows of one number are not cut apart


def check_objective(objective: Objective, of: Of | None = None) -> str:
    """One line that says all is well. Left out, `of` is the first kind of batch that the objective does not refuse.
    Raises AssertionError at the first fault."""
    name = named(objective)
    kind = accepted(objective) if of is None else of
    check_result(objective, kind)
    check_gradient(objective, kind)
    for seed in range(CUTS):
        check_additive(objective, kind, seed)
    for garbage in GARBAGE:
        check_garbage(objective, kind, garbage)
    check_padding(objective, kind)
    check_order(objective, kind)
    if kind is Of.ROWS:
        check_lists(objective)
    check_silence(objective, kind)
    return f"{name} keeps the contract of objectives: additive over {kind}, blind where the loss weight is zero"


def accepted(objective: Objective) -> Of:
    """The first kind of batch that the objective does not refuse with a RedQueenError."""
    said = ""
    for kind in Of:
        example = example_of(kind)
        try:
            objective(example.policy(example.leaf), example.batch)
        except RedQueenError as error:
            said = said or str(error)
        except Exception as error:
            raised = f"{type(error).__name__} ({' '.join(str(error).split()):.120})"
            raise AssertionError(
                f"{named(objective)} raises {raised} for a batch of {kind}: an objective takes (likelihoods, batch) "
                "and returns a loss and metrics"
            ) from error
        else:
            return kind
    raise AssertionError(f"{named(objective)} takes batches neither of rows, nor of pairs, nor of replies: {said}")


def named(objective: Objective) -> str:
    """What the objective is called in a message."""
    return str(getattr(objective, "__name__", type(objective).__name__))


def example_of(kind: Of, seed: int = 0) -> Example:
    """A batch of this kind, the same for the same seed."""
    return example_of_rows(seed) if kind is Of.ROWS else example_of_pairs(kind, seed)


def example_of_rows(seed: int = 0) -> Example:
    """Seven rows of tokens held to lists of two to four replies, the last of them without any own tokens; the leaf
    holds the logits [B, T, K] of a policy that has moved a little since."""
    generator = torch.Generator().manual_seed(seed)

    def noise(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    own = torch.rand(ROWS, WIDTH, generator=generator) < 0.7
    own[-1] = False
    own[:-1, 0] = True
    count = torch.randint(2, LEGAL + 1, (ROWS, WIDTH, 1), generator=generator)
    absent = torch.arange(LEGAL) >= count
    before = noise(ROWS, WIDTH, LEGAL)
    logits = before + 0.5 * noise(ROWS, WIDTH, LEGAL)
    said = (torch.rand(ROWS, WIDTH, 1, generator=generator) * count).long()

    def policy(given: Tensor) -> Likelihoods:
        legal = given.masked_fill(absent, -torch.inf).log_softmax(-1)
        probable = torch.where(absent, 0.0, legal)
        entropies = -(legal.exp() * probable).sum(-1)
        spoken = legal.gather(-1, said).squeeze(-1)
        return Likelihoods(torch.where(own, spoken, 0.0), torch.where(own, entropies, 0.0), legal)

    batch = Batch(
        tokens=said.squeeze(-1),
        loss_weights=own / own.sum().to(torch.float64),
        sampled_logprobs=policy(before).logprobs,
        advantages=noise(ROWS, WIDTH) * own,
        versions=torch.zeros(ROWS, WIDTH, dtype=torch.int64),
        recited=torch.zeros(ROWS, WIDTH, dtype=torch.bool),
        trajectory=torch.arange(ROWS),
        lengths=torch.full((ROWS,), WIDTH),
        constraints=((),) * ROWS,
        reference=policy(noise(ROWS, WIDTH, LEGAL)),
    )
    return Example(batch, logits.requires_grad_(), policy, torch.arange(ROWS))


def example_of_pairs(kind: Of, seed: int = 0) -> Example:
    """Four pairs in random order, one of them with two rows on a side, or the same eight replies one by one; the leaf
    holds the log-probabilities of their tokens."""
    generator = torch.Generator().manual_seed(seed)
    sides = torch.tensor([0, 0, *range(1, 2 * PAIRED)])  # chosen and rejected of pair 0, of pair 1, ...
    sides = sides[torch.randperm(len(sides), generator=generator)]
    count = len(sides)
    own = torch.rand(count, WIDTH, generator=generator) < 0.6
    own[:, 1] = True
    tokens = torch.zeros(2 * PAIRED).index_add(0, sides, own.sum(dim=1).float()).double()
    reference, logprobs = (torch.randn(count, WIDTH, generator=generator, dtype=torch.float64) for _ in range(2))
    better = 1.0 - 2.0 * (sides % 2)
    batch = Batch(
        tokens=torch.zeros(count, WIDTH, dtype=torch.int64),
        loss_weights=own / tokens[sides][:, None] / (2 * PAIRED),
        sampled_logprobs=torch.zeros(count, WIDTH),
        advantages=torch.where(own, (better * (1.0 + 0.1 * (sides // 2)))[:, None], 0.0),
        versions=torch.zeros(count, WIDTH),
        recited=torch.zeros(count, WIDTH, dtype=torch.bool),
        trajectory=torch.arange(count),
        lengths=torch.full((count,), WIDTH),
        constraints=((),) * count,
        pairs=sides if kind is Of.REPLIES else sides // 2,
        reference=Likelihoods(torch.where(own, reference, 0.0), torch.zeros(count, WIDTH)),
    )
    policy: Callable[[Tensor], Likelihoods] = lambda given: Likelihoods(given, given.detach().abs())  # noqa: E731
    return Example(batch, torch.where(own, logprobs, 0.0).requires_grad_(), policy, sides // 2)


def check_result(objective: Objective, kind: Of) -> None:
    """A loss of one finite number with a gradient, and metrics that are plain floats."""
    example, name = example_of(kind), named(objective)
    result = objective(example.policy(example.leaf), example.batch)
    assert isinstance(result, tuple), f"{name} must return a loss and metrics, not {type(result).__name__}"
    assert len(result) == 2, f"{name} must return a loss and metrics, not {len(result)} things"
    loss, metrics = result
    assert isinstance(loss, Tensor), f"the loss of {name} must be a tensor, not {type(loss).__name__}"
    assert loss.shape == (), (
        f"the loss of {name} must be one number, not of shape {tuple(loss.shape)}: return "
        "(batch.loss_weights * per_token).sum()"
    )
    assert loss.requires_grad, f"the loss of {name} has no gradient: it must depend on likelihoods"
    assert torch.isfinite(loss), f"the loss of {name} is {loss.item()}"
    for key, value in metrics.items():
        assert type(value) is float, f"{key} among the metrics of {name} must be a float, not {type(value).__name__}"
        assert math.isfinite(value), f"{key} among the metrics of {name} is {value}"


def check_gradient(objective: Objective, kind: Of) -> None:
    """A finite gradient, on tokens that count and on no others."""
    example, name = example_of(kind, 3), named(objective)
    _, found, _ = measured(objective, example)
    own = example.batch.loss_weights != 0
    assert torch.isfinite(found).all(), f"a gradient of {name} is NaN or infinite"
    assert found[own].any(), f"{name} has no gradient on tokens that count"
    assert not found[~own].any(), f"{name} has a gradient where the loss weight is zero: multiply by batch.loss_weights"


def check_additive(objective: Objective, kind: Of, seed: int = 0, part_of: Sequence[int] | None = None) -> None:
    """The parts of a batch have the loss, the gradient and the metrics of the whole. `part_of` names the part to which
    each row (or pair) goes; drawn by `seed` where it is left out."""
    example, name = example_of(kind, seed), named(objective)
    units = int(example.together.max()) + 1
    drawn = torch.randint(0, 3, (units,), generator=torch.Generator().manual_seed(seed)).tolist()
    parts = torch.tensor(list(drawn if part_of is None else part_of))[example.together]
    of = example.policy(example.leaf)
    whole = measured(objective, example, of)
    found = []
    for part in sorted(set(parts.tolist())):
        index = torch.nonzero(parts == part).squeeze(-1)
        cut = replace(example, batch=take(example.batch, index))
        found.append(measured(objective, cut, take_likelihoods(of, index)))
    advice = "sum over tokens with batch.loss_weights, and divide by nothing that is counted in the batch"
    losses = torch.stack([each[0] for each in found]).sum(0)
    gradients = torch.stack([each[1] for each in found]).sum(0)
    for what, total, expected in (("loss", losses, whole[0]), ("gradient", gradients, whole[1])):
        assert torch.allclose(total, expected, rtol=1e-7, atol=1e-8), (
            f"the {what} of {name} depends on how the batch is cut between {kind}: {advice}"
        )
    for key, value in whole[2].items():
        added = sum(each[2][key] for each in found)
        assert math.isclose(added, value, rel_tol=1e-6, abs_tol=1e-9), (
            f"{key} among the metrics of {name} depends on how the batch is cut between {kind}, {added:g} against "
            f"{value:g}: {advice}"
        )


def check_garbage(objective: Objective, kind: Of, garbage: float) -> None:
    """What stands where the loss weight is zero changes neither loss nor metrics, and has a gradient of zero."""
    example, name = example_of(kind, 1), named(objective)
    own = example.batch.loss_weights != 0

    def spoiled(given: Tensor) -> Tensor:
        return torch.where(own if given.dim() == 2 else own.unsqueeze(-1), given.detach(), garbage)

    def spoil(rated: Likelihoods) -> Likelihoods:
        legal = rated.legal_logprobs
        return Likelihoods(spoiled(rated.logprobs), spoiled(rated.entropies), None if legal is None else spoiled(legal))

    reference = example.batch.reference
    dirty = spoil(example.policy(example.leaf))
    given = [each for each in (dirty.logprobs, dirty.entropies, dirty.legal_logprobs) if each is not None]
    leaves = [each.requires_grad_() for each in given]
    batch = replace(
        example.batch,
        sampled_logprobs=spoiled(example.batch.sampled_logprobs),
        advantages=spoiled(example.batch.advantages),
        reference=None if reference is None else spoil(reference),
    )
    clean_loss, clean_metrics = objective(example.policy(example.leaf), example.batch)
    loss, metrics = objective(dirty, batch)
    advice = "put 0 there by torch.where before anything is computed from it"
    assert torch.allclose(loss, clean_loss, rtol=1e-7, atol=1e-8), (
        f"the loss of {name} depends on what stands where the loss weight is zero: {advice}"
    )
    for key, value in clean_metrics.items():
        assert math.isclose(metrics[key], value, rel_tol=1e-6, abs_tol=1e-9), (
            f"{key} among the metrics of {name} depends on what stands where the loss weight is zero: {advice}"
        )
    for found in torch.autograd.grad(loss, leaves, allow_unused=True):
        if found is not None:
            assert torch.isfinite(found).all(), f"{garbage:g} where the loss weight is zero spoils {name}: {advice}"
            assert not found[~own].any(), f"{name} has a gradient where the loss weight is zero: {advice}"


def check_padding(objective: Objective, kind: Of) -> None:
    """Wider padding has the same loss."""
    example, name = example_of(kind, 2), named(objective)
    batch, of = example.batch, example.policy(example.leaf)
    for wider in (1, 4):

        def pad(given: Tensor, wider: int = wider) -> Tensor:
            return torch.cat([given, given.new_zeros(len(given), wider, *given.shape[2:])], dim=1)

        def pad_all(rated: Likelihoods) -> Likelihoods:
            legal = rated.legal_logprobs
            return Likelihoods(pad(rated.logprobs), pad(rated.entropies), None if legal is None else pad(legal))

        wide = replace(
            batch,
            tokens=pad(batch.tokens),
            loss_weights=pad(batch.loss_weights),
            sampled_logprobs=pad(batch.sampled_logprobs),
            advantages=pad(batch.advantages),
            versions=pad(batch.versions),
            recited=pad(batch.recited),
            reference=None if batch.reference is None else pad_all(batch.reference),
        )
        assert torch.allclose(objective(pad_all(of), wide)[0], objective(of, batch)[0], rtol=1e-7, atol=1e-8), (
            f"the loss of {name} depends on the width of the padding: sum over tokens with batch.loss_weights"
        )


def check_order(objective: Objective, kind: Of) -> None:
    """The rows in another order have the same loss."""
    example, name = example_of(kind, 2), named(objective)
    of, order = (
        example.policy(example.leaf),
        torch.randperm(len(example.batch), generator=torch.Generator().manual_seed(4)),
    )
    shuffled = objective(take_likelihoods(of, order), take(example.batch, order))[0]
    assert torch.allclose(shuffled, objective(of, example.batch)[0], rtol=1e-7, atol=1e-8), (
        f"the loss of {name} depends on the order of the rows: tell rows apart by batch.trajectory or batch.pairs"
    )


def check_lists(objective: Objective) -> None:
    """Empty places in the lists of legal replies change nothing."""
    example, name = example_of_rows(4), named(objective)
    batch, of = example.batch, example.policy(example.leaf)

    def pad(rated: Likelihoods) -> Likelihoods:
        assert rated.legal_logprobs is not None, "the rows made here are held to lists"
        empty = rated.legal_logprobs.new_full((ROWS, WIDTH, 2), -torch.inf)
        return replace(rated, legal_logprobs=torch.cat([rated.legal_logprobs, empty], dim=-1))

    wide = replace(batch, reference=None if batch.reference is None else pad(batch.reference))
    assert torch.allclose(objective(pad(of), wide)[0], objective(of, batch)[0], rtol=1e-7, atol=1e-8), (
        f"the loss of {name} depends on empty places in lists of replies: leave out where legal_logprobs is -inf"
    )


def check_silence(objective: Objective, kind: Of) -> None:
    """A batch in which nothing counts has a loss of zero and a gradient of zero."""
    example, name = example_of(kind, 5), named(objective)
    silent = replace(example.batch, loss_weights=torch.zeros_like(example.batch.loss_weights))
    loss, found, _ = measured(objective, replace(example, batch=silent))
    assert float(loss) == 0.0, f"{name} has the loss {float(loss):g} where every loss weight is zero: it must be zero"
    assert not found.any(), f"{name} has a gradient where every loss weight is zero"


def measured(objective: Objective, example: Example, of: Likelihoods | None = None) -> tuple[Tensor, Tensor, Metrics]:
    """Loss, gradient with respect to the leaf, metrics."""
    given = example.policy(example.leaf) if of is None else of
    loss, metrics = objective(given, example.batch)
    assert loss.requires_grad, f"the loss of {named(objective)} has no gradient: it must depend on likelihoods"
    (found,) = torch.autograd.grad(loss, example.leaf, retain_graph=True, allow_unused=True)
    return loss.detach(), torch.zeros_like(example.leaf) if found is None else found, metrics
