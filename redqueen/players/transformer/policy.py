"""A Hugging Face causal language model as a policy: it replies, computes log-probabilities, learns, freezes.

Listed replies are sampled from their exact probabilities; free text is sampled token by token and
parsed for the action. All weights are trained, or LoRA adapters; a frozen copy holds only the
trainable weights and runs on the same model.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from pathlib import Path
from typing import Protocol
from weakref import WeakSet

import numpy as np
import torch
from torch import Tensor

from redqueen.chance import derive
from redqueen.objectives.batch import opening, take, without_opening
from redqueen.objectives.packed import give_back
from redqueen.objectives.tensors import tensor
from redqueen.players.archives import read_archive
from redqueen.players.language.chat_format import ChatFormat
from redqueen.players.language.formats import WHOLE, RoleFormat
from redqueen.players.language.saying import Mind, Minds, OpenSpeaker, Question, Voice
from redqueen.players.language.updating import Mismatch, with_signal
from redqueen.players.transformer.drafting import FEW, Drafting
from redqueen.players.transformer.forward import Forward
from redqueen.players.transformer.key_values import KeyValueStore
from redqueen.players.transformer.loading import LoadedModel
from redqueen.players.transformer.natural import Decisions, NaturalGradient, Quadratic, log_odds
from redqueen.players.transformer.optimizer import Optimizer
from redqueen.players.transformer.replying import minds_of, rated_in_parts, written
from redqueen.players.transformer.rows import Part, assemble, hand_out, parts_of
from redqueen.players.transformer.sampling import Manner, Sample, sample
from redqueen.players.transformer.scoring import Body, Query, Rating, chunk_of, rate
from redqueen.players.transformer.second_process import Apart
from redqueen.players.transformer.streaming import TransformerStream
from redqueen.players.transformer.trie import cut
from redqueen.players.transformer.verbatim import Verbatim
from redqueen.progress import counted
from redqueen.protocols import COUNT, AnswerFormat, Objective, State, Stream, shaped
from redqueen.schedules import Pace
from redqueen.trust.reading import read_json, within
from redqueen.types import Ask, Batch, Likelihoods, Metrics, NonFiniteLoss, RedQueenError, Reply

PROBED = (4, 32)  # tokens that a merged model is asked about
LARGE = 1 << 26  # bytes of a model whose freed memory is given back between phases; a small one's is not worth the time
FACTS = "policy.json"  # in the folder of a policy that was saved
OF_EACH = 256  # numbers of a weight by which a base model is known


class _Clock:
    """Counts the updates of a learner, for itself and for its frozen copies."""

    def __init__(self) -> None:
        self.now = 0
        self.stores: WeakSet[KeyValueStore] = WeakSet()  # its own and those of the copies

    def tick(self) -> None:
        """Marks an update or a new step: all keys and values are dropped, also those of copies that are never asked
        again."""
        self.now += 1
        for store in self.stores:
            store.forget()


class RepliesFor(Protocol):
    """An engine beside transformers that samples replies in free text for policies with their own weights."""

    def reply(self, policy: TransformerPolicy, asks: Sequence[Ask]) -> list[Reply]: ...


class TransformerPolicy(OpenSpeaker):
    """See the module. `trainable` names the parameters that learn; the rest of the model is shared
    with every frozen copy.

    `token_budget` is the maximum of distinct tokens in one forward and backward pass: memory grows with
    it. `cache_gigabytes` limits the keys and values that are kept between the turns of a step.

    One that never `learns` holds its weights once, and no optimiser.

    With `recompute` the states inside the layers are not kept for the backward pass but computed again (gradient
    checkpointing). Dropout, where the model has a LoRA adapter with one, is drawn from `dropout_seed` and the number of
    updates, in updates only.

    With `draft` its free text is drafted without this share of the sub-layers and then verified (drafting.py), where a
    few replies are asked for at once.

    With an `engine` its replies in free text, and those of its copies, are sampled there; listed ones are drawn here.

    The optimiser is AdamW with a long memory of squared gradients (`betas[1]`): near an equilibrium
    gradients shrink, and with a short memory the steps would not, which feeds the cycles of self-play. With `natural`
    it is the natural gradient of listed replies (natural.py).
    """

    def __init__(
        self,
        loaded: LoadedModel,
        *,
        learning_rate: float = 1e-4,
        temperature: float = 1.0,
        max_completion_length: int = 64,
        answer: AnswerFormat | None = None,
        system: str = "",
        raw: bool = False,
        constrain: bool = True,
        betas: tuple[float, float] = (0.9, 0.999),
        weight_decay: float = 0.0,
        max_grad_norm: float = 1.0,
        eight_bit: bool = False,
        natural: bool = False,
        pace: Pace = Pace(),
        recompute: bool = False,
        dropout_seed: int = 0,
        token_budget: int = 2048,
        cache_gigabytes: float = 1.0,
        name: str = "learner",
        learns: bool = True,
        engine: RepliesFor | None = None,
        draft: float | None = None,
    ) -> None:
        if temperature < 0.0 or (temperature == 0.0 and constrain):
            raise RedQueenError(
                f"the temperature must be positive, not {temperature:g}; 0 takes the likeliest token, in free text only"
            )
        self.name = name
        self.version = 0
        self.weights_set = 0  # how often the weights were changed, by updates and from checkpoints
        self._engine = engine
        self.learning_rate = learning_rate
        self.temperature = temperature
        self._loaded = loaded
        self._budget = token_budget
        chat = ChatFormat(
            loaded.tokenizer,
            system,
            answer.instruction if answer else "",
            raw,
            context=loaded.context,
            vocabulary=loaded.vocabulary,
        )
        self.usual = RoleFormat(chat, answer, constrain, max_completion_length, temperature)
        self._roles = {}
        self._manners: dict[str, Manner] = {}
        self.ends = loaded.ends | {chat.end}  # each of these tokens ends a reply
        self.manner = self._manner(self.usual)
        self.forward = Forward(loaded.model)
        # half for the cache, half for the keys and values of growing replies
        self._nodes = max(1, int(cache_gigabytes * 2**29) // self.forward.node_bytes)
        self.store = KeyValueStore(self.forward, self._nodes)
        self.drafting = None if draft is None else Drafting(self.forward, draft, self._nodes)
        if not learns:
            loaded.model.requires_grad_(False)
        self.trainable = {key: value for key, value in loaded.model.named_parameters() if value.requires_grad}
        self._own: dict[str, Tensor] | None = None  # a copy's or sibling's weights, used in place of the model's
        self._learns = learns
        self._optimizer: Optimizer | NaturalGradient
        if learns and natural:
            self._optimizer = NaturalGradient(self.trainable)
        elif learns:
            self._optimizer = Optimizer(self.trainable, betas, weight_decay, max_grad_norm, eight_bit)
        self._pace, self._share = pace, 1.0
        self._recompute, self._dropout_seed = recompute, dropout_seed
        self._clock = _Clock()
        self._clock.stores.add(self.store)
        size = sum(each.nbytes for each in loaded.model.parameters())
        self._is_large = loaded.model.device.type == "cpu" and size > LARGE
        self._thought_at = 0  # clock time at which the minds were computed
        self._minds = Minds(self.prompt, self._compute)

    # Speaking

    def _write(self, asks: Sequence[Ask]) -> list[Reply]:
        if self._engine is not None:
            return self._engine.reply(self, asks)
        self._recall()
        voices, manners = zip(*(self._way_of(ask) for ask in asks), strict=True)
        ends = [voice.completes(ask) for voice, ask in zip(voices, asks, strict=True)]

        def computed(rows: Sequence[tuple[int, ...]], seeds: Sequence[int]) -> list[Sample]:
            if self.drafting is not None and len(rows) <= FEW:
                return self.drafting.sample(self.store, rows, seeds, manners, ends)
            return sample(self.forward, self.store, rows, seeds, manners, ends)

        def sampled(rows: Sequence[tuple[int, ...]], seeds: Sequence[int]) -> list[Sample]:
            return self.forward.wearing(self._own, lambda: computed(rows, seeds))

        return written(asks, voices, sampled)

    def speaks(self, role: str, spoken: RoleFormat) -> None:
        """See `Speaker.speaks`. Raises RedQueenError for another distribution of tokens in a policy that learns, whose
        update computes the probabilities of all its tokens at one temperature."""
        if self._learns and (spoken.temperature, spoken.nucleus) != (self.temperature, WHOLE):
            raise RedQueenError(
                f"the {role} learns what it samples, at one temperature and from the whole distribution: leave out "
                "its temperature, top-k, top-p and min-p, or let a frozen player take the role"
            )
        super().speaks(role, spoken)
        self._manners = {**self._manners, role: self._manner(spoken)}

    def _manner(self, spoken: RoleFormat) -> Manner:
        return Manner(self.ends, spoken.limit, spoken.temperature, spoken.nucleus)

    def _way_of(self, ask: Ask) -> tuple[Voice, Manner]:
        return self._voice(ask), self._manners.get(ask.seat.role, self.manner)

    def stream(self, rows: int) -> Stream:
        """A stream of at most `rows` replies at a time; listed replies are answered at once. Raises RedQueenError for
        a policy that samples in another engine."""
        if self._engine is not None:
            raise RedQueenError(f"{self.name} samples in another engine, which cannot stream: leave --sampler out")
        self._recall()
        opened = self._clock.now
        return TransformerStream(
            self.forward,
            self.store,
            self._own,
            self._way_of,
            lambda: self._clock.now == opened and self._thought_at == opened,
            rows,
            self.name,
            self._is_listed,
            self.reply,
        )

    def identity(self) -> str:
        """What the replies depend on besides the ask: a digest of all weights, the prompts and the sampling."""
        weights = {**dict(self._loaded.model.named_parameters()), **self.weights()}
        digest = hashlib.sha256()
        for key in sorted(weights):
            if "lora_" in key and not weights[key.replace("lora_A", "lora_B")].any():
                continue  # an adapter that was never trained changes nothing, whatever it was drawn as
            digest.update(key.encode())
            digest.update(weights[key].detach().cpu().contiguous().view(torch.uint8).numpy().data)
        formats = {"": self.usual, **self._roles}
        said = [
            (role, each.chat.settings(), each.answer, each.constrain, each.limit, each.temperature, each.nucleus, stops)
            for role, each in sorted(formats.items())
            for stops in (each.stops,)
        ]
        return f"{digest.hexdigest()} {said!r}"

    def verbatim(self) -> Verbatim:
        """Its model on texts as they are, with its weights as they are now."""
        return Verbatim(self.forward, self._loaded.tokenizer, self._loaded.ends, self._own, self._nodes)

    @property
    def has_adapter(self) -> bool:
        """Whether a LoRA adapter is trained rather than all weights."""
        return any("lora_" in key for key in self.trainable)

    @cached_property
    def base(self) -> str:
        """A digest of the first numbers of each weight that is not trained, in bfloat16: another base has another."""
        digest = hashlib.sha256()
        for key, value in self._loaded.model.named_parameters():
            if key not in self.trainable and "lora_" not in key:
                first = value.detach().flatten()[:OF_EACH].to("cpu", torch.bfloat16).contiguous()
                digest.update(key.encode() + first.view(torch.uint8).numpy().tobytes())
        return digest.hexdigest()

    @property
    def learns(self) -> bool:
        """Whether it may be updated: a frozen copy may not."""
        return self._learns

    @property
    def width(self) -> int:
        """H, the size of the model's last hidden state."""
        return self.forward.width

    def features(self, prompts: Sequence[np.ndarray]) -> Tensor:
        """[n, H] float32 on the CPU: the last hidden state at the end of each prompt ([P] int each), without
        gradient. Equal prompts and prefixes are computed once. Raises RedQueenError for an empty prompt."""
        rows = [tuple(prompt.tolist()) for prompt in prompts]
        if not all(rows):
            raise RedQueenError("a turn has no prompt tokens: only what a language model said can be judged by one")
        self._recall()
        distinct = list(dict.fromkeys(rows))
        found: dict[tuple[int, ...], Tensor] = {}

        def read() -> None:
            for part in cut(distinct, self._nodes):
                states = self.store.read([distinct[n] for n in part], [(len(distinct[n]) - 1,) for n in part])
                for number, state in zip(part, states.hidden[states.numbers].float().cpu(), strict=True):
                    found[distinct[number]] = state

        with torch.inference_mode():
            self.forward.wearing(self._own, read)
        features = torch.stack([found[row] for row in rows]) if rows else torch.zeros(0, self.width)
        return features.clone()  # tensors made in inference mode cannot be used for training

    def _recall(self) -> None:
        """Clears caches from before this step.

        A frozen copy's are cleared at every update too: results are rounded differently with the batch they were
        computed in, and a resumed run must not depend on asks from before it was killed.
        """
        if self._thought_at != self._clock.now:
            self._begin()

    def _think(self, asks: Sequence[Ask]) -> list[Mind]:
        """The reply distributions for these asks; misses of the cache are computed in one batch, equal prompts once."""
        self._recall()
        return self._minds.of(asks)

    def _compute(self, unknown: Mapping[Question, np.ndarray]) -> dict[Question, Mind]:
        return minds_of(unknown, self.format, self._rate_listed)

    def _rate_listed(self, queries: Sequence[Query]) -> list[np.ndarray]:
        """For each query the log-probabilities of its targets."""
        return rated_in_parts(queries, self._nodes, lambda part: self._rating(self.store.read, part))

    # Learning

    def likelihoods(self, batch: Batch) -> Likelihoods:
        width = batch.tokens.shape[1]
        with torch.no_grad():
            parts = [(part.rows, self.rate(part, 0, width)) for part in parts_of(batch, self._budget)]
        return assemble(parts, batch)

    def update(self, batch: Batch, objective: Objective) -> Metrics:
        """Takes one optimiser step; returns what to log. `sampler_mismatch_mean` and `sampler_mismatch_max` compare the
        recorded log-probabilities of tokens sampled with the current weights with those computed here. If the
        objective is silent without an advantage, `rows_without_signal` counts the rows left out, and means over tokens
        are over the other rows."""
        assert self._learns, f"{self.name} is frozen and does not learn"
        self._clock.tick()
        if not len(batch):
            return {"loss": 0.0, "gradient_norm": 0.0}
        self._begin()
        if isinstance(self._optimizer, NaturalGradient):
            return self._update_naturally(self._optimizer, batch, objective)
        self._optimizer.clear()
        whole = batch
        batch, share, dropped = with_signal(batch, objective)
        totals: dict[str, float] = {"loss": 0.0}
        mismatch = Mismatch()
        parts = parts_of(batch, self._budget)
        start, width = opening(batch), batch.tokens.shape[1]
        batch = without_opening(batch, start)  # the arithmetic below runs over all columns that are left
        with self.forward.learning(self._recompute, derive(self._dropout_seed, self.name, self.version)):
            for part in counted("parts of a batch", parts):
                rows = take(batch, part.rows) if len(parts) > 1 else batch
                likelihoods = self.rate(part, start, width)
                mismatch.observe(likelihoods, rows, self.version)
                loss, metrics = objective(likelihoods, rows)
                if not torch.isfinite(loss):
                    self._optimizer.clear()
                    raise NonFiniteLoss(f"the loss of {self.name} is {loss.item()}", whole)
                if loss.requires_grad:  # a part without own tokens has no gradient
                    self.forward.wearing(self._own, loss.backward)
                self._optimizer.collect()
                totals["loss"] += loss.item()
                for key, value in metrics.items():
                    totals[key] = totals.get(key, 0.0) + value / (1.0 if key.endswith("loss") else share)
        norm = self._optimizer.step(self._rate)
        if not np.isfinite(norm):
            raise NonFiniteLoss(f"a gradient of {self.name} is not finite", whole)
        return {**totals, "gradient_norm": norm, **mismatch.metrics(), **dropped, **self._updated()}

    def _update_naturally(self, optimizer: NaturalGradient, batch: Batch, objective: Objective) -> Metrics:
        """The same by the natural gradient: a pass through the prompt of each decision alone, backward once for each of
        its log-odds, then a few steps from these gradients."""
        parts = parts_of(batch, self._budget)
        decisions = Decisions(batch, parts)
        optimizer.check(decisions.count)

        @torch.no_grad()
        def look() -> Quadratic:
            return decisions.model([self._rating(self.forward.over, part.queries) for part in parts], objective)

        def gradients(query: Query) -> torch.Tensor:
            return optimizer.jacobian(log_odds(self._rating(self.forward.over, [query]).legal_logprobs))

        needed = [query.needed for part in parts for query in part.queries]
        with self.forward.beginning(needed, optimizer.names):
            start = look()
            with self.forward.learning(self._recompute, derive(self._dropout_seed, self.name, self.version)):
                jacobian = [optimizer.jacobian(torch.zeros(0))]
                for query in counted("decisions", decisions.queries):
                    jacobian.append(self.forward.wearing(self._own, partial(gradients, query)))
            mismatch = Mismatch()
            mismatch.observe(start.likelihoods, batch, self.version)
            metrics = optimizer.step(torch.cat(jacobian), start, look, self._rate)
        return {**start.metrics, **metrics, **mismatch.metrics(), **self._updated()}

    @property
    def _rate(self) -> float:
        """The learning rate of this step of the run."""
        return self.learning_rate * self._share

    def _updated(self) -> Metrics:
        """Counts an update; returns what to log of its learning rate."""
        self.version += 1
        self.weights_set += 1
        if self.drafting is not None and self.version == 1 and not self.drafting.counts.tokens:
            warnings.warn(
                f"--draft has had no effect so far: it is for free text where at most {FEW} replies are asked for at "
                "once",
                stacklevel=2,
            )
        return {"learning_rate": self._rate} if self._pace.changes else {}

    def pace_at(self, step: int, steps: int) -> None:
        self._share = self._pace.at(step, steps)

    def rate(self, part: Part, start: int, end: int) -> Likelihoods:
        """The likelihoods of the columns from `start` to `end` of some rows; distinct rows are computed once."""
        return hand_out(self._rating(self.forward.over, part.queries), part, start, end)

    def _rating(self, body: Body, queries: Sequence[Query]) -> Rating:
        if self.temperature == 0.0:
            raise RedQueenError(f"{self.name} always takes the likeliest token: it has no probabilities to learn from")
        chunk = chunk_of(self.forward.vocabulary, self.forward.device.type)
        return self.forward.wearing(
            self._own, lambda: rate(body, self.forward.logits, queries, self.temperature, chunk)
        )

    def forget(self) -> None:
        """Clears the caches of the policy and of its frozen copies; a run calls it between steps."""
        self._clock.tick()
        self._begin()

    def _begin(self) -> None:
        """Clears the caches and sets their clock time to the current one."""
        self._thought_at = self._clock.now
        self._minds.forget()
        self.store.forget()
        if self.drafting is not None:
            self.drafting.forget()
        self.forward.unpack()
        if self._is_large:
            give_back()  # freed blocks lie between others: the next phase's larger ones do not fit in

    # Remembering

    def freeze(self) -> TransformerPolicy:
        copy: TransformerPolicy = object.__new__(TransformerPolicy)
        copy.__dict__.update(self.__dict__)
        copy.name = f"{self.name.split('@')[0]}@{self.version}"
        copy._own = {key: value.detach().clone() for key, value in self.weights().items()}
        copy._learns, copy.drafting = False, None  # it speaks without drafts, the same words
        copy._minds = Minds(copy.prompt, copy._compute)
        copy.store = KeyValueStore(self.forward, self._nodes)
        self._clock.stores.add(copy.store)
        return copy

    def sibling(self, name: str) -> TransformerPolicy:
        """Another learner on the same model, with an adapter of its own initialised with this one's weights. Raises
        RedQueenError if all weights are trained, since the model has only one set."""
        if not self.has_adapter:
            raise RedQueenError(
                f"{name} cannot have an adapter of its own on a model without adapters: set --lora-rank"
            )
        twin: TransformerPolicy = object.__new__(TransformerPolicy)
        twin.__dict__.update(self.__dict__)
        twin.name, twin.version, twin._learns = name, 0, True
        twin._own = {key: value.detach().clone().requires_grad_() for key, value in self.weights().items()}
        twin._optimizer = self._optimizer.over(twin._own)
        twin._clock = _Clock()
        twin._minds = Minds(twin.prompt, twin._compute)
        twin.store = KeyValueStore(self.forward, self._nodes)
        twin._clock.stores.add(twin.store)
        twin._thought_at, twin.drafting = 0, None
        return twin

    def timed_by(self, learner: TransformerPolicy) -> TransformerPolicy:
        """This frozen policy, whose caches are from now on cleared with those of `learner`."""
        assert not self._learns, f"{self.name} learns and keeps its own time"
        self._clock = learner._clock
        self._clock.stores.add(self.store)
        self._begin()
        return self

    def weights(self) -> Mapping[str, Tensor]:
        """What it has learned, by name: the values themselves, which the next update changes."""
        return self.trainable if self._own is None else self._own

    def apart(self, device: str = "") -> Apart:
        """A process of its own that replies as this policy does, on its device or another (`cuda:1`)."""
        return Apart(self, self._loaded, device or str(self.forward.device), self._nodes)

    def state(self) -> State:
        weights = {key: value.detach().clone() for key, value in self.weights().items()}
        optimizer = self._optimizer.state() if self._learns else {}
        return {"name": self.name, "version": self.version, "weights": weights, "optimizer": optimizer}

    def restore(self, state: State) -> None:
        shaped(state, {"name": str, "version": COUNT, "weights": dict, "optimizer": dict}, "the policy: ")
        with torch.no_grad():
            for key, value in self.weights().items():
                found = state["weights"].get(key)
                value.copy_(shaped(found, tensor(None, *value.shape), f"the policy: .weights.{key}"))
        self.name, self.version = state["name"], state["version"]
        self.weights_set += 1
        if self._learns:
            self._optimizer.restore(state["optimizer"])
        self._begin()

    def save(self, folder: Path) -> None:
        """Writes the files of `save_weights`, `optimizer.pt` and `policy.json` into `folder`."""
        self.save_weights(folder)
        if self._learns:
            torch.save(self._optimizer.held(), folder / "optimizer.pt")
        facts = {"name": self.name, "version": self.version} | ({"base": self.base} if self.has_adapter else {})
        (folder / FACTS).write_text(json.dumps(facts))

    def save_weights(self, folder: Path) -> None:
        """Writes the files of `save_model`, and the tokenizer."""
        self.save_model(folder)
        self._loaded.tokenizer.save_pretrained(folder)

    def save_model(self, folder: Path) -> None:
        """Writes the weights by `save_pretrained`: a LoRA adapter, or the whole model."""
        with self._worn():
            self._loaded.model.save_pretrained(folder)

    @torch.no_grad()
    def save_merged(self, folder: Path) -> float:
        """Writes the whole model by `save_pretrained`, with its adapter merged into its weights, and the tokenizer with
        its chat template. Returns by how much, in nats, plain transformers rates a token of a fixed text otherwise from
        what was written than this policy did, at most, both in float32: a product in bfloat16 is further from itself
        than a merge. The adapter is merged in place: this policy and its copies cannot be used any more."""
        with self._worn():
            model = self._loaded.model
            place, dtype = model.device, model.dtype
            vocabulary = model.config.get_text_config().vocab_size
            words = torch.randint(vocabulary, PROBED, generator=torch.Generator().manual_seed(0)).to(place)
            model.float()
            before = model(input_ids=words).logits.log_softmax(dim=-1)
            merged = (model.merge_and_unload() if self.has_adapter else model).to(dtype)  # rounded once
            merged.save_pretrained(folder)
        self._loaded.tokenizer.save_pretrained(folder)
        from transformers import AutoModelForCausalLM

        written = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).to(place).eval()
        after = written(input_ids=words).logits.log_softmax(dim=-1)
        return float((after - before)[:, :-1].gather(-1, words[:, 1:, None]).abs().max())

    def load(self, folder: Path) -> None:
        from safetensors.torch import load_file

        weights: dict[str, Tensor] = {}
        for file in sorted(folder.glob("*.safetensors")):
            weights.update(load_file(file))
        file = folder / FACTS
        shape = {"name": str, "version": COUNT, "base?": str}
        facts = shaped(read_json(file), shape, f"{folder.name}/{file.name}")
        if self.has_adapter and facts.get("base", self.base) != self.base:
            raise RedQueenError(
                f"{folder}: the adapter was trained on another model than the one that {self._loaded.name} is now: put "
                "that model back there, or begin a new run"
            )
        with torch.no_grad():
            for key, value in self.weights().items():
                saved = weights.get(_saved_name(key, weights))
                value.copy_(shaped(saved, tensor(None, *value.shape), f"{folder.name}: the weights {key}"))
        self.name, self.version = facts["name"], facts["version"]
        self.weights_set += 1
        if self._learns:
            with within(f"{folder.name}/optimizer.pt: "):
                self._optimizer.restore(shaped(read_archive(folder / "optimizer.pt"), dict, "it"))
        self._begin()

    @contextmanager
    def _worn(self) -> Iterator[None]:
        """Runs the shared model with this policy's weights, if it has its own."""
        if self._own is None:
            yield
            return
        learners = {key: value.detach().clone() for key, value in self.trainable.items()}
        try:
            self._put_on(self._own)
            yield
        finally:
            self._put_on(learners)

    @torch.no_grad()
    def _put_on(self, weights: Mapping[str, Tensor]) -> None:
        for key, value in self.trainable.items():
            value.copy_(weights[key])


def _saved_name(key: str, saved: Mapping[str, Tensor]) -> str:
    """The name under which peft saves the weight `key`: without the adapter's name."""
    return key if key in saved else key.replace(".default.", ".")
