"""Free text, sampled token by token on a shared prefill.

Equal prompts are read once: their keys and values are computed for one row and then repeated for
every reply that starts from them.

    prompts   A A A B          prefill   A B          decode   A1 A2 A3 B1
                                                               A1 A2 .. B1    a finished row leaves
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from redqueen.chance import uniform

Run = Callable[..., Any]  # the model's forward, with keyword arguments


@dataclass(frozen=True)
class Sample:
    """What was sampled for one prompt."""

    tokens: tuple[int, ...]  # [R] with the closing token, unless truncated
    logprobs: tuple[float, ...]  # [R] at the sampling temperature
    truncated: bool


@torch.inference_mode()
def sample(
    run: Run,
    prompts: Sequence[tuple[int, ...]],
    seeds: Sequence[int],
    stops: frozenset[int],
    limit: int,
    temperature: float,
    device: str,
) -> list[Sample]:
    """One reply to each prompt, at most `limit` tokens. The draw for token t of a reply is number t of
    its seed, so a reply is the same in any company (up to the rounding of the products)."""
    distinct = {prompt: number for number, prompt in enumerate(dict.fromkeys(prompts))}
    logits, cache, mask = _prefill(run, list(distinct), device)
    alive = list(range(len(prompts)))
    source = torch.tensor([distinct[prompt] for prompt in prompts], device=device)
    cache.batch_select_indices(source)
    logits, mask = logits[source], mask[source]
    tokens: list[list[int]] = [[] for _ in prompts]
    logprobs: list[list[float]] = [[] for _ in prompts]
    truncated = [True] * len(prompts)
    for step in range(limit):
        draws = torch.tensor([uniform(seeds[row], step) for row in alive], dtype=torch.float64, device=device)
        chosen, chosen_logprobs = _draw(logits, draws, temperature)
        staying = []
        for slot, (row, token, logprob) in enumerate(
            zip(alive, chosen.tolist(), chosen_logprobs.tolist(), strict=True)
        ):
            tokens[row].append(token)
            logprobs[row].append(logprob)
            if token in stops:
                truncated[row] = False
            else:
                staying.append(slot)
        if not staying or step + 1 == limit:
            break
        if len(staying) < len(alive):
            kept = torch.tensor(staying, device=device)
            alive = [alive[slot] for slot in staying]
            cache.batch_select_indices(kept)
            mask, chosen = mask[kept], chosen[kept]
        mask = torch.cat([mask, mask.new_ones(len(alive), 1)], dim=1)
        output = run(
            input_ids=chosen[:, None],
            attention_mask=mask,
            position_ids=mask.sum(dim=1, keepdim=True) - 1,
            past_key_values=cache,
            use_cache=True,
        )
        logits = output.logits[:, -1]
    return [
        Sample(tuple(words), tuple(scores), cut) for words, scores, cut in zip(tokens, logprobs, truncated, strict=True)
    ]


def _prefill(run: Run, prompts: Sequence[tuple[int, ...]], device: str) -> tuple[Tensor, Any, Tensor]:
    """Reads each prompt once, padded on the left: logits after it [b, V], cache, and mask [b, P]."""
    width = max(len(prompt) for prompt in prompts)
    tokens = torch.tensor([[0] * (width - len(prompt)) + list(prompt) for prompt in prompts], device=device)
    mask = torch.tensor([[0] * (width - len(prompt)) + [1] * len(prompt) for prompt in prompts], device=device)
    positions = (mask.cumsum(dim=1) - 1).clamp(min=0)
    output = run(input_ids=tokens, attention_mask=mask, position_ids=positions, use_cache=True, logits_to_keep=1)
    return output.logits[:, -1], output.past_key_values, mask


def _draw(logits: Tensor, draws: Tensor, temperature: float) -> tuple[Tensor, Tensor]:
    """Inverse transform sampling: the token where the cumulated probability passes the draw, [b], and
    its log-probability, [b]. Temperature 0 takes the most likely token, with log-probability 0."""
    if temperature == 0.0:
        best = logits.argmax(dim=1)
        return best, torch.zeros_like(draws)
    scores = (logits.float() / temperature).log_softmax(dim=1)
    heap = scores.double().exp().cumsum(dim=1)
    at = torch.searchsorted(heap, (draws * heap[:, -1])[:, None], right=True)[:, 0].clamp(max=logits.shape[1] - 1)
    return at, scores.gather(1, at[:, None])[:, 0].double()
