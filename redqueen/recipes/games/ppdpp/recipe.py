"""PPDPP: a planner names the next line of a talk, and a frozen speaker says it (Deng et al. 2024, arXiv:2311.00262).

Who says what is right: a critic of the talk so far, by default a rule that is wrong now and then.

In each turn the planner (`learner`) picks one of a few acts, a speaker that does not learn puts it into words, and
another player answers. A critic reads the talk after each turn and labels it `critic_votes` times; a reward is the mean
of what these labels are worth (`steps.WORTH`). The planner alone learns, by REINFORCE:

    R(t) = r(t) + gamma R(t + 1)
    A(t) = (R(t) - mean) / deviation        over the t-th turns of all talks of the batch
    L    = - mean over talks of  sum over t  A(t) log pi(act)

`--normalise episode` is the released code: mean and deviation over the turns of one talk (a talk of one turn keeps its
R), which forgets whether the talk succeeded: rewards (-.1, -.1, .5) and (-.1, -.1, -.1) come to the same advantages.

The speaker, the seller and the critic are rules by default (`--speaker scripted`); `frozen` is the start of a learner
that is a language model, a folder or an endpoint another model. The scripted speaker does as it is told with the
chance `obedience` and takes another line at random else; at 0.2 it does not listen at all. The scripted critic names
the label next to the true one with the chance `noise`.

Differences: one step on a batch of talks (the paper: on each). The talk ends by the game's own rules, not by the
critic. Labels are read whole, and one that cannot be read counts for nothing (`unread_votes`), where the released code
searches a reply for the first label that it contains. Acting and testing sample (the released code leaves dropout on
in both, and tests the likeliest act). The planner begins where `--model` does: the paper's supervised start is a model
of your own. In bargaining a label says in thirds of the way what a price is worth, and the mean counts (the paper: the
commonest (deal - seller) / (buyer - seller), and -.1 where any vote has no deal).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from redqueen.credit.advantages.keys import by_game_role_and_turn
from redqueen.credit.rewards import score, spoken_by
from redqueen.curricula.dealt import Enumerated
from redqueen.play.lockstep import play
from redqueen.protocols import Policy
from redqueen.recipes.games.ppdpp.measures import Deals
from redqueen.recipes.games.ppdpp.steps import SCRIPTED, Talks, estimator, worth_of_turns
from redqueen.runs.run import Run
from redqueen.settings.learner import Learner, NoSolver
from redqueen.settings.learning_step import LearningStep
from redqueen.settings.limits import Count, Share
from redqueen.settings.roles import Cast, Plays, Role, Still
from redqueen.settings.update import Update

Other = Annotated[Role, Still((SCRIPTED,))]


@dataclass(frozen=True)
class Config:
    learner: NoSolver = Learner()
    speaker: Annotated[Role, Still((SCRIPTED,)), Plays("buyer")] = Role(SCRIPTED)
    seller: Other = Role(SCRIPTED)
    critic: Other = Role(SCRIPTED)
    game: str = "price_talk:remember=false"
    steps: Count = 100
    matches_per_step: Count = 32
    discount: Share = 0.999  # gamma
    normalise: Literal["batch", "episode"] = "batch"
    critic_votes: Count = 10
    obedience: Share = 0.9  # of the scripted speaker
    noise: Share = 0.2  # of the scripted critic
    update: Update = Update()
    paper = Update(loss="reinforce", aggregate="sum")
    batch = (("matches_per_step",),)
    listed = True
    of_its_estimator = ("discount", "normalise")
    table_learning_rate = 32.0  # of a table, unless --learning-rate sets it


def train(config: Config, run: Run) -> Policy:
    cast = Cast(config, run, config.table_learning_rate)
    talks = Talks(config, cast)
    learner, curriculum = cast.policy, Enumerated(talks.game.tasks())
    estimate = estimator(config.normalise, config.discount)
    step = LearningStep(config, [learner], key=by_game_role_and_turn, estimate=estimate, listed=True)
    measures = [Deals(talks, seed=run.tests)]

    for _ in run.steps(config.steps, [learner], step.parts, measures):
        played = play(talks.matches(curriculum.draw(config.matches_per_step, run.rng)), run.rng)
        episodes = talks.judged(played, run.rng)
        trajectories = step.shaped(spoken_by(learner, score(episodes, worth_of_turns)))
        advantages = step.estimate(trajectories)
        batch = step.pack(trajectories, advantages)
        metrics = step.update(learner, batch, run.rng)
        run.report(learner, trajectories, advantages, metrics)
        run.note(talks.metrics(episodes))
    return learner
