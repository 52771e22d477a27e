"""GRPO steps in a process of their own: `python -m experiments.speed._one_step WHO DTYPE {keep,recompute} N`, where WHO
is redqueen or trl.

Prints the seconds of N steps after a first one, and the most memory that the process held, as JSON. `recompute`
is TRL's gradient checkpointing.
"""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import time
from dataclasses import dataclass
from random import Random
from typing import Any

from experiments.speed.model import GROUP, PROMPTS, REPLY, prompts, speaker
from redqueen.credit.advantages.keys import by_task_and_role
from redqueen.credit.advantages.statistics import GroupRelative
from redqueen.credit.rewards import payoff, score
from redqueen.games.talk import ask
from redqueen.objectives.batch import pack
from redqueen.objectives.policy_gradient import ClippedRatio
from redqueen.play.lockstep import play
from redqueen.players.language.chat_format import ChatFormat
from redqueen.players.transformer.loading import embedded_folder
from redqueen.protocols import Play
from redqueen.types import Match, Outcome, Seat, Task


@dataclass(frozen=True)
class Writing:
    """One reply, worth the number of different letters in it."""

    name: str = "writing"
    roles: tuple[str, ...] = ("writer",)

    def tasks(self) -> list[Task]:
        return []

    def play(self, task: Task, rng: Random) -> Play:
        seat = Seat("writer")
        text = yield from ask(seat, task.messages)
        return Outcome({seat: float(len(set(text)))})


def ours(dtype: str, repeats: int) -> list[float]:
    """Seconds of each step."""
    policy = speaker(dtype)
    tasks = [Task(str(n), messages=asked.messages) for n, asked in enumerate(prompts(PROMPTS, policy.format))]
    estimate, objective, rng = GroupRelative(by_task_and_role), ClippedRatio(), Random(0)
    seconds = []
    for _ in range(repeats + 1):
        began = time.perf_counter()
        matches = [Match(Writing(), task, {"writer": policy}) for task in tasks for _ in range(GROUP)]
        trajectories = score(play(matches, rng), payoff)
        policy.update(pack(trajectories, estimate(trajectories)), objective)
        seconds.append(time.perf_counter() - began)
    return seconds[1:]


def trl(dtype: str, recompute: bool, repeats: int) -> list[float]:
    """Seconds of each step of TRL's GRPOTrainer on the same prompts, its settings left alone but for these."""
    import torch
    from datasets import Dataset
    from transformers import AutoModelForCausalLM, AutoTokenizer, TrainerCallback
    from trl import GRPOConfig, GRPOTrainer

    tokenizer = AutoTokenizer.from_pretrained(embedded_folder())
    asks = prompts(PROMPTS, ChatFormat(tokenizer))
    asked = [[{"role": "user", "content": each.messages[0].text}] for each in asks]
    seconds: list[float] = []
    began = 0.0

    class Watch(TrainerCallback):
        def on_step_begin(self, *ignored: Any, **rest: Any) -> None:
            nonlocal began
            began = time.perf_counter()

        def on_step_end(self, *ignored: Any, **rest: Any) -> None:
            seconds.append(time.perf_counter() - began)

    def reward(completions: list[Any], **rest: Any) -> list[float]:
        return [float(len(set(completion[0]["content"]))) for completion in completions]

    with tempfile.TemporaryDirectory() as folder:
        settings = GRPOConfig(
            output_dir=folder,
            per_device_train_batch_size=PROMPTS * GROUP,
            num_generations=GROUP,
            max_completion_length=REPLY,
            generation_kwargs={"min_new_tokens": REPLY},
            max_steps=repeats + 1,
            learning_rate=1e-6,
            bf16=dtype == "bfloat16",
            gradient_checkpointing=recompute,
            use_cpu=True,
            report_to=[],
            save_strategy="no",
            disable_tqdm=True,
        )
        GRPOTrainer(
            model=AutoModelForCausalLM.from_pretrained(embedded_folder(), dtype=torch.float32),
            processing_class=tokenizer,
            reward_funcs=reward,
            args=settings,
            train_dataset=Dataset.from_list([{"prompt": each} for each in asked] * (repeats + 1)),
            callbacks=[Watch()],
        ).train()
    return seconds[1:]


def main(words: list[str]) -> None:
    who, dtype, activations, repeats = words
    seconds = ours(dtype, int(repeats)) if who == "redqueen" else trl(dtype, activations == "recompute", int(repeats))
    print(json.dumps({"seconds": seconds, "gigabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20}))


if __name__ == "__main__":
    main(sys.argv[1:])
