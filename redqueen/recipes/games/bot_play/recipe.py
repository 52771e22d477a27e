"""Bot play: a recommender learns from talks with a bot that says what is wrong with its items (arXiv:2112.05197).

Who says what is right: the seeker, a rule that knows the wanted item.

By Li, Majumder and McAuley, 2022. The expert knows some of what a user likes. It recommends an item and names aspects
of it; the seeker, which wants a certain item, refuses an aspect that this item does not have: the most popular one that
was shown and not refused before. The expert is first taught what users want and what is true of items (round 0), then
on its own talks, without a dialogue of people. With w the wanted item and x(t) the one that it recommended in turn t

    L = sum over t = 0 .. T-2 of  discount^t [ -log pi(w | likes, critiques) - log pi(an aspect of x(t) | x(t)) ]

The last turn is not learned, as in the released code. Measured is how often the item is found in ten turns, with this
seeker and with one that critiques at random (`other_seeker/`): an expert that had only learned the rule would lose
there. `unheard/` is the same expert that is not told what was refused.

Differences: a policy over listed items in place of matrix factors with a user vector, and aspects that are said in
place of logits; `steps.critiqued` is what the paper does to a user vector, and the reference of `found` the expert that
only does that. The released loss teaches the aspects of the wanted item as those of the one recommended, which says
what is not true of it: `--aspects wanted`. A talk ends when the item is found (released: its later turns are learned
too). The aspects count as much as the item, as in the released code, whose weight for them is without effect.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from redqueen.credit.rewards import payoff, score, spoken_by
from redqueen.curricula.dealt import Enumerated
from redqueen.objectives.batch import pack_samples
from redqueen.objectives.imitation import Imitation
from redqueen.objectives.rounds import Round
from redqueen.play.lockstep import play
from redqueen.protocols import Policy
from redqueen.recipes.games.bot_play.measures import Found
from redqueen.recipes.games.bot_play.steps import Bots, Of, game_of
from redqueen.runs.run import Run
from redqueen.settings.learner import Learner, NoSolver
from redqueen.settings.limits import Count, Share
from redqueen.settings.roles import Cast


@dataclass(frozen=True)
class Config:
    learner: NoSolver = Learner()
    game: str = "critique:remember=false"
    steps: Count = 160
    updates: Count = 40  # of a round, the first of which is before the talks
    tasks: Count = 512  # talks of a round
    discount: Share = 0.9
    aspects: Of = "item"
    seeker: Literal["popular", "random"] = "popular"
    replies_per_update: Count = 512
    passes: Count = 20  # over the turns of a round, at most (1 in the paper)
    measured: Count = 200  # talks with each seeker
    table_learning_rate = 300.0  # of a table, unless --learning-rate sets it


def train(config: Config, run: Run) -> Policy:
    game, learner = game_of(config.game), Cast(config, run, config.table_learning_rate).policy
    bots = Bots(game, learner, config.discount, config.aspects, config.seeker == "random")
    curriculum, data = Enumerated(game.tasks()), Round(config.passes)
    measures = [Found(bots, config.measured, run.tests)]

    for step in run.steps(config.steps, [learner], [data], measures):
        number, place = divmod(step, config.updates)
        if place == 0:
            tasks = curriculum.draw(config.tasks, run.rng)
            played = score(play(bots.matches(tasks) if number else bots.first(tasks), run.rng), payoff)
            lessons, weights = bots.lessons(played, run.rng)
            if lessons:
                data.renew(pack_samples(lessons, [1.0] * len(lessons), weights))
            told = lessons or spoken_by(learner, played)
            run.report(learner, told, [np.ones(len(each.turns)) for each in told], {})
            run.note(bots.metrics(played))
        run.note(data.update(learner, config.replies_per_update, Imitation(), run.rng))
    return learner
