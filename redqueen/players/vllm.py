"""Replies sampled by a vLLM engine on CUDA, for a learner that trains in transformers.

`synchronize` copies the learner's weights to the engine; every reply holds the version of the weights
that it was sampled from. Log-probabilities are those of the distribution sampled from:

    free text        the engine's own, after the temperature (`logprobs_mode="processed_logprobs"`)
    listed replies   each legal reply is scored as a prompt, and at each of its tokens with an alternative
                     log p(token) / T - logsumexp over legal tokens of log p(legal token) / T
                     (prompt log-probabilities are at temperature 1; the vocabulary's normaliser cancels)

A reply depends on the other replies of its batch through rounding, which is coarse in 16-bit formats: an update
should expect ratios near one, not at one.

Written after vLLM 0.32 (vllm/entrypoints/llm.py, sampling_params.py, config/model.py, lora/request.py,
exceptions.py, docs/training/layerwise.md, docs/usage/reproducibility.md); 0.28 and 0.33 have the same calls.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch

from redqueen.chance import derive
from redqueen.objectives.batch import free_positions
from redqueen.players.language.chat_format import ChatFormat
from redqueen.players.language.formats import RoleFormat
from redqueen.players.language.saying import Mind, Minds, Question, Speaker, listed_replies
from redqueen.players.transformer.rows import legal_tokens
from redqueen.protocols import AnswerFormat
from redqueen.types import Ask, RedQueenError, Reply

Tokens = tuple[int, ...]


class Engine(Protocol):
    """The methods of `vllm.LLM` that are called."""

    @property
    def model_config(self) -> Any: ...  # read for `max_model_len` and `logprobs_mode`
    def generate(
        self, prompts: Sequence[Any], sampling_params: Sequence[Any], *, use_tqdm: bool, lora_request: Any
    ) -> list[Any]: ...
    def collective_rpc(self, method: str, *, kwargs: dict[str, Any]) -> list[Any]: ...
    def reset_prefix_cache(self) -> bool: ...


Delivery = Callable[[Engine, Path, int], Any]
"""Brings the weights that a policy saved into a folder to an engine, under a number never used before; the
LoRARequest that the next requests carry, or None."""

# an engine knows an adapter by its number: one count for all samplers of this process, which may share an engine
_NUMBERS = count(1)
_RANKS = (8, 16, 32, 64, 128, 256, 320, 512)  # the adapter ranks that vLLM makes room for
_COLDEST = 0.01  # vLLM raises a lower temperature to this


def open_engine(
    model_folder: str | Path,
    *,
    dtype: str = "bfloat16",  # should be the learner's: another one rounds differently
    max_lora_rank: int = 0,  # 0 for a learner without an adapter
    max_loras: int = 1,  # adapters in use at a time: one for each sampler on this engine
    context_length: int | None = None,  # tokens of a prompt and its reply; None takes the model's
    memory: float = 0.4,  # share of the device's memory, which the learner uses too
    enforce_eager: bool = False,
    extra: Mapping[str, Any] | None = None,  # further arguments of vllm.LLM
) -> Engine:
    """A vLLM engine in this process with the learner's base model.

    vLLM seeds this process's global generators (random, numpy, torch); nothing here draws from them.
    Raises RedQueenError without a CUDA device or without vLLM.
    """
    if not torch.cuda.is_available():
        raise RedQueenError("the vLLM sampler needs a CUDA device and torch sees none")
    if max_lora_rank > _RANKS[-1]:
        raise RedQueenError(f"vLLM takes adapters up to rank {_RANKS[-1]}, not {max_lora_rank}")
    if max_lora_rank and dtype in ("float32", "float"):
        raise RedQueenError(f"vLLM's adapters need dtype='bfloat16' or 'float16', not {dtype!r}")
    # scheduling in a process of its own is not reproducible (docs/usage/reproducibility.md)
    os.environ.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
    try:
        from vllm import LLM
    except ImportError as error:
        reason = _one_line(error)
        raise RedQueenError(f"the vLLM sampler needs vllm ({reason}): pip install 'redqueen[vllm]'") from None
    settings: dict[str, Any] = {
        "dtype": dtype,
        "max_model_len": context_length,
        "gpu_memory_utilization": memory,
        "enforce_eager": enforce_eager,
        "logprobs_mode": "processed_logprobs",
    }
    if max_lora_rank:
        rank = next(rank for rank in _RANKS if rank >= max_lora_rank)
        settings |= {"enable_lora": True, "max_lora_rank": rank, "max_loras": max_loras}
    engine: Engine = LLM(model=str(model_folder), **{**settings, **(extra or {})})
    return engine


def by_adapter(engine: Engine, folder: Path, number: int) -> Any:
    """The request for the LoRA adapter that peft wrote to `folder`, which the engine loads with the next requests."""
    if not (folder / "adapter_config.json").exists():
        raise RedQueenError("the policy trains its whole model and has no adapter: synchronize it with by_full_load")
    from vllm.lora.request import LoRARequest

    # the prefix cache tells adapters apart by name (vllm-project/vllm#30931): a used name would find old keys
    return LoRARequest(f"redqueen-{number}", number, str(folder.resolve()))


def by_full_load(engine: Engine, folder: Path, number: int) -> Any:
    """Loads the whole model that `save_pretrained` wrote to `folder` over the engine's weights, in place."""
    if (folder / "adapter_config.json").exists():
        raise RedQueenError("the policy trains a LoRA adapter: synchronize it with by_adapter")
    engine.collective_rpc("reload_weights", kwargs={"weights_path": str(folder.resolve())})


