"""KTO: its loss and zero point by hand, additive over parts, and what it reads of a file."""

import json
from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch

from redqueen.contracts.objectives import Of, check_objective
from redqueen.objectives.batch import take
from redqueen.objectives.references import Reference
from redqueen.recipes.preferences.dpo.measures import HeldOutLabels, told_apart
from redqueen.recipes.preferences.dpo.objective import Kto, KtoLoss, mismatched
from redqueen.recipes.preferences.dpo.recipe import Config, train
from redqueen.recipes.preferences.dpo.steps import data_for
from redqueen.runs.run import Run, Schedule, read_final, read_metrics
from redqueen.settings.learner import Learner
from redqueen.types import Batch, Likelihoods, RedQueenError

TINY = Learner(model="tiny", max_completion_length=4, learning_rate=3e-3)
ROWS = ((1, 2, 10, 11), (3, 12), (1, 2, 13))  # prompt and reply
STARTS = (2, 1, 2)


def batch(values=(1.0, -1.0, -1.0), reference=0.0):
    """Three replies of 2, 1 and 1 tokens, the first and the last to one prompt; the reference's log-probabilities are
    all `reference`."""
    tokens, own = torch.zeros(3, 4, dtype=torch.int64), torch.zeros(3, 4, dtype=torch.bool)
    for row, (words, start) in enumerate(zip(ROWS, STARTS, strict=True)):
        tokens[row, : len(words)] = torch.tensor(words)
        own[row, start : len(words)] = True
    zeros = torch.zeros(3, 4, dtype=torch.float64)
    return Batch(
        tokens=tokens,
        loss_weights=own.double() / own.sum(dim=1, keepdim=True) / 3.0,
        sampled_logprobs=zeros,
        advantages=torch.where(own, torch.tensor(values, dtype=torch.float64)[:, None], 0.0),
        versions=torch.zeros_like(tokens),
        recited=own,
        trajectory=torch.arange(3),
        lengths=torch.tensor([len(words) for words in ROWS]),
        constraints=((),) * 3,
        pairs=torch.arange(3),
        reference=Likelihoods(torch.full_like(zeros, reference), zeros),
    )


def rated(*totals):
    """Log-probabilities [3, 4] that sum to `totals` over each reply."""
    found = torch.zeros(3, 4, dtype=torch.float64)
    for row, (total, words, start) in enumerate(zip(totals, ROWS, STARTS, strict=True)):
        found[row, start : len(words)] = total / (len(words) - start)
    return found.requires_grad_()


def of(logprobs):
    return Likelihoods(logprobs, torch.zeros_like(logprobs))


def test_the_loss_by_hand():
    """h is 2, 1.5 and -0.5, z is 0.5, beta 0.1: sigmoids of -0.15, 0.1 and -0.1, a third each."""
    loss, figures = KtoLoss(0.5, 1 / 3)(of(rated(2.0, 1.5, -0.5)), batch())
    assert loss.item() == pytest.approx((0.462570 + 0.524979 + 0.475021) / 3.0, abs=1e-6)
    assert figures["chosen_ratio"] == pytest.approx(2.0) and figures["rejected_ratio"] == pytest.approx(0.5)
    assert figures["preference_margin"] == pytest.approx(1.5)
    assert figures["margin_a_token"] == pytest.approx(2.0 / 2 - 0.5)
    assert figures["preference_accuracy"] == pytest.approx(2 / 3)
    assert figures["chosen_length"] == pytest.approx(2.0) and figures["rejected_length"] == pytest.approx(1.0)
    assert figures["zero_point"] == pytest.approx(0.5)


def test_at_the_start_the_loss_is_a_half_and_the_pull_a_quarter_of_beta():
    logprobs = rated(0.0, 0.0, 0.0)
    loss, _ = KtoLoss(0.0, 1 / 3, beta=0.4, desirable_weight=2.0)(of(logprobs), batch())
    assert loss.item() == pytest.approx((2.0 + 1.0 + 1.0) * 0.5 / 3.0)
    (pull,) = torch.autograd.grad(loss, logprobs)
    assert pull[0, 2:].tolist() == pytest.approx([-2.0 * 0.4 / 4 / 3] * 2)
    assert pull[1, 1].item() == pytest.approx(0.4 / 4 / 3)


def test_losses_and_figures_of_parts_add_up():
    objective, whole, logprobs = KtoLoss(0.5, 1 / 3), batch(), rated(2.0, 1.5, -0.5).detach()
    loss, figures = objective(of(logprobs), whole)
    parts = [objective(of(logprobs[[row]]), take(whole, torch.tensor([row]))) for row in range(3)]
    assert sum(part.item() for part, _ in parts) == pytest.approx(loss.item())
    for name, value in figures.items():
        assert sum(more[name] for _, more in parts) == pytest.approx(value), name


