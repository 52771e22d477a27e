"""How fast it is, beside what users would run instead: the same work, in turns, in one run.

The model is SmolLM2-135M-Instruct with all weights trained. A prompt has about 180 tokens and a reply
exactly 32. `step` compares whole GRPO steps with TRL's, each in a process of its own, which also gives
the memory; the others run beside plain transformers in this process. Peers get the settings of the
process that the command line makes (huge pages, threads that spin briefly) like everything else here.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

import torch

from redqueen.games.talk import ask, told
from redqueen.play.lockstep import play
from redqueen.players.language.chat_format import ChatFormat
from redqueen.players.transformer.loading import EMBEDDED, load_model
from redqueen.players.transformer.policy import TransformerPolicy
from redqueen.players.transformer.rows import parts_of
from redqueen.players.transformer.sampling import Choir, Saying
from redqueen.protocols import Play
from redqueen.recipes.games import magnetic
from redqueen.settings.learner import Learner
from redqueen.trials.experiment import Made, Rows, Table, Training
from redqueen.types import Ask, Batch, Match, Message, Outcome, Seat, Task

PROMPT, REPLY, GROUP, PROMPTS = 180, 32, 8, 4
WORDS = "river stone market silver garden window teacher engine yellow forest summer letter bridge music island"


def prompts(count: int, chat: ChatFormat) -> list[Ask]:
    """Asks whose prompts have PROMPT tokens or one or two more, all different."""
    rng = Random(0)
    asks = []
    for _ in range(count):
        words: list[str] = []
        while True:
            words.append(rng.choice(WORDS.split()))
            asked = Ask(Seat("writer"), (Message("game", " ".join(words)),))
            if len(chat.prompt(asked)) >= PROMPT:
                asks.append(asked)
                break
    return asks


def speaker(dtype: str) -> TransformerPolicy:
    """A policy that says REPLY tokens, neither more nor fewer."""
    loaded = load_model(EMBEDDED, getattr(torch, dtype), "cpu")
    policy = TransformerPolicy(loaded, learning_rate=1e-6, max_completion_length=REPLY, constrain=False)
    policy.manner = replace(policy.manner, stops=frozenset())
    return policy


def peer(dtype: str) -> Any:
    """The same model as transformers loads it."""
    from transformers import AutoModelForCausalLM

    from redqueen.players.transformer.loading import embedded_folder

    model: Any = AutoModelForCausalLM.from_pretrained(embedded_folder(), dtype=getattr(torch, dtype))
    return model.eval()


def in_turns(repeats: int, *works: Callable[[], Any]) -> list[float]:
    """The median seconds of each work; all are run once before, and then one after the other."""
    seconds: list[list[float]] = [[] for _ in works]
    for repeat in range(repeats + 1):
        for number, work in enumerate(works):
            began = time.perf_counter()
            work()
            if repeat:
                seconds[number].append(time.perf_counter() - began)
    return [median(each) for each in seconds]


# --- sampling --------------------------------------------------------------------------------


def sampling(repeats: int) -> Made:
    """Replies beside `model.generate`."""
    rows: Rows = []
    for dtype in ("bfloat16", "float32"):
        policy, model = speaker(dtype), peer(dtype)
        different = prompts(PROMPTS * GROUP, policy.format)
        groups = [asked for asked in different[:PROMPTS] for _ in range(GROUP)]
        for name, asks in (("32 different prompts", different), ("4 prompts, 8 replies each", groups)):
            asks = [replace(asked, seed=number) for number, asked in enumerate(asks)]
            inputs = _padded(policy, asks)
            reading, whole = partial(_generate, model, inputs, 1), partial(_generate, model, inputs, REPLY)
            ours, theirs, read = in_turns(repeats, partial(_say, policy, asks), whole, reading)
            rows.append(_row(f"{name}, {dtype}", theirs, ours, f"{len(asks) * REPLY / ours:.0f} tokens/s"))
            theirs, ours = (theirs - read) / (REPLY - 1), _growing(repeats, policy, asks)
            rows.append(_row(f"{name}, {dtype}, without the prompts", theirs, ours, f"{len(asks) / ours:.0f} tokens/s"))
    note = (
        f"Prompts of {PROMPT} tokens, replies of {REPLY}. Without the prompts: one step of 32 tokens; in transformers "
        f"the time of {REPLY} steps less that of the first."
    )
    return _HEADINGS, rows, note


def _say(policy: TransformerPolicy, asks: list[Ask]) -> None:
    policy.forget()
    policy.reply(asks)


def _padded(policy: TransformerPolicy, asks: list[Ask]) -> dict[str, torch.Tensor]:
    rows = [policy.format.prompt(asked).tolist() for asked in asks]
    width = max(map(len, rows))
    return {
        "input_ids": torch.tensor([[0] * (width - len(row)) + row for row in rows]),
        "attention_mask": torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in rows]),
    }


def _generate(model: Any, inputs: dict[str, torch.Tensor], count: int) -> None:
    torch.manual_seed(0)
    model.generate(
        **inputs, min_new_tokens=count, max_new_tokens=count, do_sample=True, top_k=0, top_p=1.0, pad_token_id=0
    )


def _growing(repeats: int, policy: TransformerPolicy, asks: list[Ask]) -> float:
    """Median seconds of a step of all rows after the prompts were read."""
    seconds: list[float] = []

    def grow() -> None:
        policy.forget()
        sayings = [Saying(tuple(policy.format.prompt(asked).tolist()), asked.seed, policy.manner) for asked in asks]
        with torch.inference_mode():
            choir = Choir(policy.forward, policy.store, sayings)
            began = time.perf_counter()
            while choir.sayings:
                choir.step()
        seconds.append((time.perf_counter() - began) / (REPLY - 1))

    for _ in range(repeats):
        policy.forward.wearing(None, grow)
    return median(seconds)


# --- training --------------------------------------------------------------------------------


def update(repeats: int) -> Made:
    """Forward and backward of a group's rows beside padded rows in transformers, and what share of the machine's
    products that is."""
    rows: Rows = []
    notes = []
    for dtype in ("bfloat16", "float32"):
        policy, model = speaker(dtype), peer(dtype)
        asks = [asked for asked in prompts(PROMPTS, policy.format) for _ in range(GROUP)]
        batch = _written(policy, asks)
        works = (partial(_backward, policy, batch), partial(_plain_backward, model, batch))
        ours, theirs = in_turns(repeats, *works)
        rows.append(_row(f"32 rows of 4 prompts, {dtype}", theirs, ours, f"{_distinct(batch) / ours:.0f} tokens/s"))
        rate, reached = _product_rate(policy, getattr(torch, dtype)), 3 * 2 * _weights(model) * _distinct(batch) / ours
        notes.append(f"{dtype}: {reached / 1e9:.0f} of {rate / 1e9:.0f} GFLOP/s")
    rows_note = f"{PROMPTS * GROUP * (PROMPT + REPLY)} tokens as rows, {_distinct(batch)} distinct."
    note = f"{rows_note} Products that training needs a second, of those the machine makes: {'; '.join(notes)}."
    return _HEADINGS, rows, note


def _written(policy: TransformerPolicy, asks: list[Ask]) -> Batch:
    """What the policy says to the asks, with advantages of both signs."""
    replies = policy.reply([replace(asked, seed=number) for number, asked in enumerate(asks)])
    lengths = [len(reply.prompt_tokens) + REPLY for reply in replies]
    shape = (len(replies), max(lengths))
    tokens = torch.zeros(shape, dtype=torch.int64)
    own, sampled = torch.zeros(shape, dtype=torch.float64), torch.zeros(shape, dtype=torch.float64)
    for row, reply in enumerate(replies):
        start = lengths[row] - REPLY
        tokens[row, :start] = torch.from_numpy(reply.prompt_tokens)
        tokens[row, start : lengths[row]] = torch.from_numpy(reply.tokens)
        own[row, start : lengths[row]] = 1.0 / (len(replies) * REPLY)
        sampled[row, start : lengths[row]] = torch.from_numpy(reply.logprobs)
    signs = torch.tensor([1.0, -1.0], dtype=torch.float64).repeat(len(replies) // 2)
    return Batch(
        tokens=tokens,
        loss_weights=own,
        sampled_logprobs=sampled,
        advantages=signs[:, None].expand(shape).clone(),
        versions=torch.full(shape, policy.version),
        recited=torch.zeros(shape, dtype=torch.bool),
        trajectory=torch.arange(len(replies)),
        lengths=torch.tensor(lengths),
        constraints=tuple(() for _ in replies),
    )


def _backward(policy: TransformerPolicy, batch: Batch) -> None:
    for part in parts_of(batch, 2048):
        likelihoods = policy.rate(part, 0, batch.tokens.shape[1])
        weights = batch.loss_weights[part.rows] * batch.advantages[part.rows]
        policy.forward.wearing(None, (-(weights * likelihoods.logprobs).sum()).backward)
    for value in policy.trainable.values():
        value.grad = None


def _plain_backward(model: Any, batch: Batch) -> None:
    width = batch.tokens.shape[1]
    kept = width - int((batch.loss_weights != 0).any(dim=0).to(torch.int8).argmax()) + 1
    mask = (torch.arange(width) < batch.lengths[:, None]).long()
    logits = model(input_ids=batch.tokens, attention_mask=mask, logits_to_keep=kept, use_cache=False).logits[:, :-1]
    targets = batch.tokens[:, 1 - kept :, None]
    logprobs = logits.float().log_softmax(dim=2).gather(2, targets)[..., 0]
    weights = (batch.loss_weights * batch.advantages)[:, 1 - kept :]
    (-(weights * logprobs).sum()).backward()
    model.zero_grad(set_to_none=True)


def _distinct(batch: Batch) -> int:
    """Nodes of the batch's trie."""
    rows = zip(batch.tokens.tolist(), batch.lengths.tolist(), strict=True)
    return len({tuple(row[:end]) for row, length in rows for end in range(1, length)})


