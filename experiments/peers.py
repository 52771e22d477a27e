"""OpenSpiel's own learners beside ours, at as many games played: Kuhn and Leduc poker, NashConv by OpenSpiel.

What its wheel holds of the field's methods: PPO and Deep CFR in PyTorch, magnetic mirror descent over all of a game's
sequences. R-NaD is no longer in it (2.0.2). They are run as they come, with the settings below.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
import torch

from redqueen.recipes.games import magnetic
from redqueen.recipes.games.mirror_descent import recipe as mirror_descent
from redqueen.settings.learner import Learner
from redqueen.trials.experiment import Experiment, Training, Trial, versus
from redqueen.types import RedQueenError

MAGNETIC, MIRROR, PPO, DEEP_CFR, MMD = "magnetic", "mirror_descent", "PPO", "Deep CFR", "MMD over sequences"
BATCH = 128  # decisions of a player, of PPO's update
TRAVERSALS = 40  # of Deep CFR, for each player and iteration
TRAINED = 100  # steps of its networks, an iteration


@dataclass(frozen=True)
class Peer:
    """Who learns, what, and in how many games."""

    who: str = MAGNETIC
    game: str = "kuhn_poker"
    games: int = 25600
    matches_per_step: int = 128
    learning_rate: float = 8.0  # of magnetic's table
    pull: float = 0.5  # of magnetic
    magnet_every: int = 50


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Their code draws from the generators of the process, which are put back."""
    kept = np.random.get_state()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        np.random.seed(seed)
        try:
            yield
        finally:
            np.random.set_state(kept)


