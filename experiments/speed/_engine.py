"""One engine that samples replies, in a process of its own: `python -m experiments.speed._engine WHO FOLDER DTYPE`,
where WHO is redqueen, vllm or llama, and FOLDER the model (for llama its GGUF file).

A line of JSON on standard input is a work: `{"prompts": [[token, ...], ...], "reply": R, "turns": T}`. It is answered
by one with the seconds and the seconds of all processors that it took. Every reply has exactly R tokens, sampled at
temperature 1 from the whole vocabulary; nothing is remembered from one work to the next. With T turns the prompts of
both seats of a dialogue stand side by side, and each reply is added to what both seats read (`_dialogue`).
"""

from __future__ import annotations

import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import Any, TextIO

Rows = list[list[int]]
Sampler = Callable[[Rows, int], Rows]  # prompts, and the tokens of a reply -> replies
Forget = Callable[[], None]
SAYS = [[198], [198, 198]]  # tokens before what was said by oneself, and by the other


def redqueen(folder: str, dtype: str) -> tuple[Sampler, Forget]:
    import torch

    from redqueen.players.transformer.loading import load_model
    from redqueen.players.transformer.policy import TransformerPolicy
    from redqueen.players.transformer.sampling import Manner, sample

    policy = TransformerPolicy(load_model(folder, getattr(torch, dtype), "cpu"), constrain=False, cache_gigabytes=4.0)

    def say(prompts: Rows, reply: int) -> Rows:
        manner = Manner(frozenset(), reply, 1.0)
        rows = [tuple(prompt) for prompt in prompts]
        said = policy.forward.wearing(
            None, lambda: sample(policy.forward, policy.store, rows, range(len(rows)), manner)
        )
        return [list(each.tokens) for each in said]

    return say, policy.forget


def vllm(folder: str, dtype: str) -> tuple[Sampler, Forget]:
    os.environ.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
    os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "4")
    from vllm import LLM, SamplingParams, TokensPrompt

    engine = LLM(model=folder, dtype=dtype, max_model_len=4096, enable_prefix_caching=True, max_num_seqs=256)

    def say(prompts: Rows, reply: int) -> Rows:
        # no seed of its own: on a CPU vLLM fails where a prompt with one is read in parts
        way = SamplingParams(temperature=1.0, max_tokens=reply, ignore_eos=True, logprobs=0, detokenize=False)
        said = engine.generate([TokensPrompt(prompt_token_ids=row) for row in prompts], way, use_tqdm=False)
        return [list(each.outputs[0].token_ids) for each in said]

    return say, lambda: None if engine.reset_prefix_cache() else sys.exit("vLLM keeps its prefixes")


def llama(file: str, dtype: str) -> tuple[Sampler, Forget]:
    """Llama.cpp, for one prompt: its own tool writes the weights of the file in `dtype` first."""
    import llama_cpp

    settings = llama_cpp.llama_model_quantize_default_params()
    settings.ftype = {"float32": llama_cpp.LLAMA_FTYPE_ALL_F32, "bfloat16": llama_cpp.LLAMA_FTYPE_MOSTLY_BF16}[dtype]
    settings.allow_requantize = True
    with tempfile.NamedTemporaryFile(suffix=".gguf") as wide:
        if llama_cpp.llama_model_quantize(file.encode(), wide.name.encode(), settings):
            sys.exit(f"llama.cpp cannot write {file} in {dtype}")
        threads = len(os.sched_getaffinity(0))
        engine = llama_cpp.Llama(wide.name, n_ctx=4096, n_threads=threads, n_threads_batch=threads, verbose=False)

    def say(prompts: Rows, reply: int) -> Rows:
        (prompt,) = prompts
        tokens = engine.generate(prompt, top_k=0, top_p=1.0, min_p=0.0, temp=1.0, repeat_penalty=1.0)
        return [[token for token, _ in zip(tokens, range(reply), strict=False)]]

    return say, engine.reset


def _dialogue(say: Sampler, prompts: Rows, reply: int, turns: int) -> None:
    """The seats of each match stand at 2 m and 2 m + 1 and speak in turn, all matches at once."""
    rows = [list(prompt) for prompt in prompts]
    for turn in range(turns):
        speaking = range(turn % 2, len(rows), 2)
        for seat, said in zip(speaking, say([rows[seat] for seat in speaking], reply), strict=True):
            rows[seat] += said + SAYS[0]
            rows[seat ^ 1] += SAYS[1] + said + SAYS[0]


def serve(answers: TextIO, who: str, folder: str, dtype: str) -> None:
    say, forget = {"redqueen": redqueen, "vllm": vllm, "llama": llama}[who](folder, dtype)
    print(json.dumps({"ready": who}), file=answers, flush=True)
    for line in sys.stdin:
        work: dict[str, Any] = json.loads(line)
        prompts: Rows = work["prompts"]
        forget()
        began, used = time.perf_counter(), _processor()
        if work["turns"]:
            _dialogue(say, prompts, work["reply"], work["turns"])
        else:
            replies = say(prompts, work["reply"])
            assert [len(each) for each in replies] == [work["reply"]] * len(prompts), "a reply of another length"
        found = {"seconds": time.perf_counter() - began, "processor": _processor() - used}
        print(json.dumps(found), file=answers, flush=True)


def _processor() -> float:
    return sum(
        used.ru_utime + used.ru_stime
        for used in (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    )


def main(words: Sequence[str]) -> None:
    # what a library prints goes to the log; the answers alone go to standard output
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    serve(answers, *words)


if __name__ == "__main__":
    main(sys.argv[1:])