def _weights(model: Any) -> int:
    """Parameters that a token is multiplied with, but for the head."""
    return sum(value.numel() for name, value in model.named_parameters() if "embed" not in name and value.dim() == 2)


def _product_rate(policy: TransformerPolicy, dtype: torch.dtype) -> float:
    """FLOP/s of the model's largest product, at the rows of a whole update, as fast as torch makes it here."""
    left, right = torch.randn(1744, 576).to(dtype), torch.randn(1536, 576).to(dtype)

    def product() -> None:
        for _ in range(20):
            torch.nn.functional.linear(left, right)

    (seconds,) = in_turns(5, lambda: policy.forward.wearing(None, product))
    return 20 * 2 * 1744 * 576 * 1536 / seconds


# --- games -----------------------------------------------------------------------------------


def many_games(repeats: int) -> Made:
    """An update with many games beside one with few: the positions are the same twelve."""
    rows: Rows = []
    seconds = {}
    for count in (128, 4096):
        config = magnetic.Config(
            learner=Learner(model=EMBEDDED), steps=3 + repeats, matches_per_step=count, magnet_every=0
        )
        with tempfile.TemporaryDirectory() as folder:
            lines = Training(magnetic.train)(config, 0, Path(folder)).lines
        seconds[count] = median(line["time"]["step"] for line in lines[3:])
    few, many = seconds[128], seconds[4096]
    rows.append(("4,096 games", "128 games", f"{few:.2f}", f"{many:.2f}", f"{many / few:.2f}"))
    headings = ("update with", "against", "seconds of 128", "seconds of 4,096", "times as long")
    return headings, rows, "LoRA rank 16, float32; playing, estimate and update."