def test_it_keeps_the_contract_of_objectives():
    assert "additive" in check_objective(KtoLoss(0.5, 0.4, 0.3), Of.ROWS)


def test_each_prompt_has_the_reply_to_the_next_other_prompt():
    other = mismatched(batch())
    assert [row[:size].tolist() for row, size in zip(other.tokens, other.lengths, strict=True)] == [
        [1, 2, 12],
        [3, 13],
        [1, 2, 12],
    ]
    assert (other.loss_weights != 0).tolist() == [[False, False, True], [False, True, False], [False, False, True]]
    assert float(other.loss_weights.sum()) == pytest.approx(1.0)


@dataclass
class Rates:
    """A policy that rates each token at `value`."""

    value: float

    def likelihoods(self, found):
        return of(torch.full(found.tokens.shape, self.value, dtype=torch.float64))


@pytest.mark.parametrize(("learner", "zero"), [(-1.0, 0.7), (-2.0, 0.0)])
def test_the_zero_point_is_the_mean_of_mismatched_replies_and_never_below_zero(learner, zero):
    found = Kto(Rates(-1.7), 0.3).given(Rates(learner), batch())  # each mismatched reply is one token long
    assert (found.zero, found.beta) == (pytest.approx(zero), 0.3)
    assert found.good == pytest.approx(1 / 3)


def test_told_apart_by_hand():
    assert told_apart(np.array([2.0, 0.0]), np.array([1.0, 0.0])) == pytest.approx((1 + 1 + 0 + 0.5) / 4)


@pytest.fixture
def labelled(tmp_path):
    """Eighty prompts, each with one reply: small letters are good, capitals bad."""
    path = tmp_path / "labelled.jsonl"
    rows = [
        {"prompt": f"number {n}", "completion": ("abc" if n % 2 else "XYZ")[n % 3] * 2, "label": bool(n % 2)}
        for n in range(80)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return Config(
        TINY, questions=f"dataset:path={path},held_out=0.2", steps=15, pairs=64, passes=4, problems=16, loss="kto"
    )


def trained(config, folder):
    train(config, Run(folder, 0, Schedule(1000, checkpoint_every=1000, record_episodes=0)))
    return read_metrics(folder), read_final(folder)


def test_it_starts_at_a_half_and_tells_held_out_labels_apart_at_its_end(labelled, tmp_path):
    lines, final = trained(labelled, tmp_path / "run")
    assert lines[0]["preference_loss"] == pytest.approx(0.5, abs=1e-4)
    assert lines[0]["zero_point"] == pytest.approx(0.0, abs=1e-4)
    assert lines[0]["held_out/preference_accuracy"] == 0.5
    assert lines[0]["round/pairs"] == 64
    assert final["held_out/preference_accuracy"] > 0.9
    assert final["held_out/preference_margin"] > 1.0


def test_each_seed_measures_replies_of_its_own(labelled):
    data, learner = data_for("kto", labelled.questions, 4), TINY.build_model(0)
    reference = Reference(learner, "initial")

    def measured(seed):
        watch = data.measures(learner, reference, 4, seed)[1]
        (found,) = [each for each in watch._measures if isinstance(each, HeldOutLabels)]
        return found._batch.tokens.tolist()

    assert measured(1) == measured(1)
    assert len({str(measured(seed)) for seed in range(4)}) > 1


def test_both_sides_of_pairs_are_read_too(labelled, tmp_path):
    path = tmp_path / "pairs.jsonl"
    rows = [{"prompt": f"number {n}", "chosen": "a" * (1 + n % 3), "rejected": "X"} for n in range(40)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    config = replace(labelled, questions=f"dataset:path={path},held_out=0.2", pairs=200, steps=1)
    lines, _ = trained(config, tmp_path / "run")
    assert lines[0]["round/pairs"] == 64  # of 32 prompts


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (
            [{"prompt": "a", "completion": "b"}],
            r"line 1: the reply is not called good or bad: it needs a column label",
        ),
        ([{"prompt": "a", "completion": "b", "label": True}], "all have one label; give more"),
        (
            [{"prompt": "z", "completion": "b", "label": True}, {"prompt": "a", "completion": "b", "label": "maybe"}],
            "label must be true .a good reply. or false, not .maybe.",
        ),
    ],
)
def test_files_without_labels_are_refused_in_one_line(rows, said, labelled, tmp_path):
    path = tmp_path / "rows.jsonl"
    rows = [{**row, "prompt": f"{row['prompt']}{n}"} for n in range(6) for row in rows]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises((RedQueenError, UserWarning), match=said):
        trained(replace(labelled, questions=f"dataset:path={path},held_out=0.2", problems=2), tmp_path / "run")
