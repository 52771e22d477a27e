"""EPO: a model of strategies advises a frozen actor before each of its turns (Liu et al. 2025, arXiv:2502.12486).

Who says what is right: the score of the talk, and a judge that names its critical turns, by default a rule.

Before each turn of an actor that does not learn the strategist (`learner`) says which strategy it is to take
("Strategy: ..."); the actor may follow. A judge reads the finished talk and names the strategist's critical turns,
which earn 1; its last turn earns its score, from 0 to 1, unless it is one of them; all others earn 0:

    R(k) = r(k) + gamma R(k + 1)
    s(k) = R(k) / max over the talk of R
    L    = - mean over talks of  (1 / K) sum over k  s(k) log pi(strategy k)

There is no ratio, no clip and no baseline, and no s(k) is below 0: a bad strategy is learned less, never unlearned, and
a talk that failed counts as much as one that went well, if one of its turns is called critical. `--baseline others`
takes R(k) less its mean over the other talks at the same turn.

Self-play is in rounds of `updates`: the strategist advises buyer and seller by turns, and the other side is advised
by it as it was when the round began. The rule behind the judge calls a turn critical after which the other side came
nearer than the strategist's own side did; `--judge` may be a model, which is asked for the numbers of the turns.

Differences: the actors and the judge are rules by default (the paper: language models, GPT-4o). A strategy is one of
five listed lines; `--game price_talk:both=true,words=10` takes free text of at most ten words, for a language model, of
which a scripted actor hears the line that is named. One step on a batch of talks (the paper: eight). The tokens of a
talk count alike (the paper: its turns), which is the same for listed lines of one token. A talk that is cut off keeps
what it has (the released code stops training).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from redqueen.credit.advantages.keys import by_game_role_and_turn
from redqueen.credit.rewards import score, spoken_by
from redqueen.curricula.dealt import Enumerated
from redqueen.opponents.pools import Snapshots
from redqueen.play.lockstep import play
from redqueen.protocols import Policy
from redqueen.recipes.games.epo.measures import Payoffs
from redqueen.recipes.games.epo.steps import BY_RULE, Named, Other, Talks, critical, estimator, process_and_goal
from redqueen.runs.run import Run
from redqueen.settings.learner import Learner, NoSolver
from redqueen.settings.learning_step import LearningStep
from redqueen.settings.limits import Count, Share
from redqueen.settings.roles import Cast
from redqueen.settings.update import Update


@dataclass(frozen=True)
class Config:
    learner: NoSolver = Learner()
    buyer: Other = BY_RULE
    seller: Other = BY_RULE
    judge: Other = BY_RULE
    game: str = "price_talk:remember=false,both=true"
    steps: Count = 180
    updates: Count = 60  # of a round, at whose start the other side's adviser becomes the learner of that moment
    matches_per_step: Count = 32
    discount: Share = 0.99  # gamma
    baseline: Literal["none", "others"] = "none"
    obedience: Share = 0.9  # of scripted actors
    measured: Count = 192  # talks of each kind
    update: Update = Update()
    paper = Update(loss="reinforce", aggregate="trajectory")
    batch = (("matches_per_step",),)
    listed = True
    of_its_estimator = ("discount", "baseline")
    table_learning_rate = 1500.0  # of a table, unless --learning-rate sets it


def train(config: Config, run: Run, named: Named = critical) -> Policy:
    cast = Cast(config, run, config.table_learning_rate)
    talks = Talks(config, cast, named)
    learner, curriculum = cast.policy, Enumerated(talks.game.tasks())
    others = Snapshots(learner, capacity=1)
    estimate = estimator(config.baseline, config.discount)
    step = LearningStep(config, [learner], key=by_game_role_and_turn, estimate=estimate, listed=True)
    measures = [Payoffs(talks, others, config.measured, run.tests)]

    for number in run.steps(config.steps, [learner], [others, *step.parts], measures):
        if number % config.updates == 0 and number:
            others.add(learner.freeze())
        tasks = curriculum.draw(config.matches_per_step, run.rng)
        played = play(talks.matches(tasks, others.draw(run.rng)), run.rng)
        episodes = talks.judged(played, run.rng)
        trajectories = step.shaped(spoken_by(learner, score(episodes, process_and_goal)))
        advantages = step.estimate(trajectories)
        batch = step.pack(trajectories, advantages)
        metrics = step.update(learner, batch, run.rng)
        run.report(learner, trajectories, advantages, metrics)
        run.note(talks.metrics(episodes))
    return learner