@dataclass(frozen=True)
class Dialogue:
    """A seat that is spoken to again and again."""

    turns: int
    name: str = "dialogue"
    roles: tuple[str, ...] = ("writer",)

    def tasks(self) -> list[Task]:
        return [Task(str(number), prompt=word) for number, word in enumerate(WORDS.split()[:8])]

    def play(self, task: Task, rng: Random) -> Play:
        seat = Seat("writer")
        messages = told(f"Let us write a story about a {task.prompt}, one sentence at a time. You begin.")
        for _ in range(self.turns):
            said = yield from ask(seat, messages)
            heard = " ".join(rng.choices(WORDS.split(), k=12))
            messages = (*messages, Message(str(seat), said), Message("game", f"Then it was {heard}. Go on."))
        return Outcome({seat: 0.0})


def long_games(repeats: int) -> Made:
    """Seconds of a new token in a long dialogue beside a short one: a turn goes on from the keys of the last."""
    policy = speaker("bfloat16")

    def talk(turns: int, count: int) -> None:
        policy.forget()
        game = Dialogue(turns)
        play([Match(game, task, {"writer": policy}, seed=0) for task in game.tasks()[:count]], Random(0))

    rows: Rows = []
    for count in (1, 8):
        short, long = in_turns(repeats, partial(talk, 4, count), partial(talk, 16, count))
        each = [seconds / (turns * REPLY * count) * 1e3 for seconds, turns in ((short, 4), (long, 16))]
        rows.append((str(count), f"{each[0]:.2f}", f"{each[1]:.2f}", f"{each[1] / each[0]:.2f}"))
    headings = ("dialogues", "milliseconds a new token in 4 turns", "in 16 turns", "times as long")
    note = f"{REPLY} new tokens a turn, bfloat16; everything counted. What grows is the reading of keys and values."
    return headings, rows, note


