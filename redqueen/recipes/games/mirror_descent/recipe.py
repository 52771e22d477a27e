"""Magnetic mirror descent by its closed form, which a language model follows (Sokota et al. 2023, arXiv:2206.05825).

The mirror map is negative entropy, at every information state.

Who says what is right: the rules of the game.

The paper's step at every information state s, where q(s, a) is what reply a brought on average in the matches of this
step, rho the magnet, eta the size of the step and alpha the pull:

    pi'(a | s)  in proportion to  [pi(a | s) rho(a | s)^(eta alpha) exp(eta q(s, a))]^(1 / (1 + eta alpha))

`magnetic` takes a gradient step in its place, weighted by how often play comes to a state. A network moves there most
what its states have in common, and circles. Here the policy is fitted to pi', every state alike, by

    L = mean over s of KL(pi(. | s) || pi'(. | s))

and the natural gradient reaches it in one to four steps (`--optimizer natural`, the default). Where the states are
thousands and the network is small, many steps on parts of them do (`--optimizer adamw --updates 12 --minibatches 64`).
The magnet is uniform, or the policy as it was at the last step divisible by `magnet_every`; eta and alpha fall by equal
factors, so that the last iterate comes near an equilibrium of the game itself.

The paper's bound on the step is eta <= alpha / L^2, where L says how much the values change with the policy, and grows
with the stakes. A step far above it makes play run in circles that widen: where exploitability rises, raise `pull` and
`last_pull`, or lower both sizes. The defaults were chosen in two games with payoffs of two and of three, where half of
the pull circles; in Kuhn poker half of it ends nearer to the equilibrium (experiments/mirror_descent.py).

Differences from the paper: q is a mean over sampled matches and not exact (a reply that nobody gave counts as worth
what the policy expects of the others), and a state that no match met stays where it is. `--matches-per-step 0` is the
paper's own: no match is played, and q is worked out from all histories of the game, at every state (where all see the
whole position, from its positions).
"""

from __future__ import annotations

from dataclasses import dataclass

from redqueen.credit.rewards import payoff, score, spoken_by
from redqueen.curricula.dealt import Enumerated
from redqueen.games.catalogue import find_game
from redqueen.measures.of_games import usual_measures
from redqueen.objectives.references import Reference
from redqueen.objectives.regularizers import ExactKL
from redqueen.play.lockstep import play
from redqueen.play.seating import mirror
from redqueen.protocols import Policy
from redqueen.recipes.games.mirror_descent.steps import all_states, estimate, mirror_step, pack_toward, parts_of
from redqueen.runs.run import Run
from redqueen.schedules import anneal
from redqueen.settings.learner import Flat, Learner
from redqueen.settings.limits import AnyCount, Count, Positive
from redqueen.settings.optimization import Optimization


@dataclass(frozen=True)
class Config:
    learner: Flat = Learner(optimization=Optimization(optimizer="natural"))
    game: str = "kuhn_poker"
    steps: Count = 100
    matches_per_step: AnyCount = 1024  # 0 plays none: the values are worked out from all histories of the game
    updates: Count = 1  # of the policy towards what a step asks for
    minibatches: Count = 1  # of states, dealt anew in each of these updates
    step_size: Positive = 1.0  # eta at the first step
    last_step_size: Positive = 0.1  # eta after the last
    pull: Positive = 1.0  # alpha at the first step
    last_pull: Positive = 0.1  # alpha after the last
    magnet_every: AnyCount = 0  # steps between moves of the magnet; 0 keeps it uniform


def train(config: Config, run: Run) -> Policy:
    game = find_game(config.game)
    curriculum = Enumerated(game.tasks())
    learner = config.learner.build(run.derived("learner"))
    tree = all_states(game, learner, needed=not config.matches_per_step)
    magnet = Reference(learner)
    measures = usual_measures(game, learner, run.tests)

    for step in run.steps(config.steps, [learner], [magnet], measures):
        done = step / config.steps
        size = anneal(config.step_size, config.last_step_size, done)
        pull = anneal(config.pull, config.last_pull, done)
        matches = mirror(game, curriculum.draw(config.matches_per_step, run.rng), learner)
        trajectories = spoken_by(learner, score(play(matches, run.rng), payoff))
        if config.magnet_every and step % config.magnet_every == 0:
            magnet.refresh()
        rho = magnet.policy if config.magnet_every else None
        now, gained, advantages = estimate(trajectories, learner, tree)
        batch = pack_toward(learner, mirror_step(now, rho, gained, size, pull), now)
        for _ in range(config.updates):
            for part in parts_of(batch, config.minibatches, run.rng):
                metrics = learner.update(part, ExactKL(1.0))
        run.report(learner, trajectories, advantages, metrics | {"pull": pull, "step_size": size})
    return learner
