"""How much likelier a question makes a reply, under the policy that wrote it (SAR, 2509.05489)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from redqueen.measures.alarms import Alarm, Alarms
from redqueen.measures.recitations import reference_logprobs
from redqueen.players.language.writing import Writer
from redqueen.protocols import Policy, State
from redqueen.texts import tokens
from redqueen.types import Message, Metrics, RedQueenError, Trajectory, Turn, mean_of

COPIES = Alarm(
    "copies",
    "copied_more",
    "{copied_share:.0%} of the words of a reply stand in its prompt, {value:.0%} more than at the start: repeating the "
    "question is paid (--weight)",
    limit=0.2,
    steps=10,
)


class SelfAligned:
    """Adds `weight` times R_SA to the rewards of trajectories of one turn, as the part `self_aligned`, and measures it.
    Raises RedQueenError for a policy that writes no text."""

    def __init__(self, policy: Policy, weight: float) -> None:
        if not isinstance(policy, Writer):
            raise RedQueenError("only a language model can rate a reply without its question: --model smollm2-135m")
        self._policy = policy
        self._weight = weight
        self._figures: Metrics = {}
        self._began: float | None = None  # the share that was copied in the first step
        self._alarms = Alarms([COPIES], quiet=True)

    def __call__(self, trajectories: Sequence[Trajectory]) -> list[Trajectory]:
        paid, found = self_aligned(self._policy, trajectories), []
        for each, own in zip(trajectories, paid, strict=True):
            more = np.array([self._weight * own])
            parts = {**(each.parts or {"correctness": each.rewards}), "self_aligned": more}
            found.append(replace(each, rewards=each.rewards + more, parts=parts))
        copied = mean_of([copied_share(each.turns[-1]) for each in trajectories])
        self._began = float(copied) if self._began is None else self._began
        self._figures = {"self_aligned": mean_of(paid), "copied_share": copied}
        return found

    def metrics(self) -> Metrics:
        """The mean R_SA and the share of copied words of the last call, and the alarm on it."""
        copied = float(self._figures["copied_share"])
        more = copied - (copied if self._began is None else self._began)
        return self._figures | self._alarms.observe({"copied_share": copied, "copied_more": more})

    def alarms(self) -> list[str]:
        return self._alarms.alarms()

    def state(self) -> State:
        return {"began": self._began, "alarms": self._alarms.state()}

    def restore(self, state: State) -> None:
        self._began = state["began"]
        self._alarms.restore(state["alarms"])


def self_aligned(policy: Writer, trajectories: Sequence[Trajectory]) -> list[float]:
    """R_SA of each trajectory of one turn, from -1 to 1: max(1 - exp(-D), -1), D the mean over its tokens of how much
    likelier each is after its prompt than after the prompt without the question. 0 for a reply without tokens."""
    without = reference_logprobs(policy, [unasked(policy, each) for each in trajectories])
    with_it = [each.turns[-1].reply.logprobs for each in trajectories]
    return [relative_fall(one, other[-1]) for one, other in zip(with_it, without, strict=True)]


def relative_fall(asked: np.ndarray, unasked: np.ndarray) -> float:
    """max(1 - exp(mean of `unasked` - mean of `asked`), -1) of two [R] log-probabilities of the same tokens: by how
    large a share the question lowers their perplexity."""
    if not len(asked):
        return 0.0
    return max(-float(np.expm1(min(np.mean(unasked) - np.mean(asked), 1.0))), -1.0)


def unasked(policy: Writer, trajectory: Trajectory) -> Trajectory:
    """The trajectory with the same reply to an empty last message, as the first turn of its seat."""
    turn = trajectory.turns[-1]
    *before, last = turn.ask.messages
    ask = replace(turn.ask, messages=(*before, Message(last.speaker, "")), past=())
    reply = replace(turn.reply, prompt_tokens=policy.prompt(ask))
    return replace(trajectory, turns=(Turn(ask, reply),), rewards=trajectory.rewards[-1:], parts={})


def copied_share(turn: Turn) -> float:
    """The share of the words, numbers and signs of a reply, thoughts included, that stand in its prompt."""
    said = tokens(f"{turn.reply.thought} {turn.reply.text}")
    shown = {token for message in turn.ask.messages for token in tokens(message.text)}
    return sum(token in shown for token in said) / len(said) if said else 0.0