# --- a whole step ----------------------------------------------------------------------------


def step(repeats: int) -> Made:
    """Whole GRPO steps and their peak memory beside TRL's."""
    rows: Rows = []
    peers = {
        "bfloat16": ("trl", "bfloat16", "keep"),
        "bfloat16, recomputing activations (its default)": ("trl", "bfloat16", "recompute"),
        "float32": ("trl", "float32", "keep"),
    }
    for name, words in peers.items():
        own, steps = ("redqueen", *words[1:2], "keep"), []  # before and after the peer: machines change their speed
        for who in (own, words, own):
            found = _child(who, repeats)
            if isinstance(found, str):
                assert who is words, found
                return ("", "not measured"), [("TRL", found)], ""
            steps.append(found)
        before, theirs, after = steps
        seconds = median(before.seconds + after.seconds)
        held = max(before.gigabytes, after.gigabytes)
        rates = sorted(median(theirs.seconds) / median(each.seconds) for each in (before, after))
        rows.append(
            (
                name,
                f"{median(theirs.seconds):.1f}",
                f"{seconds:.1f}",
                f"{median(theirs.seconds) / seconds:.1f}",
                f"{rates[0]:.1f} to {rates[1]:.1f}",
                f"{theirs.gigabytes:.1f}",
                f"{held:.1f}",
                f"{held / theirs.gigabytes:.2f}",
            )
        )
    headings = (
        *("", "TRL, s", "here, s", "times as fast", "beside our steps before, after it"),
        *("TRL, GB", "here, GB", "share of memory"),
    )
    note = (
        f"{PROMPTS} prompts of {PROMPT} tokens, {GROUP} replies of {REPLY} each: sampling, rewards, advantages, update "
        "of all weights. bfloat16 is TRL's mixed precision, and here bfloat16 weights with float32 masters. Peak "
        f"resident memory of the process. Medians of {repeats} steps of TRL, and of ours {repeats} before and as many "
        "after them."
    )
    return headings, rows, note


@dataclass(frozen=True)
class _Measured:
    seconds: list[float]  # of each step
    gigabytes: float  # most that the process held


def _child(words: tuple[str, ...], repeats: int) -> _Measured | str:
    """What `experiments.speed._one_step` measured in a process of its own, or why it could not."""
    command = [sys.executable, "-m", "experiments.speed._one_step", *words, str(repeats)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        return (done.stderr.strip().splitlines() or ["it died without a word"])[-1]
    found = json.loads(done.stdout.strip().splitlines()[-1])
    return _Measured(found["seconds"], found["gigabytes"])


_HEADINGS = ("work", "transformers, s", "here, s", "times as fast", "here")


def _row(name: str, theirs: float, ours: float, rate: str) -> tuple[str, ...]:
    return name, f"{theirs:.3f}", f"{ours:.3f}", f"{theirs / ours:.2f}", rate


SAMPLING = Table("Sampling, beside transformers", "How much faster is sampling where prompts are shared?", sampling)
UPDATE = Table(
    "Forward and backward, beside transformers", "How much faster is an update where rows share their prompts?", update
)
MANY_GAMES = Table(
    "Kuhn poker updates of many games", "How much longer does an update of 32 times as many games take?", many_games
)
LONG_GAMES = Table("Dialogues", "How much longer does a token take after four times as many turns?", long_games)
STEP = Table("A GRPO step, beside TRL", "How much faster is a whole step, and how much memory does it take?", step)
