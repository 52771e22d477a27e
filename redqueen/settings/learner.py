"""The learner's settings, and the policy built from them."""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Literal

import torch
import tyro

from redqueen.chance import derive
from redqueen.players.language.chat_format import ChatFormat
from redqueen.players.language.formats import RoleFormat
from redqueen.players.language.thoughts import marks_named
from redqueen.players.language.writing import Writer
from redqueen.players.tabular import TabularPolicy
from redqueen.players.tinker.connection import base_and_url, connect, is_on_server
from redqueen.players.tinker.policy import TinkerPolicy
from redqueen.players.transformer.compiled import library
from redqueen.players.transformer.loading import LoadedModel, add_lora, is_tiny, load_model, without_weights
from redqueen.players.transformer.machine import check_cache, slowdown
from redqueen.players.transformer.policy import FACTS, TransformerPolicy
from redqueen.players.vllm import SharedEngine, shared_engine
from redqueen.protocols import Policy
from redqueen.settings.limits import Within, Without, _flag, check_settings, unset
from redqueen.settings.optimization import Optimization
from redqueen.settings.speech import ANSWERS, Named, Speech, template_arguments
from redqueen.types import SOLVER, RedQueenError

TABULAR = "tabular"
SLOW = 1.5  # how many times as long products may take in another type without a word
LONGEST_REPLY = 64  # tokens of a free-text reply, unless the user says otherwise


