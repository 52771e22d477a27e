"""A game for TRL's GRPOTrainer: matches that its model plays against itself, and how exploitable it is meanwhile.

    trainer = GRPOTrainer(model, rollouts.reward, args, rows(game), rollout_func=rollouts, callbacks=[exact], ...)

A row of the data set names a task and a role. For each the trainer's model plays one match in every seat, and one of
the role's turns, drawn uniformly, is the completion; its reward is the score of the seat, so that a group of TRL's is
of matches with one task, in one role. Where replies are listed the model is held to them; TRL's own loss is over the
whole vocabulary. It is played and measured in the precision of the weights, also where TRL computes its loss in
bfloat16, as it does by default.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from random import Random
from typing import Any

from transformers import TrainerCallback

from redqueen.chance import derive
from redqueen.exports.match import Exact
from redqueen.play.lockstep import play
from redqueen.players.transformer.loading import LoadedModel
from redqueen.players.transformer.policy import TransformerPolicy
from redqueen.protocols import Game
from redqueen.types import Episode, Match, RedQueenError, Turn


def rows(game: Game, repeats: int = 1) -> list[dict[str, Any]]:
    """The rows of a data set: every task in every role, `repeats` times."""
    each = [f"{number} {role}" for number in range(len(game.tasks())) for role in game.roles]
    return [{"prompt": [{"role": "user", "content": text}]} for text in each * repeats]


@contextmanager
def policy_of(model: Any, tokenizer: Any) -> Iterator[TransformerPolicy]:
    """The trainer's model as a policy, with its weights as they are now, in their own precision."""
    training, mixed = model.training, vars(model).pop("forward", None)  # accelerate lays one over the model's own
    model.eval()
    try:
        yield TransformerPolicy(LoadedModel("trl", model, tokenizer))
    finally:
        model.train(training)
        if mixed is not None:
            model.forward = mixed


class Rollouts:
    """TRL's `rollout_func`. All chance comes from `seed` and the number of the call."""

    def __init__(self, game: Game, seed: int = 0) -> None:
        self.game, self._tasks, self._seed, self._calls = game, list(game.tasks()), seed, 0

    def __call__(self, prompts: Sequence[Any], trainer: Any) -> dict[str, list[Any]]:
        base = derive(self._seed, self._calls, trainer.accelerator.process_index)
        self._calls += 1
        named = [_named(prompt) for prompt in prompts]
        model = trainer.accelerator.unwrap_model(trainer.model)
        with policy_of(model, trainer.processing_class) as policy:
            cast = dict.fromkeys(self.game.roles, policy)
            matches = [Match(self.game, self._tasks[task], cast, derive(base, n)) for n, (task, _) in enumerate(named)]
            episodes = play(matches, Random(0))
        turns = [_turn_of(episode, role) for episode, (_, role) in zip(episodes, named, strict=True)]
        return {
            "prompt_ids": [turn.reply.prompt_tokens.tolist() for turn in turns],
            "completion_ids": [turn.reply.tokens.tolist() for turn in turns],
            "logprobs": [turn.reply.logprobs.tolist() for turn in turns],
            "score": [
                float(episode.outcome.scores[turn.ask.seat]) for episode, turn in zip(episodes, turns, strict=True)
            ],
        }

    @staticmethod
    def reward(**given: Any) -> list[float]:
        """TRL's `reward_funcs`: the score of each completion's match."""
        return list(given["score"])


class ExactCallback(TrainerCallback):
    """TRL's callback that measures exactly every `every` steps; `found` holds (step, figures)."""

    def __init__(self, game: Game, tokenizer: Any, every: int = 1) -> None:
        self._exact, self._tokenizer, self._every = Exact(game), tokenizer, every
        self.found = list[tuple[int, dict[str, float]]]()

    def on_train_begin(self, args: Any, state: Any, control: Any, model: Any = None, **rest: Any) -> None:
        self._measure(0, model)

    def on_step_end(self, args: Any, state: Any, control: Any, model: Any = None, **rest: Any) -> None:
        if state.global_step % self._every == 0:
            self._measure(state.global_step, model)

    def _measure(self, step: int, model: Any) -> None:
        with policy_of(getattr(model, "module", model), self._tokenizer) as policy:
            self.found.append((step, self._exact(policy.probabilities)))


def _named(prompt: Any) -> tuple[int, str]:
    """The task and the role that a row names."""
    text = prompt if isinstance(prompt, str) else prompt[-1]["content"]
    number, _, role = text.partition(" ")
    if not number.isdecimal():
        raise RedQueenError(f"a row names a task and a role, as `rows` writes it, not {text!r:.60}")
    return int(number), role


def _turn_of(episode: Episode, role: str) -> Turn:
    """One of the turns of a role, drawn by the episode's seed; of any role where this one did not speak."""
    turns = [turn for turn in episode.turns if turn.ask.seat.role == role] or list(episode.turns)
    return turns[derive(episode.seed, "turn") % len(turns)]
