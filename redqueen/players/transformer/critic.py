"""A critic on top of a language model: values computed from the hidden state at the end of each prompt."""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import deepcopy

import numpy as np
import torch
from torch import Tensor

from redqueen.objectives.tensors import alike, check_adamw
from redqueen.objectives.value_loss import clipped_value_loss
from redqueen.players.transformer.policy import TransformerPolicy
from redqueen.protocols import State, shaped
from redqueen.types import Metrics, RedQueenError, Trajectory


class ValueHead:
    """A linear layer on the policy's last hidden state at the end of each turn's prompt, in float32. It
    starts at zero and learns by AdamW; no gradient reaches the policy.

    The states at the ends of prompts are nearly equal (in SmolLM2 on Kuhn poker they differ by 3 % of their
    length), so they are normalised by their mean and their deviation (one number for all dimensions), both
    from the first update. This makes learning some ten times as fast.

    One update takes `epochs` steps, each over all its turns. With `clip` a value that is further than `clip` from
    its value before the update has no gradient away from it (PPO).
    """

    def __init__(
        self, policy: TransformerPolicy, learning_rate: float, clip: float | None = None, epochs: int = 1
    ) -> None:
        if epochs < 1:
            raise RedQueenError(f"a value head needs at least one epoch per update, not {epochs}")
        if clip is not None and clip <= 0.0:
            raise RedQueenError(f"the clip of a value head must be positive, not {clip:g}")
        if clip is not None and epochs == 1:
            raise RedQueenError(
                "clip has no effect on a value head that takes one step per update: set epochs=2 or more"
            )
        self._policy = policy
        self._clip = math.inf if clip is None else clip
        self._epochs = epochs
        self._centre, self._scale = torch.zeros(policy.width), torch.tensor(0.0)  # [H], []; 0 before the first update
        self._weight = torch.zeros(policy.width, requires_grad=True)  # [H]
        self._bias = torch.zeros((), requires_grad=True)
        self._optimizer = torch.optim.AdamW([self._weight, self._bias], lr=learning_rate, weight_decay=0.0)

    def values(self, trajectories: Sequence[Trajectory]) -> list[np.ndarray]:
        with torch.no_grad():
            values = self._rate(self._features(trajectories)).double().numpy()
        return _by_trajectory(values, trajectories)

    def update(self, trajectories: Sequence[Trajectory], targets: Sequence[np.ndarray]) -> Metrics:
        """Returns the loss before the first step and the largest share of clipped values; every turn has the same
        weight. Raises RedQueenError, with the head unchanged, if the loss is not finite."""
        features = self._features(trajectories)
        if not len(features):
            return {"value_loss": 0.0, "value_clip_fraction": 0.0}
        wanted = torch.from_numpy(np.concatenate(targets)).float()
        weights = torch.full_like(wanted, 1.0 / len(wanted))
        state = self.state()
        if not self._scale:
            self._adjust(features)
        before = self._rate(features).detach()
        steps: list[Metrics] = []
        for _ in range(self._epochs):
            loss, metrics = clipped_value_loss(self._rate(features), before, wanted, weights, self._clip)
            if not torch.isfinite(loss):
                self.restore(state)
                raise RedQueenError(f"the loss of the value head of {self._policy.name} is {loss.item()}")
            self._optimizer.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
            self._optimizer.step()
            steps.append(metrics)
        return {
            "value_loss": steps[0]["value_loss"],
            "value_clip_fraction": max(metrics["value_clip_fraction"] for metrics in steps),
        }

    def state(self) -> State:
        return {
            "centre": self._centre.clone(),
            "scale": self._scale.clone(),
            "weight": self._weight.detach().clone(),
            "bias": self._bias.detach().clone(),
            "optimizer": deepcopy(self._optimizer.state_dict()),
        }

    def restore(self, state: State) -> None:
        own = {"centre": self._centre, "scale": self._scale, "weight": self._weight, "bias": self._bias}
        shaped(state, {**alike(own), "optimizer": dict}, "the value head: ")
        check_adamw(state["optimizer"], self._optimizer, "the value head: .optimizer")
        self._centre, self._scale = state["centre"].clone(), state["scale"].clone()
        with torch.no_grad():
            self._weight.copy_(state["weight"])
            self._bias.copy_(state["bias"])
        self._optimizer.load_state_dict(deepcopy(state["optimizer"]))

    def _features(self, trajectories: Sequence[Trajectory]) -> Tensor:
        """[n, H] the hidden states of the turns of all trajectories, concatenated."""
        return self._policy.features([turn.reply.prompt_tokens for each in trajectories for turn in each.turns])

    def _adjust(self, features: Tensor) -> None:
        self._centre = features.mean(dim=0)
        deviation = (features - self._centre).square().mean().sqrt()
        self._scale = deviation if deviation > 1e-6 else torch.tensor(1.0)  # one prompt alone has none

    def _rate(self, features: Tensor) -> Tensor:
        """[n] the values."""
        return (features - self._centre) / self._scale.clamp(min=1e-6) @ self._weight + self._bias


def _by_trajectory(values: np.ndarray, trajectories: Sequence[Trajectory]) -> list[np.ndarray]:
    """From [n] to [N] for each trajectory."""
    if not trajectories:
        return []
    return np.split(values, np.cumsum([len(trajectory.turns) for trajectory in trajectories])[:-1])
