"""What is recorded on CUDA, run here one operation after the other: rows that stay, their room, joined products."""

import pytest
import torch
from torch import nn

from redqueen.chance import derive
from redqueen.players.transformer import recorded, sampling
from redqueen.players.transformer.forward import Forward
from redqueen.players.transformer.key_values import KeyValueStore
from redqueen.players.transformer.loading import add_lora
from redqueen.players.transformer.recorded import Together
from redqueen.players.transformer.sampling import Manner, sample
from tests.players.transformer.test_sampling import rated

PROMPTS = [(1, 2, 3, 4, 5), (7,), (1, 2, 3, 4, 5), (9, 8), (1, 2, 3), (7,), (1, 2, 3, 4, 5)]
APART = [(1, 2, 3, 4, 5), (7,), (9, 8)]
LONG = [tuple(range(1, 300))] * 3 + [tuple(range(2, 290))]
STOPS = frozenset(range(12))  # words likely enough that replies of several lengths end in them


@pytest.fixture
def replays(monkeypatch):
    """How often a step was run as recorded; as on CUDA, but by Python, and on this machine."""
    count = []

    def record(run):
        run()  # on CUDA it only records, and the first replay computes
        cells = dict(zip(run.__code__.co_freevars, run.__closure__, strict=True))
        found = cells["found"].cell_contents
        first = [True]

        def again():
            count.append(1)
            if first:
                first.clear()
                return
            run()
            found[0].copy_(found.pop())

        return again

    monkeypatch.setattr(recorded, "record", record)
    monkeypatch.setattr(sampling, "RECORDED", ("cpu",))
    monkeypatch.setattr(sampling, "PATIENCE", 10**9)
    return count


def sampled(model, prompts, limit=70, stops=STOPS):
    forward = Forward(model)
    seeds = [derive(4, n) for n in range(len(prompts))]
    return sample(forward, KeyValueStore(forward, 100_000), prompts, seeds, Manner(stops, limit, 1.0))


@pytest.mark.parametrize("rank", [0, 4])
@pytest.mark.parametrize("prompts", [PROMPTS, APART, LONG], ids=["some shared", "apart", "long"])
@pytest.mark.parametrize("family", ["llama", "qwen2", "qwen3", "mistral", "gemma3", "gpt2"])
def test_recorded_steps_say_the_same_words(made, replays, family, prompts, rank):
    model = made(family, rank=rank).model
    found = sampled(model, prompts)
    steps = len(replays)
    assert steps > 60
    for prompt, each in zip(prompts, found, strict=True):
        assert each.logprobs == pytest.approx(rated(model, prompt, each), abs=5e-5)


def test_steps_are_recorded_anew_where_rows_leave_or_need_more_room(made, replays, monkeypatch):
    made_anew = []
    right = recorded.Recorded._record
    monkeypatch.setattr(
        recorded.Recorded, "_record", lambda self, given: (made_anew.append(given.shape[1]), right(self, given))
    )
    found = sampled(made().model, PROMPTS * 3, limit=200)
    ends = sorted(len(each.tokens) for each in found)
    assert ends[0] < 10 < ends[10] < 100 < ends[-1]  # else nothing is shown
    assert made_anew[0] > 10 and made_anew[-1] <= 4
    assert 4 <= len(made_anew) <= 10  # halves of 21 rows, and twice 32 places up to 200


def test_what_cannot_be_recorded_is_said_and_sampled_all_the_same(made, replays, monkeypatch):
    model = made().model
    expected = sampled(model, PROMPTS)

    def refuse(run):
        raise RuntimeError("operation not permitted when stream is capturing\nCUDA kernel errors might be ...")

    monkeypatch.setattr(recorded, "record", refuse)
    monkeypatch.setattr(recorded, "_can_record", True)
    with pytest.warns(UserWarning, match="cannot be recorded as a CUDA graph .operation not permitted when stream is"):
        found = sampled(model, PROMPTS)
    assert [each.tokens for each in found] == [each.tokens for each in expected]
    assert found == sampled(model, PROMPTS)  # and is said once


@pytest.mark.parametrize("copied", [1 << 30, 0])
def test_modules_with_one_input_are_multiplied_as_one(made, monkeypatch, copied):
    monkeypatch.setattr(recorded, "COPIED", copied)
    torch.manual_seed(0)
    loaded = made("qwen2", rank=4)
    forward = Forward(loaded.model)
    groups = list(forward.linears())
    joined = Together(groups)
    for group in groups:
        given = torch.randn(5, group[0].in_features)
        for module, found in zip(group, joined.together(group, given), strict=True):
            torch.testing.assert_close(found, module(given))


def test_an_adapter_on_some_modules_is_added_to_these(made):
    torch.manual_seed(0)
    loaded = add_lora(made("qwen2"), 4, 0, targets=("v_proj", "up_proj"))
    for name, value in loaded.model.named_parameters():
        if "lora_B" in name:
            nn.init.normal_(value)
    groups = list(Forward(loaded.model).linears())
    joined = Together(groups)
    for group in groups:
        given = torch.randn(5, group[0].in_features)
        for module, found in zip(group, joined.together(group, given), strict=True):
            torch.testing.assert_close(found, module(given))
