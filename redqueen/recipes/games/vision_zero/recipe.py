"""Vision-Zero: who is the odd one out, clues and votes learned in turn (Wang et al. 2025, arXiv:2509.25541).

Who says what is right: the rules of the game.

Players hold pictures (here cards), all alike but the spy's; each gives clues, then the others vote for whom they take
for the spy. Clues are paid by the votes, votes by the truth (`games.odd_one_out`, with the paper's beta and lambda):

    clues    r_spy = -beta (v_s - v),   r_j = beta / n (v_s - v) - lambda (v_j - v),     A = r - b[role]
    votes    r = 1 right, -0.5 N/A, -1 wrong,     A = (r - mean) / deviation     over G votes of one voter at one table
    L        clipped ratio 0.2, KL to the start 0.04, mean over the tokens of a reply; both stages

One stage is learned at a time (Iterative-SPO). With a and u the moving averages of the shares of votes that are right
and N/A, votes are learned until a >= `right` and u <= `unsure`, then clues until 1 - a >= `wrong` or u >= `lost`, and
so on, each for `least` steps at least. In a clue stage the votes only pay, and carry no loss.

The averages begin at zero, as in the paper, so that 45 steps of votes that are all right pass before 0.9 is; `debias`
divides by 1 - memory^n, after which the first step may do. `--switch every-step` is the released code, which has no
averages and takes the stages in turn step by step; `--switch never --first clues` (or votes) is one stage alone.

Differences: cards in place of pictures, clues that are true. `right` and `unsure` are set to the default game, where a
spy that names what its card shares cannot be told apart: of clues drawn evenly no voter finds it more than three times
in four (the paper: 0.9 and 0.1). The moving averages b are read before they are written, one civilian after the other
(the paper: written first, with the mean of the civilians). Voters are the civilians, as in the paper (the released
code asks one judge eight times). The first stage is that of votes. Where no match comes to a vote, the clues are
learned from, which is where a forfeit costs. Rewards of clues are a tenth of those of votes, and so is their step at
one learning rate: `gradient_norm`, told apart by `knobs/clue_stage`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from redqueen.credit.rewards import payoff, score
from redqueen.curricula.dealt import Sampled
from redqueen.play.groups import attempts
from redqueen.play.lockstep import play
from redqueen.play.seating import mirror
from redqueen.protocols import Policy
from redqueen.recipes.games.vision_zero.measures import SpyFound
from redqueen.recipes.games.vision_zero.steps import Alternation, OfStage, by_group_or_role, by_speakers, table_of
from redqueen.runs.run import Run
from redqueen.settings.learner import Learner, NoSolver
from redqueen.settings.learning_step import LearningStep
from redqueen.settings.limits import Count, OnlyWith, Several, Share
from redqueen.settings.update import Update

ByPlateau = OnlyWith("switch", "plateau")


@dataclass(frozen=True)
class Config:
    learner: NoSolver = Learner()
    game: str = "odd_one_out"
    steps: Count = 200  # 100 in the paper
    matches_per_step: Count = 32  # 128 in the paper
    votes: Several = 8  # G
    baseline_decay: Share = 0.95  # alpha
    switch: Literal["plateau", "every-step", "never"] = "plateau"
    first: Literal["votes", "clues"] = "votes"
    memory: Annotated[Share, ByPlateau] = 0.95  # rho
    debias: Annotated[bool, ByPlateau] = True
    least: Annotated[Count, ByPlateau] = 5  # steps of a stage
    right: Annotated[Share, ByPlateau] = 0.65  # 0.9 in the paper
    unsure: Annotated[Share, ByPlateau] = 0.2  # 0.1 in the paper
    wrong: Annotated[Share, ByPlateau] = 0.4
    lost: Annotated[Share, ByPlateau] = 0.5
    update: Update = Update()
    paper = Update(loss="ppo", clip_low=0.2, clip_high=0.2, aggregate="row", kl=0.04)
    batch = (("matches_per_step",),)
    listed = True
    of_its_estimator = ("baseline_decay",)
    table_learning_rate = 200.0  # of a table, unless --learning-rate sets it


def train(config: Config, run: Run) -> Policy:
    game = table_of(config.game)
    curriculum = Sampled(game.tasks())
    learner = config.learner.build(run.derived("learner"), config.table_learning_rate)
    stages = Alternation(config)
    step = LearningStep(config, [learner], key=by_group_or_role, estimate=OfStage(config.baseline_decay), listed=True)
    measures = [SpyFound(game, learner, seed=run.tests)]

    for _ in run.steps(config.steps, [learner], [*step.parts, stages], measures):
        matches = mirror(game, curriculum.draw(config.matches_per_step, run.rng), learner)
        episodes = play(matches, run.rng)
        groups = attempts(game, stages.ballots(episodes), learner, config.votes, run.rng)
        trajectories = step.shaped(score(groups, payoff) or by_speakers(score(episodes, payoff)))
        advantages = step.estimate(trajectories)
        batch = step.pack(trajectories, advantages)
        metrics = step.update(learner, batch, run.rng)
        run.note(stages.observe(episodes, groups))
        run.report(learner, trajectories, advantages, metrics)
    return learner
