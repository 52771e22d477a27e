"""One engine on one GPU, in a process of its own: `python -m experiments.speed._on_gpu WHO REPEATS WORK...`, where
WHO is redqueen, singly (redqueen without recorded steps), transformers, trl, trl-vllm or vllm. Every work is done once
more than REPEATS, the first of which loads what it needs; an update twice, whatever REPEATS says.

The model has the shape of Qwen3-0.6B and random weights, in bfloat16: no reply ends before its limit, and an engine
that is given the same prompts does the same work. A work is one word:

    sample:PROMPTS,ATTEMPTS,REPLY    replies to so many different prompts, so many to each
    step:PROMPTS,ATTEMPTS,REPLY      whole GRPO steps of a LoRA adapter of rank 16; all: of all weights
    learn:ROWS,REPLY                 one update of so many rows, each with a prompt of its own

For each a line of JSON: its seconds, repeated, and the most memory that the GPU held, in GB.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import torch

from experiments.speed._one_step import Writing
from experiments.speed.model import WORDS
from redqueen.credit.advantages.keys import by_task_and_role
from redqueen.credit.advantages.statistics import GroupRelative
from redqueen.credit.rewards import payoff, score
from redqueen.objectives.batch import pack
from redqueen.objectives.policy_gradient import ClippedRatio
from redqueen.play.lockstep import play
from redqueen.players.transformer import recorded
from redqueen.players.transformer.loading import LoadedModel, add_lora, load_model, tiny_tokenizer
from redqueen.players.transformer.policy import TransformerPolicy
from redqueen.types import Ask, Match, Message, Seat, Task

PROMPT = 180
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SHAPE: dict[str, Any] = {
    "vocab_size": 151_936,
    "hidden_size": 1024,
    "intermediate_size": 3072,
    "num_hidden_layers": 28,
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "max_position_embeddings": 40_960,
    "rope_theta": 1_000_000.0,
    "tie_word_embeddings": True,
}
SMALL = {"vocab_size": 2048, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2}  # without a GPU


def folder() -> str:
    """The model's folder; made where it is not there."""
    from transformers import Qwen3Config, Qwen3ForCausalLM

    place = Path(tempfile.gettempdir()) / f"redqueen-qwen3-shape-{DEVICE}"
    if not (place / "config.json").exists():
        tokenizer = tiny_tokenizer()
        end = tokenizer.eos_token_id
        shape = SHAPE if DEVICE == "cuda" else {**SHAPE, **SMALL}
        torch.manual_seed(0)
        with torch.device(DEVICE):
            config: Any = Qwen3Config(**shape, eos_token_id=end, pad_token_id=end)
            model: Any = Qwen3ForCausalLM(config)
            model = model.to(torch.bfloat16)
        tokenizer.save_pretrained(place)
        model.save_pretrained(place)
    return str(place)


def texts(count: int) -> list[str]:
    """Different prompts of PROMPT tokens or one or two more."""
    rng, tokenizer = Random(0), tiny_tokenizer()
    found = []
    for _ in range(count):
        text = ""
        while len(tokenizer(text)["input_ids"]) < PROMPT:
            text += f" {rng.choice(WORDS.split())}"
        found.append(text)
    return found


