"""Agent-R: an agent learns to turn back in time from its own bad paths, spliced to good ones (arXiv:2501.11425).

Who says what is right: the world; where a path went wrong, the actor itself.

Attempts at a task, and further ones that leave these at random places, give good and bad paths with a common beginning.
The actor reads a bad path act by act and says where it first goes wrong, as far as it can see. There it is cut, the bad
act included; the agent says that it took a wrong turn, and goes the good path from where the two parted:

    pairs     score(good) > alpha,  score(good) - score(bad) > beta
    cut       the first act after the fork that the actor calls neither good nor uncertain, or `end` where it calls
              all of them so
    spliced   bad[..cut]  REVISE  way back  good[fork..]
    L         - mean log policy(act | all before)     over good paths, and over spliced ones from REVISE on

A path is spliced only if it comes to the goal when it is played: where the bad acts have changed something, up to
`back` listed acts are looked for that undo it. REVISE is an act that changes nothing and is answered by "ok."; it is
listed wherever acts are.

`--cut fork` cuts at the first act in which the paths differ, which no actor is asked for. Controls: `--cut random`,
`--cut end` (as late as the acts of the game leave room to go back), `--cut none` (good paths alone). Figures:
`recovery` after acts that the agent did not choose, `revised`, `repeated` views, and `needless` revisions; alarms ring
where the actor sees no errors, and where what it says cannot be read.

A table is asked about acts that it knows nothing of: `--cut fork` suits it better.

Differences: attempts and branches in place of a tree search by UCB; one update on the paths of each step in place of
three rounds of fine-tuning; beta does not rise. One sentence of revision (there ten). The actor is asked from the fork
on, as what comes before belongs to a good path too. "not good" is not good (released code: it holds the word). The way
back is played (released code: the good suffix keeps the views that it had without the bad acts). The mean of L is over
all acts of a path, those that are not learned with 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from redqueen.credit.rewards import payoff, score
from redqueen.games.acting import Acting
from redqueen.games.catalogue import find_game
from redqueen.objectives.batch import pack
from redqueen.objectives.policy_gradient import Reinforce
from redqueen.play.groups import attempts
from redqueen.protocols import Policy
from redqueen.recipes.self_training.agent_r.measures import Recovery
from redqueen.recipes.self_training.agent_r.steps import Splices
from redqueen.recipes.self_training.agent_r.world import revising
from redqueen.runs.run import Run
from redqueen.runs.sources import Dealt
from redqueen.settings.learner import Flat
from redqueen.settings.limits import Count, Several, Share, Whole


@dataclass(frozen=True)
class Config:
    learner: Flat = Flat()
    game: str = "acting:site"
    cut: Literal["actor", "fork", "random", "end", "none"] = "actor"
    alpha: Share = 0.5  # a good path scores more
    beta: Share = 0.2  # and by more than this above the bad one
    back: Whole = 3  # acts of the way back
    grafts: Count = 4  # good paths of a task, and spliced ones, at most
    steps: Count = 200
    tasks: Count = 8  # a step
    attempts: Several = 8
    branches: Whole = 8  # further attempts at a task, that begin as one of these
    problems: Count = 64  # held out
    table_learning_rate = 32.0  # of a table, unless --learning-rate sets it
    batch = (("tasks", "attempts"),)


def train(config: Config, run: Run) -> Policy:
    learner = config.learner.build(run.derived("learner"), config.table_learning_rate)
    game = game_played(config)
    tasks = Dealt(game, learner, config.problems, run.tests)
    splices = Splices(config, game)
    recovery = Recovery(game, learner, config.problems, run.tests)

    for _ in run.steps(config.steps, [learner], [splices], [*tasks.measures, recovery]):
        tries = attempts(game, tasks.draw(config.tasks, run.rng), learner, config.attempts, run.rng)
        paths = splices(splices.branched(tries, learner, run.rng), learner, run.rng)
        taught = score([each.episode for each in paths], payoff)
        batch = pack(taught, [each.credit() for each in paths])
        metrics = learner.update(batch, Reinforce())
        own = score(tries, payoff)
        run.report(learner, own, splices.learned(own), metrics)
        run.note(splices.metrics())
    return learner


def game_played(config: Config) -> Acting:
    """The game of a run with these settings, for those who play its episodes again: with the act of turning back."""
    return revising(find_game(config.game))
