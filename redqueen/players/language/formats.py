"""How a language model speaks in a role: its prompts, how its answer is found in its text, how it is sampled."""

from __future__ import annotations

from dataclasses import dataclass

from redqueen.players.language.chat_format import ChatFormat
from redqueen.protocols import AnswerFormat
from redqueen.types import RedQueenError


@dataclass(frozen=True)
class Nucleus:
    """Which tokens are sampled at all, as in transformers and vLLM: the `top_k` likeliest (0: all), of these the
    likeliest that together have the probability `top_p`, of these the ones with at least `min_p` times the probability
    of the likeliest."""

    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0

    def __post_init__(self) -> None:
        if self.top_k < 0 or not 0.0 < self.top_p <= 1.0 or not 0.0 <= self.min_p <= 1.0:
            raise RedQueenError(
                f"top-k is 0 or more, top-p above 0 and at most 1, min-p from 0 to 1, not {self.top_k}, "
                f"{self.top_p:g} and {self.min_p:g}"
            )


WHOLE = Nucleus()


@dataclass(frozen=True)
class RoleFormat:
    """How a language model speaks in one role."""

    chat: ChatFormat
    answer: AnswerFormat | None = None  # None: the whole text without its thoughts is the answer
    constrain: bool = True  # whether replies must be among the choices of their asks, where these are listed
    limit: int = 64  # tokens of the longest reply
    temperature: float = 1.0  # 0 takes the likeliest token
    nucleus: Nucleus = WHOLE
    stops: tuple[str, ...] = ()  # texts that end a reply, besides those of the ask