class Meter:
    """Seconds of a piece of work, and the memory."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self._began = 0.0

    def begin(self) -> None:
        _wait()
        self._began = time.perf_counter()

    def end(self) -> None:
        _wait()
        self.seconds.append(time.perf_counter() - self._began)

    def times(self, repeats: int, work: Callable[[], Any]) -> None:
        for _ in range(repeats):
            self.begin()
            work()
            self.end()

    def told(self, **facts: Any) -> None:
        held = torch.cuda.max_memory_allocated() / 1e9 if DEVICE == "cuda" else 0.0
        print(
            json.dumps({**facts, "seconds": [round(each, 4) for each in self.seconds], "gigabytes": held}), flush=True
        )


def _wait() -> None:
    if DEVICE == "cuda":
        torch.cuda.synchronize()


def _numbers(work: str) -> list[int]:
    return [int(each) for each in work.partition(":")[2].split(",")]


# --- Red Queen -------------------------------------------------------------------------------


def policy(reply: int, rank: int = 16, **settings: Any) -> TransformerPolicy:
    loaded: LoadedModel = load_model(folder(), torch.bfloat16, DEVICE)
    loaded.model.generation_config.eos_token_id = None
    if rank:
        loaded = add_lora(loaded, rank, 0)
        for name, value in loaded.model.named_parameters():
            if "lora_B" in name:
                torch.nn.init.normal_(value, std=0.002)
    made = TransformerPolicy(
        loaded,
        learning_rate=1e-6,
        max_completion_length=reply,
        constrain=False,
        token_budget=8192,
        cache_gigabytes=20.0,
        raw=True,
        **settings,
    )
    made.manner = replace(made.manner, stops=frozenset())
    return made


def ours(work: str, repeats: int) -> None:
    kind, meter = work.partition(":")[0], Meter()
    if kind == "sample":
        prompts, attempts, reply = _numbers(work)
        speaker = policy(reply)
        asks = [
            Ask(Seat("writer"), (Message("game", text),), seed=attempts * number + attempt)
            for number, text in enumerate(texts(prompts))
            for attempt in range(attempts)
        ]

        def say() -> None:
            speaker.forget()
            assert all(len(each.tokens) == reply for each in speaker.reply(asks))

        meter.times(repeats + 1, say)
        meter.told(work=work)
    elif kind in ("step", "all"):
        prompts, attempts, reply = _numbers(work)
        speaker = policy(reply, rank=16 if kind == "step" else 0)
        tasks = [Task(str(number), messages=(Message("game", text),)) for number, text in enumerate(texts(prompts))]
        estimate, objective, rng = GroupRelative(by_task_and_role), ClippedRatio(), Random(0)
        sampling, figures = Meter(), {}
        for _ in range(repeats + 1):
            meter.begin()
            sampling.begin()
            trajectories = score(
                play([Match(Writing(), task, {"writer": speaker}) for task in tasks for _ in range(attempts)], rng),
                payoff,
            )
            sampling.end()
            figures = speaker.update(pack(trajectories, estimate(trajectories)), objective)
            meter.end()
        mismatch = {key: round(float(value), 5) for key, value in figures.items() if "mismatch" in key}
        meter.told(work=work, sampling=[round(each, 4) for each in sampling.seconds], **mismatch)
    else:
        rows, reply = _numbers(work)
        for recompute in (False, True):
            try:
                _learn(work, rows, reply, recompute)
            except torch.OutOfMemoryError:
                Meter().told(work=work, recompute=recompute, error="out of memory")


def _learn(work: str, rows: int, reply: int, recompute: bool) -> None:
    speaker = policy(1, recompute=recompute)
    meter = Meter()
    batch = written(rows, reply)
    if DEVICE == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    meter.times(2, lambda: speaker.update(batch, ClippedRatio()))
    meter.told(work=work, recompute=recompute)


def written(rows: int, reply: int) -> Any:
    """Rows of a prompt and a reply of random tokens, with advantages of both signs."""
    from redqueen.types import Batch

    generator = torch.Generator().manual_seed(0)
    shape = (rows, PROMPT + reply)
    tokens = torch.randint(700, shape, generator=generator)
    own = torch.zeros(shape, dtype=torch.float64)
    own[:, PROMPT:] = 1.0 / (rows * reply)
    signs = torch.tensor([1.0, -1.0], dtype=torch.float64).repeat(-(-rows // 2))[:rows]
    return Batch(
        tokens=tokens,
        loss_weights=own,
        sampled_logprobs=torch.where(own > 0, -12.0, 0.0),
        advantages=signs[:, None].expand(shape).clone(),
        versions=torch.zeros(shape, dtype=torch.int64),
        recited=torch.zeros(shape, dtype=torch.bool),
        trajectory=torch.arange(rows),
        lengths=torch.full((rows,), PROMPT + reply),
        constraints=tuple(() for _ in range(rows)),
    )


# --- others ----------------------------------------------------------------------------------


def plain(work: str, repeats: int) -> None:
    """transformers' own `generate`, and an update over padded rows with its checkpointing."""
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model: Any = AutoModelForCausalLM.from_pretrained(folder(), dtype=torch.bfloat16)
    model = model.to(DEVICE)
    model = get_peft_model(model, LoraConfig(r=16, lora_alpha=32, target_modules="all-linear", task_type="CAUSAL_LM"))
    meter = Meter()
    if work.startswith("sample"):
        prompts, attempts, reply = _numbers(work)
        tokenizer: Any = AutoTokenizer.from_pretrained(folder(), padding_side="left")
        inputs = tokenizer(
            [text for text in texts(prompts) for _ in range(attempts)], padding=True, return_tensors="pt"
        )
        inputs = {key: inputs[key].to(DEVICE) for key in ("input_ids", "attention_mask")}

        def say() -> None:
            model.generate(
                **inputs, min_new_tokens=reply, max_new_tokens=reply, do_sample=True, top_k=0, top_p=1.0, pad_token_id=0
            )

        meter.times(repeats + 1, say)
        meter.told(work=work)
        return
    rows, reply = _numbers(work)
    batch = written(rows, reply)
    model.gradient_checkpointing_enable({"use_reentrant": False})
    model.enable_input_require_grads()
    model.train()
    if DEVICE == "cuda":
        torch.cuda.reset_peak_memory_stats()
    tokens, advantages = batch.tokens.to(DEVICE), batch.advantages.to(DEVICE)

    def learn() -> None:
        for row in range(rows):  # a row at a time, as its users do where replies are long
            logits = model(input_ids=tokens[row : row + 1], logits_to_keep=reply + 1).logits[:, :-1]
            logprobs = logits.float().log_softmax(dim=2).gather(2, tokens[row : row + 1, -reply:, None])
            (-(advantages[row, 0] * logprobs.mean()) / rows).backward()
        model.zero_grad(set_to_none=True)

    try:
        meter.times(2, learn)
        meter.told(work=work, recompute=True)
    except torch.OutOfMemoryError:
        meter.told(work=work, recompute=True, error="out of memory")


