"""A language model on a server of the Tinker API as a policy: the hosted service, or SkyRL on local machines.

Asks are sent as one request with many rows, or as many concurrent requests. No server can restrict its sampler to
listed replies, so the log-probability of every legal reply is requested and the choice is drawn here with the
ask's seed, exactly from the renormalised distribution. Free text is sampled by the server with a seed made
from the ask's; the log-probabilities are the server's own.

The update is the objective's own gradient: one pass reads the log-probabilities, the loss and its gradient with respect
to them are computed here, and one pass sends that gradient as a linear loss. An objective that the server has built in
(see `losses`) takes one pass. Entropies of free text are estimates without a gradient, since no server returns them.

Weights, optimiser and past selves are stored on the server; a checkpoint holds their path on it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from redqueen.chance import derive
from redqueen.players.language.chat_format import ChatFormat
from redqueen.players.language.formats import WHOLE, RoleFormat
from redqueen.players.language.saying import Mind, Minds, OpenSpeaker, Question, listed_replies
from redqueen.players.language.updating import Mismatch, with_signal
from redqueen.players.tinker.adapters import Adam, Adapter, PastAdapter, PastSampler, Wanted, Weights
from redqueen.players.tinker.dialects import Words
from redqueen.players.tinker.losses import LINEAR, Loss, built_in, coefficients
from redqueen.players.tinker.readings import Reading, rated, reading_of
from redqueen.players.transformer.rows import Part, assemble, hand_out, held_query, parts_of, spread
from redqueen.players.transformer.scoring import Query, Rating
from redqueen.protocols import COUNT, AnswerFormat, Objective, State, shaped
from redqueen.trust.reading import read_json, within
from redqueen.types import Ask, Batch, Damaged, Likelihoods, Metrics, NonFiniteLoss, RedQueenError, Reply

_WHOLE = 1 << 60  # tokens: the server splits a batch itself
_FILE = "tinker.json"


class _Clock:
    """Counts the updates and steps of a learner, for itself and its past selves."""

    def __init__(self) -> None:
        self.now = 0


class TinkerPolicy(OpenSpeaker):
    """See the module. AdamW with the same settings as `TransformerPolicy`, as far as the server accepts them."""

    def __init__(
        self,
        adapter: Adapter,
        tokenizer: Any,
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
        name: str = "learner",
    ) -> None:
        if temperature <= 0.0 or (temperature != 1.0 and not constrain):
            raise RedQueenError(
                f"a server rates free text at temperature 1, so it is sampled so: not at {temperature:g}; listed "
                "replies may have any temperature above 0"
            )
        self.name = name
        self.version = 0
        self.learning_rate = learning_rate
        self.temperature = temperature
        chat = ChatFormat(tokenizer, system, answer.instruction if answer else "", raw)
        self.usual = RoleFormat(chat, answer, constrain, max_completion_length, temperature)
        self._roles = {}
        adapter.connection.vocabulary = len(tokenizer)
        self._ends = sorted({chat.end, int(tokenizer.eos_token_id)})
        self._betas, self._weight_decay, self._max_grad_norm = betas, weight_decay, max_grad_norm
        self._adapter = adapter
        self._weights: Weights = adapter
        self._past = ""  # the path of a past self; the learner has none
        self._frozen_at = ("", -1)  # where the learner's last past self lies, and its version
        self._clock = _Clock()
        self._thought_at = 0
        self._minds = Minds(self.prompt, self._compute)

    # Speaking

    def speaks(self, role: str, spoken: RoleFormat) -> None:
        """See `Speaker.speaks`. Raises RedQueenError for a distribution of tokens that the server does not rate."""
        if (spoken.temperature, spoken.nucleus) != (self.temperature, WHOLE):
            raise RedQueenError(
                f"a server samples the {role} at the learner's temperature and from the whole distribution: leave out "
                "its temperature, top-k, top-p and min-p"
            )
        super().speaks(role, spoken)

    def _write(self, asks: Sequence[Ask]) -> list[Reply]:
        """Replies in free text, those of one maximum length in one request."""
        self._check_temperature()
        limits = [self._spoken(ask).limit for ask in asks]
        found: dict[int, Reply] = {}
        for limit in dict.fromkeys(limits):
            numbers = [number for number, each in enumerate(limits) if each == limit]
            found.update(zip(numbers, self._written([asks[number] for number in numbers], limit), strict=True))
        return [found[number] for number in range(len(asks))]

    def _written(self, asks: Sequence[Ask], limit: int) -> list[Reply]:
        """Replies of at most `limit` tokens. A server cannot stop at the token that completes a stop, so they are cut
        here."""
        prompts = [self.prompt(ask) for ask in asks]
        wanted = [
            Wanted(tuple(prompt.tolist()), derive(ask.seed, "tinker") & 0x7FFF_FFFF)
            for prompt, ask in zip(prompts, asks, strict=True)
        ]
        replies = []
        for ask, prompt, said in zip(asks, prompts, self._weights.write(wanted, self._ends, limit), strict=True):
            voice = self._voice(ask)
            completes = voice.completes(ask)
            lengths = [n for n in range(1, len(said.tokens) + 1) if completes and completes(said.tokens[:n])]
            end = lengths[0] if lengths else len(said.tokens)
            truncated = said.truncated and not lengths
            replies.append(voice.say(ask, prompt, said.tokens[:end], said.logprobs[:end], truncated))
        return replies

    @property
    def learns(self) -> bool:
        """Whether it may be updated: a frozen copy may not."""
        return not self._past

    def _think(self, asks: Sequence[Ask]) -> list[Mind]:
        if self._thought_at != self._clock.now:
            self._begin()
        return self._minds.of(asks)

    def _compute(self, unknown: Mapping[Question, np.ndarray]) -> dict[Question, Mind]:
        queries: list[Query] = []
        spans = []
        for (_, choices), prompt in unknown.items():
            replies = listed_replies(self.format, choices)
            first = len(queries)
            queries += [held_query(tuple(prompt.tolist()), reply, replies) for reply in replies]
            spans.append((replies, range(first, len(queries))))
        ends = np.cumsum([len(query.targets) for query in queries])
        logprobs = np.split(self._rate(queries).logprobs.double().numpy(), ends[:-1])
        return {
            key: Mind.of(
                prompt,
                replies,
                tuple(
                    spread(len(prompt), reply, queries[n], logprobs[n])
                    for reply, n in zip(replies, numbers, strict=True)
                ),
            )
            for (key, prompt), (replies, numbers) in zip(unknown.items(), spans, strict=True)
        }

    # Learning

    def likelihoods(self, batch: Batch) -> Likelihoods:
        if not len(batch):
            return assemble([], batch)
        part, width = _part(batch), batch.tokens.shape[1]
        return hand_out(self._rate(part.queries), part, 0, width)

    def update(self, batch: Batch, objective: Objective) -> Metrics:
        """Takes one optimiser step; returns the metrics of `TransformerPolicy.update`. `gradient_norm` is left out if
        the server does not report it, and is the norm before clipping only if the server reports that."""
        assert self.learns, f"{self.name} is frozen and does not learn"
        self._clock.now += 1
        self._begin()
        if not len(batch):
            return {"loss": 0.0, "gradient_norm": 0.0}
        whole = batch
        batch, share, dropped = with_signal(batch, objective)
        mismatch, metrics = Mismatch(), {"loss": 0.0}
        if len(batch):
            likelihoods, metrics = self._learn(batch, objective, whole)
            mismatch.observe(likelihoods, batch, self.version)
        else:  # the moments of the optimiser still move the weights, as they do on one machine
            self._adapter.accumulate(LINEAR, [])
        norm = self._adapter.step(Adam(self.learning_rate, self._betas, self._weight_decay, self._max_grad_norm))
        self.version += 1
        metrics = {key: value / (1.0 if key.endswith("loss") else share) for key, value in metrics.items()}
        norms = {} if norm is None else {"gradient_norm": norm}
        return {**metrics, **norms, **mismatch.metrics(), **dropped}

    def _learn(self, batch: Batch, objective: Objective, whole: Batch) -> tuple[Likelihoods, Metrics]:
        """Accumulates the gradient of the objective on the server."""
        loss = built_in(objective)
        if loss and not any(batch.constraints) and loss.kind in self._adapter.dialect.losses:
            return self._learn_there(batch, objective, loss, whole)
        part = _part(batch)
        reading = reading_of(part.queries)
        line = self._line(reading).requires_grad_()
        rating = rated(reading, line, self._checked_temperature(reading))
        likelihoods = hand_out(rating, part, 0, batch.tokens.shape[1])
        value, metrics = objective(likelihoods, batch)
        self._check_finite("loss", value.detach(), whole)
        gradient = torch.zeros_like(line)
        if value.requires_grad:
            (found,) = torch.autograd.grad(value, line, allow_unused=True)
            gradient = gradient if found is None else found
        self._check_finite("gradient", gradient, whole)
        counts = np.split(-gradient.double().numpy(), np.cumsum(reading.lengths)[:-1])
        self._adapter.accumulate(
            LINEAR, [Words(row, each, np.zeros_like(each)) for row, each in zip(reading.rows, counts, strict=True)]
        )
        return likelihoods, {"loss": float(value.detach()), **metrics}

    def _learn_there(self, batch: Batch, objective: Objective, loss: Loss, whole: Batch) -> tuple[Likelihoods, Metrics]:
        """The same in one pass, by a loss that the server has built in; our loss is also computed, for its metrics."""
        counts = coefficients(objective, batch).numpy()
        lengths, tokens, sampled = batch.lengths.tolist(), batch.tokens.tolist(), batch.sampled_logprobs.numpy()
        rows = [
            Words(tuple(tokens[row][:length]), counts[row, 1:length], sampled[row, 1:length])
            for row, length in enumerate(lengths)
        ]
        logprobs = torch.zeros(batch.tokens.shape)
        for row, said in enumerate(self._adapter.accumulate(loss, rows)):
            logprobs[row, 1 : lengths[row]] = torch.from_numpy(said).float()
        logprobs = torch.where(batch.loss_weights != 0, logprobs, 0.0)
        likelihoods = Likelihoods(logprobs, -logprobs)
        value, metrics = objective(likelihoods, batch)
        self._check_finite("loss", value, whole)
        return likelihoods, {"loss": float(value), **metrics}

    def _check_finite(self, what: str, value: Tensor, batch: Batch) -> None:
        if not bool(torch.isfinite(value).all()):
            raise NonFiniteLoss(f"the {what} of {self.name} is not finite", batch)

    def _rate(self, queries: Sequence[Query]) -> Rating:
        reading = reading_of(queries)
        return rated(reading, self._line(reading), self._checked_temperature(reading))

    def _line(self, reading: Reading) -> Tensor:
        """[L] float32, the server's log-probabilities of the rows, one row after the other."""
        said = self._weights.logprobs(reading.rows)
        return torch.from_numpy(np.concatenate(said) if said else np.zeros(0)).float()

    def _checked_temperature(self, reading: Reading) -> float:
        if bool(reading.free.any()):
            self._check_temperature()
        return self.temperature

    def _check_temperature(self) -> None:
        if self.temperature != 1.0:
            raise RedQueenError(
                f"{self.name} writes free text at temperature 1, the only one at which a server rates it, not at "
                f"{self.temperature:g}"
            )

    def forget(self) -> None:
        """Clears the caches of the policy and of its frozen copies."""
        self._clock.now += 1
        self._begin()

    def _begin(self) -> None:
        self._thought_at = self._clock.now
        self._minds.forget()

    # Remembering

    def freeze(self) -> TinkerPolicy:
        """A frozen copy: named sampler weights if the server keeps these unchanged; else a saved state that gets a slot
        of its own on the server when it is used."""
        path = self._past or self._saved_past()
        copy: TinkerPolicy = object.__new__(TinkerPolicy)
        copy.__dict__.update(self.__dict__)
        copy.name = f"{self.name.split('@')[0]}@{self.version}"
        copy._minds = Minds(copy.prompt, copy._compute)
        copy._thought_at = -1
        copy._go_back_to(path)
        return copy

    def _saved_past(self) -> str:
        path, version = self._frozen_at
        if version != self.version:
            save = self._adapter.save_sampler if self._adapter.connection.keeps_samplers else self._adapter.save
            path = save(self._label())
            self._frozen_at = (path, self.version)
        return path

    def _go_back_to(self, path: str) -> None:
        connection = self._adapter.connection
        self._past = path
        if connection.keeps_samplers:
            self._weights = PastSampler(connection, path)
        else:
            self._weights = PastAdapter(connection, path, self._adapter.rank)

    def sibling(self, name: str) -> TinkerPolicy:
        """Another learner with an adapter of its own, initialised with this one's weights, and a fresh optimiser."""
        twin: TinkerPolicy = object.__new__(TinkerPolicy)
        twin.__dict__.update(self.__dict__)
        twin.name, twin.version = name, 0
        twin._adapter = twin._weights = self._adapter.connection.create(self._adapter.rank, None)
        twin._adapter.load(self._adapter.save(self._label()), optimizer=False)
        twin._past, twin._frozen_at = "", ("", -1)
        twin._clock, twin._thought_at = _Clock(), 0
        twin._minds = Minds(twin.prompt, twin._compute)
        return twin

    @property
    def has_adapter(self) -> bool:
        return True

    def timed_by(self, learner: TinkerPolicy) -> TinkerPolicy:
        """This frozen policy, whose caches are from now on cleared with those of `learner`."""
        assert not self.learns, f"{self.name} learns and keeps its own time"
        self._clock = learner._clock
        self._begin()
        return self

    def state(self) -> State:
        path = self._past or self._adapter.save(self._label())
        return {"name": self.name, "version": self.version, "path": path}

    def restore(self, state: State) -> None:
        shaped(state, {"name": str, "version": COUNT, "path": str}, "the policy: ")
        self.name, self.version = state["name"], state["version"]
        if self._past:
            self._go_back_to(str(state["path"]))
        else:
            self._frozen_at = ("", -1)
            self._adapter.load(str(state["path"]))
        self._begin()

    def save(self, folder: Path) -> None:
        """Saves weights and optimiser on the server, and their path in `folder`/tinker.json."""
        folder.mkdir(parents=True, exist_ok=True)
        connection = self._adapter.connection
        record = {**self.state(), "base_model": connection.base_model, "server": connection.where}
        (folder / _FILE).write_text(json.dumps(record, indent=2) + "\n")

    def load(self, folder: Path) -> None:
        """Restores what `save` wrote. Raises RedQueenError if the server no longer has it."""
        try:
            record = read_json(folder / _FILE)
        except Damaged as error:
            raise RedQueenError(f"{folder} holds no policy of a server ({error}): was it trained elsewhere?") from error
        with within(f"{folder.name}/{_FILE}: "):
            base = self._adapter.connection.base_model
            if record.get("base_model", base) != base:
                raise Damaged(f"it is of the base model {str(record['base_model'])!r:.60}, not {base!r}")
            self.restore(record)

    def _label(self) -> str:
        return f"{self.name}-{self.version:06d}"


def _part(batch: Batch) -> Part:
    (part,) = parts_of(batch, _WHOLE)
    return part
