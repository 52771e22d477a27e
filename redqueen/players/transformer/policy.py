"""A Hugging Face causal language model as a policy: it replies, rates its own words, learns, freezes.

Listed replies are sampled from their exact probabilities; free text is sampled token by token and
searched for the action. Weights are trained whole or through LoRA adapters; a frozen copy holds
only the weights that train and runs on the same model.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from redqueen.batch import take
from redqueen.chance import pick, uniform
from redqueen.players.chat_format import ChatFormat
from redqueen.players.transformer.loading import LoadedModel
from redqueen.players.transformer.rows import alike, assemble, hand_out, held_query, queries_of, spread
from redqueen.players.transformer.sampling import Sample, sample
from redqueen.players.transformer.scoring import Query, rate
from redqueen.players.transformer.trie import Trie, cut, merge
from redqueen.protocols import AnswerFormat, Objective, Policy, State
from redqueen.types import Ask, Batch, Likelihoods, Metrics, NonFiniteLoss, RedQueenError, Reply


@dataclass(frozen=True)
class _Mind:
    """What the policy would say to one prompt with K listed replies."""

    prompt: np.ndarray  # [P]
    replies: tuple[tuple[int, ...], ...]  # [K] token ids, each with the end of the turn
    logprobs: tuple[np.ndarray, ...]  # [K] arrays [R]; zeros where the token was forced
    probabilities: tuple[float, ...]  # [K]


class _Clock:
    """Counts the updates of a learner, for itself and for its frozen copies."""

    def __init__(self) -> None:
        self.now = 0


class TransformerPolicy:
    """See the module. `trainable` names the parameters that learn; the rest of the model is shared
    with every frozen copy.

    The optimiser is AdamW with a long memory of squared gradients (`betas[1]`): near an equilibrium
    gradients shrink, and a short memory would keep the steps as long as ever, which feeds the cycles
    of self-play.
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
        token_budget: int = 2048,
        name: str = "learner",
    ) -> None:
        if temperature < 0.0 or (temperature == 0.0 and constrain):
            raise RedQueenError(
                f"the temperature must be positive, not {temperature:g}; 0 takes the likeliest word, in free text only"
            )
        self.name = name
        self.version = 0
        self.learning_rate = learning_rate
        self.temperature = temperature
        self._loaded = loaded
        self._answer = answer
        self._constrain = constrain
        self._limit = max_completion_length
        self._budget = token_budget
        self._max_grad_norm = max_grad_norm
        instruction = answer.instruction if answer else ""
        self.format = ChatFormat(loaded.tokenizer, system, instruction, raw)
        self.trainable = {key: value for key, value in loaded.model.named_parameters() if value.requires_grad}
        self._frozen: dict[str, Tensor] | None = None  # the weights of a frozen copy
        self._optimizer = torch.optim.AdamW(
            self.trainable.values(), lr=learning_rate, betas=betas, weight_decay=weight_decay
        )
        self._clock = _Clock()
        self._thought_at = 0  # when the minds were computed
        self._minds: dict[tuple[bytes, tuple[str, ...]], _Mind] = {}  # of the present weights
        self._prompts: dict[Ask, np.ndarray] = {}

    # Speaking

    def reply(self, asks: Sequence[Ask]) -> list[Reply]:
        held = [number for number, ask in enumerate(asks) if self._constrain and ask.choices]
        free = [number for number, ask in enumerate(asks) if not (self._constrain and ask.choices)]
        replies: dict[int, Reply] = {}
        for number, mind in zip(held, self._think([asks[number] for number in held]), strict=True):
            replies[number] = self._choose(asks[number], mind)
        if free:
            prompts = [self._prompt(asks[number]) for number in free]
            samples = self._sample(prompts, [asks[number].seed for number in free])
            for number, prompt, said in zip(free, prompts, samples, strict=True):
                replies[number] = self._said(asks[number], prompt, said)
        return [replies[number] for number in range(len(asks))]

    def probabilities(self, asks: Sequence[Ask]) -> list[np.ndarray]:
        """Raises RedQueenError for an ask without listed replies, or for a policy that answers freely."""
        if not self._constrain or not all(ask.choices for ask in asks):
            raise RedQueenError(f"{self.name} answers in free text: its probabilities cannot be read exactly")
        return [np.array(mind.probabilities) for mind in self._think(asks)]

    @property
    def open(self) -> bool:
        return self._constrain

    @property
    def width(self) -> int:
        """H, the size of the model's last hidden state."""
        return int(self._loaded.model.config.get_text_config().hidden_size)

    @torch.no_grad()
    def features(self, prompts: Sequence[np.ndarray]) -> Tensor:
        """[n, H] float32 on the CPU: the last hidden state at the end of each prompt ([P] int each), without
        gradient. Equal prompts and beginnings are computed once. Raises RedQueenError for an empty prompt."""
        rows = [tuple(prompt.tolist()) for prompt in prompts]
        if not all(rows):
            raise RedQueenError("a turn has no prompt tokens: only what a language model said can be judged by one")
        distinct = list(dict.fromkeys(rows))
        found: dict[tuple[int, ...], Tensor] = {}
        for part in cut(distinct, self._budget):
            trie = merge([distinct[number] for number in part])
            output = self._forward(trie, torch.zeros(1, dtype=torch.int64), output_hidden_states=True)
            hidden = output.hidden_states[-1][0].float().cpu()  # [nodes, H]
            for number, path in zip(part, trie.paths, strict=True):
                found[distinct[number]] = hidden[path[-1]]
        return torch.stack([found[row] for row in rows]) if rows else torch.zeros(0, self.width)

    def _choose(self, ask: Ask, mind: _Mind) -> Reply:
        choice = pick(mind.probabilities, uniform(ask.seed))
        return Reply(
            text=ask.choices[choice],
            player=self.name,
            version=self.version,
            prompt_tokens=mind.prompt,
            tokens=np.array(mind.replies[choice], dtype=np.int64),
            logprobs=mind.logprobs[choice],
            legal_tokens=mind.replies,
        )

    def _said(self, ask: Ask, prompt: np.ndarray, said: Sample) -> Reply:
        text = self.format.decode(said.tokens)
        thought, action = self._answer.parse(text, ask.choices) if self._answer else ("", text.strip())
        if said.truncated and self._answer:
            thought, action = text, ""  # an answer that ran out of room is no answer
        return Reply(
            text=action,
            player=self.name,
            version=self.version,
            prompt_tokens=prompt,
            tokens=np.array(said.tokens, dtype=np.int64),
            logprobs=np.array(said.logprobs),
            thought=thought,
            truncated=said.truncated,
            malformed=not action,
        )

    def _prompt(self, ask: Ask) -> np.ndarray:
        if ask.past:
            return self.format.prompt(ask)
        prompt = self._prompts.get(ask)
        if prompt is None:
            prompt = self._prompts[ask] = self.format.prompt(ask)
        return prompt

    def _think(self, asks: Sequence[Ask]) -> list[_Mind]:
        """The minds for these asks; those not known yet are computed together, equal prompts once.

        A frozen copy too forgets at every update: what is computed in company is rounded in company, and a
        resumed run must not depend on what its opponents were asked before it was killed.
        """
        if self._thought_at != self._clock.now:
            self._forget()
        keys = []
        unknown: dict[tuple[bytes, tuple[str, ...]], np.ndarray] = {}
        for ask in asks:
            prompt = self._prompt(ask)
            key = (prompt.tobytes(), ask.choices)
            keys.append(key)
            if key not in self._minds:
                unknown[key] = prompt
        if unknown:
            self._compute(unknown)
        return [self._minds[key] for key in keys]

    def _compute(self, unknown: Mapping[tuple[bytes, tuple[str, ...]], np.ndarray]) -> None:
        queries: list[Query] = []
        spans = []
        for (_, choices), prompt in unknown.items():
            replies = tuple(self.format.reply_tokens(choice) for choice in choices)
            if len(set(replies)) < len(replies):
                raise RedQueenError(f"two of the legal replies {choices} are the same tokens for this model")
            first = len(queries)
            queries += [held_query(tuple(prompt.tolist()), reply, replies) for reply in replies]
            spans.append((replies, range(first, len(queries))))
        with torch.inference_mode():
            rated = self._rate_all(queries)
        for (key, prompt), (replies, numbers) in zip(unknown.items(), spans, strict=True):
            logprobs = tuple(
                spread(len(prompt), reply, queries[number], rated[number])
                for reply, number in zip(replies, numbers, strict=True)
            )
            chances = np.exp([float(row.sum()) for row in logprobs])
            self._minds[key] = _Mind(prompt, replies, logprobs, tuple((chances / chances.sum()).tolist()))

    def _rate_all(self, queries: Sequence[Query]) -> list[np.ndarray]:
        """For each query the log-probabilities of its targets."""
        answers: list[np.ndarray] = [np.zeros(0)] * len(queries)
        for part in cut([query.tokens for query in queries], self._budget):
            chosen = [queries[number] for number in part]
            rating = rate(self._logits, chosen, self.temperature).logprobs.double().cpu().numpy()
            ends = np.cumsum([len(query.targets) for query in chosen])
            for number, values in zip(part, np.split(rating, ends[:-1]), strict=True):
                answers[number] = values
        return answers

    def _sample(self, prompts: Sequence[np.ndarray], seeds: Sequence[int]) -> list[Sample]:
        return sample(
            self._run,
            [tuple(prompt.tolist()) for prompt in prompts],
            seeds,
            frozenset({self.format.end, int(self._loaded.tokenizer.eos_token_id)}),
            self._limit,
            self.temperature,
            str(self._device),
        )

    # Learning

    def likelihoods(self, batch: Batch) -> Likelihoods:
        with torch.no_grad():
            parts = [(rows, self._rate(take(batch, rows))) for rows in alike(batch, self._budget)]
        return assemble(parts, batch)

    def update(self, batch: Batch, objective: Objective) -> Metrics:
        assert self._frozen is None, f"{self.name} is frozen and does not learn"
        self._clock.now += 1
        if not len(batch):
            return {"loss": 0.0, "gradient_norm": 0.0}
        self._optimizer.zero_grad(set_to_none=True)
        totals: dict[str, float] = {"loss": 0.0}
        for rows in alike(batch, self._budget):
            part = take(batch, rows)
            loss, metrics = objective(self._rate(part), part)
            if not torch.isfinite(loss):
                raise NonFiniteLoss(f"the loss of {self.name} is {loss.item()}", batch)
            if loss.requires_grad:  # a part without own words has nothing to learn from
                loss.backward()  # type: ignore[no-untyped-call]
            totals["loss"] += loss.item()
            for key, value in metrics.items():
                totals[key] = totals.get(key, 0.0) + value
        norm = torch.nn.utils.clip_grad_norm_(self.trainable.values(), self._max_grad_norm)
        if not torch.isfinite(norm):
            self._optimizer.zero_grad(set_to_none=True)
            raise NonFiniteLoss(f"a gradient of {self.name} is not finite", batch)
        for group in self._optimizer.param_groups:
            group["lr"] = self.learning_rate
        self._optimizer.step()
        self._optimizer.zero_grad(set_to_none=True)
        self._forget()
        self.version += 1
        return {**totals, "gradient_norm": norm.item()}

    def _rate(self, batch: Batch) -> Likelihoods:
        """Distinct rows are rated once and handed out to all their copies."""
        queries, copies = queries_of(batch)
        return hand_out(rate(self._logits, queries, self.temperature), queries, copies, batch.tokens.shape[1])

    # Running the model

    def _logits(self, trie: Trie, nodes: Tensor) -> Tensor:
        return self._forward(trie, nodes).logits[0]  # type: ignore[no-any-return]

    def _forward(self, trie: Trie, nodes: Tensor, output_hidden_states: bool = False) -> Any:
        """The model over the nodes of a trie as one sequence, with logits at the chosen ones."""
        device = self._device
        return self._run(
            input_ids=trie.tokens[None].to(device),
            position_ids=trie.depths[None].to(device),
            attention_mask=trie.mask(self._loaded.model.dtype).to(device),
            logits_to_keep=nodes.to(device),
            output_hidden_states=output_hidden_states,
            use_cache=False,
        )

    def _run(self, **inputs: Any) -> Any:
        if self._frozen is None:
            return self._loaded.model(**inputs)
        return torch.func.functional_call(self._loaded.model, self._frozen, (), inputs)

    @property
    def _device(self) -> torch.device:
        return self._loaded.model.device  # type: ignore[no-any-return]

    def _forget(self) -> None:
        self._thought_at = self._clock.now
        self._minds.clear()
        self._prompts.clear()

    # Remembering

    def freeze(self) -> Policy:
        copy: TransformerPolicy = object.__new__(TransformerPolicy)
        copy.__dict__.update(self.__dict__)
        copy.name = f"{self.name.split('@')[0]}@{self.version}"
        copy._frozen = {key: value.detach().clone() for key, value in self._weights().items()}
        copy._minds, copy._prompts = {}, {}
        return copy

    def _weights(self) -> Mapping[str, Tensor]:
        return self.trainable if self._frozen is None else self._frozen

    def state(self) -> State:
        weights = {key: value.detach().clone() for key, value in self._weights().items()}
        optimizer = deepcopy(self._optimizer.state_dict()) if self._frozen is None else {}
        return {"name": self.name, "version": self.version, "weights": weights, "optimizer": optimizer}

    def restore(self, state: State) -> None:
        with torch.no_grad():
            for key, value in self._weights().items():
                value.copy_(state["weights"][key])
        self.name, self.version = state["name"], state["version"]
        if self._frozen is None:
            self._optimizer.load_state_dict(deepcopy(state["optimizer"]))  # it would keep the very tensors
        self._forget()

    def save(self, folder: Path) -> None:
        """Weights as `save_pretrained` writes them (a LoRA adapter, or the whole model), the tokenizer,
        and `optimizer.pt` and `policy.json` beside them."""
        with self._worn():
            self._loaded.model.save_pretrained(folder)
        self._loaded.tokenizer.save_pretrained(folder)
        if self._frozen is None:
            torch.save(self._optimizer.state_dict(), folder / "optimizer.pt")
        (folder / "policy.json").write_text(json.dumps({"name": self.name, "version": self.version}))

    def load(self, folder: Path) -> None:
        from safetensors.torch import load_file

        weights: dict[str, Tensor] = {}
        for file in sorted(folder.glob("*.safetensors")):
            weights.update(load_file(file))
        with torch.no_grad():
            for key, value in self._weights().items():
                value.copy_(weights[_saved_name(key, weights)])
        facts = json.loads((folder / "policy.json").read_text())
        self.name, self.version = facts["name"], facts["version"]
        if self._frozen is None:
            self._optimizer.load_state_dict(torch.load(folder / "optimizer.pt", weights_only=True))
        self._forget()

    @contextmanager
    def _worn(self) -> Iterator[None]:
        """The shared model with this policy's weights on, where it is a frozen copy."""
        if self._frozen is None:
            yield
            return
        learners = {key: value.detach().clone() for key, value in self.trainable.items()}
        try:
            self._put_on(self._frozen)
            yield
        finally:
            self._put_on(learners)

    @torch.no_grad()
    def _put_on(self, weights: Mapping[str, Tensor]) -> None:
        for key, value in self.trainable.items():
            value.copy_(weights[key])


def _saved_name(key: str, saved: Mapping[str, Tensor]) -> str:
    """peft leaves the adapter's name out of the names that it saves."""
    return key if key in saved else key.replace(".default.", ".")