def ours(config: Peer, seed: int, folder: Path) -> Mapping[str, float]:
    """NashConv of our tables."""
    steps = max(config.games // config.matches_per_step, 1)
    if config.who == MAGNETIC:
        trial = Training(magnetic.train)(
            magnetic.Config(
                Learner(learning_rate=config.learning_rate),
                config.game,
                steps,
                config.matches_per_step,
                pull=config.pull,
                magnet_every=config.magnet_every,
            ),
            seed,
            folder,
        )
    else:
        fewer = max(steps // 8, 1)
        trial = Training(mirror_descent.train)(
            mirror_descent.Config(game=config.game, steps=fewer, matches_per_step=config.games // fewer), seed, folder
        )
    return {"nash_conv": trial.final["nash_conv"], "games": float(config.games)}


def nash_conv(game: Any, probabilities: Callable[[Any], Mapping[int, float]]) -> float:
    """By OpenSpiel, of what is likely at each of its states."""
    from open_spiel.python import policy
    from open_spiel.python.algorithms import exploitability

    return float(exploitability.nash_conv(game, policy.tabular_policy_from_callable(game, probabilities)))


def ppo(game: Any, config: Peer, seed: int) -> Mapping[str, float]:
    """Two of OpenSpiel's PPO agents, one for each seat, that play each other. It was written for one agent in one
    environment: here what a seat is paid until its next turn is the reward of its last."""
    from open_spiel.python import rl_environment
    from open_spiel.python.pytorch.ppo import PPO as Agent
    from open_spiel.python.pytorch.ppo import PPOAgent

    table = rl_environment.Environment(game, chance_event_sampler=rl_environment.ChanceEventSampler(seed=seed))
    size = (game.information_state_tensor_size(),)
    agents = [
        Agent(size, game.num_distinct_actions(), 2, seat, steps_per_batch=BATCH, agent_fn=PPOAgent, gamma=1.0)
        for seat in range(2)
    ]
    for _ in range(config.games):
        now, waits = table.reset(), [False, False]
        owed = [0.0, 0.0]
        while not now.last():
            seat = now.observations["current_player"]
            if waits[seat]:
                _paid(agents[seat], owed[seat], False, now)
            (said,) = agents[seat].step([now])
            waits[seat], owed[seat] = True, 0.0
            now = table.step([said.action])
            owed = [before + reward for before, reward in zip(owed, now.rewards or (0.0, 0.0), strict=True)]
        for seat in range(2):
            if waits[seat]:
                _paid(agents[seat], owed[seat], True, now)

    def probabilities(state: Any) -> Mapping[int, float]:
        agent, legal = agents[state.current_player()], state.legal_actions()
        shown = torch.tensor([state.information_state_tensor()], dtype=torch.float32)
        mask = torch.zeros((1, game.num_distinct_actions()), dtype=torch.bool)
        mask[0, legal] = True
        with torch.no_grad():
            chances = agent.get_action_and_value(shown, legal_actions_mask=mask)[4][0]
        return {action: float(chances[action]) for action in legal}

    return {"nash_conv": nash_conv(game, probabilities), "games": float(config.games)}


def _paid(agent: Any, reward: float, done: bool, now: Any) -> None:
    agent.post_step([reward], [done])
    if agent.cur_batch_idx == BATCH:
        agent.learn([now])


class Spent(Exception):
    """As many games were played as were to be."""


def deep_cfr(game: Any, config: Peer, seed: int) -> Mapping[str, float]:
    """OpenSpiel's Deep CFR. A game is a leaf that a traversal came to."""
    try:
        from open_spiel.python.pytorch.deep_cfr import DeepCFRSolver
    except ImportError as error:
        raise RedQueenError("OpenSpiel's Deep CFR needs dm-tree: pip install dm-tree") from error
    solver = DeepCFRSolver(
        game,
        policy_network_layers=(64, 64),
        advantage_network_layers=(64, 64),
        num_iterations=ceil(config.games / (2 * TRAVERSALS)),
        num_traversals=TRAVERSALS,
        learning_rate=1e-3,
        batch_size_advantage=1024,
        batch_size_strategy=1024,
        policy_network_train_steps=20 * TRAINED,
        advantage_network_train_steps=TRAINED,
        seed=seed,
    )
    walk, seen = solver._traverse_game_tree, 0

    def counted(state: Any, player: int) -> Any:
        nonlocal seen
        if seen >= config.games and not state.history():
            raise Spent
        seen += state.is_terminal()
        return walk(state, player)

    solver._traverse_game_tree = counted
    try:
        solver.solve()
    except Spent:
        solver._learn_strategy_network()
    return {"nash_conv": nash_conv(game, solver.action_probabilities), "games": float(seen)}


def mmd(game: Any, config: Peer, seed: int) -> Mapping[str, float]:
    """OpenSpiel's magnetic mirror descent with dilated entropy. Each iteration goes through every leaf once, which
    counts as so many games; nothing is sampled. The pull falls from 1 to .1 in ten stages."""
    from open_spiel.python.algorithms.mmd_dilated import MMDDilatedEnt

    rounds = max(config.games // leaves(game.new_initial_state()), 10)
    solver = MMDDilatedEnt(game, alpha=1.0)
    for number in range(rounds):
        solver.alpha = 1.0 - 0.9 * (10 * number // rounds) / 9
        solver.update_sequences()
    return {
        "nash_conv": nash_conv(game, solver.get_policies().action_probabilities),
        "games": float(rounds * leaves(game.new_initial_state())),
    }


def leaves(state: Any) -> int:
    """How many ends a game has."""
    return 1 if state.is_terminal() else sum(leaves(state.child(action)) for action in state.legal_actions())


THEIRS = {PPO: ppo, DEEP_CFR: deep_cfr, MMD: mmd}


def learned(config: Peer, seed: int, folder: Path) -> Trial:
    """One learner, whoever wrote it."""
    if config.who not in THEIRS:
        return Trial((), dict(ours(config, seed, folder)))
    try:
        import pyspiel
    except ImportError as error:
        raise RedQueenError("OpenSpiel is not installed: pip install 'redqueen[games]'") from error
    with seeded(seed):
        return Trial((), dict(THEIRS[config.who](pyspiel.load_game(config.game), config, seed)))


VARIANTS = {who: {"who": who} for who in (MAGNETIC, MIRROR, PPO, DEEP_CFR, MMD)}
COMPARED = (
    *versus(MAGNETIC, (PPO, DEEP_CFR, MMD), ("nash_conv",)),
    *versus(MIRROR, (PPO, DEEP_CFR, MMD), ("nash_conv",)),
)
NOTES = (
    "Ours are tables. PPO as it comes (2 x 64 tanh, batches of 128 decisions), one agent for each seat; Deep CFR with "
    "2 x 64 networks, 40 traversals and 100 steps an iteration, its average; MMD goes through the whole tree each time "
    "and samples nothing, so that its games are leaves: it is the bound, not a rival.",
)
KUHN = Experiment(
    title="Kuhn poker, OpenSpiel's learners",
    asked="At as many games, whose policy has the smallest NashConv?",
    trial=learned,
    config=Peer(matches_per_step=64),
    variants=VARIANTS,
    figures=("nash_conv", "games"),
    compared=COMPARED,
    controls=(PPO, DEEP_CFR, MMD),
    notes=NOTES,
    seeds=5,
)
LEDUC = replace(
    KUHN,
    title="Leduc poker, OpenSpiel's learners",
    config=Peer(game="leduc_poker", games=102400, matches_per_step=1024, learning_rate=60.0, pull=1.0, magnet_every=0),
)