def trl(work: str, repeats: int, vllm: bool) -> None:
    from datasets import Dataset
    from peft import LoraConfig
    from transformers import AutoModelForCausalLM, AutoTokenizer, TrainerCallback
    from trl import GRPOConfig, GRPOTrainer

    prompts, attempts, reply = _numbers(work)
    meter = Meter()

    class Watch(TrainerCallback):
        def on_step_begin(self, *ignored: Any, **rest: Any) -> None:
            meter.begin()

        def on_step_end(self, *ignored: Any, **rest: Any) -> None:
            meter.end()

    def reward(completions: list[str], **rest: Any) -> list[float]:
        return [float(len(set(completion))) for completion in completions]

    size = min(prompts * attempts, 32)  # rows of a micro-batch: all at once do not fit a GPU of 80 GB
    of_engine: dict[str, Any] = {"generation_kwargs": {"min_new_tokens": reply}}
    if vllm:
        of_engine = {
            "use_vllm": True,
            "vllm_mode": "colocate",
            "vllm_gpu_memory_utilization": 0.4,
            "generation_kwargs": {"ignore_eos": True},
        }
    with tempfile.TemporaryDirectory() as place:
        settings = GRPOConfig(
            output_dir=place,
            per_device_train_batch_size=size,
            gradient_accumulation_steps=prompts * attempts // size,
            num_generations=attempts,
            max_completion_length=reply,
            max_steps=repeats + 1,
            learning_rate=1e-6,
            bf16=True,
            use_cpu=DEVICE == "cpu",
            report_to=[],
            save_strategy="no",
            disable_tqdm=True,
            **of_engine,
        )
        adapter = LoraConfig(r=16, lora_alpha=32, target_modules="all-linear", task_type="CAUSAL_LM")
        GRPOTrainer(
            model=AutoModelForCausalLM.from_pretrained(folder(), dtype=torch.bfloat16),
            processing_class=AutoTokenizer.from_pretrained(folder()),
            reward_funcs=reward,
            args=settings,
            train_dataset=Dataset.from_list([{"prompt": each} for each in texts(prompts)] * (repeats + 1)),
            callbacks=[Watch()],
            peft_config=adapter if work.startswith("step") else None,
        ).train()
    meter.told(work=work)


def by_vllm(works: list[str], repeats: int) -> None:
    os.environ.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "WARNING")
    from vllm import LLM, SamplingParams, TokensPrompt

    began = time.perf_counter()
    engine = LLM(
        model=folder(), dtype="bfloat16", max_model_len=4096, enable_prefix_caching=True, gpu_memory_utilization=0.5
    )
    print(json.dumps({"work": "start", "seconds": [time.perf_counter() - began]}), flush=True)
    tokenizer = tiny_tokenizer()
    for work in works:
        prompts, attempts, reply = _numbers(work)
        rows = [tokenizer(text)["input_ids"] for text in texts(prompts)]
        way = SamplingParams(
            temperature=1.0, max_tokens=reply, ignore_eos=True, logprobs=0, detokenize=False, n=attempts
        )

        def say(rows: Any = rows, way: Any = way) -> None:
            engine.reset_prefix_cache()
            engine.generate([TokensPrompt(prompt_token_ids=row) for row in rows], way, use_tqdm=False)

        meter = Meter()
        meter.times(repeats + 1, say)
        meter.told(work=work)


def main(words: list[str]) -> None:
    who, repeats, *works = words
    if who == "vllm":
        by_vllm(works, int(repeats))
        return
    for work in works:
        if who in ("redqueen", "singly"):
            recorded._can_record = who == "redqueen"
            ours(work, int(repeats))
        elif who == "transformers":
            plain(work, int(repeats))
        else:
            trl(work, int(repeats), who == "trl-vllm")


if __name__ == "__main__":
    main(sys.argv[1:])
