"""Others' evaluations asked of a policy, beside lm-eval's own model of transformers: the same requests, in one run.

A request rates an answer after its context, as lm-eval's tasks of several choices do. The contexts are those of worked
examples: all questions begin with the same ones, and the four answers of a question share the whole of it.
"""

from __future__ import annotations

from functools import partial
from random import Random
from typing import Any

import torch

from experiments.speed.model import WORDS, in_turns
from redqueen.adapters.lm_eval import as_lm
from redqueen.players.transformer.loading import EMBEDDED, embedded_folder, load_model
from redqueen.players.transformer.policy import TransformerPolicy
from redqueen.trials.experiment import Made, Rows, Table

QUESTIONS, ANSWERS = 12, 4


def requests(examples: int) -> list[tuple[str, str]]:
    """Pairs of context and answer; a context has `examples` worked ones before its own question."""
    rng = Random(0)

    def question() -> str:
        listed = " ".join(rng.choices(WORDS.split(), k=14))
        return f"Question: which of these is not a {rng.choice(WORDS.split())}, {listed}?"

    shown = "".join(f"{question()}\nAnswer: {rng.choice(WORDS.split())}\n\n" for _ in range(examples))
    asked = [f"{shown}{question()}\nAnswer:" for _ in range(QUESTIONS)]
    return [(context, f" {word}") for context in asked for word in rng.sample(WORDS.split(), ANSWERS)]


def beside_hf(repeats: int) -> Made:
    """Seconds of the same log-likelihoods, and how far the two are apart."""
    from lm_eval.api.instance import Instance
    from lm_eval.models.huggingface import HFLM
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = embedded_folder()
    model: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    theirs = HFLM(pretrained=model.eval(), tokenizer=AutoTokenizer.from_pretrained(folder), batch_size=8, device="cpu")
    policy = TransformerPolicy(load_model(EMBEDDED, torch.float32, "cpu"), learns=False)
    rows: Rows = []
    for examples in (0, 5):
        asked = [Instance("loglikelihood", {}, pair, number) for number, pair in enumerate(requests(examples))]

        def rate(asked: list[Any]) -> list[tuple[float, bool]]:
            policy.forget()
            return as_lm(policy.verbatim()).loglikelihood(asked)  # type: ignore[no-any-return]

        apart = max(
            abs(one[0] - other[0])
            for one, other in zip(rate(asked), theirs.loglikelihood(asked, disable_tqdm=True), strict=True)
        )
        works = (partial(rate, asked), partial(theirs.loglikelihood, asked, disable_tqdm=True))
        ours, others = in_turns(repeats, *works)
        rows.append(
            (f"{examples}", f"{len(asked)}", f"{others:.2f}", f"{ours:.2f}", f"{others / ours:.2f}", f"{apart:.0e}")
        )
    headings = ("worked examples", "requests", "lm-eval's hf, s", "here, s", "times as fast", "most apart, nats")
    return headings, rows, "float32; its batches of eight requests."


BESIDE_HF = Table("lm-eval's log-likelihoods", "How much faster are tasks of several choices rated?", beside_hf)
