"""WebRL: whether tasks that grow out of failures teach more than a dozen that stay, in a small text shop."""

from __future__ import annotations

from random import Random

import numpy as np

from redqueen.games.acting import Acting
from redqueen.play.groups import attempts, episodes_of
from redqueen.protocols import Policy
from redqueen.recipes.curricula.webrl.recipe import Config, train
from redqueen.recipes.self_training import cold_start
from redqueen.settings.learner import Learner
from redqueen.trials.experiment import Experiment, Training, versus
from redqueen.trials.starts import Start
from redqueen.types import Metrics
from redqueen.worlds.site import Site

GAME, SEEDS = "acting:site(shop,tests=300),8", 12
EVOLVED, FIXED, DRAWN, FRESH = "evolved", "fixed", "drawn", "evolved, no replay"
IMITATES = Start(
    cold_start.Config(
        Learner(model="tiny:hidden=96,layers=3,initializer_range=0.1", max_completion_length=8, learning_rate=1e-3),
        game=GAME,
        steps=20,
        demonstrations_per_step=32,
    )
)


def seeds_done(learner: Policy, seed: int) -> Metrics:
    """How often the tasks of the first phase are done, eight attempts each."""
    game = Acting(Site("shop", tests=300), 8)
    groups = attempts(game, game.tasks()[:SEEDS], learner, 8, Random(seed))
    return {"seeds_done": float(np.mean([sum(each.outcome.scores.values()) == 1.0 for each in episodes_of(groups)]))}


SITES = Experiment(
    title="A shop of text pages, a tiny transformer",
    asked="Do tasks that grow out of failures teach tasks that were never tried, where a dozen tasks do not?",
    trial=Training(train, evaluate_every=40, read=seeds_done),
    config=Config(Learner(max_completion_length=8, learning_rate=3e-4, lora_rank=0), game=GAME, seeds=SEEDS, steps=120),
    starts={"learner.model": IMITATES},
    variants={EVOLVED: {}, FIXED: {"growth": "fixed"}, DRAWN: {"growth": "drawn"}, FRESH: {"replayed": 0.0}},
    figures=("first success", "success", "seeds_done", "late reward/agent"),
    compared=(*versus(EVOLVED, (FIXED, DRAWN, FRESH), ("success",)), *versus(EVOLVED, (FRESH,), ("seeds_done",))),
    controls=(FIXED,),
    seeds=5,
    notes=(
        "1,920 attempts each. `drawn` has 400 tasks of the world from the start, which is what evolving stands in for. "
        "Of the 300 held-out tasks 128 are dealt for each seed; the tasks of the first phase were among those that the "
        "start imitated.",
    ),
)
