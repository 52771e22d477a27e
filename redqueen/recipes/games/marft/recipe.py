"""MARFT: agents who depend on each other, with credit across all of them (Liao et al. 2025, arXiv:2504.16129).

Who says what is right: the rules of the game.

Agents speak in a fixed order, and each sees what those before it said. One critic reads what each is shown; what an
agent says is worth what the next one makes of it, over all turns (t, i) of a match in the order spoken:

    d(t, i) = r(t, i) + gamma V(next) - V(t, i),     A(t, i) = d(t, i) + gamma lambda A(next),     return = A + V

`next` is the next turn, whoever speaks; the value is 0 after the last, which alone is paid, with the match's score.

    credit action   one ratio for each turn (APPO)
    credit token    one for each token; within a turn r is 0 and `next` is the next token (TPPO)
    L               clipped ratio 0.2, less an entropy bonus; the critic learns the returns

`--learns first` (or last) trains one agent beside the others as they are, `in_turn` each for `period` steps.

The first role of the game is the learner; of a LoRA adapter (`--lora-rank`) the others are further adapters on the same
model, else they are models of their own.

Differences: the critic is a linear head on the learner's hidden states, or a table (the paper: layers on a frozen
base); its errors are squared, to which Huber's loss at 10 and clipped values (released code) come in a first pass too
as long as scores are below 10. The ratio of an action is the geometric mean of those of its tokens, which the released
code has as an option: a product leaves the clip at once. Log-probabilities are those of the sampler (released code:
sampled at temperature 0.5 among 50 tokens, rated at 1 among all). Advantages of 0 are whitened as all others (released
code: left out of mean and deviation, and shifted all the same). No update is skipped: after one pass there is no
divergence to skip it for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from redqueen.credit.rewards import score
from redqueen.curricula.dealt import Enumerated
from redqueen.games.catalogue import find_game
from redqueen.play.lockstep import play
from redqueen.protocols import Policy, Reward
from redqueen.recipes.games.marft.measures import Together
from redqueen.recipes.games.marft.steps import AcrossSeats, Agents, at_the_end, objective_of
from redqueen.runs.run import Run
from redqueen.settings.learner import Learner, NoSolver
from redqueen.settings.learning_step import critic_of
from redqueen.settings.limits import Amount, Count, OnlyWith, Positive, Share
from redqueen.types import Match


@dataclass(frozen=True)
class Config:
    learner: NoSolver = Learner()
    game: str = "relay"
    steps: Count = 200
    matches_per_step: Count = 64
    learns: Literal["all", "first", "last", "in_turn"] = "all"
    period: Annotated[Count, OnlyWith("learns", "in_turn")] = (
        50  # steps of an agent's turn to learn (1000 in the paper)
    )
    credit: Literal["action", "token"] = "action"
    discount: Share = 0.99  # gamma
    decay: Share = 0.95  # lambda
    clip: Positive = 0.2
    entropy: Amount = 0.01
    updates_per_batch: Count = 1
    table_learning_rate = 20.0  # of a table, unless --learning-rate sets it


def train(config: Config, run: Run, together: bool = True, reward: Reward = at_the_end) -> Policy:
    game = find_game(config.game)
    learner = config.learner.build(run.derived("learner"), config.table_learning_rate)
    agents, curriculum = Agents(config, game, learner, run), Enumerated(game.tasks())
    critic = critic_of(learner)
    estimate = AcrossSeats(critic, config.discount, config.decay, config.credit == "token", together)
    objective = objective_of(config.credit, config.clip, config.entropy)
    measures = [Together(game, agents.cast, seed=run.tests)]

    for step in run.steps(config.steps, agents.policies, [estimate], measures):
        tasks = curriculum.draw(config.matches_per_step, run.rng)
        episodes = play([Match(game, task, agents.cast) for task in tasks], run.rng)
        trajectories = score(episodes, reward)
        advantages = estimate(trajectories)
        for policy, own, given in agents.spoken(step, trajectories, advantages):
            batch = estimate.pack(own, given)
            for _ in range(config.updates_per_batch):
                metrics = policy.update(batch, objective)
            run.report(policy, own, estimate.by_turn(own, given), metrics)
        run.note(estimate.update())
    return learner