class Learner(Protocol):
    """The policy whose weights are copied: a `TransformerPolicy`."""

    @property
    def version(self) -> int: ...
    def save_weights(self, folder: Path) -> None: ...


class VllmSampler(Speaker):
    """See the module. Until the first `synchronize` it samples from the weights that the engine was opened with.

    `folder` is scratch space for weights: the latest ones stay there, earlier ones are removed.
    """

    def __init__(
        self,
        engine: Engine,
        tokenizer: Any,
        folder: Path,
        *,
        deliver: Delivery = by_adapter,
        temperature: float = 1.0,
        max_completion_length: int = 64,
        answer: AnswerFormat | None = None,
        system: str = "",
        raw: bool = False,
        constrain: bool = True,
        name: str = "learner",
        version: int = 0,
    ) -> None:
        if 0.0 < temperature < _COLDEST or temperature < 0.0 or (temperature == 0.0 and constrain):
            raise RedQueenError(
                f"the temperature must be {_COLDEST:g} or more for vLLM, not {temperature:g}; "
                "0 takes the likeliest token, in free text only"
            )
        if engine.model_config.logprobs_mode != "processed_logprobs":
            raise RedQueenError(
                f"the engine reports {engine.model_config.logprobs_mode}, not the log-probabilities it samples from: "
                "open it with logprobs_mode='processed_logprobs'"
            )
        self.name = name
        self.version = version
        chat = ChatFormat(tokenizer, system, answer.instruction if answer else "", raw)
        self.usual = RoleFormat(chat, answer, constrain, max_completion_length, temperature)
        self._roles = {}
        self._engine = engine
        self._folder = folder
        self._deliver = deliver
        self._temperature = temperature
        self._stops = sorted({chat.end, int(tokenizer.eos_token_id)})
        self._adapter: Any = None  # the LoRARequest of the current weights
        self._present: Path | None = None  # their folder
        self._minds = Minds(self.prompt, self._compute)

    # Speaking

    def _think(self, asks: Sequence[Ask]) -> list[Mind]:
        return self._minds.of(asks)

    def _write(self, asks: Sequence[Ask]) -> list[Reply]:
        """Replies in free text. Raises RedQueenError if the engine refuses a request or its answers do not match."""
        replies = []
        prompts = [self.prompt(ask) for ask in asks]
        settings = [self._sampling(ask, self._spoken(ask)) for ask in asks]
        outputs = self._generate([tuple(prompt.tolist()) for prompt in prompts], settings)
        for ask, prompt, output in zip(asks, prompts, outputs, strict=True):
            tokens, logprobs = self._sampled(output)
            voice = self._voice(ask)
            completes = voice.completes(ask)
            truncated = tokens[-1] not in self._stops and not (completes and completes(tokens))
            replies.append(voice.say(ask, prompt, tokens, logprobs, truncated))
        return replies

    def speaks(self, role: str, spoken: RoleFormat) -> None:
        """See `Speaker.speaks`. Raises RedQueenError for another temperature than that of the listed replies."""
        if spoken.temperature != self._temperature:
            raise RedQueenError(f"the {role} is sampled at the temperature of the engine's player: leave its own out")
        super().speaks(role, spoken)

    def _sampling(self, ask: Ask, spoken: RoleFormat) -> Any:
        from vllm import SamplingParams

        # vLLM must decode the tokens to find a stop in them; it then keeps the token that completed the stop
        stops = [*ask.stops, *spoken.stops]
        words = {"stop": stops, "include_stop_str_in_output": True} if stops else {}
        return SamplingParams(
            temperature=self._temperature,
            top_p=spoken.nucleus.top_p,
            top_k=spoken.nucleus.top_k,
            min_p=spoken.nucleus.min_p,
            seed=derive(ask.seed, "vllm") & 0x7FFF_FFFF,
            max_tokens=spoken.limit,
            stop_token_ids=self._stops,
            ignore_eos=True,  # else the model's generation_config adds tokens that end a reply
            logprobs=0,  # of the sampled token alone
            detokenize=bool(stops),
            **words,
        )

    def _sampled(self, output: Any) -> tuple[list[int], list[float]]:
        """[R] the tokens of an answer, and [R] their log-probabilities."""
        (said,) = output.outputs
        if said.finish_reason not in ("stop", "length"):
            raise RedQueenError(f"vLLM did not finish a reply: it ended with {said.finish_reason!r}")
        tokens = [int(token) for token in said.token_ids]
        if not tokens or said.logprobs is None or len(said.logprobs) != len(tokens):
            raise RedQueenError(
                f"vLLM sent {len(tokens)} tokens and {len(said.logprobs or ())} log-probabilities for one reply"
            )
        found = [_logprob(entry, token) for entry, token in zip(said.logprobs, tokens, strict=True)]
        # at temperature 0 the likeliest token is certain, while vLLM reports its probability at temperature 1
        return tokens, found if self._temperature else [0.0] * len(tokens)

    def _compute(self, unknown: Mapping[Question, np.ndarray]) -> dict[Question, Mind]:
        rows: list[tuple[Tokens, Tokens]] = []
        spans = []
        for (_, choices), prompt in unknown.items():
            replies = listed_replies(self.format, choices)
            words = tuple(prompt.tolist())
            first = len(rows)
            rows += [(words, scored) for reply in replies if (scored := _to_last_free(reply, replies))]
            spans.append((replies, range(first, len(rows))))
        rated = self._score(rows)
        minds = {}
        for (key, prompt), (replies, numbers) in zip(unknown.items(), spans, strict=True):
            scores: dict[Tokens, float] = {}  # of the last token of each beginning of a legal reply
            for number in numbers:
                said = rows[number][1]
                for at, score in enumerate(rated[number]):
                    scores.setdefault(said[: at + 1], score)
            logprobs = tuple(_renormalised(reply, replies, scores, self._temperature) for reply in replies)
            minds[key] = Mind.of(prompt, replies, logprobs)
        return minds

    def _score(self, rows: Sequence[tuple[Tokens, Tokens]]) -> list[list[float]]:
        """For each (prompt, continuation) the log-probability of each token of the continuation at temperature 1."""
        if not rows:
            return []
        from vllm import SamplingParams

        # one token is sampled since none may not be; its seed leaves the engine's own generator alone
        settings = SamplingParams(temperature=1.0, seed=0, max_tokens=1, prompt_logprobs=0, detokenize=False)
        outputs = self._generate([prompt + words for prompt, words in rows], [settings] * len(rows))
        scores = []
        for (prompt, words), output in zip(rows, outputs, strict=True):
            found, length = output.prompt_logprobs, len(prompt) + len(words)
            if found is None or len(found) != length:
                raise RedQueenError(
                    f"vLLM sent {len(found or ())} log-probabilities for the {length} tokens of a prompt"
                )
            scores.append([_logprob(found[len(prompt) + at], token) for at, token in enumerate(words)])
        return scores

    def _generate(self, prompts: Sequence[Tokens], settings: Sequence[Any]) -> list[Any]:
        """One answer to each prompt, in their order."""
        if not prompts:
            return []
        from vllm.exceptions import VLLMClientError

        room, longest = int(self._engine.model_config.max_model_len), max(len(prompt) for prompt in prompts)
        if longest >= room:
            raise RedQueenError(
                f"a prompt of {longest} tokens leaves no room to reply in the engine's context of {room}: "
                "open it with a larger context_length, or shorten the game"
            )
        try:
            outputs = self._engine.generate(
                [{"prompt_token_ids": list(prompt)} for prompt in prompts],
                settings,
                use_tqdm=False,
                lora_request=self._adapter,
            )
        except (VLLMClientError, ValueError) as error:
            raise RedQueenError(f"vLLM refused a request ({_one_line(error)})") from None
        if len(outputs) != len(prompts):
            raise RedQueenError(f"vLLM sent {len(outputs)} answers to {len(prompts)} prompts")
        for prompt, output in zip(prompts, outputs, strict=True):
            if tuple(output.prompt_token_ids) != prompt or len(output.outputs) != 1:
                raise RedQueenError("vLLM did not answer each prompt once and in order")
        return outputs

    # Following a learner

    def synchronize(self, policy: Learner) -> None:
        """Copies the policy's current weights and version to this sampler."""
        number = next(_NUMBERS)
        folder = self._folder / f"weights-{number}"
        shutil.rmtree(folder, ignore_errors=True)  # left by a run that was killed
        folder.mkdir(parents=True)
        policy.save_weights(folder)
        self._adapter = self._deliver(self._engine, folder, number)
        if not self._engine.reset_prefix_cache():
            raise RedQueenError("vLLM did not forget what it computed with earlier weights: it is still answering")
        self.version = policy.version
        self._minds.forget()
        if self._present is not None:
            shutil.rmtree(self._present)
        self._present = folder