@dataclass(frozen=True)
class Learner:
    """Settings of the model that learns and of its sampling. A field left out takes the default of the kind of model;
    a field without effect is refused."""

    model: str = TABULAR
    """tabular, tiny (tiny:hidden=96,layers=3,heads=8,initializer_range=0.1), smollm2-135m, gemma-3-270m, a folder, a
    name on the Hugging Face hub, or tinker:BASE@URL, a model on a server (docs/scale.md)"""
    learning_rate: Annotated[float | None, Within(0.0, 1e30), unset("FLOAT")] = None
    """tabular 2.0 or the recipe's own (gradient descent); tiny 1e-3, LoRA 1e-4, full weights 1e-5 (AdamW); 1 with
    --optimizer natural"""
    lora_rank: Annotated[int | None, Within(0), unset("INT")] = None
    """rank of the LoRA adapter, 16 for pretrained models; 0 trains all weights"""
    dtype: Annotated[Literal["float32", "bfloat16"] | None, unset("{float32,bfloat16}")] = None
    """precision of the weights, bfloat16 by default on CUDA and float32 elsewhere"""
    device: Annotated[str | None, unset("STR")] = None
    """cpu, cuda or cuda:N; cuda where there is one"""
    sampler: Annotated[Literal["transformers", "vllm"] | None, unset("{transformers,vllm}")] = None
    """what samples the replies: transformers by default; vllm, in this process, is given the weights after each update
    (docs/serious.md)"""
    sampler_memory: Annotated[float | None, Within(0.0, 1.0, above=True), unset("FLOAT")] = None
    """share of the memory of the GPU (0.4 by default), or else of the machine (0.1), that vllm takes"""
    draft: Annotated[float | None, Within(0.0, 1.0, above=True), unset("FLOAT")] = None
    """share of its sub-layers without which it drafts its words where at most 4 replies are asked for at once; the
    whole model reads a draft in one pass, and the words are the same (SWIFT: 0.45)"""
    temperature: Annotated[float | None, Within(0.0), unset("FLOAT")] = None
    """of sampling and of all log-probabilities, 1.0 by default"""
    answer: Annotated[Named | None, unset("{plain,boxed,brackets,tagged,json,code}")] = None
    """think, then act in this format; left out, replies are held to the legal ones wherever these are listed. A
    proposer or judge has its own, as in --proposer.answer code"""
    max_completion_length: Annotated[int | None, Within(1), unset("INT")] = None
    """tokens of one free-text reply, 64 by default"""
    cache_gigabytes: Annotated[float | None, Within(0.0, above=True), unset("FLOAT")] = None
    """memory for the keys and values of growing replies and of those that later turns of a step go on from, by default
    1 on a CPU and a tenth of a GPU's; replies for which there is no room wait for others"""
    system_prompt: Annotated[str | None, unset("STR")] = None
    """said to the model before the game speaks; nothing by default"""
    raw_prompt: Annotated[bool | None, unset("{True,False}")] = None
    """plain text instead of the chat template (always so for tiny)"""
    template: Annotated[tuple[str, ...], unset("NAME=VALUE...")] = ()
    """arguments of the chat template as it spells them, such as enable_thinking=false"""
    history: Annotated[Literal["keep", "strip"] | None, unset("{keep,strip}")] = None
    """whether its later turns see its earlier thoughts: keep by default, strip as in Qwen3's template"""
    thoughts: Annotated[str | None, unset("OPEN...CLOSE")] = None
    """what marks the thoughts of a model: as its chat template names them, else <think>...</think>; or none"""
    max_prompt_length: Annotated[int | None, Within(1), unset("INT")] = None
    """tokens of the longest prompt: a longer one ends the run with one line, before it costs its memory"""
    solver: Speech = Speech()
    """how it speaks where it solves a task, if otherwise than in its other roles"""
    optimization: Annotated[Optimization, tyro.conf.arg(name="")] = Optimization()

    def seated(self, roles: Collection[str]) -> None:
        """Raises RedQueenError for settings of the solver where the seats are of these `roles`, and none is its."""
        if SOLVER not in roles:
            Without(SOLVER, f"the roles are {', '.join(roles)}").check(self)

    def word_for_word(self) -> Learner:
        """These settings. Raises RedQueenError for an answer format: written replies that are learned from word for
        word are not in it, so nothing would be found in them."""
        if self.answer not in (None, "plain"):
            raise RedQueenError(
                f"written replies are learned from as they stand, and not in the format --answer {self.answer}: leave "
                "it out"
            )
        return self

    def longest_reply(self, listed: bool) -> int:
        """Tokens of the longest reply (L_max of Dr. GRPO and SPIRAL) in a game whose legal replies are `listed` or not:
        1 if a reply is a choice from a list, however many tokens it has; else that of its longest replies,
        as a solver or otherwise."""
        if listed and not (self.answer or self.solver.answer):
            return 1
        return max(self.max_completion_length or LONGEST_REPLY, self.solver.max_completion_length or 1)

    def build(self, seed: int, table_learning_rate: float = 2.0, name: str = "learner") -> Policy:
        """The policy; `table_learning_rate` is the recipe's default for a tabular one. Raises RedQueenError
        for a model that cannot be loaded, a field without effect or a value out of its range."""
        check_settings(self)
        if self.model == TABULAR:
            natural = self.optimization == Optimization(optimizer="natural")
            used = {"model", "learning_rate"} | ({"optimization"} if natural else set())
            self._refuse_unused(used, "a tabular policy")
            usual = 1.0 if natural else table_learning_rate
            return TabularPolicy(usual if self.learning_rate is None else self.learning_rate, name, natural)
        return self.build_model(seed, name)

    def build_beside(self, learner: Policy, seed: int, name: str) -> Policy:
        """Another policy that learns: a second adapter on the learner's model if that trains an adapter, else a second
        model, built as the learner was."""
        if isinstance(learner, Writer) and learner.has_adapter:
            return learner.sibling(name)
        return self.build(seed, learner.learning_rate, name)

    def build_model(self, seed: int, name: str = "learner", learns: bool = True) -> Writer:
        """The policy as a language model, for recipes of free text; one that never `learns` has no adapter and no
        optimiser. Raises RedQueenError also for a tabular one."""
        check_settings(self)
        if self.model == TABULAR:
            raise RedQueenError("a tabular policy cannot write: choose a --model such as tiny or smollm2-135m")
        if is_on_server(self.model):
            served = self._build_on_server(seed, name)
            return served if learns else served.freeze()
        if self.temperature is not None and self.temperature <= 0:
            raise RedQueenError(f"the temperature must be positive, not {self.temperature:g}: a learner explores")
        device = checked_device(self.device)
        loaded = load_model(self.model, getattr(torch, self.dtype or usual_dtype(device)), device, seed)
        if self.cache_gigabytes is not None:
            check_cache(self.cache_gigabytes, device)
        if self.dtype == "bfloat16" and (slow := slowdown(torch.bfloat16, device)) > SLOW:
            warnings.warn(
                f"products in bfloat16 take {slow:.1f} times as long as in float32 on this {device}: --dtype float32 "
                "learns faster, in twice the memory",
                stacklevel=2,
            )
        if device == "cpu" and not is_tiny(self.model) and (why := library.missing()):
            warnings.warn(
                f"{why}: sampling takes torch's own operations, a step {library.SLOWER} times as long; install g++, "
                "or name a compiler in the variable CXX",
                stacklevel=2,
            )
        if self.raw_prompt is False and learns and not loaded.tokenizer.chat_template:
            raise RedQueenError(
                f"--raw-prompt False has no effect on {self.model}, which has no chat template and is shown plain "
                "text: leave it out"
            )
        told = is_tiny(self.model) or (Path(self.model) / FACTS).is_file()  # by the run that a checkpoint is of
        if self.raw_prompt is None and not told and not loaded.tokenizer.chat_template:
            warnings.warn(
                f"{self.model} has no chat template: it is shown plain text, which suits a base model "
                "(--raw-prompt True says that this is meant); a chat model's folder has one in chat_template.jinja",
                stacklevel=2,
            )
        rank = self.lora_rank if self.lora_rank is not None else 0 if is_tiny(self.model) else 16
        tuned = self.optimization
        if not learns:
            rank = 0
        engine = self._engine(loaded, rank) if learns else None
        if rank:
            alpha, dropout, targets = tuned.lora_alpha, tuned.lora_dropout, tuned.lora_targets
            layers = tuned.lora_layers
            loaded = add_lora(loaded, rank, seed, alpha=alpha, dropout=dropout, targets=targets, layers=layers)
        elif learns and (unused := [name for name in tuned.given if name.startswith("lora_")]):
            raise RedQueenError(f"{_flag(unused[0])} has no effect without an adapter: set --lora-rank to 1 or more")
        natural = tuned.optimizer == "natural"
        usual = 1.0 if natural else 1e-4 if rank else 1e-3 if is_tiny(self.model) else 1e-5
        policy = TransformerPolicy(
            loaded,
            learning_rate=usual if self.learning_rate is None else self.learning_rate,
            temperature=1.0 if self.temperature is None else self.temperature,
            max_completion_length=LONGEST_REPLY if self.max_completion_length is None else self.max_completion_length,
            answer=ANSWERS[self.answer]() if self.answer else None,
            system=self.system_prompt or "",
            raw=bool(self.raw_prompt),
            constrain=self.answer is None,
            cache_gigabytes=usual_cache(device) if self.cache_gigabytes is None else self.cache_gigabytes,
            token_budget=tuned.tokens_of_a_pass(device),
            betas=tuned.betas,
            weight_decay=tuned.weight_decay,
            max_grad_norm=tuned.max_grad_norm,
            eight_bit=tuned.optimizer == "adamw-8bit",
            natural=natural,
            pace=tuned.pace,
            recompute=tuned.gradient_checkpointing,
            dropout_seed=seed,
            name=name if learns else f"{name}@0",
            learns=learns,
            engine=engine,
            draft=self.draft,
        )
        self._tune(policy)
        return policy

    def _engine(self, loaded: LoadedModel, rank: int) -> SharedEngine | None:
        """The engine that samples, where it is not transformers; `loaded` has no adapter yet."""
        if self.sampler == "vllm" and self.draft is not None:
            raise RedQueenError("--draft has no effect with --sampler vllm, which samples by itself: leave it out")
        if self.sampler != "vllm":
            if self.sampler_memory is not None:
                raise RedQueenError("--sampler-memory has no effect without --sampler vllm: leave it out")
            return None
        dtype = str(loaded.model.dtype).removeprefix("torch.")
        usual = 0.4 if torch.cuda.is_available() else 0.1
        return shared_engine(loaded, rank, dtype, usual if self.sampler_memory is None else self.sampler_memory)

    def _tune(self, policy: TransformerPolicy | TinkerPolicy) -> None:
        """Sets how the policy speaks, in general and as a solver."""
        chat = self._changed(policy.usual.chat)
        if self.max_prompt_length is not None:
            chat = chat.changed(longest=self.max_prompt_length)
        if chat is not policy.usual.chat:
            policy.usual = replace(policy.usual, chat=chat)
        if self.solver != Speech():
            policy.speaks(SOLVER, self.solver.spoken(policy.usual, as_learner=True))

    def _changed(self, chat: ChatFormat) -> ChatFormat:
        """The format as the settings of its prompts say, whatever their length."""
        if not (self.template or self.history or self.thoughts is not None):
            return chat
        return chat.changed(
            arguments=template_arguments(self.template),
            keeps_thoughts=None if self.history is None else self.history == "keep",
            thoughts=None if self.thoughts is None else marks_named(self.thoughts),
        )

    @property
    def is_here(self) -> bool:
        """Whether it is a language model whose tokenizer can be read here."""
        return self.model not in ("", TABULAR) and not is_on_server(self.model)

    def as_solver(self) -> tuple[ChatFormat, int | None]:
        """How the model is asked to solve a task, and the most tokens that such a prompt may have (None: nobody says):
        one less than the model reads, at most `max_prompt_length`. No weights are loaded. Raises RedQueenError for a
        model that cannot be."""
        tokenizer, context = without_weights(self.model)
        answer = ANSWERS[self.answer]() if self.answer else None
        instruction = answer.instruction if answer else ""
        chat = ChatFormat(tokenizer, self.system_prompt or "", instruction, bool(self.raw_prompt))
        spoken = RoleFormat(self._changed(chat), answer)
        if self.solver != Speech():
            spoken = self.solver.spoken(spoken, as_learner=True)
        limits = [context - 1] if context else []
        limits += [self.max_prompt_length] if self.max_prompt_length else []
        return spoken.chat, min(limits, default=None)

    def _build_on_server(self, seed: int, name: str) -> TinkerPolicy:
        """The policy on a server; `seed` is the adapter's, if the server honours seeds."""
        if self.optimization.optimizer == "natural":
            raise RedQueenError(
                "a model on a server takes the steps of its own optimiser: set --optimizer adamw, and more --updates a "
                "step where the recipe has them"
            )
        used = {
            field
            for field in vars(self)
            if field not in ("dtype", "device", "cache_gigabytes", "draft", "optimization")
        }
        self._refuse_unused(used, "a model on a server")
        rank = 16 if self.lora_rank is None else self.lora_rank
        if not rank:
            raise RedQueenError("a model on a server is trained through a LoRA adapter: set --lora-rank to 1 or more")
        connection = connect(*base_and_url(self.model))
        adapter = connection.create(rank, derive(seed, "adapter") & 0x7FFF_FFFF)
        policy = TinkerPolicy(
            adapter,
            connection.tokenizer(adapter),
            learning_rate=1e-4 if self.learning_rate is None else self.learning_rate,
            temperature=1.0 if self.temperature is None else self.temperature,
            max_completion_length=LONGEST_REPLY if self.max_completion_length is None else self.max_completion_length,
            answer=ANSWERS[self.answer]() if self.answer else None,
            system=self.system_prompt or "",
            raw=bool(self.raw_prompt),
            constrain=self.answer is None,
            name=name,
        )
        self._tune(policy)
        return policy

    def _refuse_unused(self, used: set[str], what: str) -> None:
        for field in fields(self):
            name, value = field.name, getattr(self, field.name)
            if name not in used and value != field.default:
                inner = f"{value.given[0]}" if isinstance(value, Optimization) else name
                raise RedQueenError(f"{_flag(inner)} has no effect on {what}: leave it out, or choose another --model")


