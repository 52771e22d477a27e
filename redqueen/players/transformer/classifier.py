"""A Hugging Face sequence classifier of a prompt and its response: probabilities of the three safety labels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from redqueen.players.transformer.scorer import Padding, loaded_classifier
from redqueen.types import RedQueenError

LABELS = ("prompt_harmful", "response_harmful", "refusal")


class SequenceClassifier:
    """A model with one output for each of `LABELS`, each a sigmoid of its own (multi-label), found by the names in its
    configuration. `longest` is in tokens, beyond which an exchange is refused rather than cut."""

    def __init__(self, folder: str, *, longest: int = 2048, batch: int = 16) -> None:
        self._model, self._tokenizer = loaded_classifier(folder)
        names = {str(name).lower(): int(place) for place, name in self._model.config.id2label.items()}
        missing = [name for name in LABELS if name not in names]
        if missing:
            raise RedQueenError(
                f"the classifier {folder!r} has no label {' and no '.join(missing)}: its id2label names {sorted(names)}"
            )
        self._places = [names[name] for name in LABELS]
        self._longest, self._batch = longest, batch
        self._padded = Padding(folder, self._model)

    def __call__(self, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
        """[n, 3] probabilities in the order of `LABELS`. Raises RedQueenError for an exchange that is too long."""
        parts = [self._rate(pairs[start : start + self._batch]) for start in range(0, len(pairs), self._batch)]
        return np.concatenate(parts) if parts else np.zeros((0, 3))

    @torch.no_grad()
    def _rate(self, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
        first, second = zip(*pairs, strict=True)
        read = self._tokenizer(list(first), list(second), verbose=False)
        rows = [{key: list(values[place]) for key, values in read.items()} for place in range(len(pairs))]
        if (most := max(len(row["input_ids"]) for row in rows)) > self._longest:
            raise RedQueenError(
                f"an exchange has {most} tokens, more than the {self._longest} that the safety "
                "classifier reads: shorten the replies"
            )
        chances = torch.sigmoid(self._model(**self._padded(rows)).logits.float())[:, self._places]
        return np.asarray(chances.double().numpy())
