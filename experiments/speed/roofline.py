"""What this machine can do, and where the milliseconds of a decoding step go.

A step of decoding reads every weight once and multiplies it with as many rows as there are replies: with few rows the
bytes bound it, with many the products. Both bounds are measured here with torch's own operations, and then each part of
a step by itself: what is left of the whole step is neither of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch.nn.functional import linear

from experiments.speed.model import in_turns, prompts, speaker
from redqueen.players.transformer.compiled.library import stepping
from redqueen.players.transformer.policy import TransformerPolicy
from redqueen.players.transformer.sampling import PATIENCE, Choir, Saying, draw
from redqueen.trials.experiment import Made, Rows, Table

SHAPES = ((576, 576), (1536, 576), (576, 1536), (49152, 576))  # of SmolLM2: [out, in]
TIMES = 20  # that a short work is done at a time


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
    asks = [replace(asked, seed=number) for number, asked in enumerate(prompts(count, policy.format))]
    manner = replace(policy.manner, limit=10**6)
    sayings = [Saying(tuple(policy.format.prompt(asked).tolist()), asked.seed, manner) for asked in asks]
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
            choir = Choir(policy.forward, policy.store, sayings)
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


BOUNDS = Table("What the machine can do", "How many bytes and products a second does this machine make?", bounds)
STEP = Table("A decoding step", "Where do the milliseconds of a decoding step go?", step)