def _to_last_free(reply: Tokens, replies: tuple[Tokens, ...]) -> Tokens:
    """A reply up to its last token that was not forced: the part that has to be scored."""
    free = [at for at, free in enumerate(free_positions(replies, reply)) if free]
    return reply[: free[-1] + 1] if free else ()


def _renormalised(
    reply: Tokens, replies: tuple[Tokens, ...], scores: Mapping[Tokens, float], temperature: float
) -> np.ndarray:
    """[R] the log-probability of each token of a reply among the legal ones; forced tokens have 0."""
    legal = legal_tokens(reply, replies, 0)
    logprobs = np.zeros(len(reply))
    for at, free in enumerate(free_positions(replies, reply)):
        if free:
            rated = np.array([scores[(*reply[:at], token)] for token in legal[at]]) / temperature
            logprobs[at] = rated[legal[at].index(reply[at])] - np.logaddexp.reduce(rated)
    return logprobs


def _logprob(entry: Any, token: int) -> float:
    """The log-probability of `token` in vLLM's entry for one position: {token id: Logprob}, or None."""
    if entry is None or token not in entry:
        raise RedQueenError(f"vLLM sent no log-probability for token {token}")
    value = float(entry[token].logprob)
    if not np.isfinite(value):
        raise RedQueenError(f"vLLM gave token {token} the log-probability {value}: the engine's weights are not sound")
    return value


def _one_line(text: object) -> str:
    return " ".join(str(text).split())[:200]
