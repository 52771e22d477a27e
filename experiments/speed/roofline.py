"""What this machine can do, and where the milliseconds of a decoding step go.

A step of decoding reads every weight once and multiplies it with as many rows as there are replies: with few rows the
bytes bound it, with many the products. Both bounds are measured here with torch's own operations, and then each part of
a step by itself: what is left of the whole step is neither of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch.nn.functional import linear

from experiments.speed.model import in_turns, prompts, speaker
from redqueen.players.transformer import products, sampling
from redqueen.players.transformer.compiled import packing, steps
from redqueen.players.transformer.compiled.library import stepping
from redqueen.players.transformer.policy import TransformerPolicy
from redqueen.players.transformer.sampling import PATIENCE, Choir, Saying, draw
from redqueen.trials.controls import swapped
from redqueen.trials.experiment import Made, Rows, Table

SHAPES = ((576, 576), (1536, 576), (576, 1536), (49152, 576))  # of SmolLM2: [out, in]
TIMES = 20  # that a short work is done at a time
STEPS = 5  # of decoding, before the other way has its turn


def _often(work: Callable[[], Any], times: int = TIMES) -> Callable[[], None]:
    def done() -> None:
        for _ in range(times):
            work()

    return done


def bounds(repeats: int) -> Made:
    """Bytes a second of reading, and products a second by shape, rows, precision and threads."""
    rows: Rows = []
    before = torch.get_num_threads()
    policy = speaker("float32")
    for threads in (1, before) if before > 1 else (1,):
        torch.set_num_threads(threads)
        plenty = torch.ones(1 << 28)  # 1 GiB
        (seconds,) = in_turns(repeats, plenty.sum)
        rows.append((f"{threads}", "reading 1 GiB", "", "float32", f"{plenty.nbytes / seconds / 1e9:.1f} GB/s"))
        for dtype in (torch.float32, torch.bfloat16):
            for out, width in SHAPES:
                weight = torch.randn(out, width).to(dtype)
                for count in (1, 8, 32, 256):
                    given = torch.randn(count, width).to(dtype)
                    times = max(1, int(2e8 // (out * width * count)))
                    work = _often(partial(linear, given, weight), times)
                    (seconds,) = in_turns(repeats, partial(policy.forward.wearing, None, work))
                    flops, read = 2 * out * width * count * times / seconds, weight.nbytes * times / seconds
                    name = f"{count} rows by {out} × {width}"
                    rows.append(
                        (f"{threads}", name, f"{flops / 1e9:.0f} GFLOP/s", str(dtype)[6:], f"{read / 1e9:.1f} GB/s")
                    )
    torch.set_num_threads(before)
    note = "Weights of less than the last-level cache are read from there, as no whole model is."
    return ("threads", "work", "products", "precision", "weights read"), rows, note


def step(repeats: int) -> Made:
    """The milliseconds of a decoding step, whole and by part."""
    rows: Rows = []
    for dtype in ("float32", "bfloat16"):
        policy = speaker(dtype)
        for count in (1, 8, 32, 128):
            found = _parts(policy, count, repeats)
            whole = found.pop("the whole step")
            left = whole - sum(found.values())
            cells = [f"{1e3 * seconds:.2f}" for seconds in (*found.values(), left, whole)]
            rows.append((dtype, f"{count}", *cells, f"{count / whole:.0f}"))
    headings = ("precision", "replies", "layers", "head", "attention", "drawing", "all else", "whole step", "tokens/s")
    note = (
        "Milliseconds; prompts of 180 tokens, all different. *Layers*: their products, norms, rotations and gates, one "
        "after another; *attention*: reading and writing keys and values, and both products; *all else*: what is left, "
        "below zero where the parts take longer by themselves than in the one call that a whole step is."
    )
    return headings, rows, note


def _parts(policy: TransformerPolicy, count: int, repeats: int) -> dict[str, float]:
    """Median seconds by part."""
    policy.forget()
    config: Any = policy.forward._model.config
    heads, key_heads = config.num_attention_heads, config.num_key_value_heads
    width = config.hidden_size // heads
    states = torch.randn(count, config.hidden_size, dtype=policy.forward.dtype)
    query = torch.randn(count, heads, width, dtype=policy.forward.dtype)
    key = torch.randn(count, key_heads, width, dtype=policy.forward.dtype)
    places = torch.arange(count)
    found: dict[str, float] = {}

    def measure() -> None:
        with torch.inference_mode():
            choir = Choir(policy.forward, policy.store, _sayings(policy, count))
            for _ in range(PATIENCE):  # until the weights are packed
                choir.step()
            logits = choir._forward.logits(states)
            draws = torch.rand(count, dtype=torch.float64)

            def cross() -> None:
                with stepping():
                    choir._forward.hidden(places, places, lambda layer, query, *given: query)

            def look() -> None:
                with stepping():
                    for layer in range(config.num_hidden_layers):
                        choir._looking(layer, query, key, key, 0.125, None)

            works = {
                "layers": cross,
                "head": lambda: choir._forward.logits(states),
                "attention": look,
                "drawing": lambda: draw(logits.clone(), draws, 1.0),
                "the whole step": choir.step,
            }
            seconds = in_turns(5 * repeats, *works.values())
            found.update(zip(works, seconds, strict=True))

    policy.forward.wearing(None, measure)
    return found


def _sayings(policy: TransformerPolicy, count: int, group: int = 1) -> list[Saying]:
    """`group` endless replies to each of as many prompts as that takes."""
    texts = [tuple(policy.format.prompt(asked).tolist()) for asked in prompts(count // group, policy.format)]
    manner = replace(policy.manner, limit=10**6)
    return [Saying(texts[number // group], number, manner) for number in range(count)]


@contextmanager
def by_torch() -> Iterator[None]:
    """Everything by torch's operations, on weights that its own libraries packed."""
    none: dict[str, Any] = {"functions": lambda dtype: None}
    with (
        swapped(sampling, {"stepping": nullcontext}),
        swapped(packing, none),
        swapped(steps, none),
        swapped(products, {"_KINDS": {}}),
    ):
        yield


