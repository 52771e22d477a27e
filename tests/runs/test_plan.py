"""What a run needs by its numbers: known sums, and what is to be lowered."""

from dataclasses import replace

import pytest

from redqueen.runs.plan import GPUS, Measured, Sizes, adapted, learning_on, lowered, memory, needed, on_gpu, writing_on

# Llama-3.1-8B: 8.03e9 parameters, width 4096, 32 layers, 8 key heads of 128
EIGHT = Sizes(
    parameters=8_030_000_000,
    trained=8_030_000_000,
    width=4096,
    layers=32,
    weight_bytes=2,
    micro_batch=8192,
    cached=2 * 32 * 8 * 128 * 2,
)


def test_full_weights_in_bfloat16_take_eighteen_bytes_a_parameter():
    """2 for the weight, 2 and 4 for its gradient and the sum, 4 for the master, 8 for two moments, less the weight."""
    found = memory(EIGHT)
    assert found["weights"] == pytest.approx(2 * 8.03e9)
    assert found["gradients and optimiser"] == pytest.approx(18 * 8.03e9)
    in_eight_bits = memory(replace(EIGHT, eight_bit=True))
    assert in_eight_bits["gradients and optimiser"] == pytest.approx(12 * 8.03e9)
    in_float32 = memory(replace(EIGHT, weight_bytes=4))
    assert in_float32["weights"] + in_float32["gradients and optimiser"] == pytest.approx(16 * 8.03e9)


def test_an_adapter_costs_its_own_weights_alone_and_a_reference_a_copy_of_them():
    lora = adapted(EIGHT)
    assert lora.trained == 2 * 16 * 8_030_000_000 // 4096
    assert memory(lora)["gradients and optimiser"] == pytest.approx(18 * lora.trained)
    assert memory(replace(lora, copies=1))["frozen copies"] == pytest.approx(2 * lora.trained)
    assert memory(replace(EIGHT, copies=1))["frozen copies"] == pytest.approx(2 * 8.03e9)


def test_layers_that_are_run_again_keep_one_number_where_they_kept_21():
    plain, again = (memory(replace(EIGHT, recompute=on))["states of one pass"] for on in (False, True))
    assert plain == 21 * 4096 * 8192 * 2 * 32
    assert again == (21 + 32) * 4096 * 8192 * 2


# Qwen3-0.6B under an adapter of rank 16, in bfloat16 on an H200: what was measured (docs/speed.md)
SIX = replace(
    EIGHT,
    parameters=596_049_920,
    trained=10_092_544,
    width=1024,
    layers=28,
    cached=28 * 2 * 8 * 128 * 2,
    cache_gigabytes=0.0,
    there=True,
)


@pytest.mark.parametrize(
    ("tokens", "recompute", "held"),
    [(6684, False, 13.94), (6684, True, 2.67), (8372, False, 16.91), (8372, True, 4.05)],
)
def test_what_was_held_on_a_gpu_is_no_more_than_was_planned(tokens, recompute, held):
    planned = needed(replace(SIX, micro_batch=tokens, recompute=recompute)) / 1e9
    assert held < planned < 1.8 * held


def test_what_a_gpu_took_is_about_what_was_planned():
    """128 replies of 256 tokens to 16 prompts of 180; an update over 8 of 2,048, and over 2 of 8,192."""
    sampled = Measured(replies=128, prompt_tokens=16 * 180)
    assert writing_on(SIX, GPUS["h200"], sampled, 256) == pytest.approx(2.52, rel=0.25)
    for replies, tokens, seconds in ((8, 2048, 1.09), (2, 8192, 0.84)):
        learned = Measured(replies=replies, prompt_tokens=replies * 180)
        assert learning_on(SIX, GPUS["h200"], learned, tokens) == pytest.approx(seconds, rel=0.25)


def test_what_fits_need_not_be_lowered_and_what_does_not_is_told_what_to_lower_until_it_fits():
    assert lowered(EIGHT, 1e12) == []
    assert lowered(EIGHT, 80e9)[-1].startswith("--lora-rank 16 (")
    assert not any("bfloat16" in each for each in lowered(EIGHT, 80e9))  # it is already
    last = lowered(EIGHT, 80e9)[-1]
    assert float(last.rpartition("(")[2].removesuffix(" GB)")) < 80
    assert lowered(EIGHT, 8e9)[-1] == "a smaller --model"
    assert needed(adapted(EIGHT)) < 80e9 < needed(EIGHT)


def test_the_time_on_a_gpu_by_hand():
    """One reply of 1,000 tokens to a prompt of 1,000 with an adapter on 1e9 parameters in bfloat16, on an H100."""
    sizes = replace(EIGHT, parameters=10**9, trained=10**7, cached=0)
    found = Measured(replies=1, prompt_tokens=1000, reply_tokens=8)
    decode = 1000 * (2e9 / (0.6 * 3.35e12) + 32 * 0.3e-3)
    read = 2 * 1e9 * 1000 / (0.35 * 989e12)
    learn = 4 * 1e9 * 2000 / (0.35 * 989e12) + 1 * 32 * 12e-3
    assert on_gpu(sizes, GPUS["h100"], found, 1000) == pytest.approx(decode + read + learn)


def test_a_run_lasts_its_steps_and_its_measurements():
    times = [{"time": {"step": 9.0, "measure": 4.0}}, {"time": {"step": 3.0, "measure": 0.0}}]
    found = Measured(loading=10.0, lines=times)
    # 5 + 9 * 3 of ten steps; measured before steps 0, 5 and at the end
    assert found.lasts(10, 5) == 10.0 + 5.0 + 9 * 3.0 + 3 * 4.0


def test_where_only_some_steps_play_the_first_stands_for_them():
    """An iteration of four steps, of which the first plays for 9 seconds."""
    times = [{"time": {"step": 13.0, "measure": 4.0}}, {"time": {"step": 1.0, "measure": 0.0}}]
    found = Measured(loading=10.0, lines=times, every=4)
    assert [found.plays(steps) for steps in (2, 4, 5, 10)] == [1, 1, 2, 3]
    # steps 0, 4 and 8 play, seven do not; measured before step 0 and at the end
    assert found.lasts(10, 10) == 10.0 + 3 * 9.0 + 7 * 1.0 + 2 * 4.0
    # data for two updates of an iteration: steps 1, 5 and 9 learn after steps 0, 4 and 8
    found.learning = 2
    assert [found.learns(steps) for steps in (1, 2, 4, 5, 10)] == [1, 2, 2, 3, 6]
    assert found.lasts(10, 10) == 10.0 + 3 * 9.0 + 3 * 1.0 + 2 * 4.0