Flat = Annotated[Learner, tyro.conf.arg(name="")]
"""The learner of a `Config` whose flags stand among the recipe's own: `--model`, not `--learner.model`."""

NoSolver = Annotated[Flat, Without(SOLVER, "nobody solves a task in this recipe")]
"""The learner of a recipe without a seat of the role solver."""

_ONE = "no reply here comes after another of the same match"
OneTurn = Annotated[Flat, Without("history", _ONE), Without("solver.history", _ONE)]
"""The learner of a recipe in which it never has a later turn."""


def usual_dtype(device: str) -> Literal["float32", "bfloat16"]:
    """The precision of weights on a device, unless the user says otherwise."""
    return "bfloat16" if device.startswith("cuda") else "float32"


def usual_cache(device: str, gigabytes: float | None = None) -> float:
    """Gigabytes of keys and values on a device, unless the user says otherwise: a GPU that holds few replies at once
    is kept waiting by each token of them. `gigabytes` are the GPU's, where it is another than the one here."""
    if not device.startswith("cuda"):
        return 1.0
    whole = torch.cuda.get_device_properties(device).total_memory / 2**30 if gigabytes is None else gigabytes
    return max(1.0, whole / 10)


def checked_device(name: str | None) -> str:
    """The device that `name` means; without a name, the first CUDA device if there is one, else the CPU."""
    count = torch.cuda.device_count()
    if name is None:
        return "cuda" if count else "cpu"
    kind, _, number = name.partition(":")
    if re.fullmatch("cpu|cuda|cuda:[0-9]{1,4}", name) is None:
        raise RedQueenError(f"there is no device {name!r}: write cpu, cuda or cuda:N")
    if kind == "cuda" and int(number or 0) >= count:
        raise RedQueenError(f"device {name!r} is not available here, where there are {count} CUDA devices")
    return name