def turns(repeats: int) -> Made:
    """Decoding steps by torch's operations and as compiled calls, in turns."""
    rows: Rows = []
    for dtype in ("float32", "bfloat16"):
        for count, group in ((1, 1), (8, 1), (32, 1), (32, 8), (128, 1)):
            theirs, ours = _in_turns(dtype, count, group, repeats)
            cells = f"{1e3 * theirs:.1f}", f"{1e3 * ours:.1f}", f"{theirs / ours:.2f}"
            rows.append((dtype, f"{count // group} × {group}", *cells))
    note = (
        "Milliseconds of a step, medians; five steps by one way, then five by the other, each with replies of its own "
        "to prompts of 180 tokens."
    )
    return ("precision", "prompts × replies", "torch", "compiled", "times as fast"), rows, note


def _in_turns(dtype: str, count: int, group: int, repeats: int) -> list[float]:
    """The seconds of a step, by torch and compiled."""
    policies = [speaker(dtype) for _ in range(2)]
    found: list[float] = []

    def measure() -> None:
        with torch.inference_mode():
            theirs, ours = (Choir(policy.forward, policy.store, _sayings(policy, count, group)) for policy in policies)
            compiled = _often(ours.step, STEPS)

            def torchs() -> None:
                with by_torch():
                    _often(theirs.step, STEPS)()

            for _ in range(PATIENCE // STEPS + 1):  # until the weights are packed
                torchs()
                compiled()
            found.extend(seconds / STEPS for seconds in in_turns(5 * repeats, torchs, compiled))

    policies[0].forward.wearing(None, measure)
    return found


BOUNDS = Table("What the machine can do", "How many bytes and products a second does this machine make?", bounds)
TURNS = Table("Compiled steps beside torch's", "How much faster are decoding steps that are compiled?", turns)
STEP = Table("A decoding step", "Where do the milliseconds of a decoding step go?", step)
