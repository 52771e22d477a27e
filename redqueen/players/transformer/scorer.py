"""Scores from small sequence classifiers: a reward for one answer, or which of two answers is preferred.

    ByReward(RewardScorer("path/to/reward-model"))             one logit per answer, Bradley and Terry between two
    BothOrders(PairScorer("path/to/pair-model"))               two texts, the probability that the first is preferred

An answer is read with its prompt, through the tokenizer's chat template if it has one, else as plain lines. A text
that is longer than the model's context has no score (NaN, no verdict), or loses its beginning with `truncate`; either
way it is counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import torch
from torch.nn.utils.rnn import pad_sequence

from redqueen.checks.preferences import sigmoid
from redqueen.players.language.chat_templates import rendered
from redqueen.players.transformer.loading import UNLOADABLE, hub_answers, refuse_detours
from redqueen.protocols import COUNT, State, shaped
from redqueen.trust.reading import read_json
from redqueen.types import Metrics, RedQueenError, Task

_KIND = "ForSequenceClassification"


class RewardScorer:
    """A reward model: the single logit of a classifier for prompt and answer. It counts the texts that are too long."""

    def __init__(self, folder: str, truncate: bool = False, batch: int = 16, device: str = "cpu") -> None:
        self._reader = _Reader(folder, (1,), truncate, batch, device)

    def __call__(self, tasks: Sequence[Task], answers: Sequence[str]) -> list[float]:
        """The reward of each answer; NaN for a text that was too long. Equal texts are read once."""
        texts = [self._reader.text(task, answer) for task, answer in zip(tasks, answers, strict=True)]
        distinct = list(dict.fromkeys(texts))
        logits = self._reader.logits([(text,) for text in distinct])
        rewards = {text: float(each[0]) for text, each in zip(distinct, logits, strict=True)}
        return [rewards[text] for text in texts]

    def metrics(self) -> Metrics:
        """The share of all texts so far that were too long."""
        return self._reader.metrics()

    def state(self) -> State:
        return self._reader.state()

    def restore(self, state: State) -> None:
        self._reader.restore(state)


class PairScorer:
    """A classifier of two texts: the probability that the first answer is preferred, from one logit (its sigmoid) or
    two (the softmax of the first label). Wrap it in `BothOrders`, since it may favour a side."""

    def __init__(self, folder: str, truncate: bool = False, batch: int = 16, device: str = "cpu") -> None:
        self._reader = _Reader(folder, (1, 2), truncate, batch, device)

    def __call__(self, tasks: Sequence[Task], first: Sequence[str], second: Sequence[str], rng: Random) -> np.ndarray:
        """[n] probabilities; NaN, no verdict, for a pair that was too long."""
        one, other = (
            [self._reader.text(task, answer) for task, answer in zip(tasks, answers, strict=True)]
            for answers in (first, second)
        )
        logits = self._reader.logits(list(zip(one, other, strict=True)))
        gaps = logits[:, 0] if logits.shape[1] == 1 else logits[:, 0] - logits[:, 1]
        return sigmoid(gaps)

    def metrics(self) -> Metrics:
        """The share of all pairs so far that were too long."""
        return self._reader.metrics()

    def state(self) -> State:
        return self._reader.state()

    def restore(self, state: State) -> None:
        self._reader.restore(state)


class _Reader:
    """A classifier, its tokenizer, and the number of texts that were too long."""

    def __init__(self, folder: str, labels: tuple[int, ...], truncate: bool, batch: int, device: str) -> None:
        if batch < 1:
            raise RedQueenError(f"a scorer reads at least one text at a time, not {batch}")
        self._folder = folder
        self._model, self._tokenizer = loaded_classifier(folder, labels, device)
        self._padded = Padding(folder, self._model)
        self._truncate, self._batch = truncate, batch
        self._longest = _longest(self._model.config, self._tokenizer)
        self._seen, self._cut = 0, 0

    def text(self, task: Task, answer: str) -> str:
        """The prompt and the answer, in the format that the model was trained on."""
        asked = [(message.speaker, message.text) for message in task.messages] or [("user", task.prompt)]
        said = [*asked, ("assistant", answer)]
        if self._tokenizer.chat_template:
            chat = [{"role": role, "content": text} for role, text in said]
            try:
                return rendered(self._tokenizer, chat)
            except ValueError as error:
                raise RedQueenError(
                    f"the chat template of the scorer {self._folder} shows no answer: {str(error)[:120]}"
                ) from None
        return "\n".join(text for _, text in said)

    def logits(self, texts: Sequence[tuple[str, ...]]) -> np.ndarray:
        """[n, labels] float64 for single texts or pairs; rows of NaN for those too long."""
        rows = [self._encoded(each) for each in texts]
        long = [len(row["input_ids"]) > self._longest for row in rows]
        self._seen, self._cut = self._seen + len(rows), self._cut + sum(long)
        if self._truncate:
            rows = [
                self._encoded(each, cut=True) if too else row for each, row, too in zip(texts, rows, long, strict=True)
            ]
        found = np.full((len(rows), int(self._model.config.num_labels)), np.nan)
        read = [n for n in range(len(rows)) if self._truncate or not long[n]]
        read.sort(key=lambda n: len(rows[n]["input_ids"]))  # neighbours of one length need little padding
        for start in range(0, len(read), self._batch):
            part = read[start : start + self._batch]
            with torch.inference_mode():
                found[part] = self._model(**self._padded([rows[n] for n in part])).logits.double().cpu().numpy()
        return found

    def _encoded(self, texts: tuple[str, ...], cut: bool = False) -> dict[str, list[int]]:
        """The tokens of a text, or of two with a separator between them; with `cut`, truncated to fit."""
        tokenizer = self._tokenizer
        marks = tokenizer.num_special_tokens_to_add(pair=True) > tokenizer.num_special_tokens_to_add(pair=False)
        if len(texts) == 2 and not marks:
            return self._joined(texts, cut)
        encoded = tokenizer(
            *texts,
            add_special_tokens=len(texts) == 2 or not tokenizer.chat_template,  # a template brings its own
            truncation="longest_first" if cut else False,
            max_length=self._longest if cut else None,
            verbose=False,
        )
        return {key: list(values) for key, values in encoded.items()}

    def _joined(self, texts: tuple[str, ...], cut: bool) -> dict[str, list[int]]:
        """The tokens of two texts with the tokenizer's separator, for tokenizers that do not add it."""
        tokenizer = self._tokenizer
        mark = tokenizer.eos_token_id if tokenizer.sep_token_id is None else tokenizer.sep_token_id
        one, other = (tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"] for text in texts)
        if cut:
            room = self._longest - 1
            kept = max(room // 2, room - len(other))
            one, other = one[-kept:], other[-(room - min(kept, len(one))) :]
        words = [*one, mark, *other]
        return {"input_ids": words, "attention_mask": [1] * len(words)}

    def metrics(self) -> Metrics:
        return {"scorer_too_long": self._cut / self._seen if self._seen else 0.0}

    def state(self) -> State:
        return {"seen": self._seen, "cut": self._cut}

    def restore(self, state: State) -> None:
        shaped(state, {"seen": COUNT, "cut": COUNT}, "the scorer: ")
        self._seen, self._cut = state["seen"], state["cut"]


class Padding:
    """Makes one tensor of tokenised texts, padded on the right, for a classifier that may take the last token that is
    none of padding for the end of a text: with the model's own padding token, or where it has none with one that occurs
    in none of the texts, so that the end of none is taken for padding."""

    def __init__(self, folder: str, model: Any) -> None:
        self._folder, self._model = folder, model
        self._own: int | None = model.config.get_text_config().pad_token_id

    def __call__(self, rows: Sequence[Mapping[str, list[int]]]) -> dict[str, torch.Tensor]:
        """[b, longest] each. Raises RedQueenError for a token that the model does not have."""
        filling = {"input_ids": self._filling(rows)}  # 0 for masks and kinds
        return {
            key: pad_sequence(
                [torch.tensor(row[key]) for row in rows], batch_first=True, padding_value=filling.get(key, 0)
            ).to(self._model.device)
            for key in rows[0]
        }

    def _filling(self, rows: Sequence[Mapping[str, list[int]]]) -> int:
        tokens = {token for row in rows for token in row["input_ids"]}
        known = int(self._model.get_input_embeddings().num_embeddings)
        if max(tokens, default=0) >= known:
            raise RedQueenError(
                f"the tokenizer in {self._folder} says token {max(tokens)}, and the model has {known}: it is the "
                "tokenizer of another model"
            )
        if self._own is not None:
            return self._own
        found = next(token for token in range(known) if token not in tokens)
        self._model.config.get_text_config().pad_token_id = found
        return found


def _longest(config: Any, tokenizer: Any) -> int:
    """The model's context length in tokens."""
    known = [getattr(config, "max_position_embeddings", None), tokenizer.model_max_length]
    return int(min(size for size in known if size))


def loaded_classifier(name: str, labels: tuple[int, ...] = (), device: str = "cpu") -> tuple[Any, Any]:
    """A sequence classifier and its tokenizer: in float32 on a CPU, in bfloat16 on CUDA. Raises RedQueenError unless
    `name`, a folder or a name on the Hugging Face hub, holds one with all its weights, a tokenizer, and one of the
    numbers of labels in `labels` (any number if empty)."""
    from transformers import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer
    from transformers.utils.logging import disable_progress_bar

    if device.startswith("cuda") and not torch.cuda.is_available():
        raise RedQueenError(f"device {device!r} is not available here: use cpu")
    path = Path(name).expanduser()
    here = path.is_dir()
    if here:
        _check_folder(name, path)
        refuse_detours(path)
    elif name.startswith((".", "/", "~")) or name.count("/") > 1:
        raise RedQueenError(f"there is no model folder {name}")
    source, offline = (str(path), False) if here else (name, not hub_answers())
    dtype = torch.bfloat16 if device.startswith("cuda") else torch.float32
    disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        if not here:
            config = AutoConfig.from_pretrained(source, local_files_only=offline, trust_remote_code=False)
            _check_kind(name, config.architectures or [])
        strict: Any = {"local_files_only": offline, "trust_remote_code": False}
        tokenizer: Any = AutoTokenizer.from_pretrained(source, **strict)
        model, report = AutoModelForSequenceClassification.from_pretrained(
            source, dtype=dtype, output_loading_info=True, **strict
        )
    except UNLOADABLE as error:
        if offline:
            raise RedQueenError(
                f"cannot load the classifier {name!r}: it is no folder here, and the hub does not answer: copy its "
                "folder to this machine"
            ) from error
        raise RedQueenError(f"cannot load the classifier {name}: {' '.join(str(error).split())[:160]}") from error
    if report["missing_keys"]:
        missing = ", ".join(sorted(report["missing_keys"])[:3])
        raise RedQueenError(f"the classifier {name} lacks weights, which would be random: {missing}")
    count = int(model.config.num_labels)
    if labels and count not in labels:
        raise RedQueenError(f"the classifier {name} has {count} labels: {_WANTED[labels]}")
    tokenizer.truncation_side = "left"  # the answer stands at the end
    return model.to(device).eval(), tokenizer


_WANTED = {
    (1,): "a reward model has 1, the reward (num_labels=1)",
    (1, 2): "a model of pairs has 1 or 2 labels, the preference for the first answer",
}
_TOKENIZERS = ("tokenizer*", "vocab*", "*.model", "merges.txt")


def _check_folder(name: str, path: Path) -> None:
    """Raises RedQueenError unless the folder holds the files of a classifier and of a tokenizer."""
    _check_kind(name, _architectures(path))
    if not any(file for pattern in _TOKENIZERS for file in path.glob(pattern)):
        raise RedQueenError(
            f"the folder {name} has no tokenizer (tokenizer.json): save the model's own into it with save_pretrained"
        )


def _check_kind(name: str, kinds: Sequence[str]) -> None:
    if not any(kind.endswith(_KIND) for kind in kinds):
        raise RedQueenError(f"{name} is no sequence classifier but {', '.join(kinds) or 'of no kind'}")


def _architectures(path: Path) -> list[str]:
    if not (path / "config.json").exists():
        raise RedQueenError(f"the folder {path} has no config.json: it is not a saved transformers model")
    kinds = read_json(path / "config.json").get("architectures")
    return [str(kind) for kind in kinds] if isinstance(kinds, list) else []
